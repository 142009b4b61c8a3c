# Linear leaves against ridge regression in plain R, and shrinkage worked out by hand.

# Two lines that meet, so that a split and slopes are both needed.
bent <- function(n = 200, from = 0) {
  x <- noise_matrix(n, 3, from)
  data.frame(x, y = ifelse(x[, 1] > 0, 5 + 4 * x[, 2], -5 - 4 * x[, 2]) + 0.3 * noise_matrix(n, 1, from + 9)[, 1])
}

linear <- function(..., seed = 1, threads = 1) {
  cpt(..., control = brisk(max_depth = 2, max_facets = 2, leaf = "linear"), seed = seed,
    threads = threads)
}

# Linear leaves ---------------------------------------------------------------------

test_that("one leaf is the ridge regression that brute force finds", {
  x <- as.matrix(mtcars[c("wt", "hp", "qsec")])
  for (w in list(rep(1, 32), rep(c(1, 2, 0.5, 3), 8))) {
    fit <- cpt(x, mtcars$mpg, weights = w, max_depth = 0, leaf = "linear", seed = 1)
    want <- plain_leaf(x, mtcars$mpg, w, fit$predictors$sd)
    expect_equal(c(fit$tree$leaf_intercept, fit$tree$leaf_coef), unname(want), tolerance = 1e-8)
    expect_true(all(want != 0))
  }
})

test_that("more columns than rows give the same model as the normal equations", {
  x <- noise_matrix(25, 40)
  y <- 3 * x[, 1] - 2 * x[, 2] + x[, 3]
  fit <- cpt(x, y, max_depth = 0, leaf = "linear", seed = 1)
  want <- plain_leaf(x, y, rep(1, 25), fit$predictors$sd)
  expect_true(all(want != 0))
  expect_equal(c(fit$tree$leaf_intercept, fit$tree$leaf_coef), want, tolerance = 1e-7)
})

test_that("every leaf has the model of its own rows, or its mean", {
  data <- bent(120)
  data$y[data$x1 > 0] <- steady(sum(data$x1 > 0), 0.3)
  fit <- linear(y ~ ., data)
  x <- as.matrix(data[1:3])
  leaves <- which(fit$tree$left == 0L)
  expect_gt(length(leaves), 1L)
  kind <- vapply(leaves, function(i) {
    rows <- fit$where == fit$tree$node[i]
    want <- plain_leaf(x[rows, ], data$y[rows], rep(1, sum(rows)), fit$predictors$sd)
    expect_equal(c(fit$tree$leaf_intercept[i], fit$tree$leaf_coef[, i]), unname(want), tolerance = 1e-7)
    any(want[-1L] != 0)
  }, NA)
  # Both kinds are there, so the test can fail in each.
  expect_true(any(kind) && !all(kind))
  constant <- leaves[!kind]
  expect_identical(fit$tree$leaf_intercept[constant], fit$tree$value[constant, 1L])
})

test_that("the tree is that of constant leaves, and the fit is better", {
  data <- bent()
  new <- bent(200, 50)
  fit <- linear(y ~ ., data)
  plain <- cpt(y ~ ., data, control = brisk(max_depth = 2, max_facets = 2), seed = 1)
  expect_identical(fit$tree[names(plain$tree)], plain$tree)
  rmse <- function(f) sqrt(mean((predict(f, new) - new$y)^2))
  expect_lt(rmse(fit), 0.7 * rmse(plain))
  expect_false(any(c("leaf_coef", "leaf_shrinkage") %in% names(plain$tree)))
  expect_null(plain$fitted)
})

test_that("predictions are the leaf's line within its range", {
  data <- bent()
  fit <- linear(y ~ ., data)
  new <- rbind(data, transform(data[1:20, ], x2 = 100 * x2))
  at <- match(predict(fit, new, type = "node"), fit$tree$node)
  line <- fit$tree$leaf_intercept[at] + rowSums(as.matrix(new[1:3]) * t(fit$tree$leaf_coef[, at]))
  want <- pmin(pmax(line, fit$tree$leaf_low[at]), fit$tree$leaf_high[at])
  expect_equal(unname(predict(fit, new)), unname(want), tolerance = 1e-12)
  expect_true(any(want != line))
  for (i in unique(at)) {
    y <- data$y[fit$where == fit$tree$node[i]]
    expect_equal(c(fit$tree$leaf_low[i], fit$tree$leaf_high[i]),
      range(y) + c(-0.1, 0.1) * diff(range(y)))
  }
  expect_identical(predict(fit, as.matrix(new[1:3])), unname(predict(fit, new)))
  sparse <- methods::as(as.matrix(new[1:3]), "CsparseMatrix")
  expect_identical(predict(fit, sparse), unname(predict(fit, new)))
  expect_identical(predict(fit, new, threads = 3), predict(fit, new, threads = 1))
})

test_that("fitted, residuals and deviance follow from the models", {
  data <- bent()
  row.names(data) <- paste0("row", 1:200)
  w <- rep(c(1, 3), 100)
  fit <- cpt(y ~ ., data, weights = w, seed = 1,
    control = brisk(max_depth = 2, max_facets = 2, leaf = "linear", validation = 0.2))
  expect_identical(fitted(fit), predict(fit, data))
  expect_identical(predict(fit), predict(fit, data))
  expect_equal(residuals(fit), stats::setNames(data$y - fitted(fit), row.names(data)))
  held <- hold_out(list(y = data$y, weights = w, task = "regression"), 0.2, 1)
  expect_equal(deviance(fit), sum((w * residuals(fit)^2)[!held]))
  expect_equal(summary(fit)$error^2, deviance(fit) / sum(w[!held]))
  expect_equal(predict(fit, type = "node"), predict(fit, data, type = "node"))
  expect_equal(sqrt(deviance(fit) / fit$tree$weight[1]),
    sqrt(sum(cpt_rules(fit)$rmse^2 * cpt_rules(fit)$weight) / fit$tree$weight[1]))
})

test_that("the number of threads does not change the models", {
  data <- bent(300)
  one <- linear(y ~ ., data, threads = 1)
  two <- linear(y ~ ., data, threads = 2)
  expect_identical(one$tree, two$tree)
  expect_identical(one$fitted, two$fitted)
})

test_that("sparse and dense data give the same models", {
  data <- sparse_data(80, 120)
  y <- data$x[, 1] * 3 - data$x[, 2] + rowSums(data$x)
  for (rows in list(1:30, 1:80)) {
    dense <- cpt(data$x[rows, ], y[rows], max_depth = 0, leaf = "linear", seed = 1)
    sparse <- cpt(data$sparse[rows, ], y[rows], max_depth = 0, leaf = "linear", seed = 1)
    expect_equal(sparse$tree$leaf_coef, dense$tree$leaf_coef, tolerance = 1e-8)
    expect_equal(sparse$tree$leaf_intercept, dense$tree$leaf_intercept, tolerance = 1e-8)
  }
  expect_true(any(dense$tree$leaf_coef != 0))
})

test_that("a weight of 2 is the row twice", {
  data <- bent(60)
  w <- rep(1:2, 30)
  a <- cpt(y ~ ., data, weights = w, max_depth = 0, leaf = "linear", seed = 1)
  b <- cpt(y ~ ., data[rep(1:60, w), ], max_depth = 0, leaf = "linear", seed = 1)
  expect_equal(a$tree$leaf_coef, b$tree$leaf_coef, tolerance = 1e-8)
  expect_equal(a$tree$leaf_loss, b$tree$leaf_loss, tolerance = 1e-8)
})

test_that("coefficients are in the user's units", {
  data <- bent()
  a <- linear(y ~ ., data)
  b <- linear(y ~ ., transform(data, x2 = 1024 * x2))
  expect_identical(a$where, b$where)
  expect_equal(a$tree$leaf_coef[2, ], 1024 * b$tree$leaf_coef[2, ], tolerance = 1e-8)
  expect_equal(a$tree$leaf_coef[-2, ], b$tree$leaf_coef[-2, ], tolerance = 1e-8)
  expect_true(any(a$tree$leaf_coef[2, ] != 0))
})

test_that("the soft tree mixes the models", {
  fit <- with_models(hand_cars(), rbind(c(0, 0, -5, 0, 1), c(0, 0, 0.01, 0, -0.02)),
    c(0, 0, 37, 30, 16), low = 12, high = 28)
  x <- as.matrix(mtcars[c("wt", "hp")])
  q <- vapply(c(1, 2), function(i) {
    k <- fit$tree$first[i]
    stats::plogis(fit$tree$lambda * (softplus(drop(x %*% fit$tree$coef[, k]) + fit$tree$intercept[k]) -
      fit$tree$threshold[i]))
  }, double(32))
  reach <- cbind((1 - q[, 1]) * (1 - q[, 2]), (1 - q[, 1]) * q[, 2], q[, 1])
  line <- pmin(pmax(sweep(x %*% fit$tree$leaf_coef[, 3:5], 2, c(37, 30, 16), "+"), 12), 28)
  expect_equal(predict(fit, mtcars, soft = TRUE), rowSums(reach * line), tolerance = 1e-12)
})

test_that("gaps pass through", {
  data <- bent()
  fit <- linear(y ~ ., data)
  new <- data[1:4, ]
  new$x2[3] <- NA
  out <- predict(fit, new, na_action = "pass")
  expect_identical(which(is.na(out)), 3L, ignore_attr = TRUE)
  expect_identical(unname(out[-3]), unname(predict(fit, data[c(1, 2, 4), ])))
  expect_length(predict(fit, new[0, ]), 0L)
})

test_that("coef() and as.data.frame() show the models", {
  fit <- with_models(hand_cars(), rbind(c(9, 9, -5, 0, 1), c(9, 9, 0.5, 0, 0)),
    c(9, 9, 37, 30, 16), low = 1:5, high = 11:15)
  expect_identical(coef(fit, node = 4),
    structure(c("(Intercept)" = 37, wt = -5, hp = 0.5), range = c(3, 13)))
  expect_identical(names(coef(fit)), c("1", "2"))
  both <- coef(fit, node = c(3, 1))
  expect_identical(both[["1"]], coef(fit, node = 1))
  expect_identical(unname(both[["3"]][2:3]), c(1, 0))
  expect_identical(as.data.frame(fit)$terms, c(0L, 0L, 2L, 0L, 1L))
  expect_null(as.data.frame(hand_cars())$terms)
  expect_snapshot({
    refusal(coef(fit, node = 7))
    refusal(coef(hand_cars(), node = 4))
  })
})

test_that("print and summary tell of linear leaves", {
  fit <- linear(y ~ ., bent())
  expect_match(format(fit), "linear leaf", all = FALSE)
  local_reproducible_output(width = 200)
  model <- format(coef(fit, 4)[["x2"]], digits = 4)
  expect_match(format(fit), paste0("^ *4\\) .* \\([0-9.]+\\); ", model, " x2 .*\\*$"), all = FALSE)
  expect_match(format(summary(fit)$error), format(sqrt(mean(residuals(fit)^2))), fixed = TRUE)
})

test_that("a pruned tree predicts by the models of its new leaves", {
  data <- bent()
  fit <- linear(y ~ ., data)
  expect_gt(sum(fit$tree$left == 0L), 2L)
  expect_message(small <- prune(fit, leaves = 2), "residuals? (is|are) now")
  expect_s3_class(validate_cpt(small), "cpt")
  at <- match(small$tree$node, fit$tree$node)
  for (field in c("leaf_intercept", "leaf_low", "leaf_high", "leaf_loss")) {
    expect_identical(small$tree[[field]], fit$tree[[field]][at])
  }
  expect_identical(small$tree$leaf_coef, fit$tree$leaf_coef[, at])
  kept <- small$where == fit$where
  expect_identical(is.na(small$residuals), !kept, ignore_attr = TRUE)
  expect_identical(fitted(small)[kept], fitted(fit)[kept])
  expect_equal(deviance(small), sum((data$y - predict(small, data))^2))
  expect_snapshot(invisible(prune(with_models(hand_cars(), matrix(1, 2, 5), 1:5), depth = 1)))
})

test_that("saved models and all interfaces predict the same", {
  data <- bent(100)
  fit <- linear(y ~ ., data)
  file <- withr::local_tempfile(fileext = ".rds")
  saveRDS(fit, file)
  expect_identical(predict(readRDS(file), data), predict(fit, data))
  expect_length(foreign_parts(fit), 0)
  same_fit(linear(data[1:3], data$y), fit)
  same_fit(linear(as.matrix(data[1:3]), data$y), fit)
  direct <- cpt(y ~ ., data, control = brisk(max_depth = 2, max_facets = 2, leaf = "linear"), seed = 1)
  expect_null(update(direct, leaf = "constant")$tree$leaf_coef)
  expect_identical(update(direct, leaf_shrinkage = 5)$tree$leaf_shrinkage, 5)
  skip_if_not_installed("recipes")
  same_fit(linear(recipes::recipe(y ~ ., data)), fit)
})

test_that("factors, dates and constant columns are columns like others", {
  data <- kinds(60)
  data$same <- 4
  data$y <- 2 * data$num + ifelse(data$fct == "u", 3, 0) + 0.01 * steady(60)
  fit <- cpt(y ~ num + fct + same + day, data, max_depth = 0, leaf = "linear", seed = 1)
  b <- coef(fit, node = 1)
  expect_identical(names(b), c("(Intercept)", "num", "fctu", "fctv", "fctw", "same", "day"))
  expect_identical(b[["same"]], 0)
  expect_lt(sqrt(mean(residuals(fit)^2)), 0.1)
})

test_that("few rows, one column and constant outcomes stay sound", {
  few <- cpt(dist ~ speed, cars[1:9, ], max_depth = 0, leaf = "linear", seed = 1)
  expect_identical(few$tree$leaf_coef, matrix(0, 1, 1))
  expect_identical(unname(fitted(few)), rep(few$tree$value[1], 9))
  one <- cpt(dist ~ speed, cars, max_depth = 0, leaf = "linear", seed = 1)
  expect_equal(unname(coef(one, 1)[2]), unname(coef(lm(dist ~ speed, cars))[2]), tolerance = 0.05)
  flat <- suppressWarnings(cpt(y ~ ., data.frame(y = 3, x = 1:20), leaf = "linear", seed = 1))
  expect_identical(unname(predict(flat)), rep(3, 20))
})

test_that("damaged models are refused", {
  fit <- linear(y ~ ., bent(100))
  damage <- function(change) {
    bad <- fit
    bad$tree <- change(bad$tree)
    expect_error(predict(bad, bent(10)), class = "cpt_error_model")
    refusal(predict(bad, bent(10)))
  }
  expect_snapshot({
    damage(function(tree) tree[names(tree) != "leaf_low"])
    damage(function(tree) replace(tree, "leaf_coef", list(tree$leaf_coef[-1, ])))
    damage(function(tree) replace(tree, "leaf_intercept", list(tree$leaf_intercept * NA)))
    damage(function(tree) replace(tree, "leaf_low", list(tree$leaf_high + 1)))
    damage(function(tree) replace(tree, "leaf_loss", list(tree$leaf_loss[-1])))
    damage(function(tree) replace(tree, "leaf_shrinkage", list(-1)))
  })
  bad <- fit
  bad$fitted <- NULL
  expect_error(fitted(bad), class = "cpt_error_model")
  classes <- hand_iris()
  classes$tree[grep("^leaf_", names(fit$tree))] <- NULL
  classes <- with_models(classes, matrix(0, 4, 5), rep(0, 5))
  expect_error(predict(classes, iris), class = "cpt_error_model")
})

test_that("linear leaves of classes are refused", {
  expect_snapshot(error = TRUE, {
    cpt(Species ~ ., iris, leaf = "linear")
    cpt_control(leaf = "lineal")
    cpt_control(leaf_shrinkage = -1)
  })
})

# Shrinkage -------------------------------------------------------------------------

# The formula of the help page, one node at a time from the root down.
by_hand <- function(tree, value, by) {
  out <- value
  for (i in seq_along(tree$node)[-1]) {
    up <- match(tree$node[i] %/% 2L, tree$node)
    out[i, ] <- out[up, ] + (value[i, ] - value[up, ]) / (1 + by / tree$weight[up])
  }
  out
}

shrunk <- function(fit, by) {
  fit$tree$leaf_shrinkage <- by
  fit
}

test_that("probabilities are shrunk towards the ancestors", {
  fit <- shrunk(hand_iris(), 30)
  # setosa: from a root of 150 rows, 1/3 each, to 50 rows of one class
  expect_equal(unname(predict(fit, iris[1, ], type = "prob")),
    rbind(c(1 / 3, 1 / 3, 1 / 3) + c(2, -1, -1) / 3 / (1 + 30 / 150)))
  prob <- fit$tree$value / rowSums(fit$tree$value)
  want <- by_hand(fit$tree, prob, 30)
  at <- route(fit$tree, iris[1:4])
  expect_equal(unname(predict(fit, iris, type = "prob")), want[at, ], tolerance = 1e-14)
  expect_equal(rowSums(predict(fit, iris, type = "prob")), rep(1, 150))
  expect_identical(fit$tree$value, hand_iris()$tree$value)
  expect_identical(as.integer(predict(fit, iris)), max.col(want, "first")[at])
  expect_equal(unname(as.matrix(as.data.frame(fit)[paste0("prob_", levels(iris$Species))])), want,
    ignore_attr = TRUE)
  expect_equal(deviance(fit), -2 * sum(log(want[cbind(at, as.integer(iris$Species))])))
  rules <- cpt_rules(fit)
  expect_identical(rules$accuracy, cpt_rules(hand_iris())$accuracy)
})

test_that("without end everything is the root, and 0 is no shrinkage", {
  fit <- hand_iris()
  expect_equal(predict(shrunk(fit, 1e12), iris, type = "prob"),
    predict(root_iris(), iris, type = "prob"), tolerance = 1e-8)
  expect_identical(predict(shrunk(fit, 0), iris, type = "prob"), predict(fit, iris, type = "prob"))
})

test_that("means and linear models are shrunk the same way", {
  fit <- shrunk(hand_cars(), 8)
  want <- by_hand(fit$tree, fit$tree$value, 8)[, 1]
  expect_equal(unname(predict(fit, mtcars)), want[route(fit$tree, mtcars[c("wt", "hp")])])
  expect_equal(as.data.frame(fit)$prediction, want)
  expect_equal(deviance(fit), sum((mtcars$mpg - predict(fit, mtcars))^2))

  data <- bent()
  raw <- linear(y ~ ., data)
  soft <- cpt(y ~ ., data, seed = 1, threads = 1,
    control = brisk(max_depth = 2, max_facets = 2, leaf = "linear", leaf_shrinkage = 40))
  expect_identical(raw$tree$value, soft$tree$value)
  expect_identical(soft$tree$leaf_shrinkage, 40)
  for (field in c("leaf_intercept", "leaf_low", "leaf_high")) {
    expect_equal(soft$tree[[field]], by_hand(raw$tree, cbind(raw$tree[[field]]), 40)[, 1])
  }
  expect_equal(t(soft$tree$leaf_coef), by_hand(raw$tree, t(raw$tree$leaf_coef), 40))
  expect_equal(deviance(soft), sum((data$y - predict(soft, data))^2))
  expect_identical(fitted(soft), predict(soft, data))
})

test_that("class, probabilities, residuals, print and pruning agree after shrinkage", {
  data <- noisy_disc(200)
  fit <- cpt(y ~ ., data, control = brisk(leaf_shrinkage = 60), seed = 1)
  plain <- cpt(y ~ ., data, control = brisk(), seed = 1)
  expect_identical(fit$tree[names(plain$tree)], plain$tree)
  expect_gt(max(abs(predict(fit, type = "prob") - predict(plain, type = "prob"))), 0.05)
  prob <- predict(fit, data, type = "prob")
  expect_identical(as.integer(predict(fit, data)), max.col(prob, "first"))
  expect_identical(fitted(fit), predict(fit, data))
  expect_identical(residuals(fit), as.double(predict(fit, data) != data$y))
  nodes <- as.data.frame(fit)
  expect_identical(as.character(nodes$prediction[match(fit$where, nodes$node)]), as.character(fitted(fit)))
  small <- suppressMessages(prune(fit, leaves = 2))
  expect_identical(small$residuals, as.double(predict(small, data) != data$y))
  expect_equal(summary(fit)$error, mean(residuals(fit)))
  soft <- predict(fit, data, type = "prob", soft = TRUE)
  expect_true(all(soft > min(node_prob(fit$tree)) - 1e-12))
})

test_that("enough shrinkage changes the class, everywhere alike", {
  data <- iris[c(1:10, 51:150), ]
  fit <- shrunk(hand_iris(data = data), 1000)
  prob <- by_hand(fit$tree, fit$tree$value / rowSums(fit$tree$value), 1000)
  class <- max.col(prob, "first")
  expect_false(class[2] == 1L)
  at <- route(fit$tree, data[1:4])
  expect_identical(as.integer(predict(fit, data)), class[at])
  expect_identical(as.integer(predict(fit)), class[at])
  expect_identical(as.integer(as.data.frame(fit)$prediction), class)
  expect_equal(summary(fit)$error, mean(class[at] != as.integer(data$Species)))
  expect_match(format(fit), paste0("^ *2\\) .* ", levels(iris$Species)[class[2]], " \\("), all = FALSE)
})

test_that("counterfactuals know the limits of linear leaves and of shrunk means", {
  skip_if_not_installed("quadprog")
  data <- bent()
  fit <- linear(y ~ ., data)
  row <- data[which.min(abs(data$y)), ]
  out <- counterfactual(fit, row, c(5, 6))
  expect_true(out$after$prediction >= 5 && out$after$prediction <= 6)
  expect_identical(unname(predict(fit, out$new_row)), out$after$prediction)
  top <- max(fit$tree$leaf_high[fit$tree$left == 0L])
  expect_error(counterfactual(fit, row, c(top + 1, top + 2)), class = "cpt_error_counterfactual")
  cars <- shrunk(hand_cars(), 20)
  leaf <- which(cars$tree$left == 0L)
  expect_equal(leaf_reach(cars)$low[leaf], by_hand(cars$tree, cars$tree$value, 20)[leaf, 1])
})
