# Connect4: 126 zero-one columns, sparse, 3 outcomes (the paper: 81.16 % with 4 leaves).
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1]))
source(file.path(here, "common.R"))

given <- arguments(seeds = 1L)
part <- parts(read_data(given$folder, "connect4.rds"), given$validate)
settings <- list(
  max_depth = 2, max_facets = 40, grow_min_steps = 200, grow_rate = 0.01,
  refine_epochs = 80, refine_rate = 0.01, lambda_end = 4, weight_rate = 1,
  prior_weight = 1, a_beta = 2
)
experiment("connect4", part, settings, given, limit = 4)
