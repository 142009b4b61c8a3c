# The paper of the pictures in base graphics: text that is measured against the room it
# has, keys, and panels with axes. Positions are in inches. Nothing here knows trees.

# Text in the room it has -----------------------------------------------------

# Smaller text than this is not legible: leave it out.
min_cex <- 0.4

inches_wide <- function(text, cex) {
  graphics::strwidth(text, units = "inches", cex = cex)
}

# Height of a line of text, with the space to the next one.
line_height <- function(cex) graphics::par("csi") * cex * 1.05

# Texts cut to `room` inches, with "..." where something was cut off: the end, or the
# middle if the beginnings are the same.
shorten <- function(text, room, cex) {
  out <- shorten_by(text, room, cex, cut_text)
  if (anyDuplicated(out[!duplicated(text)])) out <- shorten_by(text, room, cex, cut_middle)
  out
}

shorten_by <- function(text, room, cex, cut) {
  wide <- inches_wide(text, cex)
  for (i in which(wide > room)) {
    # A first guess from the mean width of its characters, then one at a time.
    keep <- min(nchar(text[i]), ceiling(1.5 * nchar(text[i]) * room / wide[i]))
    while (keep > 1L && inches_wide(cut(text[i], keep), cex) > room) keep <- keep - 1L
    text[i] <- cut(text[i], keep)
  }
  text
}

cut_text <- function(text, keep) paste0(sub(" +$", "", substr(text, 1L, keep)), "...")

cut_middle <- function(text, keep) {
  tail <- ceiling(0.6 * keep)
  paste0(cut_text(text, keep - tail), substring(text, nchar(text) - tail + 1L))
}

# The first of several ways to write the same labels for which all of them fit, at the
# largest size: list(text, cex, height), or NULL.
fit_level <- function(styles, width, height, largest = 0.85) {
  for (text in styles) {
    lines <- if (any(grepl("\n", text))) 2 else 1
    for (cex in Filter(function(s) s <= largest, c(0.85, 0.75, 0.65, 0.55, 0.45, min_cex))) {
      tall <- lines * line_height(cex) * 1.1
      if (all(inches_wide(text, cex) + 0.06 <= width) && tall <= height) {
        return(list(text = text, cex = cex, height = tall))
      }
    }
  }
  NULL
}

# The canvas ------------------------------------------------------------------

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
  if (!is.null(main)) {
    main <- shorten(main, room$width, 1.1)
    graphics::text((room$left + room$right) / 2, room$top, main,
      adj = c(0.5, 1), font = 2, cex = 1.1, xpd = NA)
    room$top <- room$top - 1.5 * line_height(1.1)
  }
  room$height <- room$top - room$bottom
  room
}

# A line along the top (or bottom) of the room, which it takes from it.
write_line <- function(room, text, cex = 0.75, at_bottom = FALSE) {
  if (is.null(text) || !nzchar(text)) return(room)
  # One size smaller before anything is cut off.
  if (inches_wide(text, cex) > room$width) cex <- max(0.55, cex * 0.75)
  y <- if (at_bottom) room$bottom else room$top
  graphics::text(room$left, y, shorten(text, room$width, cex), adj = c(0, if (at_bottom) 0 else 1),
    cex = cex, col = "grey30", xpd = NA)
  take_from(room, line_height(cex) + 0.04, at_bottom)
}

take_from <- function(room, height, at_bottom = FALSE) {
  if (at_bottom) room$bottom <- room$bottom + height else room$top <- room$top - height
  room$height <- room$top - room$bottom
  room
}

# What to say where there is nothing to draw.
draw_note <- function(room, text) {
  wide <- max(10, floor(room$width / inches_wide("n", 0.9)))
  graphics::text((room$left + room$right) / 2, (room$bottom + room$top) / 2,
    paste(strwrap(text, wide), collapse = "\n"), cex = 0.9, col = "grey30", xpd = NA)
}

# Keys ------------------------------------------------------------------------

# Squares with names, flowing from the top left corner of the box; returns the
# height taken. Nothing is drawn if the names cannot be told apart in `rows` rows.
draw_key <- function(labels, colours, left, top, width, rows = 3L, cex = 0.8,
                     draw = TRUE) {
  mark <- line_height(cex) * 0.6
  labels <- shorten(labels, max(width / 2, 1) - 3 * mark, cex)
  place <- flow(inches_wide(labels, cex) + 3 * mark, width)
  if (max(place$row) >= rows || anyDuplicated(labels)) return(0)
  height <- line_height(cex)
  if (!draw) return((max(place$row) + 1) * height)
  y <- top - (place$row + 0.5) * height
  x <- left + place$x
  graphics::rect(x, y - mark / 2, x + mark, y + mark / 2,
    col = colours, border = "grey40", lwd = 0.5, xpd = NA)
  graphics::text(x + 1.5 * mark, y, labels, adj = c(0, 0.5), cex = cex, xpd = NA)
  (max(place$row) + 1) * height
}

# Where boxes of these widths come to stand in lines of `width`.
flow <- function(wide, width) {
  row <- integer(length(wide))
  x <- double(length(wide))
  used <- 0
  for (i in seq_along(wide)) {
    new_row <- i > 1L && used + wide[i] > width
    if (new_row) used <- 0
    row[i] <- if (i == 1L) 0L else row[i - 1L] + new_row
    x[i] <- used
    used <- used + wide[i]
  }
  list(row = row, x = x)
}

# More classes than this have no key: their colours could not be told apart.
max_key <- 12L

# The key of the classes, or of five values of a number, along the top of the room.
key_line <- function(x, room, colours, digits, rows = 3L) {
  key <- colour_key(x, colours, digits)
  if (length(key$labels) > max_key) return(room)
  taken <- draw_key(key$labels, key$fill, room$left, room$top, room$width, rows)
  if (taken > 0) take_from(room, taken + 0.06) else room
}

colour_key <- function(x, colours, digits, seen = seq_along(x$levels)) {
  if (x$task == "classification") return(list(labels = x$levels[seen], fill = colours$key[seen]))
  value <- seq(colours$range[1L], colours$range[2L], length.out = 5L)
  value <- unique(signif(value, digits))
  list(labels = vapply(value, format, "", digits = digits), fill = shade(value, colours))
}

# A bar of colours from one number to another, with a text before it, along the top.
ramp_line <- function(room, text, from, to, colours, cex = 0.75) {
  high <- line_height(cex)
  long <- min(1, room$width / 4)
  from <- paste0(" ", from, " ")
  text <- shorten(text, room$width - long - inches_wide(paste0(from, to, " "), cex), cex)
  y <- room$top - 0.5 * high
  write <- function(x, what) {
    graphics::text(x, y, what, adj = c(0, 0.5), cex = cex, col = "grey30", xpd = NA)
    x + inches_wide(what, cex)
  }
  x <- write(write(room$left, text), from)
  at <- seq(x, x + long, length.out = length(colours) + 1L)
  graphics::rect(at[-length(at)], y - 0.3 * high, at[-1L], y + 0.3 * high,
    col = colours, border = NA, xpd = NA)
  graphics::rect(x, y - 0.3 * high, x + long, y + 0.3 * high,
    border = "grey40", lwd = 0.5, xpd = NA)
  write(x + long, paste0(" ", to))
  take_from(room, high + 0.06)
}

# Panels ----------------------------------------------------------------------

# A rectangle of the canvas with its own coordinates.
new_panel <- function(left, right, bottom, top, xlim, ylim, log_y = FALSE) {
  if (log_y) ylim <- log10(ylim)
  list(left = left, right = right, bottom = bottom, top = top, xlim = xlim, ylim = ylim,
    log_y = log_y)
}

to_x <- function(panel, x) {
  panel$left + (x - panel$xlim[1L]) / diff(panel$xlim) * (panel$right - panel$left)
}

to_y <- function(panel, y) {
  if (panel$log_y) y <- log10(y)
  panel$bottom + (y - panel$ylim[1L]) / diff(panel$ylim) * (panel$top - panel$bottom)
}

frame_panel <- function(panel, col = NA) {
  graphics::rect(panel$left, panel$bottom, panel$right, panel$top,
    col = col, border = "grey40", lwd = 0.7, xpd = NA)
}

# Ticks of an axis of `room` inches whose labels do not touch: list(at, labels).
fit_ticks <- function(limits, room, cex, upright = FALSE, pretty = axis_pretty) {
  space <- function(labels) {
    if (upright) return(rep(line_height(cex), length(labels)))
    inches_wide(labels, cex) + line_height(cex) / 2
  }
  fits <- function(ticks) {
    all(space(ticks$labels) <= min(diff(ticks$at)) / diff(limits) * room)
  }
  for (n in 5:1) {
    ticks <- pretty(limits, n)
    if (length(ticks$at) > 1L && fits(ticks)) return(ticks)
  }
  # The ends of the finest, else one of them.
  ticks <- pretty(limits, 5L)
  ends <- lapply(ticks, `[`, unique(c(1L, length(ticks$at))))
  if (length(ends$at) == 2L && fits(ends)) ends else lapply(ticks, utils::head, 1L)
}

axis_pretty <- function(limits, n) {
  at <- pretty(limits, n)
  at <- at[at >= limits[1L] & at <= limits[2L]]
  list(at = at, labels = format(at, trim = TRUE))
}

# For limits that are logarithms to the base 10.
axis_pretty_log <- function(limits, n) {
  at <- grDevices::axisTicks(limits, log = TRUE, nint = n)
  at <- at[log10(at) >= limits[1L] & log10(at) <= limits[2L]]
  list(at = log10(at), labels = vapply(at, format, "", digits = 3L))
}

draw_x_axis <- function(panel, cex, pretty = axis_pretty) {
  ticks <- fit_ticks(panel$xlim, panel$right - panel$left, cex, pretty = pretty)
  if (!length(ticks$at)) return(invisible())
  x <- to_x(panel, ticks$at)
  graphics::segments(x, panel$bottom, x, panel$bottom - 0.04, col = "grey40", lwd = 0.7, xpd = NA)
  # Labels at the ends stay within the panel.
  half <- inches_wide(ticks$labels, cex) / 2
  x <- pmin(pmax(x, panel$left - 0.1 + half), panel$right + 0.06 - half)
  graphics::text(x, panel$bottom - 0.06, ticks$labels, adj = c(0.5, 1), cex = cex, xpd = NA)
}

# The labels' width, to leave room for them.
y_axis_width <- function(limits, room, cex, pretty = axis_pretty) {
  ticks <- fit_ticks(limits, room, cex, upright = TRUE, pretty = pretty)
  max(0, inches_wide(ticks$labels, cex)) + 0.1
}

draw_y_axis <- function(panel, cex, pretty = if (panel$log_y) axis_pretty_log else axis_pretty) {
  ticks <- fit_ticks(panel$ylim, panel$top - panel$bottom, cex, upright = TRUE, pretty = pretty)
  if (!length(ticks$at)) return(invisible())
  y <- panel$bottom + (ticks$at - panel$ylim[1L]) / diff(panel$ylim) * (panel$top - panel$bottom)
  graphics::segments(panel$left, y, panel$left - 0.04, y, col = "grey40", lwd = 0.7, xpd = NA)
  graphics::text(panel$left - 0.06, y, ticks$labels, adj = c(1, 0.5), cex = cex, xpd = NA)
}

# A matrix of colour numbers as an image that fills the panel.
panel_image <- function(panel, z, colours) {
  x <- seq(panel$left, panel$right, length.out = nrow(z) + 1L)
  y <- seq(panel$bottom, panel$top, length.out = ncol(z) + 1L)
  old <- graphics::par(xpd = NA)
  on.exit(graphics::par(old))
  graphics::image(x, y, z, col = colours, breaks = seq(0.5, length(colours) + 0.5),
    add = TRUE, useRaster = has_raster())
}

has_raster <- function() {
  isTRUE(grDevices::dev.capabilities("rasterImage")[[1L]] %in% c("yes", "non-missing"))
}

# Points, those inside the panel only.
panel_points <- function(panel, x, y, fill, cex) {
  x <- to_x(panel, x)
  y <- to_y(panel, y)
  shown <- which(x >= panel$left & x <= panel$right & y >= panel$bottom & y <= panel$top)
  graphics::points(x[shown], y[shown], pch = 21L, cex = cex, bg = fill[shown], col = "grey20",
    lwd = 0.4, xpd = NA)
}
