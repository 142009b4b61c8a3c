test_that("all interfaces give the same tree", {
  d <- iris
  formula <- cpt(Species ~ ., d, control = quick(), seed = 1)
  same_fit(cpt(d[1:4], d$Species, control = quick(), seed = 1), formula)
  same_fit(cpt(as.matrix(d[1:4]), d$Species, control = quick(), seed = 1), formula)
  # a sparse matrix is summed in another order, so only the partition is the same
  sparse <- cpt(as(as.matrix(d[1:4]), "CsparseMatrix"), d$Species, control = quick(), seed = 1)
  expect_identical(sparse$where, formula$where)
  same_fit(cpt(formula = Species ~ ., data = d, control = quick(), seed = 1), formula)
  skip_if_not_installed("recipes")
  same_fit(cpt(recipes::recipe(Species ~ ., d), control = quick(), seed = 1), formula)
  same_fit(cpt(recipes::recipe(Species ~ ., d), d, control = quick(), seed = 1), formula)
})

test_that("tibble and data.table are safe", {
  d <- kinds()
  fit <- cpt(y ~ ., d, control = quick(), seed = 1)
  skip_if_not_installed("tibble")
  same_fit(cpt(y ~ ., tibble::as_tibble(d), control = quick(), seed = 1), fit)
  same_fit(cpt(tibble::as_tibble(d)[-1], d$y, control = quick(), seed = 1), fit)
  skip_if_not_installed("data.table")
  same_fit(cpt(y ~ ., data.table::as.data.table(d), control = quick(), seed = 1), fit)
})

test_that("other Matrix classes are accepted", {
  x <- as(as.matrix(iris[1:4]), "CsparseMatrix")
  fit <- cpt(x, iris$Species, control = quick(), seed = 1)
  same_fit(cpt(as(x, "TsparseMatrix"), iris$Species, control = quick(), seed = 1), fit)
})

test_that("settings go in directly, by control, or both", {
  fit <- cpt(Species ~ ., iris, max_depth = 0, seed = 1)
  expect_length(fit$tree$node, 1)
  both <- cpt(Species ~ ., iris, control = quick(), max_depth = 0, seed = 1)
  expect_identical(both$control$max_depth, 0)
  expect_identical(both$control$max_facets, 3)
})

test_that("weights and subset are looked up in the data, then around it", {
  d <- kinds()
  d$w <- rep(1:3, 10)
  fit <- function(...) cpt(y ~ num + int, d, control = quick(), seed = 1, ...)
  same_fit(fit(weights = w), fit(weights = d$w))
  v <- d$w
  same_fit(fit(weights = v), fit(weights = d$w))
  wrapper <- function(data, case) cpt(y ~ num + int, data, weights = case, control = quick(), seed = 1)
  same_fit(wrapper(d, d$w), fit(weights = w))
  same_fit(do.call(cpt, list(y ~ num + int, d, weights = d$w, control = quick(), seed = 1)), fit(weights = w))
  expect_identical(fit(subset = num > 1)$nobs, 20L)
  expect_identical(fit(weights = w, subset = num > 1)$nobs, 20L)
  formula <- local({
    hidden <- d$w
    y ~ num + int
  })
  same_fit(cpt(formula, d, weights = hidden, control = quick(), seed = 1), fit(weights = w))
})

test_that("weights taken from a column that `.` uses are pointed out", {
  d <- kinds()
  expect_snapshot(fit <- cpt(y ~ ., d, weights = num, control = quick(), seed = 1))
  expect_silent(cpt(y ~ . - num, d, weights = num, control = quick(), seed = 1))
})

test_that("a constant outcome gives a root and a warning", {
  d <- data.frame(y = "a", x = 1:30)
  expect_warning(fit <- cpt(y ~ x, d, seed = 1), class = "cpt_warning_outcome")
  expect_identical(fit$tree$node, 1L)
  expect_warning(fit <- cpt(y ~ x, transform(d, y = 3), seed = 1), class = "cpt_warning_outcome")
  expect_identical(fit$tree$node, 1L)
  expect_identical(unname(fit$residuals), rep(0, 30))
})

test_that("wrong calls say what to do", {
  d <- kinds()
  expect_snapshot(error = TRUE, {
    cpt()
    cpt(NULL)
    cpt(1:3, 1:3)
    cpt(as.list(d))
    cpt("y", d)
    cpt(d, y ~ num)
    cpt(d)
    cpt(d, "y")
    cpt(as.matrix(d["num"]))
    cpt(y ~ ., d, maxdepth = 4)
    cpt(y ~ ., d, NULL, NULL, "fail", NULL, cpt_control(), 1, 1, FALSE, 4)
    cpt(y ~ ., d, max_depth = 0.5)
    cpt(y ~ ., d, na_action = "impte")
    cpt(y ~ ., d, control = 4)
    cpt(y ~ ., d, seed = "a")
    cpt(y ~ ., d, threads = 0)
    cpt(y ~ ., d, verbose = 2)
    cpt(y ~ ., d, weights = nosuch)
    cpt(y ~ ., d, subset = nosuch > 1)
    cpt(y ~ ., d, weights = -num)
    cpt(y ~ ., d, weights = 1:3)
    cpt(y ~ ., d, weights = 0 * num)
    cpt(d[2:3], d$y, subset = 1:3)
  })
})

test_that("bad settings are told before the data is looked at", {
  expect_error(cpt(y ~ ., "no data", max_depth = -1), "max_depth", class = "cpt_error_argument")
})
