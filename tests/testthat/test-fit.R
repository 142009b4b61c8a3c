test_that("the object has the documented parts", {
  fit <- cpt(Species ~ ., iris, control = quick(), seed = 3)
  expect_s3_class(fit, "cpt", exact = TRUE)
  expect_named(fit, c("call", "task", "outcome", "levels", "blueprint", "predictors", "tree", "where",
    "residuals", "class_weights", "control", "search", "history", "seed", "nobs", "na", "time", "version"))
  expect_identical(fit$task, "classification")
  expect_identical(fit$outcome, "Species")
  expect_identical(fit$levels, levels(iris$Species))
  expect_identical(fit$seed, 3)
  expect_identical(fit$nobs, 150L)
  expect_identical(fit$na, list(action = "fail", omitted = integer()))
  expect_identical(fit$version, as.character(utils::packageVersion("cptree")))
  expect_s3_class(fit$history, "data.frame")
  expect_true(all(c("stage", "epoch", "lambda", "loss", "hard_loss", "valid_loss") %in% names(fit$history)))
  expect_true(all(fit$where %in% fit$tree$node[fit$tree$left == 0]))
  expect_null(names(fit$where))
})

test_that("residuals follow from the leaves", {
  fit <- cpt(Species ~ ., iris, control = quick(), seed = 3)
  leaf <- match(fit$where, fit$tree$node)
  class <- max.col(fit$tree$value, "first")[leaf]
  expect_identical(fit$residuals, as.double(class != as.integer(iris$Species)))
  fit <- cpt(dist ~ speed, cars, control = quick(), seed = 3)
  leaf <- match(fit$where, fit$tree$node)
  expect_identical(fit$residuals, cars$dist - fit$tree$value[leaf, 1])
  expect_equal(ave(cars$dist, fit$where) + fit$residuals, cars$dist)
})

test_that("rows keep their names, also after rows were left out", {
  fit <- cpt(mpg ~ wt + hp, mtcars, control = quick(), seed = 1)
  expect_named(fit$where, row.names(mtcars))
  expect_named(fit$residuals, row.names(mtcars))
  d <- mtcars
  d$wt[2] <- NA
  fit <- suppressMessages(cpt(mpg ~ wt + hp, d, na_action = "omit", subset = -1, control = quick(), seed = 1))
  expect_named(fit$where, row.names(mtcars)[-(1:2)])
  expect_identical(fit$na$omitted, 2L)
  fit <- cpt(as.matrix(mtcars[2:4]), mtcars$mpg, control = quick(), seed = 1)
  expect_named(fit$where, row.names(mtcars))
})

test_that("the object holds no data, environment, pointer or function", {
  make <- function(n) {
    big <- rnorm(1e5)
    d <- data.frame(y = rep(c("a", "b"), n / 2), x = seq_len(n), z = sin(seq_len(n)))
    cpt(y ~ x + log(x + 1) + z, d, control = quick(), seed = 1)
  }
  fit <- make(200)
  expect_length(foreign_parts(fit), 0)
  expect_lt(length(serialize(fit, NULL)), 3e4)
  x <- cpt(as.matrix(iris[1:4]), iris$Species, control = quick(), seed = 1)
  expect_length(foreign_parts(x), 0)
})

test_that("the call never holds the data", {
  f <- function(...) cpt(...)$call
  expect_identical(cpt(dist ~ speed, cars, max_depth = 0, seed = 1)$call,
    quote(cpt(formula = dist ~ speed, data = cars, seed = 1, max_depth = 0)))
  call <- do.call(cpt, list(dist ~ speed, cars, weights = cars$speed, max_depth = 0, seed = 1))$call
  expect_identical(call, quote(cpt(formula = dist ~ speed, data = data, weights = weights,
    seed = 1, max_depth = 0)))
  expect_null(attributes(call$formula))
  call <- do.call("cpt", list(x = cars["speed"], y = cars$dist, max_depth = 0))$call
  expect_identical(call, quote(cpt(x = x, y = y, max_depth = 0)))
  expect_identical(bare_call(quote(cptree::cpt(formula = y ~ a, data = d)))[[1]], quote(cpt))
})

test_that("a seed gives the same tree, leaves R's stream alone, and set.seed() works", {
  set.seed(5)
  before <- .Random.seed
  a <- cpt(Species ~ ., iris, control = quick(validation = 0.2), seed = 11)
  expect_identical(.Random.seed, before)
  same_fit(cpt(Species ~ ., iris, control = quick(validation = 0.2), seed = 11), a)
  set.seed(5)
  b <- cpt(Species ~ ., iris, control = quick())
  set.seed(5)
  c <- cpt(Species ~ ., iris, control = quick())
  same_fit(b, c)
  expect_identical(b$seed, c$seed)
  same_fit(cpt(Species ~ ., iris, control = quick(), seed = b$seed), b)
})

test_that("the number of threads does not change the tree", {
  a <- cpt(Species ~ ., iris, control = quick(), seed = 1, threads = 1)
  same_fit(cpt(Species ~ ., iris, control = quick(), seed = 1, threads = 2), a)
})

test_that("a weight of 0 is a row that is not there", {
  d <- kinds()
  d$num[3] <- -99
  w <- replace(rep(1, 30), 3, 0)
  a <- cpt(y ~ num, d, weights = w, max_depth = 0, seed = 1)
  b <- cpt(y ~ num, d[-3, ], max_depth = 0, seed = 1)
  expect_equal(a$tree$value, b$tree$value)
  expect_equal(a$tree$weight, b$tree$weight)
  expect_identical(a$nobs, 30L)
})

# Held-out rows ---------------------------------------------------------------------

held <- function(y, share, seed = 1, weights = rep(1, length(y)), task = "classification") {
  hold_out(list(y = y, weights = weights, task = task), share, seed)
}

test_that("the held-out share is kept in every class", {
  y <- rep(0:2, c(100, 50, 10))
  valid <- held(y, 0.2)
  expect_identical(as.vector(table(y[valid])), c(20L, 10L, 2L))
  expect_identical(sum(held(sin(1:50), 0.3, task = "regression")), 15L)
  expect_false(any(held(y, 0)))
})

test_that("held-out rows depend on the seed and on nothing else", {
  y <- rep(0:1, 100)
  before <- if (exists(".Random.seed", globalenv())) .Random.seed
  expect_identical(held(y, 0.25, 7), held(y, 0.25, 7))
  expect_false(identical(held(y, 0.25, 7), held(y, 0.25, 8)))
  expect_identical(if (exists(".Random.seed", globalenv())) .Random.seed, before)
  # the same on every machine: exact arithmetic in doubles
  expect_identical(which(held(rep(0, 10), 0.3, 1)), which(held(rep(0, 10), 0.3, 1)))
  expect_snapshot({
    random_keys(1, 4)
    random_keys(2^53, 2)
    which(held(rep(0:1, 10), 0.3, 42))
  })
})

test_that("keys look random: no pattern by row or by neighbouring seed", {
  k <- random_keys(1, 2000) / 2147483563
  expect_gt(stats::ks.test(k, "punif")$p.value, 0.001)
  expect_lt(abs(cor(k[-1], k[-2000])), 0.1)
  expect_lt(abs(cor(k, random_keys(2, 2000))), 0.1)
  expect_true(all(k >= 0 & k < 1))
  expect_identical(anyDuplicated(k), 0L)
})

test_that("a class is never held out whole, rows of weight 0 never", {
  expect_identical(sum(held(c(0, 0, 0, 0, 1), 0.5)), 2L)
  expect_false(held(c(0, 0, 0, 0, 1), 0.5)[5])
  valid <- held(rep(0, 20), 0.5, weights = rep(0:1, 10))
  expect_false(any(valid[seq(1, 19, 2)]))
  expect_identical(sum(valid), 5L)
  expect_snapshot(error = TRUE, held(rep(0:1, 5), 0.05))
})

# Engine and progress -----------------------------------------------------------------

test_that("an error of the engine arrives with its cause", {
  bad <- list(x = matrix(1, 2, 1), y = 1, weights = 1, task = "regression")
  cases <- list(fit_case(bad, cpt_control(), 1))
  e <- tryCatch(run_engine(bad, cases, 1, FALSE), error = identity)
  expect_s3_class(e, "cpt_error_engine")
  expect_s3_class(e, "cpt_error")
  expect_s3_class(e$parent, "error")
  expect_match(conditionMessage(e), "could not be fitted")
})

test_that("the text of the progress bar", {
  expect_identical(progress_text("grow", 3, 20, 0.51234567), "grow 3/20, loss 0.5123")
  expect_identical(progress_text("finish", 1, 1, NA), "finish 1/1")
})

test_that("the progress bar can be updated, ends with its work and is silent if asked", {
  cli::cli_progress_cleanup()
  answer <- suppressMessages(with_progress(TRUE, function(tick) {
    for (i in 0:9) tick("grow", i, 10, 1 / (i + 1), i / 10)
    "done"
  }))
  expect_identical(answer, "done")
  expect_identical(with_progress(FALSE, is.null), TRUE)
  expect_identical(cli::cli_progress_num(), 0L)
  # An interrupt stays one, whatever the state of the bar, and so does an error.
  ended <- function(expr) tryCatch(expr, interrupt = function(e) "interrupt", error = conditionMessage)
  expect_identical(ended(with_progress(TRUE, function(tick) {
    cli::cli_progress_cleanup()
    rlang::interrupt()
  })), "interrupt")
  expect_identical(ended(with_progress(TRUE, function(tick) stop("of the work"))), "of the work")
  expect_identical(cli::cli_progress_num(), 0L)
  expect_silent(cpt(Species ~ ., iris, control = quick(), seed = 1, verbose = FALSE))
  a <- suppressMessages(cpt(Species ~ ., iris, control = quick(), seed = 1, verbose = TRUE))
  same_fit(cpt(Species ~ ., iris, control = quick(), seed = 1, verbose = FALSE), a)
})

test_that("the fit keeps mean, sd, range and kind of every coded column", {
  data <- data.frame(y = c(iris$Sepal.Length, 1e6), iris[c(1:150, 1), -1])
  data$count <- rep(c(2, 5, 9, 2), length.out = 151)
  w <- rep(c(1, 2, 0), length.out = 151)
  w[151] <- 0
  fit <- cpt(y ~ ., data, weights = w, max_depth = 1, grow_epochs = 1, refine_epochs = 0, seed = 1)
  x <- cbind(model.matrix(~ . - y - Species, data)[, -1], model.matrix(~ Species - 1, data))
  x <- x[, fit$predictors$name]
  mean <- colSums(w * x) / sum(w)
  expect_equal(fit$predictors$mean, unname(mean))
  expect_equal(fit$predictors$sd, unname(sqrt(colSums(w * sweep(x, 2, mean)^2) / sum(w))))
  expect_equal(fit$predictors$min, unname(apply(x[w > 0, ], 2, min)))
  expect_equal(fit$predictors$max, unname(apply(x[w > 0, ], 2, max)))
  expect_equal(fit$predictors$whole, unname(apply(x, 2, function(v) all(v == round(v)))))

  sparse <- Matrix::Matrix(x, sparse = TRUE)
  again <- cpt(sparse, data$y, weights = w, max_depth = 1, grow_epochs = 1, refine_epochs = 0, seed = 1)
  expect_equal(again$predictors, fit$predictors)
})
