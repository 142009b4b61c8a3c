// support.h: what several tests share: matrices with their dense and sparse views,
// made-up data, hooks that run tasks in other orders, and everything a trainer needs
// in one place. No checks here.
#ifndef CPT_TEST_SUPPORT_H
#define CPT_TEST_SUPPORT_H

#include <atomic>
#include <cmath>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

#include "fit.h"
#include "trainer.h"

namespace support {

using namespace cpt;

constexpr bool is_double = sizeof(Real) == sizeof(double);

// Numbers for tests; any stream of the engine will do once test_rng has passed.
inline Stream random_numbers(std::uint64_t seed) { return Stream(seed, 77, Purpose::sample); }

// ---- hooks ------------------------------------------------------------------

inline Hooks serial_hooks() {
  Hooks h;
  h.parallel_for = Hooks::run_serially;
  return h;
}

inline Hooks reversed_hooks() {
  Hooks h;
  h.threads = 2;  // so that the engine makes tasks
  h.parallel_for = [](int tasks, const std::function<void(int)>& body) {
    for (int t = tasks - 1; t >= 0; --t) body(t);
  };
  return h;
}

// `claimed` is what the engine is told, `running` how many threads there are.
inline Hooks thread_hooks(int claimed, int running = 3) {
  Hooks h;
  h.threads = claimed;
  h.parallel_for = [running](int tasks, const std::function<void(int)>& body) {
    std::atomic<int> next(0);
    std::exception_ptr error;
    std::mutex mutex;
    std::vector<std::thread> threads;
    for (int i = 0; i < running; ++i)
      threads.emplace_back([&] {
        try {
          for (int t = next++; t < tasks; t = next++) body(t);
        } catch (...) {
          std::lock_guard<std::mutex> lock(mutex);
          error = std::current_exception();
        }
      });
    for (std::thread& t : threads) t.join();
    if (error) std::rethrow_exception(error);
  };
  return h;
}

// ---- data -------------------------------------------------------------------

struct Matrix {
  int n = 0, p = 0;
  std::vector<double> x;  // column-major
  std::vector<int> start, index;
  std::vector<double> nonzero;

  Matrix(int n_, int p_) : n(n_), p(p_), x(static_cast<std::size_t>(n_) * p_, 0.0) {}
  double& at(int i, int j) { return x[static_cast<std::size_t>(j) * n + i]; }
  double at(int i, int j) const { return x[static_cast<std::size_t>(j) * n + i]; }

  MatrixView dense() const {
    MatrixView v;
    v.rows = n;
    v.cols = p;
    v.dense = x.data();
    return v;
  }
  MatrixView sparse() {
    start.assign(1, 0);
    index.clear();
    nonzero.clear();
    for (int j = 0; j < p; ++j) {
      for (int i = 0; i < n; ++i)
        if (at(i, j) != 0) {
          index.push_back(i);
          nonzero.push_back(at(i, j));
        }
      start.push_back(static_cast<int>(index.size()));
    }
    MatrixView v;
    v.rows = n;
    v.cols = p;
    v.column_start = start.data();
    v.row_index = index.data();
    v.nonzero = nonzero.data();
    return v;
  }
  MatrixView view(bool as_sparse) { return as_sparse ? sparse() : dense(); }
};

// Normal numbers in different units; a share of the entries is zero.
inline Matrix random_matrix(int n, int p, double zeros, std::uint64_t seed) {
  Matrix m(n, p);
  Stream s = random_numbers(seed);
  for (int j = 0; j < p; ++j)
    for (int i = 0; i < n; ++i) {
      const bool zero = s.uniform() < zeros;
      const double v = (1 + j % 3) * s.normal() + 0.5 * (j % 2);
      m.at(i, j) = zero ? 0.0 : v;
    }
  return m;
}

struct Sample {
  Matrix x;
  std::vector<double> y, weight;
  std::vector<char> valid;
};

// Points in a cube; the outcome depends on the distance from the middle in the first
// two columns, as in the paper's rings.
inline Sample rings(int n, int p, bool regression, std::uint64_t seed) {
  Sample s{Matrix(n, p), std::vector<double>(n), std::vector<double>(n, 1.0),
           std::vector<char>(n, 0)};
  Stream u = random_numbers(seed);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < p; ++j) s.x.at(i, j) = 2 * u.uniform() - 1;
    const double radius = std::hypot(s.x.at(i, 0), s.x.at(i, std::min(1, p - 1)));
    if (regression) s.y[i] = 10 + 5 * radius * radius + 0.3 * u.normal();
    else s.y[i] = radius > 0.4 && radius < 0.8;
  }
  return s;
}

inline Options options_for(bool regression, int classes = 2) {
  Options o;
  o.task = regression ? "regression" : "classification";
  o.n_classes = regression ? 0 : classes;
  o.seed = 5;
  o.max_depth = 2;
  o.max_facets = 5;
  o.min_split_obs = 10;
  o.min_leaf_obs = 4;
  o.min_gain = 1e-4;
  o.starts = 2;
  o.tree_starts = 1;
  o.column_share = HUGE_VAL;
  o.standardize = "columns";
  o.grow_epochs = 10;
  o.grow_min_steps = 60;
  o.grow_rate = 0.03;
  o.refine_epochs = 20;
  o.refine_rate = 0.01;
  o.batch_size = 100;
  o.lambda_start = 0.5;
  o.lambda_end = 4;
  o.weight_rate = 1;
  o.reach_tolerance = 1e-3;
  o.gamma0 = 1.5;
  o.c0 = 0.8;
  o.a_beta = 1.2;
  o.e0 = 1.3;
  o.f0 = 0.7;
  o.shrink_rounds = 8;
  return o;
}

inline FitInput fit_input(const Sample& s, const MatrixView& x, const Options& o) {
  FitInput in;
  in.x = x;
  in.y = s.y;
  in.weight = s.weight;
  in.valid = s.valid;
  in.options = o;
  return in;
}

inline std::vector<int> row_numbers(int n) {
  std::vector<int> all(n);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// All that stands between a matrix and a trainer, kept alive together.
struct World {
  Options options;
  Hooks hooks;
  Rows rows;
  TrainingData data;
  std::unique_ptr<Task> task;
  Prior prior;
  std::vector<int> all;
  std::vector<Record> history;

  World(const MatrixView& x, const std::vector<double>& y, const std::vector<double>& weight,
        const Options& o, const Hooks& h = serial_hooks())
      : options(o), hooks(h), rows(x),
        data(x, rows, make_scaling(measure_columns(x, weight, h), o.standardize), h,
             row_numbers(x.rows)),
        task(make_task(o, y, weight, std::vector<char>(x.rows, 1))), prior(o),
        all(row_numbers(x.rows)) {}
  World(const World&) = delete;

  Problem problem() {
    std::vector<double> s(task->statistics(), 0.0);
    task->accumulate(static_cast<int>(all.size()), all.data(), nullptr, s.data());
    return Problem{options, data, *task, *task, prior, all, all, {}, {}, hooks, history,
                   task->impurity(s.data()), 0.5};
  }
};

// A gate with random parameters of order one.
inline Gate random_parameters(int d, int facets, Stream& s) {
  Gate gate(d, facets);
  for (int k = 0; k < facets; ++k) {
    for (int j = 0; j < d; ++j) gate.B()[j * gate.width + k] = static_cast<Real>(0.7 * s.normal());
    gate.a()[k] = static_cast<Real>(0.5 * s.normal());
    gate.log_r()[k] = static_cast<Real>(0.5 * s.normal() - std::log(facets));
  }
  gate.g0() = static_cast<Real>(0.9 + 0.2 * s.normal());
  return gate;
}

// A full tree of the given depth; `facets` are used in turn.
inline std::vector<Node> random_nodes(int d, int depth, const std::vector<int>& facets, Stream& s) {
  const int inner = (1 << depth) - 1;
  std::vector<Node> nodes(2 * inner + 1);
  for (int v = 0; v < static_cast<int>(nodes.size()); ++v) {
    nodes[v].id = v + 1;
    if (v > 0) nodes[v].depth = nodes[(v - 1) / 2].depth + 1;
    if (v >= inner) continue;
    nodes[v].left = 2 * v + 1;
    nodes[v].right = 2 * v + 2;
    nodes[v].gate = random_parameters(d, facets[v % facets.size()], s);
  }
  return nodes;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

inline bool same_bits(const Tree& a, const Tree& b) {
  return a.cols == b.cols && a.outputs == b.outputs && a.lambda == b.lambda &&
         same_bits(a.node, b.node) && same_bits(a.parent, b.parent) &&
         same_bits(a.depth, b.depth) && same_bits(a.left, b.left) && same_bits(a.right, b.right) &&
         same_bits(a.n, b.n) && same_bits(a.weight, b.weight) && same_bits(a.loss, b.loss) &&
         same_bits(a.threshold, b.threshold) && same_bits(a.value, b.value) &&
         same_bits(a.first, b.first) && same_bits(a.facets, b.facets) && same_bits(a.r, b.r) &&
         same_bits(a.intercept, b.intercept) && same_bits(a.coef, b.coef);
}

inline int leaves(const Tree& tree) {
  int count = 0;
  for (int v = 0; v < tree.size(); ++v) count += tree.is_leaf(v);
  return count;
}

}  // namespace support

#endif
