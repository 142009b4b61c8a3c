# Text for ggplot2 that fits its room: the size of the page is known only when a plot is
# drawn, so the choice between long and short labels, and of their size, is made
# then, by grid. This file must not know trees.

# A layer of labels. `data` has the room of each (xmin, xmax, ymin, ymax), `label` with
# shorter alternatives after it, apart by `label_break`, and `level`: labels of
# one level are written in one way and size. `box`: with a frame, standing on ymin.
# `turn`: upright if they do not fit across, and cut to their room.
fit_text_layer <- function(data, size = 9, box = FALSE, turn = FALSE, fill = NA) {
  if (is.null(data$level)) data$level <- 1
  if (is.null(data$ink)) data$ink <- "black"
  mapping <- ggplot2::aes(xmin = .data$xmin, xmax = .data$xmax, ymin = .data$ymin,
    ymax = .data$ymax, label = .data$label, level = .data$level, ink = .data$ink)
  ggplot2::layer(
    geom = fit_text_geom(), stat = "identity", position = "identity", data = data,
    mapping = mapping, inherit.aes = FALSE, show.legend = FALSE,
    params = list(text_size = size, box = box, turn = turn, back = fill)
  )
}

label_break <- "\037"

# Made when it is used, since ggplot2 need not be there when the package is built.
fit_text_geom <- function() {
  ggplot2::ggproto("GeomCptFitText", ggplot2::Geom,
    required_aes = c("xmin", "xmax", "ymin", "ymax", "label"),
    default_aes = ggplot2::aes(level = 1, ink = "black"),
    extra_params = c("na.rm", "text_size", "box", "turn", "back"),
    draw_key = function(...) grid::nullGrob(),
    draw_panel = function(data, panel_params, coord, text_size = 9, box = FALSE, turn = FALSE,
                          back = NA) {
      place <- coord$transform(data, panel_params)
      grid::gTree(place = place, text_size = text_size, box = box, turn = turn, back = back,
        cl = "cpt_fit_text")
    }
  )
}

#' @exportS3Method grid::makeContent
makeContent.cpt_fit_text <- function(x) {
  place <- x$place
  inches <- function(value, along) {
    convert <- if (along == "x") grid::convertWidth else grid::convertHeight
    convert(grid::unit(value, "npc"), "inches", valueOnly = TRUE)
  }
  wide <- inches(place$xmax - place$xmin, "x")
  tall <- inches(place$ymax - place$ymin, "y")
  parts <- list()
  for (level in unique(place$level)) {
    at <- which(place$level == level)
    styles <- label_styles(place$label[at])
    fit <- fit_styles(styles, wide[at], tall[at], x$text_size, x$turn)
    if (!is.null(fit)) parts <- c(parts, fit_grobs(place[at, ], fit, x$box, x$turn, x$back))
  }
  grid::setChildren(x, do.call(grid::gList, parts))
}

# Alternatives of all labels: a list of vectors, longest first.
label_styles <- function(label) {
  parts <- strsplit(label, label_break, fixed = TRUE)
  lapply(seq_len(max(1L, lengths(parts))), function(k) {
    vapply(parts, function(p) if (length(p)) p[min(k, length(p))] else "", "")
  })
}

# The first style for which all labels fit, across or upright, at a legible size if
# possible: list(text, size, turned, need), or NULL.
fit_styles <- function(styles, wide, tall, size, turn) {
  sizes <- c(size, Filter(function(s) s < size, c(8, 7, 6, 5, 4.5)))
  for (text in styles) {
    need <- text_inches(text)
    ways <- if (turn && !any(grepl("\n", text))) c(FALSE, TRUE) else FALSE
    for (some in split(sizes, sizes < 6)) for (turned in ways) for (s in some) {
      along <- need$wide * s
      across <- need$tall * s
      fits <- if (turned) along <= tall & across <= wide else along <= wide & across <= tall
      if (all(fits)) return(list(text = text, size = s, turned = turned, need = need))
    }
  }
  if (turn) cut_upright(styles[[length(styles)]], tall, wide, sizes)
}

# The last resort: the shortest text, upright, cut to the room it has.
cut_upright <- function(text, along, across, sizes) {
  need <- text_inches(text)
  sizes <- sizes[vapply(sizes, function(s) all(need$tall * s <= across), NA)]
  if (!length(sizes)) return(NULL)
  s <- max(min(sizes), min(6, max(sizes)))
  keep <- pmax(1, floor(nchar(text) * along / (need$wide * s)) - 3)
  cut <- function(how) ifelse(need$wide * s > along, how(text, keep), text)
  short <- cut(cut_text)
  if (anyDuplicated(short[!duplicated(text)])) short <- cut(cut_middle)
  text <- short
  list(text = text, size = s, turned = TRUE, need = text_inches(text))
}

# Width and height of texts per point of size, with a little air.
text_inches <- function(text) {
  measure <- function(t) {
    grob <- grid::textGrob(t, gp = grid::gpar(fontsize = 10, lineheight = 1))
    lines <- lengths(regmatches(t, gregexpr("\n", t))) + 1
    c(grid::convertWidth(grid::grobWidth(grob), "inches", valueOnly = TRUE) + 0.05,
      lines * 0.15 + 0.025)
  }
  size <- vapply(text, measure, double(2L)) / 10
  list(wide = size[1L, ], tall = size[2L, ])
}

# Framed labels stand on the floor of their room, labels that may be turned hang from
# its ceiling, others are in the middle.
fit_grobs <- function(place, fit, box, turn, back) {
  x <- grid::unit((place$xmin + place$xmax) / 2, "npc")
  high <- grid::unit(fit$need$tall * fit$size, "inches")
  wide <- grid::unit(fit$need$wide * fit$size, "inches")
  top <- grid::unit(place$ymax, "npc")
  y <- if (box) {
    grid::unit(place$ymin, "npc") + 0.5 * high
  } else if (turn) {
    if (fit$turned) top else top - 0.5 * high
  } else {
    grid::unit((place$ymin + place$ymax) / 2, "npc")
  }
  shown <- nzchar(fit$text)
  paper <- if (box || !is.na(back)) {
    look <- grid::gpar(fill = if (box) "white" else back, lwd = 0.7,
      col = if (box) "grey50" else NA)
    grid::rectGrob(x[shown], y[shown], wide[shown], high[shown], gp = look)
  }
  text <- grid::textGrob(fit$text, x, y, rot = if (fit$turned) 90 else 0,
    hjust = if (fit$turned) 1 else 0.5, vjust = 0.5,
    gp = grid::gpar(fontsize = fit$size, lineheight = 1, col = place$ink))
  Filter(Negate(is.null), list(paper, text))
}
