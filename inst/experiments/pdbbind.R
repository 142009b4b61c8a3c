# PDBbind: stand-in data (not the paper's file; do not compare with its 1.413), 2,052 counts, sparse.
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1]))
source(file.path(here, "common.R"))

given <- arguments(seeds = 1L)
part <- parts(read_data(given$folder, "pdbbind_standin.rds"), given$validate)
settings <- list(
  max_depth = 4, max_leaves = 15, max_facets = 10, dropout = 0.5, starts = 1,
  grow_min_steps = 200, grow_rate = 0.01, refine_epochs = 30, refine_rate = 0.005, lambda_end = 4,
  weight_rate = 1, prior_weight = 2
)
experiment("pdbbind_standin", part, settings, given, limit = 15)
