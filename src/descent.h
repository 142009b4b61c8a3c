// descent.h: a run of epochs on the whole tree, of which the best hard snapshot is
// kept. A snapshot is judged as it will be used: hard routing, leaves filled anew,
// on the validation rows if there are any.
#ifndef CPT_DESCENT_H
#define CPT_DESCENT_H

#include <functional>
#include <limits>

#include "fit.h"
#include "stump.h"
#include "trainer.h"

namespace cpt {

class Descent {
 public:
  Descent(const Problem& problem, std::vector<Node>& nodes, std::uint64_t key)
      : p_(problem), nodes_(nodes),
        trainer_(problem.data, problem.task, problem.prior, nodes, problem.training,
                 problem.options.seed, key, problem.hooks),
        weight_(total_weight(problem.task, problem.training)) {}

  // Mean hard loss of the training rows (and cost of the validation rows, if any)
  // with the present parameters; the best so far is remembered.
  void score() {
    const std::vector<double> statistics = trainer_.hard_statistics(p_.training);
    hard_ = trainer_.impurity(statistics) / weight_;
    double judged = hard_;
    if (!p_.validation.empty()) judged = valid_ = trainer_.hard_cost(p_.validation, statistics);
    if (judged >= best_score_) return;
    best_score_ = judged;
    best_hard_ = hard_;
    best_.clear();
    for (const Node& node : nodes_) best_.push_back(node.gate.theta);
  }

  // One epoch; scored if asked. Adds a line to the history.
  void epoch(const char* stage, int number, const EpochSettings& settings, bool scored) {
    const double missing = std::numeric_limits<double>::quiet_NaN();
    const Clock clock;
    loss_ = p_.task.reported_loss(trainer_.epoch(settings));
    const double seconds = clock.seconds();
    hard_ = valid_ = missing;
    if (scored) score();
    p_.history.push_back({stage, number, settings.lambda, loss_, p_.task.reported_loss(hard_),
                          p_.task.reported_loss(valid_), seconds});
  }

  void restore_best() {
    for (std::size_t v = 0; v < best_.size(); ++v) nodes_[v].gate.theta = best_[v];
  }

  Trainer& trainer() { return trainer_; }
  double loss() const { return loss_; }             // soft, of the last epoch
  double best_hard() const { return best_hard_; }   // of the best snapshot
  double best_score() const { return best_score_; }
  double weight() const { return weight_; }

 private:
  const Problem& p_;
  std::vector<Node>& nodes_;
  Trainer trainer_;
  std::vector<std::vector<Real>> best_;
  double weight_;
  double best_score_ = std::numeric_limits<double>::infinity();
  double hard_ = 0, valid_ = 0, best_hard_ = 0, loss_ = 0;
};

}  // namespace cpt

#endif
