# Printed text: one line a node, numbers in user units, nothing wider than the screen.

test_that("print() shows one line a node", {
  expect_snapshot({
    hand_iris()
    hand_square()
    hand_cars()
    print(hand_cars(), digits = 2)
  })
})

test_that("root-only trees print", {
  expect_snapshot({
    root_iris()
    root_cars()
  })
})

test_that("print() returns its argument invisibly and format() its lines", {
  fit <- hand_iris()
  lines <- capture.output(out <- withVisible(print(fit)))
  expect_false(out$visible)
  expect_identical(out$value, fit)
  expect_identical(format(fit), lines)
})

test_that("long names wrap in a narrow terminal", {
  local_reproducible_output(width = 40)
  data <- iris
  names(data)[3:4] <- c("length of the petal in centimetres", "width of the petal in centimetres")
  data$Species <- factor(data$Species, labels = c(
    "Iris setosa Pallas ex Link", "Iris versicolor Linnaeus", "Iris virginica Linnaeus"
  ))
  fit <- hand_iris(data = data)
  expect_true(all(nchar(format(fit), "width") <= 40))
  expect_snapshot(fit)
})

test_that("an inequality shows its largest terms and counts the others", {
  fit <- hand_cpt(gate(c(3, -6, 1.5, 0.75), -12), Species ~ ., iris)
  expect_snapshot({
    fit
    print(fit, terms = 1)
    print(fit, terms = 10)
  })
  # The printed rule is the rule: scaled by -6, so the side turns round.
  inside <- with(iris, Sepal.Width - 0.5 * Sepal.Length - 0.25 * Petal.Length - 0.125 * Petal.Width >= -2)
  expect_identical(predict(fit, iris, type = "node") == 2L, inside)
})

test_that("a facet without coefficients still prints", {
  fit <- hand_cpt(gate(c(0, 0), 1), mpg ~ wt + hp, mtcars)
  expect_match(format(fit), "inside: 0 <= -1", fixed = TRUE, all = FALSE)
})

test_that("many classes print the probability of the predicted one", {
  fit <- big_tree(1L, 26L, letters)
  lines <- format(fit)
  expect_match(lines, "class, (its probability)", fixed = TRUE, all = FALSE)
  expect_true(all(nchar(lines) <= 80))
})

test_that("summary() holds the numbers and prints them", {
  fit <- hand_square()
  out <- summary(fit)
  expect_s3_class(out, "summary.cpt")
  expect_identical(out$facets, c(`1` = 4L, `2` = 3L))
  expect_identical(out$nonzero, sum(fit$tree$coef != 0))
  expect_equal(out$error, mean(residuals(fit)))
  expect_equal(out$loss, deviance(fit) / 2 / nobs(fit))
  cars <- summary(hand_cars())
  expect_equal(cars$error, sqrt(mean(residuals(hand_cars())^2)))
  expect_equal(cars$explained, 1 - deviance(hand_cars()) / deviance(root_cars()))
  expect_snapshot({
    out
    cars
    summary(root_iris())
  })
  expect_invisible(print(cars))
})

test_that("rows held out for validation are counted", {
  fit <- hand_iris()
  fit$tree$n <- fit$tree$n - c(3L, 1L, 2L, 1L, 1L)
  expect_identical(format(fit)[2L], "150 rows (3 held out), 4 predictors, 3 leaves, depth 2")
  expect_identical(summary(fit)$held_out, 3L)
})

test_that("nonsense arguments are refused", {
  fit <- hand_iris()
  expect_snapshot({
    refusal(print(fit, digits = 0))
    refusal(print(fit, terms = 1.5))
    refusal(format(fit, width = 10))
    refusal(summary(fit, digits = 3))
  })
})
