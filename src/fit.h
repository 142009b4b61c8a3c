// fit.h: the whole fit: grow() a tree greedily, refine() all splits together,
// shrink() them to the facets worth their price, finish() it as a hard tree in the
// user's units, and if asked fit linear models in its nodes.
#ifndef CPT_FIT_H
#define CPT_FIT_H

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "leaf_model.h"
#include "lesson.h"
#include "options.h"
#include "prior.h"
#include "task.h"
#include "tree.h"

namespace cpt {

struct Record {  // one line of the training history; NaN where not measured
  std::string stage;
  int epoch;
  double lambda, loss, hard_loss, valid_loss;
  double seconds;  // of training, scoring apart
};

// Seconds since it was made.
class Clock {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// What every stage works on.
struct Problem {
  const Options& options;
  const TrainingData& data;
  const Task& task;   // what the splits learn: the outcomes, or what a teacher thinks
  const Task& truth;  // the outcomes, which fill the leaves and judge
  const Prior& prior;
  std::vector<int> training;  // rows that the splits learn from: observed and made ones
  std::vector<int> observed, validation;
  std::vector<int> named;  // made rows that help to fill leaves where observed ones are few
  const Hooks& hooks;
  std::vector<Record>& history;
  double root_loss;     // impurity of all training rows
  double grow_share;    // of the whole work, for progress
};

std::vector<Node> grow(const Problem& problem);
void refine(const Problem& problem, std::vector<Node>& nodes);
void shrink(const Problem& problem, std::vector<Node>& nodes);
Tree finish(const Problem& problem, const std::vector<Node>& nodes, const Rows& rows,
            std::vector<int>& where);
// The leaves of a finished tree filled anew, with the training rows of this problem.
void fill_leaves(const Problem& problem, const Rows& rows, Tree& tree);

struct FitInput {
  MatrixView x;
  std::vector<double> y, weight;
  std::vector<char> valid;  // 1: held out, used only to choose depth and snapshot
  bool fill_all = false;    // and in the end to fill the leaves
  Options options;
  std::shared_ptr<const Lesson> lesson;  // null: made here, if a teacher is asked for
};

struct FitResult {
  Tree tree;
  std::vector<int> where;  // position of the leaf of every row
  std::vector<Record> history;
  Columns columns;  // of the training rows
  LeafModels models;  // empty for constant leaves
};

FitResult fit(const FitInput& input, const Hooks& hooks);

// Several fits: side by side with one thread each if they are many or small, else one
// after another with all threads. The trees are the same.
std::vector<FitResult> fit_all(const std::vector<FitInput>& given, const Hooks& hooks);

}  // namespace cpt

#endif
