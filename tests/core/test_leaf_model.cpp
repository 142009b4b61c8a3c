// test_leaf_model.cpp: ridge regression against normal equations solved directly, its
// leave-one-out scores against fits without the row, the same answers from rows and
// from columns, dense and sparse, and what becomes of it in the nodes of a tree.
#include "leaf_model.h"
#include "ridge.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "predict.h"
#include "support.h"
#include "test.h"

using namespace support;

namespace {

// A linear outcome with noise; weights as asked for.
Sample linear_sample(int n, int p, double noise, std::uint64_t seed, double zeros = 0.3) {
  Sample s{random_matrix(n, p, zeros, seed), std::vector<double>(n), std::vector<double>(n, 1.0),
           std::vector<char>(n, 0)};
  Stream u = random_numbers(seed + 1);
  for (int i = 0; i < n; ++i) {
    s.y[i] = 3 + noise * u.normal();
    for (int j = 0; j < std::min(p, 4); ++j) s.y[i] += (1 + j) * s.x.at(i, j);
  }
  return s;
}

struct Fitted {
  Rows rows;
  Scaling scaling;
  std::vector<int> all;
  Ridge ridge;
};

Fitted fit_all(Sample& s, bool sparse, const RidgeLimits& limits = RidgeLimits(),
               const Hooks& hooks = serial_hooks()) {
  const MatrixView view = s.x.view(sparse);
  Fitted f{Rows(view), make_scaling(measure_columns(view, s.weight, hooks), "columns"),
           std::vector<int>(s.x.n), Ridge()};
  std::iota(f.all.begin(), f.all.end(), 0);
  f.ridge = fit_ridge({f.rows, f.scaling, s.y, s.weight}, f.all, limits, hooks);
  return f;
}

// Intercept and scaled coefficients by the normal equations, the intercept free.
Eigen::VectorXd direct(const Sample& s, const Scaling& scaling, const std::vector<double>& weight,
                       double lambda) {
  const int n = s.x.n, p = s.x.p;
  Eigen::MatrixXd x = Eigen::MatrixXd::Ones(n, p + 1);
  Eigen::VectorXd y(n), w(n);
  for (int i = 0; i < n; ++i) {
    y[i] = s.y[i];
    w[i] = weight[i];
    for (int j = 0; j < p; ++j)
      x(i, j + 1) = (s.x.at(i, j) - scaling.centre[j]) * scaling.inverse(j);
  }
  Eigen::MatrixXd a = x.transpose() * w.asDiagonal() * x;
  for (int j = 1; j <= p; ++j) a(j, j) += lambda;
  const Eigen::VectorXd right = x.transpose() * (w.asDiagonal() * y);
  return a.ldlt().solve(right);
}

double predicted(const Sample& s, const Scaling& scaling, const Eigen::VectorXd& b, int i) {
  double sum = b[0];
  for (int j = 0; j < s.x.p; ++j)
    sum += b[j + 1] * (s.x.at(i, j) - scaling.centre[j]) * scaling.inverse(j);
  return sum;
}

// The mean squared error when a unit of weight (or the row) is left out, by fits
// without it.
double left_out(const Sample& s, const Scaling& scaling, double lambda) {
  double sum = 0, total = 0;
  for (int i = 0; i < s.x.n; ++i) {
    std::vector<double> w = s.weight;
    w[i] -= std::min(1.0, w[i]);
    const double off = s.y[i] - predicted(s, scaling, direct(s, scaling, w, lambda), i);
    sum += s.weight[i] * off * off;
    total += s.weight[i];
  }
  return sum / total;
}

bool near(double a, double b, double tolerance = 1e-8) {
  return std::fabs(a - b) <= tolerance * (1 + std::fabs(a) + std::fabs(b));
}

double largest_gap(const std::vector<double>& a, const std::vector<double>& b) {
  double gap = a.size() == b.size() ? 0 : HUGE_VAL;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i)
    gap = std::max(gap, std::fabs(a[i] - b[i]) / (1 + std::fabs(a[i])));
  return gap;
}

void check_direct(Sample& s, const Fitted& f) {
  CHECK(std::isfinite(f.ridge.chosen), f.ridge.chosen);
  const Eigen::VectorXd b = direct(s, f.scaling, s.weight, f.ridge.chosen);
  double intercept = b[0];
  for (int j = 0; j < s.x.p; ++j) {
    const double coef = b[j + 1] * f.scaling.inverse(j);
    intercept -= coef * f.scaling.centre[j];
    CHECK(near(f.ridge.coef[j], coef), j, f.ridge.coef[j], coef);
  }
  CHECK(near(f.ridge.intercept, intercept), f.ridge.intercept, intercept);
}

}  // namespace

TEST(leaf_model_is_the_direct_solution_with_its_leave_one_out_errors) {
  for (int p : {3, 60})  // more rows than columns, and fewer
    for (bool sparse : {false, true})
      for (bool weighted : {false, true}) {
        Sample s = linear_sample(40, p, 1.0, 200 + p);
        if (weighted)
          for (int i = 0; i < 40; ++i) s.weight[i] = 0.25 + i % 4;
        const Fitted f = fit_all(s, sparse);
        check_direct(s, f);
        CHECK(f.ridge.lambda.size() == 15, f.ridge.lambda.size());
        for (std::size_t k = 0; k < f.ridge.lambda.size(); k += 2) {
          const double score = left_out(s, f.scaling, f.ridge.lambda[k]);
          CHECK(near(f.ridge.score[k], score, 1e-6), p, sparse, weighted, k, f.ridge.score[k], score);
        }
        const double constant = left_out(s, f.scaling, 1e14);
        CHECK(near(f.ridge.constant_score, constant, 1e-6), f.ridge.constant_score, constant);
        const double least = *std::min_element(f.ridge.score.begin(), f.ridge.score.end());
        for (std::size_t k = 0; k < f.ridge.lambda.size(); ++k)
          if (f.ridge.lambda[k] == f.ridge.chosen) CHECK(f.ridge.score[k] == least, k);
      }
}

// Penalties relative to the sum of squares of the standardised columns: rows x columns.
TEST(leaf_model_tries_penalties_relative_to_the_sum_of_squares) {
  Sample s = linear_sample(50, 4, 1.0, 210);
  const Fitted f = fit_all(s, false);
  for (int k = 0; k < 15; ++k)
    CHECK(near(f.ridge.lambda[k], 50 * 4 * std::pow(10.0, -6 + k / 2.0)), k, f.ridge.lambda[k]);
}

TEST(leaf_model_with_mean_leverage_is_generalised_cross_validation) {
  RidgeLimits limits;
  limits.exact = 0;
  for (int p : {1, 3, 60})
    for (bool sparse : {false, true}) {
      Sample s = linear_sample(40, p, 1.0, 220 + p);
      for (int i = 0; i < 40; ++i) s.weight[i] = 1 + i % 3;
      const Fitted f = fit_all(s, sparse, limits);
      check_direct(s, f);
      double total = 0;
      for (double w : s.weight) total += w;
      for (std::size_t k = 0; k < f.ridge.lambda.size(); k += 3) {
        const Eigen::VectorXd b = direct(s, f.scaling, s.weight, f.ridge.lambda[k]);
        double trace = 0, sum = 0;
        for (int i = 0; i < 40; ++i) {  // the hat matrix, one outcome at a time
          Sample unit = s;
          std::fill(unit.y.begin(), unit.y.end(), 0.0);
          unit.y[i] = 1;
          const Eigen::VectorXd column = direct(unit, f.scaling, s.weight, f.ridge.lambda[k]);
          trace += predicted(unit, f.scaling, column, i);
          const double off = s.y[i] - predicted(s, f.scaling, b, i);
          sum += s.weight[i] * off * off;
        }
        const double score = sum / total / std::pow(1 - trace / total, 2);
        CHECK(near(f.ridge.score[k], score, 1e-6), p, sparse, k, f.ridge.score[k], score);
      }
    }
}

TEST(leaf_model_of_tall_data_is_scored_without_leverages) {
  RidgeLimits exact;
  exact.tall = HUGE_VAL;
  Sample s = linear_sample(1500, 2, 2.0, 230);
  const Fitted quick = fit_all(s, false), slow = fit_all(s, false, exact);
  CHECK(!same_bits(quick.ridge.score, slow.ridge.score));
  CHECK(largest_gap(quick.ridge.score, slow.ridge.score) < 1e-3,
        largest_gap(quick.ridge.score, slow.ridge.score));
  CHECK(quick.ridge.chosen == slow.ridge.chosen, quick.ridge.chosen, slow.ridge.chosen);
}

TEST(leaf_model_is_the_same_for_dense_and_sparse_rows) {
  for (int limit : {0, 600})
    for (int p : {5, 90}) {
      RidgeLimits limits;
      limits.exact = limit;
      Sample s = linear_sample(60, p, 1.0, 240 + p, 0.8);
      const Ridge dense = fit_all(s, false, limits).ridge, sparse = fit_all(s, true, limits).ridge;
      CHECK(dense.chosen < HUGE_VAL, p);
      CHECK(largest_gap(dense.score, sparse.score) < 1e-8, largest_gap(dense.score, sparse.score));
      CHECK(largest_gap(dense.coef, sparse.coef) < 1e-8, largest_gap(dense.coef, sparse.coef));
      CHECK(near(dense.intercept, sparse.intercept), dense.intercept, sparse.intercept);
    }
}

TEST(leaf_model_weight_two_is_the_row_twice) {
  for (int limit : {0, 600})
    for (int p : {3, 80}) {
      RidgeLimits limits;
      limits.exact = limit;
      Sample s = linear_sample(30, p, 1.0, 250 + p);
      std::vector<int> origin;
      for (int i = 0; i < 30; ++i) {
        s.weight[i] = 1 + i % 2;
        for (int copy = 0; copy < s.weight[i]; ++copy) origin.push_back(i);
      }
      const int m = static_cast<int>(origin.size());
      Sample twice{Matrix(m, p), {}, std::vector<double>(m, 1.0), std::vector<char>(m, 0)};
      for (int i = 0; i < m; ++i) {
        for (int j = 0; j < p; ++j) twice.x.at(i, j) = s.x.at(origin[i], j);
        twice.y.push_back(s.y[origin[i]]);
      }
      const Ridge a = fit_all(s, false, limits).ridge, b = fit_all(twice, false, limits).ridge;
      CHECK(largest_gap(a.score, b.score) < 1e-7, largest_gap(a.score, b.score));
      CHECK(largest_gap(a.coef, b.coef) < 1e-7, largest_gap(a.coef, b.coef));
      CHECK(near(a.chosen, b.chosen), a.chosen, b.chosen);
    }
}

TEST(leaf_model_does_not_depend_on_units) {
  Sample s = linear_sample(60, 5, 1.0, 260);
  const Ridge before = fit_all(s, false).ridge;
  for (int i = 0; i < 60; ++i) s.x.at(i, 1) = 1000 * s.x.at(i, 1) + 7e4;
  const Ridge after = fit_all(s, false).ridge;
  for (int j = 0; j < 5; ++j)
    CHECK(near(before.coef[j], after.coef[j] * (j == 1 ? 1000 : 1)), j, before.coef[j], after.coef[j]);
  CHECK(near(before.intercept, after.intercept + 7e4 * after.coef[1], 1e-7));
}

TEST(leaf_model_keeps_the_mean_where_it_is_as_good) {
  Sample noise = linear_sample(80, 6, 1.0, 270);
  Stream u = random_numbers(271);
  for (double& y : noise.y) y = u.normal();
  Sample few = linear_sample(9, 2, 0.01, 272), flat = linear_sample(40, 2, 1.0, 273),
         same = linear_sample(40, 2, 1.0, 274);
  for (double& y : flat.y) y = 4.5;
  for (double& v : same.x.x) v = 2;
  for (Sample* s : {&noise, &few, &flat, &same}) {
    const Ridge r = fit_all(*s, false).ridge;
    double sum = 0;
    for (double y : s->y) sum += y;
    CHECK(!std::isfinite(r.chosen), r.chosen);
    CHECK(near(r.intercept, sum / s->x.n), r.intercept);
    for (double b : r.coef) CHECK(b == 0, b);
  }
}

TEST(leaf_model_gives_no_coefficient_to_a_column_that_does_not_vary_here) {
  Sample s = linear_sample(60, 4, 1.0, 280);
  for (int i = 0; i < 30; ++i) s.x.at(i, 2) = 0.7;
  for (bool sparse : {false, true}) {
    const MatrixView view = s.x.view(sparse);
    const Rows rows(view);
    const Scaling scaling = make_scaling(measure_columns(view, s.weight, serial_hooks()), "columns");
    std::vector<int> first(30);
    std::iota(first.begin(), first.end(), 0);
    const Ridge r = fit_ridge({rows, scaling, s.y, s.weight}, first, RidgeLimits(), serial_hooks());
    CHECK(r.coef[2] == 0 && r.coef[0] != 0 && r.coef[3] != 0, sparse, r.coef[2], r.coef[0]);
  }
}

TEST(leaf_model_of_very_many_rows_and_columns_uses_rows_evenly_apart) {
  RidgeLimits limits;
  limits.most = 20;
  Sample s = linear_sample(60, 25, 0.5, 290);
  const Fitted some = fit_all(s, false, limits);
  std::vector<int> third;
  for (int i = 0; i < 60; i += 3) third.push_back(i);
  const Ridge same = fit_ridge({some.rows, some.scaling, s.y, s.weight}, third, RidgeLimits(),
                               serial_hooks());
  CHECK(same_bits(some.ridge.coef, same.coef) && some.ridge.chosen == same.chosen);
}

TEST(leaf_model_is_the_same_bits_in_any_order_of_tasks) {
  for (int p : {3, 700})
    for (bool sparse : {false, true}) {
      Sample s = linear_sample(p == 3 ? 3000 : 300, p, 1.0, 300, 0.9);
      const Ridge first = fit_all(s, sparse).ridge;
      CHECK(std::isfinite(first.chosen), p, sparse);
      for (const Hooks& hooks : {reversed_hooks(), thread_hooks(3), thread_hooks(1000)}) {
        const Ridge again = fit_all(s, sparse, RidgeLimits(), hooks).ridge;
        CHECK(same_bits(first.coef, again.coef) && same_bits(first.score, again.score), p, sparse);
        CHECK(first.intercept == again.intercept, p, sparse);
      }
    }
}

TEST(leaf_models_of_a_fit_are_those_of_the_rows_of_each_node) {
  Sample s = rings(500, 3, true, 310);
  for (int i = 0; i < 500; ++i) {
    s.y[i] += 4 * s.x.at(i, 2);
    s.weight[i] = 1 + i % 2;
    s.valid[i] = i % 10 == 0;
  }
  s.weight[3] = 0;
  Options o = options_for(true);
  const FitInput in = fit_input(s, s.x.dense(), o);
  const FitResult plain = fit(in, serial_hooks());
  CHECK(plain.models.empty());
  o.leaf = "linear";
  const FitResult r = fit(fit_input(s, s.x.dense(), o), serial_hooks());
  CHECK(same_bits(plain.tree, r.tree) && same_bits(plain.where, r.where));
  CHECK(r.tree.size() >= 5, r.tree.size());
  std::vector<double> trained = s.weight;
  for (int i = 0; i < 500; ++i)
    if (s.valid[i]) trained[i] = 0;
  const Rows rows(s.x.dense());
  const Scaling scaling = make_scaling(measure_columns(s.x.dense(), trained, serial_hooks()), "columns");
  int linear = 0;
  for (int v = 0; v < r.tree.size(); ++v) {
    std::vector<int> here;
    double least = HUGE_VAL, most = -HUGE_VAL;
    for (int i = 0; i < 500; ++i) {
      int id = r.tree.node[r.where[i]];
      while (id > r.tree.node[v]) id /= 2;
      if (id != r.tree.node[v] || !(trained[i] > 0)) continue;
      here.push_back(i);
      least = std::min(least, s.y[i]);
      most = std::max(most, s.y[i]);
    }
    CHECK(static_cast<int>(here.size()) == r.tree.n[v], v);
    const Ridge ridge = fit_ridge({rows, scaling, s.y, s.weight}, here, RidgeLimits(), serial_hooks());
    const std::vector<double> coef(r.models.coef.begin() + 3 * v, r.models.coef.begin() + 3 * v + 3);
    CHECK(same_bits(coef, ridge.coef), v);
    if (std::isfinite(ridge.chosen)) CHECK(r.models.intercept[v] == ridge.intercept, v);
    else CHECK(r.models.intercept[v] == r.tree.value[v], v);
    linear += std::isfinite(ridge.chosen);
    CHECK(near(r.models.low[v], least - 0.1 * (most - least)), v);
    CHECK(near(r.models.high[v], most + 0.1 * (most - least)), v);
  }
  CHECK(linear >= 3, linear);
  for (const Hooks& hooks : {reversed_hooks(), thread_hooks(3)}) {
    const FitResult again = fit(fit_input(s, s.x.dense(), o), hooks);
    CHECK(same_bits(again.models.coef, r.models.coef));
    CHECK(same_bits(again.models.intercept, r.models.intercept));
  }
}

TEST(leaf_models_predict_within_their_range_hard_and_soft) {
  Sample s = rings(400, 2, true, 320);
  for (int i = 0; i < 400; ++i) s.y[i] += 4 * s.x.at(i, 1);
  Options o = options_for(true);
  o.leaf = "linear";
  const FitResult r = fit(fit_input(s, s.x.dense(), o), serial_hooks());
  Matrix far(30, 2);
  Stream u = random_numbers(321);
  for (double& v : far.x) v = 30 * u.normal();
  const Rows rows(far.dense()), sparse(far.sparse());
  const std::vector<int> at = route(r.tree, rows, serial_hooks());
  const std::vector<double> hard = linear_values(r.models, at, rows, serial_hooks());
  const int nodes = r.tree.size();
  std::vector<double> unit(static_cast<std::size_t>(nodes) * nodes, 0.0);
  for (int v = 0; v < nodes; ++v) unit[static_cast<std::size_t>(v) * nodes + v] = 1;
  const std::vector<double> reach = soft_values(r.tree, unit, nodes, rows, serial_hooks());
  const std::vector<double> soft = soft_linear(r.tree, r.models, rows, serial_hooks());
  int held = 0;
  for (int i = 0; i < 30; ++i) {
    double mixed = 0;
    for (int v = 0; v < nodes; ++v) {
      double z = r.models.intercept[v];
      for (int j = 0; j < 2; ++j) z += far.at(i, j) * r.models.coef[2 * v + j];
      const double inside = std::min(std::max(z, r.models.low[v]), r.models.high[v]);
      mixed += reach[static_cast<std::size_t>(i) * nodes + v] * inside;
      if (v != at[i]) continue;
      CHECK(near(hard[i], inside), i, hard[i], inside);
      held += inside != z;
    }
    CHECK(near(soft[i], mixed), i, soft[i], mixed);
  }
  CHECK(held > 0, held);
  CHECK(same_bits(hard, linear_values(r.models, at, sparse, thread_hooks(3))));
}

TEST(leaf_models_of_classes_are_refused) {
  const Sample s = rings(60, 2, false, 330);
  Options o = options_for(false);
  o.leaf = "linear";
  bool refused = false;
  try {
    fit(fit_input(s, s.x.dense(), o), serial_hooks());
  } catch (const Error&) {
    refused = true;
  }
  CHECK(refused);
}
