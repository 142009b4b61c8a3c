// ridge.h: ridge regression on the rows of one node: penalties along a path, each judged
// by rows left out of the fit, and the mean as the last candidate.
#ifndef CPT_RIDGE_H
#define CPT_RIDGE_H

#include <vector>

#include "node_rows.h"

namespace cpt {

// Where the arithmetic changes. Penalties are chosen by exact leave-one-out; where that
// is slow, or no different, by generalised cross-validation (every row's leverage is
// taken to be the mean one).
struct RidgeLimits {
  int exact = 600;    // most rows or columns, whichever are fewer, for exact leave-one-out
  double tall = 100;  // most rows a column for it
  int most = 3000;    // with more of both, rows evenly apart stand for all
};

// Penalties tried on one node's rows and what came of it. A score is the weighted mean
// of squared errors of outcomes left out of the fit.
struct Ridge {
  std::vector<double> lambda, score;
  double constant_score = 0;
  double chosen = 0;  // a lambda; infinity: the mean is as good
  double intercept = 0;
  std::vector<double> coef;  // user's units
};

Ridge fit_ridge(const ModelData& data, const std::vector<int>& row, const RidgeLimits& limits,
                const Hooks& hooks);

}  // namespace cpt

#endif
