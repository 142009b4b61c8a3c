# Importance: shares worked out by hand, and permutation held against its expectation,
# which is a mean over all pairs of rows.

test_that("the share of evidence is gain times coefficient times spread", {
  fit <- hand_cars()
  nodes <- as.data.frame(fit)
  gain <- nodes$gain[match(1:2, nodes$node)]
  sd <- fit$predictors$sd
  # Node 1 has one facet, on wt; that of node 2 has coefficients -1 and -0.01.
  hp <- gain[2] * 0.01 * sd[2] / (sd[1] + 0.01 * sd[2])
  out <- importance(fit)
  expect_s3_class(out, c("cpt_importance", "data.frame"), exact = TRUE)
  expect_identical(out$variable, c("wt", "hp"))
  expect_equal(out$importance, c(sum(gain) - hp, hp) / sum(gain))
  expect_identical(attr(out, "type"), "evidence")
  # Without the spread of the columns, as in older models, coefficients count alone.
  fit$predictors <- NULL
  expect_equal(importance(fit)$importance[2], gain[2] * 0.01 / 1.01 / sum(gain))
})

test_that("facets count by their weight", {
  b <- cbind(c(1, 0), c(0, 1))
  fit <- hand_cpt(gate(b, c(-3, -150), r = c(1, 3)), mpg ~ wt + hp, mtcars)
  sd <- fit$predictors$sd
  out <- importance(fit)
  expect_equal(out$importance[out$variable == "wt"], sd[1] / (sd[1] + 3 * sd[2]))
})

test_that("levels of a factor and columns of a term are added up", {
  data <- kinds(60)
  data$y <- seq_len(60) %% 7
  formula <- y ~ num + fct + poly(int, 2) + fct:num
  b <- c(1, 2, 0, 1, 3, 4, 1, 0, 1)
  fit <- hand_cpt(gate(b, -3), formula, data)
  size <- abs(b) * fit$predictors$sd
  out <- importance(fit)
  expect_setequal(out$variable, c("num", "fct", "poly(int, 2)", "fct:num"))
  got <- out$importance[match(c("num", "fct", "poly(int, 2)", "fct:num"), out$variable)]
  expect_equal(got, c(size[1], sum(size[2:4]), sum(size[5:6]), sum(size[7:9])) / sum(size))
  expect_equal(sum(out$importance), 1)
})

test_that("shares sum to 1, and to 0 without a split", {
  expect_equal(sum(importance(big_tree(4L))$importance), 1)
  expect_identical(importance(root_iris())$importance, double(4))
  expect_false(is.unsorted(-importance(big_tree(4L))$importance))
})

# The expected loss under a random permutation: all pairs of a row and another's value.
expected_loss <- function(fit, data, name, y, base) {
  n <- nrow(data)
  from <- rep(seq_len(n), each = n)
  to <- rep(seq_len(n), n)
  rows <- data[to, ]
  rows[[name]] <- data[[name]][from]
  answer <- predict(fit, rows, type = "response")
  if (is.numeric(y)) mean((y[to] - answer)^2) - base else base - mean(answer == y[to])
}

test_that("permutation has the expectation it should have", {
  fit <- hand_iris()
  data <- iris[seq(1, 150, by = 3), ]
  out <- importance(fit, "permutation", newdata = data, n_repeats = 400, seed = 1, threads = 1)
  base <- mean(predict(fit, data) == data$Species)
  expect_identical(attr(out, "baseline"), base)
  expect_identical(attr(out, "metric"), "accuracy")
  for (name in c("Petal.Length", "Petal.Width")) {
    one <- out[out$variable == name, ]
    want <- expected_loss(fit, data, name, data$Species, base)
    expect_lt(abs(one$importance - want), 4 * one$sd / sqrt(400))
    expect_lt(one$sd, 0.1)
  }
  # The tree does not use these.
  expect_identical(out$importance[3:4], c(0, 0))
  cars <- hand_cars()
  out <- importance(cars, "permutation", newdata = mtcars, n_repeats = 400, seed = 1, threads = 1)
  base <- mean(residuals(cars)^2)
  expect_equal(attr(out, "baseline"), base)
  one <- out[out$variable == "wt", ]
  expect_lt(abs(one$importance - expected_loss(cars, mtcars, "wt", mtcars$mpg, base)),
    4 * one$sd / sqrt(400))
})

test_that("all that is made of a column is permuted together", {
  data <- data.frame(x = seq(0.1, 8, length.out = 80), z = steady(80))
  data$y <- log(data$x)
  # x enters twice; a permutation that changed only one of the terms would show.
  fit <- hand_cpt(gate(c(0, 1, -0.001), -1), y ~ z + log(x) + x:z, data)
  out <- importance(fit, "permutation", newdata = data, n_repeats = 200, seed = 1, threads = 1)
  expect_setequal(out$variable, c("x", "z"))
  base <- attr(out, "baseline")
  one <- out[out$variable == "x", ]
  expect_lt(abs(one$importance - expected_loss(fit, data, "x", data$y, base)),
    4 * one$sd / sqrt(200))
  # z counts too, if only by x:z, and a factor is permuted as a whole.
  expect_setequal(importance(fit)$variable, c("z", "log(x)", "x:z"))
})

test_that("the seed decides, and R's stream is left alone", {
  fit <- hand_iris()
  one <- function(...) importance(fit, "permutation", newdata = iris, threads = 1, ...)
  withr::local_seed(5)
  before <- .Random.seed
  a <- one(seed = 1)
  expect_identical(.Random.seed, before)
  expect_identical(one(seed = 1), a)
  expect_false(identical(one(seed = 2)$importance, a$importance))
  b <- one()
  set.seed(5)
  expect_identical(one(), b)
  expect_identical(one(seed = 1, n_repeats = 1)$sd, rep(NA_real_, 4))
})

test_that("matrices, sparse matrices and recipes work", {
  data <- clusters(90)
  x <- as.matrix(data[1:3])
  args <- list(control = quick(), seed = 1, threads = 1)
  frame <- do.call(cpt, c(list(data[1:3], data$y), args))
  dense <- do.call(cpt, c(list(x, data$y), args))
  sparse <- do.call(cpt, c(list(methods::as(x, "CsparseMatrix"), data$y), args))
  bare <- do.call(cpt, c(list(unname(x), data$y), args))
  get <- function(fit, rows) {
    importance(fit, "permutation", newdata = rows, y = data$y, seed = 1, threads = 1)
  }
  want <- get(frame, data)
  expect_gt(max(want$importance), 0.1)
  expect_equal(get(dense, x), want)
  expect_equal(get(sparse, methods::as(x, "CsparseMatrix")), want)
  expect_equal(get(bare, unname(x))$importance, want$importance)
  skip_if_not_installed("recipes")
  recipe <- recipes::step_normalize(recipes::recipe(y ~ ., data), recipes::all_predictors())
  fit <- cpt(recipe, data, control = quick(), seed = 1, threads = 1)
  out <- importance(fit, "permutation", newdata = data, seed = 1, threads = 1)
  expect_setequal(out$variable, names(data)[1:3])
  expect_gt(max(out$importance), 0.1)
})

test_that("an outcome that is computed is found, and rows without one are left out", {
  fit <- hand_cpt(gate(c(1, 0), -3), log(mpg) ~ wt + hp, mtcars)
  out <- importance(fit, "permutation", newdata = mtcars, seed = 1, threads = 1)
  expect_equal(attr(out, "baseline"), mean(residuals(fit)^2))
  rows <- iris
  rows$Species[1:5] <- NA
  expect_message(
    a <- importance(hand_iris(), "permutation", newdata = rows, seed = 1, threads = 1),
    "Left out 5 of 150 rows"
  )
  expect_identical(a, importance(hand_iris(), "permutation", newdata = iris[-(1:5), ], seed = 1,
    threads = 1))
})

test_that("missing predictors can be imputed", {
  rows <- iris
  rows$Petal.Width[1:5] <- NA
  fit <- cpt(Species ~ ., iris, control = quick(), seed = 1, threads = 1)
  expect_error(importance(fit, "permutation", newdata = rows), class = "cpt_error_newdata")
  out <- importance(fit, "permutation", newdata = rows, seed = 1, na_action = "impute",
    threads = 1)
  answer <- predict(fit, rows, na_action = "impute")
  expect_equal(attr(out, "baseline"), mean(answer == iris$Species))
})

test_that("a class that the tree does not know is never right", {
  fit <- hand_iris()
  y <- rep("other", 150)
  out <- importance(fit, "permutation", newdata = iris, y = y, seed = 1, threads = 1)
  expect_identical(attr(out, "baseline"), 0)
})

test_that("ranger's generic finds the method", {
  skip_if_not_installed("ranger")
  expect_identical(ranger::importance(hand_iris()), importance(hand_iris()))
  model <- structure(list(), class = "ranger")
  expect_snapshot(refusal(importance(model)))
})

test_that("importance prints within the terminal", {
  local_reproducible_output(width = 60)
  data <- iris
  names(data)[3] <- strrep("very long name ", 6)
  fit <- hand_iris(data = data)
  shown <- importance(fit, "permutation", newdata = data, seed = 1, threads = 1)
  expect_true(all(nchar(format(shown), "width") <= 60))
  expect_snapshot({
    importance(fit)
    importance(hand_cars(), "permutation", newdata = mtcars, seed = 1, threads = 1)
    print(importance(big_tree(3L)), n = 1)
    importance(root_cars())
  })
  capture.output(expect_invisible(print(importance(root_cars()))))
  expect_output(print(shown["importance"]), "importance")
})

test_that("nonsense is refused", {
  fit <- hand_iris()
  expect_snapshot({
    refusal(importance(iris))
    refusal(importance(fit, "gain"))
    refusal(importance(fit, newdata = iris))
    refusal(importance(fit, "permutation"))
    refusal(importance(fit, "permutation", newdata = iris[-5]))
    refusal(importance(fit, "permutation", newdata = iris, y = 1:3))
    refusal(importance(fit, "permutation", newdata = iris, y = seq_len(150) / 2))
    refusal(importance(fit, "permutation", newdata = iris, n_repeats = 0))
    refusal(importance(fit, "permutation", newdata = iris[0, ]))
    refusal(importance(fit, repeats = 3))
    refusal(importance(hand_cars(), "permutation", newdata = mtcars, y = rownames(mtcars)))
  })
})
