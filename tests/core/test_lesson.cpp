// test_lesson.cpp: made rows are what they claim, dense and sparse; weights are shared
// fairly; a taught tree holds outcomes and is less led astray by noise.
#include "lesson.h"
#include "support.h"
#include "test.h"

using namespace support;

namespace {

Options taught_options(bool regression) {
  Options o = options_for(regression);
  o.teacher_trees = 60;
  return o;
}

// The standardised row `i` of the training data, centred also where it is sparse.
std::vector<Real> training_row(const TrainingData& data, int i) {
  Batch batch;
  batch.index = {i};
  data.gather(batch, {}, Stream(0, 0, Purpose::dropout), serial_hooks());
  if (!data.is_sparse())
    return std::vector<Real>(batch.dense.begin(), batch.dense.begin() + data.d());
  std::vector<Real> out(data.d());
  for (int j = 0; j < data.d(); ++j) out[j] = -data.shift()[j];
  for (std::size_t e = batch.sparse.start[0]; e < batch.sparse.start[data.chunks()]; ++e)
    out[batch.sparse.cell[e].column] += batch.sparse.cell[e].value;
  return out;
}

}  // namespace

TEST(lesson_made_rows_take_each_column_from_one_of_two_rows) {
  Matrix x = random_matrix(60, 700, 0.7, 40);
  const std::vector<double> weight(60, 1.0);
  MadeRows made;
  made.share = 0.3;
  made.key = 4;
  for (int i = 0; i < 80; ++i) {
    made.source.push_back(i % 60);
    made.donor.push_back((i * 11 + 5) % 60);
  }
  for (bool sparse : {false, true}) {
    const MatrixView view = x.view(sparse);
    const Rows rows(view, made);
    const TrainingData data(view, rows,
                            make_scaling(measure_columns(view, weight, serial_hooks()), "columns"),
                            thread_hooks(2));
    double given = 0;
    for (int i = 0; i < 80; ++i) {
      const std::vector<Real> got = training_row(data, 60 + i);
      const std::vector<Real> source = training_row(data, made.source[i]);
      const std::vector<Real> donor = training_row(data, made.donor[i]);
      for (int j = 0; j < 700; ++j) {
        const bool from_donor = made.from(i, j) == made.donor[i] && made.donor[i] != made.source[i];
        given += from_donor;
        CHECK(got[j] == (from_donor ? donor[j] : source[j]), sparse, i, j);
      }
    }
    CHECK(std::fabs(given / (80 * 700) - 0.3) < 0.02, given);
  }
}

TEST(lesson_rows_and_made_rows_share_the_weight) {
  const Sample s = rings(200, 3, false, 41);
  std::vector<double> weight(200);
  double sum = 0;
  std::vector<int> training;
  for (int i = 0; i < 200; ++i) {
    weight[i] = 1 + i % 4;
    if (i < 150) training.push_back(i);
    if (i < 150) sum += weight[i];
  }
  const auto truth = make_task(taught_options(false), s.y, weight, std::vector<char>(200, 1));
  const Lesson lesson = make_lesson(s.x.dense(), *truth, training, taught_options(false),
                                    serial_hooks());
  CHECK(lesson.made.size() == 450, lesson.made.size());
  for (int i = 0; i < lesson.made.size(); ++i)
    CHECK(lesson.made.source[i] < 150 && lesson.made.donor[i] < 150, i);
  const std::vector<double> got = lesson_weights(lesson, weight, training);
  double observed = 0, made = 0;
  for (int r : training) observed += got[r];
  for (std::size_t i = 200; i < got.size(); ++i) made += got[i];
  CHECK(std::fabs(observed - sum / 2) < 1e-9 && std::fabs(made - sum / 2) < 1e-9, observed, made);
}

TEST(lesson_leaves_hold_outcomes_of_observed_rows) {
  for (bool regression : {false, true}) {
    const Sample s = rings(300, 3, regression, 42);
    const FitResult got = fit(fit_input(s, s.x.dense(), taught_options(regression)), serial_hooks());
    CHECK(got.tree.n[0] == 300 && leaves(got.tree) > 1, regression, got.tree.n[0]);
    for (int v = 0; v < got.tree.size(); ++v) {
      if (!got.tree.is_leaf(v)) continue;
      double count = 0, sum = 0;
      for (int i = 0; i < 300; ++i)
        if (got.where[i] == v) {
          count += 1;
          sum += s.y[i];
        }
      CHECK(got.tree.n[v] == count, v);
      const double value = got.tree.value[v * got.tree.outputs + !regression];
      CHECK(std::fabs(value - (regression ? sum / count : sum)) < 1e-9, v, value);
    }
  }
}

TEST(lesson_fit_is_the_same_in_any_order_of_tasks) {
  for (bool regression : {false, true}) {
    const Sample s = rings(250, 3, regression, 43);
    const FitInput in = fit_input(s, s.x.dense(), taught_options(regression));
    const Tree first = fit(in, serial_hooks()).tree;
    for (const Hooks& hooks : {reversed_hooks(), thread_hooks(3)}) {
      CHECK(same_bits(fit(in, hooks).tree, first), regression);
      CHECK(same_bits(fit_all({in, in}, hooks)[1].tree, first), regression);
    }
  }
}

// A fifth of the labels is turned; the trees are judged by the labels as they were.
TEST(lesson_helps_against_noise) {
  double plain = 0, taught = 0;
  for (std::uint64_t seed = 44; seed < 50; ++seed) {
    Sample s = rings(400, 4, false, seed);
    const std::vector<double> truth = s.y;
    Stream u = random_numbers(seed + 100);
    for (double& y : s.y)
      if (u.uniform() < 0.2) y = 1 - y;
    Options o = options_for(false);
    o.max_depth = 4;
    const auto right = [&](int trees) {
      o.teacher_trees = trees;
      const FitResult got = fit(fit_input(s, s.x.dense(), o), serial_hooks());
      double hits = 0;
      for (int i = 0; i < 400; ++i) {
        const double* value = &got.tree.value[2 * got.where[i]];
        hits += (value[1] > value[0]) == (truth[i] == 1);
      }
      return hits / 400 / 6;
    };
    plain += right(0);
    taught += right(100);
  }
  CHECK(taught > plain + 0.01, plain, taught);
}
