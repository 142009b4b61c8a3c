// test_median.cpp: medians of columns against rows that are really repeated and sorted,
// for every kind of matrix, with weights, missing values and rows that do not count.
#include <algorithm>
#include <cmath>
#include <limits>

#include "median.h"
#include "support.h"
#include "test.h"

using namespace support;

namespace {

// Column j with each row as often as its weight says; without weights, all rows once.
double repeated_median(const Matrix& m, int j, const std::vector<double>& weight) {
  std::vector<double> seen, any;
  for (int i = 0; i < m.n; ++i) {
    if (std::isnan(m.at(i, j))) continue;
    any.push_back(m.at(i, j));
    seen.insert(seen.end(), static_cast<std::size_t>(weight[i]), m.at(i, j));
  }
  if (seen.empty()) seen = any;
  if (seen.empty()) return std::nan("");
  std::sort(seen.begin(), seen.end());
  const std::size_t n = seen.size();
  return n % 2 == 1 ? seen[n / 2] : (seen[n / 2 - 1] + seen[n / 2]) / 2;
}

bool same(double a, double b) { return std::isnan(a) ? std::isnan(b) : a == b; }

void check(Matrix& m, const MatrixView& view, const std::vector<double>& weight, int kind) {
  for (const Hooks& hooks : {serial_hooks(), reversed_hooks(), thread_hooks(3)}) {
    const std::vector<double> got = column_medians(view, weight, hooks);
    CHECK(static_cast<int>(got.size()) == m.p, kind);
    for (int j = 0; j < m.p; ++j) {
      const double want = repeated_median(m, j, weight);
      CHECK(same(got[j], want), kind, j, got[j], want);
    }
  }
}

std::vector<double> whole_weights(int n, int most, std::uint64_t seed) {
  Stream s = random_numbers(seed);
  std::vector<double> weight(n);
  for (double& w : weight) w = static_cast<double>(s.below(most));
  return weight;
}

}  // namespace

TEST(median_is_that_of_the_repeated_rows) {
  for (int n : {1, 2, 7, 40})
    for (std::uint64_t seed = 80; seed < 84; ++seed) {
      Matrix m = random_matrix(n, 6, 0.2 + 0.2 * (seed % 4), seed);
      for (int i = 0; i < n; i += 3) m.at(i, 1) = std::nan("");
      for (int i = 0; i < n; ++i) m.at(i, 4) = std::nan("");
      const std::vector<double> zero(n, 0.0), one(n, 1.0), mixed = whole_weights(n, 4, seed + 9);
      for (const auto& weight : {one, mixed, zero}) {
        check(m, m.dense(), weight, 0);
        check(m, m.sparse(), weight, 1);
      }
    }
}

TEST(median_of_whole_numbers_leaves_out_the_missing_ones) {
  Matrix m = random_matrix(25, 3, 0.3, 85);
  std::vector<int> whole(m.x.size());
  for (std::size_t e = 0; e < whole.size(); ++e) {
    whole[e] = e % 5 == 1 ? std::numeric_limits<int>::min() : static_cast<int>(10 * m.x[e]);
    m.x[e] = e % 5 == 1 ? std::nan("") : whole[e];
  }
  MatrixView view;
  view.rows = m.n;
  view.cols = m.p;
  view.dense_int = whole.data();
  check(m, view, std::vector<double>(m.n, 1.0), 2);
  check(m, view, whole_weights(m.n, 3, 86), 2);
}
