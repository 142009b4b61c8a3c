# Points around the rings of the paper, from numbers of our own.
ring_points <- function(n, from) {
  u <- stats::pnorm(noise_matrix(n, 2, from = from))
  d <- data.frame(x1 = 2 * u[, 1] - 1, x2 = 2 * u[, 2] - 1)
  radius <- sqrt(d$x1^2 + d$x2^2)
  d$y <- factor(ifelse(radius > 0.4 & radius < 0.8, "red", "blue"))
  d
}

test_that("a taught tree is the same on any number of threads, and holds outcomes", {
  d <- noisy_disc(300)
  control <- brisk(council_trees = 4, council_rows = 6)
  fit <- cpt(y ~ ., d, control = control, seed = 3, threads = 1)
  for (threads in 2:3) {
    expect_identical(cpt(y ~ ., d, control = control, seed = 3, threads = threads)$tree, fit$tree)
  }
  leaf <- tree_leaf(fit$tree) & fit$tree$n >= 7  # `min_leaf_obs`
  expect_gt(sum(leaf), 1)
  counts <- table(factor(fit$where, fit$tree$node[leaf]), d$y)
  expect_equal(fit$tree$value[leaf, ], counts, ignore_attr = TRUE)
  expect_identical(unname(fit$where), predict(fit, d, type = "node"))
  expect_identical(fit$tree$n[1], nrow(d))
  expect_false(identical(fit$tree, cpt(y ~ ., d, control = control, seed = 4)$tree))
  expect_false(identical(fit$tree, cpt(y ~ ., d, control = brisk(), seed = 3)$tree))
})

# Few rows, made rows far from them, and small leaves.
sparsely_reached <- function() {
  for (seed in 1:20) {
    d <- ring_points(60, seed)
    fit <- cpt(y ~ ., d, control = brisk(max_depth = 5, min_leaf_obs = 1, min_split_obs = 2,
      prior_weight = 0, council_trees = 4, council_rows = 24, council_move = 0.5), seed = seed)
    if (any(fit$tree$n == 0L)) return(fit)
  }
}

test_that("a leaf that no training row reaches predicts what the council says", {
  fit <- sparsely_reached()
  empty <- tree_leaf(fit$tree) & fit$tree$n == 0L
  expect_gt(sum(empty), 0)
  expect_silent(validate_cpt(fit))
  expect_true(all(rowSums(fit$tree$value[empty, , drop = FALSE]) > 0))
  far <- ring_points(20000, 77)
  there <- predict(fit, far, type = "node") %in% fit$tree$node[empty]
  expect_gt(sum(there), 0)
  prob <- predict(fit, far[there, ], type = "prob")
  expect_equal(rowSums(prob), rep(1, sum(there)), ignore_attr = TRUE)
  expect_false(anyNA(predict(fit, far)))
  # what reads a tree copes with it
  expect_match(paste(capture.output(print(fit)), collapse = "\n"), "\\b0\\b")
  expect_identical(sum(rules_match(cpt_rules(fit), far[there, ])), sum(there))
  expect_identical(nobs(fit), 60L)
  expect_s3_class(prune(fit, leaves = 2), "cpt")
})

test_that("a council helps where borders are fine", {
  fresh <- ring_points(3000, 50)
  right <- function(...) {
    mean(vapply(1:4, function(seed) {
      fit <- cpt(y ~ ., ring_points(250, seed), control = brisk(...), seed = seed)
      mean(predict(fit, fresh) == fresh$y)
    }, 0))
  }
  expect_gt(right(council_trees = 8), right() + 0.005)
})

test_that("a council of a regression keeps the outcome's units, also with linear leaves", {
  x <- noise_matrix(300, 3)
  d <- data.frame(x, y = x[, 1]^2 + x[, 2])
  control <- brisk(council_trees = 3, council_rows = 4)
  one <- cpt(y ~ ., d, control = control, seed = 1)
  scaled <- d
  scaled$y <- 1024 * d$y  # a power of two, which rounds nothing
  other <- cpt(y ~ ., scaled, control = control, seed = 1)
  expect_identical(partition(other$where), partition(one$where))
  expect_equal(predict(other, d), 1024 * predict(one, d))
  means <- tapply(d$y, one$where, mean)
  expect_equal(as.vector(means[as.character(one$where)]), predict(one, d))
  linear <- cpt(y ~ ., d, control = brisk(council_trees = 3, council_rows = 4, leaf = "linear"), seed = 1)
  expect_identical(linear$where, one$where)
  expect_lt(deviance(linear), deviance(one))
})

test_that("a linear leaf of few rows says what the council says", {
  seen <- 0
  for (seed in 1:8) {
    x <- noise_matrix(60, 2, from = seed)
    d <- data.frame(x, y = 100 + 10 * (rowSums(x^2) < 1) + 5 * (x[, 1] > 0.3))
    settings <- list(max_depth = 5, min_leaf_obs = 3, min_split_obs = 2, prior_weight = 0,
      council_trees = 3, council_rows = 12, council_move = 0.6)
    fit <- cpt(y ~ ., d, control = do.call(brisk, c(settings, leaf = "linear")), seed = seed)
    few <- which(tree_leaf(fit$tree) & fit$tree$n < 3L & fit$tree$n > 0L)
    rows <- fit$where %in% fit$tree$node[few]
    at <- match(fit$where[rows], fit$tree$node)
    expect_equal(unname(predict(fit, d)[rows]), fit$tree$value[at, 1])
    seen <- seen + sum(abs(d$y[rows] - fit$tree$value[at, 1]) > 0.1)
  }
  expect_gt(seen, 0)
})

test_that("sparse rows and a teacher go with a council", {
  d <- sparse_data(200)
  fit <- cpt(d$sparse, d$y, control = brisk(council_trees = 3, council_rows = 4), seed = 1)
  expect_identical(unname(fit$where), predict(fit, d$sparse, type = "node"))
  expect_identical(predict(fit, d$x), predict(fit, d$sparse))
  both <- brisk(council_trees = 3, council_rows = 4, teacher_trees = 30)
  taught <- cpt(d$sparse, d$y, control = both, seed = 1, threads = 1)
  expect_identical(cpt(d$sparse, d$y, control = both, seed = 1, threads = 3)$tree, taught$tree)
  expect_false(identical(taught$tree, fit$tree))
})

test_that("the trials of a search have no council", {
  d <- noisy_disc(400)
  plain <- cpt(y ~ ., d, seed = 1)
  fit <- cpt(y ~ ., d, seed = 1, council_trees = 2, council_rows = 2)
  expect_identical(fit$search, plain$search)
  expect_equal(fit$control$council_trees, 2)
})

test_that("data that are too large for a council are told", {
  mold <- list(x = matrix(0, 300, 4))
  control <- cpt_control(council_trees = 3, council_rows = 9)
  expect_snapshot(error = TRUE, check_council(control, mold, most = 11999))
  expect_error(check_council(control, mold, most = 11999), class = "cpt_error_data")
  expect_null(check_council(control, mold, most = 12000))
  expect_null(check_council(cpt_control(), mold, most = 1))
  # before anything is fitted
  long <- Matrix::sparseMatrix(i = 1:10, j = rep(1, 10), x = 1, dims = c(2.2e6, 1))
  expect_error(cpt(long, seq_len(2.2e6), council_trees = 1, council_rows = 1000, search = FALSE),
    class = "cpt_error_data")
  sparse <- list(x = Matrix::sparseMatrix(i = 1:10, j = rep(1, 10), x = 1, dims = c(1e6, 1)))
  expect_identical(council_size(9, sparse), c(rows = 1e7, cells = 100))
})
