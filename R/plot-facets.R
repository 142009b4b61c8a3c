# Pictures: the coefficients of the facets, as a heat map or as images.
# plot_data_facets() is shared with autoplot.R.

# Data ------------------------------------------------------------------------

# One row per facet and encoded column, in the order of `at` (positions of nodes).
plot_data_facets <- function(x, node, image_dim = NULL) {
  tree <- x$tree
  at <- facet_nodes(x, node)
  facet <- unlist(lapply(at, node_facets, tree = tree))
  home <- rep(at, tree$facets[at])
  number <- sequence(tree$facets[at])
  coef <- tree$coef[, facet, drop = FALSE]
  # Pixels have one unit; other columns are put on one scale.
  size <- if (is.null(image_dim)) coef * column_scale(x)$sd else coef
  largest <- apply(abs(size), 2L, max, 0)
  relative <- size / rep(ifelse(largest > 0, largest, 1), each = nrow(size))
  p <- nrow(coef)
  out <- data.frame(
    node = rep(tree$node[home], each = p), facet = rep(number, each = p),
    weight = rep(tree$r[facet], each = p),
    column = factor(rep(encoded_columns(x), length(facet)), encoded_columns(x)),
    coefficient = as.double(coef), relative = as.double(relative)
  )
  if (is.null(image_dim)) return(out)
  image_dim <- check_image_dim(image_dim, p)
  out$row <- rep_len((seq_len(p) - 1L) %/% image_dim[2L] + 1L, nrow(out))
  out$col <- rep_len((seq_len(p) - 1L) %% image_dim[2L] + 1L, nrow(out))
  out
}

# Positions of the inner nodes asked for; all of them from the root on.
facet_nodes <- function(x, node) {
  tree <- x$tree
  inner <- which(!tree_leaf(tree))
  if (is.null(node)) return(inner[order(tree$node[inner])])
  check_inner_nodes(node, tree$node[inner])
  node_position(tree, unique(node))
}

check_image_dim <- function(image_dim, p) {
  fine <- is.numeric(image_dim) && length(image_dim) == 2L && all(is.finite(image_dim)) &&
    all(image_dim >= 1) && all(image_dim == round(image_dim))
  if (!fine) {
    got <- describe(image_dim)
    cpt_abort("{.arg image_dim} must be two whole numbers, height and width, not {got}.")
  }
  if (prod(image_dim) != p) {
    cpt_abort(c(
      "{.arg image_dim} must have as many pixels as the tree has columns, {p}.",
      x = "{image_dim[1]} x {image_dim[2]} is {prod(image_dim)}."
    ))
  }
  as.integer(image_dim)
}

# The `most` columns with the largest relative coefficients, in their own order.
largest_columns <- function(data, most) {
  size <- tapply(abs(data$relative), data$column, max)
  utils::head(names(size)[order(-size)], most)
}

# "node 3, facet 1", in short "3.1".
facet_label <- function(data, long = FALSE) {
  if (!long) return(paste0(data$node, ".", data$facet))
  paste0("node ", data$node, ", facet ", data$facet)
}

# Drawing ---------------------------------------------------------------------

plot_facets <- function(x, ask, look) {
  data <- plot_data_facets(x, ask$node, ask$image_dim)
  room <- open_canvas(look$main)
  if (!nrow(data)) {
    draw_note(room, "The tree has no split, so it has no facets.")
    return(data)
  }
  if (look$legend) {
    what <- if (is.null(ask$image_dim)) "coefficient x sd" else "coefficient"
    room <- ramp_line(room, paste0(what, ", largest = 1:"), "-1", "1", sign_colours(33L), 0.7)
  }
  if (is.null(ask$image_dim)) draw_facet_map(data, room, look$digits) else {
    draw_facet_images(data, room, ask$image_dim)
  }
}

sign_number <- function(relative) 33L + as.integer(round(32 * relative))

# Rows are facets, columns are predictors; returns the part of the data drawn.
draw_facet_map <- function(data, room, digits) {
  key <- unique(facet_label(data))
  name <- levels(data$column)
  most <- max(1, floor((room$width - 0.8) / 0.14))
  shown <- name[name %in% largest_columns(data, most)]
  long <- room$width >= 5
  short <- if (!long) "rows: node.facet"
  below <- fit_columns(shown, room, max(inches_wide(facet_label(data, long), 0.7)) + 0.12)
  # A line for the note.
  free <- room$height - below$height - line_height(0.65) - 0.1
  rows <- min(length(key), max(1, floor(free / 0.12)))
  note <- facet_note(length(key) - rows, length(name) - length(shown), short)
  room <- write_line(room, note, 0.65)
  data <- data[facet_label(data) %in% key[seq_len(rows)] & data$column %in% shown, ]
  data$label <- facet_label(data, long)
  # A few facets need not fill the page.
  bottom <- max(room$bottom + below$height, room$top - 0.45 * rows - 0.02)
  panel <- new_panel(below$left, room$right, bottom, room$top, c(0, length(shown)), c(0, rows))
  write_columns(below, panel)
  z <- matrix(sign_number(data$relative), length(shown))
  panel_image(panel, z[, rev(seq_len(rows)), drop = FALSE], sign_colours())
  frame_panel(panel)
  draw_facet_rows(data, panel, rows)
  write_cells(data, panel, shown, rows, digits)
  data[setdiff(names(data), "label")]
}

# Names of the columns below the map: across if they fit or are few, else upright.
fit_columns <- function(shown, room, beside) {
  cex <- 0.7
  left <- room$left + beside
  step <- (room$right - left) / length(shown)
  across <- step >= 1 || all(inches_wide(shown, cex) <= 0.94 * step)
  if (!across) cex <- min(cex, 0.95 * step / line_height(1))
  text <- shorten(shown, if (across) 0.94 * step else min(1.6, 0.4 * room$height), cex)
  height <- if (across) line_height(cex) + 0.06 else max(inches_wide(text, cex)) + 0.08
  list(left = left, text = text, across = across, cex = cex, height = height)
}

write_columns <- function(below, panel) {
  x <- to_x(panel, seq_along(below$text) - 0.5)
  graphics::text(x, panel$bottom - 0.05, below$text, cex = below$cex,
    adj = if (below$across) c(0.5, 1) else c(1, 0.5), srt = if (below$across) 0 else 90, xpd = NA)
}

facet_note <- function(facets, columns, first = NULL) {
  paste(c(
    first,
    if (facets > 0) paste(facets, "facets of deeper nodes not shown"),
    if (columns > 0) paste(columns, "columns with smaller coefficients not shown")
  ), collapse = "; ")
}

# "node.facet" beside each row, and a line between nodes.
draw_facet_rows <- function(data, panel, rows) {
  first <- !duplicated(data$label)
  node <- data$node[first]
  high <- (panel$top - panel$bottom) / rows
  cex <- min(0.7, 0.95 * high / line_height(1))
  y <- to_y(panel, rows - seq_len(rows) + 0.5)
  if (cex >= min_cex) {
    graphics::text(panel$left - 0.06, y, data$label[first], adj = c(1, 0.5), cex = cex,
      xpd = NA)
  }
  change <- which(node[-1L] != node[-rows])
  if (length(change)) {
    graphics::segments(panel$left, to_y(panel, rows - change), panel$right,
      to_y(panel, rows - change), lwd = 1, col = "grey20", xpd = NA)
  }
}

# The coefficients themselves, where all of them have room.
write_cells <- function(data, panel, shown, rows, digits) {
  text <- vapply(signif(data$coefficient, digits), format, "", digits = digits)
  wide <- (panel$right - panel$left) / length(shown)
  fit <- fit_level(list(text), wide, (panel$top - panel$bottom) / rows, 0.75)
  if (is.null(fit)) return(invisible())
  x <- to_x(panel, rep(seq_along(shown) - 0.5, rows))
  y <- to_y(panel, rep(rows - seq_len(rows) + 0.5, each = length(shown)))
  dark <- abs(data$relative) > 0.7
  graphics::text(x, y, text, cex = fit$cex, col = ifelse(dark, "white", "black"), xpd = NA)
}

draw_facet_images <- function(data, room, image_dim) {
  key <- unique(facet_label(data))
  ratio <- image_dim[2L] / image_dim[1L]
  least <- 0.35
  most <- floor(room$width / (least * max(1, ratio) + 0.06)) *
    floor(room$height / (least * max(1, 1 / ratio) + 0.2))
  shown <- utils::head(key, max(1, most))
  data <- data[facet_label(data) %in% shown, ]
  room <- write_line(room, facet_note(length(key) - length(shown), 0), 0.65)
  boxes <- grid_boxes(seq_along(shown), room)
  label <- facet_label(data)
  weight <- vapply(shown, function(k) format(data$weight[match(k, label)], digits = 2L), "")
  title <- fit_level(
    list(paste0(shown, " (r = ", weight, ")"), shown), boxes$right - boxes$left, Inf, 0.75
  ) %||% list(text = rep("", length(shown)), cex = 0.45)
  for (k in seq_along(shown)) {
    draw_image(data[label == shown[k], ], boxes[k, ], image_dim, title$text[k], title$cex)
  }
  data
}

draw_image <- function(data, box, image_dim, title, cex) {
  graphics::text((box$left + box$right) / 2, box$top, title, adj = c(0.5, 1), cex = cex, xpd = NA)
  box$top <- box$top - line_height(cex)
  # Pixels are squares.
  panel <- node_panel_square(box, image_dim)
  z <- matrix(sign_number(data$relative), image_dim[1L], image_dim[2L], byrow = TRUE)
  panel_image(panel, t(z[rev(seq_len(image_dim[1L])), , drop = FALSE]), sign_colours())
  frame_panel(panel)
}

node_panel_square <- function(box, image_dim) {
  pixel <- min((box$right - box$left) / image_dim[2L], (box$top - box$bottom) / image_dim[1L])
  middle <- (box$left + box$right) / 2
  half <- pixel * image_dim[2L] / 2
  bottom <- box$top - pixel * image_dim[1L]
  new_panel(middle - half, middle + half, bottom, box$top, c(0, 1), c(0, 1))
}
