// limb.h: a part of the soft tree with the rows of a batch on their way down it and back.
// With V the expected cost below a node,
//   V = q V_right + (1 - q) V_left,   dLoss/dq = reach (V_right - V_left),
//   dLoss/dg = dLoss/dq lambda q (1 - q).
// The tree near its root is the trunk: many rows come to few nodes, so the threads share
// the rows, a panel of them each. Where the trunk ends, the branches begin: there the
// threads share the nodes. A limb is the trunk with one panel, or a branch with all rows
// that come to it; it belongs to one thread. It knows nothing of the leaves' statistics
// and of parameters: those are the trainer's.
#ifndef CPT_LIMB_H
#define CPT_LIMB_H

#include <vector>

#include "soft_tree.h"

namespace cpt {

// How a batch is cut into panels; it depends on the data, never on the threads.
std::vector<RowRange> cut_into_panels(int rows);

// Per node: the share of all rows that comes there if every split halves them.
std::vector<double> even_shares(const std::vector<Node>& nodes);
// Per node: does the trunk end there? Above its ends, a node and those below have a large
// part of all work.
std::vector<char> trunk_ends(const std::vector<Node>& nodes, const std::vector<double>& share);

class alignas(cache_line) Limb {
 public:
  Pass pass;
  std::vector<double> below;  // per entry: V; in double, for differences of it count

  // Room for V of all entries.
  void make_room();
  // V of the entries where the pass ends is known: V of all others, and dLoss/dg. `pull`
  // is, per row of the batch, lambda times the row's share of the loss.
  void pull_back(const std::vector<double>& pull);
  // Turns the pass's sigmoid into dLoss/dz and makes the gradients of [ a | log_r | g0 ].
  void make_tails(const SoftTree& tree);
  // After that: the gradient of B, of gates with one chunk of columns.
  void make_gradients(const SoftTree& tree, const Batch& batch);

  // 3 x width of the node's gate; null if no row came there.
  const Real* tail(int node) const {
    const Visit* visit = pass.visit_of(node);
    return visit ? tails_[visit - pass.visits().data()].data() : nullptr;
  }
  // d x width of the node's gate, which rows came to.
  const Real* gradient(int node) const {
    return gradients_[pass.visit_of(node) - pass.visits().data()].data();
  }

 private:
  std::vector<Real> dg_;                              // per entry: dLoss/dg
  std::vector<Lines<Real>> tails_, gradients_;  // per visit
};

}  // namespace cpt

#endif
