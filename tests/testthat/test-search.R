test_that("open settings are chosen, given ones are kept, and the choice is the best tried", {
  d <- noisy_disc(300)
  fit <- cpt(y ~ ., d, seed = 1, max_facets = 4, grow_epochs = 2, grow_min_steps = 30,
    refine_epochs = 2, refine_min_steps = 30)
  expect_false(any(vapply(fit$control, is.null, NA)))
  expect_s3_class(fit$control, "cpt_control")
  expect_identical(fit$control$max_facets, 4)
  expect_named(fit$search, c("recipe", "splits", "loss", "leaf_shrinkage", "leaves", "depth",
    "chosen"))
  expect_true(all(fit$search$splits %in% c(1, 3)) && 3 %in% fit$search$splits)
  expect_identical(fit$search$recipe, names(recipes))
  last <- fit$search[fit$search$splits == 3, ]
  expect_identical(last$chosen, last$loss == min(last$loss))
  expect_identical(sum(fit$search$chosen), 1L)
  # the same settings, given: the same tree, and nothing tried
  again <- cpt(y ~ ., d, seed = 1, control = fit$control)
  expect_null(again$search)
  expect_identical(again$tree, fit$tree)
  # and the same on another number of threads
  expect_identical(cpt(y ~ ., d, seed = 1, max_facets = 4, grow_epochs = 2, grow_min_steps = 30,
    refine_epochs = 2, refine_min_steps = 30, threads = 1)$tree, fit$tree)
})

test_that("the loss of a recipe is that of the rows it has not seen", {
  d <- noisy_disc(200)
  mold <- blueprint_mold_formula(y ~ ., d, NULL, NULL, "fail")
  mold$weights <- rep(c(1, 2), 100)
  valid <- hold_out(mold, 0.25, 3)
  fit <- cpt(y ~ ., d[!valid, ], weights = rep(c(1, 2), 100)[!valid], control = quick(), seed = 1)
  where <- integer(200)
  where[!valid] <- fit$where
  where[valid] <- predict(fit, d[valid, ], type = "node")
  got <- judge_tree(mold, valid, list(tree = fit$tree, where = where), 0)
  nodes <- as.data.frame(fit)
  node <- match(where[valid], nodes$node)
  p <- as.matrix(nodes[node, c("prob_blue", "prob_red")]) * nodes$weight[node]
  p <- (p + 0.5) / (nodes$weight[node] + 1)
  want <- -log(p[cbind(seq_along(node), as.integer(d$y)[valid])])
  expect_equal(got, weighted.mean(want, mold$weights[valid]))
  # much shrinkage: every leaf answers as the root does
  root <- -log(c(nodes$prob_blue[1], nodes$prob_red[1]))[as.integer(d$y)[valid]]
  far <- judge_tree(mold, valid, list(tree = fit$tree, where = where), 1e12)
  expect_equal(far, weighted.mean(root, mold$weights[valid]), tolerance = 0.02)
})

test_that("nothing is searched without need, or rows to judge by", {
  d <- noisy_disc(60)
  expect_null(cpt(y ~ ., d, search = FALSE, max_depth = 1, seed = 1)$search)
  expect_null(cpt(y ~ ., d, validation = 0.2, max_depth = 1, seed = 1)$search)
  expect_null(cpt(y ~ ., d[1:30, ], max_depth = 1, seed = 1)$search)
  flat <- suppressWarnings(cpt(d[1:4], rep(1, 60), seed = 1))
  expect_null(flat$search)
  expect_identical(cpt(y ~ ., d, search = FALSE, max_depth = 1, seed = 1)$control$max_facets,
    recipes$flexible$max_facets)
})

# What search_settings() asks of its `run_all`, which answers with a tree that is too bold:
# grown on 60 rows, judged on all.
watched_search <- function(n) {
  d <- noisy_disc(n)
  bold <- cpt(y ~ ., d[1:60, ], control = quick(min_leaf_obs = 1, min_split_obs = 2), max_depth = 5,
    seed = 1)
  fit <- list(tree = bold$tree, where = predict(bold, d, type = "node"))
  asked <- list()
  run_all <- function(mold, cases) {
    asked <<- c(asked, cases)
    lapply(cases, function(case) fit)
  }
  mold <- blueprint_mold_formula(y ~ ., d, NULL, NULL, "fail")
  found <- search_settings(mold, cpt_control(), 4, run_all)
  list(asked = asked, found = found, fit = fit, mold = mold)
}

test_that("trials are light, held to other rows, and what they chose is used", {
  got <- watched_search(400)
  expect_length(got$asked, length(recipes) + 4L)
  for (one in got$asked) {
    expect_identical(one$valid, hold_out(got$mold, search_share, one$seed))
    expect_identical(one$control$validation, search_share)
    expect_true(one$control$choose_size)
    expect_true(all(unlist(one$control[names(search_effort)]) <= unlist(search_effort)))
  }
  expect_identical(vapply(got$asked, `[[`, 0, "seed"), 4 + c(rep(1, length(recipes)), 2, 2, 3, 3))
  # All recipes gave the same tree, so the first is kept, with the best shrinkage of three splits.
  loss <- sapply(search_shrinkage, function(by) {
    mean(sapply(5:7, function(seed) judge_tree(got$mold, hold_out(got$mold, 0.25, seed), got$fit, by)))
  })
  expect_gt(which.min(loss), 1L)
  kept <- got$found$control
  expect_identical(kept$leaf_shrinkage, search_shrinkage[which.min(loss)])
  expect_identical(kept$max_facets, recipes$flexible$max_facets)
  expect_identical(kept$starts, recipes$flexible$starts)
  expect_identical(kept$validation, 0)
  expect_identical(kept$max_leaves, ceiling(sum(got$fit$tree$left == 0L) / 0.75))
})

test_that("the kept tree of many rows is pruned by held-out rows", {
  kept <- watched_search(search_many)$found$control
  expect_identical(kept$validation, search_many_share)
  expect_true(kept$choose_size)
  expect_identical(kept$max_leaves, cpt_control()$max_leaves)
})

test_that("rows that the search holds out come back to fill the leaves", {
  d <- noisy_disc(search_many)
  light <- cpt_control(max_depth = 2, max_facets = 3, starts = 1, grow_epochs = 1,
    grow_min_steps = 20, refine_epochs = 1, refine_min_steps = 10)
  fit <- cpt(y ~ ., d, control = light, seed = 1)
  expect_identical(fit$control$validation, search_many_share)
  leaf <- tree_leaf(fit$tree)
  expect_identical(sum(fit$tree$n[leaf]), nrow(d))
  counts <- table(factor(fit$where, fit$tree$node[leaf]), d$y)
  expect_equal(fit$tree$value[leaf, ], counts, ignore_attr = TRUE)
  held <- cpt(y ~ ., d, control = light, validation = 0.2, search = FALSE, seed = 1)
  expect_equal(held$tree$n[1L], 0.8 * nrow(d), tolerance = 1e-3)
})

test_that("the size of the kept tree is bounded by the trial, or with many rows by held-out rows", {
  bound <- function(n, ...) {
    bound_size(fill_open(cpt_control(...), recipes$flexible), n, leaves = 6, depth = 3)
  }
  few <- bound(9999)
  expect_identical(few$max_leaves, 8)
  expect_identical(few$max_depth, 3)
  expect_identical(few[c("validation", "choose_size")], cpt_control()[c("validation", "choose_size")])
  expect_identical(bound(9999, max_leaves = 3)$max_leaves, 3)
  many <- bound(10000, max_leaves = 3)
  expect_identical(many$validation, 0.2)
  expect_true(many$choose_size)
  expect_identical(many$max_leaves, 3)
})

test_that("a taught tree is bounded to be read, not by what the trial kept", {
  bound <- function(n, ...) {
    bound_size(fill_open(cpt_control(...), recipes$taught), n, leaves = 6, depth = 3)
  }
  expect_identical(bound(500)$max_leaves, 24)
  expect_identical(bound(9000)$max_leaves, 30)
  expect_identical(bound(1e6)$max_leaves, 48)
  expect_identical(bound(1e6, max_leaves = 3)$max_leaves, 3)
  expect_identical(bound(1e6)$max_depth, recipes$taught$max_depth)
  expect_identical(bound(1e6)$validation, 0)
})

test_that("noise is met by a teacher, a clear outcome is not", {
  noisy <- cpt(y ~ ., noisy_disc(500, flip = 0.25), seed = 1)
  expect_identical(noisy$search$recipe[noisy$search$chosen], "taught")
  expect_gt(noisy$control$teacher_trees, 0)
  clear <- noise_matrix(1500, 2)
  clear <- data.frame(clear, y = as.vector(clear %*% c(2, -1)))
  clear <- cpt(y ~ ., clear, seed = 1)
  expect_identical(clear$search$recipe[clear$search$chosen], "flexible")
  expect_identical(clear$control$teacher_trees, 0)
})

test_that("many rows are sampled for the search, by the seed alone", {
  mold <- list(x = matrix(1:20, 10), y = 1:10, weights = rep(1, 10))
  some <- sample_mold(mold, 4, 5)
  expect_length(some$y, 4)
  expect_identical(some$x, mold$x[some$y, ])
  expect_identical(some, sample_mold(mold, 4, 5))
  expect_false(identical(some, sample_mold(mold, 4, 6)))
})

test_that("a recipe that is far behind is not judged again", {
  tried <- data.frame(trial = rep(1:3, each = 2), split = 1, leaf_shrinkage = c(0, 10),
    loss = c(3, 2, 9, 2.4, 2.2, 5))
  expect_identical(best_two(tried), c(1L, 3L))
  tried$loss[5] <- 2.4
  tried$loss[4] <- 2.3
  expect_identical(best_two(tried), c(1L, 2L))
  tried$loss[3:6] <- 2.6
  expect_identical(best_two(tried), 1L)
  expect_identical(best_two(tried[1:2, ]), 1L)
})
