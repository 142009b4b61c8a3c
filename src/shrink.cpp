// shrink.cpp: the gamma process at work (Section 3.2). Facets are switched off when
// that raises the posterior: when the loss of the hard tree rises by less than the
// prior charges for them. The others can take over part of their work, so a round
// switches off what looks nearly worth it, trains on, and then asks the posterior;
// a round that did not raise it is undone.
#include <algorithm>
#include <cmath>

#include "descent.h"
#include "schedule.h"
#include "stump.h"

namespace cpt {

namespace {

constexpr double share_a_round = 0.3;  // of a node's facets, at most
constexpr double hopeful = 4.0;        // harm that training on may mend, in prices
constexpr int judging_rows = 8192;     // rows of a node that judge its facets
constexpr int repair = 3;              // a round trains for this part of the joint steps

// One node: its rows, and what each costs on either side with the subtrees as they are.
class NodeShrinker {
 public:
  NodeShrinker(const Problem& p, Node& node, std::vector<int> rows, double scale, double nat,
               const std::vector<double>& left_cost, const std::vector<double>& right_cost)
      : p_(p), node_(node), rows_(std::move(rows)), scale_(scale), nat_(nat), left_(left_cost),
        right_(right_cost) {
    for (int r : rows_) weight_.push_back(p_.task.weight(r));
  }

  // Switches facets off, the least useful first, while the harm is below `slack`
  // times the price; true if any went.
  bool run(double slack) {
    const Gate& gate = node_.gate;
    g_ = gate_evidence(p_.data, gate, rows_, p_.hooks, &terms_);
    Cut now = cut(g_);
    if (!now.found) return false;
    const std::vector<Real> scales = p_.prior.fit_scales(gate);
    const auto price_of = [&](int k) { return nat_ * p_.prior.price(gate, scales, p_.options.lambda_end, k); };
    std::vector<std::pair<double, int>> net;
    for (int k = 0; k < gate.facets; ++k) {
      p_.hooks.stop_if_cancelled();
      const double value = harm(cut(without(k)), now) - slack * price_of(k);
      if (value < 0) net.push_back({value, k});
    }
    std::sort(net.begin(), net.end());
    std::vector<char> dropped(gate.facets, 0);
    int most = static_cast<int>(std::ceil(share_a_round * gate.facets));
    most = std::min(most, gate.facets - 1);
    bool any = false;
    for (const auto& candidate : net) {
      if (most == 0) break;
      const std::vector<Real> less = without(candidate.second);
      const Cut then = cut(less);
      if (harm(then, now) >= slack * price_of(candidate.second)) continue;
      g_ = less;
      now = then;
      dropped[candidate.second] = any = true;
      --most;
    }
    if (!any) return false;
    node_.gate = gate.without(dropped);
    node_.gate.g0() = static_cast<Real>(now.threshold);
    return true;
  }

 private:
  double harm(const Cut& then, const Cut& now) const {
    return then.found ? (then.loss - now.loss) * scale_ : HUGE_VAL;
  }

  std::vector<Real> without(int k) const {
    std::vector<Real> less(g_.size());
    for (std::size_t i = 0; i < g_.size(); ++i) less[i] = g_[i] - terms_[i * node_.gate.width + k];
    return less;
  }

  Cut cut(const std::vector<Real>& g) const {
    const double least = p_.options.min_leaf_obs / scale_;
    return best_cut(weight_, g, least,
                    [&](const std::vector<int>& order, const std::vector<char>&,
                        std::vector<double>& loss) {
      double sum = 0;
      for (std::size_t i = 0; i < order.size(); ++i) sum += weight_[i] * right_[i];
      for (std::size_t i = 0; i < order.size(); ++i) {
        const int at = order[i];
        sum += weight_[at] * (left_[at] - right_[at]);
        loss[i] = sum;
      }
    });
  }

  const Problem& p_;
  Node& node_;
  std::vector<int> rows_;
  double scale_, nat_;  // judged rows stand for more; loss worth one nat
  const std::vector<double>&left_, &right_;
  std::vector<double> weight_;
  std::vector<Real> g_, terms_;
};

// All nodes from the root down, each with the rows that its shrunk ancestors send.
bool switch_off(const Problem& p, std::vector<Node>& nodes, double nat, double slack) {
  Trainer router(p.data, p.task, p.prior, nodes, {}, p.options.seed, 0, p.hooks);
  const std::vector<double> statistics = router.hard_statistics(p.training, p.task);
  std::vector<std::vector<int>> arriving(nodes.size());
  arriving[0] = p.training;
  bool any = false;
  for (std::size_t v = 0; v < nodes.size(); ++v) {  // parents come before children
    if (nodes[v].is_leaf()) continue;
    if (nodes[v].gate.facets > 1 && arriving[v].size() > 1) {
      const std::vector<int> rows = some_of(arriving[v], judging_rows);
      const double scale = total_weight(p.task, arriving[v]) / total_weight(p.task, rows);
      const std::vector<double> left = router.costs_below(nodes[v].left, rows, p.task, statistics);
      const std::vector<double> right = router.costs_below(nodes[v].right, rows, p.task, statistics);
      any = NodeShrinker(p, nodes[v], rows, scale, nat, left, right).run(slack) || any;
    }
    const std::vector<Real> g = gate_evidence(p.data, nodes[v].gate, arriving[v], p.hooks);
    for (std::size_t i = 0; i < arriving[v].size(); ++i)
      arriving[g[i] > nodes[v].gate.g0() ? nodes[v].right : nodes[v].left].push_back(arriving[v][i]);
    arriving[v].clear();
  }
  return any;
}

// Some epochs, from half soft to hard, repair what the lost facets carried.
double retrain(const Problem& p, std::vector<Node>& nodes, double nat, int round, int epochs) {
  Descent descent(p, nodes, 0x5417 + round, nat);
  descent.trainer().warm_statistics();
  for (int e = 0; e < epochs; ++e) {
    const int from = epochs;  // the second half of a schedule of twice the length
    EpochSettings settings = epoch_settings(p.options, p.options.refine_rate, from + e, 2 * epochs);
    settings.prior = 1;
    settings.nat = nat;
    descent.epoch("shrink", round * epochs + e + 1, settings, is_scored(e, epochs));
  }
  descent.restore_best();
  return descent.best_posterior();
}

}  // namespace

void shrink(const Problem& p, std::vector<Node>& nodes) {
  if (!p.prior.active() || nodes[0].is_leaf() || p.options.shrink_rounds == 0) return;
  const int epochs = epochs_at_least(std::max(1, passes(p, p.options.refine_epochs) / 8),
                                     p.options.refine_min_steps / repair, p.training.size(),
                                     p.options.batch_size);
  const double nat = p.task.nat(hard_loss(p, nodes));
  double posterior = judge(p, nodes, nat), slack = hopeful;
  for (int round = 0; round < p.options.shrink_rounds; ++round) {
    const std::vector<Node> kept = nodes;
    if (!switch_off(p, nodes, nat, slack)) return;
    const double now = retrain(p, nodes, nat, round, epochs);
    if (now <= posterior) {
      posterior = now;
      continue;
    }
    nodes = kept;
    if (slack <= 1) return;
    slack = 1;
  }
}

}  // namespace cpt
