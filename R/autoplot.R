# The pictures of plot.cpt() for ggplot2. Data comes from the same plot_data_*()
# functions; here are only layers and scales. The tree is in autoplot-tree.R, text that
# fits its room in autoplot-text.R. ggplot2 is suggested: nothing here runs without it.

#' Plot a convex polytope tree with ggplot2
#'
#' The six pictures of [plot.cpt()] as ggplot objects, to which scales, themes and labels
#' can be added. Data, colours and defaults are the same; what differs is told below.
#'
#' A ggplot does not know the size of its page when it is made, so the number of
#' things it shows is fixed: at most 9 nodes, 24 facets (of 25 predictors) or
#' 25 bars; a caption tells what is left out. Text within the tree and the heat map
#' is fitted when it is drawn: it becomes smaller, then shorter, and is left out rather
#' than drawn over other text. `"nodes"` draws a grid of inner nodes, never a tree.
#'
#' @inheritParams plot.cpt
#' @param object *A `cpt` object*, as returned by [cpt()].
#' @return A `ggplot` object.
#' @seealso [plot.cpt()] for what the pictures show and for the same in base graphics.
#' @examplesIf requireNamespace("ggplot2", quietly = TRUE)
#' library(ggplot2)
#' fit <- cpt(class ~ ., rings[1:500, ], max_depth = 2, max_facets = 6, seed = 1)
#' autoplot(fit)
#' autoplot(fit, type = "regions", asp = 1, resolution = 50) + labs(title = "Two rings")
#' @importFrom rlang .data
#' @exportS3Method ggplot2::autoplot
autoplot.cpt <- function(object,
                         type = c("tree", "regions", "nodes", "facets", "history", "importance"),
                         vars = NULL, data = NULL, y = NULL, at = NULL, node = NULL,
                         image_dim = NULL, xlim = NULL, ylim = NULL, resolution = NULL,
                         asp = NA, palette = NULL, legend = TRUE, main = NULL,
                         digits = 3, threads = NULL, ...) {
  check_no_dots(...)
  validate_cpt(object)
  rlang::check_installed("ggplot2", "to draw with `autoplot()`.")
  type <- check_choice(type, "type", plot_types)
  look <- check_look(object, palette, legend, main, digits, asp)
  ask <- list(
    vars = vars, data = data, y = y, at = at, node = node, image_dim = image_dim,
    xlim = xlim, ylim = ylim, resolution = resolution, threads = resolve_threads(threads)
  )
  switch(type,
    tree = autoplot_tree(object, look),
    regions = autoplot_regions(object, ask, look),
    nodes = autoplot_nodes(object, ask, look),
    facets = autoplot_facets(object, ask, look),
    history = autoplot_history(object, look),
    importance = autoplot_importance(importance(object), look)
  )
}

# Shared parts ------------------------------------------------------------------

plain_theme <- function(look, axes = TRUE) {
  base <- if (axes) ggplot2::theme_bw(base_size = 9) else ggplot2::theme_void(base_size = 9)
  list(
    base,
    ggplot2::theme(
      legend.position = if (look$legend) "top" else "none",
      legend.justification = "left", legend.key.size = ggplot2::unit(0.65, "lines"),
      legend.margin = ggplot2::margin(0, 0, 0, 0), legend.box = "vertical",
      legend.box.just = "left", legend.spacing.y = ggplot2::unit(2, "pt"),
      legend.title = ggplot2::element_text(size = 7), legend.text = ggplot2::element_text(size = 7),
      panel.grid = ggplot2::element_blank(),
      plot.caption = ggplot2::element_text(hjust = 0, colour = "grey30", size = 7),
      strip.background = ggplot2::element_blank(),
      plot.margin = ggplot2::margin(5, 8, 5, 5)
    ),
    ggplot2::labs(title = look$main)
  )
}

# Longer names would push the picture off the page.
cut_name <- function(text, most = 22L) {
  text <- as.character(text)
  cut <- function(how) ifelse(nchar(text) > most, how(text, most - 2L), text)
  if (anyDuplicated(cut(cut_text)[!duplicated(text)])) cut(cut_middle) else cut(cut_text)
}

# Colours of classes or of numbers, for the aesthetic "fill" or "colour".
outcome_scale <- function(x, look, aesthetic) {
  if (x$task == "classification") {
    key <- stats::setNames(look$colours$key[seq_along(x$levels)], x$levels)
    guide <- ggplot2::guide_legend(override.aes = list(alpha = 1))
    if (length(key) > max_key) guide <- "none"
    return(ggplot2::scale_discrete_manual(aesthetic, values = key, limits = x$levels, name = NULL,
      labels = cut_name, guide = guide, na.value = "grey40"))
  }
  range <- look$colours$range
  if (diff(range) <= 0) range <- range + c(-0.5, 0.5)
  scale <- getExportedValue("ggplot2", paste0("scale_", aesthetic, "_gradientn"))
  scale(colours = look$colours$key, limits = range, oob = squish_to, name = NULL,
    guide = ggplot2::guide_colourbar(barheight = 0.5, barwidth = 8, order = 1))
}

# Values beyond the scale take its end.
squish_to <- function(x, range, ...) pmin(pmax(x, range[1L]), range[2L])

# The outcome of rows as the scale above wants it.
scale_outcome <- function(x, outcome) {
  if (x$task == "classification") factor(outcome, x$levels) else outcome
}

empty_ggplot <- function(text, look) {
  ggplot2::ggplot() +
    ggplot2::annotate("text", x = 0, y = 0, label = paste(strwrap(text, 40), collapse = "\n"),
      size = 3.2, colour = "grey30") +
    plain_theme(look, axes = FALSE)
}

# Regions -----------------------------------------------------------------------

autoplot_regions <- function(x, ask, look) {
  request <- region_request(x, ask)
  if (length(request$axes) == 1L) return(autoplot_band(x, request, look))
  drawn <- plot_data_regions(x, request)
  axes <- request$axes
  level <- any(vapply(axes, is_level_axis, NA))
  number <- expand.grid(drawn$value, KEEP.OUT.ATTRS = FALSE)
  cells <- data.frame(
    x = shown_values(axes[[1L]], number[[1L]]), y = shown_values(axes[[2L]], number[[2L]]),
    prediction = drawn$frame$prediction, strength = region_strength(x)[drawn$leaf]
  )
  lines <- drawn$lines
  lines$x <- shown_values(axes[[1L]], lines$x)
  lines$y <- shown_values(axes[[2L]], lines$y)
  cell <- if (level) ggplot2::geom_tile else ggplot2::geom_raster
  ggplot2::ggplot() +
    cell(ggplot2::aes(.data$x, .data$y, fill = .data$prediction, alpha = .data$strength), cells) +
    line_layers(lines) + point_layer(x, axes, request$points) +
    outcome_scale(x, look, "fill") + ggplot2::scale_alpha_identity() +
    axis_scale(axes[[1L]], "x") + axis_scale(axes[[2L]], "y") +
    ratio_coord(if (level) NA else look$asp) +
    ggplot2::labs(x = cut_name(axes[[1L]]$name, 40L), y = cut_name(axes[[2L]]$name, 40L)) +
    plain_theme(look)
}

ratio_coord <- function(asp, ylim = NULL) {
  if (is.na(asp)) return(ggplot2::coord_cartesian(ylim = ylim, expand = FALSE))
  ggplot2::coord_fixed(asp, expand = FALSE)
}

# Dates stay dates, so that their axis is one.
shown_values <- function(axis, value) {
  if (axis$kind %in% c("date", "datetime")) axis_column(axis, value) else value
}

axis_scale <- function(axis, which) {
  if (is_level_axis(axis)) {
    at <- seq_along(axis$levels)
    scale <- if (which == "x") ggplot2::scale_x_continuous else ggplot2::scale_y_continuous
    return(scale(breaks = at, labels = cut_name(axis$levels, 12L),
      guide = ggplot2::guide_axis(check.overlap = TRUE)))
  }
  name <- switch(axis$kind, date = "date", datetime = "datetime", "continuous")
  scale <- getExportedValue("ggplot2", paste("scale", which, name, sep = "_"))
  scale(guide = ggplot2::guide_axis(check.overlap = TRUE))
}

line_layers <- function(lines) {
  one <- function(kind, linewidth, linetype, colour) {
    lines <- lines[lines$kind == kind, ]
    if (nrow(lines)) {
      ggplot2::geom_path(ggplot2::aes(.data$x, .data$y, group = .data$piece), lines,
        linewidth = linewidth, linetype = linetype, colour = colour)
    }
  }
  list(
    one("face", 0.25, 1L, "grey25"), one("edge", 0.4, 1L, "black"),
    one("boundary", 0.45, 2L, "black")
  )
}

point_layer <- function(x, axes, points, y = points$value[[2L]]) {
  if (is.null(points)) return(NULL)
  data <- data.frame(x = shown_values(axes[[1L]], points$value[[1L]]), y = y)
  if (length(axes) == 2L) data$y <- shown_values(axes[[2L]], data$y)
  if (is.null(points$outcome)) {
    return(ggplot2::geom_point(ggplot2::aes(.data$x, .data$y), data, shape = 21L, size = 1,
      stroke = 0.2, fill = "grey40"))
  }
  data$outcome <- scale_outcome(x, points$outcome)
  ggplot2::geom_point(ggplot2::aes(.data$x, .data$y, fill = .data$outcome), data, shape = 21L,
    size = 1, stroke = 0.2, show.legend = FALSE)
}

# One predictor: see plot_band().
autoplot_band <- function(x, request, look) {
  axis <- request$axes[[1L]]
  drawn <- plot_data_regions(x, request)
  bands <- plot_data_bands(x, axis, drawn)
  height <- band_height(x, drawn, request$points)
  typed <- function(v) shown_values(axis, v)
  steps <- NULL
  if (x$task == "regression") {
    steps <- step_layer(plot_data_steps(bands, drawn), typed)
    bands$ymin <- height[1L]
    bands$ymax <- height[2L]
    bands$prediction <- node_mean(x$tree)[bands$leaf]
  } else {
    bands$prediction <- bands$class
  }
  bands[c("xmin", "xmax")] <- lapply(bands[c("xmin", "xmax")], typed)
  points <- request$points
  y <- band_points(x, points, height)
  ggplot2::ggplot() +
    ggplot2::geom_rect(ggplot2::aes(xmin = .data$xmin, xmax = .data$xmax, ymin = .data$ymin,
      ymax = .data$ymax, fill = .data$prediction), bands,
      alpha = if (x$task == "regression") 0.3 else 0.6) +
    steps +
    ggplot2::geom_vline(xintercept = typed(drawn$lines$x), linewidth = 0.45,
      linetype = if (is_level_axis(axis)) 1L else 2L) +
    point_layer(x, request$axes, points, y) + outcome_scale(x, look, "fill") +
    axis_scale(axis, "x") + ggplot2::coord_cartesian(expand = FALSE) +
    ggplot2::labs(x = cut_name(axis$name, 40L), y = cut_name(band_label(x), 40L)) +
    plain_theme(look)
}

step_layer <- function(steps, typed) {
  steps$x <- typed(steps$x)
  ggplot2::geom_path(ggplot2::aes(.data$x, .data$y, group = .data$piece), steps, linewidth = 0.8)
}

# Nodes -------------------------------------------------------------------------

autoplot_nodes <- function(x, ask, look) {
  tree <- x$tree
  wanted <- node_request(x, ask)
  if (length(tree$node) == 1L && is.null(wanted$rows)) {
    return(empty_ggplot("The tree has no split. Give `data` to see its rows.", look))
  }
  at <- if (is.null(ask$node)) first_nodes(tree, 9L) else check_nodes(ask$node, tree)
  drawn <- plot_data_nodes(x, wanted, at)
  shared <- attr(drawn, "shared")
  titles <- panel_titles(x, drawn$nodes)
  panel <- function(node) factor(titles[match(node, drawn$nodes$node)], titles)
  rows <- drawn$rows
  rows$panel <- panel(rows$node)
  lines <- drawn$boundary
  lines$panel <- panel(lines$node)
  outcome <- attr(drawn, "outcome")
  left_out <- sum(!tree_leaf(tree)) - sum(!drawn$nodes$is_leaf)
  flat <- !nzchar(drawn$nodes$ylab[1L])
  wide <- any(vapply(attr(drawn, "axes"), `[[`, "", "kind") %in% c("date", "datetime"))
  ggplot2::ggplot() +
    heat_layers(drawn, panel) + row_layers(x, rows, outcome, look) +
    ggplot2::geom_path(ggplot2::aes(.data$x, .data$y, group = .data$piece), lines,
      linewidth = 0.45, linetype = 2L) +
    ggplot2::facet_wrap("panel", scales = if (shared) "fixed" else "free", drop = FALSE) +
    panel_scales(drawn, panel) +
    ratio_coord(if (shared && !flat) look$asp else NA, if (flat) c(0, 1)) +
    ggplot2::labs(
      x = if (shared) cut_name(drawn$nodes$xlab[1L], 40L) else "first direction (sd units)",
      y = if (shared) cut_name(drawn$nodes$ylab[1L], 40L) else if (!flat) "second direction",
      caption = if (is.null(ask$node) && left_out > 0) paste(left_out, "deeper nodes not shown")
    ) +
    plain_theme(look) + small_panels(nrow(drawn$nodes), flat, wide)
}

# One raster layer per node: each has a grid of its own.
heat_layers <- function(drawn, panel) {
  layers <- lapply(which(!drawn$nodes$is_leaf), function(k) {
    grid <- drawn$grid[drawn$grid$node == drawn$nodes$node[k], ]
    grid$panel <- panel(grid$node)
    grid$shade <- evidence_shade(grid$g, drawn$nodes$threshold[k])
    ggplot2::geom_raster(ggplot2::aes(.data$x, .data$y, fill = .data$shade), grid)
  })
  if (!length(layers)) return(NULL)
  c(layers, list(ggplot2::scale_fill_gradientn(
    colours = heat_colours(16L), limits = c(0, 1), breaks = c(0, 0.5, 1),
    labels = c("0", "boundary", "1"), name = "probability f",
    guide = ggplot2::guide_colourbar(barheight = 0.5, barwidth = 6, order = 2)
  )))
}

# Few ticks, since panels are small; labels as the axes want them.
panel_scales <- function(drawn, panel) {
  labels <- lapply(1:2, function(k) {
    axis <- attr(drawn, "axes")[k][[1L]]
    if (is.null(axis)) ggplot2::waiver() else function(at) axis_labels(axis, at)
  })
  guide <- ggplot2::guide_axis(check.overlap = TRUE)
  # Panels without a heat map would end at their outermost rows.
  limits <- as.data.frame(attr(drawn, "limits"))
  corners <- data.frame(x = c(limits$xmin, limits$xmax), y = c(limits$ymin, limits$ymax),
    panel = rep(panel(drawn$nodes$node), 2L))
  list(
    ggplot2::geom_blank(ggplot2::aes(.data$x, .data$y), corners),
    ggplot2::scale_x_continuous(n.breaks = 4L, labels = labels[[1L]], guide = guide),
    ggplot2::scale_y_continuous(n.breaks = 4L, labels = labels[[2L]], guide = guide)
  )
}

row_layers <- function(x, rows, outcome, look) {
  if (!nrow(rows)) return(NULL)
  if (is.null(outcome)) {
    return(ggplot2::geom_point(ggplot2::aes(.data$x, .data$y), rows, size = 0.6, colour = "grey30"))
  }
  rows$outcome <- scale_outcome(x, outcome)
  list(
    ggplot2::geom_point(ggplot2::aes(.data$x, .data$y, colour = .data$outcome), rows, size = 0.6),
    outcome_scale(x, look, "colour"),
    if (x$task == "classification") {
      ggplot2::guides(colour = if (length(x$levels) > max_key) "none" else {
        ggplot2::guide_legend(override.aes = list(size = 2), order = 1)
      })
    }
  )
}

# Shorter if there are many panels beside each other.
panel_titles <- function(x, nodes) {
  count <- ifelse(is.na(nodes$rows), nodes$n, nodes$rows)
  facets <- paste0(nodes$facets, ifelse(nodes$facets == 1L, " facet", " facets"))
  what <- ifelse(nodes$is_leaf, "leaf", facets)
  if (nrow(nodes) <= 2L) return(paste0("node ", nodes$node, ": ", what, ", n = ", count))
  paste0("node ", nodes$node, ": ", what, "\nn = ", count)
}

# `wide`: the tick labels are, so that those of neighbours would touch.
small_panels <- function(n, flat, wide) {
  text <- if (n > 4L) ggplot2::element_text(size = 6) else ggplot2::element_text(size = 7)
  ggplot2::theme(
    strip.text = if (n > 4L) {
      ggplot2::element_text(size = 6, margin = ggplot2::margin(1, 1, 1, 1))
    } else {
      ggplot2::element_text(size = 8, margin = ggplot2::margin(2, 2, 2, 2))
    },
    axis.text.x = text, axis.text.y = if (flat) ggplot2::element_blank() else text,
    axis.ticks.y = if (flat) ggplot2::element_blank() else ggplot2::element_line(),
    panel.spacing = ggplot2::unit(if (wide) 16 else 4, "pt")
  )
}

# Facets ------------------------------------------------------------------------

autoplot_facets <- function(x, ask, look) {
  data <- plot_data_facets(x, ask$node, ask$image_dim)
  if (!nrow(data)) return(empty_ggplot("The tree has no split, so it has no facets.", look))
  image <- !is.null(ask$image_dim)
  key <- unique(facet_label(data))
  shown <- utils::head(key, 24L)
  data <- data[facet_label(data) %in% shown, ]
  if (image) return(autoplot_images(data, length(key) - length(shown), look))
  name <- levels(data$column)
  columns <- name[name %in% largest_columns(data, 25L)]
  data <- data[as.character(data$column) %in% columns, ]
  data$x <- match(as.character(data$column), columns)
  data$y <- match(facet_label(data), rev(shown))
  data$label <- vapply(signif(data$coefficient, look$digits), format, "", digits = look$digits)
  data$ink <- ifelse(abs(data$relative) > 0.7, "white", "black")
  ggplot2::ggplot(data, ggplot2::aes(.data$x, .data$y)) +
    ggplot2::geom_tile(ggplot2::aes(fill = .data$relative)) +
    fit_text_layer(transform(data, xmin = data$x - 0.48, xmax = data$x + 0.48,
      ymin = data$y - 0.45, ymax = data$y + 0.45), size = 8) +
    sign_scale("coefficient x sd, largest = 1") +
    ggplot2::scale_x_continuous(breaks = seq_along(columns), labels = cut_name(columns)) +
    ggplot2::scale_y_continuous(breaks = seq_along(shown), labels = rev(shown),
      guide = ggplot2::guide_axis(check.overlap = TRUE)) +
    ggplot2::coord_cartesian(expand = FALSE) +
    ggplot2::labs(x = NULL, y = "node.facet", caption = empty_to_null(
      facet_note(length(key) - length(shown), length(name) - length(columns)))) +
    plain_theme(look) +
    ggplot2::theme(axis.text.x = upright_if(columns), axis.text.y = small_if(shown))
}

empty_to_null <- function(text) if (nzchar(text)) text

upright_if <- function(text) {
  if (sum(nchar(cut_name(text))) < 46L) return(ggplot2::element_text())
  ggplot2::element_text(angle = 90, hjust = 1, vjust = 0.5, size = if (length(text) > 12L) 6 else 7)
}

small_if <- function(text) {
  ggplot2::element_text(size = if (length(text) > 20L) 5 else if (length(text) > 10L) 6 else 7)
}

sign_scale <- function(name) {
  ggplot2::scale_fill_gradientn(colours = sign_colours(17L), limits = c(-1, 1),
    breaks = c(-1, 0, 1), name = name,
    guide = ggplot2::guide_colourbar(barheight = 0.5, barwidth = 6))
}

autoplot_images <- function(data, left_out, look) {
  label <- facet_label(data)
  weight <- vapply(data$weight, format, "", digits = 2L)
  long <- length(unique(label)) <= 8L
  title <- if (long) paste0(label, " (r = ", weight, ")") else label
  data$title <- factor(title, unique(title))
  ggplot2::ggplot(data, ggplot2::aes(.data$col, -.data$row, fill = .data$relative)) +
    ggplot2::geom_raster() + sign_scale("coefficient, largest = 1") +
    ggplot2::facet_wrap("title") + ggplot2::coord_fixed(expand = FALSE) +
    ggplot2::labs(caption = empty_to_null(facet_note(left_out, 0))) +
    plain_theme(look, axes = FALSE) +
    ggplot2::theme(strip.text = ggplot2::element_text(size = 7),
      panel.border = ggplot2::element_rect(fill = NA, colour = "grey40"),
      panel.spacing = ggplot2::unit(3, "pt"))
}

# History and importance ----------------------------------------------------------

autoplot_history <- function(x, look) {
  data <- plot_data_history(x)
  if (!nrow(data)) return(empty_ggplot("This tree has no history of its training.", look))
  data$row <- factor(ifelse(data$measure == "lambda", "lambda", "loss"), c("loss", "lambda"))
  loss <- data$value[data$row == "loss"]
  count <- stats::ave(data$value, data$measure, data$stage, FUN = length)
  used <- intersect(names(history_names), data$measure)
  ggplot2::ggplot(data, ggplot2::aes(.data$epoch, .data$value, colour = .data$measure)) +
    ggplot2::geom_line(data = data[count > 1, ], linewidth = 0.5) +
    ggplot2::geom_point(data = data[count <= 60, ], size = 0.8) +
    ggplot2::facet_grid(row ~ stage, scales = "free", switch = "y") +
    ggplot2::scale_colour_manual(values = history_colours, breaks = setdiff(used, "lambda"),
      labels = history_names[setdiff(used, "lambda")], name = NULL) +
    ggplot2::scale_x_continuous(breaks = whole_breaks,
      guide = ggplot2::guide_axis(check.overlap = TRUE)) +
    (if (loss_is_wide(loss)) ggplot2::scale_y_log10()) +
    ggplot2::labs(x = "epoch (grow: depth)", y = NULL) + plain_theme(look) +
    ggplot2::theme(strip.placement = "outside", legend.key.width = ggplot2::unit(1, "lines"))
}

whole_breaks <- function(limits) {
  at <- pretty(limits, 4L)
  at[at == round(at)]
}

autoplot_importance <- function(values, look) {
  data <- plot_data_importance(values)
  if (!nrow(data)) return(empty_ggplot("There is no importance to draw.", look))
  left_out <- max(0L, nrow(data) - 25L)
  data <- utils::head(data, 25L)
  data$at <- rev(seq_len(nrow(data)))
  data$text <- vapply(signif(data$importance, look$digits), format, "", digits = look$digits)
  caption <- if (left_out) paste(left_out, "predictors of less importance not shown")
  ggplot2::ggplot(data, ggplot2::aes(.data$importance, .data$at)) +
    ggplot2::geom_col(fill = okabe_ito[1L], width = 0.72, orientation = "y") +
    ggplot2::geom_text(ggplot2::aes(x = pmax(.data$importance, 0), label = .data$text),
      hjust = -0.25, size = if (nrow(data) > 15L) 2 else 2.6, colour = "grey30") +
    # A few bars need not fill the page.
    ggplot2::scale_y_continuous(breaks = data$at, labels = cut_name(data$variable),
      expand = ggplot2::expansion(add = max(0.6, (6 - nrow(data)) / 2))) +
    ggplot2::scale_x_continuous(expand = ggplot2::expansion(c(0, 0.14))) +
    ggplot2::labs(x = "importance", y = NULL, caption = caption) + plain_theme(look) +
    ggplot2::theme(axis.text.y = small_if(data$variable))
}
