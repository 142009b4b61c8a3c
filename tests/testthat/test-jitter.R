test_that("a jittered tree is the same on any number of threads, and holds the rows as they are", {
  d <- noisy_disc(300)
  fit <- cpt(y ~ ., d, control = brisk(jitter = 0.1), seed = 3, threads = 1)
  for (threads in 2:3) {
    expect_identical(cpt(y ~ ., d, control = brisk(jitter = 0.1), seed = 3, threads = threads)$tree, fit$tree)
  }
  leaf <- tree_leaf(fit$tree)
  counts <- table(factor(fit$where, fit$tree$node[leaf]), d$y)
  expect_equal(fit$tree$value[leaf, ], counts, ignore_attr = TRUE)
  expect_identical(unname(fit$where), predict(fit, d, type = "node"))
  expect_false(identical(fit$tree, cpt(y ~ ., d, control = brisk(), seed = 3)$tree))
})

test_that("jitter helps where the outcome changes smoothly", {
  smooth <- function(n, from) {
    x <- noise_matrix(n, 5, from = from)
    data.frame(x, y = sin(2 * x[, 1]) + x[, 2] * x[, 3] + 0.3 * noise_matrix(n, 1, from = from + 500)[, 1])
  }
  fresh <- smooth(3000, 90)
  error <- function(jitter) {
    mean(vapply(1:3, function(seed) {
      fit <- cpt(y ~ ., smooth(1000, seed), search = FALSE, jitter = jitter, max_leaves = 16, seed = seed)
      mean((predict(fit, fresh) - fresh$y)^2)
    }, 0))
  }
  expect_lt(error(0.1), 0.92 * error(0))
})

test_that("units and the place of zero do not matter to jitter", {
  d <- noisy_disc(300)
  one <- cpt(y ~ ., d, control = brisk(jitter = 0.1), seed = 1)
  d[1:2] <- 1024 * d[1:2]  # a power of two, which rounds nothing
  expect_identical(partition(cpt(y ~ ., d, control = brisk(jitter = 0.1), seed = 1)$where), partition(one$where))
})

test_that("sparse rows are not jittered, and told so", {
  d <- sparse_data(100)
  expect_snapshot(error = TRUE, cpt(d$sparse, d$y, jitter = 0.1))
  expect_error(cpt(d$sparse, d$y, jitter = 0.1), class = "cpt_error_data")
  expect_s3_class(cpt(d$sparse, d$y, control = brisk(jitter = 0), seed = 1), "cpt")
})
