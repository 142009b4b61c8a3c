# The small generics: formula, terms, nobs, levels, fitted, residuals, deviance,
# update, and those that refuse because nothing is kept.

test_that("formula() and terms() write the dot out", {
  fit <- hand_iris()
  want <- Species ~ Sepal.Length + Sepal.Width + Petal.Length + Petal.Width
  expect_equal(formula(fit), want, ignore_attr = TRUE)
  expect_s3_class(terms(fit), "terms")
  expect_identical(attr(terms(fit), "term.labels"), names(iris)[1:4])
})

test_that("a tree without formula has none", {
  fit <- hand_iris()
  fit$blueprint["formula"] <- list(NULL)
  expect_error(formula(fit), class = "cpt_error_model")
  expect_error(terms(fit), class = "cpt_error_model")
  expect_snapshot(refusal(formula(fit)))
})

test_that("nobs() and levels()", {
  expect_equal(nobs(hand_iris()), 150)
  expect_identical(levels(hand_iris()), levels(iris$Species))
  expect_null(levels(hand_cars()))
})

test_that("fitted() is predict() for the training rows", {
  fit <- hand_iris()
  expect_identical(fitted(fit), predict(fit, iris))
  expect_identical(fitted(fit, type = "prob"), predict(fit, iris, type = "prob"))
  expect_identical(fitted(hand_cars()), predict(hand_cars(), mtcars))
  expect_identical(fitted(root_cars(), type = "node"), predict(root_cars(), mtcars, type = "node"))
  expect_error(fitted(hand_cars(), type = "prob"), class = "cpt_error_argument")
})

test_that("residuals() are errors, or outcome minus mean", {
  expect_identical(residuals(hand_iris()), as.double(fitted(hand_iris()) != iris$Species))
  cars <- hand_cars()
  expect_equal(residuals(cars), stats::setNames(mtcars$mpg, rownames(mtcars)) - fitted(cars))
  expect_equal(residuals(root_cars()), stats::setNames(mtcars$mpg - mean(mtcars$mpg), rownames(mtcars)))
})

test_that("deviance() is the sum of squares or minus twice the log-likelihood", {
  expect_equal(deviance(hand_cars()), sum(residuals(hand_cars())^2))
  prob <- fitted(hand_iris(), type = "prob")
  own <- prob[cbind(seq_len(150), as.integer(iris$Species))]
  expect_equal(deviance(hand_iris()), -2 * sum(log(own)))
  expect_equal(deviance(root_iris()), 2 * 150 * log(3))
})

test_that("update() changes the stored call", {
  fit <- hand_iris()
  expect_identical(
    update(fit, . ~ . - Sepal.Width, evaluate = FALSE)$formula,
    quote(Species ~ Sepal.Length + Petal.Length + Petal.Width)
  )
  changed <- update(fit, max_depth = 3, seed = 4, evaluate = FALSE)
  expect_identical(changed$max_depth, 3)
  expect_identical(changed$seed, 4)
  expect_null(update(fit, max_depth = NULL, evaluate = FALSE)$max_depth)
  expect_identical(as.character(changed[[1L]]), "cpt")
})

test_that("update() fits again where it is called", {
  mine <- iris
  fit <- cpt(Species ~ ., mine, max_depth = 1, max_facets = 2, seed = 1, refine_epochs = 1)
  again <- update(fit, max_depth = 0)
  expect_identical(nrow(as.data.frame(again)), 1L)
  same <- update(fit)
  expect_identical(same$tree, fit$tree)
  less <- update(fit, . ~ Petal.Length)
  expect_identical(attr(terms(less), "term.labels"), "Petal.Length")
})

test_that("update() finds the formula in calls written by hand", {
  expect_identical(
    replace_formula(quote(cpt(y ~ a, d)), quote(y ~ b)), quote(cpt(y ~ b, d))
  )
  expect_identical(
    replace_formula(quote(cpt(data = d, y ~ a)), quote(y ~ b)), quote(cpt(data = d, y ~ b))
  )
  expect_identical(
    replace_formula(quote(cpt(data = d, formula = f)), quote(y ~ b)),
    quote(cpt(data = d, formula = y ~ b))
  )
})

test_that("what is not kept is refused with a reason", {
  fit <- hand_iris()
  expect_error(model.frame(fit), class = "cpt_error_model")
  expect_error(weights(fit), class = "cpt_error_model")
  expect_snapshot({
    refusal(model.frame(fit))
    refusal(weights(fit))
    refusal(update(fit, . ~ ., 3))
    refusal(update(fit, evaluate = NA))
    refusal(update(replace(fit, "call", list(NULL))))
    refusal(nobs(fit, 1))
    refusal(residuals(fit, type = "pearson"))
  })
})
