// test_kernels.cpp: the kernels against plain loops in double, and every twin this
// processor has against the portable one, for sizes that leave rests everywhere.
#include <limits>

#include "kernels.h"
#include "support.h"
#include "test.h"

using namespace support;

namespace {

// Runs `body` with each twin in use, then puts the automatic choice back.
template <class Body>
void for_each_twin(Body body) {
  for (const std::string& name : kernels_available()) {
    choose_kernels(name);
    body(name);
  }
  choose_kernels("auto");
}

std::vector<Real> normals(std::size_t n, Stream& s) {
  std::vector<Real> out(n);
  for (Real& v : out) v = static_cast<Real>(s.normal());
  return out;
}

double exact_softplus(double z) { return std::max(z, 0.0) + std::log1p(std::exp(-std::fabs(z))); }
double exact_sigmoid(double z) { return z >= 0 ? 1 / (1 + std::exp(-z)) : std::exp(z) / (1 + std::exp(z)); }

// All kernels of one gate on one set of numbers, results one after another. Buffers
// have exactly the size the interface promises, so that the sanitizer sees overruns.
struct Case {
  int rows, d, facets, width, ld, stored;
  std::vector<int> row, column;
  std::vector<Real> x, B, a, r, dg, value;

  Case(int rows_, int d_, int facets_, Stream& s)
      : rows(rows_), d(d_), facets(facets_), width(padded(facets_)), ld((d_ + 15) / 16 * 16),
        stored(rows_ + 3) {
    for (int i = 0; i < rows; ++i) row.push_back(static_cast<int>(s.below(stored)));
    for (int j = 0; j < d; ++j)
      if (s.uniform() < 0.5) column.push_back(j);
    x = normals(static_cast<std::size_t>(stored) * ld, s);
    B = normals(static_cast<std::size_t>(d) * width, s);
    a = normals(width, s);
    r.assign(width, 0);
    for (int k = 0; k < facets; ++k) r[k] = static_cast<Real>(s.uniform());
    dg = normals(rows, s);
    value = normals(column.size(), s);
  }

  // z, sigmoid, softplus, g, dz, dB (columns from j0), sparse z, sparse dB, da, dlog_r, right
  std::vector<std::vector<Real>> run(const Kernels& k, int j0) const {
    const std::size_t size = static_cast<std::size_t>(rows) * width;
    std::vector<Real> z(size), softplus(size), g(rows), dB(static_cast<std::size_t>(d - j0) * width, 1);
    k.product(rows, row.data(), x.data(), ld, d, B.data(), a.data(), width, z.data());
    std::vector<Real> sigmoid = z;
    k.activate(rows, width, r.data(), sigmoid.data(), softplus.data(), g.data());
    std::vector<Real> dz = sigmoid;
    std::vector<Real> da(width), dlog_r(width), right(rows);
    k.pull_back(rows, width, r.data(), dg.data(), dz.data(), softplus.data(), da.data(), dlog_r.data());
    k.logistic(rows, g.data(), Real(0.4), Real(1.3), right.data());
    k.product_transposed(rows, row.data(), x.data(), ld, j0, d, dz.data(), width, dB.data());
    // One sparse row, in two chunks of columns, behind a row that must not be read.
    std::vector<Real> sz(width), sdB(static_cast<std::size_t>(d) * width, 1);
    const int second = 1, middle = d / 2;
    std::size_t before = 0;
    while (before < column.size() && column[before] < middle) ++before;
    const std::vector<std::size_t> start = {column.size() + 9, 0, 0, 0, before, column.size()};
    std::vector<Cell> cell;
    for (std::size_t e = 0; e < column.size(); ++e) cell.push_back({column[e], value[e]});
    const SparseRows sparse = {start.data(), 3, cell.data()};
    k.sparse_product(1, &second, sparse, B.data(), a.data(), width, sz.data());
    k.sparse_product_transposed(1, &second, sparse, 0, 1, 0, dz.data(), width, sdB.data());
    k.sparse_product_transposed(1, &second, sparse, 1, 2, middle, dz.data(), width,
                                sdB.data() + static_cast<std::size_t>(middle) * width);
    // Both chunks at once.
    std::vector<Real> both(static_cast<std::size_t>(d) * width, 1);
    k.sparse_product_transposed(1, &second, sparse, 0, 2, 0, dz.data(), width, both.data());
    return {z, sigmoid, softplus, g, dz, dB, sz, sdB, both, da, dlog_r, right};
  }

  // The same by plain loops in double.
  std::vector<std::vector<double>> plain(int j0) const {
    const std::size_t size = static_cast<std::size_t>(rows) * width;
    std::vector<double> z(size), sigmoid(size), softplus(size), g(rows, 0.0), dz(size);
    std::vector<double> dB(static_cast<std::size_t>(d - j0) * width, 1.0);
    for (int i = 0; i < rows; ++i)
      for (int k = 0; k < width; ++k) {
        const std::size_t e = static_cast<std::size_t>(i) * width + k;
        z[e] = a[k];
        for (int j = 0; j < d; ++j) z[e] += double(x[row[i] * ld + j]) * B[j * width + k];
        sigmoid[e] = exact_sigmoid(z[e]);
        softplus[e] = exact_softplus(z[e]);
        g[i] += r[k] * softplus[e];
        dz[e] = double(dg[i]) * r[k] * sigmoid[e];
        for (int j = j0; j < d; ++j) dB[(j - j0) * width + k] += x[row[i] * ld + j] * dz[e];
      }
    std::vector<double> da(width, 0.0), dlog_r(width, 0.0), right(rows);
    for (int i = 0; i < rows; ++i) {
      right[i] = exact_sigmoid(1.3 * (g[i] - 0.4));
      for (int k = 0; k < width; ++k) {
        da[k] += dz[static_cast<std::size_t>(i) * width + k];
        dlog_r[k] += double(dg[i]) * r[k] * softplus[static_cast<std::size_t>(i) * width + k];
      }
    }
    std::vector<double> sz(a.begin(), a.end()), sdB(static_cast<std::size_t>(d) * width, 1.0);
    for (std::size_t c = 0; c < column.size(); ++c)
      for (int k = 0; k < width; ++k) {
        sz[k] += double(value[c]) * B[column[c] * width + k];
        sdB[column[c] * width + k] += value[c] * dz[k];
      }
    return {z, sigmoid, softplus, g, dz, dB, sz, sdB, sdB, da, dlog_r, right};
  }
};

// Largest difference, relative to the largest number of either.
template <class A, class B>
double apart(const std::vector<A>& a, const std::vector<B>& b) {
  if (a.size() != b.size()) return HUGE_VAL;
  double most = 0, size = 1e-30;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double gap = std::fabs(double(a[i]) - double(b[i]));
    if (!(gap <= most)) most = gap;  // also if it is NaN
    size = std::max(size, std::fabs(double(b[i])));
  }
  return most / size;
}

void compare_sizes(int rows, int d, int facets, Stream& s) {
  static const char* part[] = {"z", "sigmoid", "softplus", "g", "dz", "dB", "sparse z", "sparse dB",
                               "sparse dB at once", "da", "dlog_r", "right"};
  const Case c(rows, d, facets, s);
  const int j0 = static_cast<int>(s.below(d));
  choose_kernels("portable");
  const auto portable = c.run(kernels(), j0);
  const double tolerance = is_double ? 1e-13 : 1e-5;
  const bool also_plain = (rows + d + facets) % 4 == 0;  // slow under a sanitizer
  const auto plain = also_plain ? c.plain(j0) : std::vector<std::vector<double>>();
  for (std::size_t p = 0; p < plain.size(); ++p)
    CHECK(apart(portable[p], plain[p]) < tolerance, part[p], rows, d, facets,
          apart(portable[p], plain[p]));
  for_each_twin([&](const std::string& name) {
    const auto twin = c.run(kernels(), j0);
    for (std::size_t p = 0; p < twin.size(); ++p)
      CHECK(apart(twin[p], portable[p]) < 1e-5, name, part[p], rows, d, facets,
            apart(twin[p], portable[p]));
  });
}

}  // namespace

TEST(kernels_choice_by_name) {
  const std::vector<std::string> names = kernels_available();
  CHECK(!names.empty() && names.back() == "portable");
  choose_kernels("auto");
  CHECK(kernels().name == names.front(), kernels().name, names.front());
  choose_kernels("portable");
  CHECK(std::string(kernels().name) == "portable", kernels().name);
  bool refused = false;
  try {
    choose_kernels("abacus");
  } catch (const Error&) {
    refused = true;
  }
  CHECK(refused);
  choose_kernels("auto");
}

TEST(kernels_softplus_and_sigmoid_error_bounds) {
  std::vector<Real> z;
  for (double v = -80; v <= 80; v += 0.0137) z.push_back(static_cast<Real>(v));
  for (double v = 1e-30; v < 80; v *= 1.3) {
    z.push_back(static_cast<Real>(v));
    z.push_back(static_cast<Real>(-v));
  }
  z.push_back(0);
  while (z.size() % facet_group) z.push_back(1);
  const double tolerance = is_double ? 1e-14 : 1e-6;
  for_each_twin([&](const std::string& name) {
    for (int width : {8, 16, 24}) {  // whole and half vectors of every twin
      const int rows = static_cast<int>(z.size()) / width, n = rows * width;
      std::vector<Real> sigmoid(z.begin(), z.begin() + n), softplus(n), g(rows), r(width, 1);
      kernels().activate(rows, width, r.data(), sigmoid.data(), softplus.data(), g.data());
      double worst_plus = 0, worst_moid = 0;
      for (int i = 0; i < n; ++i) {
        worst_plus = std::max(worst_plus, std::fabs(softplus[i] / exact_softplus(z[i]) - 1));
        worst_moid = std::max(worst_moid, std::fabs(sigmoid[i] / exact_sigmoid(z[i]) - 1));
        if (!(softplus[i] >= 0 && sigmoid[i] >= 0 && sigmoid[i] <= 1)) worst_moid = HUGE_VAL;
      }
      CHECK(worst_plus < tolerance, name, width, worst_plus);
      CHECK(worst_moid < tolerance, name, width, worst_moid);
    }
  });
}

TEST(kernels_softplus_and_sigmoid_far_out) {
  const double most = std::numeric_limits<Real>::max();
  const std::vector<double> far = {80.5, 86.9, 87, 87.1, 88, 89, 100, 104, 126, 128,
                                   1e3, 1e4, 1e10, 1e30, most, HUGE_VAL};
  for_each_twin([&](const std::string& name) {
    for (double v : far) {
      std::vector<Real> z(8, static_cast<Real>(v)), softplus(8), g(1), r(8, 0);
      for (int k = 4; k < 8; ++k) z[k] = static_cast<Real>(-v);
      kernels().activate(1, 8, r.data(), z.data(), softplus.data(), g.data());
      for (int k = 0; k < 4; ++k) {
        CHECK(softplus[k] == static_cast<Real>(v), name, v, softplus[k]);
        CHECK(z[k] == 1, name, v, z[k]);
        // exp(-87) is about the smallest normal single: below that "almost 0" will do
        CHECK(softplus[k + 4] >= 0 && softplus[k + 4] < 1.2e-35, name, v, softplus[k + 4]);
        CHECK(z[k + 4] >= 0 && z[k + 4] < 1.2e-35, name, v, z[k + 4]);
      }
      if (std::isfinite(v)) CHECK(g[0] == 0, name, v, g[0]);
    }
  });
}

TEST(kernels_twins_agree_for_odd_sizes) {
  Stream s = random_numbers(11);
  for (int rows = 1; rows <= 30; ++rows)
    for (int facets = 1; facets <= 70; facets += 1 + (rows + facets) % 7)
      compare_sizes(rows, 1 + (7 * rows + 11 * facets) % 40, facets, s);
  for (int d = 1; d <= 40; ++d)
    for (int facets = 1; facets <= 70; facets += 1 + (d + facets) % 7)
      compare_sizes(1 + (5 * d + 3 * facets) % 30, d, facets, s);
  compare_sizes(300, 33, 41, s);  // more rows than a cache block
}

TEST(kernels_adam_is_the_plain_loop) {
  for_each_twin([&](const std::string& name) {
    for (int n : {8, 16, 24, 40, 1000}) {
      Stream s = random_numbers(12);
      std::vector<Real> first(n, 0), second(n, 0), parameter = normals(n, s);
      std::vector<double> m(n, 0.0), v(n, 0.0), p(parameter.begin(), parameter.end());
      for (int t = 1; t <= 5; ++t) {
        std::vector<Real> gradient = normals(n, s);
        gradient[3] = 0;                                  // never moves
        gradient[5] *= static_cast<Real>(1e-6);           // small and large slopes alike
        gradient[6] *= static_cast<Real>(1e6);
        const AdamStep step = {Real(0.01), Real(0.9), Real(0.99), Real(1e-16)};
        kernels().adam(n, step, gradient.data(), first.data(), second.data(), parameter.data());
        for (int i = 0; i < n; ++i) {
          const double g = gradient[i];
          m[i] = double(step.beta1) * m[i] + (1 - double(step.beta1)) * g;
          v[i] = double(step.beta2) * v[i] + (1 - double(step.beta2)) * g * g;
          p[i] -= double(step.rate) * m[i] / std::sqrt(v[i] + double(step.epsilon2));
        }
      }
      const double tolerance = is_double ? 1e-13 : 2e-6;
      CHECK(apart(first, m) < tolerance, name, n, apart(first, m));
      CHECK(apart(second, v) < tolerance, name, n, apart(second, v));
      for (int i = 0; i < n; ++i)
        CHECK(std::fabs(parameter[i] - p[i]) < tolerance * (1 + std::fabs(p[i])), name, n, i,
              parameter[i], p[i]);
    }
  });
}
