# Pictures: the regions of the leaves over two predictors, with the boundaries of the
# polytopes. The regions are what predict() says on a grid; nothing about the model
# is computed here.

# The grid: axes, leaf and excess of every point, and the frame that is returned.
region_grid <- function(x, vars, data, at, xlim, ylim, asp, resolution, threads) {
  resolution <- check_number(resolution, "resolution", 10, 2000, whole = TRUE)
  if (!is.null(data)) data <- as_points(data)
  vars <- region_vars(x, vars, data)
  if (!is.null(data)) check_points(data, vars)
  at <- check_at(x, at, vars)
  limits <- list(check_limits(xlim, "xlim"), check_limits(ylim, "ylim"))
  for (k in which(vapply(limits, is.null, NA))) {
    limits[[k]] <- axis_range(x, vars[k], data[[vars[k]]])
  }
  if (!is.na(asp)) limits <- fill_aspect(limits, asp)
  axes <- lapply(limits, function(l) seq(l[1L], l[2L], length.out = resolution))
  names(axes) <- vars
  frame <- expand.grid(axes, KEEP.OUT.ATTRS = FALSE)
  routed <- route_grid(x, frame, at, threads)
  frame$node <- x$tree$node[routed$leaf]
  frame$prediction <- node_prediction(x)[routed$leaf]
  list(vars = vars, axes = axes, frame = frame, leaf = routed$leaf, excess = routed$excess)
}

as_points <- function(data) {
  if (is.data.frame(data)) return(data)
  if (is.matrix(data) || methods::is(data, "Matrix")) {
    return(as.data.frame(as.matrix(data), optional = TRUE))
  }
  cpt_abort("{.arg data} must be a data frame or a matrix, not {describe(data)}.")
}

check_points <- function(data, vars) {
  lost <- vars[!vapply(vars, function(name) is.numeric(data[[name]]), NA)]
  if (length(lost)) {
    cpt_abort(
      "{.arg data} has no numeric column {name_text(lost)}.", class = "cpt_error_data"
    )
  }
}

check_limits <- function(limit, name) {
  if (is.null(limit)) return(NULL)
  if (!is.numeric(limit) || length(limit) != 2L || !all(is.finite(limit)) ||
      limit[1L] == limit[2L]) {
    cpt_abort("{.arg {name}} must be two different numbers, not {describe(limit)}.")
  }
  sort(limit)
}

# The predictors to show; see the help page for the default.
region_vars <- function(x, vars, data) {
  spec <- x$blueprint$columns
  numeric <- spec$name[spec$kind == "numeric"]
  if (length(numeric) < 2L) {
    cpt_abort(c(
      "A plot of regions needs two numeric predictors; this tree has {length(numeric)}.",
      i = "Use {.code type = \"tree\"}."
    ))
  }
  if (is.null(vars)) {
    if (length(numeric) == 2L) return(numeric)
    return(utils::head(numeric[order(-column_reliance(x, numeric, data))], 2L))
  }
  if (!is.character(vars) || length(vars) != 2L || anyNA(vars) || vars[1L] == vars[2L]) {
    cpt_abort("{.arg vars} must be the names of two predictors, not {describe(vars)}.")
  }
  wrong <- setdiff(vars, numeric)
  if (length(wrong)) {
    cpt_abort(c(
      "{.field {wrong}} {?is/are} not {?a numeric predictor/numeric predictors} of this tree.",
      i = "Numeric predictors: {name_text(numeric, 10L)}."
    ))
  }
  vars
}

# Sum of weight times absolute coefficient over all facets. Spreads of the training
# data are not stored: coefficients are put on one scale only if `data` is there.
column_reliance <- function(x, columns, data) {
  size <- drop(abs(x$tree$coef) %*% x$tree$r)
  total <- vapply(columns, function(name) sum(size[x$blueprint$source == name]), 1)
  spread <- vapply(columns, function(name) {
    v <- data[[name]]
    if (is.numeric(v)) stats::sd(v, na.rm = TRUE) else 1
  }, 1)
  total * ifelse(is.finite(spread), spread, 1)
}

check_at <- function(x, at, vars) {
  if (is.null(at)) return(list())
  known <- setdiff(x$blueprint$columns$name, vars)
  if (is.data.frame(at)) at <- as.list(at)
  if (!is.list(at) || is.null(names(at)) || any(lengths(at) != 1L)) {
    cpt_abort("{.arg at} must be a named list of single values, not {describe(at)}.")
  }
  wrong <- setdiff(names(at), known)
  if (length(wrong)) {
    cpt_abort(c(
      "{.arg at} names {.field {wrong}}, which {?is/are} not among the predictors held fixed.",
      i = "These are: {name_text(known, 10L)}."
    ))
  }
  at
}

# Range of the points, else of the places where the strongest facets cross the axis.
axis_range <- function(x, var, points) {
  points <- points[is.finite(points)]
  if (length(points) && diff(range(points)) > 0) {
    return(range(points) + c(-0.03, 0.03) * diff(range(points)))
  }
  tree <- x$tree
  spec <- x$blueprint$columns
  middle <- spec$fill[match(var, spec$name)]
  j <- match(var, encoded_columns(x), nomatch = 0L)
  facet <- if (j) which(tree$coef[j, ] != 0)
  if (!length(facet)) return(middle + c(-1, 1))
  base <- forge_grid(x, data.frame(row.names = 1L), list())
  home <- facet_home(tree)[facet]
  slope <- tree$coef[j, facet]
  rest <- drop(base %*% tree$coef[, facet, drop = FALSE]) - base[1L, j] * slope +
    tree$intercept[facet]
  cross <- (facet_bound(tree$threshold[home], tree$r[facet]) - rest) / slope
  strength <- abs(slope) * tree$r[facet]
  cross <- cross[is.finite(cross) & strength >= 0.25 * max(strength)]
  # Faces can cross far away: twice the middle distance is safe from the few that do.
  reach <- 2 * stats::median(abs(cross - middle))
  if (!is.finite(reach) || reach <= 0) reach <- max(1, abs(middle) / 2)
  middle + c(-reach, reach)
}

# A fixed aspect ratio leaves room beside one axis: the grid must cover it too.
fill_aspect <- function(limits, asp) {
  size <- graphics::par("pin")
  scale <- c(diff(limits[[1L]]), diff(limits[[2L]]) * asp) / size
  short <- which.min(scale)
  wide <- diff(limits[[short]]) * max(scale) / min(scale)
  limits[[short]] <- mean(limits[[short]]) + c(-0.5, 0.5) * wide
  limits
}

# Encoded matrix of grid rows. Columns not in `frame` or `at` are missing, so they
# are filled in as the blueprint fills in gaps: by training medians and modes.
forge_grid <- function(x, frame, at) {
  blueprint <- x$blueprint
  # A recipe ends in these very columns: the grid is laid over them.
  blueprint$recipe <- NULL
  n <- nrow(frame)
  columns <- lapply(blueprint$columns$name, function(name) {
    if (!is.null(frame[[name]])) return(frame[[name]])
    rep(if (is.null(at[[name]])) NA else at[[name]], n)
  })
  names(columns) <- blueprint$columns$name
  newdata <- structure(columns, class = "data.frame", row.names = .set_row_names(n))
  as.matrix(blueprint_forge(blueprint, newdata, "impute")$x)
}

# In pieces, so that a grid over 20,000 columns still fits in memory.
route_grid <- function(x, frame, at, threads) {
  rows <- max(1L, floor(2e7 / length(encoded_columns(x))))
  piece <- ceiling(seq_len(nrow(frame)) / rows)
  parts <- lapply(split(seq_len(nrow(frame)), piece), function(take) {
    encoded <- forge_grid(x, frame[take, , drop = FALSE], at)
    list(
      leaf = route_rows(x$tree, encoded, threads),
      excess = node_excess(x$tree, encoded, threads)
    )
  })
  list(
    leaf = unlist(lapply(parts, `[[`, "leaf"), use.names = FALSE),
    excess = do.call(rbind, lapply(parts, `[[`, "excess"))
  )
}

plot_regions <- function(x, grid, colours, legend, main, digits, data, asp) {
  axes <- grid$axes
  size <- lengths(axes)
  fill <- region_fill(x, colours)
  raster <- isTRUE(grDevices::dev.capabilities("rasterImage")[[1L]] %in% c("yes", "non-missing"))
  graphics::image(axes[[1L]], axes[[2L]], matrix(grid$leaf, size[1L]),
    col = fill, breaks = seq_along(c(0, fill)) - 0.5, useRaster = raster,
    asp = asp,
    xlab = grid$vars[1L], ylab = grid$vars[2L], main = "")
  draw_boundaries(x$tree, grid)
  if (!is.null(data)) draw_points(x, as_points(data), grid$vars, colours)
  graphics::box()
  if (!is.null(main)) graphics::title(main)
  if (legend) draw_region_key(x, grid, colours, digits, has_title = !is.null(main))
}

# One colour per node: lighter than the points, and lighter still if it is mixed.
region_fill <- function(x, colours) {
  if (x$task == "regression") return(lighten(colours$node, 0.6))
  prob <- node_prob(x$tree)
  best <- prob[cbind(seq_len(nrow(prob)), node_class(prob))]
  least <- 1 / ncol(prob)
  purity <- if (ncol(prob) > 1L) (best - least) / (1 - least) else 1
  lighten(colours$node, 0.3 + 0.3 * purity)
}

# A polytope cuts only the region of its own node: elsewhere its excess is masked.
draw_boundaries <- function(tree, grid) {
  inner <- which(!tree_leaf(tree))
  for (k in seq_along(inner)) {
    excess <- grid$excess[, k]
    excess[grid$leaf < inner[k] | grid$leaf > subtree_end(tree, inner[k])] <- NA
    if (all(is.na(excess)) || all(excess > 0, na.rm = TRUE) || all(excess <= 0, na.rm = TRUE)) next
    lines <- grDevices::contourLines(grid$axes[[1L]], grid$axes[[2L]],
      matrix(excess, length(grid$axes[[1L]])), levels = 0)
    for (line in lines) graphics::lines(line$x, line$y, lty = 2L, lwd = 1.2)
  }
}

draw_points <- function(x, data, vars, colours) {
  y <- if (!is.null(x$outcome)) data[[x$outcome]]
  fill <- rep("grey40", nrow(data))
  if (x$task == "classification" && !is.null(y)) {
    fill <- colours$key[match(as.character(y), x$levels)]
  } else if (is.numeric(y)) {
    range <- range(x$tree$value[tree_leaf(x$tree), 1L])
    share <- (y - range[1L]) / max(diff(range), 1e-300)
    fill <- colours$key[1 + round(63 * pmin(pmax(share, 0), 1))]
  }
  # Smaller in small plots, where they would hide the regions.
  cex <- 0.6 * min(1, max(0.5, min(graphics::par("pin")) / 3.2))
  graphics::points(data[[vars[1L]]], data[[vars[2L]]],
    pch = 21L, cex = cex, bg = fill, col = "grey20", lwd = 0.4)
}

# In the top margin, in inches; nothing if the margin has no room.
draw_region_key <- function(x, grid, colours, digits, has_title) {
  size <- graphics::par("pin")
  margin <- graphics::par("mai")
  free <- margin[3L] - 0.05 - if (has_title) 2.2 * line_height(1) else 0
  rows <- floor(free / line_height(0.8))
  if (rows < 1) return(invisible())
  if (x$task == "regression") {
    range <- range(x$tree$value[tree_leaf(x$tree), 1L])
    value <- unique(signif(seq(range[1L], range[2L], length.out = 5L), digits))
    labels <- vapply(value, format, "", digits = digits)
    fill <- colours$key[round(seq(1, 64, length.out = length(value)))]
  } else {
    seen <- seq_along(x$levels)
    if (length(seen) > 12L) seen <- sort(unique(as.integer(grid$frame$prediction)))
    labels <- x$levels[seen]
    fill <- colours$key[seen]
  }
  if (length(labels) > 24L) return(invisible())
  user <- graphics::par("usr")
  on.exit(graphics::par(usr = user))
  graphics::par(usr = c(0, size[1L], 0, size[2L]))
  width <- size[1L] + margin[4L] - 0.05
  taken <- draw_key(labels, fill, 0, 0, width, rows, draw = FALSE)
  if (taken > 0) draw_key(labels, fill, 0, size[2L] + 0.05 + taken, width, rows)
}
