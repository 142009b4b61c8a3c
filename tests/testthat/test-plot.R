# Plots: what they return, that labels never overlap, and that nothing fails at odd
# sizes. How they look is judged by eye, not here.

test_that("the tree plot returns one row per node", {
  fit <- hand_square()
  out <- on_page(plot(fit))
  expect_identical(out$node, fit$tree$node)
  expect_identical(out$label[1L], "4 facets, n = 441")
  expect_identical(out$label[out$is_leaf], c("core, n = 9", "in, n = 72", "out, n = 360"))
  # Parents stand above and between their children.
  for (i in which(!out$is_leaf)) {
    kids <- c(fit$tree$left[i], fit$tree$right[i])
    expect_equal(out$x[i], mean(out$x[kids]))
    expect_true(all(out$y[kids] < out$y[i]))
  }
  on_page(expect_invisible(plot(fit)))
})

test_that("all kinds of trees draw at all kinds of sizes", {
  fits <- list(
    hand_iris(), hand_cars(), root_iris(), root_cars(), big_tree(6L), big_tree(6L, 0L),
    big_tree(5L, 100L), big_tree(3L, 2L, c(strrep("long name ", 20L), "b"))
  )
  for (fit in fits) {
    for (size in list(c(7, 5), c(3.5, 3.5), c(3.5, 2.5), c(12, 3))) {
      out <- on_page(plot(fit, main = "title"), size[1L], size[2L])
      expect_identical(nrow(out), length(fit$tree$node))
      expect_false(anyNA(out$x) || anyNA(out$y))
    }
  }
})

test_that("labels of 64 leaves do not overlap", {
  for (size in list(c(7, 5), c(3.5, 3.5))) {
    on_page({
      room <- open_canvas(NULL)
      fit <- big_tree(6L)
      place <- place_leaves(fit, room, room$top, 3)
      expect_identical(place$style, "upright")
      # Neighbours in one band are at least a line of text apart.
      glyph <- graphics::strheight("Mg", units = "inches", cex = place$cex)
      expect_gte(place$bands * place$step, glyph)
      expect_gte(place$cex, min_cex)
      expect_true(all(graphics::strwidth(place$drawn, "inches", place$cex) <= place$band))
      place <- place_nodes(fit$tree, place, room$top)
      noted <- draw_node_labels(fit$tree, place)
      for (depth in 0:5) {
        at <- which(fit$tree$depth == depth & fit$tree$left > 0L)
        left <- place$x[at] - noted$half[at]
        right <- place$x[at] + noted$half[at]
        expect_true(all(left[-1L] >= right[-length(right)]))
      }
    }, size[1L], size[2L])
  }
})

test_that("long labels are cut to the room they have", {
  on_page({
    graphics::plot.new()
    text <- c("short", strrep("very long name ", 10L))
    cut <- shorten(text, 1, 0.8)
    expect_identical(cut[1L], "short")
    expect_match(cut[2L], "^very long.*\\.\\.\\.$")
    expect_true(all(graphics::strwidth(cut, "inches", 0.8) <= 1))
  })
})

test_that("the region plot shows what predict() says", {
  fit <- hand_square()
  out <- on_page(plot(fit, "regions", resolution = 41, xlim = c(-1, 1), ylim = c(1, -1)))
  expect_identical(names(out), c("u", "v", "node", "prediction"))
  expect_identical(nrow(out), 41L * 41L)
  expect_identical(range(out$v), c(-1, 1))
  expect_identical(out$node, unname(predict(fit, out[c("u", "v")], type = "node")))
  expect_identical(out$prediction, unname(predict(fit, out[c("u", "v")])))
})

test_that("other predictors are held at training medians, or where asked", {
  fit <- hand_iris()
  shown <- c("Sepal.Width", "Petal.Length")
  out <- on_page(plot(fit, "regions", vars = shown, data = iris, resolution = 20))
  full <- cbind(out[shown], Sepal.Length = stats::median(iris$Sepal.Length), Petal.Width = stats::median(iris$Petal.Width))
  expect_identical(out$node, predict(fit, full, type = "node"))
  out <- on_page(plot(fit, "regions", vars = shown, data = iris, resolution = 20, at = list(Petal.Width = 2.5)))
  full$Petal.Width <- 2.5
  expect_identical(out$node, predict(fit, full, type = "node"))
  expect_false(all(out$node %in% c(2L, 6L)))
})

test_that("the default predictors are the two the facets rely on", {
  fit <- hand_iris()
  expect_setequal(region_vars(fit, NULL, NULL), c("Petal.Length", "Petal.Width"))
  expect_identical(region_vars(hand_square(), NULL, NULL), c("u", "v"))
  # In other units, `data` puts the coefficients on one scale.
  data <- transform(iris, Petal.Length = Petal.Length * 1e6)
  small <- hand_cpt(
    gate(c(0, 0, 1e-6, 0), -2.5, outside = gate(c(1e-4, 0, 0, 1), -1.7)), Species ~ ., data
  )
  expect_setequal(region_vars(small, NULL, data), c("Petal.Length", "Petal.Width"))
})

test_that("ranges without data show where the splits are", {
  out <- on_page(plot(hand_square(), "regions", resolution = 30))
  expect_setequal(unique(out$node), c(3L, 4L, 5L))
  expect_true(all(is.finite(out$u)))
})

test_that("regions draw for factors, many classes, means and single leaves", {
  data <- transform(mtcars, gear = factor(gear), am = am == 1)
  mixed <- hand_cpt(gate(c(1, 0, 0, 0, 0, 0.1), -3), mpg ~ wt + gear + am + hp, data)
  for (fit in list(mixed, root_cars(), hand_cars(), big_tree(5L, 100L), big_tree(4L, 0L))) {
    for (size in list(c(7, 5), c(3.5, 2.5))) {
      out <- on_page(plot(fit, "regions", resolution = 15, main = "title", asp = 1), size[1L], size[2L])
      expect_identical(nrow(out), 225L)
    }
  }
  on_page(expect_silent(plot(mixed, "regions", data = data, resolution = 15, legend = FALSE)))
  out <- on_page(plot(root_iris(), "regions", data = iris, resolution = 15))
  expect_identical(unique(out$node), 1L)
})

test_that("a plot leaves par() as it was", {
  on_page({
    graphics::par(mar = c(4, 4, 3, 1))
    before <- graphics::par(c("mar", "xpd", "mgp", "cex"))
    plot(hand_square())
    plot(hand_square(), "regions", resolution = 15)
    expect_identical(graphics::par(c("mar", "xpd", "mgp", "cex")), before)
    # Coordinates of the plot are those of the data, so points can be added.
    expect_true(diff(graphics::par("usr")[1:2]) < 5)
  })
})

test_that("colours: enough of them, and yours if given", {
  expect_length(unique(class_palette(8L)), 8L)
  expect_length(unique(class_palette(100L)), 100L)
  expect_identical(leaf_colours(hand_iris(), c("red", "green", "blue"))$node[4L], "green")
  expect_identical(lighten(c("#FF0000", "#FF0000"), c(0, 1)), c("#FFFFFF", "#FF0000"))
})

test_that("what cannot be drawn is refused", {
  fit <- hand_iris()
  one <- hand_cpt(gate(1, -3), mpg ~ wt, mtcars)
  expect_snapshot({
    refusal(plot(fit, type = "region"))
    refusal(plot(fit, colour = "red"))
    refusal(plot(fit, palette = c("red", "blue")))
    refusal(plot(fit, palette = "no such colour"))
    refusal(plot(fit, legend = "top"))
    refusal(plot(fit, main = 1:2))
    refusal(plot(fit, digits = 0))
    refusal(plot(one, "regions"))
    refusal(plot(fit, "regions", vars = "Petal.Length"))
    refusal(plot(fit, "regions", vars = c("Petal.Length", "Species")))
    refusal(plot(fit, "regions", at = list(Petal.Depth = 1)))
    refusal(plot(fit, "regions", at = 1))
    refusal(plot(fit, "regions", xlim = 1))
    refusal(plot(fit, "regions", resolution = 1))
    refusal(plot(fit, "regions", data = 1:3))
    refusal(plot(fit, "regions", data = iris[1:3]))
    refusal(plot(fit, asp = 0))
  })
})
