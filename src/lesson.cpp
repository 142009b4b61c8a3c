// lesson.cpp: see lesson.h.
#include "lesson.h"

#include <algorithm>

#include "forest.h"

namespace cpt {

namespace {

constexpr double donor_share = 0.1;  // of a made row's columns
constexpr std::size_t many_rows = 20000, some_rows = 10000;  // most made rows; a goal for few rows

// As many as there are rows, or up to three times as many if they are few.
std::size_t made_size(std::size_t n) {
  return std::min(std::max(n, std::min(3 * n, some_rows)), many_rows);
}

MadeRows make_rows(const std::vector<int>& training, std::uint64_t seed) {
  MadeRows made;
  made.share = donor_share;
  made.key = seed;
  Stream draw(seed, 0, Purpose::made);
  const std::size_t n = training.size(), size = made_size(n);
  for (std::size_t i = 0; i < size; ++i) {
    made.source.push_back(training[i % n]);
    made.donor.push_back(training[draw.below(n)]);
  }
  return made;
}

}  // namespace

Lesson make_lesson(const MatrixView& x, const Task& truth, const std::vector<int>& training,
                   const Options& options, const Hooks& hooks) {
  Lesson lesson;
  lesson.made = make_rows(training, options.seed);
  const Bins bins(x, training, hooks);
  std::vector<double> y(x.rows);
  for (int i = 0; i < x.rows; ++i) y[i] = truth.outcome(i);
  lesson.opinion = forest_opinions({bins, lesson.made, training, y, truth.weights(),
                                    options.n_classes, options.teacher_trees, options.seed}, hooks);
  return lesson;
}

std::vector<double> lesson_weights(const Lesson& lesson, const std::vector<double>& weight,
                                   const std::vector<int>& training) {
  std::vector<double> out(weight);
  for (int source : lesson.made.source) out.push_back(weight[source]);
  double observed = 0, made = 0;
  for (int r : training) observed += weight[r];
  for (std::size_t i = weight.size(); i < out.size(); ++i) made += out[i];
  const double share = lesson.verdict.empty() ? 0.5 : observed / (observed + made);
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] *= i < weight.size() ? share : (1 - share) * observed / made;
  return out;
}

}  // namespace cpt
