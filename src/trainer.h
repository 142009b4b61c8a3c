// trainer.h: gradient descent on all gates of a tree (Algorithm 1). The same
// trainer serves a stump during greedy growth and the whole tree afterwards.
// A step (limb.h): the panels of a batch go down the trunk. Each branch takes on the rows
// that come to it: down to its leaves, back with the gradient, and its gates move. Then the
// panels bring the gradient back to the root, and the trunk's gates move.
#ifndef CPT_TRAINER_H
#define CPT_TRAINER_H

#include <vector>

#include "limb.h"
#include "prior.h"
#include "task.h"

namespace cpt {

struct EpochSettings {
  double rate = 0;
  double lambda = 1;
  int batch_size = 1000;
  Distortion distortion;
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
  // as `task` sees them. With a distortion, rows are changed by it, the same way every time.
  std::vector<double> hard_statistics(const std::vector<int>& rows, const Task& task,
                                      const Distortion& distortion = {});
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
  // What training keeps of a node. Neighbours may be in branches of different threads.
  struct alignas(cache_line) State {
    Lines<Real> first, second;  // Adam's moments
    int steps = 0;
    AdamStep adam = {};
    Lines<Real> tail;          // gradient of [ a | log_r | g0 ]
    std::vector<Real> scales;  // the prior's b_k
    Lines<double> statistics;  // of a leaf, decayed
    double loss = 0;           // of a leaf: the batch's
  };
  struct Step {
    const EpochSettings& settings;
    double memory;                         // how much of the leaves' statistics stays
    std::vector<std::vector<Real>>* sink;  // takes the gradient; null: gates move
  };
  // Limbs that share nodes: the panels of the trunk, or one branch.
  struct Limbs {
    Limb* limb;
    int count;
    bool have_gradients;
    Limb* begin() const { return limb; }
    Limb* end() const { return limb + count; }
  };
  double step(const Step& step);
  // Sends the batch down from `top`: fill(rows) has a panel's rows ready, body(branch) is
  // called when the rows of a branch are down.
  void send_down(const Rule& rule, int top, const std::function<void(RowRange)>& fill,
                 const std::function<void(Limb&)>& body);
  void find_trunk(int top);
  void learn_shares();
  void train_branch(const Step& step, Limb& branch);
  void visit_leaf(const Step& step, Limb& branch, const Visit& visit);
  void return_to_trunk();
  bool is_narrow() const;
  static int arrived(const Limbs& limbs, int node);
  void update_trunk(const Step& step);
  void update_gate(const Step& step, const Limbs& limbs, int node);
  void begin_update(const Step& step, const Limbs& limbs, int node);
  void update_chunks(const Step& step, const Limbs& limbs, int node, ChunkRange chunks);
  void update_tail(const Step& step, int node);
  AdamStep adam_step(double rate, int steps) const;
  bool uses_prior(const EpochSettings& settings) const;
  // body(leaf, rows there, their places in `rows`), for rows sent down hard from `top`
  using LeafBody = std::function<void(int, const std::vector<int>&, const std::vector<int>&)>;
  void for_hard_leaves(int top, const std::vector<int>& rows, const Distortion& distortion,
                       const LeafBody& body);
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
  int epochs_ = 0;
  std::uint64_t steps_ = 0, next_scales_ = 0;

  Batch batch_;
  std::vector<double> pull_;                  // per row of the batch, see Limb::pull_back
  std::vector<double> share_;                 // per node: of the rows, when last looked at
  std::vector<char> is_leaf_, is_trunk_end_;  // per node
  std::vector<RowRange> cuts_;                // which rows of the batch belong to which panel
  std::vector<Limb> panels_;                  // of the trunk; at least as many
  std::vector<int> trunk_, ends_;             // its nodes below `top`, and where it ends
  std::vector<Limb> branches_;                // one for each end
  std::vector<GateView> views_;               // per node
  std::vector<State> state_;                  // per node
  // Per node: multiply-adds a row below it, roughly, and of all rows together.
  std::vector<double> work_a_row_, work_;
};

}  // namespace cpt

#endif
