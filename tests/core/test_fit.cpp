// test_fit.cpp: whole fits on small data: the same bits whatever runs the tasks,
// weights as repeated rows, limits kept, facets removed without effect, every row in
// the leaf that the router gives it, and an orderly end when the host says stop.
#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "column_stump.h"
#include "descent.h"
#include "support.h"
#include "test.h"

using namespace support;

namespace {

// Large enough that batches are cut into several tasks.
Options wide_options(bool regression) {
  Options o = options_for(regression);
  o.max_facets = 12;
  o.batch_size = 400;
  o.grow_epochs = 6;
  o.grow_min_steps = 12;
  o.refine_epochs = 6;
  o.prior_weight = 1;
  return o;
}

// Compared field by field: a Record has padding, and a string.
bool same_history(const std::vector<Record>& a, const std::vector<Record>& b) {
  if (a.size() != b.size()) return false;
  const auto numbers = [](const Record& r) {
    return std::vector<double>{double(r.epoch), r.lambda, r.loss, r.hard_loss, r.valid_loss};
  };
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i].stage != b[i].stage || !same_bits(numbers(a[i]), numbers(b[i]))) return false;
  return true;
}

// Do two labellings group the rows alike?
bool same_partition(const std::vector<int>& a, const std::vector<int>& b) {
  std::map<int, int> there, back;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (there.emplace(a[i], b[i]).first->second != b[i]) return false;
    if (back.emplace(b[i], a[i]).first->second != a[i]) return false;
  }
  return true;
}

int rows_apart(const std::vector<int>& a, const std::vector<int>& b) {
  int count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) count += a[i] != b[i];
  return count;
}

std::vector<int> leaf_ids(const FitResult& r) {
  std::vector<int> ids;
  for (int position : r.where) ids.push_back(r.tree.node[position]);
  return ids;
}

void check_bits(bool regression, bool sparse, double dropout, double held_out, double jitter = 0) {
  Sample s = rings(700, 20, regression, 100);
  if (sparse)
    for (double& v : s.x.x)
      if (std::fabs(v) < 0.3) v = 0;
  for (int i = 0; i < s.x.n; ++i) {
    if (regression) s.y[i] += 6 * s.x.at(i, 0);
    s.weight[i] = 0.5 + i % 3;
    s.valid[i] = i < held_out * s.x.n;
  }
  Options o = wide_options(regression);
  o.dropout = dropout;
  o.jitter = jitter;
  o.choose_size = held_out > 0;
  const FitInput in = fit_input(s, s.x.view(sparse), o);
  const FitResult first = fit(in, serial_hooks());
  CHECK(first.tree.size() > 1, regression, sparse, first.tree.size());
  const Hooks others[] = {reversed_hooks(), thread_hooks(1), thread_hooks(3), thread_hooks(1000)};
  for (int h = 0; h < 4; ++h) {
    const FitResult again = fit(in, others[h]);
    CHECK(same_bits(again.tree, first.tree), regression, sparse, dropout, h);
    CHECK(same_bits(again.where, first.where), regression, sparse, dropout, h);
    CHECK(same_history(again.history, first.history), regression, sparse, dropout, h);
  }
}

}  // namespace

TEST(fit_classification_is_the_same_bits_in_any_order_of_tasks) { check_bits(false, false, 0, 0); }
TEST(fit_regression_is_the_same_bits_in_any_order_of_tasks) { check_bits(true, false, 0, 0); }
TEST(fit_sparse_with_dropout_is_the_same_bits_in_any_order_of_tasks) { check_bits(false, true, 0.2, 0); }
TEST(fit_with_jitter_is_the_same_bits_in_any_order_of_tasks) { check_bits(false, false, 0.1, 0, 0.1); }
TEST(fit_with_validation_is_the_same_bits_in_any_order_of_tasks) { check_bits(true, false, 0.2, 0.2); }

// Jitter draws its differences from rows that train, and from no other.
TEST(fit_jitter_takes_nothing_from_rows_held_out_or_of_weight_0) {
  Sample s = rings(400, 3, false, 18);
  for (int i = 0; i < s.x.n; ++i) s.weight[i] = i % 4 == 0 ? 0 : 1;
  Options o = options_for(false);
  o.jitter = 0.1;
  const FitResult one = fit(fit_input(s, s.x.dense(), o), serial_hooks());
  for (int i = 0; i < s.x.n; i += 4)
    for (int j = 0; j < s.x.p; ++j) s.x.at(i, j) *= -3;
  const FitResult two = fit(fit_input(s, s.x.dense(), o), serial_hooks());
  CHECK(same_bits(one.tree, two.tree), one.tree.size());
  o.jitter = 0;
  const FitResult plain = fit(fit_input(s, s.x.dense(), o), serial_hooks());
  CHECK(!same_bits(one.tree, plain.tree), one.tree.size());
}

// Two cuts between two groups, one in the middle and one at the edge of a group, are equally
// good for the rows themselves. Moved rows tell them apart.
TEST(fit_jittered_trees_are_judged_by_jittered_rows) {
  Matrix x(100, 1);
  std::vector<double> y(100);
  for (int i = 0; i < 100; ++i) {
    y[i] = i % 2;
    x.at(i, 0) = (i % 2 ? 1 : -1) * (0.8 + 0.004 * i);
  }
  const std::vector<double> weight(100, 1.0);
  for (double jitter : {0.0, 0.3}) {
    Options o = options_for(false);
    o.standardize = "none";
    o.jitter = jitter;
    World w(x.dense(), y, weight, o);
    const Problem problem = w.problem();
    double judged[2];
    for (bool at_edge : {false, true}) {
      std::vector<Node> nodes(3);
      nodes[0].left = 1;
      nodes[0].right = 2;
      nodes[0].gate = Gate(1, 1);
      nodes[0].gate.B()[0] = 4;
      nodes[0].gate.g0() = static_cast<Real>(std::log1p(std::exp(at_edge ? 4 * -0.75 : 0.0)));
      judged[at_edge] = judge(problem, nodes, 1.0);
      CHECK(hard_loss(problem, nodes) < 1e-9, jitter, at_edge);
    }
    CHECK(judged[false] < 1e-9, jitter, judged[false]);
    CHECK(jitter > 0 ? judged[true] > 0.05 : judged[true] < 1e-9, jitter, judged[true]);
  }
}

TEST(fit_jitter_of_sparse_rows_is_refused) {
  Sample s = rings(100, 3, false, 19);
  Options o = options_for(false);
  o.jitter = 0.1;
  bool refused = false;
  try {
    fit(fit_input(s, s.x.view(true), o), serial_hooks());
  } catch (const Error&) {
    refused = true;
  }
  CHECK(refused, 0);
}

// Side by side or one after another, fits are what each is alone.
TEST(fit_all_gives_what_each_gives_alone) {
  const Sample s = rings(300, 3, false, 17);
  std::vector<FitInput> inputs;
  for (int i = 0; i < 3; ++i) {
    inputs.push_back(fit_input(s, s.x.dense(), options_for(false)));
    inputs[i].options.seed = 20 + i;
    inputs[i].options.max_depth = 1 + i;
    for (int row = i; row < s.x.n; row += 4) inputs[i].valid[row] = 1;
  }
  std::vector<FitResult> alone;
  for (const FitInput& in : inputs) alone.push_back(fit(in, serial_hooks()));
  for (const Hooks& hooks : {serial_hooks(), reversed_hooks(), thread_hooks(3), thread_hooks(1000)}) {
    const std::vector<FitResult> all = fit_all(inputs, hooks), one = fit_all({inputs[1]}, hooks);
    CHECK(all.size() == 3 && one.size() == 1 && fit_all({}, hooks).empty());
    CHECK(same_bits(one[0].tree, alone[1].tree));
    for (int i = 0; i < 3; ++i) {
      CHECK(same_bits(all[i].tree, alone[i].tree) && same_bits(all[i].where, alone[i].where), i);
      CHECK(same_history(all[i].history, alone[i].history), i);
    }
  }
}

// Of several trees the one of least training loss (here without a prior) is kept, and it
// is one that its own start gives: more starts never make it worse.
TEST(fit_tree_starts_keep_the_tree_of_least_loss) {
  const Sample s = rings(400, 3, false, 21);
  const auto loss_of = [](const FitResult& r) {
    double sum = 0;
    for (int v = 0; v < r.tree.size(); ++v)
      if (r.tree.is_leaf(v)) sum += r.tree.loss[v];
    return sum;
  };
  double before = HUGE_VAL, first = 0;
  for (int starts = 1; starts <= 5; ++starts) {
    Options o = options_for(false);
    o.starts = 1;
    o.max_facets = 3;
    o.tree_starts = starts;
    const FitInput in = fit_input(s, s.x.dense(), o);
    const FitResult now = fit(in, serial_hooks());
    for (const Hooks& hooks : {reversed_hooks(), thread_hooks(3), thread_hooks(1000)}) {
      const FitResult again = fit(in, hooks);
      CHECK(same_bits(again.tree, now.tree) && same_history(again.history, now.history), starts);
    }
    const double loss = loss_of(now);
    if (starts == 1) first = loss;
    CHECK(loss <= before * (1 + 1e-6), starts, loss, before);
    before = loss;
  }
  CHECK(before < 0.99 * first, before, first);
}

TEST(fit_all_tells_its_progress_from_zero_to_one) {
  const Sample s = rings(300, 3, false, 17);
  const FitInput in = fit_input(s, s.x.dense(), options_for(false));
  for (int fits : {1, 3}) {
    std::vector<double> told(1, 0.0);
    Hooks hooks = serial_hooks();
    hooks.report = [&](const Progress& p) { told.push_back(p.done); };
    fit_all(std::vector<FitInput>(fits, in), hooks);
    CHECK(std::is_sorted(told.begin(), told.end()) && told.back() == 1, fits, told.back());
  }
}

// Held-out rows fill the leaves if asked, and change nothing else.
TEST(fit_held_out_rows_fill_the_leaves_if_asked) {
  for (bool regression : {false, true}) {
    Sample s = rings(400, 3, regression, 18);
    for (int i = 0; i < s.x.n; i += 3) s.valid[i] = 1;
    FitInput in = fit_input(s, s.x.dense(), options_for(regression));
    in.options.choose_size = true;
    const FitResult without = fit(in, serial_hooks());
    in.fill_all = true;
    const FitResult with = fit(in, serial_hooks());
    CHECK(with.tree.size() > 2 && with.tree.size() == without.tree.size());
    CHECK(same_bits(with.tree.coef, without.tree.coef));
    CHECK(same_bits(with.tree.threshold, without.tree.threshold));
    CHECK(same_bits(with.where, without.where) && same_history(with.history, without.history));
    CHECK(with.tree.n[0] == s.x.n && without.tree.n[0] == s.x.n - (s.x.n + 2) / 3);
    std::vector<int> n(with.tree.size(), 0);
    std::vector<double> sum(with.tree.size(), 0.0);
    for (int i = 0; i < s.x.n; ++i) {
      ++n[with.where[i]];
      sum[with.where[i]] += regression ? s.y[i] : s.y[i] == 1;
    }
    for (int v = 0; v < with.tree.size(); ++v) {
      if (!with.tree.is_leaf(v)) continue;
      const double got = with.tree.value[static_cast<std::size_t>(v) * with.tree.outputs + !regression];
      const double want = regression ? sum[v] / n[v] : sum[v];
      CHECK(with.tree.n[v] == n[v] && std::fabs(got - want) < 1e-9, v, got, want);
    }
  }
}

TEST(fit_depends_on_the_seed_alone) {
  const Sample s = rings(200, 3, false, 101);
  Options o = options_for(false);
  const FitResult a = fit(fit_input(s, s.x.dense(), o), serial_hooks());
  const FitResult b = fit(fit_input(s, s.x.dense(), o), serial_hooks());
  o.seed = 6;
  const FitResult c = fit(fit_input(s, s.x.dense(), o), serial_hooks());
  CHECK(same_bits(a.tree, b.tree));
  CHECK(!same_bits(a.tree.r, c.tree.r));
}

TEST(fit_learns_the_rings) {
  const Sample s = rings(500, 2, false, 102);
  Options o = options_for(false);
  o.grow_min_steps = 200;
  o.refine_epochs = 60;
  const FitResult r = fit(fit_input(s, s.x.dense(), o), serial_hooks());
  double wrong = 0, base = 0;
  for (int i = 0; i < s.x.n; ++i) {
    const double* count = &r.tree.value[2 * r.where[i]];
    wrong += (count[1] > count[0]) != (s.y[i] == 1);
    base += s.y[i];
  }
  base = std::min(base, s.x.n - base);
  CHECK(wrong < 0.25 * base, wrong, base);
}

// Full batches: the sums have the same terms, only in another order. The copies lie
// on one side, so that a start that looks at rows and not at weights is found out.
TEST(fit_weight_two_is_the_row_twice) {
  for (bool regression : {false, true})
    for (double prior : {0.0, 1.0}) {
      const int n = 160;
      Sample s = rings(n, 2, regression, 103);
      std::vector<int> origin;
      for (int i = 0; i < n; ++i) {
        s.weight[i] = s.x.at(i, 0) > 0.2 ? 2 : 1;
        for (int copy = 0; copy < s.weight[i]; ++copy) origin.push_back(i);
      }
      const int m = static_cast<int>(origin.size());
      Sample twice{Matrix(m, 2), {}, std::vector<double>(m, 1.0), std::vector<char>(m, 0)};
      for (int i = 0; i < m; ++i) {
        for (int j = 0; j < 2; ++j) twice.x.at(i, j) = s.x.at(origin[i], j);
        twice.y.push_back(s.y[origin[i]]);
      }
      Options o = options_for(regression);
      o.batch_size = 1000;
      o.grow_min_steps = 20;  // few steps: rounding has no time to grow into another tree
      o.refine_epochs = 8;
      o.prior_weight = prior;
      const FitResult a = fit(fit_input(s, s.x.dense(), o), serial_hooks());
      const FitResult b = fit(fit_input(twice, twice.x.dense(), o), serial_hooks());
      const std::vector<int> one = leaf_ids(a), two = leaf_ids(b);
      std::vector<int> spread;
      for (int i : origin) spread.push_back(one[i]);
      CHECK(leaves(a.tree) > 2, regression, prior, leaves(a.tree));
      CHECK(same_partition(spread, two), regression, prior, leaves(a.tree), leaves(b.tree),
            rows_apart(spread, two));
    }
}

// A row of weight 0 is as good as absent; it is only told its leaf.
TEST(fit_weight_zero_is_no_row) {
  for (bool regression : {false, true}) {
    const int n = 150;
    Sample s = rings(n, 2, regression, 104);
    Sample fewer{Matrix(100, 2), {}, std::vector<double>(100, 1.0), std::vector<char>(100, 0)};
    for (int i = 0, to = 0; i < n; ++i) {
      if (i % 3 == 1) {
        s.weight[i] = 0;
        s.y[i] = regression ? 1e6 : 1 - s.y[i];
        s.x.at(i, 0) *= 100;
        continue;
      }
      for (int j = 0; j < 2; ++j) fewer.x.at(to, j) = s.x.at(i, j);
      fewer.y.push_back(s.y[i]);
      ++to;
    }
    Options o = options_for(regression);
    o.batch_size = 1000;
    const FitResult a = fit(fit_input(s, s.x.dense(), o), serial_hooks());
    const FitResult b = fit(fit_input(fewer, fewer.x.dense(), o), serial_hooks());
    CHECK(static_cast<int>(a.where.size()) == n);
    std::vector<int> kept;
    for (int i = 0; i < n; ++i)
      if (i % 3 != 1) kept.push_back(a.tree.node[a.where[i]]);
    CHECK(same_partition(kept, leaf_ids(b)), regression, rows_apart(kept, leaf_ids(b)));
    CHECK(a.tree.n[0] == 100 && a.tree.weight[0] == 100, regression, a.tree.n[0]);
  }
}

TEST(fit_relabelled_classes_give_the_same_partition) {
  const int n = 300;
  Sample s = rings(n, 2, false, 105);
  for (int i = 0; i < n; ++i) s.y[i] += s.x.at(i, 0) > 0.3 ? 2 : 0;
  Options o = options_for(false, 4);
  const FitResult a = fit(fit_input(s, s.x.dense(), o), serial_hooks());
  const int name[] = {2, 0, 3, 1};
  for (double& y : s.y) y = name[static_cast<int>(y)];
  const FitResult b = fit(fit_input(s, s.x.dense(), o), serial_hooks());
  CHECK(leaves(a.tree) > 2, leaves(a.tree));
  CHECK(same_partition(leaf_ids(a), leaf_ids(b)), leaves(a.tree), leaves(b.tree),
        rows_apart(leaf_ids(a), leaf_ids(b)));
}

TEST(fit_columns_in_other_units_give_the_same_partition) {
  Sample s = rings(300, 3, false, 106);
  const Options o = options_for(false);
  const FitResult a = fit(fit_input(s, s.x.dense(), o), serial_hooks());
  for (int i = 0; i < s.x.n; ++i) {
    s.x.at(i, 0) *= 1024;
    s.x.at(i, 1) /= 4096;
    s.x.at(i, 2) *= -1 / 0.5 * -1;
  }
  const FitResult b = fit(fit_input(s, s.x.dense(), o), serial_hooks());
  CHECK(same_bits(a.where, b.where), rows_apart(a.where, b.where));
  CHECK(same_bits(a.tree.r, b.tree.r) && same_bits(a.tree.intercept, b.tree.intercept));
}

TEST(fit_min_leaf_obs_is_kept) {
  for (bool regression : {false, true})
    for (double least : {5.0, 30.0, 80.0}) {
      Sample s = rings(300, 2, regression, 107);
      for (int i = 0; i < s.x.n; ++i) s.weight[i] = 0.25 + i % 2;
      Options o = options_for(regression);
      o.max_depth = 4;
      o.min_leaf_obs = least;
      o.prior_weight = 1;
      const FitResult r = fit(fit_input(s, s.x.dense(), o), serial_hooks());
      double total = 0;
      for (double w : s.weight) total += w;
      for (int v = 0; v < r.tree.size(); ++v)
        if (r.tree.is_leaf(v))
          CHECK(r.tree.weight[v] >= least, regression, least, r.tree.node[v], r.tree.weight[v]);
      CHECK(leaves(r.tree) <= total / least, regression, least, leaves(r.tree));
      if (least <= 30) CHECK(leaves(r.tree) > 1, regression, least);
    }
}

TEST(fit_max_leaves_max_depth_and_max_facets_are_kept) {
  const Sample s = rings(400, 2, true, 108);
  Options o = options_for(true);
  o.max_depth = 4;
  const FitResult free = fit(fit_input(s, s.x.dense(), o), serial_hooks());
  CHECK(leaves(free.tree) > 5, leaves(free.tree));
  for (int most : {1, 2, 3, 5}) {
    o.max_leaves = most;
    const FitResult r = fit(fit_input(s, s.x.dense(), o), serial_hooks());
    CHECK(leaves(r.tree) <= most, most, leaves(r.tree));
    CHECK(most == 1 || leaves(r.tree) > 1, most);
  }
  o.max_leaves = 0;
  for (int depth : {0, 1, 3}) {
    o.max_depth = depth;
    o.max_facets = 3;
    const FitResult r = fit(fit_input(s, s.x.dense(), o), serial_hooks());
    CHECK(*std::max_element(r.tree.depth.begin(), r.tree.depth.end()) == depth, depth);
    CHECK(*std::max_element(r.tree.facets.begin(), r.tree.facets.end()) <= 3, depth);
  }
}

// A share of 0 takes every column split.
TEST(fit_column_splits_keep_to_their_column) {
  for (bool sparse : {false, true}) {
    Sample s = rings(600, 4, false, 91);
    Options o = options_for(false);
    o.column_share = 0;
    o.max_depth = 4;
    const Tree tree = fit(fit_input(s, s.x.view(sparse), o), serial_hooks()).tree;
    CHECK(tree.size() > 5, tree.size());
    for (int v = 0; v < tree.size(); ++v) {
      if (tree.is_leaf(v)) continue;
      const auto coef = tree.coef.begin() + static_cast<std::size_t>(tree.first[v]) * tree.cols;
      CHECK(tree.facets[v] == 1 && std::count(coef, coef + tree.cols, 0.0) == tree.cols - 1, v);
    }
  }
}

TEST(fit_training_moves_a_column_split_along_its_column) {
  for (bool sparse : {false, true}) {
    Sample s = rings(600, 4, false, 92);
    Options o = options_for(false);
    o.ridge = 0.1;
    o.prior_weight = 0.2;
    World w(s.x.view(sparse), s.y, s.weight, o);
    std::vector<Node> nodes(3);
    nodes[0].left = 1;
    nodes[0].right = 2;
    const Gate before = column_stump(w.data, *w.task, w.all, 5, w.hooks).gate;
    nodes[0].gate = before;
    EpochSettings settings;
    settings.rate = 0.05;
    Trainer(w.data, *w.task, w.prior, nodes, w.all, 1, 1, w.hooks).epoch(settings);
    const Gate& after = nodes[0].gate;
    for (int j = 0; j < after.d; ++j) {
      const Real b = after.B()[static_cast<std::size_t>(j) * after.width];
      CHECK((b != 0) == (j == before.column), sparse, j, b);
    }
    CHECK(after.B()[static_cast<std::size_t>(before.column) * after.width] !=
          before.B()[static_cast<std::size_t>(before.column) * after.width]);
    CHECK(after.a()[0] != before.a()[0] && after.g0() != before.g0());
  }
}

TEST(fit_every_row_lies_where_the_router_puts_it) {
  for (bool regression : {false, true})
    for (bool sparse : {false, true}) {
      Sample s = rings(300, 5, regression, 109);
      for (int i = 0; i < s.x.n; ++i) {
        s.valid[i] = i % 5 == 0;
        s.weight[i] = i % 7 == 0 ? 0 : 1 + i % 2;
        if (sparse) s.x.at(i, 3) = s.x.at(i, 4) = 0;
      }
      Options o = options_for(regression);
      o.max_depth = 3;
      o.facet_tolerance = 0.02;
      const MatrixView x = s.x.view(sparse);
      const FitResult r = fit(fit_input(s, x, o), serial_hooks());
      const Rows rows(x), dense(s.x.dense());
      CHECK(route(r.tree, rows, serial_hooks()) == r.where, regression, sparse);
      CHECK(route(r.tree, dense, serial_hooks()) == r.where, regression, sparse);
      // and the leaves are filled by exactly the training rows that lie there
      std::vector<double> weight(r.tree.size(), 0.0), sum(r.tree.size(), 0.0);
      std::vector<int> n(r.tree.size(), 0);
      for (int i = 0; i < s.x.n; ++i) {
        if (s.valid[i] || s.weight[i] == 0) continue;
        weight[r.where[i]] += s.weight[i];
        sum[r.where[i]] += s.weight[i] * s.y[i];
        ++n[r.where[i]];
      }
      for (int v = 0; v < r.tree.size(); ++v) {
        if (!r.tree.is_leaf(v)) continue;
        CHECK(r.tree.n[v] == n[v] && r.tree.weight[v] == weight[v], v, r.tree.n[v], n[v]);
        const double value = regression ? r.tree.value[v] : r.tree.value[2 * v + 1];
        const double want = regression ? sum[v] / weight[v] : sum[v];
        CHECK(std::fabs(value - want) < 1e-9, regression, v, value, want);
      }
    }
}

// The pieces by hand: the tree before finish() routes every training row to the same
// leaf, although facets are gone.
TEST(fit_idle_facets_go_without_moving_a_row) {
  for (bool regression : {false, true}) {
    const Sample s = rings(100, 2, regression, 110);
    Options o = options_for(regression);
    o.max_facets = 24;
    o.min_leaf_obs = 0;
    o.min_gain = 0;
    World w(s.x.dense(), s.y, s.weight, o);
    const Problem problem = w.problem();
    std::vector<Node> nodes = grow(problem);
    refine(problem, nodes);
    const Tree before = to_user_units(nodes, w.data.scaling(), o.lambda_end, w.task->outputs());
    const std::vector<int> old = route(before, w.rows, w.hooks);
    std::vector<int> where;
    const Tree after = finish(problem, nodes, w.rows, where);
    CHECK(after.r.size() < before.r.size(), regression, after.r.size(), before.r.size());
    CHECK(after.size() > 3, regression, after.size());
    std::map<int, int> to;  // an old leaf's rows stay together: merging may join, not part
    for (int i = 0; i < s.x.n; ++i)
      CHECK(to.emplace(old[i], where[i]).first->second == where[i], regression, i);
    std::set<int> used(old.begin(), old.end());
    if (static_cast<int>(used.size()) == leaves(before) && after.size() == before.size())
      CHECK(where == old, regression, rows_apart(where, old));
  }
}

TEST(fit_facet_tolerance_bounds_the_weight_that_moves) {
  const Sample s = rings(300, 2, false, 111);
  Options o = options_for(false);
  o.max_depth = 1;
  o.max_facets = 14;
  o.min_leaf_obs = 0;
  o.min_gain = 0;
  std::size_t facets = 1000;
  for (double tolerance : {0.0, 0.03, 0.1}) {
    o.facet_tolerance = tolerance;
    World w(s.x.dense(), s.y, s.weight, o);
    const Problem problem = w.problem();
    const std::vector<Node> nodes = grow(problem);
    const Tree before = to_user_units(nodes, w.data.scaling(), o.lambda_end, 2);
    const std::vector<int> old = route(before, w.rows, w.hooks);
    std::vector<int> where;
    const Tree after = finish(problem, nodes, w.rows, where);
    CHECK(rows_apart(where, old) <= tolerance * s.x.n, tolerance, rows_apart(where, old));
    CHECK(after.r.size() <= facets, tolerance, after.r.size(), facets);
    facets = after.r.size();
  }
}

TEST(fit_constant_outcome_and_pure_noise_columns_give_a_root) {
  Sample s = rings(60, 3, true, 112);
  for (double& y : s.y) y = 3.25;
  const FitResult r = fit(fit_input(s, s.x.dense(), options_for(true)), serial_hooks());
  CHECK(r.tree.size() == 1 && r.tree.value[0] == 3.25 && r.tree.loss[0] == 0, r.tree.size());
  Sample flat = rings(60, 2, false, 113);
  for (double& v : flat.x.x) v = 1.5;  // nothing to split on
  const FitResult f = fit(fit_input(flat, flat.x.dense(), options_for(false)), serial_hooks());
  CHECK(f.tree.size() == 1, f.tree.size());
}

TEST(fit_bad_input_is_an_error) {
  const Sample s = rings(20, 2, false, 114);
  const FitInput good = fit_input(s, s.x.dense(), options_for(false));
  std::vector<FitInput> bad(6, good);
  bad[0].y.pop_back();
  bad[1].weight.push_back(1);
  bad[2].valid.clear();
  bad[3].y[4] = 2;
  bad[4].weight.assign(20, 0.0);
  bad[5].valid.assign(20, 1);
  for (std::size_t i = 0; i < bad.size(); ++i) {
    bool refused = false;
    try {
      fit(bad[i], serial_hooks());
    } catch (const Error&) {
      refused = true;
    }
    CHECK(refused, i);
  }
}

// The hook turns true after some calls and stays so. The engine must leave with
// Cancelled, soon: after few more calls and little time. (Leaks show at exit.)
TEST(fit_cancel_ends_it_promptly) {
  const Sample s = rings(400, 4, false, 115);
  Options o = options_for(false);
  o.max_depth = 3;
  o.prior_weight = 1;
  const FitInput in = fit_input(s, s.x.dense(), o);
  std::atomic<long> calls(0), limit(-1);
  std::atomic<std::chrono::steady_clock::time_point> since;
  const auto cancelled = [&] {
    const long now = ++calls;
    if (limit >= 0 && now == limit) since = std::chrono::steady_clock::now();
    return limit >= 0 && now >= limit;
  };
  for (Hooks hooks : {serial_hooks(), thread_hooks(3)}) {
    hooks.cancelled = cancelled;
    calls = 0;
    limit = -1;
    const FitResult whole = fit(in, hooks);
    const long all = calls;
    CHECK(all > 200, all);
    for (double share : {0.0, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99}) {
      calls = 0;
      limit = 1 + static_cast<long>(share * all);
      bool ended = false;
      try {
        fit(in, hooks);
      } catch (const Cancelled&) {
        ended = true;
      }
      const std::chrono::duration<double> time = std::chrono::steady_clock::now() - since.load();
      CHECK(ended, hooks.threads, share, all);
      CHECK(calls - limit <= 40, hooks.threads, share, calls - limit);
      CHECK(time.count() < 0.5, hooks.threads, share, time.count());
    }
    calls = 0;
    limit = -1;
    CHECK(same_bits(fit(in, hooks).tree, whole.tree));  // the next call works
  }
}

TEST(fit_progress_goes_from_zero_to_one) {
  const Sample s = rings(200, 2, false, 116);
  Options o = options_for(false);
  o.prior_weight = 1;
  Hooks hooks = serial_hooks();
  std::vector<Progress> seen;
  hooks.report = [&](const Progress& p) { seen.push_back(p); };
  fit(fit_input(s, s.x.dense(), o), hooks);
  CHECK(seen.size() > 10, seen.size());
  double before = 0;
  for (const Progress& p : seen) {
    CHECK(p.done >= before - 1e-12 && p.done <= 1 + 1e-12, p.stage, p.epoch, p.done, before);
    CHECK(p.epoch >= 1 && p.epoch <= p.epochs, p.stage, p.epoch, p.epochs);
    before = p.done;
  }
  CHECK(seen.back().stage == "finish" && seen.back().done == 1);
}
