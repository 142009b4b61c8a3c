// options.h: every hyperparameter of a fit, under the name it has in R's
// cpt_control(), where ranges and reasons are documented. No defaults here:
// the host always gives all of them.
#ifndef CPT_OPTIONS_H
#define CPT_OPTIONS_H

#include <cstdint>
#include <string>

namespace cpt {

struct Options {
  std::string task;  // "classification" or "regression"
  int n_classes = 0;
  std::uint64_t seed = 0;

  // topology
  int max_depth = 0;
  int max_leaves = 0;  // 0: no limit
  int max_facets = 1;
  double min_split_obs = 0;
  double min_leaf_obs = 0;
  double min_gain = 0;
  int starts = 1;
  int tree_starts = 1;
  double column_share = 0;
  bool choose_size = false;
  std::string leaf;  // "constant", "linear"
  int teacher_trees = 0;  // 0: no teacher
  int council_trees = 0;  // 0: no council
  int council_rows = 0;
  double council_move = 0;

  // training
  std::string standardize;  // "columns", "matrix", "none"
  int grow_epochs = 0;
  int grow_min_steps = 0;
  double grow_rate = 0;
  int refine_epochs = 0;
  int refine_min_steps = 0;
  double refine_rate = 0;
  int batch_size = 0;
  double lambda_start = 0;
  double lambda_end = 0;
  double weight_rate = 1;
  double dropout = 0;
  double jitter = 0;
  double reach_tolerance = 0;

  // priors
  double ridge = 0;
  double prior_weight = 0;
  double gamma0 = 0;
  double c0 = 0;
  double a_beta = 0;
  double e0 = 0;
  double f0 = 0;
  int shrink_rounds = 0;
  double facet_tolerance = 0;
};

}  // namespace cpt

#endif
