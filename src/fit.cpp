// fit.cpp: see fit.h.
#include "fit.h"

#include <algorithm>
#include <atomic>
#include <cmath>

namespace cpt {

namespace {

void check(const FitInput& in) {
  const std::size_t n = in.x.rows;
  if (n == 0 || in.x.cols == 0) throw Error("the data have no rows or no columns");
  if (in.y.size() != n || in.weight.size() != n || in.valid.size() != n)
    throw Error("outcome, weights and validation marks must have one value a row");
  if (in.options.leaf == "linear" && in.options.task != "regression")
    throw Error("linear leaves need a regression");
  if (in.options.task == "classification")
    for (double y : in.y)
      if (!(y >= 0 && y < in.options.n_classes)) throw Error("a class code is out of range");
}

}  // namespace

FitResult fit(const FitInput& in, const Hooks& hooks) {
  check(in);
  const std::size_t n = in.x.rows;
  std::vector<char> is_training(n, 0);
  std::vector<int> training, validation;
  for (std::size_t i = 0; i < n; ++i) {
    if (!(in.weight[i] > 0)) continue;  // weight 0: as if the row were not there
    is_training[i] = !in.valid[i];
    (in.valid[i] ? validation : training).push_back(static_cast<int>(i));
  }
  if (training.empty()) throw Error("no training row has a positive weight");

  std::vector<double> weight(n);
  for (std::size_t i = 0; i < n; ++i) weight[i] = is_training[i] ? in.weight[i] : 0.0;
  const Rows rows(in.x);
  FitResult result;
  result.columns = measure_columns(in.x, weight, hooks);
  const TrainingData data(in.x, rows, make_scaling(result.columns, in.options.standardize), hooks);
  const std::unique_ptr<Task> task = make_task(in.options, in.y, in.weight, is_training);
  const Prior prior(in.options);

  std::vector<double> statistics(task->statistics(), 0.0);
  task->accumulate(static_cast<int>(training.size()), training.data(), nullptr, statistics.data());
  const double grow_work = static_cast<double>(in.options.max_depth) * in.options.grow_epochs *
                           (in.options.starts + 1) / 2;
  const double refine_work = 1.0 + 1.5 * in.options.max_depth * in.options.refine_epochs;

  Problem problem{in.options, data,  *task,           prior, training,
                        validation, hooks, result.history, task->impurity(statistics.data()),
                        grow_work / (grow_work + refine_work)};
  std::vector<Node> nodes = grow(problem);
  refine(problem, nodes);
  shrink(problem, nodes);
  result.tree = finish(problem, nodes, rows, result.where);
  if (in.fill_all && !validation.empty()) {
    problem.training.insert(problem.training.end(), validation.begin(), validation.end());
    std::sort(problem.training.begin(), problem.training.end());
    fill_leaves(problem, rows, result.tree);
  }
  if (in.options.leaf == "linear")
    result.models = fit_leaf_models(result.tree, result.where, problem.training,
                                    {rows, data.scaling(), in.y, in.weight}, hooks);
  return result;
}

namespace {

constexpr int small_rows = 10000;  // fewer keep hardly more than one thread busy

// Hooks of fit i of n, whose progress is a part of the whole.
Hooks part_of(const Hooks& hooks, std::size_t i, std::size_t n) {
  Hooks part = hooks;
  if (hooks.report)
    part.report = [report = hooks.report, i, n](Progress p) {
      p.done = (i + p.done) / n;
      report(p);
    };
  return part;
}

}  // namespace

std::vector<FitResult> fit_all(const std::vector<FitInput>& inputs, const Hooks& hooks) {
  const std::size_t n = inputs.size();
  std::vector<FitResult> results(n);
  const bool small = n > 0 && inputs[0].x.rows < small_rows;
  if (n == 1 || (static_cast<int>(n) < hooks.threads && !small)) {
    for (std::size_t i = 0; i < n; ++i) results[i] = fit(inputs[i], part_of(hooks, i, n));
    return results;
  }
  std::atomic<int> ended(0);
  hooks.run(static_cast<int>(n), [&](int i) {
    results[i] = fit(inputs[i], hooks.serial());
    const int so_far = ++ended;
    if (hooks.report)
      hooks.report({"search", so_far, static_cast<int>(n), std::nan(""), 1.0 * so_far / n});
  });
  return results;
}

}  // namespace cpt
