# Pictures: the tree from the root down, with a small panel for every leaf.
# plot_data_tree() and plot_data_leaves() are shared with autoplot-tree.R.

# Data ------------------------------------------------------------------------

plot_data_tree <- function(x, digits) {
  tree <- x$tree
  leaf <- tree_leaf(tree)
  answer <- as.character(node_prediction(x))
  if (x$task == "regression") {
    answer <- vapply(node_mean(tree), format, "", digits = digits)
  }
  data.frame(
    node = tree$node, parent = tree$parent, depth = tree$depth, is_leaf = leaf, n = tree$n,
    facets = tree$facets, prediction = node_prediction(x), answer = answer,
    label = paste0(ifelse(leaf, answer, split_label(x)), ", n = ", tree$n),
    across = tree_across(tree)
  )
}

# What is inside, if that is a bound on one column, else the number of facets.
split_label <- function(x) {
  tree <- x$tree
  context <- words_context(x)
  label <- facets_label(tree$facets)
  for (i in which(tree$facets == 1L)) {
    used <- which(tree$coef[, tree$first[i]] != 0)
    if (length(used) == 1L) label[i] <- facet_words(tree, i, context, 3L, 1L)[1L]
  }
  label
}

facets_label <- function(facets) paste0(facets, ifelse(facets == 1L, " facet", " facets"))

# Labels of inner nodes from long to short: the split and its rows, with the facets
# counted instead, without the rows, the bare number.
node_labels <- function(shown) {
  counted <- facets_label(shown$facets)
  list(
    sub(", n = ", "\nn = ", shown$label, fixed = TRUE), paste0(counted, "\nn = ", shown$n), counted,
    as.character(shown$facets)
  )
}

# Leaves stand side by side at 1, 2, ...; a node above the middle of its children.
tree_across <- function(tree) {
  leaf <- tree_leaf(tree)
  across <- cumsum(leaf)
  for (i in rev(which(!leaf))) across[i] <- (across[tree$left[i]] + across[tree$right[i]]) / 2
  across
}

# The panels of the leaves as rectangles within the unit square: shared by classes
# ("stack", "bars") and outcomes ("histogram", "box").
plot_data_leaves <- function(x, style) {
  switch(style,
    stack = leaf_bars(x, stacked = TRUE), bars = leaf_bars(x, stacked = FALSE),
    histogram = leaf_histograms(x), box = leaf_boxes(x)
  )
}

# Side by side if every bar can be seen, else stacked; two classes are one bar anyway.
leaf_style <- function(x, wide) {
  if (x$task == "regression") return(if (wide >= 0.35) "histogram" else "box")
  classes <- length(x$levels)
  if (classes > 2L && classes <= 8L && wide >= 0.09 * classes) "bars" else "stack"
}

leaf_bars <- function(x, stacked) {
  leaf <- which(tree_leaf(x$tree))
  prob <- node_prob(x$tree)[leaf, , drop = FALSE]
  low <- t(apply(prob, 1L, cumsum))
  dim(low) <- dim(prob)
  low <- if (stacked) low - prob else 0 * prob
  at <- if (stacked) 0 * prob else (col(prob) - 1) / ncol(prob)
  wide <- if (stacked) 1 else 1 / ncol(prob)
  shown <- which(prob > 0)
  data.frame(
    node = x$tree$node[leaf][row(prob)[shown]], part = "bar",
    class = factor_of(col(prob)[shown], x), prob = prob[shown],
    xmin = at[shown], xmax = at[shown] + wide,
    ymin = low[shown], ymax = (low + prob)[shown]
  )
}

# Outcomes of the training rows, which are the fitted values plus the residuals.
leaf_outcomes <- function(x) {
  y <- unname(predict(x, threads = 1L) + x$residuals)
  seen <- is.finite(y)
  split(y[seen], factor(x$where[seen], x$tree$node[tree_leaf(x$tree)]))
}

# Ends of the panels: round numbers around all outcomes.
outcome_breaks <- function(y) {
  breaks <- pretty(unlist(y), 12L)
  if (length(breaks) > 1L) breaks else breaks + c(-0.5, 0.5)
}

leaf_histograms <- function(x) {
  y <- leaf_outcomes(x)
  breaks <- outcome_breaks(y)
  low <- breaks[-length(breaks)]
  one <- function(node) {
    n <- tabulate(findInterval(y[[node]], breaks, rightmost.closed = TRUE), length(low))
    shown <- which(n > 0L)
    leaf_marks(node, "bar", low[shown], breaks[-1L][shown], 0, n[shown] / max(n), n[shown])
  }
  out <- rbind(do.call(rbind, lapply(names(y), one)), leaf_predictions(x))
  unit_height(out, range(breaks))
}

leaf_boxes <- function(x) {
  y <- leaf_outcomes(x)
  one <- function(node) {
    q <- unname(stats::quantile(y[[node]]))
    if (anyNA(q)) return(NULL)
    rbind(
      leaf_marks(node, "whisker", q[1L], q[5L], 0.5, 0.5),
      leaf_marks(node, "box", q[2L], q[4L], 0.1, 0.9),
      leaf_marks(node, "median", q[3L], q[3L], 0.1, 0.9)
    )
  }
  out <- rbind(do.call(rbind, lapply(names(y), one)), leaf_predictions(x))
  unit_height(out, range(outcome_breaks(y)))
}

leaf_marks <- function(node, part, from, to, xmin, xmax, n = NA_integer_) {
  if (!length(from)) return(NULL)
  data.frame(node = as.integer(node), part = part, from = from, to = to, n = n,
    xmin = xmin, xmax = xmax)
}

leaf_predictions <- function(x) {
  leaf <- tree_leaf(x$tree)
  value <- node_mean(x$tree)[leaf]
  leaf_marks(x$tree$node[leaf], "prediction", value, value, 0, 1)
}

unit_height <- function(marks, range) {
  unit <- function(v) pmin(pmax((v - range[1L]) / diff(range), 0), 1)
  marks$ymin <- unit(marks$from)
  marks$ymax <- unit(marks$to)
  attr(marks, "range") <- range
  marks
}

# Drawing ---------------------------------------------------------------------

plot_tree <- function(x, look) {
  tree <- x$tree
  shown <- plot_data_tree(x, look$digits)
  room <- open_canvas(look$main)
  style <- leaf_style(x, 0.68 * room$width / sum(shown$is_leaf))
  leaves <- plot_data_leaves(x, style)
  if (look$legend) room <- tree_key(x, look, room, leaves)
  place <- place_tree(shown, room)
  if (anyNA(place$side)) {
    # Branches too short to be labelled are explained once.
    room <- write_line(room, "left branch: inside, right branch: outside", 0.7)
    place <- place_tree(shown, room)
  }
  draw_edges(tree, place)
  draw_node_labels(shown, place)
  draw_sides(tree, place)
  draw_leaves(x, place, leaves, look$colours)
  write_leaves(place)
  shown$drawn <- place$node_text
  shown$drawn[place$leaf] <- place$drawn
  shown$x <- place$x
  shown$y <- place$y
  shown <- shown[setdiff(names(shown), c("answer", "across"))]
  attr(shown, "leaves") <- leaves
  shown
}

tree_key <- function(x, look, room, leaves) {
  if (x$task == "classification") return(key_line(x, room, look$colours, look$digits))
  range <- vapply(attr(leaves, "range"), format, "", digits = look$digits)
  outcome <- if (is.null(x$outcome)) "outcome" else x$outcome
  write_line(room, paste0("leaves: ", outcome, " from ", range[1L], " to ", range[2L],
    ", line: ", leaf_line(x)))
}

# A linear leaf has many predictions: the line is at the mean.
leaf_line <- function(x) if (is.null(x$tree$leaf_coef)) "prediction" else "mean"

# Everything about where things stand; no drawing.
place_tree <- function(shown, room) {
  place <- place_leaves(shown, room)
  place <- place_nodes(shown, place, room$top)
  place <- fit_node_labels(shown, place)
  fit_sides(shown, place)
}

# Columns, labels and panels of the leaves, along the bottom of the room.
place_leaves <- function(shown, room) {
  leaf <- which(shown$is_leaf)
  step <- room$width / length(leaf)
  place <- list(leaf = leaf, step = step, at = room$left + (seq_along(leaf) - 0.5) * step)
  place <- c(place, fit_leaf_labels(shown$answer[leaf], shown$n[leaf], step, room$height))
  place$bar_bottom <- room$bottom + place$label_height + 0.04
  # A tree without a split has the whole height for its one panel; a deep one needs it.
  tall <- if (length(leaf) == 1L) 0.7 else if (max(shown$depth) > 4L) 0.17 else 0.23
  place$bar_height <- min(if (length(leaf) == 1L) 2 else 0.9, tall * room$height)
  place$bar_half <- min(0.34 * step, if (length(leaf) == 1L) 1 else 0.45)
  if (length(leaf) == 1L) {
    free <- room$height - place$bar_height - place$label_height
    place$bar_bottom <- place$bar_bottom + free / 2
  }
  place$bar_top <- place$bar_bottom + place$bar_height
  place
}

# Three ways to write under the leaves, the first with room wins: two lines across;
# upright; upright in two bands, every second leaf lower.
fit_leaf_labels <- function(answer, n, step, height) {
  full <- paste0(answer, ", n = ", n)
  for (cex in c(0.9, 0.8, 0.7)) {
    rows <- cbind(answer, paste("n =", n))
    # One leaf has a whole line, so even a long name is best cut there.
    if (length(n) == 1L) rows[, 1L] <- shorten(answer, step, cex)
    if (all(inches_wide(rows, cex) <= 0.94 * step)) {
      return(list(style = "across", cex = cex, rows = rows, drawn = full,
        label_height = 2 * line_height(cex)))
    }
  }
  for (bands in 1:2) {
    cex <- min(0.8, bands * step / (line_height(1) * 0.86))
    if (cex < min_cex) next
    length <- height * if (bands == 1L) 0.32 else 0.2
    text <- full
    # The class matters more than the count.
    if (any(inches_wide(text, cex) > length)) text <- shorten(answer, length, cex)
    band <- max(inches_wide(text, cex)) + 0.04
    return(list(style = "upright", cex = cex, bands = bands, drawn = text, band = band,
      label_height = bands * band))
  }
  list(style = "none", drawn = rep("", length(answer)), label_height = 0)
}

# Inner nodes stand above the middle of their children; levels share the height.
place_nodes <- function(shown, place, top) {
  leaf <- shown$is_leaf
  place$x <- place$at[1L] + (shown$across - 1) * place$step
  levels <- max(shown$depth, 1L)
  # The box of the root takes up to two lines, the levels share the rest.
  free <- top - place$bar_top
  share <- max(1.2 * free / (levels + 1), 1.3 * line_height(0.55))
  place$head <- min(2.4 * line_height(0.85), share)
  place$level <- (free - place$head) / levels
  # The line below a node's box; the box stands on it.
  place$y <- ifelse(leaf, place$bar_top, place$bar_top + (levels - shown$depth) * place$level)
  # How far a label may reach to each side: half a leaf past its own leaves.
  below <- leaves_below(shown)
  place$reach <- pmin(shown$across - below$first, below$last - shown$across) * place$step +
    place$step / 2
  place$left <- match(2 * shown$node, shown$node)
  place$right <- match(2 * shown$node + 1, shown$node)
  place
}

# Number of the first and of the last leaf below each node.
leaves_below <- function(shown) {
  first <- last <- shown$across
  for (i in rev(which(!shown$is_leaf))) {
    first[i] <- first[match(2 * shown$node[i], shown$node)]
    last[i] <- last[match(2 * shown$node[i] + 1, shown$node)]
  }
  list(first = first, last = last)
}

# One style a level.
fit_node_labels <- function(shown, place) {
  inner <- which(!shown$is_leaf)
  labels <- node_labels(shown)
  place$node_text <- rep("", nrow(shown))
  place$node_cex <- place$half <- place$box <- double(nrow(shown))
  cex <- 0.85
  for (depth in unique(shown$depth[inner])) {
    at <- inner[shown$depth[inner] == depth]
    fit <- fit_level(
      lapply(labels, `[`, at),
      2 * place$reach[at] * 0.92, if (depth == 0L) place$head else place$level * 0.85, cex
    )
    if (is.null(fit)) next
    # Deeper levels are never larger than those above.
    cex <- fit$cex
    place$node_text[at] <- fit$text
    place$node_cex[at] <- cex
    place$half[at] <- inches_wide(fit$text, cex) / 2 + 0.03
    place$box[at] <- fit$height
  }
  place
}

# Size of "inside" and "outside" on the branches of each inner node's level; NA where
# there is no room.
fit_sides <- function(shown, place) {
  inner <- which(!shown$is_leaf)
  place$side <- rep(0, nrow(shown))
  for (depth in unique(shown$depth[inner])) {
    at <- inner[shown$depth[inner] == depth]
    free <- min(
      place$x[at] - place$half[at] - place$x[place$left[at]],
      place$x[place$right[at]] - place$x[at] - place$half[at]
    )
    cex <- min(
      0.75, max(place$node_cex[at], 0.55), 0.75 * 0.86 * free / inches_wide("outside", 0.75),
      place$level * 0.8 / line_height(1)
    )
    place$side[at] <- if (cex < min_cex) NA else cex
  }
  place
}

draw_edges <- function(tree, place) {
  inner <- which(!tree_leaf(tree))
  if (!length(inner)) return(invisible())
  left <- tree$left[inner]
  right <- tree$right[inner]
  graphics::segments(place$x[left], place$y[inner], place$x[right], place$y[inner],
    col = "grey50", xpd = NA)
  kid <- c(left, right)
  graphics::segments(place$x[kid], rep(place$y[inner], 2L), place$x[kid], place$y[kid],
    col = "grey50", xpd = NA)
}

draw_node_labels <- function(shown, place) {
  at <- which(!shown$is_leaf & nzchar(place$node_text))
  if (!length(at)) return(invisible())
  graphics::rect(place$x[at] - place$half[at], place$y[at],
    place$x[at] + place$half[at], place$y[at] + place$box[at],
    col = "white", border = "grey50", lwd = 0.7, xpd = NA)
  graphics::text(place$x[at], place$y[at] + place$box[at] / 2, place$node_text[at],
    cex = place$node_cex[at], xpd = NA)
}

draw_sides <- function(tree, place) {
  at <- which(!tree_leaf(tree) & !is.na(place$side))
  if (!length(at)) return(invisible())
  cex <- place$side[at]
  y <- place$y[at] + line_height(cex) * 0.55
  graphics::text((place$x[tree$left[at]] + place$x[at] - place$half[at]) / 2, y, "inside",
    cex = cex, col = "grey30", xpd = NA)
  graphics::text((place$x[tree$right[at]] + place$x[at] + place$half[at]) / 2, y, "outside",
    cex = cex, col = "grey30", xpd = NA)
}

draw_leaves <- function(x, place, leaves, colours) {
  at <- match(leaves$node, x$tree$node[place$leaf])
  left <- place$at[at] - place$bar_half
  wide <- 2 * place$bar_half
  mark <- list(
    x0 = left + wide * leaves$xmin, x1 = left + wide * leaves$xmax,
    y0 = place$bar_bottom + place$bar_height * leaves$ymin,
    y1 = place$bar_bottom + place$bar_height * leaves$ymax
  )
  fill <- if (x$task == "classification") {
    colours$key[as.integer(leaves$class)]
  } else {
    colours$node[place$leaf][at]
  }
  area <- leaves$part %in% c("bar", "box")
  line <- function(i, ...) {
    graphics::segments(mark$x0[i], mark$y0[i], mark$x1[i], mark$y1[i], ..., xpd = NA, lend = 1L)
  }
  line(leaves$part == "whisker", col = "grey40")
  graphics::rect(mark$x0[area], mark$y0[area], mark$x1[area], mark$y1[area], col = fill[area],
    border = if (x$task == "classification") NA else "grey40", lwd = 0.4, xpd = NA)
  line(leaves$part == "median", col = "white")
  line(leaves$part == "prediction", col = "black", lwd = 1.6)
  graphics::rect(place$at - place$bar_half, place$bar_bottom, place$at + place$bar_half,
    place$bar_top, border = "grey40", lwd = 0.7, xpd = NA)
}

write_leaves <- function(place) {
  y <- place$bar_bottom - 0.04
  if (place$style == "across") {
    high <- line_height(place$cex)
    graphics::text(place$at, y - 0.5 * high, place$rows[, 1L], cex = place$cex, xpd = NA)
    graphics::text(place$at, y - 1.5 * high, place$rows[, 2L], cex = place$cex,
      col = "grey30", xpd = NA)
  } else if (place$style == "upright") {
    lower <- if (place$bands == 2L) (seq_along(place$at) + 1L) %% 2L else 0
    from <- y - lower * place$band
    graphics::segments(place$at, y, place$at, from, col = "grey80", lwd = 0.4, xpd = NA)
    graphics::text(place$at, from, place$drawn, srt = 90, adj = c(1, 0.5),
      cex = place$cex, xpd = NA)
  }
}
