// descent.h: a run of epochs on the whole tree, of which the best hard snapshot is
// kept. A snapshot is judged as it will be used: hard routing, leaves filled anew,
// on the validation rows if there are any, else by its posterior on the training rows.
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
  // `nat`: how much loss the prior takes for one nat, see Task::nat.
  Descent(const Problem& problem, std::vector<Node>& nodes, std::uint64_t key, double nat)
      : p_(problem), nodes_(nodes),
        trainer_(problem.data, problem.task, problem.prior, nodes, problem.training,
                 problem.options.seed, key, problem.hooks),
        weight_(total_weight(problem.task, problem.training)), nat_(nat) {}

  // Mean hard loss of the training rows (and cost of the validation rows, if any)
  // with the present parameters; the best so far is remembered.
  void score() {
    hard_ = mean_hard_loss({});
    if (!p_.validation.empty())
      valid_ = trainer_.hard_cost(p_.validation, p_.truth,
                                  trainer_.hard_statistics(p_.observed, p_.truth));
    const double price = nat_ * price_of_all() / weight_;
    const double judged = p_.validation.empty() ? loss_as_trained() + price : valid_;
    if (judged >= best_score_) return;
    best_score_ = judged;
    best_posterior_ = p_.validation.empty() ? judged : valid_ + price;
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
  // Of the best snapshot: mean loss of the judging rows, and the prior's price.
  double best_posterior() const { return best_posterior_; }
  double weight() const { return weight_; }

 private:
  double mean_hard_loss(const Distortion& distortion) {
    return trainer_.impurity(trainer_.hard_statistics(p_.training, p_.task, distortion)) / weight_;
  }

  // Jittered rows are judged jittered: by the rows themselves, a tree that knows them by
  // heart would win.
  double loss_as_trained() {
    const double jitter = p_.options.jitter;
    return jitter > 0 ? mean_hard_loss({0, jitter}) : hard_;
  }

  // What the prior charges for all facets, against having none.
  double price_of_all() const {
    double sum = 0;
    if (!p_.prior.active() && !p_.prior.bounds_slope()) return sum;
    for (const Node& node : nodes_) {
      if (node.is_leaf()) continue;
      const std::vector<Real> scales = p_.prior.fit_scales(node.gate);
      for (int k = 0; k < node.gate.facets; ++k) 
        sum += p_.prior.price(node.gate, scales, p_.options.lambda_end, k);
    }
    return sum;
  }

  const Problem& p_;
  std::vector<Node>& nodes_;
  Trainer trainer_;
  std::vector<Lines<Real>> best_;
  double weight_, nat_;
  double best_score_ = std::numeric_limits<double>::infinity();
  double hard_ = 0, valid_ = 0, best_posterior_ = 0, loss_ = 0;
};

// Mean loss of the training rows under hard routing.
inline double hard_loss(const Problem& p, std::vector<Node>& nodes) {
  Trainer router(p.data, p.task, p.prior, nodes, {}, p.options.seed, 0, p.hooks);
  return router.impurity(router.hard_statistics(p.training, p.task)) / total_weight(p.task, p.training);
}

// How good the tree is as it stands, less is better: as Descent judges its snapshots.
inline double judge(const Problem& p, std::vector<Node>& nodes, double nat) {
  Descent descent(p, nodes, 0, nat);
  descent.score();
  return descent.best_posterior();
}

}  // namespace cpt

#endif
