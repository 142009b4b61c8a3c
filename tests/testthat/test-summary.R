# summary(): every number against one computed another way, from the rows themselves.

test_that("summary() holds the numbers and prints them", {
  fit <- hand_square()
  out <- summary(fit)
  expect_s3_class(out, "summary.cpt")
  expect_identical(out$facets, c(`1` = 4L, `2` = 3L))
  expect_identical(out$nonzero, sum(fit$tree$coef != 0))
  expect_equal(out$error, mean(residuals(fit)))
  expect_equal(out$loss, deviance(fit) / 2 / nobs(fit))
  expect_equal(out$scores$accuracy, 1 - mean(residuals(fit)))
  expect_identical(out$importance, importance(fit))
  expect_null(out$agreement)
  cars <- summary(hand_cars())
  expect_equal(cars$error, sqrt(mean(residuals(hand_cars())^2)))
  expect_equal(cars$explained, 1 - deviance(hand_cars()) / deviance(root_cars()))
  expect_equal(cars$scores$r_squared, cars$explained)
  expect_null(cars$calibration)
  expect_snapshot({
    out
    cars
    summary(root_iris())
    summary(root_cars())
  })
  capture.output(expect_invisible(print(cars)))
})

test_that("rows held out for validation are counted and scored", {
  data <- noisy_disc(300)
  for (task in c("classification", "regression")) {
    if (task == "regression") data$y <- data$x1^2 + data$x2 + steady(300, 0.3) / 4
    fit <- cpt(y ~ ., data, control = quick(validation = 0.25), seed = 2, threads = 1)
    mold <- blueprint_mold_formula(y ~ ., data)
    held <- hold_out(mold, 0.25, 2)
    out <- summary(fit)
    expect_identical(out$held_out, sum(held))
    expect_identical(out$scores$of, c("training", "held out"))
    expect_equal(out$scores$rows, c(sum(!held), sum(held)))
    answer <- predict(fit, data)
    if (task == "classification") {
      right <- answer == data$y
      expect_equal(out$scores$accuracy, c(mean(right[!held]), mean(right[held])))
      sure <- apply(predict(fit, data, type = "prob"), 1, max)
      expect_identical(attr(out$calibration, "of"), "held out")
      expect_equal(sum(out$calibration$rows), sum(held))
      first <- out$calibration[1, ]
      at <- held & sure >= first$from & sure < first$to
      expect_equal(first$accuracy, mean(right[at]))
      expect_equal(first$confidence, mean(sure[at]))
      # One uniform guess in every leaf, as the engine judges held-out rows.
      tree <- fit$tree
      smooth <- (tree$value + 0.5) / (rowSums(tree$value) + 1)
      at <- cbind(match(predict(fit, data, type = "node"), tree$node), as.integer(data$y))
      expect_equal(out$scores$log_loss[2], -mean(log(smooth[at[held, ]])), tolerance = 1e-6)
      pruned <- suppressMessages(summary(prune(fit, leaves = 3)))
      expect_identical(pruned$scores$log_loss[2], NA_real_)
    } else {
      wrong <- (answer - data$y)^2
      expect_equal(out$scores$rmse, sqrt(c(mean(wrong[!held]), mean(wrong[held]))))
    }
  }
})

test_that("held-out scores of weighted rows are not guessed", {
  data <- noisy_disc(300)
  fit <- cpt(y ~ ., data, weights = rep(c(1, 3), 150), control = quick(validation = 0.25),
    seed = 2, threads = 1, subset = NULL)
  out <- summary(fit)
  expect_identical(out$scores$accuracy[2], NA_real_)
  expect_identical(attr(out$calibration, "of"), "training")
  expect_equal(out$calibration$accuracy, out$calibration$confidence)
})

test_that("new rows are scored by the hard and the soft tree", {
  fit <- hand_iris()
  rows <- iris[seq(1, 150, by = 2), ]
  out <- summary(fit, newdata = rows, threads = 1)
  expect_identical(out$scores$of, c("training", "new, hard tree", "new, soft tree"))
  hard <- predict(fit, rows)
  soft <- predict(fit, rows, soft = TRUE)
  expect_equal(out$agreement, mean(hard == soft))
  expect_equal(out$scores$accuracy[2:3], c(mean(hard == rows$Species), mean(soft == rows$Species)))
  prob <- predict(fit, rows, type = "prob", soft = TRUE)
  given <- prob[cbind(seq_len(75), as.integer(rows$Species))]
  expect_equal(out$scores$log_loss[3], -mean(log(given)))
  expect_equal(sum(out$calibration$rows), 75)
  expect_equal(sum(out$calibration$rows * out$calibration$accuracy) / 75, out$scores$accuracy[2])
  # Without an outcome only the agreement is known.
  bare <- summary(fit, newdata = rows[1:4], threads = 1)
  expect_identical(nrow(bare$scores), 1L)
  expect_equal(bare$agreement, out$agreement)
  given <- summary(fit, newdata = rows[1:4], y = rows$Species, threads = 1)
  expect_identical(given$scores, out$scores)
  # A class without a probability costs as much as 1e-15.
  strange <- summary(fit, newdata = rows[1:4], y = rep("other", 75), threads = 1)
  expect_equal(strange$scores$log_loss[2], -log(1e-15))
  expect_equal(strange$scores$accuracy[2:3], c(0, 0))
})

test_that("new rows of a regression are scored", {
  fit <- hand_cars()
  rows <- mtcars[1:20, ]
  out <- summary(fit, newdata = rows, threads = 1)
  hard <- unname(predict(fit, rows))
  soft <- unname(predict(fit, rows, soft = TRUE))
  expect_equal(out$agreement, cor(hard, soft)^2)
  expect_equal(out$scores$rmse[2], sqrt(mean((rows$mpg - hard)^2)))
  expect_equal(out$scores$r_squared[3],
    1 - sum((rows$mpg - soft)^2) / sum((rows$mpg - mean(rows$mpg))^2))
  # Three leaves, three bins.
  expect_equal(out$calibration$prediction, sort(unique(hard)))
  expect_equal(out$calibration$outcome, as.vector(tapply(rows$mpg, hard, mean)))
  expect_identical(summary(root_cars(), newdata = rows, threads = 1)$agreement, 1)
})

test_that("the text stays within the terminal", {
  local_reproducible_output(width = 80)
  fit <- cpt(Species ~ ., iris, control = quick(validation = 0.2), seed = 1, threads = 1)
  fit$time <- 0.25
  fit$version <- "0.1.0"
  lines <- capture.output(print(summary(fit, newdata = iris, threads = 1)))
  expect_true(all(nchar(lines, "width") <= 80))
  expect_snapshot(summary(hand_iris(), newdata = iris, threads = 1))
  expect_snapshot(summary(hand_cars(), newdata = mtcars, threads = 1))
  local_reproducible_output(width = 50)
  expect_true(all(nchar(capture.output(print(summary(big_tree(3L, 100L)))), "width") <= 50))
})

test_that("a model of an older version has a summary", {
  fit <- hand_iris()
  fit$predictors <- NULL
  expect_equal(sum(summary(fit)$importance$importance), 1)
})

test_that("nonsense arguments are refused", {
  fit <- hand_iris()
  expect_snapshot({
    refusal(summary(fit, digits = 3))
    refusal(summary(fit, newdata = 1:3))
    refusal(summary(fit, newdata = iris, y = 1:2))
    refusal(print(summary(fit), digits = 0))
  })
})
