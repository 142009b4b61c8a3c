test_that("open settings are chosen, given ones are kept, and the choice is the best tried", {
  d <- noisy_disc(300)
  fit <- cpt(y ~ ., d, seed = 1, max_facets = 4, grow_epochs = 2, grow_min_steps = 30,
    refine_epochs = 2, refine_min_steps = 30)
  expect_false(any(vapply(fit$control, is.null, NA)))
  expect_s3_class(fit$control, "cpt_control")
  expect_identical(fit$control$max_facets, 4)
  expect_named(fit$search, c("recipe", "loss", "leaf_shrinkage", "leaves", "depth", "chosen"))
  expect_identical(fit$search$recipe, c("flexible", "taught"))
  expect_identical(fit$search$chosen, fit$search$loss == min(fit$search$loss))
  expect_identical(sum(fit$search$chosen), 1L)
  expect_identical(fit$control$max_leaves, 24)
  expect_lte(sum(fit$tree$left == 0), 24)
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
  is <- cbind(d$y == "blue", d$y == "red")[valid, ]
  expect_equal(got, weighted.mean(rowSums((p - is)^2), mold$weights[valid]))
  # much shrinkage: every leaf answers as the root does
  root <- rep(c(nodes$prob_blue[1], nodes$prob_red[1]), each = sum(valid))
  far <- judge_tree(mold, valid, list(tree = fit$tree, where = where), 1e12)
  expect_equal(far, weighted.mean(rowSums((root - is)^2), mold$weights[valid]), tolerance = 0.02)
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
  list(asked = unname(asked), found = found, fit = fit, mold = mold)
}

test_that("trials are light, and judged by rows that have no part in them", {
  got <- watched_search(400)
  expect_identical(got$found$search$recipe, c("flexible", "taught"))
  expect_length(got$asked, 2L)
  judges <- hold_out(got$mold, 1 / 3, 5)
  expect_equal(mean(judges), 1 / 3, tolerance = 0.01)
  for (i in seq_along(got$asked)) {
    one <- got$asked[[i]]
    expect_identical(one$seed, 5)
    expect_identical(one$weights, ifelse(judges, 0, got$mold$weights))
    expect_false(any(one$valid))
    expect_identical(one$control$max_leaves, 24)
    expect_true(all(unlist(one$control[names(search_effort(400))]) <= unlist(search_effort(400))))
    # grown as long as the tree that is kept: a recipe that is cut short loses unfairly
    recipe <- recipes[[c("flexible", "taught")[i]]]
    expect_identical(one$control[c("grow_epochs", "grow_min_steps")], recipe[c("grow_epochs", "grow_min_steps")])
    expect_identical(one$control$shrink_rounds, 0)
  }
  # All recipes gave the same tree, so the first is kept, with the best shrinkage.
  loss <- sapply(search_shrinkage, function(by) judge_tree(got$mold, judges, got$fit, by))
  expect_identical(got$found$search$loss, rep(min(loss), 2L))
  expect_gt(which.min(loss), 1L)
  kept <- got$found$control
  expect_identical(kept$leaf_shrinkage, search_shrinkage[which.min(loss)])
  for (name in setdiff(open_settings, "leaf_shrinkage")) {
    expect_identical(kept[[name]], recipes$flexible[[name]])
  }
  expect_identical(kept$validation, 0)
  expect_identical(kept$max_leaves, 24)
})

test_that("with many rows a tree without a teacher is pruned by held-out rows, in its trial as well", {
  got <- watched_search(search_many)
  kept <- got$found$control
  expect_identical(kept$validation, search_many_share)
  expect_true(kept$choose_size)
  expect_identical(kept$max_leaves, cpt_control()$max_leaves)
  held <- vapply(got$asked, function(one) mean(one$valid), 0)
  expect_equal(held, ifelse(names(recipes) == "taught", 0, 0.75 * search_many_share), tolerance = 1e-3)
  for (one in got$asked) {
    expect_true(all(one$weights[one$valid] > 0))
    expect_identical(one$control$shrink_rounds, 2)  # patient trials remove some facets
  }
})

test_that("rows that the search holds out come back to fill the leaves", {
  d <- noisy_disc(search_many)
  light <- cpt_control(max_depth = 2, max_facets = 3, starts = 1, grow_epochs = 1,
    grow_min_steps = 20, refine_epochs = 1, refine_min_steps = 10, teacher_trees = 0)
  fit <- cpt(y ~ ., d, control = light, seed = 1)
  expect_identical(fit$control$validation, search_many_share)
  leaf <- tree_leaf(fit$tree)
  expect_identical(sum(fit$tree$n[leaf]), nrow(d))
  counts <- table(factor(fit$where, fit$tree$node[leaf]), d$y)
  expect_equal(fit$tree$value[leaf, ], counts, ignore_attr = TRUE)
  held <- cpt(y ~ ., d, control = light, validation = 0.2, search = FALSE, seed = 1)
  expect_equal(held$tree$n[1L], 0.8 * nrow(d), tolerance = 1e-3)
})

test_that("the kept tree is bounded to be read, or with many rows and no teacher by held-out rows", {
  bound <- function(recipe, n, ...) bound_size(fill_open(cpt_control(...), recipes[[recipe]]), n)
  for (recipe in names(recipes)) {
    few <- bound(recipe, 500)
    expect_identical(few$max_leaves, 24)
    expect_identical(few[c("validation", "choose_size")], cpt_control()[c("validation", "choose_size")])
    expect_identical(bound(recipe, 9000)$max_leaves, 30)
    expect_identical(bound(recipe, 9000, max_leaves = 3)$max_leaves, 3)
  }
  many <- bound("flexible", 10000, max_leaves = 3)
  expect_identical(many$validation, 0.2)
  expect_true(many$choose_size)
  expect_identical(many$max_leaves, 3)
  expect_identical(bound("taught", 1e6)$max_leaves, 48)
  expect_identical(bound("taught", 1e6)$validation, 0)
})

test_that("a user who has decided about a teacher leaves one recipe", {
  d <- noisy_disc(100)
  tried <- function(...) {
    cpt(y ~ ., d, max_depth = 1, max_facets = 2, starts = 1, grow_min_steps = 20, refine_min_steps = 20,
      seed = 1, ...)$search$recipe
  }
  expect_identical(tried(), c("flexible", "taught"))
  expect_identical(tried(teacher_trees = 0), "flexible")
  expect_identical(tried(teacher_trees = 20), "taught")
  # also where nothing is tried
  alone <- cpt(y ~ ., d, max_depth = 1, teacher_trees = 20, search = FALSE, seed = 1)$control
  expect_identical(alone$prior_weight, recipes$taught$prior_weight)
})

test_that("jitter is tried on dense rows, if they are many", {
  light <- list(max_depth = 1, max_facets = 2, starts = 1, grow_epochs = 1, grow_min_steps = 5,
    refine_epochs = 1, refine_min_steps = 5, seed = 1)
  tried <- function(n, ..., x = noise_matrix(n, 3)) {
    fit <- do.call(cpt, c(list(x, x[, 1]^2), light, ...))
    list(recipe = fit$search$recipe, jitter = fit$control$jitter)
  }
  expect_identical(tried(search_patience)$recipe, names(recipes))
  expect_identical(tried(search_patience - 1)$recipe, c("flexible", "taught"))
  expect_identical(tried(search_patience, teacher_trees = 0)$recipe, c("flexible", "jittered"))
  # a user who has decided about jitter leaves the others
  given <- tried(search_patience, jitter = 0.2)
  expect_identical(given, list(recipe = c("flexible", "taught"), jitter = 0.2))
  sparse <- methods::as(noise_matrix(search_patience, 3), "CsparseMatrix")
  fit <- do.call(cpt, c(list(sparse, sparse[, 1]^2), light))
  expect_identical(fit$search$recipe, c("flexible", "taught"))
  expect_identical(fit$control$jitter, 0)
})

test_that("settings that leave only jitter open need no search on sparse rows, with a teacher or without", {
  d <- sparse_data(100)
  all <- recipes$taught
  all[c("teacher_trees", "grow_min_steps", "refine_min_steps")] <- c(20, 20, 20)
  all$jitter <- NULL
  for (trees in c(0, 20)) {
    all$teacher_trees <- trees
    fit <- do.call(cpt, c(list(d$sparse, d$y, seed = 1, search = FALSE), all))
    expect_identical(fit$control$jitter, 0)
    expect_identical(fit$control$teacher_trees, trees)
    expect_identical(fit$search, NULL)
  }
})

test_that("jitter is chosen where the outcome changes smoothly", {
  x <- noise_matrix(search_patience, 6)
  d <- data.frame(x, y = sin(2 * x[, 1]) + x[, 2] * x[, 3] + cos(x[, 4] + x[, 5]) +
    0.2 * noise_matrix(search_patience, 1, from = 40)[, 1])
  fit <- cpt(y ~ ., d, seed = 1)
  expect_identical(fit$search$recipe[fit$search$chosen], "jittered")
  expect_identical(fit$control$jitter, recipes$jittered$jitter)
})

test_that("noise is met by a teacher, a clear outcome is not", {
  noisy <- cpt(y ~ ., noisy_disc(500, flip = 0.25), seed = 1)
  expect_identical(noisy$search$recipe[noisy$search$chosen], "taught")
  expect_gt(noisy$control$teacher_trees, 0)
  x <- noise_matrix(400, 6)
  clear <- cpt(y ~ ., data.frame(x, y = abs(rowSums(x))), seed = 1)
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
