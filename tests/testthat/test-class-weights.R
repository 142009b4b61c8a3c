# class_weights: the same as case weights multiplied by hand, in every interface.

uneven <- function() droplevels(iris[c(1:10, 51:90, 101:150), ])

by_class <- c(virginica = 0.5, setosa = 4, versicolor = 1)

test_that("class weights multiply the case weights", {
  d <- uneven()
  fit <- cpt(Species ~ ., d, class_weights = by_class, control = quick(), seed = 1)
  w <- unname(by_class[as.character(d$Species)])
  same_fit(fit, cpt(Species ~ ., d, weights = w, control = quick(), seed = 1))
  expect_identical(fit$class_weights, by_class[levels(d$Species)])
  expect_equal(fit$tree$value[1, ], c(40, 40, 25))
  expect_null(cpt(Species ~ ., d, control = quick(), seed = 1)$class_weights)

  case <- rep(c(1, 2), 50)
  both <- cpt(Species ~ ., d, weights = case, class_weights = by_class, control = quick(), seed = 1)
  same_fit(both, cpt(Species ~ ., d, weights = case * w, control = quick(), seed = 1))
})

test_that("balanced classes have the same weight, and all of it as before", {
  d <- uneven()
  fit <- cpt(Species ~ ., d, class_weights = "balanced", control = quick(), seed = 1)
  expect_equal(fit$tree$value[1, ], rep(100 / 3, 3))
  expect_equal(fit$class_weights, c(setosa = 10, versicolor = 2.5, virginica = 2) / 3)
  w <- rep(c(0, 3), 50)
  fit <- cpt(Species ~ ., d, weights = w, class_weights = "balanced", control = quick(), seed = 1)
  expect_equal(fit$tree$value[1, ], rep(50, 3))
  # probabilities are those of the weighted rows
  root <- cpt(Species ~ ., d, class_weights = "balanced", max_depth = 0, seed = 1)
  expect_equal(unname(predict(root, d[1, ], type = "prob")), rbind(rep(1 / 3, 3)))
})

test_that("a class whose rows all weigh nothing is left alone", {
  d <- uneven()
  w <- as.double(d$Species != "setosa")
  fit <- cpt(Species ~ ., d, weights = w, class_weights = "balanced", control = quick(), seed = 1)
  expect_identical(fit$class_weights[["setosa"]], 1)
  expect_equal(fit$tree$value[1, ], c(0, 45, 45))
})

test_that("a rare class gains from it", {
  x <- noise_matrix(400, 2)
  # Never more than a third of the rows anywhere.
  third <- (seq_len(400) * 0.5698402909980532) %% 1 < 1 / 3
  rare <- factor(ifelse(x[, 1] > 0.8 & third, "yes", "no"))
  recall <- function(...) {
    fit <- cpt(x, rare, control = brisk(max_depth = 2, max_facets = 2), seed = 1, ...)
    mean(predict(fit, x)[rare == "yes"] == "yes")
  }
  expect_lt(mean(rare == "yes"), 0.1)
  expect_lt(recall(), 0.5)
  expect_gt(recall(class_weights = "balanced"), 0.9)
})

test_that("all interfaces take class weights, and update() keeps them", {
  d <- uneven()
  fit <- cpt(Species ~ ., d, class_weights = by_class, control = quick(), seed = 1)
  again <- function(...) cpt(..., class_weights = by_class, control = quick(), seed = 1)
  same_fit(again(d[1:4], d$Species), fit)
  same_fit(again(as.matrix(d[1:4]), d$Species), fit)
  sparse <- again(methods::as(as.matrix(d[1:4]), "CsparseMatrix"), d$Species)
  expect_equal(sparse$tree$value[1, ], fit$tree$value[1, ])
  same_fit(update(fit, . ~ .), fit)
  expect_null(update(fit, class_weights = NULL)$class_weights)
  other <- update(fit, class_weights = "balanced")
  expect_equal(other$tree$value[1, ], rep(100 / 3, 3))
  called <- do.call(cpt, list(Species ~ ., d, class_weights = by_class, control = quick(), seed = 1))
  expect_identical(called$call$class_weights, by_class)
  logical <- cpt(d[1:4], d$Species == "setosa", class_weights = c("TRUE" = 9, "FALSE" = 1),
    control = quick(), seed = 1)
  expect_equal(logical$tree$value[1, ], c(90, 90))
  skip_if_not_installed("recipes")
  same_fit(again(recipes::recipe(Species ~ ., d)), fit)
})

test_that("wrong class weights are explained", {
  d <- uneven()
  fit <- function(class_weights) cpt(Species ~ ., d, class_weights = class_weights, seed = 1)
  expect_snapshot(error = TRUE, {
    fit(c(setosa = 1, versicolour = 2, virginica = 1))
    fit(c(setosa = 1, versicolor = 2))
    fit(c(setosa = 1, versicolor = 2, virginica = 0))
    fit(c(setosa = 1, versicolor = NA, virginica = 1))
    fit(c(setosa = 1, setosa = 2, versicolor = 1, virginica = 1))
    fit(c(1, 2, 3))
    fit("balance")
    fit(list(setosa = 1))
    cpt(dist ~ speed, cars, class_weights = "balanced")
  })
})
