// test_council.cpp: made rows and verdicts are what they claim; the pupil holds outcomes, and
// verdicts only where no observed row arrives; it knows fresh rows better than one tree alone.
#include <memory>

#include "council.h"
#include "support.h"
#include "test.h"

using namespace support;

namespace {

Options council_options(bool regression) {
  Options o = options_for(regression);
  o.council_trees = 4;
  o.council_rows = 6;
  o.council_move = 0.1;
  return o;
}

// What the trees say of a row by hand: shares summed, the first of the largest; or the mean.
double vote(const std::vector<Tree>& trees, const RowView& row) {
  const int outputs = trees[0].outputs;
  std::vector<double> sum(outputs, 0.0);
  for (const Tree& tree : trees) {
    int v = 0;
    while (!tree.is_leaf(v)) v = goes_right(tree, v, row) ? tree.right[v] : tree.left[v];
    double all = 0;
    for (int c = 0; c < outputs; ++c) all += tree.value[v * outputs + c];
    for (int c = 0; c < outputs; ++c) sum[c] += tree.value[v * outputs + c] / (outputs > 1 ? all : trees.size());
  }
  if (outputs == 1) return sum[0];
  int best = 0;
  for (int c = 1; c < outputs; ++c)
    if (sum[c] > sum[best]) best = c;
  return best;
}

}  // namespace

TEST(council_names_rows_made_of_training_rows) {
  for (bool regression : {false, true})
    for (bool sparse : {false, true}) {
      Sample s = rings(120, 3, regression, 60);
      const MatrixView x = s.x.view(sparse);
      const Options o = council_options(regression);
      std::vector<Tree> trees;
      for (int t = 0; t < 3; ++t) trees.push_back(fit(fit_input(s, x, member_options(o, t)), serial_hooks()).tree);
      CHECK(!same_bits(trees[0], trees[1]), regression, sparse);
      std::vector<int> training;
      for (int i = 0; i < 120; i += 3) training.push_back(i);
      const Lesson lesson = council_lesson(x, training, trees, o, thread_hooks(3));
      CHECK(lesson.made.size() == 6 * 40 && lesson.verdict.size() == 6 * 40u, lesson.made.size());
      CHECK(lesson.made.are_moved() == !sparse && lesson.made.share == 0.1 && lesson.opinion.empty(), sparse);
      std::vector<int> times(120, 0);
      for (int r : lesson.made.source) ++times[r];
      for (int i = 0; i < 120; ++i) CHECK(times[i] == (i % 3 == 0 ? 6 : 0), i, times[i]);
      for (int r : lesson.made.donor) CHECK(r % 3 == 0, r);
      for (int r : lesson.made.other) CHECK(r % 3 == 0, r);
      const Rows rows(x, lesson.made);
      std::vector<double> buffer;
      const std::vector<RowView> made = rows.block(120, lesson.made.size(), buffer);
      for (int i = 0; i < lesson.made.size(); ++i)
        CHECK(std::fabs(lesson.verdict[i] - vote(trees, made[i])) < 1e-9, regression, sparse, i);
    }
}

TEST(council_rows_with_verdicts_count_like_the_others) {
  Lesson lesson;
  lesson.made.source = {0, 1, 0, 1, 0, 1};
  lesson.verdict.assign(6, 0.0);
  const std::vector<double> got = lesson_weights(lesson, {1, 3, 5}, {0, 1});
  const std::vector<double> want = {0.25, 0.75, 1.25, 0.25, 0.75, 0.25, 0.75, 0.25, 0.75};
  CHECK(got.size() == want.size(), got.size());
  for (std::size_t i = 0; i < want.size(); ++i) CHECK(std::fabs(got[i] - want[i]) < 1e-12, i, got[i]);
}

// The fit against its parts, each from a start of its own; and the pupil begins from all rows,
// given and made, one as good as the other.
TEST(council_fit_is_that_of_a_pupil_of_its_members) {
  const Sample s = rings(150, 3, false, 71);
  Options o = council_options(false);
  o.jitter = 0.1;
  o.teacher_trees = 20;
  o.tree_starts = 2;
  const FitInput in = fit_input(s, s.x.dense(), o);
  std::vector<Tree> trees;
  for (int t = 0; t < 4; ++t) {
    FitInput member = in;
    member.options = member_options(o, t);
    CHECK(member.options.council_trees == 0 && member.options.tree_starts == 1, t);
    CHECK(member.options.jitter == 0.1 && member.options.teacher_trees == 20, t);
    trees.push_back(fit(member, serial_hooks()).tree);
    for (int k = 0; k < t; ++k) CHECK(!same_bits(trees[t], trees[k]), t, k);
  }
  FitInput pupil = in;
  pupil.options = pupil_options(o);
  CHECK(pupil.options.jitter == 0 && pupil.options.teacher_trees == 0 && pupil.options.council_trees == 0, 0);
  const auto lesson = std::make_shared<Lesson>(
      council_lesson(s.x.dense(), row_numbers(150), trees, o, serial_hooks()));
  pupil.lesson = lesson;
  const FitResult got = fit(in, serial_hooks());
  CHECK(same_bits(got.tree, fit(pupil, serial_hooks()).tree), 0);
  double red = 0;
  for (double y : s.y) red += y;
  for (double y : lesson->verdict) red += y;
  const double share = red / (150 + lesson->verdict.size());
  const double entropy = -share * std::log(share) - (1 - share) * std::log(1 - share);
  CHECK(std::fabs(got.history[0].hard_loss - entropy) < 1e-9, got.history[0].hard_loss, entropy);
}

// Of 1 + 8 times as many rows three times as many steps: a third of the passes.
TEST(council_pupil_takes_more_steps_by_the_root_of_its_rows) {
  Options o = council_options(false);
  o.council_rows = 8;
  o.refine_epochs = 20;
  o.jitter = 0.1;
  Sample s = rings(100, 3, false, 61);
  const FitResult got = fit(fit_input(s, s.x.dense(), o), serial_hooks());
  int passes = 0;
  for (const Record& r : got.history) passes += r.stage == "refine";
  CHECK(passes == 7, passes);  // ceil(20 * 3 / 9)
}

// Priors count once per data set, and the pupil's is 1 + 4 times as large: it keeps facets that
// members of as strong a prior had to give up.
TEST(council_pupil_priors_weigh_less_by_its_rows) {
  Options o = council_options(false);
  o.council_rows = 4;
  o.prior_weight = 1;
  o.ridge = 10;
  CHECK(std::fabs(pupil_options(o).prior_weight - 0.2) < 1e-12, pupil_options(o).prior_weight);
  CHECK(std::fabs(pupil_options(o).ridge - 2) < 1e-12, pupil_options(o).ridge);
  CHECK(member_options(o, 0).prior_weight == 1 && member_options(o, 0).ridge == 10, 0);
}

TEST(council_fit_is_the_same_in_any_order_of_tasks) {
  for (bool regression : {false, true})
    for (bool sparse : {false, true}) {
      Sample s = rings(200, 3, regression, 62);
      const FitInput in = fit_input(s, s.x.view(sparse), council_options(regression));
      const Tree first = fit(in, serial_hooks()).tree;
      for (const Hooks& hooks : {reversed_hooks(), thread_hooks(3)}) {
        CHECK(same_bits(fit(in, hooks).tree, first), regression, sparse);
        CHECK(same_bits(fit_all({in, in}, hooks)[1].tree, first), regression, sparse);
      }
    }
}

// Where these are fewer than a leaf must have, verdicts help out; and no split stays whose two
// leaves say the same.
TEST(council_leaves_hold_outcomes_of_observed_rows) {
  int unreached = 0, supported = 0;
  for (std::uint64_t seed = 63; seed < 69; ++seed)
    for (bool regression : {false, true}) {
      const Sample s = rings(60, 3, regression, seed);
      Options o = council_options(regression);
      o.max_depth = 5;
      o.min_leaf_obs = o.min_split_obs = 2;
      o.council_rows = 20;
      o.council_move = 0.8;
      const FitResult got = fit(fit_input(s, s.x.dense(), o), serial_hooks());
      CHECK(got.where.size() == 60 && got.tree.n[0] == 60, got.tree.n[0]);
      for (int v = 0; v < got.tree.size(); ++v) {
        if (!got.tree.is_leaf(v)) {
          const int l = got.tree.left[v], r = got.tree.right[v];
          if (got.tree.is_leaf(l) && got.tree.is_leaf(r))
            CHECK(got.tree.loss[l] + got.tree.loss[r] < got.tree.loss[v] - 1e-9, v);
          continue;
        }
        double count = 0, sum = 0;
        for (int i = 0; i < 60; ++i)
          if (got.where[i] == v) {
            count += 1;
            sum += s.y[i];
          }
        CHECK(got.tree.n[v] == count && got.tree.weight[v] >= o.min_leaf_obs, v, got.tree.weight[v]);
        unreached += count == 0;
        supported += count < o.min_leaf_obs;
        if (count < o.min_leaf_obs) continue;
        CHECK(std::fabs(got.tree.weight[v] - count) < 1e-9, v, got.tree.weight[v]);
        const double value = got.tree.value[v * got.tree.outputs + !regression];
        CHECK(std::fabs(value - (regression ? sum / count : sum)) < 1e-9, v, value);
      }
    }
  CHECK(unreached > 0 && supported > unreached, unreached, supported);
}

TEST(council_takes_nothing_from_rows_held_out_or_of_weight_0) {
  Sample s = rings(200, 3, false, 70);
  for (int i = 0; i < 200; ++i) {
    s.valid[i] = i % 4 == 1;
    s.weight[i] = i % 5 != 2;
  }
  const FitInput in = fit_input(s, s.x.dense(), council_options(false));
  const Tree first = fit(in, serial_hooks()).tree;
  for (int i = 0; i < 200; ++i)
    if (s.weight[i] == 0) {
      s.y[i] = 1 - s.y[i];
      for (int j = 0; j < 3; ++j) s.x.at(i, j) += 100;
    }
  CHECK(same_bits(fit(fit_input(s, s.x.dense(), council_options(false)), serial_hooks()).tree, first), 0);
  const FitResult got = fit(in, serial_hooks());
  int training = 0;
  for (int i = 0; i < 200; ++i) training += s.weight[i] > 0 && !s.valid[i];
  CHECK(got.tree.n[0] == training, got.tree.n[0]);
}

TEST(council_knows_fresh_rows_better_than_one_tree) {
  const Sample fresh = rings(2000, 2, false, 80);
  const Rows rows(fresh.x.dense());
  double alone = 0, taught = 0;
  for (std::uint64_t seed = 81; seed < 87; ++seed) {
    const Sample s = rings(250, 2, false, seed);
    const auto right = [&](int trees) {
      Options o = council_options(false);
      o.council_trees = trees;
      const Tree tree = fit(fit_input(s, s.x.dense(), o), serial_hooks()).tree;
      const std::vector<int> leaf = route(tree, rows, serial_hooks());
      double hits = 0;
      for (int i = 0; i < 2000; ++i)
        hits += (tree.value[2 * leaf[i] + 1] > tree.value[2 * leaf[i]]) == (fresh.y[i] == 1);
      return hits / 2000 / 6;
    };
    alone += right(0);
    taught += right(8);
  }
  CHECK(taught > alone + 0.005, taught, alone);
}
