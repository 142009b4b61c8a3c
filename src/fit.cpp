// fit.cpp: see fit.h.
#include "fit.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>

#include "council.h"
#include "descent.h"

namespace cpt {

namespace {

void check(const FitInput& in) {
  const std::size_t n = in.x.rows;
  if (n == 0 || in.x.cols == 0) throw Error("the data have no rows or no columns");
  if (in.y.size() != n || in.weight.size() != n || in.valid.size() != n)
    throw Error("outcome, weights and validation marks must have one value a row");
  if (in.options.leaf == "linear" && in.options.task != "regression")
    throw Error("linear leaves need a regression");
  if (in.options.jitter > 0 && in.x.is_sparse()) throw Error("jitter needs dense rows");
  if (in.options.task == "classification")
    for (double y : in.y)
      if (!(y >= 0 && y < in.options.n_classes)) throw Error("a class code is out of range");
}

struct Marks {
  std::vector<char> is_training;
  std::vector<int> training, validation;
};

Marks mark(const FitInput& in) {
  const std::size_t n = in.x.rows;
  Marks m;
  m.is_training.assign(n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    if (!(in.weight[i] > 0)) continue;  // weight 0: as if the row were not there
    m.is_training[i] = !in.valid[i];
    (in.valid[i] ? m.validation : m.training).push_back(static_cast<int>(i));
  }
  if (m.training.empty()) throw Error("no training row has a positive weight");
  return m;
}

std::vector<double> training_weights(const FitInput& in, const Marks& marks) {
  std::vector<double> weight(in.weight.size(), 0.0);
  for (int r : marks.training) weight[r] = in.weight[r];
  return weight;
}

// Empty if no teacher is asked for.
std::shared_ptr<const Lesson> lesson_for(const FitInput& in, const Hooks& hooks) {
  if (in.options.teacher_trees == 0) return std::make_shared<Lesson>();
  if (hooks.report) hooks.report({"teach", 1, 1, std::nan(""), 0.0});
  const Marks marks = mark(in);
  const std::unique_ptr<Task> truth = make_task(in.options, in.y, in.weight, marks.is_training);
  return std::make_shared<Lesson>(
      make_lesson(in.x, *truth, marks.training, in.options, hooks));
}

// Fits with the same rows, seed and teacher share a lesson.
std::vector<FitInput> with_lessons(std::vector<FitInput> inputs, const Hooks& hooks) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    for (std::size_t k = 0; k < i && !inputs[i].lesson; ++k)
      if (inputs[k].options.teacher_trees == inputs[i].options.teacher_trees &&
          inputs[k].options.seed == inputs[i].options.seed && inputs[k].valid == inputs[i].valid &&
          inputs[k].weight == inputs[i].weight)
        inputs[i].lesson = inputs[k].lesson;
    if (inputs[i].lesson) continue;
    check(inputs[i]);
    inputs[i].lesson = lesson_for(inputs[i], hooks);
  }
  return inputs;
}

constexpr int small_rows = 10000;  // fewer keep hardly more than one thread busy

// Hooks of job i of n, whose progress is a part of the whole.
Hooks part_of(const Hooks& hooks, int i, int n) {
  Hooks part = hooks;
  if (hooks.report)
    part.report = [report = hooks.report, i, n](Progress p) {
      p.done = (i + p.done) / n;
      report(p);
    };
  return part;
}

// job(i, its hooks) for all i: side by side with one thread each if they are many or the
// rows few, else one after another with all threads.
void run_jobs(int jobs, int rows, const char* stage, const Hooks& hooks,
              const std::function<void(int, const Hooks&)>& job) {
  if (jobs == 1 || (jobs < hooks.threads && rows >= small_rows)) {
    for (int i = 0; i < jobs; ++i) job(i, part_of(hooks, i, jobs));
    return;
  }
  std::atomic<int> ended(0);
  hooks.run(jobs, [&](int i) {
    job(i, hooks.serial());
    const int so_far = ++ended;
    if (hooks.report) hooks.report({stage, so_far, jobs, std::nan(""), 1.0 * so_far / jobs});
  });
}

struct Trained {
  std::vector<Node> nodes;
  std::vector<Record> history;
};

Trained train(const Problem& shared, int start, const Hooks& hooks) {
  Trained out;
  Options options = shared.options;
  // Start 0 is the seed's own; others are as far from it as from those of other seeds.
  if (start > 0) options.seed = Stream(options.seed, start, Purpose::tree).bits();
  const Problem p{options, shared.data, shared.task, shared.truth, shared.prior, shared.training,
                  shared.observed, shared.validation, shared.named, hooks, out.history,
                  shared.root_loss, shared.grow_share};
  out.nodes = grow(p);
  refine(p, out.nodes);
  shrink(p, out.nodes);
  return out;
}

// The best of several trees, each from a start of its own: where the greedy stage ends
// depends on it, and the joint one does not lead from one place to another. They are
// judged like the snapshots of one tree.
std::vector<Node> train_best(const Problem& p) {
  const int starts = p.options.tree_starts;
  std::vector<Trained> trained(starts);
  run_jobs(starts, static_cast<int>(p.training.size()), "starts", p.hooks,
           [&](int s, const Hooks& hooks) { trained[s] = train(p, s, hooks); });
  int best = 0;
  if (starts > 1) {
    const double nat = p.task.nat(hard_loss(p, trained[0].nodes));
    double least = HUGE_VAL;
    for (int s = 0; s < starts; ++s) {
      const double judged = judge(p, trained[s].nodes, nat);
      if (judged < least) best = s;
      least = std::min(least, judged);
    }
  }
  p.history = std::move(trained[best].history);
  return std::move(trained[best].nodes);
}

// The council's trees first, then the one that they teach.
FitResult fit_with_council(const FitInput& in, const Hooks& hooks) {
  check(in);
  std::vector<FitInput> members(in.options.council_trees, in);
  for (std::size_t i = 0; i < members.size(); ++i)
    members[i].options = member_options(in.options, static_cast<int>(i));
  std::vector<Tree> council;
  for (FitResult& member : fit_all(members, part_of(hooks, 0, 2)))
    council.push_back(std::move(member.tree));
  FitInput pupil = in;
  pupil.options = pupil_options(in.options);
  pupil.lesson = std::make_shared<Lesson>(
      council_lesson(in.x, mark(in).training, council, in.options, hooks));
  return fit(pupil, part_of(hooks, 1, 2));
}

// What the splits learn and what fills the leaves and judges (null: the same); both know the
// rows that a council has named.
struct Tasks {
  std::unique_ptr<Task> learnt, truth;
};

Tasks make_tasks(const FitInput& in, const Marks& marks, const Lesson& lesson) {
  std::vector<double> y = in.y, weight = in.weight;
  std::vector<char> is_training = marks.is_training;
  const bool named = !lesson.verdict.empty();
  const std::vector<double> learnt =
      lesson.made.size() > 0 ? lesson_weights(lesson, in.weight, marks.training) : in.weight;
  if (named) {
    y.insert(y.end(), lesson.verdict.begin(), lesson.verdict.end());
    weight.insert(weight.end(), learnt.begin() + in.x.rows, learnt.end());
    is_training.resize(y.size(), 0);  // only observed outcomes set the scale
  }
  Tasks tasks;
  tasks.truth = make_task(in.options, y, weight, is_training);
  if (!lesson.opinion.empty()) tasks.learnt = tasks.truth->taught(lesson.opinion, learnt);
  if (named) tasks.learnt = make_task(in.options, y, learnt, is_training);
  return tasks;
}

}  // namespace

FitResult fit(const FitInput& in, const Hooks& hooks) {
  if (in.options.council_trees > 0) return fit_with_council(in, hooks);
  check(in);
  const Marks marks = mark(in);
  FitResult result;
  result.columns = measure_columns(in.x, training_weights(in, marks), hooks);
  const std::shared_ptr<const Lesson> lesson = in.lesson ? in.lesson : lesson_for(in, hooks);
  const Rows rows(in.x, lesson->made);
  const TrainingData data(in.x, rows, make_scaling(result.columns, in.options.standardize), hooks,
                          marks.training);
  const Tasks tasks = make_tasks(in, marks, *lesson);
  const Task& truth = *tasks.truth;
  const Task& task = tasks.learnt ? *tasks.learnt : truth;
  const Prior prior(in.options);

  std::vector<int> training = marks.training, made(lesson->made.size());
  std::iota(made.begin(), made.end(), in.x.rows);
  training.insert(training.end(), made.begin(), made.end());
  if (lesson->verdict.empty()) made.clear();
  std::vector<double> statistics(task.statistics(), 0.0);
  task.accumulate(static_cast<int>(training.size()), training.data(), nullptr, statistics.data());
  const double grow_work = static_cast<double>(in.options.max_depth) * in.options.grow_epochs *
                           (in.options.starts + 1) / 2;
  const double refine_work = 1.0 + 1.5 * in.options.max_depth * in.options.refine_epochs;

  Problem problem{in.options, data, task, truth, prior, training, marks.training,
                  marks.validation, made, hooks, result.history, task.impurity(statistics.data()),
                  grow_work / (grow_work + refine_work)};
  result.tree = finish(problem, train_best(problem), rows, result.where);
  if (in.fill_all && !marks.validation.empty()) {
    problem.observed.insert(problem.observed.end(), marks.validation.begin(), marks.validation.end());
    std::sort(problem.observed.begin(), problem.observed.end());
    fill_leaves(problem, rows, result.tree);
  }
  if (in.options.leaf == "linear")
    result.models = fit_leaf_models(result.tree, result.where, problem.observed,
                                    {rows, data.scaling(), in.y, in.weight}, hooks);
  result.where.resize(in.x.rows);  // made rows are gone
  return result;
}

std::vector<FitResult> fit_all(const std::vector<FitInput>& given, const Hooks& hooks) {
  const std::vector<FitInput> inputs = with_lessons(given, hooks);
  std::vector<FitResult> results(inputs.size());
  if (inputs.empty()) return results;
  run_jobs(static_cast<int>(inputs.size()), inputs[0].x.rows, "search", hooks,
           [&](int i, const Hooks& own) { results[i] = fit(inputs[i], own); });
  return results;
}

}  // namespace cpt
