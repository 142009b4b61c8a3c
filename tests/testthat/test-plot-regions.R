# Regions: the grid is what predict() says, the lines are where the plain R formula says.

# Evidence minus threshold of an inner node, and the largest excess over a face, by the
# formula of the help pages.
plain_excess <- function(fit, i, x) {
  k <- fit$tree$first[i] - 1L + seq_len(fit$tree$facets[i])
  z <- sweep(as.matrix(x) %*% fit$tree$coef[, k, drop = FALSE], 2L, fit$tree$intercept[k], "+")
  bound <- log(exp(fit$tree$threshold[i] / fit$tree$r[k]) - 1)
  list(
    boundary = rowSums(sweep(softplus(z), 2L, fit$tree$r[k], "*")) - fit$tree$threshold[i],
    face = apply(sweep(z, 2L, bound), 1L, max)
  )
}

test_that("the region plot shows what predict() says", {
  fit <- hand_square()
  out <- on_page(plot(fit, "regions", resolution = 41, xlim = c(-1, 1), ylim = c(1, -1)))
  expect_identical(names(out), c("u", "v", "node", "prediction"))
  expect_identical(nrow(out), 41L * 41L)
  expect_identical(range(out$v), c(-1, 1))
  expect_identical(out$node, unname(predict(fit, out[c("u", "v")], type = "node")))
  expect_identical(out$prediction, unname(predict(fit, out[c("u", "v")])))
})

test_that("boundaries and faces lie where the formula says", {
  fit <- hand_square()
  out <- on_page(plot(fit, "regions", resolution = 401))
  lines <- attr(out, "lines")
  expect_setequal(lines$node, 1:2)
  step <- diff(range(out$u)) / 400
  for (i in 1:2) {
    for (kind in c("boundary", "face")) {
      at <- lines[lines$node == fit$tree$node[i] & lines$kind == kind, ]
      expect_gt(nrow(at), 100)
      excess <- plain_excess(fit, i, at[c("x", "y")])[[kind]]
      # The excess changes by at most 40 a unit, so this is within a grid step.
      expect_lt(max(abs(excess)), 40 * step)
      expect_lt(stats::median(abs(excess)), 2 * step)
    }
  }
  # The triangle is drawn inside the square only.
  inner <- lines[lines$node == 2L & lines$kind == "boundary", ]
  expect_true(all(plain_excess(fit, 1L, inner[c("x", "y")])$boundary <= 40 * step))
})

test_that("a node of one facet has a boundary and no face", {
  out <- on_page(plot(hand_iris(), "regions", resolution = 40))
  expect_identical(unique(attr(out, "lines")$kind), "boundary")
})

test_that("with a fixed aspect ratio the grid covers the panel it is drawn in", {
  fit <- hand_square()
  on_page({
    graphics::layout(matrix(1:2, 1L), widths = c(1, 3))
    graphics::par(mar = c(4, 4, 2, 1))
    for (panel in 1:2) {
      out <- plot(fit, "regions", asp = 1, resolution = 20)
      user <- graphics::par("usr")
      expect_equal(range(out$u), user[1:2])
      expect_equal(range(out$v), user[3:4])
      unit <- graphics::par("pin") / c(diff(user[1:2]), diff(user[3:4]))
      expect_equal(unit[1L], unit[2L])
    }
  })
})

test_that("axes show the training range, or the range of the data", {
  fit <- hand_square()
  out <- on_page(plot(fit, "regions", resolution = 20))
  expect_equal(range(out$u), c(-1.06, 1.06))
  out <- on_page(plot(fit, "regions", data = data.frame(u = c(0, 2), v = c(0, 1)), resolution = 20))
  expect_equal(range(out$u), c(-0.06, 2.06))
  # A column that enters by a transformation only.
  fit <- hand_cpt(gate(1, -2.7), dist ~ log(speed), cars)
  out <- on_page(plot(fit, "regions", resolution = 20))
  width <- diff(range(cars$speed))
  expect_equal(range(out$speed), range(cars$speed) + c(-0.03, 0.03) * width, tolerance = 1e-4)
  # A model of version 0.1.0 has no ranges: the splits must be seen.
  old <- hand_square()
  old$predictors <- NULL
  out <- on_page(plot(old, "regions", resolution = 30))
  expect_setequal(out$node, c(3L, 4L, 5L))
})

test_that("other predictors are held at training medians, or where asked", {
  fit <- hand_iris()
  shown <- c("Sepal.Width", "Petal.Length")
  out <- on_page(plot(fit, "regions", vars = shown, data = iris, resolution = 20))
  full <- cbind(out[shown], Sepal.Length = stats::median(iris$Sepal.Length),
    Petal.Width = stats::median(iris$Petal.Width))
  expect_identical(out$node, predict(fit, full, type = "node"))
  at <- list(Petal.Width = 2.5)
  out <- on_page(plot(fit, "regions", vars = shown, data = iris, resolution = 20, at = at))
  full$Petal.Width <- 2.5
  expect_identical(out$node, predict(fit, full, type = "node"))
  expect_false(all(out$node %in% c(2L, 6L)))
})

test_that("the default predictors are the two the facets rely on", {
  expect_setequal(axis_vars(hand_iris(), NULL, "regions"), c("Petal.Length", "Petal.Width"))
  expect_identical(axis_vars(hand_square(), NULL, "regions"), c("u", "v"))
  # Coefficients in other units count the same.
  data <- transform(iris, Petal.Length = Petal.Length * 1e6)
  small <- hand_cpt(
    gate(c(0, 0, 1e-6, 0), -2.5, outside = gate(c(1e-4, 0, 0, 1), -1.7)), Species ~ ., data
  )
  expect_setequal(axis_vars(small, NULL, "regions"), c("Petal.Length", "Petal.Width"))
  # Terms count for the columns they are made of; factors come last.
  data <- transform(mtcars, gear = factor(gear))
  made <- hand_cpt(gate(c(0, 9, 9, 9, 1), -1), mpg ~ hp + gear + log(wt), data)
  expect_identical(axis_vars(made, NULL, "regions"), c("wt", "hp"))
})

test_that("a wide matrix gives the same regions through a narrow one", {
  x <- matrix(steady(200L * 150L), 200L, dimnames = list(NULL, paste0("p", 1:150)))
  x <- x[, order((1:150 * 37L) %% 151L)]
  y <- factor(ifelse(x[, 1L] + x[, 2L] > 0.1, "a", "b"))
  fit <- cpt(x, y, control = quick(), seed = 1, threads = 1)
  vars <- colnames(x)[1:2]
  out <- on_page(plot(fit, "regions", vars = vars, at = list(p9 = 0.3), resolution = 15))
  full <- matrix(apply(x, 2L, stats::median), nrow(out), 150L, byrow = TRUE,
    dimnames = list(NULL, colnames(x)))
  full[, "p9"] <- 0.3
  full[, vars] <- as.matrix(out[vars])
  expect_identical(out$node, predict(fit, full, type = "node"))
  sparse <- cpt(Matrix::Matrix(x, sparse = TRUE), y, control = quick(), seed = 1, threads = 1)
  again <- on_page(plot(sparse, "regions", vars = vars, at = list(p9 = 0.3), resolution = 15,
    data = Matrix::Matrix(x, sparse = TRUE), y = y, xlim = range(out[[1L]]),
    ylim = range(out[[2L]])))
  expect_identical(again[vars], out[vars])
})

test_that("one predictor is drawn along it", {
  fit <- hand_cpt(gate(1, -3), mpg ~ wt, mtcars)
  out <- on_page(plot(fit, "regions", data = mtcars))
  expect_identical(names(out), c("wt", "node", "prediction"))
  expect_identical(out$prediction, unname(predict(fit, out["wt"])))
  # Inside is wt - 3 <= 0, since log(1 + exp(0)) is the threshold.
  expect_equal(attr(out, "lines")$x, 3, tolerance = 0.002)
  bands <- plot_data_bands(fit, list(kind = "numeric", limits = c(0, 10)),
    list(value = list(c(2, 2.8, 3.2, 4)), leaf = c(2L, 2L, 3L, 3L)))
  expect_identical(bands[c("leaf", "xmin", "xmax")],
    data.frame(leaf = 2:3, xmin = c(0, 3), xmax = c(3, 10)))
  classes <- hand_cpt(gate(1, -3), am ~ wt, transform(mtcars, am = factor(am)))
  out <- on_page(plot(classes, "regions", data = transform(mtcars, am = factor(am))))
  expect_setequal(out$node, 2:3)
})

test_that("factors, logical columns and dates are axes too", {
  data <- transform(mtcars, gear = factor(gear), am = am == 1, day = as.Date("2024-01-01") + hp)
  both <- hand_cpt(gate(c(1, 0, 0, 2), -0.5), mpg ~ gear + am, data)
  out <- on_page(plot(both, "regions", data = data))
  expect_identical(nrow(out), 6L)
  expect_identical(out$gear, factor(rep(c("3", "4", "5"), 2L)))
  expect_identical(out$am, rep(c(FALSE, TRUE), each = 3L))
  expect_identical(out$node, predict(both, out, type = "node"))
  # TRUE stands at 2, FALSE at 1.
  points <- axis_points(both, c("gear", "am"), list(data = data))
  expect_identical(points$value$am, data$am + 1)
  expect_identical(points$value$gear, as.double(as.integer(data$gear)))
  dates <- hand_cpt(gate(c(0.1, 1), -1980), mpg ~ day + wt, data)
  out <- on_page(plot(dates, "regions", data = data, resolution = 20))
  expect_s3_class(out$day, "Date")
  expect_identical(out$node, predict(dates, out, type = "node"))
})

test_that("edges beside a factor separate the leaves", {
  fit <- hand_cpt(gate(c(1, 2, 0, 0), -3.5), mpg ~ wt + factor(gear), mtcars)
  value <- list(c(1, 2, 3), c(1, 2))
  lines <- edge_lines(value, c(2L, 3L, 3L, 2L, 2L, 3L), fit$tree)
  # By hand: 1.5 is an edge in row 1, 2.5 in row 2, and 1.5 to 2.5 between the rows.
  pieces <- lapply(split(lines[c("x", "y")], lines$piece), as.list)
  expect_setequal(unname(pieces), list(
    list(x = c(1.5, 1.5), y = c(0.5, 1.5)), list(x = c(2.5, 2.5), y = c(1.5, 2.5)),
    list(x = c(1.5, 2.5), y = c(1.5, 1.5))
  ))
  expect_identical(unique(lines$node), 1L)
})

test_that("rows of the data have the outcome the tree has", {
  fit <- hand_iris()
  expect_identical(row_outcome(fit, iris, NULL), as.character(iris$Species))
  expect_identical(row_outcome(fit, iris[1:4], NULL), NULL)
  expect_identical(row_outcome(fit, iris[1:4], iris$Species), as.character(iris$Species))
  log <- hand_cpt(gate(1, -3), log(mpg) ~ wt, mtcars)
  expect_equal(row_outcome(log, mtcars, NULL), log(mtcars$mpg))
  # Rows with gaps are left out.
  gaps <- iris
  gaps$Petal.Width[3L] <- NA
  points <- axis_points(fit, c("Petal.Length", "Petal.Width"), list(data = gaps))
  expect_identical(points$keep, setdiff(1:150, 3L))
  expect_identical(points$value$Petal.Width, iris$Petal.Width[-3L])
})

test_that("a recipe's columns are the axes, and data is prepared by it", {
  skip_if_not_installed("recipes")
  rec <- recipes::recipe(Species ~ ., iris)
  rec <- recipes::step_pca(rec, recipes::all_predictors(), num_comp = 2)
  fit <- cpt(rec, iris, control = quick(), seed = 1, threads = 1)
  out <- on_page(plot(fit, "regions", data = iris, resolution = 15))
  expect_identical(names(out)[1:2], c("PC1", "PC2"))
  expect_setequal(unique(out$node), unique(predict(fit, iris, type = "node")))
})

test_that("pictures of regions", {
  skip_on_cran()
  skip_if_not_installed("vdiffr")
  some <- square_data()[seq(1, 441, by = 7), ]
  vdiffr::expect_doppelganger("regions of classes", function() {
    plot(hand_square(), "regions", data = some, asp = 1, resolution = 22)
  })
  vdiffr::expect_doppelganger("regions of numbers", function() {
    plot(hand_cars(), "regions", data = mtcars, resolution = 20, main = "mpg")
  })
  one <- hand_cpt(gate(1, -3), mpg ~ wt, mtcars)
  vdiffr::expect_doppelganger("regions along one predictor", function() {
    plot(one, "regions", data = mtcars)
  })
})

test_that("linear leaves are drawn as they predict", {
  fit <- cpt(mpg ~ wt, mtcars, leaf = "linear", control = quick(), seed = 1, threads = 1)
  out <- on_page(plot(fit, "regions", data = mtcars, resolution = 50))
  expect_identical(out$prediction, unname(predict(fit, out["wt"])))
  expect_gt(length(unique(out$prediction)), sum(fit$tree$left == 0L))
  steps <- plot_data_steps(
    plot_data_bands(fit, list(kind = "numeric", limits = range(out$wt)),
      list(value = list(out$wt), leaf = match(out$node, fit$tree$node))),
    list(value = list(out$wt), frame = out)
  )
  expect_true(all(out$prediction %in% steps$y))
  # Through a narrow copy of a wide tree, too.
  x <- matrix(steady(200L * 150L), 200L, dimnames = list(NULL, paste0("p", 1:150)))
  x <- x[, order((1:150 * 37L) %% 151L)]
  wide <- cpt(x, x[, 1L] + x[, 2L], leaf = "linear", control = quick(), seed = 1, threads = 1)
  vars <- colnames(x)[1:2]
  out <- on_page(plot(wide, "regions", vars = vars, resolution = 12))
  full <- matrix(apply(x, 2L, stats::median), nrow(out), 150L, byrow = TRUE,
    dimnames = list(NULL, colnames(x)))
  full[, vars] <- as.matrix(out[vars])
  expect_equal(out$prediction, unname(predict(wide, full)))
})
