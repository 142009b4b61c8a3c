# ggplot2 versions: the same data, drawn without a warning, with text that fits.

skip_if_not_installed("ggplot2")

built <- function(plot) ggplot2::ggplot_build(plot)$data

test_that("all types draw all kinds of trees at all kinds of sizes", {
  data <- transform(mtcars, gear = factor(gear), am = am == 1)
  fits <- list(
    hand_iris(), hand_cars(), root_iris(), root_cars(), big_tree(6L), big_tree(3L, 0L),
    big_tree(4L, 100L), big_tree(2L, 2L, c(strrep("long name ", 20L), "b")),
    hand_cpt(gate(1, -3), mpg ~ wt, mtcars), hand_cpt(gate(c(1, 1, 0), -0.5), am ~ gear, data)
  )
  for (fit in fits) {
    for (type in plot_types) {
      made <- ggplot2::autoplot(fit, type, main = "title", resolution = 12)
      expect_s3_class(made, "ggplot")
      expect_silent(on_page(print(made), 3.5, 2.5))
    }
  }
})

test_that("the tree shows the same bars as plot()", {
  fit <- hand_iris()
  parts <- built(ggplot2::autoplot(fit))
  bars <- Filter(function(d) !is.null(d$fill) && any(d$fill %in% okabe_ito), parts)[[1L]]
  leaves <- plot_data_leaves(fit, "bars")
  expect_equal(nrow(bars), nrow(leaves))
  expect_identical(bars$fill, okabe_ito[as.integer(leaves$class)])
  # Heights are the probabilities, to scale.
  tall <- bars$ymax - bars$ymin
  expect_equal(tall / max(tall), leaves$prob / max(leaves$prob))
})

test_that("regions show what predict() says, in the colours of the classes", {
  fit <- hand_square()
  raster <- built(ggplot2::autoplot(fit, "regions", resolution = 15, data = square_data()))[[1L]]
  rows <- data.frame(u = raster$x, v = raster$y)
  expect_identical(raster$fill, okabe_ito[as.integer(predict(fit, rows))])
  expect_identical(raster$alpha, region_strength(fit)[route(fit$tree, rows)])
})

test_that("nodes show the evidence that plot() returns", {
  fit <- hand_square()
  made <- ggplot2::autoplot(fit, "nodes", resolution = 12, data = square_data())
  drawn <- on_page(plot(fit, "nodes", resolution = 12, node = 1:2, data = square_data()))
  expect_equal(made$layers[[1L]]$data$g, drawn$grid$g[drawn$grid$node == 1L])
  expect_equal(made$layers[[2L]]$data$g, drawn$grid$g[drawn$grid$node == 2L])
  expect_equal(nrow(made$layers[[3L]]$data), nrow(drawn$rows))
})

test_that("text is left out rather than drawn over other text", {
  on_page({
    grid::grid.newpage()
    styles <- list(
      c("8 facets\nn = 3000", "2 facets\nn = 10"), c("8 facets", "2 facets"), c("8", "2")
    )
    size <- function(fit) list(wide = fit$need$wide * fit$size, tall = fit$need$tall * fit$size)
    for (room in c(2, 0.5, 0.3, 0.12, 0.02)) {
      fit <- fit_styles(styles, c(room, room), c(room, room), 9, turn = FALSE)
      if (room == 2) expect_identical(fit$text, styles[[1L]])
      if (room == 0.02) expect_null(fit)
      if (!is.null(fit)) expect_true(all(size(fit)$wide <= room & size(fit)$tall <= room))
    }
    # Upright where that has room, and cut where nothing else helps.
    narrow <- c(0.12, 0.12)
    fit <- fit_styles(list(c("class one, n = 3", "class two, n = 4")), narrow, c(2, 2), 8, TRUE)
    expect_true(fit$turned)
    alike <- list(c("the class number 1", "the class number 2"))
    fit <- fit_styles(alike, narrow, c(0.5, 0.5), 8, TRUE)
    expect_match(fit$text, "\\.\\.\\.")
    expect_identical(anyDuplicated(fit$text), 0L)
    expect_true(all(size(fit)$wide <= 0.5))
  })
})

test_that("64 leaves are labelled at both sizes", {
  made <- ggplot2::autoplot(big_tree(6L))
  for (size in list(c(7, 5), c(3.5, 2.5))) {
    on_page({
      print(made)
      grid::grid.force()
      grobs <- grid::grid.get("cpt_fit_text", grep = TRUE, global = TRUE)
      labels <- unlist(lapply(grobs, function(g) lapply(g$children, function(k) k$label)))
      expect_identical(sum(grepl("^class [1-4]", labels)), 64L)
      # Inner nodes by their number of facets at least.
      expect_identical(sum(grepl("^[0-9]+( facet|$)", labels)), 63L)
    }, size[1L], size[2L])
  }
})

test_that("arguments are checked as in plot()", {
  expect_snapshot({
    refusal(ggplot2::autoplot(hand_iris(), type = "leaf"))
    refusal(ggplot2::autoplot(hand_iris(), colour = "red"))
    refusal(ggplot2::autoplot(hand_iris(), "nodes", node = 99))
  })
})

test_that("pictures of ggplots", {
  skip_on_cran()
  skip_if_not_installed("vdiffr")
  # Other versions of ggplot2 draw axes and legends in other ways.
  version <- utils::packageVersion("ggplot2")
  skip_if_not(version >= "3.4.0" && version < "3.5.0", "ggplot2 3.4")
  some <- square_data()[seq(1, 441, by = 7), ]
  same <- vdiffr::expect_doppelganger
  same("ggplot tree of classes", ggplot2::autoplot(hand_iris()))
  same("ggplot tree of numbers", ggplot2::autoplot(hand_cars()))
  same("ggplot tree of 64 leaves", ggplot2::autoplot(big_tree(6L)))
  square <- function(type) {
    ggplot2::autoplot(hand_square(), type, data = some, asp = 1, resolution = 20)
  }
  same("ggplot regions", square("regions"))
  same("ggplot nodes", square("nodes"))
  same("ggplot facets", ggplot2::autoplot(hand_iris(), "facets"))
  fit <- hand_square()
  fit$history <- data.frame(stage = "refine", epoch = 1:4, lambda = 1:4, loss = c(4, 2, 1.5, 1))
  same("ggplot history", ggplot2::autoplot(fit, "history"))
  look <- check_look(fit, NULL, TRUE, NULL, 3, NA)
  same("ggplot importance", autoplot_importance(
    data.frame(variable = c("a", "b"), importance = c(0.25, 0.75)), look))
})
