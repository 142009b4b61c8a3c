# Letter: 16 columns, 26 letters (the paper: 90.51 % with 463 leaves, depth 11).
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1]))
source(file.path(here, "common.R"))

given <- arguments(seeds = 1:3)
part <- parts(read_data(given$folder, "letter.rds"), given$validate)
settings <- list(
  max_depth = 11, max_leaves = 463, max_facets = 30, min_split_obs = 4, min_leaf_obs = 2,
  starts = 2, grow_min_steps = 200, grow_rate = 0.01, refine_epochs = 100, refine_rate = 0.02, lambda_end = 4,
  weight_rate = 1, prior_weight = 0
)
experiment("letter", part, settings, given, limit = 463)
