// trainer.h: gradient descent on all gates of a tree (Algorithm 1). The same
// trainer serves a stump during greedy growth and the whole tree afterwards.
// A step: the panels of a batch go down the tree, the leaves take in what arrives,
// the panels bring the gradient back (panel.h), every gate moves.
#ifndef CPT_TRAINER_H
#define CPT_TRAINER_H

#include <vector>

#include "panel.h"
#include "prior.h"
#include "task.h"

namespace cpt {

struct EpochSettings {
  double rate = 0;
  double lambda = 1;
  int batch_size = 1000;
  double dropout = 0;
  double reach_tolerance = 0;
  double weight_rate = 1;
  double prior = 1;  // share of the priors on facets that counts already
  double nat = 1;    // loss worth one nat, see Task::nat
};

inline int steps_in_epoch(std::size_t rows, int batch_size) {
  const std::size_t batch = static_cast<std::size_t>(batch_size);
  return rows < batch ? 1 : static_cast<int>((rows + batch / 2) / batch);
}

class Trainer {
 public:
  // Trains `nodes` (0 is the root) on `rows`; `key` names its random streams.
  Trainer(const TrainingData& data, const Task& task, const Prior& prior, std::vector<Node>& nodes,
          std::vector<int> rows, std::uint64_t seed, std::uint64_t key, const Hooks& hooks);

  // One pass over the rows in random mini-batches; the mean loss of the soft tree.
  double epoch(const EpochSettings& settings);

  // Hard routing of `rows`: statistics of every node that is a leaf (nodes x statistics),
  // as `task` sees them.
  std::vector<double> hard_statistics(const std::vector<int>& rows, const Task& task);
  // Mean cost of `rows` under hard routing with these leaf statistics.
  double hard_cost(const std::vector<int>& rows, const Task& task,
                   const std::vector<double>& statistics);
  // Cost of each of the rows if it started at node `top`.
  std::vector<double> costs_below(int top, const std::vector<int>& rows, const Task& task,
                                  const std::vector<double>& statistics);
  // Total impurity of the leaves.
  double impurity(const std::vector<double>& statistics) const;

  // Leaf statistics start from what hard routing gives, not from the first batch.
  void warm_statistics();

  // The gradient of (loss + prior) / total weight for all rows in one batch, with
  // the statistics of that batch: one vector per node, as Gate::theta. For tests.
  std::vector<std::vector<Real>> gradient(const EpochSettings& settings, double* loss);

 private:
  struct Moments {
    std::vector<Real> first, second;
    int steps = 0;
  };
  double step(const EpochSettings& settings, double memory, std::vector<std::vector<Real>>* sink);
  // Fills the panels and sends them down from `top`.
  void send_down(Routing routing, double lambda, double tolerance, int top);
  // body(panel, hooks for work inside it), for all panels
  void for_panels(const std::function<void(Panel&, const Hooks&)>& body);
  double visit_leaves(double memory);
  double visit_leaf(int leaf, double memory);
  int arrived(int node) const;  // rows there, of all panels
  void update(const EpochSettings& settings, std::vector<std::vector<Real>>* sink);
  void sum_tails(int node);
  void update_chunk(const EpochSettings& settings, int node, int chunk,
                    std::vector<std::vector<Real>>* sink);
  void update_tail(const EpochSettings& settings, int node, std::vector<std::vector<Real>>* sink);
  AdamStep adam_step(double rate, int steps) const;
  bool uses_prior(const EpochSettings& settings) const;
  // body(leaf, rows there, their places in `rows`), for rows sent down hard from `top`
  using LeafBody = std::function<void(int, const std::vector<int>&, const std::vector<int>&)>;
  void for_hard_leaves(int top, const std::vector<int>& rows, const LeafBody& body);
  void refresh_scales();
  SoftTree tree() const { return {data_, nodes_, views_}; }

  const TrainingData& data_;
  const Task& task_;
  const Prior& prior_;
  std::vector<Node>& nodes_;
  std::vector<int> rows_;
  std::uint64_t seed_, key_;
  const Hooks& hooks_;
  double total_weight_ = 0;
  double work_a_row_ = 0;  // multiply-adds, roughly
  int epochs_ = 0;
  std::uint64_t steps_ = 0, next_scales_ = 0;

  Batch batch_;
  std::vector<RowRange> cuts_;    // which rows of the batch belong to which panel
  std::vector<Panel> panels_;     // at least as many
  std::vector<GateView> views_;   // per node
  std::vector<Moments> moments_;           // per node
  std::vector<std::vector<Real>> scales_;  // per node: the prior's b_k
  std::vector<std::vector<Real>> tails_;   // per node: gradient of [ a | log_r | g0 ]
  std::vector<double> statistics_;         // per node: decayed leaf statistics
};

}  // namespace cpt

#endif
