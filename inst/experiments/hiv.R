# HIV: 2,048 fingerprint bits, sparse, two classes, 4 % positive (the paper: AUC .731
# with 24 leaves).
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1]))
source(file.path(here, "common.R"))

given <- arguments(seeds = 1:5)
part <- parts(read_data(given$folder, "hiv.rds"), given$validate)
settings <- list(
  max_depth = 4, max_leaves = 24, max_facets = 8, min_leaf_obs = 100, standardize = "matrix",
  dropout = 0.5, starts = 1, grow_min_steps = 200, grow_rate = 0.01, refine_epochs = 20,
  refine_rate = 0.005, lambda_end = 4, weight_rate = 1, prior_weight = 0.5, a_beta = 2,
  e0 = 1e6, f0 = 1e6
)
experiment("hiv", part, settings, given, limit = 24)
