# Facets: the numbers drawn are the tree's own.

test_that("facets are drawn with their coefficients", {
  fit <- hand_cars()
  out <- on_page(plot(fit, "facets"))
  expect_identical(names(out), c("node", "facet", "weight", "column", "coefficient", "relative"))
  expect_identical(out$node, c(1L, 1L, 2L, 2L))
  expect_identical(as.character(out$column), c("wt", "hp", "wt", "hp"))
  expect_identical(out$coefficient, c(1, 0, -1, -0.01))
  sd <- function(v) sqrt(mean((v - mean(v))^2))
  by <- c(sd(mtcars$wt), 0.01 * sd(mtcars$hp))
  expect_equal(out$relative, c(1, 0, -by / max(by)))
})

test_that("node chooses the facets, in the order asked for", {
  fit <- hand_square()
  expect_identical(unique(on_page(plot(fit, "facets", node = 2))$node), 2L)
  out <- on_page(plot(fit, "facets", node = c(2, 1)))
  expect_identical(unique(out$node), c(2L, 1L))
  expect_identical(nrow(out), (3L + 4L) * 2L)
  expect_identical(out$coefficient[out$node == 1L], as.vector(fit$tree$coef[, 1:4]))
})

test_that("predictors without room are left out, smallest first", {
  b <- c(5, -7, rep(0.1, 298))
  data <- as.data.frame(matrix(steady(20L * 300L), 20L))
  data$y <- steady(20L)
  fit <- hand_cpt(gate(b, -1), y ~ ., data)
  out <- on_page(plot(fit, "facets"), 3.5, 2.5)
  expect_lt(nrow(out), 30L)
  expect_identical(as.character(out$column[1:2]), c("V1", "V2"))
})

test_that("images have their pixels row by row", {
  data <- as.data.frame(matrix(steady(60L), 10L))
  data$y <- factor(rep(c("a", "b"), 5L))
  fit <- hand_cpt(gate(cbind(c(1, 2, 3, 4, 5, -6), c(0, 0, 0, 0, 0, 0)), c(0, -1)), y ~ ., data)
  out <- on_page(plot(fit, "facets", image_dim = c(2, 3)))
  expect_identical(out$row[1:6], c(1L, 1L, 1L, 2L, 2L, 2L))
  expect_identical(out$col[1:6], c(1L, 2L, 3L, 1L, 2L, 3L))
  # Not scaled by the columns, relative to the largest of the image; a facet of zeros is 0.
  expect_equal(out$relative, c(c(1, 2, 3, 4, 5, -6) / 6, rep(0, 6)))
})

test_that("a tree without facets has none to draw", {
  out <- on_page(plot(root_iris(), "facets"))
  expect_identical(nrow(out), 0L)
})

test_that("pictures of facets", {
  skip_on_cran()
  skip_if_not_installed("vdiffr")
  vdiffr::expect_doppelganger("facets", function() plot(hand_iris(), "facets"))
  data <- as.data.frame(matrix(steady(160L), 10L))
  data$y <- factor(rep(c("a", "b"), 5L))
  fit <- hand_cpt(gate(cbind(-7:8, (1:16)^2), c(0, -1)), y ~ ., data)
  vdiffr::expect_doppelganger("facets as images", function() {
    plot(fit, "facets", image_dim = c(4, 4))
  })
})
