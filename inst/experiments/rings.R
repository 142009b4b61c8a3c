# rings: the paper's Figure 1 (2,000 points, depth 2, K = 50): AUC .962 with 3 leaves
# and 7 facets a node there. Scored on 20,000 fresh points. Needs no data folder.
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1]))
source(file.path(here, "common.R"))

given <- arguments(seeds = 1:10)
set.seed(20)
fresh <- make_rings(20000)
part <- list(fit = list(x = rings[1:2], y = rings$class), score = list(x = fresh[1:2], y = fresh$class))
experiment("rings", part, list(max_depth = 2, max_facets = 50), given, limit = 3)
