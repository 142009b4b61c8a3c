# Pictures: the regions of the leaves over one or two predictors, with the boundaries
# and faces of the polytopes. The regions are what predict() says on a grid; boundaries
# are contours of the engine's evidence. plot_data_regions() is shared with autoplot.

# Data ------------------------------------------------------------------------

# What is asked for, checked: axes, rows as points, values of the other predictors.
region_request <- function(x, ask, type = "regions", default = 200) {
  resolution <- check_number(ask$resolution %||% default, "resolution", 10, 2000, whole = TRUE)
  vars <- axis_vars(x, ask$vars, type)
  points <- axis_points(x, vars, ask)
  list(
    vars = vars, points = points, at = check_at(x, ask$at, vars),
    axes = make_axes(x, vars, points$value, ask), resolution = resolution,
    threads = ask$threads
  )
}

# list(frame = the grid as returned, leaf = position of the leaf of each of its rows,
# value = the axes' numbers, lines).
plot_data_regions <- function(x, request) {
  axes <- request$axes
  # Along one predictor the grid can be fine.
  fine <- if (length(axes) == 1L) 5L else 1L
  value <- lapply(axes, axis_values, resolution = request$resolution * fine)
  number <- expand.grid(value, KEEP.OUT.ATTRS = FALSE)
  frame <- Map(axis_column, axes, number)
  names(frame) <- request$vars
  frame <- structure(frame, class = "data.frame", row.names = .set_row_names(nrow(number)))
  seen <- grid_answers(x, frame, request)
  frame$node <- seen$node
  frame$prediction <- seen$prediction
  leaf <- node_position(x$tree, seen$node)
  lines <- if (length(axes) == 1L) {
    band_lines(axes[[1L]], value[[1L]], leaf, x$tree)
  } else if (any(vapply(axes, is_level_axis, NA))) {
    edge_lines(value, leaf, x$tree)
  } else {
    region_lines(x$tree, value, leaf, seen$surface)
  }
  list(frame = frame, leaf = leaf, value = value, lines = lines)
}

# Leaf, prediction and surfaces of every grid row, in pieces that fit in memory.
grid_answers <- function(x, frame, request) {
  x <- without_recipe(narrow_fit(x, request$vars, request$at))
  rows <- max(1L, floor(2e7 / length(encoded_columns(x))))
  piece <- split(seq_len(nrow(frame)), ceiling(seq_len(nrow(frame)) / rows))
  wanted <- length(request$vars) == 2L
  parts <- lapply(piece, function(take) {
    new <- grid_rows(x, frame[take, , drop = FALSE], request$at)
    ask <- function(...) {
      unname(predict(x, new, na_action = "impute", threads = request$threads, ...))
    }
    encoded <- if (wanted) blueprint_forge(x$blueprint, new, "impute")$x
    list(
      node = ask(type = "node"), prediction = ask(),
      surface = if (wanted) node_surfaces(x$tree, encoded, request$threads)
    )
  })
  prediction <- lapply(parts, `[[`, "prediction")
  list(
    node = unlist(lapply(parts, `[[`, "node"), use.names = FALSE),
    prediction = do.call(c, unname(prediction)),
    surface = do.call(rbind, lapply(parts, `[[`, "surface"))
  )
}

# For each inner node two columns: how far each row is outside the polytope (evidence
# minus threshold), and outside its faces (the largest excess over a facet's bound).
node_surfaces <- function(tree, encoded, threads) {
  inner <- which(!tree_leaf(tree))
  out <- lapply(inner, function(i) {
    evidence <- engine_evidence(tree, i, encoded, threads)
    cbind(
      rowSums(evidence) - tree$threshold[i],
      face_excess(evidence, tree$r[node_facets(tree, i)], tree$threshold[i])
    )
  })
  if (length(out)) do.call(cbind, out) else matrix(0, nrow(encoded), 0L)
}

# A single facet is its own boundary: NA, so that it is drawn once.
face_excess <- function(evidence, r, threshold) {
  bound <- facet_bound(threshold, r)
  use <- which(is.finite(bound))
  if (ncol(evidence) == 1L || !length(use)) return(rep(NA_real_, nrow(evidence)))
  out <- rep(-Inf, nrow(evidence))
  for (k in use) out <- pmax(out, facet_bound(evidence[, k], r[k]) - bound[k])
  # Far inside, the evidence of all facets can be 0.
  pmax(out, -100)
}

# A polytope cuts only the region of its own node: elsewhere its surface is masked.
region_lines <- function(tree, value, leaf, surface) {
  inner <- which(!tree_leaf(tree))
  out <- list(no_lines())
  for (k in seq_along(inner)) {
    home <- leaf >= inner[k] & leaf <= subtree_end(tree, inner[k])
    for (kind in c("face", "boundary")) {
      z <- surface[, 2L * k - (kind == "boundary")]
      z[!home] <- NA
      out[[length(out) + 1L]] <- zero_lines(value, z, tree$node[inner[k]], kind)
    }
  }
  out <- do.call(rbind, out)
  # Boundaries last, so that they are drawn over the faces.
  out <- out[order(out$kind == "boundary"), , drop = FALSE]
  row.names(out) <- NULL
  out
}

no_lines <- function() {
  data.frame(node = integer(), kind = character(), piece = character(), x = double(), y = double())
}

# Where z, on the grid of `value`, is 0.
zero_lines <- function(value, z, node, kind) {
  if (!any(z > 0, na.rm = TRUE) || !any(z <= 0, na.rm = TRUE)) return(no_lines())
  lines <- grDevices::contourLines(value[[1L]], value[[2L]], matrix(z, length(value[[1L]])),
    levels = 0)
  if (!length(lines)) return(no_lines())
  count <- vapply(lines, function(l) length(l$x), 0L)
  data.frame(
    node = node, kind = kind, piece = rep(paste(node, kind, seq_along(lines)), count),
    x = unlist(lapply(lines, `[[`, "x")), y = unlist(lapply(lines, `[[`, "y"))
  )
}

# Beside a factor there are no contours: the sides of cells between two leaves.
edge_lines <- function(value, leaf, tree) {
  leaf <- matrix(leaf, length(value[[1L]]))
  side <- lapply(value, function(v) c(v[1L] - (v[2L] - v[1L]) / 2, v + (v[2L] - v[1L]) / 2))
  side <- Map(function(s, v) if (length(v) > 1L) s else c(0.5, 1.5), side, value)
  across <- which(leaf[-1L, , drop = FALSE] != leaf[-nrow(leaf), , drop = FALSE], arr.ind = TRUE)
  up <- which(leaf[, -1L, drop = FALSE] != leaf[, -ncol(leaf), drop = FALSE], arr.ind = TRUE)
  x <- c(rbind(side[[1L]][across[, 1L] + 1L], side[[1L]][across[, 1L] + 1L]),
    rbind(side[[1L]][up[, 1L]], side[[1L]][up[, 1L] + 1L]))
  y <- c(rbind(side[[2L]][across[, 2L]], side[[2L]][across[, 2L] + 1L]),
    rbind(side[[2L]][up[, 2L] + 1L], side[[2L]][up[, 2L] + 1L]))
  a <- c(leaf[across], leaf[up])
  b <- c(leaf[-1L, , drop = FALSE][across], leaf[, -1L, drop = FALSE][up])
  node <- rep(split_of(tree, a, b), each = 2L)
  if (!length(x)) return(no_lines())
  piece <- paste("edge", (seq_along(x) + 1L) %/% 2L)
  data.frame(node = node, kind = "edge", piece = piece, x = x, y = y)
}

# Number of the node whose split takes the leaves at positions a and b apart.
split_of <- function(tree, a, b) {
  paths <- node_paths(tree)
  same <- paths[a, , drop = FALSE] == paths[b, , drop = FALSE]
  last <- rowSums(same, na.rm = TRUE)
  paths[cbind(a, last)]
}

# Along one predictor: a line at every change of the leaf.
band_lines <- function(axis, value, leaf, tree) {
  change <- which(leaf[-1L] != leaf[-length(leaf)])
  if (!length(change)) return(no_lines())
  data.frame(
    node = split_of(tree, leaf[change], leaf[change + 1L]),
    kind = if (is_level_axis(axis)) "edge" else "boundary",
    piece = paste("boundary", seq_along(change)),
    x = (value[change] + value[change + 1L]) / 2, y = NA_real_
  )
}

# Drawing ---------------------------------------------------------------------

plot_regions <- function(x, ask, look) {
  request <- region_request(x, ask)
  old <- region_margins(look)
  on.exit(graphics::par(old))
  if (length(request$axes) == 1L) return(plot_band(x, request, look))
  request$axes <- open_window(request$axes, look$asp)
  drawn <- plot_data_regions(x, request)
  draw_cells(x, drawn, look$colours)
  draw_lines(drawn$lines)
  points <- request$points
  if (!is.null(points)) {
    graphics::points(points$value[[1L]], points$value[[2L]], pch = 21L, cex = point_size(),
      bg = row_colours(x, points$outcome, nrow(points$value), look$colours),
      col = "grey20", lwd = 0.4)
  }
  region_axis(1L, request$axes[[1L]])
  region_axis(2L, request$axes[[2L]])
  finish_region(x, drawn, look)
  with_lines(drawn)
}

with_lines <- function(drawn) {
  attr(drawn$frame, "lines") <- drawn$lines
  drawn$frame
}

# Makes the default margins smaller in a small figure, where they would take most of it.
region_margins <- function(look) {
  now <- graphics::par("mar")
  small <- min(graphics::par("fin")) < 4 && isTRUE(all.equal(now, c(5.1, 4.1, 4.1, 2.1)))
  if (!small) return(list())
  top <- 0.6 + (if (look$legend) 1 else 0) + if (is.null(look$main)) 0 else 1.4
  graphics::par(mar = c(2.8, 2.8, top, 0.6), mgp = c(1.6, 0.5, 0), tcl = -0.3)
}

# A plot with these axes. A fixed aspect ratio leaves room beside one axis: only now that
# the plot is open is it known how much, and the grid must cover it too.
open_window <- function(axes, asp) {
  graphics::plot.new()
  if (any(vapply(axes, is_level_axis, NA))) asp <- NA
  graphics::plot.window(axes[[1L]]$limits, axes[[2L]]$limits, asp = asp, xaxs = "i", yaxs = "i")
  user <- graphics::par("usr")
  axes[[1L]]$limits <- user[1:2]
  axes[[2L]]$limits <- user[3:4]
  axes
}

draw_cells <- function(x, drawn, colours) {
  strength <- region_strength(x)
  if (x$task == "regression") {
    fill <- lighten(colours$key, 0.6)
    z <- shade_number(drawn$frame$prediction, colours$range)
  } else {
    fill <- lighten(colours$node, strength)
    z <- drawn$leaf
  }
  even <- all(lengths(drawn$value) > 1L)
  side <- lapply(drawn$value, function(v) if (length(v) > 1L) v else v + c(-0.5, 0.5))
  graphics::image(side[[1L]], side[[2L]], matrix(z, length(drawn$value[[1L]])), col = fill,
    breaks = seq(0.5, length(fill) + 0.5), useRaster = has_raster() && even, add = TRUE)
}

draw_lines <- function(lines) {
  for (line in split(lines, factor(lines$piece, unique(lines$piece)))) {
    face <- line$kind[1L] == "face"
    graphics::lines(line$x, line$y, lty = if (line$kind[1L] == "boundary") 2L else 1L,
      lwd = if (face) 0.8 else 1.3, col = if (face) "grey25" else "black")
  }
}

# Smaller in small plots, where points would hide the regions.
point_size <- function(room = min(graphics::par("pin"))) {
  0.6 * min(1, max(0.5, room / 3.2))
}

region_axis <- function(side, axis) {
  long <- graphics::par("pin")[side]
  cex <- graphics::par("cex.axis")
  if (axis$kind %in% c("date", "datetime")) {
    ticks <- fit_ticks(axis$limits, long, cex, pretty = axis_ticks(axis))
    graphics::axis(side, ticks$at, ticks$labels)
  } else if (!is_level_axis(axis)) {
    graphics::axis(side)
  } else {
    room <- 0.9 * long / length(axis$levels)
    upright <- max(inches_wide(axis$levels, cex)) > room && side == 1L
    if (upright) room <- max(0.3, graphics::par("mai")[1L] - 0.5)
    every <- max(1, ceiling(length(axis$levels) * line_height(cex) / long))
    at <- seq(1, length(axis$levels), by = if (upright || side == 2L) every else 1)
    graphics::axis(side, at, shorten(axis$levels[at], room, cex), las = if (upright) 2L else 0L)
  }
  label <- shorten(axis$name, long, graphics::par("cex.lab"))
  if (side == 1L) graphics::title(xlab = label) else graphics::title(ylab = label)
}

finish_region <- function(x, drawn, look) {
  graphics::box()
  if (!is.null(look$main)) graphics::title(look$main)
  if (look$legend) region_key(x, drawn, look)
}

# In the top margin, in inches; nothing if the margin has no room.
region_key <- function(x, drawn, look) {
  size <- graphics::par("pin")
  margin <- graphics::par("mai")
  free <- margin[3L] - 0.05 - if (is.null(look$main)) 0 else 2.2 * line_height(1)
  rows <- max(floor(free / line_height(0.8)), if (is.null(look$main)) 1 else 0)
  seen <- seq_along(x$levels)
  if (length(seen) > max_key) seen <- sort(unique(as.integer(drawn$frame$prediction)))
  key <- colour_key(x, look$colours, look$digits, seen)
  if (rows < 1 || length(key$labels) > 2L * max_key) return(invisible())
  user <- graphics::par("usr")
  on.exit(graphics::par(usr = user))
  graphics::par(usr = c(0, size[1L], 0, size[2L]))
  width <- size[1L] + margin[4L] - 0.05
  taken <- draw_key(key$labels, key$fill, 0, 0, width, rows, draw = FALSE)
  if (taken > 0) draw_key(key$labels, key$fill, 0, size[2L] + 0.05 + taken, width, rows)
}

# One predictor ----------------------------------------------------------------

# Stretches of one leaf along the axis (one per level of a factor), with the shares of
# the classes as heights.
plot_data_bands <- function(x, axis, drawn) {
  value <- drawn$value[[1L]]
  leaf <- drawn$leaf
  new <- c(TRUE, is_level_axis(axis) | leaf[-1L] != leaf[-length(leaf)])
  first <- which(new[seq_along(leaf)])
  middle <- (value[first[-1L] - 1L] + value[first[-1L]]) / 2
  out <- data.frame(
    leaf = leaf[first], from = first, to = c(first[-1L] - 1L, length(leaf)),
    xmin = c(axis$limits[1L], middle), xmax = c(middle, axis$limits[2L])
  )
  if (x$task == "regression") return(out)
  prob <- node_prob(x$tree)[out$leaf, , drop = FALSE]
  high <- t(apply(prob, 1L, cumsum))
  dim(high) <- dim(prob)
  out <- out[row(prob), c("leaf", "xmin", "xmax")]
  row.names(out) <- NULL
  data.frame(out, class = factor_of(col(prob), x), ymin = c(high - prob), ymax = c(high))
}

# The prediction within each stretch, from end to end.
plot_data_steps <- function(bands, drawn) {
  value <- drawn$value[[1L]]
  parts <- lapply(seq_len(nrow(bands)), function(k) {
    at <- bands$from[k]:bands$to[k]
    y <- drawn$frame$prediction[at]
    # A constant needs its ends only.
    if (all(y == y[1L])) at <- integer()
    data.frame(piece = k, leaf = bands$leaf[k], x = c(bands$xmin[k], value[at], bands$xmax[k]),
      y = c(y[1L], drawn$frame$prediction[at], y[length(y)]))
  })
  do.call(rbind, parts)
}

band_height <- function(x, drawn, points) {
  if (x$task == "classification") return(c(0, 1))
  y <- c(drawn$frame$prediction, points$outcome %||% unlist(leaf_outcomes(x)))
  range <- range(y, finite = TRUE)
  range + c(-0.04, 0.04) * max(diff(range), 1e-8 * max(abs(range)), 1e-300)
}

# Rows stand at their outcome if it is a number, else they are spread.
band_points <- function(x, points, height) {
  if (is.null(points)) return(NULL)
  if (x$task == "regression" && !is.null(points$outcome)) return(points$outcome)
  height[1L] + diff(height) * spread_rows(nrow(points$value))
}

# Heights of rows that have none of their own: spread evenly.
spread_rows <- function(n) 0.05 + 0.9 * (seq_len(n) * 0.6180339887498949) %% 1

plot_band <- function(x, request, look) {
  axis <- request$axes[[1L]]
  drawn <- plot_data_regions(x, request)
  height <- band_height(x, drawn, request$points)
  graphics::plot.new()
  graphics::plot.window(axis$limits, height, xaxs = "i", yaxs = "i")
  draw_bands(x, plot_data_bands(x, axis, drawn), drawn, height, look$colours)
  edge <- drawn$lines$x
  graphics::abline(v = edge, lty = if (is_level_axis(axis)) 1L else 2L, lwd = 1.3)
  points <- request$points
  if (!is.null(points)) {
    graphics::points(points$value[[1L]], band_points(x, points, height), pch = 21L,
      cex = point_size(), col = "grey20", lwd = 0.4,
      bg = row_colours(x, points$outcome, nrow(points$value), look$colours))
  }
  region_axis(1L, axis)
  graphics::axis(2L)
  label <- shorten(band_label(x), graphics::par("pin")[2L], graphics::par("cex.lab"))
  graphics::title(ylab = label)
  look$legend <- look$legend && x$task == "classification"
  finish_region(x, drawn, look)
  with_lines(drawn)
}

band_label <- function(x) {
  if (x$task == "regression") x$outcome %||% "prediction" else "probability"
}

draw_bands <- function(x, bands, drawn, height, colours) {
  if (x$task == "classification") {
    graphics::rect(bands$xmin, bands$ymin, bands$xmax, bands$ymax, border = NA,
      col = lighten(colours$key[bands$class], 0.6))
    return(invisible())
  }
  graphics::rect(bands$xmin, height[1L], bands$xmax, height[2L], border = NA,
    col = lighten(colours$node[bands$leaf], 0.3))
  steps <- plot_data_steps(bands, drawn)
  for (step in split(steps, steps$piece)) graphics::lines(step$x, step$y, lwd = 2, lend = 1L)
}
