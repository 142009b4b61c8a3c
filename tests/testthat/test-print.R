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

test_that("an inequality shows its strongest terms and counts the others", {
  # No flower lies on the border, where the last bit of the processor's library would decide.
  fit <- hand_cpt(gate(c(3, -6, 1.5, 0.75), -11.73), Species ~ ., iris)
  expect_snapshot({
    fit
    print(fit, terms = 1)
    print(fit, terms = 10)
  })
  # The printed rule is the rule: scaled by the coefficient of the strongest term.
  left <- with(iris, Petal.Length - 4 * Sepal.Width + 2 * Sepal.Length + 0.5 * Petal.Width)
  expect_gt(min(abs(left - 7.82)), 0.01)
  expect_identical(predict(fit, iris, type = "node") == 2L, left <= 7.82)
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

test_that("rows held out for validation are counted", {
  fit <- hand_iris()
  fit$tree$n <- fit$tree$n - c(3L, 1L, 2L, 1L, 1L)
  expect_identical(format(fit)[2L], "150 rows (3 held out), 4 predictors, 3 leaves, depth 2")
})

test_that("nonsense arguments are refused", {
  fit <- hand_iris()
  expect_snapshot({
    refusal(print(fit, digits = 0))
    refusal(print(fit, terms = 1.5))
    refusal(format(fit, width = 10))
    refusal(print(fit, facets = -1))
  })
})

test_that("the facets of a split are listed below its inside", {
  lines <- format(hand_square())
  at <- grep("inside: all of 4 facets", lines, fixed = TRUE)
  expect_identical(trimws(lines[at + 1L]), "u <= 0.5; u >= -0.5; v <= 0.5; v >= -0.5")
  expect_false(any(grepl("<=", format(hand_square(), facets = 0))))
  few <- format(hand_square(), facets = 1)
  expect_identical(sum(grepl("+ 3 more facets", few, fixed = TRUE)), 1L)
  # Every row inside keeps every bound that is printed.
  rows <- square_data(41L)
  inside <- rows[predict(hand_square(), rows, type = "node") != 3L, ]
  expect_true(all(abs(inside$u) <= 0.5 & abs(inside$v) <= 0.5))
})

test_that("the strongest terms are those of the largest coefficient times spread", {
  data <- data.frame(big = 1000 * steady(100), small = steady(100, 0.3), y = seq_len(100))
  fit <- hand_cpt(gate(c(0.01, 1), -1), y ~ ., data)
  expect_match(format(fit), "inside: big + 100 small <= 100", fixed = TRUE, all = FALSE)
  # Without the spread, as in older models, the largest coefficient.
  fit$predictors <- NULL
  expect_match(format(fit), "inside: small + 0.01 big <= 1", fixed = TRUE, all = FALSE)
})

test_that("levels of factors are words", {
  data <- data.frame(f = factor(rep(c("a", "b", "c"), 20)), x = steady(60), y = seq_len(60))
  fit <- hand_cpt(gate(c(3, -1, 0, 1), -0.5, inside = gate(c(-1, 1, 1, 0), 0)), y ~ ., data)
  lines <- format(fit, digits = 3)
  expect_match(lines, "(f is a)", fixed = TRUE, all = FALSE)
  expect_match(lines, "inside: f is a", fixed = TRUE, all = FALSE)
  expect_match(lines, "outside: f is not a", fixed = TRUE, all = FALSE)
})

test_that("trees of many facets and leaves stay within the terminal", {
  fit <- big_tree(6L)
  for (width in c(40L, 80L)) {
    local_reproducible_output(width = width)
    expect_true(all(nchar(format(fit), "width") <= width))
  }
  expect_identical(sum(grepl("^ *[0-9]+\\) ", format(fit))), 127L)
})
