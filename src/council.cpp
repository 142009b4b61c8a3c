// council.cpp: see council.h.
#include "council.h"

#include <algorithm>
#include <cmath>

namespace cpt {

namespace {

// Dense rows move by a share of the difference of two others, as in jitter; of sparse rows,
// which would not stay sparse, that share of the columns is taken from another row.
MadeRows make_rows(const std::vector<int>& training, bool sparse, const Options& options) {
  MadeRows made;
  made.share = options.council_move;
  made.key = options.seed;
  Stream draw(options.seed, 0, Purpose::council);
  const std::size_t n = training.size(), size = n * options.council_rows;
  for (std::size_t i = 0; i < size; ++i) {
    made.source.push_back(training[i % n]);
    made.donor.push_back(training[draw.below(n)]);
    if (!sparse) made.other.push_back(training[draw.below(n)]);
  }
  return made;
}

// What each node of a tree says: shares of the classes, or its number.
std::vector<double> node_votes(const Tree& tree) {
  std::vector<double> votes = tree.value;
  if (tree.outputs == 1) return votes;
  for (int v = 0; v < tree.size(); ++v) {
    double* share = &votes[static_cast<std::size_t>(v) * tree.outputs];
    double sum = 0;
    for (int c = 0; c < tree.outputs; ++c) sum += share[c];
    for (int c = 0; c < tree.outputs; ++c) share[c] /= sum;
  }
  return votes;
}

// The class of the largest summed share (the first of equals), or the mean number.
double verdict_of(const std::vector<double>& sum, std::size_t trees) {
  if (sum.size() == 1) return sum[0] / trees;
  return static_cast<double>(std::max_element(sum.begin(), sum.end()) - sum.begin());
}

std::vector<double> verdicts(const std::vector<Tree>& council, const Rows& rows, const Hooks& hooks) {
  std::vector<std::vector<double>> votes;
  for (const Tree& tree : council) votes.push_back(node_votes(tree));
  const int outputs = council[0].outputs;
  std::vector<double> verdict(rows.size() - rows.given());
  constexpr int block = 256;  // rows made by one task
  hooks.run((static_cast<int>(verdict.size()) + block - 1) / block, [&](int b) {
    thread_local std::vector<double> buffer;
    const int first = rows.given() + b * block, count = std::min(block, rows.size() - first);
    const std::vector<RowView> x = rows.block(first, count, buffer);
    std::vector<double> sum(outputs);
    for (int i = 0; i < count; ++i) {
      std::fill(sum.begin(), sum.end(), 0.0);
      for (std::size_t t = 0; t < council.size(); ++t) {
        const double* vote = &votes[t][static_cast<std::size_t>(route(council[t], x[i])) * outputs];
        for (int c = 0; c < outputs; ++c) sum[c] += vote[c];
      }
      verdict[b * block + i] = verdict_of(sum, council.size());
    }
  });
  return verdict;
}

}  // namespace

Options member_options(Options options, int i) {
  options.seed = Stream(options.seed, static_cast<std::uint64_t>(i), Purpose::council, 1).bits();
  options.council_trees = 0;
  options.tree_starts = 1;
  options.leaf = "constant";
  return options;
}

Options pupil_options(Options options) {
  const double rows = 1.0 + options.council_rows, more = std::sqrt(rows);
  options.grow_epochs = static_cast<int>(std::ceil(more * options.grow_epochs));
  options.refine_epochs = static_cast<int>(std::ceil(more * options.refine_epochs));
  options.prior_weight /= rows;  // counts once per data set, and there are so many
  options.ridge /= rows;
  options.jitter = 0;  // made rows are moved already
  options.teacher_trees = 0;
  options.council_trees = 0;
  return options;
}

Lesson council_lesson(const MatrixView& x, const std::vector<int>& training,
                      const std::vector<Tree>& council, const Options& options, const Hooks& hooks) {
  Lesson lesson;
  lesson.made = make_rows(training, x.is_sparse(), options);
  lesson.verdict = verdicts(council, Rows(x, lesson.made), hooks);
  return lesson;
}

}  // namespace cpt
