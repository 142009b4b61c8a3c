# History: every value that the engine recorded is drawn, and nothing else.

made_history <- function() {
  data.frame(
    stage = rep(c("grow", "refine"), c(2L, 3L)), epoch = c(0L, 1L, 1:3),
    lambda = c(6, 6, 0.5, 2, 6), loss = c(0.7, 0.4, 0.5, 0.3, 0.2),
    hard_loss = c(0.7, 0.4, NA, NA, 0.1), valid_loss = c(0.8, 0.5, NA, NA, 0.3),
    seconds = 0
  )
}

test_that("the history has a row per value", {
  fit <- hand_square()
  fit$history <- made_history()
  out <- on_page(plot(fit, "history"))
  expect_identical(names(out), c("stage", "epoch", "measure", "value"))
  expect_identical(levels(out$stage), c("grow", "refine"))
  expect_identical(out$value[out$measure == "loss"], fit$history$loss)
  expect_identical(out$value[out$measure == "hard_loss"], c(0.7, 0.4, 0.1))
  expect_identical(out$epoch[out$measure == "valid_loss"], c(0L, 1L, 3L))
  expect_identical(out$value[out$measure == "lambda"], fit$history$lambda)
})

test_that("a loss over several orders of magnitude has a logarithmic axis", {
  expect_true(loss_is_wide(c(1, 0.01)))
  expect_false(loss_is_wide(c(1, 0.1)))
  expect_false(loss_is_wide(c(1, 0)))
  expect_false(loss_is_wide(double()))
})

test_that("a fit's own history is drawn, and a missing one is not an error", {
  fit <- cpt(Species ~ ., iris, control = quick(), seed = 1, threads = 1)
  out <- on_page(plot(fit, "history"), 3.5, 2.5)
  expect_identical(sum(out$measure == "loss"), sum(is.finite(fit$history$loss)))
  expect_identical(nrow(on_page(plot(hand_square(), "history"))), 0L)
})

test_that("a picture of a history", {
  skip_on_cran()
  skip_if_not_installed("vdiffr")
  fit <- hand_square()
  fit$history <- made_history()
  vdiffr::expect_doppelganger("history", function() plot(fit, "history", main = "training"))
})
