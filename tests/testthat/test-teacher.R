test_that("a taught tree is the same on any number of threads, and holds outcomes", {
  d <- noisy_disc(300)
  fit <- cpt(y ~ ., d, control = brisk(teacher_trees = 40), seed = 3, threads = 1)
  for (threads in 2:3) {
    expect_identical(cpt(y ~ ., d, control = brisk(teacher_trees = 40), seed = 3, threads = threads)$tree,
      fit$tree)
  }
  leaf <- tree_leaf(fit$tree)
  counts <- table(factor(fit$where, fit$tree$node[leaf]), d$y)
  expect_equal(fit$tree$value[leaf, ], counts, ignore_attr = TRUE)
  expect_identical(unname(fit$where), predict(fit, d, type = "node"))
  expect_identical(sum(fit$tree$n[leaf]), nrow(d))
  expect_false(identical(fit$tree, cpt(y ~ ., d, control = brisk(teacher_trees = 40), seed = 4)$tree))
})

test_that("a teacher helps where outcomes are noisy", {
  fresh <- noisy_disc(2000, flip = 0, from = 50)
  right <- function(...) {
    mean(vapply(1:4, function(seed) {
      d <- noisy_disc(400, flip = 0.2, from = seed)
      fit <- cpt(y ~ ., d, control = brisk(max_depth = 4, ...), seed = seed)
      mean(predict(fit, fresh) == fresh$y)
    }, 0))
  }
  # a weak prior is enough with a teacher, and not without one
  taught <- right(teacher_trees = 100, prior_weight = 0.03)
  expect_gt(taught, right(teacher_trees = 0) + 0.01)
  expect_gt(taught, right(teacher_trees = 0, prior_weight = 0.03) + 0.05)
})

test_that("a teacher of a regression keeps the outcome's units", {
  x <- noise_matrix(400, 3)
  d <- data.frame(x, y = x[, 1]^2 + x[, 2])
  one <- cpt(y ~ ., d, control = brisk(teacher_trees = 40), seed = 1)
  d$y <- 1024 * d$y  # a power of two, which rounds nothing
  other <- cpt(y ~ ., d, control = brisk(teacher_trees = 40), seed = 1)
  expect_identical(partition(other$where), partition(one$where))
  expect_equal(predict(other, d), 1024 * predict(one, d))
  expect_equal(as.vector(tapply(d$y, other$where, mean)[as.character(other$where)]), predict(other, d))
})

test_that("dense and sparse columns are taught the same", {
  d <- sparse_data(300)
  dense <- cpt(d$x, d$y, control = brisk(teacher_trees = 40), seed = 2)
  sparse <- cpt(d$sparse, d$y, control = brisk(teacher_trees = 40), seed = 2)
  expect_identical(partition(sparse$where), partition(dense$where))
})

test_that("rows of weight 0 and held-out rows teach nothing", {
  d <- noisy_disc(300)
  weights <- rep(c(1, 1, 0), 100)
  fit <- cpt(y ~ ., d, weights = weights, control = brisk(teacher_trees = 40), seed = 1)
  d$y[weights == 0] <- rev(levels(d$y))[as.integer(d$y[weights == 0])]
  again <- cpt(y ~ ., d, weights = weights, control = brisk(teacher_trees = 40), seed = 1)
  expect_identical(again$tree, fit$tree)
})

test_that("data that are too large for a teacher are told", {
  mold <- list(x = matrix(0, 300, 4))
  expect_snapshot(error = TRUE, check_teacher(50, mold, most = 1000))
  expect_error(check_teacher(50, mold, most = 1000), class = "cpt_error_data")
  expect_null(check_teacher(50, mold, most = 1200))
  expect_null(check_teacher(0, mold, most = 1000))
  expect_true(teacher_can(mold))
})
