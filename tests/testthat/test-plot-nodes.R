# Nodes: evidence against the plain R formula, rows against the plain R router.

test_that("the heat map is the noisy-OR of the facets", {
  fit <- hand_square()
  data <- square_data()
  out <- on_page(plot(fit, "nodes", data = data, resolution = 31))
  expect_identical(names(out), c("nodes", "grid", "boundary", "rows"))
  expect_identical(out$nodes$node, fit$tree$node)
  for (i in 1:2) {
    grid <- out$grid[out$grid$node == fit$tree$node[i], ]
    expect_identical(nrow(grid), 31L * 31L)
    k <- fit$tree$first[i] - 1L + seq_len(fit$tree$facets[i])
    z <- unname(as.matrix(grid[c("x", "y")])) %*% fit$tree$coef[, k]
    z <- sweep(z, 2L, fit$tree$intercept[k], "+")
    g <- drop(log1p(exp(z)) %*% fit$tree$r[k])
    expect_equal(grid$g, g)
    expect_equal(grid$f, 1 - exp(-g))
  }
  # Leaves have rows and no heat map.
  expect_identical(sort(unique(out$grid$node)), 1:2)
})

test_that("the boundary is where the evidence is the threshold", {
  fit <- hand_square()
  out <- on_page(plot(fit, "nodes", resolution = 301))
  for (i in 1:2) {
    at <- out$boundary[out$boundary$node == fit$tree$node[i], ]
    k <- fit$tree$first[i] - 1L + seq_len(fit$tree$facets[i])
    z <- unname(as.matrix(at[c("x", "y")])) %*% fit$tree$coef[, k]
    z <- sweep(z, 2L, fit$tree$intercept[k], "+")
    f <- 1 - exp(-drop(softplus(z) %*% fit$tree$r[k]))
    # The probability at the boundary, by hand: 1 - exp(-log(2)).
    expect_equal(f, rep(0.5, nrow(at)), tolerance = 0.02)
  }
})

test_that("a node shows the rows that arrive, and their side", {
  fit <- hand_square()
  data <- square_data()
  out <- on_page(plot(fit, "nodes", data = data, resolution = 15))
  leaf <- route(fit$tree, data[c("u", "v")])
  arrive <- c(
    list(seq_len(441L), which(leaf %in% 3:4)), lapply(3:5, function(i) which(leaf == i))
  )
  for (i in 1:5) {
    rows <- out$rows[out$rows$node == fit$tree$node[i], ]
    expect_identical(rows$row, arrive[[i]])
    expect_identical(c(rows$x, rows$y), c(data$u[arrive[[i]]], data$v[arrive[[i]]]))
  }
  expect_identical(out$nodes$rows, lengths(arrive))
  first <- out$rows[out$rows$node == 1L, ]
  expect_identical(first$side, ifelse(leaf == 5L, "outside", "inside"))
  expect_true(all(is.na(out$rows$side[out$rows$node > 2L])))
})

test_that("without data the inner nodes are shown", {
  out <- on_page(plot(hand_square(), "nodes", resolution = 15))
  expect_identical(out$nodes$node, 1:2)
  expect_identical(nrow(out$rows), 0L)
  expect_true(all(is.na(out$nodes$rows)))
  out <- on_page(
    plot(hand_square(), "nodes", node = c(2, 3), data = square_data(), resolution = 15)
  )
  expect_identical(out$nodes$node, 2:3)
})

test_that("large trees show as many nodes as are legible, from the root on", {
  fit <- big_tree(6L)
  out <- on_page(plot(fit, "nodes", resolution = 10))
  expect_identical(out$nodes$node, seq_len(nrow(out$nodes)))
  small <- on_page(plot(fit, "nodes", resolution = 10), 3.5, 2.5)
  expect_lt(nrow(small$nodes), nrow(out$nodes))
  on_page({
    boxes <- layout_nodes(fit$tree, open_canvas(NULL), NULL, FALSE)
    expect_gte(min(boxes$right - boxes$left), least_panel)
  }, 3.5, 2.5)
})

# Two facets in four columns: their plane holds all there is to know.
two_directions <- function() {
  hand_cpt(gate(cbind(c(1, 0, 2, 0), c(0, 1, 0, -3)), c(-8, 1)), Species ~ ., iris)
}

test_that("the strongest directions are orthonormal and hold the evidence", {
  fit <- two_directions()
  scale <- column_scale(fit)
  expect_equal(scale$mean, unname(colMeans(iris[1:4])))
  basis <- strong_directions(fit$tree, 1L, scale$sd)
  expect_equal(crossprod(basis), diag(2L))
  # Against svd() of the scaled facets, up to sign; the largest part is positive.
  v <- svd(t(fit$tree$coef * scale$sd))$v
  expect_equal(abs(crossprod(v, basis)), diag(2L))
  expect_true(all(apply(basis, 2L, function(b) b[which.max(abs(b))]) > 0))
  # The evidence of a projected row is that of the row itself.
  x <- as.matrix(iris[1:4])
  flat <- project_rows(x, basis, scale)
  g <- rowSums(engine_evidence(project_tree(fit$tree, basis, scale), 1L, flat, 1L))
  z <- sweep(unname(x) %*% fit$tree$coef, 2L, fit$tree$intercept, "+")
  expect_equal(g, rowSums(softplus(z)))
})

test_that("the picture of directions agrees with the rows", {
  fit <- two_directions()
  out <- on_page(plot(fit, "nodes", data = iris, resolution = 60))
  rows <- out$rows[out$rows$node == 1L, ]
  expect_identical(rows$side == "outside", rowSums(softplus(
    sweep(unname(as.matrix(iris[1:4])) %*% fit$tree$coef, 2L, fit$tree$intercept, "+")
  )) > fit$tree$threshold[1L])
  # The nearest grid point of a row is on its side, but for rows beside the boundary.
  grid <- out$grid
  near <- vapply(seq_len(150L), function(i) {
    which.min((grid$x - rows$x[i])^2 + (grid$y - rows$y[i])^2)
  }, 1L)
  agree <- (grid$g[near] > fit$tree$threshold[1L]) == (rows$side == "outside")
  expect_gt(mean(agree), 0.97)
})

test_that("a single facet takes a second direction", {
  fit <- hand_iris()
  sd <- column_scale(fit)$sd
  basis <- strong_directions(fit$tree, 1L, sd)
  expect_equal(crossprod(basis), diag(2L))
  # Node 1 splits on Petal.Length alone; the other facet adds Petal.Width.
  expect_equal(basis, cbind(c(0, 0, 1, 0), c(0, 0, 0, 1)))
  # One facet in the whole tree: the plane of the two predictors it uses most.
  one <- hand_cpt(gate(c(3, 0, 4, 0), -1), Species ~ ., iris)
  basis <- strong_directions(one$tree, 1L, rep(1, 4L))
  expect_equal(basis, cbind(c(0.6, 0, 0.8, 0), c(0.8, 0, -0.6, 0)))
  # One column has no second direction.
  one <- hand_cpt(gate(2, -1), mpg ~ wt, mtcars)
  expect_equal(strong_directions(one$tree, 1L, 0.5), cbind(1, 0))
})

test_that("directions are named by their largest parts", {
  names <- c("a", "b", "c")
  expect_identical(direction_text(c(0, 1, 0), names), "b")
  expect_identical(direction_text(c(0.6, 0, -0.8), names), "0.8 c + 0.6 a")
  expect_identical(direction_text(c(0.6, 0, -0.8) * c(1, 1, -1), names), "0.8 c + 0.6 a")
  expect_identical(direction_text(c(-0.6, 0, 0.8), names), "0.8 c - 0.6 a")
  expect_identical(direction_text(c(0.5, 0.5, 0.707), names), "0.71 c + 0.5 a + ...")
  expect_identical(direction_text(c(0, 0, 0), names), "")
})

test_that("vars show predictors, others held where asked", {
  fit <- hand_iris()
  out <- on_page(
    plot(fit, "nodes", vars = c("Petal.Width", "Petal.Length"), resolution = 12, node = 3)
  )
  expect_identical(out$nodes$xlab, "Petal.Width")
  grid <- out$grid
  expect_equal(grid$g, softplus(0.2 * grid$y + grid$x - 2.7))
  at <- list(Petal.Length = 6)
  out <- on_page(plot(fit, "nodes", vars = "Petal.Width", at = at, node = 3, resolution = 12))
  expect_equal(out$grid$g, softplus(0.2 * 6 + out$grid$x - 2.7))
  mixed <- hand_cpt(gate(c(1, 0), -1), mpg ~ wt + am, transform(mtcars, am = factor(am)))
  expect_snapshot(refusal(plot(mixed, "nodes", vars = c("wt", "am"))))
})

test_that("shades have their middle at the boundary", {
  expect_identical(evidence_shade(c(0, 1, 2, 3, 9), 2), c(0, 0.25, 0.5, 0.75, 1))
  expect_identical(evidence_shade(c(0, 1), 0), c(1, 1))
})

test_that("sparse rows are projected without making them dense", {
  x <- Matrix::rsparsematrix(50, 300, 0.05)
  y <- factor(rep(c("a", "b"), 25L))
  fit <- cpt(x, y, control = quick(), seed = 1, threads = 1)
  skip_if(length(fit$tree$node) == 1L)
  out <- on_page(plot(fit, "nodes", data = x, y = y, resolution = 12))
  dense <- on_page(plot(fit, "nodes", data = as.matrix(x), y = y, resolution = 12))
  expect_equal(out$rows, dense$rows)
})

test_that("pictures of nodes", {
  skip_on_cran()
  skip_if_not_installed("vdiffr")
  some <- square_data()[seq(1, 441, by = 7), ]
  vdiffr::expect_doppelganger("nodes of a small tree", function() {
    plot(hand_square(), "nodes", data = some, asp = 1, resolution = 15)
  })
  vdiffr::expect_doppelganger("nodes on directions", function() {
    plot(hand_iris(), "nodes", data = iris[seq(1, 150, by = 3), ], resolution = 15, node = c(1, 3))
  })
  one <- hand_cpt(gate(1, -3), mpg ~ wt, mtcars)
  vdiffr::expect_doppelganger("nodes along one predictor", function() {
    plot(one, "nodes", data = mtcars, resolution = 20)
  })
})
