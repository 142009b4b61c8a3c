# What all pictures share: colours, checks, and that nothing is left behind.

test_that("a plot leaves par() as it was", {
  on_page({
    before <- graphics::par(no.readonly = TRUE)[c("mar", "xpd", "mgp", "cex", "tcl")]
    for (type in plot_types) {
      plot(hand_square(), type, data = square_data(), resolution = 15)
      expect_identical(graphics::par(no.readonly = TRUE)[names(before)], before)
    }
  })
  # Also where the margins are made smaller.
  on_page({
    before <- graphics::par("mar", "mgp", "tcl")
    plot(hand_square(), "regions", resolution = 15)
    expect_identical(graphics::par("mar", "mgp", "tcl"), before)
  }, 3.5, 2.5)
})

test_that("all types draw all kinds of trees at all kinds of sizes", {
  data <- transform(mtcars, gear = factor(gear), am = am == 1)
  fits <- list(
    hand_iris(), hand_cars(), root_iris(), root_cars(), big_tree(6L), big_tree(6L, 0L),
    big_tree(5L, 100L), big_tree(3L, 2L, c(strrep("long name ", 20L), "b")),
    hand_cpt(gate(1, -3), mpg ~ wt, mtcars), hand_cpt(gate(c(1, 1, 0), -0.5), am ~ gear, data),
    hand_cpt(gate(c(1, 0, 0, 0, 0, 0.1), -3), mpg ~ wt + gear + am + hp, data)
  )
  for (fit in fits) {
    inner <- sum(fit$tree$left > 0L)
    for (size in list(c(7, 5), c(3.5, 2.5))) {
      for (type in plot_types) {
        out <- on_page(
          expect_silent(plot(fit, type, main = "title", resolution = 15)), size[1L], size[2L]
        )
        if (type == "tree") {
          expect_identical(nrow(out), length(fit$tree$node))
          expect_false(anyNA(out$x) || anyNA(out$y))
        }
        if (type == "regions") expect_true(all(out$node %in% fit$tree$node[fit$tree$left == 0L]))
        if (type == "nodes") {
          # from the root down, as many as are legible; a lone root shows itself
          shown <- out$nodes$node
          of <- if (inner) sort(fit$tree$node[fit$tree$left > 0L]) else 1L
          expect_identical(shown, of[seq_along(shown)])
          expect_gte(length(shown), min(inner, 3L))
        }
        if (type == "facets") expect_identical(nrow(out) > 0L, inner > 0L)
        if (type == "history") expect_identical(nrow(out), nrow(fit$history))
        if (type == "importance") expect_setequal(out$variable, importance(fit)$variable)
      }
    }
  }
})

test_that("trees draw on square and on wide pages too", {
  for (fit in list(hand_iris(), hand_cars(), root_cars(), big_tree(6L), big_tree(5L, 100L))) {
    for (size in list(c(3.5, 3.5), c(12, 3))) {
      out <- on_page(plot(fit, main = "title"), size[1L], size[2L])
      expect_identical(nrow(out), length(fit$tree$node))
      expect_false(anyNA(out$x) || anyNA(out$y))
    }
  }
})

test_that("regions have a grid of the resolution asked for, in the units of the data", {
  for (fit in list(hand_cars(), root_cars(), big_tree(5L, 100L), big_tree(4L, 0L))) {
    for (size in list(c(7, 5), c(3.5, 2.5))) {
      out <- on_page(plot(fit, "regions", resolution = 15, main = "title", asp = 1), size[1L], size[2L])
      expect_identical(nrow(out), 225L)
      expect_true(all(is.finite(as.matrix(out[1:2]))))
    }
  }
  out <- on_page(plot(root_iris(), "regions", data = iris, resolution = 15))
  expect_identical(unique(out$node), 1L)
  # Coordinates of the plot are those of the data, so points can be added.
  on_page({
    graphics::par(mar = c(4, 4, 3, 1))
    out <- plot(hand_square(), "regions", resolution = 15)
    expect_equal(graphics::par("usr"), c(range(out$u), range(out$v)))
  })
})

test_that("plot() returns its data invisibly", {
  for (type in plot_types) on_page(expect_invisible(plot(hand_square(), type, resolution = 15)))
})

test_that("long labels are cut to the room they have", {
  on_page({
    graphics::plot.new()
    text <- c("short", strrep("very long name ", 10L))
    cut <- shorten(text, 1, 0.8)
    expect_identical(cut[1L], "short")
    expect_match(cut[2L], "^very long.*\\.\\.\\.$")
    expect_true(all(graphics::strwidth(cut, "inches", 0.8) <= 1))
    # Names that begin alike are still told apart.
    cut <- shorten(paste("the class of number", 1:9), 0.8, 0.8)
    expect_identical(anyDuplicated(cut), 0L)
    expect_match(cut, "^the.*\\.\\.\\..*[1-9]$")
  })
})

test_that("ticks do not touch and lie within the limits", {
  on_page({
    graphics::plot.new()
    for (room in c(0.2, 0.5, 1, 3)) {
      for (limits in list(c(0, 1), c(-1e6, 1e6), c(0.12, 0.13), c(-3, 2000))) {
        ticks <- fit_ticks(limits, room, 0.7)
        expect_gte(length(ticks$at), 1L)
        expect_true(all(ticks$at >= limits[1L] & ticks$at <= limits[2L]))
        if (length(ticks$at) > 1L) {
          step <- min(diff(ticks$at)) / diff(limits) * room
          expect_true(all(graphics::strwidth(ticks$labels, "inches", 0.7) < step))
        }
      }
    }
  })
})

test_that("colours: enough of them, and yours if given", {
  expect_length(unique(class_palette(8L)), 8L)
  expect_length(unique(class_palette(100L)), 100L)
  expect_identical(leaf_colours(hand_iris(), c("red", "green", "blue"))$node[4L], "green")
  expect_identical(lighten(c("#FF0000", "#FF0000"), c(0, 1)), c("#FFFFFF", "#FF0000"))
})

test_that("numbers are shaded from the smallest to the largest prediction", {
  fit <- hand_cars()
  look <- leaf_colours(fit, NULL)
  leaf <- fit$tree$left == 0L
  expect_identical(look$range, range(fit$tree$value[leaf, 1L]))
  expect_identical(shade_number(c(-Inf, look$range, Inf), look$range), c(1L, 1L, 64L, 64L))
  expect_identical(look$key[c(1L, 64L)], look$node[match(look$range, fit$tree$value[, 1L])])
  # Without a spread there is one shade.
  expect_identical(shade_number(c(1, 1), c(1, 1)), c(32L, 32L))
})

test_that("what cannot be drawn is refused", {
  fit <- hand_iris()
  expect_snapshot({
    refusal(plot(fit, type = "region"))
    refusal(plot(fit, colour = "red"))
    refusal(plot(fit, palette = c("red", "blue")))
    refusal(plot(fit, palette = "no such colour"))
    refusal(plot(fit, legend = "top"))
    refusal(plot(fit, main = 1:2))
    refusal(plot(fit, digits = 0))
    refusal(plot(fit, asp = 0))
    refusal(plot(fit, "regions", vars = 1:2))
    refusal(plot(fit, "regions", vars = c("Petal.Length", "Species")))
    refusal(plot(fit, "regions", at = list(Petal.Depth = 1)))
    refusal(plot(fit, "regions", at = 1))
    refusal(plot(fit, "regions", xlim = 1))
    refusal(plot(fit, "regions", resolution = 1))
    refusal(plot(fit, "regions", data = 1:3))
    refusal(plot(fit, "regions", data = iris[1:3]))
    refusal(plot(fit, "regions", data = iris, y = 1:3))
    refusal(plot(fit, "regions", data = transform(iris, Petal.Width = "a")))
    refusal(plot(fit, "nodes", node = 99))
    refusal(plot(fit, "nodes", node = "root"))
    refusal(plot(fit, "nodes", data = iris[1:3]))
    refusal(plot(fit, "facets", node = 2))
    refusal(plot(fit, "facets", image_dim = c(28, 28)))
    refusal(plot(fit, "facets", image_dim = 4))
  })
})
