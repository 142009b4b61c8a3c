# MNIST: 784 pixels, 10 digits (the paper: 97.01 % with 98 leaves, depth 8).
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1]))
source(file.path(here, "common.R"))

given <- arguments(seeds = 1L)
part <- parts(read_data(given$folder, "mnist.rds"), given$validate)
settings <- list(
  max_depth = 5, max_leaves = 98, max_facets = 30, standardize = "matrix", dropout = 0.2,
  starts = 1, grow_min_steps = 200, grow_rate = 0.01, refine_epochs = 30, refine_rate = 0.005, lambda_end = 4,
  weight_rate = 1, prior_weight = 0
)
experiment("mnist", part, settings, given, limit = 98)
