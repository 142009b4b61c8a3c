// test_gradient.cpp: Trainer::gradient() against central differences of an
// independent soft tree in double (plain loops, below), for every parameter.
// A leaf's statistics and the prior's scales are found anew for every difference,
// so the envelope theorem that the trainer relies on is tested as well. For that the
// trainer's trace must be part of the loss: it is a pseudo-row in every leaf, of that
// weight, spread over all classes or lying at the overall mean.
#include <algorithm>
#include <sstream>

#include "support.h"
#include "test.h"

using namespace support;

namespace {

constexpr double trace = 1e-3;  // training_trace in trainer.cpp
using Vectors = std::vector<std::vector<double>>;

struct Reference {
  const std::vector<Node>& nodes;
  Options o;
  double lambda, prior_share;
  Vectors x;  // standardised rows
  std::vector<double> y, w;
  double mass = 0;

  Reference(const std::vector<Node>& nodes_, const Matrix& m, const std::vector<double>& y_,
            const std::vector<double>& w_, const Options& o_, double lambda_, double share)
      : nodes(nodes_), o(o_), lambda(lambda_), prior_share(share), y(y_), w(w_) {
    x.assign(m.n, std::vector<double>(m.p));
    for (double v : w) mass += v;
    for (int j = 0; j < m.p; ++j) {
      std::vector<double> column(m.n);
      for (int i = 0; i < m.n; ++i) column[i] = m.at(i, j);
      standardise(column);
      for (int i = 0; i < m.n; ++i) x[i][j] = column[i];
    }
    if (o.task == "regression") standardise(y);
  }

  void standardise(std::vector<double>& v) const {
    double mean = 0, squares = 0;
    for (std::size_t i = 0; i < v.size(); ++i) mean += w[i] * v[i] / mass;
    for (std::size_t i = 0; i < v.size(); ++i) squares += w[i] * (v[i] - mean) * (v[i] - mean) / mass;
    for (double& value : v) value = squares > 1e-20 ? (value - mean) / std::sqrt(squares) : 0.0;
  }

  double evidence(const Gate& g, const std::vector<double>& theta, const std::vector<double>& row) const {
    double sum = 0;
    for (int k = 0; k < g.facets; ++k) {
      double z = theta[g.d * g.width + k];
      for (int j = 0; j < g.d; ++j) z += row[j] * theta[j * g.width + k];
      sum += std::exp(theta[(g.d + 1) * g.width + k]) *
             (std::max(z, 0.0) + std::log1p(std::exp(-std::fabs(z))));
    }
    return sum;
  }

  void send(const Vectors& theta, int v, const std::vector<double>& row, double reach,
            std::vector<double>& arrive) const {
    arrive[v] = reach;
    if (nodes[v].is_leaf()) return;
    const Gate& g = nodes[v].gate;
    const double g0 = theta[v][(g.d + 2) * g.width];
    const double q = 1 / (1 + std::exp(-lambda * (evidence(g, theta[v], row) - g0)));
    send(theta, nodes[v].left, row, reach * (1 - q), arrive);
    send(theta, nodes[v].right, row, reach * q, arrive);
  }

  // Cost of a leaf's rows; `pseudo` adds that of the pseudo-row.
  double leaf_loss(const std::vector<double>& reach, bool pseudo) const {
    const std::size_t n = y.size();
    double weight = trace, loss = 0;
    for (std::size_t i = 0; i < n; ++i) weight += w[i] * reach[i];
    if (o.task == "regression") {
      double mu = 0;
      for (std::size_t i = 0; i < n; ++i) mu += w[i] * reach[i] * y[i] / weight;
      for (std::size_t i = 0; i < n; ++i) loss += w[i] * reach[i] * (y[i] - mu) * (y[i] - mu);
      return loss + (pseudo ? trace * mu * mu : 0);
    }
    const int classes = o.n_classes;
    for (int c = 0; c < classes; ++c) {
      double count = 0;
      for (std::size_t i = 0; i < n; ++i) count += y[i] == c ? w[i] * reach[i] : 0;
      const double pi = (count + trace / classes) / weight;
      loss -= (count + (pseudo ? trace / classes : 0)) * std::log(pi);
    }
    return loss;
  }

  // Penalty of one facet as a function of log b.
  double facet_penalty(const Gate& g, const std::vector<double>& theta, int k, double log_b) const {
    const double b = std::exp(log_b), log_r = theta[(g.d + 1) * g.width + k];
    double sum = (1 - o.gamma0 / o.max_facets) * log_r + o.c0 * std::exp(log_r);
    for (int j = 0; j <= g.d; ++j) {
      const double c = theta[j * g.width + k];
      sum += (o.a_beta + 0.5) * std::log1p(c * c / (2 * b)) + 0.5 * log_b;
    }
    return sum - (o.e0 - 1) * log_b + o.f0 * b;
  }

  double least_penalty(const Gate& g, const std::vector<double>& theta) const {
    const double golden = 0.6180339887498949;
    double sum = 0;
    for (int k = 0; k < g.facets; ++k) {
      double low = std::log(1e-4), high = std::log(1e6);
      for (int step = 0; step < 45; ++step) {
        const double a = high - golden * (high - low), b = low + golden * (high - low);
        (facet_penalty(g, theta, k, a) < facet_penalty(g, theta, k, b) ? high : low) =
            facet_penalty(g, theta, k, a) < facet_penalty(g, theta, k, b) ? b : a;
      }
      sum += facet_penalty(g, theta, k, 0.5 * (low + high));
    }
    return o.prior_weight * sum;
  }

  double slope_penalty(const Gate& g, const std::vector<double>& theta) const {
    double sum = 0;
    for (int k = 0; k < g.facets; ++k)
      for (int j = 0; j < g.d; ++j) {
        const double r = std::exp(theta[(g.d + 1) * g.width + k]);
        sum += 0.5 * o.ridge * std::pow(lambda * r * theta[j * g.width + k], 2);
      }
    return sum;
  }

  double loss(const Vectors& theta, bool pseudo) const {
    Vectors reach(nodes.size(), std::vector<double>(y.size()));
    std::vector<double> arrive(nodes.size());
    for (std::size_t i = 0; i < y.size(); ++i) {
      send(theta, 0, x[i], 1.0, arrive);
      for (std::size_t v = 0; v < nodes.size(); ++v) reach[v][i] = arrive[v];
    }
    double sum = 0;
    for (std::size_t v = 0; v < nodes.size(); ++v) {
      if (nodes[v].is_leaf()) sum += leaf_loss(reach[v], pseudo);
      else if (o.prior_weight > 0)
        sum += prior_share * least_penalty(nodes[v].gate, theta[v]) + slope_penalty(nodes[v].gate, theta[v]);
    }
    return sum / mass;
  }

  // Five-point central difference: error of order h^4.
  double slope(Vectors& theta, int v, std::size_t i) const {
    const double at = theta[v][i], h = 1e-3;
    const auto moved = [&](double by) {
      theta[v][i] = at + by;
      return loss(theta, true);
    };
    const double near = moved(h) - moved(-h), far = moved(2 * h) - moved(-2 * h);
    theta[v][i] = at;
    return (8 * near - far) / (12 * h);
  }
};

Vectors parameters(const std::vector<Node>& nodes) {
  Vectors theta;
  for (const Node& n : nodes) theta.emplace_back(n.gate.theta.begin(), n.gate.theta.end());
  return theta;
}

double norm(const std::vector<double>& v) {
  double sum = 0;
  for (double e : v) sum += e * e;
  return std::sqrt(sum);
}

double largest(const std::vector<double>& v) {
  double most = 0;
  for (double e : v) most = std::max(most, std::fabs(e));
  return most;
}

// One node: B, a, log_r and g0 on their own, norm-wise and on the largest component.
void compare_node(const Reference& ref, Vectors& theta, int v, const std::vector<Real>& got,
                  const char* label) {
  static const char* names[] = {"B", "a", "log_r", "g0"};
  const Gate& g = ref.nodes[v].gate;
  const double tolerance = is_double ? 1e-7 : 1e-4;
  const std::size_t bounds[] = {0, g.tail(), g.tail() + g.width, g.tail() + 2 * g.width, got.size()};
  for (int part = 0; part < 4; ++part) {
    std::vector<double> want, error;
    for (std::size_t i = bounds[part]; i < bounds[part + 1]; ++i) {
      const bool used = part == 3 ? i == bounds[3] : static_cast<int>(i % g.width) < g.facets;
      if (!used) {
        CHECK(got[i] == 0, label, v, names[part], i, got[i]);  // padding stays put
        continue;
      }
      want.push_back(ref.slope(theta, v, i));
      error.push_back(got[i] - want.back());
    }
    CHECK(norm(error) < tolerance * norm(want), label, v, names[part], norm(error) / norm(want));
    CHECK(largest(error) < tolerance * largest(want), label, v, names[part],
          largest(error) / largest(want));
  }
}

struct Made {
  Matrix x;
  std::vector<double> y, w;
};

Made made(int n, int p, bool regression, std::uint64_t seed) {
  Made m{random_matrix(n, p, 0.4, seed), {}, {}};
  Stream s = random_numbers(seed + 1);
  for (int i = 0; i < n; ++i) {
    m.x.at(i, p - 1) = 3;  // constant: takes no part
    const double signal = m.x.at(i, 0) - m.x.at(i, 1) + s.normal();
    m.y.push_back(regression ? 50 + 7 * signal : (signal > 0.5) + (signal > -0.5));
    m.w.push_back(i % 11 == 3 ? 0.0 : 0.3 + 2 * s.uniform());
  }
  return m;
}

void compare_all(bool regression, bool sparse, double prior_weight, double lambda, int n = 70) {
  Made m = made(n, 5, regression, 70);
  Options o = options_for(regression, 3);
  o.prior_weight = prior_weight;
  o.ridge = prior_weight / 4;
  o.max_facets = 9;
  World w(m.x.view(sparse), m.y, m.w, o);
  Stream s = random_numbers(72);
  std::vector<Node> nodes = random_nodes(m.x.p, 2, {9, 3, 1}, s);
  Trainer trainer(w.data, *w.task, w.prior, nodes, w.all, 1, 1, w.hooks);
  EpochSettings settings;
  settings.lambda = lambda;
  settings.prior = 0.5;
  double loss = 0;
  const auto got = trainer.gradient(settings, &loss);
  const Reference ref(nodes, m.x, m.y, m.w, o, lambda, settings.prior);
  Vectors theta = parameters(nodes);
  std::ostringstream label;
  label << (regression ? "regression" : "classes") << (sparse ? " sparse" : " dense") << " prior "
        << prior_weight << " lambda " << lambda;
  const double want = ref.loss(theta, false);
  CHECK(std::fabs(loss - want) < (is_double ? 1e-12 : 1e-5) * (1 + std::fabs(want)), label.str(),
        loss, want);
  for (std::size_t v = 0; v < nodes.size(); ++v)
    if (nodes[v].is_leaf()) CHECK(got[v].empty(), label.str(), v);
    else compare_node(ref, theta, static_cast<int>(v), got[v], label.str().c_str());
}

double gap(const std::vector<Real>& a, const std::vector<Real>& b) {
  double most = 0, size = 1e-30;
  for (std::size_t i = 0; i < a.size(); ++i) {
    most = std::max(most, std::fabs(double(a[i]) - double(b[i])));
    size = std::max(size, std::fabs(double(a[i])));
  }
  return most / size;
}

}  // namespace

TEST(gradient_classification_dense) {
  for (double lambda : {0.7, 3.0})
    for (double prior : {0.0, 0.6}) compare_all(false, false, prior, lambda);
}

TEST(gradient_classification_sparse) {
  for (double lambda : {0.7, 3.0})
    for (double prior : {0.0, 0.6}) compare_all(false, true, prior, lambda);
}

TEST(gradient_regression_dense) {
  for (double lambda : {0.7, 3.0})
    for (double prior : {0.0, 0.6}) compare_all(true, false, prior, lambda);
}

TEST(gradient_regression_sparse) {
  for (double lambda : {0.7, 3.0})
    for (double prior : {0.0, 0.6}) compare_all(true, true, prior, lambda);
}

// Many rows: several panels, whose branches and gates must see the rows of all.
TEST(gradient_of_several_panels) {
  for (bool regression : {false, true})
    for (bool sparse : {false, true}) compare_all(regression, sparse, 0.6, 1.5, 1300);
}

// Many nodes: a trunk of three levels, and branches. Of each gate all parameters at once,
// for those of a small gradient far down are as small as the error of the differences.
TEST(gradient_of_a_deep_tree) {
  for (bool regression : {false, true})
    for (bool sparse : {false, true}) {
      Made m = made(420, 3, regression, 80);
      World w(m.x.view(sparse), m.y, m.w, options_for(regression, 3));
      Stream s = random_numbers(81);
      std::vector<Node> nodes = random_nodes(m.x.p, 5, {4, 2, 1}, s);
      const std::vector<char> is_end = trunk_ends(nodes, even_shares(nodes));
      CHECK(is_end[7] && !is_end[6]);
      Trainer trainer(w.data, *w.task, w.prior, nodes, w.all, 1, 1, w.hooks);
      EpochSettings settings;
      settings.lambda = 0.7;
      double loss = 0;
      const auto got = trainer.gradient(settings, &loss);
      const Reference ref(nodes, m.x, m.y, m.w, w.options, settings.lambda, settings.prior);
      Vectors theta = parameters(nodes);
      for (int v : {0, 2, 5, 7, 10, 14, 15, 22, 30}) {
        std::vector<double> want, error;
        for (std::size_t i = 0; i < got[v].size(); ++i) {
          want.push_back(got[v][i] == 0 ? 0 : ref.slope(theta, v, i));
          error.push_back(got[v][i] - want.back());
        }
        CHECK(norm(want) > 0, regression, sparse, v);
        CHECK(norm(error) < (is_double ? 1e-7 : 1e-4) * norm(want), regression, sparse, v,
              norm(error) / norm(want));
      }
    }
}

TEST(gradient_panels_cut_a_batch_once) {
  for (int rows : {1, 100, 256, 257, 1000, 1300, 5001}) {
    const std::vector<RowRange> cuts = cut_into_panels(rows);
    int next = 0;
    for (const RowRange& cut : cuts) {
      CHECK(cut.first == next && cut.count > 0 && cut.count <= 256, rows, cut.first, cut.count);
      next += cut.count;
    }
    CHECK(next == rows, rows, next);
    CHECK((cuts.size() > 1) == (rows > 256), rows, cuts.size());
  }
}

// A path of splits with one leaf each, and a balanced tree, whose rows come to all nodes
// alike or go left: from the root down, every path meets one end of the trunk, and there and
// below there is less than 1 / 8 of all work.
TEST(gradient_trunk_ends_once_on_every_path) {
  Stream s = random_numbers(79);
  std::vector<Node> path(101);
  for (int v = 0; v < 50; ++v) {
    path[2 * v].gate = random_parameters(2, 1, s);
    path[2 * v].left = 2 * v + 1;
    path[2 * v].right = 2 * v + 2;
  }
  for (const std::vector<Node>& nodes : {path, random_nodes(2, 6, {1}, s), std::vector<Node>(1)})
    for (bool left : {false, true}) {
      std::vector<double> share = even_shares(nodes), work(nodes.size(), 0.0);
      for (std::size_t v = 0; v < nodes.size() && left; ++v)
        if (!nodes[v].is_leaf()) {
          share[nodes[v].left] = 0.99 * share[v];
          share[nodes[v].right] = 0.01 * share[v];
        }
      const std::vector<char> is_end = trunk_ends(nodes, share);
      std::vector<int> ends(nodes.size(), 0);  // met on the way to a node, itself included
      for (std::size_t v = 0; v < nodes.size(); ++v) {
        ends[v] += is_end[v];
        if (nodes[v].is_leaf()) CHECK(ends[v] >= 1, v, nodes.size(), left);
        else
          for (int child : {nodes[v].left, nodes[v].right}) ends[child] = ends[v];
      }
      for (std::size_t v = nodes.size(); v-- > 0;) {
        if (nodes[v].is_leaf()) continue;
        work[v] = share[v] * nodes[v].gate.theta.size() + work[nodes[v].left] + work[nodes[v].right];
      }
      for (std::size_t v = 0; v < nodes.size(); ++v)
        if (!nodes[v].is_leaf())
          CHECK(is_end[v] == (work[v] < work[0] / 8), v, nodes.size(), left);
      CHECK(is_end[0] == (nodes.size() == 1), nodes.size());
    }
}

// Many columns: several chunks of the gradient, cut differently for dense and sparse.
TEST(gradient_dense_equals_sparse) {
  for (bool regression : {false, true})
    for (int p : {5, 600})
      for (double prior : {0.0, 0.6}) {
        Made m = made(50, p, regression, 73);
        Options o = options_for(regression, 3);
        o.prior_weight = prior;
        World dense(m.x.dense(), m.y, m.w, o), sparse(m.x.sparse(), m.y, m.w, o);
        Stream s = random_numbers(74);
        std::vector<Node> nodes = random_nodes(p, 2, {9, 3, 1}, s);
        for (Node& node : nodes)  // keep g of order one when there are many columns
          for (std::size_t i = 0; i < node.gate.tail(); ++i)
            node.gate.theta[i] *= static_cast<Real>(std::sqrt(5.0 / p));
        EpochSettings settings;
        settings.lambda = 2;
        double a = 0, b = 0;
        Trainer one(dense.data, *dense.task, dense.prior, nodes, dense.all, 1, 1, dense.hooks);
        Trainer two(sparse.data, *sparse.task, sparse.prior, nodes, sparse.all, 1, 1, sparse.hooks);
        const auto x = one.gradient(settings, &a), y = two.gradient(settings, &b);
        CHECK(std::fabs(a - b) < 1e-5 * (1 + std::fabs(a)), regression, p, prior, a, b);
        for (int v = 0; v < 3; ++v)
          CHECK(gap(x[v], y[v]) < (is_double ? 1e-12 : 1e-5), regression, p, prior, v, gap(x[v], y[v]));
      }
}

// Steps build on each other: what a sparse gate carries of the centring must move with it.
// Gates in double only: Adam takes the sign of gradients that are nothing but rounding.
TEST(gradient_steps_on_dense_and_sparse_rows_lead_to_the_same_gates) {
  for (int p : {5, 1100}) {  // one chunk of columns, and two
    Made m = made(60, p, false, 73);
    const Options o = options_for(false, 3);
    World dense(m.x.dense(), m.y, m.w, o), sparse(m.x.sparse(), m.y, m.w, o);
    Stream s = random_numbers(74);
    std::vector<Node> start = random_nodes(p, 2, {9, 3, 1}, s);
    for (Node& node : start)
      for (std::size_t i = 0; i < node.gate.tail(); ++i)
        node.gate.theta[i] *= static_cast<Real>(std::sqrt(5.0 / p));
    EpochSettings settings;
    settings.lambda = 2;
    settings.rate = 0.01;
    settings.batch_size = 15;
    std::vector<Node> a = start, b = start;
    Trainer one(dense.data, *dense.task, dense.prior, a, dense.all, 1, 1, dense.hooks);
    Trainer two(sparse.data, *sparse.task, sparse.prior, b, sparse.all, 1, 1, sparse.hooks);
    const double loss_a = one.epoch(settings), loss_b = two.epoch(settings);
    CHECK(std::fabs(loss_a - loss_b) < (is_double ? 1e-9 : 1e-4), p, loss_a, loss_b);
    for (int v = 0; is_double && v < 3; ++v) {
      const std::vector<Real> x(a[v].gate.theta.begin(), a[v].gate.theta.end());
      const std::vector<Real> y(b[v].gate.theta.begin(), b[v].gate.theta.end());
      const std::vector<Real> z(start[v].gate.theta.begin(), start[v].gate.theta.end());
      CHECK(gap(x, z) > 1e-3, p, v, gap(x, z));
      CHECK(gap(x, y) < 1e-7, p, v, gap(x, y));
    }
  }
}

void same_in_any_order(int columns, bool sparse) {
  Made m = made(900, columns, false, 75);
  const Options o = options_for(false, 3);
  Stream s = random_numbers(76);
  std::vector<Node> nodes = random_nodes(m.x.p, 5, {20, 9, 3}, s);
  EpochSettings settings;
  std::vector<std::vector<Real>> first;
  for (const Hooks& hooks : {serial_hooks(), reversed_hooks(), thread_hooks(3)}) {
    World w(m.x.view(sparse), m.y, m.w, o, hooks);
    Trainer trainer(w.data, *w.task, w.prior, nodes, w.all, 1, 1, w.hooks);
    double loss = 0;
    const auto got = trainer.gradient(settings, &loss);
    if (first.empty()) first = got;
    for (std::size_t v = 0; v < got.size(); ++v)
      CHECK(same_bits(got[v], first[v]), columns, sparse, v);
  }
}

TEST(gradient_is_the_same_in_any_order_of_tasks) {
  for (int columns : {40, 90})  // the gradient of a gate made by panels, and at once
    for (bool sparse : {false, true}) same_in_any_order(columns, sparse);
}

// Rows that hardly arrive are left out, which costs some accuracy: of the gradient of
// the whole tree 3 % at a tolerance of 1e-3 and 1 % at 3e-4. (Not so of single gates:
// one whose own gradient has nearly vanished can lose all of it.)
TEST(gradient_changes_little_with_the_reach_tolerance) {
  const double tolerance[] = {1e-3, 3e-4}, bound[] = {0.03, 0.01};
  for (bool regression : {false, true}) {
    const Sample sample = rings(600, 2, regression, 77);
    Options o = options_for(regression);
    o.max_depth = 3;
    World w(sample.x.dense(), sample.y, sample.weight, o);
    const Problem problem = w.problem();
    std::vector<Node> nodes = grow(problem);
    refine(problem, nodes);
    CHECK(nodes.size() >= 7, regression, nodes.size());
    Trainer trainer(w.data, *w.task, w.prior, nodes, w.all, 1, 1, w.hooks);
    for (double lambda : {o.lambda_start, o.lambda_end})
      for (int t = 0; t < 2; ++t) {
        EpochSettings settings;
        settings.lambda = lambda;
        double loss = 0;
        const auto exact = trainer.gradient(settings, &loss);
        settings.reach_tolerance = tolerance[t];
        const auto got = trainer.gradient(settings, &loss);
        double size = 0, change = 0;
        for (std::size_t v = 0; v < nodes.size(); ++v)
          for (std::size_t i = 0; i < exact[v].size(); ++i) {
            size += double(exact[v][i]) * exact[v][i];
            change += (double(got[v][i]) - exact[v][i]) * (double(got[v][i]) - exact[v][i]);
          }
        CHECK(std::sqrt(change / size) < bound[t], regression, lambda, tolerance[t],
              std::sqrt(change / size));
        if (t == 0) CHECK(change > 0, regression, lambda);  // something was left out
      }
  }
}
