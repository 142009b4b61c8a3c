# The limits a user sets are kept on noisy data, whatever the seed; rows, leaves and
# evidence agree with each other; trees without a split work everywhere.

# Limits -------------------------------------------------------------------------

test_that("depth, leaves and node sizes stay within their limits", {
  d <- noisy_disc(300, flip = 0.3)
  r <- d
  r$y <- d$x1 + steady(300, 0.9)
  most <- 0
  for (seed in 1:4) for (data in list(d, r)) {
    fit <- cpt(y ~ ., data, control = brisk(max_depth = 4, max_leaves = 7, min_leaf_obs = 12,
      min_split_obs = 50, min_gain = 0), seed = seed)
    nodes <- as.data.frame(fit)
    most <- max(most, sum(nodes$is_leaf))
    expect_lte(max(nodes$depth), 4)
    expect_lte(sum(nodes$is_leaf), 7)
    expect_gte(min(nodes$weight[nodes$is_leaf]), 12)
    expect_true(all(nodes$weight[!nodes$is_leaf] >= 50))
    expect_identical(sum(nodes$n[nodes$is_leaf]), 300L)
  }
  expect_gt(most, 4)
})

test_that("a node that joint training has made too small to split is a leaf", {
  for (seed in c(12, 26, 102)) {
    d <- noisy_disc(300, flip = 0.3, from = seed / 121)
    fit <- cpt(y ~ ., d, control = brisk(max_depth = 5, min_leaf_obs = 12, min_split_obs = 60,
      min_gain = 0, lambda_start = 0.2), seed = seed)
    expect_true(all(fit$tree$weight[fit$tree$left > 0] >= 60))
  }
})

test_that("sizes are counted in weight, not in rows", {
  d <- noisy_disc(200, flip = 0.3)
  control <- brisk(min_leaf_obs = 3, min_split_obs = 6)
  fit <- cpt(y ~ ., d, weights = rep(0.1, 200), control = control, seed = 1)
  expect_gte(min(leaf_table(fit)$weight), 3 - 1e-9)
  expect_gte(min(leaf_table(fit)$n), 30)
  none <- cpt(y ~ ., d, weights = rep(0.01, 200), control = brisk(), seed = 1)
  expect_length(none$tree$node, 1)
})

test_that("each limit binds on its own", {
  d <- noisy_disc(300, flip = 0.3)
  grow <- function(...) {
    control <- list(min_gain = 0, min_leaf_obs = 2, min_split_obs = 4, prior_weight = 0)
    given <- list(...)
    control[names(given)] <- given
    as.data.frame(cpt(y ~ ., d, control = do.call(brisk, control), seed = 1))
  }
  free <- nrow(grow())
  expect_gt(free, 7)
  expect_lte(sum(grow(max_leaves = 3)$is_leaf), 3)
  expect_identical(max(grow(max_depth = 1)$depth), 1L)
  expect_lt(nrow(grow(min_leaf_obs = 80)), free)
  expect_lt(nrow(grow(min_split_obs = 200)), free)
  expect_lt(nrow(grow(min_gain = 0.1)), free)
})

# Agreement ----------------------------------------------------------------------

test_that("leaves, counts, classes and evidence agree with each other", {
  for (seed in 1:3) {
    d <- noisy_disc(250, from = seed / 10)
    w <- rep(c(1, 0.5, 2), length.out = 250)
    fit <- cpt(y ~ ., d, weights = w, control = brisk(validation = if (seed == 2) 0.2 else 0),
      seed = seed)
    x <- as.matrix(d[1:4])
    node <- predict(fit, d, type = "node")
    expect_identical(fit$where, node)
    prob <- predict(fit, d, type = "prob")
    expect_equal(rowSums(prob), rep(1, 250))
    expect_identical(as.character(predict(fit, d)), colnames(prob)[max.col(prob, "first")])
    if (seed != 2) {
      leaf <- leaf_table(fit)
      at <- factor(node, leaf$node)
      expect_identical(as.vector(table(at)), leaf$n)
      expect_equal(as.vector(tapply(w, at, sum)), leaf$weight)
      counts <- as.matrix(stats::xtabs(w ~ at + d$y))
      shares <- as.matrix(leaf[paste0("prob_", levels(d$y))])
      expect_equal(counts / rowSums(counts), shares, ignore_attr = TRUE)
    }
    path <- predict(fit, d, type = "path")
    for (i in which(fit$tree$left > 0)) {
      here <- which(path[, fit$tree$depth[i] + 1L] == fit$tree$node[i])
      out <- node_evidence(fit, i, x[here, , drop = FALSE]) > fit$tree$threshold[i]
      child <- path[here, fit$tree$depth[i] + 2L]
      expect_identical(out, unname(child == 2L * fit$tree$node[i] + 1L))
    }
  }
})

test_that("regression leaves hold weighted means and sums of squares", {
  x <- noise_matrix(250, 3)
  y <- x[, 1]^2 + x[, 2] + steady(250, 0.6) / 3
  w <- rep(c(1, 3), length.out = 250)
  fit <- cpt(x, y, weights = w, control = brisk(), seed = 1)
  leaf <- leaf_table(fit)
  mean <- tapply(w * y, fit$where, sum) / tapply(w, fit$where, sum)
  expect_gt(nrow(leaf), 2)
  expect_equal(leaf$prediction, as.vector(mean[as.character(leaf$node)]))
  off <- y - mean[as.character(fit$where)]
  squares <- tapply(w * off^2, fit$where, sum)
  expect_equal(leaf$loss, as.vector(squares[as.character(leaf$node)]))
  expect_equal(predict(fit, x), y - residuals(fit))
})

# Held-out rows and facets -------------------------------------------------------

# Ninety held-out rows of noise prefer some split by chance now and then, so the
# seeds are counted.
test_that("a size chosen on held-out rows of noise is the root alone, mostly", {
  roots <- 0
  free_leaves <- 0
  for (seed in 1:12) {
    x <- noise_matrix(300, 5, seed / 7)
    y <- factor(c("a", "b")[1 + (order((seq_len(300) * 0.3247179572447458 * seed) %% 1) %% 2)])
    fit <- cpt(x, y, control = brisk(max_depth = 4, validation = 0.3, choose_size = TRUE),
      seed = seed)
    roots <- roots + (max(fit$tree$depth) == 0)
    free <- cpt(x, y, control = brisk(max_depth = 4, validation = 0.3), seed = seed)
    free_leaves <- free_leaves + sum(free$tree$left == 0)
    expect_lte(sum(fit$tree$left == 0), sum(free$tree$left == 0))
    grown <- fit$history[fit$history$stage == "grow", ]
    expect_false(anyNA(grown$valid_loss))
    expect_lte(grown$epoch[which.min(grown$valid_loss)], 1L)
  }
  expect_gte(roots, 9)
  expect_gt(free_leaves, 24)
})

test_that("a depth that pays on held-out rows is kept", {
  fit <- cpt(class ~ ., rings, control = brisk(max_depth = 3, max_facets = 12, validation = 0.3,
    choose_size = TRUE), seed = 1)
  expect_gte(max(fit$tree$depth), 2L)
})

test_that("the history has the loss of held-out rows, and only then", {
  d <- noisy_disc(200)
  held <- cpt(y ~ ., d, control = brisk(validation = 0.25), seed = 1)$history
  free <- cpt(y ~ ., d, control = brisk(), seed = 1)$history
  expect_true(all(is.na(free$valid_loss)))
  expect_true(any(is.finite(held$valid_loss[held$stage == "refine"])))
  expect_identical(is.na(held$valid_loss), is.na(held$hard_loss))
  expect_true(all(c("grow", "refine") %in% free$stage))
  expect_true(all(is.finite(free$loss)))
})

test_that("held-out rows do not fill the leaves", {
  d <- noisy_disc(200)
  fit <- cpt(y ~ ., d, control = brisk(validation = 0.25), seed = 1)
  expect_identical(fit$tree$n[1], 150L)
  expect_length(fit$where, 200)
})

test_that("a facet tolerance never leaves more facets", {
  facets <- vapply(1:4, function(seed) {
    d <- noisy_disc(300, flip = 0.05, from = seed / 10)
    vapply(c(0, 0.02, 0.1), function(tolerance) {
      sum(cpt(y ~ ., d, control = brisk(max_depth = 1, max_facets = 15, prior_weight = 0,
        facet_tolerance = tolerance), seed = seed)$tree$facets)
    }, 1L)
  }, integer(3))
  expect_true(all(facets[2, ] <= facets[1, ]))
  expect_true(all(facets[3, ] <= facets[2, ]))
  expect_lt(sum(facets[3, ]), sum(facets[1, ]))
})

test_that("at tolerance 0 removing facets moves no row", {
  d <- noisy_disc(300)
  fit <- cpt(y ~ ., d, control = brisk(max_depth = 1, max_facets = 15, prior_weight = 0), seed = 1)
  loose <- cpt(y ~ ., d, control = brisk(max_depth = 1, max_facets = 15, prior_weight = 0,
    facet_tolerance = 0.1), seed = 1)
  expect_lt(fit$tree$facets[1], 15L)
  expect_gt(fit$tree$facets[1], 0L)
  expect_lte(mean(fit$where != loose$where), 0.1)
})

# Trees without a split ----------------------------------------------------------

expect_root_works <- function(fit, data) {
  n <- nrow(data)
  expect_identical(fit$tree$node, 1L)
  expect_identical(unname(fit$where), rep(1L, n))
  if (fit$task == "classification") {
    prob <- predict(fit, data, type = "prob")
    expect_identical(dim(prob), c(n, length(levels(fit))))
    expect_equal(unname(rowSums(prob)), rep(1, n))
    expect_identical(predict(fit, data, type = "prob", soft = TRUE), prob)
    expect_identical(levels(predict(fit, data)), levels(fit))
    expect_identical(predict(fit, data, type = "class"), predict(fit, data, type = "response"))
  } else {
    expect_identical(unname(predict(fit, data)), rep(fit$tree$value[1], n))
    expect_identical(predict(fit, data, soft = TRUE), predict(fit, data))
  }
  expect_identical(unname(predict(fit, data, type = "node")), rep(1L, n))
  expect_identical(dim(predict(fit, data, type = "path")), c(n, 1L))
  expect_length(predict(fit, data[0, ], type = "node"), 0)
  expect_length(coef(fit), 0)
  expect_identical(nrow(as.data.frame(fit)), 1L)
  expect_identical(nrow(cpt_sequence(fit)), 1L)
  expect_identical(prune(fit, depth = 0)$tree, fit$tree)
  expect_output(print(fit))
  expect_output(print(summary(fit)))
  expect_no_error(on_page(plot(fit)))
  expect_no_error(on_page(plot(fit, type = "regions", vars = c("x1", "x2"), data = data)))
  expect_length(residuals(fit), n)
  expect_length(deviance(fit), 1)
}

test_that("a tree of max_depth = 0 or 1 leaf works everywhere", {
  d <- noisy_disc(60)
  expect_root_works(cpt(y ~ ., d, max_depth = 0, seed = 1), d)
  expect_root_works(cpt(y ~ ., d, control = brisk(max_leaves = 1), seed = 1), d)
  fit <- cpt(y ~ ., d, max_depth = 0, seed = 1)
  expect_equal(predict(fit, d, type = "prob")[1, ], c(table(d$y)) / 60)
  d$y <- d$x1
  expect_root_works(cpt(y ~ ., d, max_depth = 0, seed = 1), d)
})

test_that("a constant outcome is warned about and works everywhere", {
  d <- noisy_disc(60)
  d$y <- factor("red", c("red", "blue"))
  expect_warning(fit <- cpt(y ~ ., d, seed = 1), class = "cpt_warning")
  expect_root_works(fit, d)
  d$y <- 4.5
  expect_warning(fit <- cpt(y ~ ., d, seed = 1), class = "cpt_warning")
  expect_root_works(fit, d)
  expect_identical(unname(predict(fit, d))[1], 4.5)
})

test_that("too few rows, or nothing to split on, give one leaf that works everywhere", {
  d <- noisy_disc(10)
  expect_root_works(cpt(y ~ ., d, seed = 1), d)
  d <- noisy_disc(60)
  d$y <- factor(rep(c("a", "b"), 30))
  d[1:4] <- 1
  expect_root_works(suppressWarnings(cpt(y ~ ., d, seed = 1)), d)
  d <- noisy_disc(60)
  expect_root_works(cpt(y ~ ., d, min_gain = 1, seed = 1), d)
  expect_root_works(cpt(y ~ ., d, min_leaf_obs = 31, seed = 1), d)
})
