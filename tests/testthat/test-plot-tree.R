# The tree: what is returned, that labels never overlap, and how it looks.

test_that("the tree plot returns one row per node", {
  fit <- hand_square()
  out <- on_page(plot(fit))
  expect_identical(names(out), c("node", "parent", "depth", "is_leaf", "n", "facets", "prediction",
    "label", "drawn", "x", "y"))
  expect_identical(out$node, fit$tree$node)
  expect_identical(out$label[1L], "4 facets, n = 441")
  expect_identical(out$label[out$is_leaf], c("core, n = 9", "in, n = 72", "out, n = 360"))
  # Parents stand above and between their children.
  for (i in which(!out$is_leaf)) {
    kids <- c(fit$tree$left[i], fit$tree$right[i])
    expect_equal(out$x[i], mean(out$x[kids]))
    expect_true(all(out$y[kids] < out$y[i]))
  }
})

test_that("the leaves of a classification tree show its probabilities", {
  fit <- hand_iris()
  prob <- node_prob(fit$tree)
  for (size in list(c(7, 5), c(1.3, 3))) {
    leaves <- attr(on_page({
      graphics::par(mar = rep(0, 4L))
      plot(fit)
    }, size[1L], size[2L]), "leaves")
    at <- cbind(match(leaves$node, fit$tree$node), as.integer(leaves$class))
    expect_identical(leaves$prob, prob[at])
    expect_equal(leaves$ymax - leaves$ymin, leaves$prob)
  }
  # Side by side in a wide page, stacked in a narrow one.
  expect_true(all(plot_data_leaves(fit, "bars")$ymin == 0))
  expect_equal(as.vector(tapply(leaves$ymax, leaves$node, max)), c(1, 1, 1))
})

test_that("the leaves of a regression tree show the training outcomes", {
  fit <- hand_cars()
  leaf <- route(fit$tree, mtcars[c("wt", "hp")])
  histogram <- plot_data_leaves(fit, "histogram")
  box <- plot_data_leaves(fit, "box")
  for (i in unique(leaf)) {
    y <- mtcars$mpg[leaf == i]
    node <- fit$tree$node[i]
    bars <- histogram[histogram$part == "bar" & histogram$node == node, ]
    count <- function(k) {
      last <- bars$to[k] == max(attr(histogram, "range"))
      sum(y >= bars$from[k] & (y < bars$to[k] | (last & y == bars$to[k])))
    }
    expect_identical(bars$n, vapply(seq_len(nrow(bars)), count, 1L))
    expect_identical(sum(bars$n), length(y))
    mark <- function(part, end) box[[end]][box$part == part & box$node == node]
    expect_equal(c(mark("whisker", "from"), mark("whisker", "to")), range(y))
    expect_equal(c(mark("box", "from"), mark("median", "from"), mark("box", "to")),
      unname(stats::quantile(y, c(0.25, 0.5, 0.75))))
    expect_equal(mark("prediction", "from"), mean(y))
  }
  expect_true(all(histogram$ymin >= 0 & histogram$ymax <= 1))
})

test_that("labels of 64 leaves do not overlap", {
  for (size in list(c(7, 5), c(3.5, 3.5), c(3.5, 2.5))) {
    on_page({
      room <- open_canvas(NULL)
      shown <- plot_data_tree(big_tree(6L), 3)
      place <- place_tree(shown, room)
      expect_identical(place$style, "upright")
      # Neighbours in one band are at least a line of text apart.
      glyph <- graphics::strheight("Mg", units = "inches", cex = place$cex)
      expect_gte(place$bands * place$step, glyph)
      expect_gte(place$cex, min_cex)
      expect_true(all(graphics::strwidth(place$drawn, "inches", place$cex) <= place$band))
      for (depth in 0:5) {
        at <- which(shown$depth == depth & !shown$is_leaf)
        left <- place$x[at] - place$half[at]
        right <- place$x[at] + place$half[at]
        expect_true(all(left[-1L] >= right[-length(right)]))
        # A box ends below the line of its parent, and the root's below the top.
        above <- if (depth) place$y[match(shown$parent[at], shown$node)] else room$top
        expect_true(all(place$y[at] + place$box[at] <= above))
        # The words on the branches have room beside the box.
        cex <- place$side[at]
        wide <- graphics::strwidth("outside", "inches", 1) * cex
        free <- place$x[place$right[at]] - right
        expect_true(all(is.na(cex) | wide <= free))
      }
    }, size[1L], size[2L])
  }
})

test_that("pictures of trees", {
  skip_on_cran()
  skip_if_not_installed("vdiffr")
  vdiffr::expect_doppelganger("tree of classes", function() plot(hand_iris()))
  vdiffr::expect_doppelganger("tree of numbers", function() plot(hand_cars()))
  vdiffr::expect_doppelganger("tree of 64 leaves", function() {
    plot(big_tree(6L), main = "64 leaves")
  })
  vdiffr::expect_doppelganger("tree of one leaf", function() plot(root_iris()))
})

test_that("a split on one column is told in its box, in short if there is no room", {
  fit <- hand_iris()
  shown <- plot_data_tree(fit, 3)
  expect_identical(shown$label[!shown$is_leaf], c("Petal.Length <= 2.5, n = 150", "1 facet, n = 100"))
  long <- lapply(node_labels(shown), `[`, 1L)
  expect_identical(long, list("Petal.Length <= 2.5\nn = 150", "1 facet\nn = 150", "1 facet", "1"))
  d <- data.frame(x = steady(60), home = factor(rep(c("own", "rent, alone", "family"), 20)))
  d$y <- factor(d$home == "rent, alone")
  fit <- cpt(y ~ ., d, control = quick(column_share = 0.9), seed = 1)
  shown <- plot_data_tree(fit, 3)
  expect_match(shown$label[1L], "home")
  expect_match(node_labels(shown)[[1L]][1L], "rent, alone.*\nn = 60$")
})
