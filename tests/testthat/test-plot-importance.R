# Importance: bars in order, from importance() or from values at hand.

test_that("bars are sorted, largest first", {
  look <- check_look(hand_iris(), NULL, TRUE, NULL, 3, NA)
  values <- data.frame(variable = c("a", "b", "c"), importance = c(0.2, 0.7, -0.1))
  out <- on_page(plot_importance(values, look))
  expect_identical(out, data.frame(variable = c("b", "a", "c"), importance = c(0.7, 0.2, -0.1)))
  expect_identical(nrow(on_page(plot_importance(values[0L, ], look))), 0L)
})

test_that("as many bars as have room", {
  look <- check_look(hand_iris(), NULL, TRUE, NULL, 3, NA)
  values <- data.frame(variable = paste("variable", 1:200), importance = 1:200)
  out <- on_page(plot_importance(values, look), 3.5, 2.5)
  expect_lt(nrow(out), 25L)
  expect_identical(out$importance[1L], 200L)
})

test_that("plot() draws what importance() says", {
  skip_if_not(exists("importance", asNamespace("cptree")))
  fit <- hand_iris()
  out <- on_page(plot(fit, "importance"))
  expect_equal(out, as.data.frame(importance(fit))[c("variable", "importance")], ignore_attr = TRUE)
  expect_identical(nrow(on_page(plot(root_iris(), "importance"))), 4L)
})

test_that("a picture of importance", {
  skip_on_cran()
  skip_if_not_installed("vdiffr")
  look <- check_look(hand_iris(), NULL, TRUE, NULL, 3, NA)
  values <- data.frame(variable = c("a", "a much longer name", "c"), importance = c(0.2, 0.7, 0.1))
  vdiffr::expect_doppelganger("importance", function() plot_importance(values, look))
})
