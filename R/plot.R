# Pictures of a fitted tree in base graphics: the tree itself, and the regions of
# its leaves over two predictors. Pictures only ask predict() and the tree's own
# vectors; they compute nothing about the model. Positions are in inches, so that
# text can be measured against the room it has.

#' Plot a convex polytope tree
#'
#' `type = "tree"` draws the tree from the root down. An inner node shows its number of
#' facets and of training rows; rows inside its polytope go left, the others right.
#' A leaf shows its class probabilities as a stacked bar, or its mean as a bar that
#' fills from the smallest to the largest mean of the tree; its prediction and number
#' of rows are written below. Labels that have no room are shortened or left out,
#' never drawn over each other; the returned data frame has all of them.
#'
#' `type = "regions"` shows two numeric predictors, the others held at the stored
#' training medians (modes for factors): the region of each leaf in the colour of its
#' class (stronger if the leaf is purer) or of its mean, and the boundary of every
#' polytope as a dashed line, within the region of its own node. Margins are those of
#' `par("mar")`, so `points()` and the like can add to the plot. For a tree fitted from
#' a recipe, the predictors are the columns that the recipe makes.
#'
#' Colours are those of Okabe and Ito for up to 8 classes, and `viridis` for more
#' and for means: both can be told apart by colour-blind readers.
#'
#' @param x *A `cpt` object*, as returned by [cpt()].
#' @param type *A string*: `"tree"` (default) or `"regions"`.
#' @param vars *Two names* of numeric predictors for `"regions"`, horizontal axis first. The
#'   default `NULL` takes the two numeric predictors if there are just two, else the
#'   two that the facets rely on most.
#' @param data *A data frame or matrix* with rows to add to `"regions"` as points. If it
#'   has the outcome, points are coloured by it. Default `NULL`: no points.
#' @param at *A named list* of values at which to hold other predictors in `"regions"`,
#'   instead of the training medians.
#' @param xlim,ylim *Two numbers*: ranges of the axes of `"regions"`. The default
#'   `NULL` takes the range of `data`. Without `data` it is guessed from where the
#'   facets cross the axis, since a tree does not keep the range of its training data.
#' @param resolution *A whole number*: grid points per axis of `"regions"`; the
#'   default of 200 is drawn in about a second at most.
#' @param asp *A number*: the aspect ratio of `"regions"`, as in [graphics::plot.window()];
#'   1 draws a circle as a circle. The default `NA` fills the plot.
#' @param palette *Colours*, one per class, or (regression) any number from low to
#'   high. The default `NULL` is described above.
#' @param legend *`TRUE`* (default) *or `FALSE`*: name the colours?
#' @param main *A string*: title. Default `NULL`: none.
#' @param digits *A whole number*: significant digits of means; default 3.
#' @param threads *A whole number*: threads to use; see [predict.cpt()].
#' @param ... *Not used*; anything given is an error.
#' @return A data frame, invisibly. For `"tree"`, one row per node: `node`,
#'   `parent`, `depth`, `is_leaf`, `n`, `facets`, `prediction`, `label` (the full
#'   text), `drawn` (the text that had room), and `x`, `y` in the coordinates of the
#'   plot. For `"regions"`, one row per grid point: the two predictors, `node` (the
#'   leaf) and `prediction`.
#' @examples
#' fit <- cpt(class ~ ., rings, max_depth = 2, max_facets = 8, seed = 1)
#' plot(fit)
#' plot(fit, type = "regions", data = rings[1:300, ], asp = 1)
#' @importFrom graphics plot
#' @export
plot.cpt <- function(x, type = c("tree", "regions"), vars = NULL, data = NULL,
                     at = NULL, xlim = NULL, ylim = NULL, resolution = 200,
                     asp = NA, palette = NULL, legend = TRUE, main = NULL,
                     digits = 3, threads = NULL, ...) {
  check_no_dots(...)
  validate_cpt(x)
  type <- check_choice(type, "type", c("tree", "regions"))
  legend <- check_flag(legend, "legend")
  if (!identical(asp, NA)) check_number(asp, "asp", 0, above = TRUE)
  if (!is.null(main) && !(is.character(main) && length(main) == 1L)) {
    cpt_abort("{.arg main} must be a string, not {describe(main)}.")
  }
  digits <- check_number(digits, "digits", 1, 22, whole = TRUE)
  colours <- leaf_colours(x, palette)
  if (type == "tree") {
    return(invisible(plot_tree(x, colours, legend, main, digits)))
  }
  threads <- resolve_threads(threads)
  grid <- region_grid(x, vars, data, at, xlim, ylim, asp, resolution, threads)
  plot_regions(x, grid, colours, legend, main, digits, data, asp)
  invisible(grid$frame)
}

# Colours ---------------------------------------------------------------------

okabe_ito <- c(
  "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999"
)

# list(key = colour of each class, node = colour of each node's prediction)
leaf_colours <- function(x, palette) {
  if (!is.null(palette)) check_palette(palette, x)
  if (x$task == "classification") {
    key <- if (is.null(palette)) class_palette(length(x$levels)) else palette
    return(list(key = key, node = key[node_class(node_prob(x$tree))]))
  }
  if (is.null(palette)) palette <- grDevices::hcl.colors(64L, "viridis")
  shades <- grDevices::colorRampPalette(palette)(64L)
  list(key = shades, node = shades[1 + round(63 * leaf_share(x$tree))])
}

class_palette <- function(classes) {
  if (classes <= 8L) okabe_ito[seq_len(classes)] else grDevices::hcl.colors(classes, "viridis")
}

check_palette <- function(palette, x) {
  known <- tryCatch(is.matrix(grDevices::col2rgb(palette)), error = function(e) FALSE)
  if (!known || !length(palette)) {
    cpt_abort("{.arg palette} must be a vector of colours, not {describe(palette)}.")
  }
  classes <- length(x$levels)
  if (x$task == "classification" && length(palette) < classes) {
    cpt_abort(
      "{.arg palette} must have a colour for each of the {classes} classes, not {length(palette)}."
    )
  }
}

# Where each node's mean lies between the smallest and the largest mean of a leaf.
leaf_share <- function(tree) {
  mean <- tree$value[, 1L]
  range <- range(mean[tree_leaf(tree)])
  if (diff(range) <= 0) return(rep(0.5, length(mean)))
  pmin(pmax((mean - range[1L]) / diff(range), 0), 1)
}

# Mixed with white: strength 1 keeps the colour, 0 gives white.
lighten <- function(colour, strength) {
  rgb <- grDevices::col2rgb(colour) / 255
  mixed <- 1 - (1 - rgb) * rep(strength, each = 3L)
  grDevices::rgb(mixed[1L, ], mixed[2L, ], mixed[3L, ])
}

# Text in the room it has -----------------------------------------------------

inches_wide <- function(text, cex) {
  graphics::strwidth(text, units = "inches", cex = cex)
}

# Height of a line of text, with the space to the next one.
line_height <- function(cex) graphics::par("csi") / graphics::par("cex") * cex * 1.05

# Texts cut to `room` inches, with "..." where something was cut off.
shorten <- function(text, room, cex) {
  wide <- inches_wide(text, cex)
  for (i in which(wide > room)) {
    # A first guess from the mean width of its characters, then one at a time.
    keep <- min(nchar(text[i]), ceiling(1.5 * nchar(text[i]) * room / wide[i]))
    while (keep > 1L && inches_wide(cut_text(text[i], keep), cex) > room) keep <- keep - 1L
    text[i] <- cut_text(text[i], keep)
  }
  text
}

cut_text <- function(text, keep) paste0(sub(" +$", "", substr(text, 1L, keep)), "...")

# Squares with names, flowing from the top left corner of the box; returns the
# height taken. Nothing is drawn if the names cannot be told apart in `rows` rows.
draw_key <- function(labels, colours, left, top, width, rows = 3L, cex = 0.8,
                     draw = TRUE) {
  mark <- line_height(cex) * 0.6
  labels <- shorten(labels, max(width / 2, 1) - 3 * mark, cex)
  wide <- inches_wide(labels, cex) + 3 * mark
  row <- integer(length(labels))
  x <- double(length(labels))
  used <- 0
  for (i in seq_along(labels)) {
    new_row <- i > 1L && used + wide[i] > width
    if (new_row) used <- 0
    row[i] <- if (i == 1L) 0L else row[i - 1L] + new_row
    x[i] <- used
    used <- used + wide[i]
  }
  if (max(row) >= rows || anyDuplicated(labels)) return(0)
  height <- line_height(cex)
  if (!draw) return((max(row) + 1) * height)
  y <- top - (row + 0.5) * height
  graphics::rect(left + x, y - mark / 2, left + x + mark, y + mark / 2,
    col = colours, border = "grey40", lwd = 0.5, xpd = NA)
  graphics::text(left + x + 1.5 * mark, y, labels, adj = c(0, 0.5), cex = cex, xpd = NA)
  (max(row) + 1) * height
}

# The tree --------------------------------------------------------------------

plot_tree <- function(x, colours, legend, main, digits) {
  tree <- x$tree
  room <- open_canvas(main)
  top <- room$top
  if (legend) {
    top <- top - draw_tree_key(x, colours, room, top, digits)
  }
  place <- place_leaves(x, room, top, digits)
  place <- place_nodes(tree, place, top)
  draw_edges(tree, place)
  noted <- draw_node_labels(tree, place)
  draw_sides(tree, place, noted)
  draw_leaves(x, place, colours)
  drawn <- noted$text
  leaf <- tree_leaf(tree)
  drawn[leaf] <- place$drawn
  label <- noted$full
  label[leaf] <- place$label
  data.frame(
    node = tree$node, parent = tree$parent, depth = tree$depth, is_leaf = leaf, n = tree$n,
    facets = tree$facets, prediction = node_prediction(x), label = label, drawn = drawn,
    x = place$x, y = place$y
  )
}

# A fresh plot whose user coordinates are inches. The whole figure is used, margins
# included, so that par("mar") need not be changed and text() still works later.
open_canvas <- function(main) {
  graphics::plot.new()
  size <- graphics::par("pin")
  margin <- graphics::par("mai")
  figure <- graphics::par("fin")
  graphics::plot.window(c(0, size[1L]), c(0, size[2L]), xaxs = "i", yaxs = "i")
  pad <- 0.08
  room <- list(
    left = pad - margin[2L], right = figure[1L] - margin[2L] - pad,
    bottom = pad - margin[1L], top = figure[2L] - margin[1L] - pad
  )
  room$width <- room$right - room$left
  room$height <- room$top - room$bottom
  if (!is.null(main)) {
    graphics::text((room$left + room$right) / 2, room$top, main,
      adj = c(0.5, 1), font = 2, cex = 1.1, xpd = NA)
    room$top <- room$top - 1.5 * line_height(1.1)
  }
  room
}

# Returns the height that the key and the space below it take.
draw_tree_key <- function(x, colours, room, top, digits) {
  if (x$task == "classification") {
    taken <- if (length(x$levels) <= 12L) {
      draw_key(x$levels, colours$key, room$left, top, room$width)
    } else {
      0
    }
    return(taken + 0.06)
  }
  means <- signif(range(x$tree$value[tree_leaf(x$tree), 1L]), digits)
  note <- if (means[1L] < means[2L]) {
    paste("bars: mean, from", format(means[1L]), "to", format(means[2L]))
  } else {
    ""
  }
  cex <- min(0.8, 0.8 * room$width / max(inches_wide(note, 0.8), 0.01))
  graphics::text(room$left, top, note, adj = c(0, 1), cex = cex, col = "grey30", xpd = NA)
  line_height(0.8) + 0.06
}

# Columns, labels and bars of the leaves, along the bottom of the figure.
place_leaves <- function(x, room, top, digits) {
  tree <- x$tree
  leaf <- which(tree_leaf(tree))
  step <- room$width / length(leaf)
  answer <- if (x$task == "regression") {
    vapply(tree$value[leaf, 1L], format, "", digits = digits)
  } else {
    as.character(node_prediction(x))[leaf]
  }
  out <- list(
    leaf = leaf, step = step, room = room,
    at = room$left + (seq_along(leaf) - 0.5) * step,
    label = paste0(answer, ", n = ", tree$n[leaf])
  )
  out <- c(out, fit_leaf_labels(answer, tree$n[leaf], step, top - room$bottom))
  out$bar_bottom <- room$bottom + out$label_height + 0.04
  out$bar_height <- min(0.7, 0.22 * (top - room$bottom))
  out$bar_top <- out$bar_bottom + out$bar_height
  out
}

# Smaller text than this is not legible: leave it out.
min_cex <- 0.4

# Three ways to write under the leaves, the first with room wins: two lines across;
# upright; upright in two bands, every second leaf lower.
fit_leaf_labels <- function(answer, n, step, height) {
  for (cex in c(0.9, 0.8, 0.7)) {
    rows <- cbind(answer, paste("n =", n))
    if (all(inches_wide(rows, cex) <= 0.94 * step)) {
      return(list(style = "across", cex = cex, rows = rows,
        drawn = paste0(answer, ", n = ", n), label_height = 2 * line_height(cex)))
    }
  }
  for (bands in 1:2) {
    cex <- min(0.8, bands * step / (line_height(1) * 0.86))
    if (cex < min_cex) next
    length <- height * if (bands == 1L) 0.32 else 0.2
    tail <- paste0(", n = ", n)
    text <- paste0(answer, tail)
    if (any(inches_wide(text, cex) > length)) {
      # The class matters more than the count.
      text <- shorten(answer, length, cex)
    }
    return(list(style = "upright", cex = cex, bands = bands, drawn = text,
      band = max(inches_wide(text, cex)) + 0.04,
      label_height = bands * (max(inches_wide(text, cex)) + 0.04)))
  }
  list(style = "none", drawn = rep("", length(answer)), label_height = 0)
}

# Inner nodes stand above the middle of their children; levels share the height.
place_nodes <- function(tree, place, top) {
  size <- length(tree$node)
  leaf <- tree_leaf(tree)
  x <- rep(NA_real_, size)
  x[leaf] <- place$at
  from <- to <- x
  for (i in rev(which(!leaf))) {
    kids <- c(tree$left[i], tree$right[i])
    x[i] <- mean(x[kids])
    from[i] <- from[kids[1L]]
    to[i] <- to[kids[2L]]
  }
  levels <- max(tree$depth, 1L)
  place$level <- (top - place$bar_top) / levels
  # The line below a node's box; the box stands on it.
  place$y <- ifelse(leaf, place$bar_top, place$bar_top + (levels - tree$depth - 0.62) * place$level)
  place$x <- x
  # How far a label may reach to each side: half a leaf past its own leaves.
  place$reach <- pmin(x - from, to - x) + place$step / 2
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

# One style a level: facets and rows, or facets in words, or their number.
draw_node_labels <- function(tree, place) {
  inner <- !tree_leaf(tree)
  facets <- paste0(tree$facets, ifelse(tree$facets == 1L, " facet", " facets"))
  full <- paste0(facets, "\nn = ", tree$n)
  half <- double(length(full))
  text <- rep("", length(full))
  cex <- 0.85
  for (depth in unique(tree$depth[inner])) {
    at <- which(inner & tree$depth == depth)
    fit <- fit_level(
      list(full[at], facets[at], as.character(tree$facets[at])),
      2 * place$reach[at] * 0.92, place$level * 0.62, cex
    )
    if (is.null(fit)) next
    # Deeper levels are never larger than those above.
    cex <- fit$cex
    text[at] <- fit$text
    half[at] <- inches_wide(fit$text, fit$cex) / 2 + 0.03
    graphics::rect(place$x[at] - half[at], place$y[at],
      place$x[at] + half[at], place$y[at] + fit$height,
      col = "white", border = "grey50", lwd = 0.7, xpd = NA)
    graphics::text(place$x[at], place$y[at] + fit$height / 2, fit$text, cex = fit$cex, xpd = NA)
  }
  list(text = text, full = sub("\n", ", ", full), half = half, cex = cex)
}

fit_level <- function(styles, width, height, largest) {
  for (text in styles) {
    lines <- if (any(grepl("\n", text))) 2 else 1
    for (cex in Filter(function(s) s <= largest, c(0.85, 0.75, 0.65, 0.55, 0.45))) {
      tall <- lines * line_height(cex) * 1.1
      if (all(inches_wide(text, cex) + 0.06 <= width) && tall <= height) {
        return(list(text = text, cex = cex, height = tall))
      }
    }
  }
  NULL
}

# "inside" and "outside" on the branches of the levels where both have room.
draw_sides <- function(tree, place, noted) {
  inner <- which(!tree_leaf(tree))
  for (depth in unique(tree$depth[inner])) {
    at <- inner[tree$depth[inner] == depth]
    left <- place$x[tree$left[at]]
    right <- place$x[tree$right[at]]
    free <- min(place$x[at] - noted$half[at] - left, right - place$x[at] - noted$half[at])
    cex <- min(
      0.75, max(noted$cex, 0.55), 0.75 * 0.85 * free / inches_wide("outside", 0.75),
      place$level * 0.8 / line_height(1)
    )
    if (cex < 0.45) next
    y <- place$y[at] + line_height(cex) * 0.55
    graphics::text((left + place$x[at] - noted$half[at]) / 2, y, "inside",
      cex = cex, col = "grey30", xpd = NA)
    graphics::text((right + place$x[at] + noted$half[at]) / 2, y, "outside",
      cex = cex, col = "grey30", xpd = NA)
  }
}

draw_leaves <- function(x, place, colours) {
  tree <- x$tree
  half <- min(0.34 * place$step, 0.3)
  if (x$task == "regression") {
    top <- place$bar_bottom + place$bar_height * leaf_share(tree)[place$leaf]
    graphics::rect(place$at - half, place$bar_bottom, place$at + half, top,
      col = colours$node[place$leaf], border = NA, xpd = NA)
  } else {
    prob <- node_prob(tree)[place$leaf, , drop = FALSE]
    upper <- t(apply(prob, 1L, cumsum))
    dim(upper) <- dim(prob)
    low <- place$bar_bottom + place$bar_height * (upper - prob)
    shown <- which(prob > 0)
    graphics::rect((place$at - half)[row(prob)[shown]], low[shown],
      (place$at + half)[row(prob)[shown]], (low + place$bar_height * prob)[shown],
      col = colours$key[col(prob)[shown]], border = NA, xpd = NA)
  }
  graphics::rect(place$at - half, place$bar_bottom, place$at + half, place$bar_top,
    border = "grey40", lwd = 0.7, xpd = NA)
  write_leaves(place)
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
