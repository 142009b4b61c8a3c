# Pictures: every node by itself, with the rows that arrive there, the noisy-OR
# probability of its facets and its boundary. Evidence comes from the engine; this
# file only chooses the plane to look at. plot_data_nodes() is shared with autoplot.

# Data ------------------------------------------------------------------------

# What is asked for, checked: rows, and either the axes for all nodes (`request`) or
# what directions need.
node_request <- function(x, ask) {
  if (!is.null(ask$node)) check_nodes(ask$node, x$tree)
  shared <- on_predictors(x, ask$vars)
  list(
    rows = arrived_rows(x, ask), shared = shared,
    request = if (shared) region_request(x, ask, "nodes", 100),
    given = list(check_limits(ask$xlim, "xlim"), check_limits(ask$ylim, "ylim")),
    resolution = check_number(ask$resolution %||% 100, "resolution", 10, 2000, whole = TRUE),
    threads = ask$threads
  )
}

# list(nodes, grid, boundary, rows), as ?plot.cpt describes it, for the nodes at the
# positions `at`. Attributes: `limits` of each node, `shared` (one pair of axes for all?),
# these `axes`, and the `outcome` of `rows`.
plot_data_nodes <- function(x, wanted, at) {
  rows <- wanted$rows
  planes <- if (wanted$shared) predictor_planes(x, wanted, at) else direction_planes(x, wanted, at)
  here <- lapply(seq_along(at), function(k) plane_rows(x$tree, at[k], planes[[k]], rows))
  text <- function(name) vapply(planes, `[[`, "", name)
  nodes <- data.frame(
    node = x$tree$node[at], is_leaf = tree_leaf(x$tree)[at], facets = x$tree$facets[at],
    n = x$tree$n[at], rows = if (is.null(rows)) NA_integer_ else vapply(here, nrow, 1L),
    threshold = x$tree$threshold[at], xlab = text("xlab"), ylab = text("ylab")
  )
  limits <- t(vapply(planes, function(p) c(range(p$value[[1L]]), range(p$value[[2L]])), double(4L)))
  colnames(limits) <- c("xmin", "xmax", "ymin", "ymax")
  here <- do.call(rbind, here)
  structure(
    list(
      nodes = nodes, grid = do.call(rbind, lapply(planes, plane_grid)),
      boundary = do.call(rbind, lapply(planes, plane_boundary)), rows = here
    ),
    limits = limits, shared = wanted$shared, axes = wanted$request$axes,
    outcome = rows$outcome[match(here$row, rows$keep)]
  )
}

# The rows of the data: encoded, leaf positions, outcome; NULL without data.
arrived_rows <- function(x, ask) {
  if (is.null(ask$data)) return(NULL)
  data <- check_plot_data(ask$data)
  forged <- as_plot_data(blueprint_forge(x$blueprint, data, "omit"))
  keep <- which(!forged$missing)
  list(
    x = forged$x, leaf = route_rows(x$tree, forged$x, ask$threads), keep = keep,
    outcome = row_outcome(x, data, ask$y)[keep]
  )
}

# Are the axes predictors? Always if these are one or two measured ones, or if there is
# no facet to give a direction.
on_predictors <- function(x, vars) {
  measured <- is_measured(x$blueprint$columns$kind)
  if (!is.null(vars)) return(TRUE)
  if (length(measured) <= 2L && all(measured)) return(TRUE)
  length(x$tree$r) == 0L && any(measured)
}

# A plane is a list: node, xlab and ylab, value (grid of either axis), g (evidence on
# the grid; NULL for a leaf), threshold, x and y (of all rows).
predictor_planes <- function(x, wanted, at) {
  request <- wanted$request
  rows <- wanted$rows
  narrow <- narrow_fit(x, request$vars, request$at)
  value <- lapply(request$axes, axis_values, resolution = request$resolution)
  frame <- expand.grid(value, KEEP.OUT.ATTRS = FALSE)
  frame[] <- Map(axis_column, request$axes, frame)
  names(frame) <- request$vars
  encoded <- forge_grid(narrow, frame, request$at)
  points <- request$points
  points <- points$value[match(rows$keep, points$keep), , drop = FALSE]
  lapply(at, function(i) {
    flat_plane(list(
      node = x$tree$node[i], xlab = request$vars[1L], ylab = request$vars[2L], value = value,
      g = node_evidence(narrow$tree, i, encoded, request$threads),
      threshold = x$tree$threshold[i], x = points[[1L]], y = if (length(points) > 1L) points[[2L]]
    ), length(rows$keep))
  })
}

node_evidence <- function(tree, i, encoded, threads) {
  if (tree$left[i] > 0L) rowSums(engine_evidence(tree, i, encoded, threads))
}

# With one predictor the second axis has no meaning: it spreads the rows.
flat_plane <- function(plane, n) {
  if (length(plane$value) == 2L) return(plane)
  plane$value[[2L]] <- c(0, 1)
  plane$ylab <- ""
  if (!is.null(plane$g)) plane$g <- rep(plane$g, 2L)
  plane$y <- spread_rows(n)
  plane
}

# The two strongest directions of each node; of a leaf, those of its parent.
direction_planes <- function(x, wanted, at) {
  tree <- x$tree
  rows <- wanted$rows
  scale <- column_scale(x, rows$x)
  lapply(at, function(i) {
    home <- if (tree$left[i] > 0L || i == 1L) i else node_position(tree, tree$parent[i])
    basis <- strong_directions(tree, home, scale$sd)
    row <- project_rows(rows$x, basis, scale)
    arrived <- which(rows$leaf >= home & rows$leaf <= subtree_end(tree, home))
    limits <- lapply(1:2, function(k) wanted$given[[k]] %||% direction_range(row[arrived, k]))
    value <- lapply(limits, function(l) seq(l[1L], l[2L], length.out = wanted$resolution))
    if (!any(basis[, 2L] != 0)) value <- value[1L]
    flat <- project_tree(tree, basis, scale)
    grid <- as.matrix(expand.grid(c(value, if (length(value) == 1L) 0), KEEP.OUT.ATTRS = FALSE))
    flat_plane(list(
      node = tree$node[i], xlab = direction_text(basis[, 1L], encoded_columns(x)),
      ylab = direction_text(basis[, 2L], encoded_columns(x)), value = value,
      g = node_evidence(flat, i, unname(grid), wanted$threads),
      threshold = tree$threshold[i], x = row[, 1L], y = row[, 2L]
    ), nrow(row))
  })
}

# First two right singular vectors of the coefficients (weight times coefficient times
# standard deviation) of a node's facets. Facets along one line leave the second open:
# then it is the strongest other facet of the tree, as far as it differs.
strong_directions <- function(tree, i, sd) {
  facets <- function(k) t(tree$coef[, k, drop = FALSE] * sd) * tree$r[k]
  own <- facets(node_facets(tree, i))
  out <- matrix(0, length(sd), 2L)
  if (nrow(own) && any(own != 0)) {
    parts <- svd(own, nu = 0L, nv = min(2L, dim(own)))
    found <- which(utils::head(parts$d, 2L) > 1e-8 * parts$d[1L])
    out[, found] <- parts$v[, found]
  }
  all <- facets(seq_along(tree$r))
  for (k in which(colSums(out != 0) == 0)) out[, k] <- other_direction(all, out, sd)
  # The largest part is positive.
  sweep(out, 2L, apply(out, 2L, function(v) if (v[which.max(abs(v))] < 0) -1 else 1), "*")
}

# A unit vector orthogonal to the columns of `known`: along the strongest facet, else in
# the plane of the two predictors that count most. Zero if there is none left.
other_direction <- function(all, known, sd) {
  rest <- all - all %*% known %*% t(known)
  size <- rowSums(rest^2)
  if (length(size) && max(size) > 1e-12 * max(rowSums(all^2))) {
    return(rest[which.max(size), ] / sqrt(max(size)))
  }
  used <- rowSums(known^2)
  free <- sd > 0 & used < 0.98
  if (!any(free)) return(rep(0, length(sd)))
  j <- which(free)[which.max(used[free])]
  v <- -drop(known %*% known[j, ])
  v[j] <- v[j] + 1
  v / sqrt(sum(v^2))
}

# Coordinates of encoded rows, in standard deviations from the mean; sparse rows are
# never made dense. A constant column does not move a row.
project_rows <- function(rows, basis, scale) {
  if (is.null(rows)) return(matrix(0, 0L, 2L))
  per <- basis / ifelse(scale$sd > 0, scale$sd, Inf)
  sweep(as.matrix(rows %*% per), 2L, drop(scale$mean %*% per))
}

# The tree over the two coordinates: x = mean + sd * (basis times coordinates).
project_tree <- function(tree, basis, scale) {
  tree$intercept <- tree$intercept + drop(scale$mean %*% tree$coef)
  tree$coef <- unname(t(basis * scale$sd) %*% tree$coef)
  tree
}

direction_range <- function(value) {
  if (length(value) < 2L || diff(range(value)) <= 0) return(c(-3, 3))
  range(value) + c(-0.05, 0.05) * diff(range(value))
}

# "0.92 Petal.Length + 0.38 Petal.Width": the two largest parts, unless they are small.
direction_text <- function(v, columns) {
  if (!any(v != 0)) return("")
  top <- utils::head(order(-abs(v)), 2L)
  top <- top[abs(v[top]) >= 0.1 * abs(v[top[1L]])]
  rest <- if (sum(abs(v) >= 0.1 * max(abs(v))) > length(top)) " + ..." else ""
  part <- paste(vapply(round(abs(v[top]), 2L), format, ""), columns[top])
  if (length(top) == 1L && !nzchar(rest)) part <- columns[top]
  text <- part[1L]
  if (length(top) > 1L) text <- paste(text, if (v[top[2L]] < 0) "-" else "+", part[2L])
  paste0(text, rest)
}

plane_grid <- function(plane) {
  grid <- expand.grid(x = plane$value[[1L]], y = plane$value[[2L]], KEEP.OUT.ATTRS = FALSE)
  if (is.null(plane$g)) grid <- grid[0L, ]
  g <- as.double(plane$g)
  data.frame(node = rep(plane$node, nrow(grid)), grid, g = g, f = -expm1(-g))
}

plane_boundary <- function(plane) {
  if (is.null(plane$g)) return(no_lines()[c("node", "piece", "x", "y")])
  zero_lines(plane$value, plane$g - plane$threshold, plane$node, "boundary")[
    c("node", "piece", "x", "y")]
}

plane_rows <- function(tree, i, plane, rows) {
  here <- which(rows$leaf >= i & rows$leaf <= subtree_end(tree, i))
  side <- if (tree$left[i] > 0L) {
    c("inside", "outside")[1L + (rows$leaf[here] >= tree$right[i])]
  } else {
    rep(NA_character_, length(here))
  }
  data.frame(node = rep(tree$node[i], length(here)), row = as.integer(rows$keep[here]),
    x = as.double(plane$x[here]), y = as.double(plane$y[here]), side = as.character(side))
}

# Which nodes -------------------------------------------------------------------

check_nodes <- function(node, tree) {
  if (!is.numeric(node) || !length(node) || anyNA(node) || anyDuplicated(node)) {
    cpt_abort("{.arg node} must be different numbers of nodes, not {describe(node)}.")
  }
  wrong <- setdiff(node, tree$node)
  if (length(wrong)) {
    cpt_abort(c(
      "{.arg node} {wrong} {cli::qty(length(wrong))}{?is not a node/are not nodes} of this tree.",
      i = "Nodes of this tree: {name_text(sort(tree$node), 20L, \"\")}."
    ))
  }
  node_position(tree, node)
}

# Inner nodes level by level, as many as asked for; the root alone if it is a leaf.
first_nodes <- function(tree, most) {
  inner <- which(!tree_leaf(tree))
  if (!length(inner)) return(1L)
  utils::head(inner[order(tree$node[inner])], most)
}

# Panels smaller than this (inches) show nothing.
least_panel <- 0.42

# Positions of the nodes and their boxes in the room. As a tree with its leaves if there
# are rows to show in them and the panels are large enough, else as a grid of inner nodes.
layout_nodes <- function(tree, room, node, rows) {
  if (is.null(node)) {
    wide <- 0.86 * room$width / sum(tree_leaf(tree))
    tall <- room$height / (max(tree$depth) + 1)
    title <- line_height(0.7) + 0.02
    # Between the levels, room for the branches.
    gap <- line_height(0.65) + 0.14
    if (rows && wide >= 1.3 * least_panel && tall - title - gap >= least_panel) {
      return(tree_boxes(tree, room, wide, tall, title, gap))
    }
    most <- floor(room$width / (least_panel + 0.1)) * floor(room$height / (least_panel + 0.2))
    at <- first_nodes(tree, max(1, most))
  } else {
    at <- check_nodes(node, tree)
  }
  grid_boxes(at, room)
}

tree_boxes <- function(tree, room, wide, tall, title, gap) {
  step <- room$width / sum(tree_leaf(tree))
  middle <- room$left + (tree_across(tree) - 0.5) * step
  top <- room$top - tree$depth * tall
  wide <- min(wide, 1.8 * (tall - title - gap))
  at <- seq_along(tree$node)
  data.frame(at = at, left = middle - wide / 2, right = middle + wide / 2,
    bottom = top - tall + gap, top = top, style = "tree")
}

# The number of columns that gives the largest panels.
grid_boxes <- function(at, room) {
  n <- length(at)
  columns <- seq_len(n)
  size <- pmin(room$width / columns, 1.3 * room$height / ceiling(n / columns))
  columns <- columns[which.max(size)]
  rows <- ceiling(n / columns)
  wide <- room$width / columns
  tall <- room$height / rows
  k <- seq_len(n) - 1L
  left <- room$left + (k %% columns) * wide
  top <- room$top - (k %/% columns) * tall
  data.frame(at = at, left = left, right = left + wide - 0.1, bottom = top - tall + 0.08,
    top = top, style = "grid")
}

# Drawing ---------------------------------------------------------------------

plot_nodes <- function(x, ask, look) {
  wanted <- node_request(x, ask)
  room <- open_canvas(look$main)
  if (length(x$tree$node) == 1L && is.null(wanted$rows)) {
    draw_note(room, "The tree has no split. Give `data` to see its rows.")
    return(bare_list(plot_data_nodes(x, wanted, 1L)))
  }
  if (look$legend) room <- node_keys(x, wanted, room, look)
  # The last line is for the names of the axes.
  free <- take_from(room, line_height(0.7) + 0.04, at_bottom = TRUE)
  boxes <- layout_nodes(x$tree, free, ask$node, rows = !is.null(wanted$rows))
  drawn <- plot_data_nodes(x, wanted, boxes$at)
  write_line(room, node_caption(drawn, boxes, x$tree, is.null(ask$node)), 0.7,
    at_bottom = TRUE)
  titles <- node_titles(x, drawn, boxes)
  if (boxes$style[1L] == "tree") draw_branches(x$tree, boxes)
  for (k in seq_len(nrow(boxes))) draw_node(x, k, drawn, boxes[k, ], titles, look)
  bare_list(drawn)
}

bare_list <- function(x) {
  attributes(x) <- attributes(x)["names"]
  x
}

node_keys <- function(x, wanted, room, look) {
  if (!is.null(wanted$rows$outcome)) room <- key_line(x, room, look$colours, look$digits, rows = 2L)
  if (length(x$tree$node) == 1L) return(room)
  ramp_line(room, "probability f:", "0", "1, boundary in the middle", heat_colours(32L), 0.7)
}

# What the axes are, unless they are drawn, and how many nodes had no room.
node_caption <- function(drawn, boxes, tree, all) {
  axes <- if (attr(drawn, "shared") && has_axes(boxes)) {
    ""
  } else if (attr(drawn, "shared")) {
    limits <- attr(drawn, "limits")[1L, ]
    axes <- attr(drawn, "axes")
    range <- c(axis_labels(axes[[1L]], limits[1:2], 2L), "", "")
    if (length(axes) > 1L) range[3:4] <- axis_labels(axes[[2L]], limits[3:4], 2L)
    across <- paste0("across: ", drawn$nodes$xlab[1L], " (", range[1L], " to ", range[2L], ")")
    up <- if (nzchar(drawn$nodes$ylab[1L])) {
      paste0(", up: ", drawn$nodes$ylab[1L], " (", range[3L], " to ", range[4L], ")")
    }
    paste0(across, up)
  } else {
    "axes: the two strongest directions of each node, in standard deviations"
  }
  left_out <- sum(!tree_leaf(tree)) - sum(!drawn$nodes$is_leaf)
  left_out <- if (all && left_out > 0) paste(left_out, "deeper nodes not shown")
  paste(c(left_out, axes[nzchar(axes)]), collapse = "; ")
}

# Are the panels large enough for axes?
has_axes <- function(box) {
  min(box$right - box$left, box$top - box$bottom) >= 1.3
}

# One style for all panels, so that they can be compared.
node_titles <- function(x, drawn, boxes) {
  nodes <- drawn$nodes
  count <- ifelse(is.na(nodes$rows), nodes$n, nodes$rows)
  facets <- paste0(nodes$facets, ifelse(nodes$facets == 1L, " facet", " facets"))
  answer <- plot_data_tree(x, 3L)$answer[boxes$at]
  what <- ifelse(nodes$is_leaf, answer, facets)
  wide <- boxes$right - boxes$left
  styles <- list(
    paste0(nodes$node, ": ", what, ", n = ", count), paste0(nodes$node, ": ", what),
    paste0(nodes$node, ", n = ", count), as.character(nodes$node)
  )
  # The names of classes may be long: cut them rather than lose the facets.
  styles <- lapply(styles, function(text) {
    ifelse(nodes$is_leaf, shorten(text, min(wide) - 0.08, 0.65), text)
  })
  fit_level(styles, wide, Inf, 0.75) %||% list(text = rep("", nrow(nodes)), cex = 0.45)
}

draw_branches <- function(tree, boxes) {
  middle <- (boxes$left + boxes$right) / 2
  inner <- which(!tree_leaf(tree))
  if (!length(inner)) return(invisible())
  kid <- c(tree$left[inner], tree$right[inner])
  side <- rep(c("inside", "outside"), each = length(inner))
  from <- rep(boxes$bottom[inner], 2L)
  bend <- boxes$top[kid] + 0.05
  above <- rep(middle[inner], 2L)
  graphics::segments(above, from, above, bend, col = "grey50", xpd = NA)
  graphics::segments(above, bend, middle[kid], bend, col = "grey50", xpd = NA)
  graphics::segments(middle[kid], bend, middle[kid], boxes$top[kid], col = "grey50", xpd = NA)
  free <- min(abs(middle[kid] - above))
  cex <- min(0.65, 0.65 * 0.8 * free / inches_wide("outside", 0.65))
  if (cex < min_cex) return(invisible())
  graphics::text((middle[kid] + above) / 2, bend + line_height(cex) * 0.5, side,
    cex = cex, col = "grey30", xpd = NA)
}

# The probability is close to 1 over most of a picture: shades grow with the evidence,
# from 0 to twice the threshold, so that the boundary is in the middle.
evidence_shade <- function(g, threshold) {
  if (threshold <= 0) return(rep(1, length(g)))
  pmin(g / (2 * threshold), 1)
}

# Panel k: title, heat map, boundary, rows, and axes if it is large.
draw_node <- function(x, k, drawn, box, titles, look) {
  node <- drawn$nodes[k, ]
  limits <- attr(drawn, "limits")[k, ]
  graphics::text((box$left + box$right) / 2, box$top - 0.02, titles$text[k], adj = c(0.5, 1),
    cex = titles$cex, xpd = NA)
  big <- has_axes(box)
  box$top <- box$top - line_height(titles$cex)
  panel <- node_panel(box, limits, look$asp, big)
  frame_panel(panel, "white")
  grid <- drawn$grid[drawn$grid$node == node$node, ]
  if (nrow(grid)) {
    z <- 1 + round(63 * evidence_shade(grid$g, node$threshold))
    panel_image(panel, matrix(z, length(unique(grid$x))), heat_colours())
  }
  here <- drawn$rows$node == node$node
  fill <- row_colours(x, attr(drawn, "outcome"), length(here), look$colours)[here]
  size <- min(panel$right - panel$left, panel$top - panel$bottom)
  # Fewer rows can be larger.
  cex <- 0.6 * min(1, max(0.4, size / 1.8)) * min(1.3, max(0.7, (300 / sum(here))^0.25))
  panel_points(panel, drawn$rows$x[here], drawn$rows$y[here], fill, cex)
  lines <- drawn$boundary[drawn$boundary$node == node$node, ]
  for (line in split(lines, lines$piece)) {
    graphics::lines(to_x(panel, line$x), to_y(panel, line$y), lty = 2L, lwd = 1.3, xpd = NA)
  }
  frame_panel(panel)
  if (big) draw_node_axes(panel, node, attr(drawn, "axes"))
}

# Large panels leave room for axes beside them.
node_panel <- function(box, limits, asp, big) {
  if (big) {
    box$left <- box$left + y_axis_width(limits[3:4], box$top - box$bottom, 0.6) + line_height(0.6)
    box$bottom <- box$bottom + 2.1 * line_height(0.6) + 0.04
  }
  if (!is.na(asp)) {
    unit <- c(diff(limits[1:2]), diff(limits[3:4]) * asp)
    scale <- min(c(box$right - box$left, box$top - box$bottom) / unit)
    spare <- c(box$right - box$left, box$top - box$bottom) - unit * scale
    box$left <- box$left + spare[1L] / 2
    box$right <- box$right - spare[1L] / 2
    box$bottom <- box$bottom + spare[2L]
  }
  new_panel(box$left, box$right, box$bottom, box$top, limits[1:2], limits[3:4])
}

draw_node_axes <- function(panel, node, axes) {
  ticks <- lapply(1:2, function(k) if (length(axes) < k) axis_pretty else axis_ticks(axes[[k]]))
  draw_x_axis(panel, 0.6, ticks[[1L]])
  if (nzchar(node$ylab)) draw_y_axis(panel, 0.6, ticks[[2L]])
  across <- shorten(node$xlab, panel$right - panel$left, 0.6)
  graphics::text((panel$left + panel$right) / 2, panel$bottom - 0.06 - line_height(0.6), across,
    adj = c(0.5, 1), cex = 0.6, col = "grey30", xpd = NA)
  up <- shorten(node$ylab, panel$top - panel$bottom, 0.6)
  wide <- y_axis_width(panel$ylim, panel$top - panel$bottom, 0.6, ticks[[2L]])
  graphics::text(panel$left - wide, (panel$bottom + panel$top) / 2, up,
    adj = c(0.5, 0), srt = 90, cex = 0.6, col = "grey30", xpd = NA)
}
