// schedule.h: how step size and steepness change over the epochs of a stage.
#ifndef CPT_SCHEDULE_H
#define CPT_SCHEDULE_H

#include <algorithm>
#include <cmath>

#include "fit.h"
#include "trainer.h"

namespace cpt {

// Step size: half a cosine from `rate` to 2 % of it. Steepness lambda: geometric
// from lambda_start to lambda_end, so that the soft tree becomes the hard one. The
// prior comes in slowly: its density is infinite where all weights are zero, and
// a gate that has not yet found its place would fall into that hole.
inline EpochSettings epoch_settings(const Options& o, double rate, int epoch, int epochs) {
  const double at = epochs > 1 ? static_cast<double>(epoch) / (epochs - 1) : 1.0;
  const double cosine = 0.5 * (1 + std::cos(3.141592653589793 * at));
  EpochSettings s;
  s.rate = rate * (0.02 + 0.98 * cosine);
  s.lambda = o.lambda_start * std::pow(o.lambda_end / o.lambda_start, at);
  s.batch_size = o.batch_size;
  s.distortion = {o.dropout, o.jitter};
  s.reach_tolerance = o.reach_tolerance;
  s.weight_rate = o.weight_rate;
  s.prior = at * at;
  return s;
}

// Epochs that make at least `steps` steps on this many rows.
inline int epochs_at_least(int epochs, int steps, std::size_t rows, int batch_size) {
  const int a_pass = steps_in_epoch(rows, batch_size);
  return std::max(epochs, (steps + a_pass - 1) / a_pass);
}

// With made rows a pass is longer, so fewer of them are as many steps.
inline int passes(const Problem& p, int epochs) {
  const double share = 1.0 * p.observed.size() / p.training.size();
  return static_cast<int>(std::ceil(share * epochs));
}

inline int refine_epochs(const Problem& p) {
  return epochs_at_least(passes(p, p.options.refine_epochs), p.options.refine_min_steps, p.training.size(),
                         p.options.batch_size);
}

// Which epochs of a stage have their hard tree scored: early ones are soft and say
// little; of the second half, about twenty.
inline bool is_scored(int epoch, int epochs) {
  const int every = std::max(1, epochs / 40);
  return epoch + 1 == epochs || (2 * epoch >= epochs && (epochs - 1 - epoch) % every == 0);
}

}  // namespace cpt

#endif
