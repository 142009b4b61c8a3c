// refine.cpp: all splits trained together (Algorithm 1), from soft to hard; the
// best hard snapshot is kept.
#include "descent.h"
#include "schedule.h"

namespace cpt {

void refine(const Problem& p, std::vector<Node>& nodes) {
  if (p.options.refine_epochs == 0 || nodes[0].is_leaf()) return;
  const double nat = p.task.nat(hard_loss(p, nodes));
  Descent descent(p, nodes, 0x7ef1ae, nat);
  const int epochs = refine_epochs(p);
  descent.score();  // the greedy tree itself is the first candidate
  descent.trainer().warm_statistics();
  for (int e = 0; e < epochs; ++e) {
    EpochSettings settings = epoch_settings(p.options, p.options.refine_rate, e, epochs);
    settings.nat = nat;
    descent.epoch("refine", e + 1, settings, is_scored(e, epochs));
    if (p.hooks.report)
      p.hooks.report({"refine", e + 1, epochs, descent.loss(),
                      p.grow_share + (1 - p.grow_share) * (e + 1) / epochs});
  }
  descent.restore_best();
}

}  // namespace cpt
