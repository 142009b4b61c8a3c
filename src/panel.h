// panel.h: some rows of a batch on their way down the soft tree and back. With V the
// expected cost below a node,
//   V = q V_right + (1 - q) V_left,   dLoss/dq = reach (V_right - V_left),
//   dLoss/dg = dLoss/dq lambda q (1 - q).
// A panel knows nothing of other rows: leaf statistics and parameters are the trainer's.
#ifndef CPT_PANEL_H
#define CPT_PANEL_H

#include <vector>

#include "soft_tree.h"
#include "task.h"

namespace cpt {

// How a batch is cut into panels; it depends on the data, never on the threads. Where
// gates are small, a task takes its rows through all of the tree, so that threads wait
// for each other only a few times in a step. Where they are large, a gate must be read
// for many rows at once: one panel, and the threads share each level of the tree.
std::vector<RowRange> cut_into_panels(int rows, const std::vector<Node>& nodes);

class Panel {
 public:
  Pass pass;
  std::vector<double> below;  // per entry: V; in double, for differences of it count

  // Leaves have written V of their entries: V of all others, and dLoss/dg times `scale`.
  void pull_back(const SoftTree& tree, const Batch& batch, const Task& task, double lambda,
                 double scale);
  // Turns the pass's sigmoid into dLoss/dz and makes the gradients of [ a | log_r | g0 ].
  void make_tails(const SoftTree& tree, const Hooks& hooks);

  // Room for V of all entries.
  void make_room();
  // 3 x width of the node's gate; null if no row came there.
  const Real* tail(int node) const {
    const Visit* visit = pass.visit_of(node);
    return visit ? tails_[visit - pass.visits().data()].data() : nullptr;
  }

 private:
  std::vector<Real> dg_;                  // per entry: dLoss/dg
  std::vector<std::vector<Real>> tails_;  // per visit
};

}  // namespace cpt

#endif
