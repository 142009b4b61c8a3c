# The settings of the paper's data; what is not named is as in cpt_control() with
# search = FALSE. For each data set a base, and the changes of it that choose.R tries, fewer
# than 25 as in the paper's protocol. The one of the best mean score is named in
# `paper_choice`; the scores are in inst/extdata/choices.csv. The bases and the lists come from
# less formal trials on the validation rows: about 30 for Connect4, 45 for MNIST, 50 for Bace,
# 60 for HIV, 70 for rings, 115 for Letter. What the lists are judged by is therefore kept apart
# from those rows, but for Bace: choosing_parts() in common.R. Letter with 150 leaves is chosen
# from Letter's list.

paper_base <- list(
  rings = list(max_depth = 2, max_facets = 50),
  letter = list(
    max_depth = 11, max_leaves = 463, max_facets = 30, min_split_obs = 4, min_leaf_obs = 2,
    batch_size = 250, dropout = 0.05, starts = 3, grow_epochs = 20, grow_min_steps = 200,
    grow_rate = 0.01, refine_epochs = 200, refine_rate = 0.03, lambda_start = 0.5, lambda_end = 12,
    weight_rate = 1, column_share = Inf, prior_weight = 0
  ),
  connect4 = list(
    max_depth = 2, max_facets = 100, batch_size = 500, starts = 3, grow_epochs = 20,
    grow_min_steps = 200, grow_rate = 0.01, refine_epochs = 200, refine_rate = 0.02,
    lambda_start = 0.5, lambda_end = 4, weight_rate = 1, column_share = Inf, prior_weight = 1, a_beta = 2
  ),
  bace = list(
    max_depth = 4, max_leaves = 21, max_facets = 12, min_leaf_obs = 30, standardize = "matrix",
    teacher_trees = 200, dropout = 0.1, ridge = 0, leaf_shrinkage = 30, batch_size = 200,
    starts = 3, tree_starts = 5, grow_epochs = 20, grow_min_steps = 200, grow_rate = 0.01,
    refine_epochs = 60, refine_min_steps = 600, refine_rate = 0.005, lambda_start = 0.1,
    lambda_end = 4, weight_rate = 1, column_share = Inf, prior_weight = 0.02, a_beta = 2, e0 = 1e6, f0 = 1e6
  ),
  hiv = list(
    max_depth = 4, max_leaves = 24, max_facets = 12, min_leaf_obs = 100, standardize = "matrix",
    teacher_trees = 200, dropout = 0.1, ridge = 0, leaf_shrinkage = 300, batch_size = 4000, starts = 2,
    grow_epochs = 60, grow_min_steps = 200, grow_rate = 0.01, refine_epochs = 20,
    refine_min_steps = 1000, refine_rate = 0.005, lambda_start = 0.1, lambda_end = 4,
    weight_rate = 1, column_share = Inf, prior_weight = 0.02, a_beta = 2, e0 = 1e6, f0 = 1e6
  ),
  pdbbind_standin = list(
    max_depth = 4, max_leaves = 15, max_facets = 10, dropout = 0.5, starts = 1, grow_epochs = 20,
    grow_min_steps = 200, grow_rate = 0.01, refine_epochs = 30, refine_min_steps = 900,
    refine_rate = 0.005, lambda_start = 0.5, lambda_end = 4, weight_rate = 1, column_share = Inf, prior_weight = 2,
    leaf_shrinkage = 1000
  ),
  mnist = list(
    max_depth = 5, max_leaves = 30, max_facets = 40, standardize = "matrix", dropout = 0.2, ridge = 1,
    starts = 1, tree_starts = 4, grow_epochs = 20, grow_min_steps = 200, grow_rate = 0.01,
    refine_epochs = 120, refine_rate = 0.005, lambda_start = 0.5, lambda_end = 4,
    weight_rate = 1, column_share = Inf, prior_weight = 0
  )
)

# Wide facets of large weight round the corners of a polytope: a disc then needs few of them.
rounded <- function(...) {
  utils::modifyList(list(tree_starts = 5, prior_weight = 0.5, a_beta = 10, c0 = 0.1,
    batch_size = 2000, refine_min_steps = 6000), list(...))
}

paper_changes <- list(
  rings = list(
    `as it is` = list(),
    `ten trees` = list(tree_starts = 10),
    `ten trees, prior .5` = list(tree_starts = 10, prior_weight = 0.5),
    `ten trees, prior 1` = list(tree_starts = 10, prior_weight = 1),
    `ten trees, steeper` = list(tree_starts = 10, lambda_end = 20),
    `rounded` = rounded(),
    `rounded, a_beta 20` = rounded(a_beta = 20),
    `rounded, a_beta 20, c0 .02` = rounded(a_beta = 20, c0 = 0.02),
    `rounded, a_beta 20, c0 .005` = rounded(a_beta = 20, c0 = 0.005),
    `rounded, a_beta 30, c0 .02` = rounded(a_beta = 30, c0 = 0.02)
  ),
  letter = list(
    `as it is` = list(),
    `400 epochs` = list(refine_epochs = 400),
    `400 epochs, ridge` = list(refine_epochs = 400, ridge = 1),
    `three trees` = list(tree_starts = 3),
    `jitter .08` = list(dropout = 0, jitter = 0.08),
    `jitter .1` = list(dropout = 0, jitter = 0.1),
    `jitter .12` = list(dropout = 0, jitter = 0.12),
    `jitter .1, less steep` = list(dropout = 0, jitter = 0.1, lambda_end = 8),
    `jitter .1, five starts` = list(dropout = 0, jitter = 0.1, starts = 5),
    `jitter .1, 400 epochs` = list(dropout = 0, jitter = 0.1, refine_epochs = 400),
    `jitter .1, 60 facets` = list(dropout = 0, jitter = 0.1, max_facets = 60),
    `jitter .12, five starts, less steep, 400 epochs` = list(dropout = 0, jitter = 0.12,
      starts = 5, lambda_end = 8, refine_epochs = 400)
  ),
  connect4 = list(
    `as it is` = list(),
    `200 facets` = list(max_facets = 200),
    `200 facets, weaker prior` = list(max_facets = 200, prior_weight = 0.5),
    `200 facets, dropout` = list(max_facets = 200, dropout = 0.1),
    `200 facets, steeper` = list(max_facets = 200, lambda_end = 8),
    `200 facets, depth 3` = list(max_facets = 200, max_depth = 3),
    `200 facets, five starts` = list(max_facets = 200, starts = 5),
    `400 facets` = list(max_facets = 400),
    `400 facets, stronger prior` = list(max_facets = 400, prior_weight = 2),
    `400 facets, three trees` = list(max_facets = 400, tree_starts = 3),
    `200 facets, a council` = list(max_facets = 200, council_trees = 6, council_rows = 6, council_move = 0.5)
  )
)
paper_changes$bace <- list(
  `as it is` = list(),
  `one tree` = list(tree_starts = 1),
  `no dropout` = list(dropout = 0),
  `6 facets` = list(max_facets = 6)
)
paper_changes$hiv <- list(
  `as it is` = list(),
  `6 facets` = list(max_facets = 6),
  `one facet` = list(max_facets = 1),
  `no dropout` = list(dropout = 0)
)
paper_changes$pdbbind_standin <- list(
  `as it is` = list(),
  `dropout .3` = list(dropout = 0.3),
  `prior 1` = list(prior_weight = 1),
  `20 facets` = list(max_facets = 20)
)
paper_changes$mnist <- list(
  `as it is` = list(),
  `one tree` = list(tree_starts = 1),
  `one tree, jitter .1` = list(tree_starts = 1, jitter = 0.1),
  `one tree, 60 facets` = list(tree_starts = 1, max_facets = 60),
  `a council` = list(tree_starts = 1, council_trees = 4, council_rows = 6, council_move = 0.2)
)
# Letter with at most 150 leaves is a choice of its own among these changes.
paper_changes$letter_150 <- paper_changes$letter
# Ten jittered trees teach one, which takes twenty times as long.
paper_changes$letter$`jitter .1, five starts, a council` <- list(dropout = 0, jitter = 0.1,
  starts = 5, council_trees = 10, council_rows = 24, council_move = 0.15)
paper_base$letter_150 <- utils::modifyList(paper_base$letter, list(max_leaves = 150))

paper_choice <- c(rings = "rounded, a_beta 20, c0 .005", letter = "jitter .1, five starts, a council",
  letter_150 = "jitter .12, five starts, less steep, 400 epochs", connect4 = "200 facets, a council",
  bace = "as it is", hiv = "as it is", pdbbind_standin = "20 facets",
  mnist = "a council")

paper_settings <- lapply(stats::setNames(nm = names(paper_base)), function(name) {
  change <- if (name %in% names(paper_choice)) paper_changes[[name]][[paper_choice[[name]]]]
  utils::modifyList(paper_base[[name]], as.list(change))
})
