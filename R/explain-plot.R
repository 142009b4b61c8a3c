# Pictures of explanations: bars of what each variable contributed along the path of one
# row, in base graphics and for ggplot2. Nothing is computed here that explain() does not give.

# Blue and vermilion of Okabe and Ito: told apart by every eye.
side_colours <- c(inside = "#0072B2", outside = "#D55E00")

#' Plot the explanation of one row
#'
#' From the top down, the nodes that the row passes. At each the variables of the facet
#' that decided, with their contributions to its score as bars: to the right they push the row
#' outside, to the left inside. Bars of different nodes are on different scales, each
#' relative to its largest bar.
#'
#' @param x,object *A `cpt_explanation` object*, as returned by [explain()].
#' @param row *A whole number*: which of the explained rows to show; the first by default.
#' @param terms *A whole number*: most variables to show at a node, the largest
#'   contributions first. `plot()` shows fewer if there is no room; the default `NULL` of
#'   `autoplot()` is a number that is legible in a small picture.
#' @param main *A string*: title. The default `NULL` names the row and its prediction; `""`
#'   is none.
#' @param digits *A whole number*: significant digits of numbers.
#' @param ... *Not used*; anything given is an error.
#' @return `plot()` returns, invisibly, a data frame with one row per bar: `node`, `side`, `facet`,
#'   `variable`, `text` (variable and value), `contribution`, `drawn` (was there room?).
#'   `autoplot()` returns a ggplot object, and needs the package ggplot2.
#' @examples
#' fit <- cpt(Species ~ ., iris, max_depth = 2, max_facets = 4, seed = 1)
#' why <- explain(fit, iris[c(1, 71, 120), ])
#' plot(why, row = 3)
#' @export
plot.cpt_explanation <- function(x, row = 1, terms = 8, main = NULL, digits = 3, ...) {
  check_no_dots(...)
  bars <- explanation_bars(x, row, terms)
  main <- main %||% explanation_title(x, row, digits)
  room <- open_canvas(if (nzchar(main)) fit_title(main))
  if (!nrow(bars)) return(invisible(draw_no_split(room, bars)))
  steps <- row_steps(x, row)
  layout <- fit_bars(bars, steps, room)
  bars$drawn <- bars$rank <= layout$terms & bars$node %in% layout$nodes
  draw_steps(bars[bars$drawn, , drop = FALSE], steps, layout, room, digits)
  invisible(bars[seq_len(ncol(bars) - 2L)])
}

# The inner nodes that the row passes.
row_steps <- function(x, row) {
  x$nodes[x$nodes$row == x$rows$row[row] & !is.na(x$nodes$side), , drop = FALSE]
}

# The bars of one row: those of the first deciding facet of each node.
explanation_bars <- function(x, row, terms) {
  row <- check_number(row, "row", 1, max(1, nrow(x$rows)), whole = TRUE)
  terms <- check_number(terms, "terms", 1, whole = TRUE)
  if (!nrow(x$rows)) cpt_abort("There is no row to plot.", "cpt_error_data")
  parts <- variable_terms(x, row)
  steps <- row_steps(x, row)
  at <- match(paste(parts$node, parts$facet), paste(steps$node, steps$facet))
  parts <- parts[!is.na(at), , drop = FALSE]
  at <- at[!is.na(at)]
  rank <- as.integer(stats::ave(seq_along(at), at, FUN = seq_along))
  out <- data.frame(node = parts$node, side = steps$side[at], facet = parts$facet,
    variable = parts$variable, text = parts$text, contribution = parts$contribution,
    drawn = rep(FALSE, length(at)), rank = rank, value = parts$value)
  out[rank <= terms, , drop = FALSE]
}

explanation_title <- function(x, row, digits) {
  one <- x$rows[row, ]
  answer <- if (is.na(one$prob)) format(one$prediction, digits = digits) else one$prediction
  paste0("Row ", one$name, ": ", answer)
}

fit_title <- function(main) shorten(main, graphics::par("fin")[1L] - 0.2, 1.1)

draw_no_split <- function(room, bars) {
  graphics::text((room$left + room$right) / 2, (room$bottom + room$top) / 2,
    "The tree has no split", cex = 0.9, col = "grey30", xpd = NA)
  bars[seq_len(ncol(bars) - 2L)]
}

# Size of text and number of bars a node, so that all steps have room; the last steps are
# left out if even one bar each is too much.
fit_bars <- function(bars, steps, room) {
  height <- room$top - room$bottom - line_height(0.8)
  fits <- function(terms, cex, nodes = steps$node) {
    shown <- sum(bars$rank <= terms & bars$node %in% nodes)
    (shown + 1.6 * length(nodes)) * 1.15 * line_height(cex) <= height
  }
  for (cex in c(0.9, 0.8, 0.7, 0.6, 0.5)) {
    for (terms in rev(seq_len(max(bars$rank)))) {
      # Smaller text is better than fewer than three bars.
      if (fits(terms, cex) && (terms >= min(3L, max(bars$rank)) || cex <= 0.5)) {
        return(list(cex = cex, terms = terms, nodes = steps$node))
      }
    }
  }
  nodes <- steps$node
  while (length(nodes) > 1L && !fits(1L, 0.5, nodes)) nodes <- nodes[-length(nodes)]
  list(cex = 0.5, terms = 1L, nodes = nodes)
}

draw_steps <- function(bars, steps, layout, room, digits) {
  cex <- layout$cex
  line <- 1.15 * line_height(cex)
  label <- min(0.42 * room$width, max(inches_wide(bars$text, cex)) + 0.08)
  number <- max(inches_wide(signed_number(bars$contribution, digits), cex)) + 0.06
  side <- list(left = room$left + label + number, right = room$right - number)
  y <- room$top
  for (node in layout$nodes) {
    step <- steps[steps$node == node, ]
    y <- y - 0.4 * line
    graphics::text(room$left, y - line / 2, shorten(step_text(step, digits), room$width, cex),
      adj = c(0, 0.5), font = 2, cex = cex, xpd = NA)
    y <- y - 1.2 * line
    own <- bars[bars$node == node, , drop = FALSE]
    draw_pushes(own, side, room$left, label, y, line, cex, digits)
    y <- y - line * nrow(own)
  }
  draw_directions(side, y - 0.7 * line, min(cex, 0.8))
}

step_text <- function(step, digits) {
  paste0("Node ", step$node, ": ", step$side,
    if (step$facets > 1L) paste0(", facet ", step$facet, " of ", step$facets),
    if (is.finite(step$distance)) paste0(", ", format(step$distance, digits = digits), " sd to ",
      if (step$side == "inside") "outside" else "inside"))
}

draw_pushes <- function(own, side, left, label, top, line, cex, digits) {
  if (!nrow(own)) return(invisible())
  y <- top - line * (seq_len(nrow(own)) - 0.5)
  middle <- (side$left + side$right) / 2
  reach <- (side$right - side$left) / 2
  end <- middle + reach * own$contribution / max(abs(own$contribution), 1e-300)
  # The value matters more than the end of a long name.
  name <- mapply(shorten, own$variable, label - 0.06 - inches_wide(own$value, cex), cex)
  graphics::text(left, y, paste0(name, own$value), adj = c(0, 0.5), cex = cex, xpd = NA)
  graphics::rect(pmin(middle, end), y - 0.36 * line, pmax(middle, end), y + 0.36 * line,
    col = side_colours[ifelse(own$contribution > 0, "outside", "inside")], border = NA, xpd = NA)
  graphics::segments(middle, top, middle, top - line * nrow(own), col = "grey50", xpd = NA)
  for (right in c(TRUE, FALSE)) {
    at <- which((own$contribution > 0) == right)
    if (!length(at)) next
    graphics::text(end[at] + if (right) 0.04 else -0.04, y[at],
      signed_number(own$contribution[at], digits), adj = c(if (right) 0 else 1, 0.5),
      cex = cex, col = "grey20", xpd = NA)
  }
}

draw_directions <- function(side, y, cex) {
  middle <- (side$left + side$right) / 2
  graphics::text(middle - 0.08, y, "towards inside", adj = c(1, 0.5), cex = cex,
    col = side_colours[["inside"]], xpd = NA)
  graphics::text(middle + 0.08, y, "towards outside", adj = c(0, 0.5), cex = cex,
    col = side_colours[["outside"]], xpd = NA)
}

#' @rdname plot.cpt_explanation
#' @importFrom rlang .data
#' @exportS3Method ggplot2::autoplot
autoplot.cpt_explanation <- function(object, row = 1, terms = NULL, main = NULL, digits = 3, ...) {
  check_no_dots(...)
  rlang::check_installed("ggplot2", "for autoplot().")
  steps <- row_steps(object, row)
  # The size of the picture is not known here: about 15 bars are legible in a small one.
  bars <- explanation_bars(object, row, terms %||% max(2, 15 %/% max(1, nrow(steps))))
  title <- ggplot2::labs(title = main %||% explanation_title(object, row, digits))
  if (!nrow(bars)) {
    return(ggplot2::ggplot() + title + ggplot2::theme_void() +
      ggplot2::annotate("text", 0, 0, label = "The tree has no split", colour = "grey30"))
  }
  head <- vapply(seq_len(nrow(steps)), function(k) step_text(steps[k, ], digits), "")
  bars$step <- factor(head[match(bars$node, steps$node)], head)
  # The same text may stand at several nodes: places are numbers, and texts their labels.
  bars$place <- factor(seq_len(nrow(bars)), rev(seq_len(nrow(bars))))
  bars$push <- factor(ifelse(bars$contribution > 0, "outside", "inside"), c("inside", "outside"))
  bars$share <- bars$contribution / stats::ave(abs(bars$contribution), bars$node, FUN = max)
  bars$number <- paste0(" ", signed_number(bars$contribution, digits), " ")
  bar_chart(bars, small = nrow(steps) > 3L) + title
}

bar_chart <- function(bars, small) {
  size <- if (small) 8 else 9.5
  name <- ifelse(nchar(bars$variable) > 18L, cut_text(bars$variable, 16L), bars$variable)
  short <- paste0(name, bars$value)
  ggplot2::ggplot(bars, ggplot2::aes(x = .data$share, y = .data$place)) +
    ggplot2::geom_col(ggplot2::aes(fill = .data$push), width = 0.75) +
    ggplot2::geom_vline(xintercept = 0, colour = "grey50") +
    ggplot2::geom_text(ggplot2::aes(label = .data$number,
      hjust = as.double(.data$contribution <= 0)), size = 0.3 * size) +
    ggplot2::scale_x_continuous(limits = c(-1.45, 1.45), breaks = NULL) +
    ggplot2::scale_y_discrete(labels = stats::setNames(short, bars$place)) +
    ggplot2::scale_fill_manual(values = unname(side_colours), name = "towards", drop = FALSE) +
    ggplot2::facet_wrap("step", ncol = 1L, scales = "free_y") +
    ggplot2::labs(x = NULL, y = NULL) +
    ggplot2::theme_minimal(base_size = size) +
    ggplot2::theme(panel.grid = ggplot2::element_blank(), legend.position = "bottom",
      legend.key.size = ggplot2::unit(size, "pt"), legend.margin = ggplot2::margin(),
      plot.title.position = "plot", panel.spacing = ggplot2::unit(1, "pt"),
      strip.text = ggplot2::element_text(hjust = 0, face = "bold", size = 0.85 * size,
        margin = ggplot2::margin(1, 0, 1, 0)),
      strip.clip = "off")
}
