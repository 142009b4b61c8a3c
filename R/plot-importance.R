# Pictures: the importance of the predictors as bars. The values come from
# importance(); plot_data_importance() is shared with autoplot.R.

# Largest first.
plot_data_importance <- function(values) {
  values <- as.data.frame(values)
  known <- values[is.finite(values$importance), c("variable", "importance")]
  known$variable <- as.character(known$variable)
  known <- known[order(-known$importance), ]
  row.names(known) <- NULL
  known
}

plot_importance <- function(values, look) {
  data <- plot_data_importance(values)
  room <- open_canvas(look$main)
  if (!nrow(data)) {
    draw_note(room, "There is no importance to draw.")
    return(data)
  }
  cex <- 0.75
  rows <- min(nrow(data), max(1, floor((room$height - 2.4 * line_height(cex)) / 0.13)))
  left_out <- nrow(data) - rows
  if (left_out > 0) {
    room <- write_line(room, paste(left_out, "predictors of less importance not shown"), 0.65)
  }
  draw_bars(data[seq_len(rows), ], room, rows, cex, look$digits)
  data[seq_len(rows), ]
}

draw_bars <- function(data, room, rows, cex, digits) {
  number <- vapply(signif(data$importance, digits), format, "", digits = digits)
  bottom <- room$bottom + 2.2 * line_height(cex)
  # A few bars need not fill the page.
  bottom <- max(bottom, room$top - 0.4 * rows)
  high <- (room$top - bottom) / rows
  size <- min(cex, 0.95 * high / line_height(1))
  name <- shorten(data$variable, 0.4 * room$width, size)
  left <- room$left + max(inches_wide(name, size)) + 0.1
  right <- room$right - max(inches_wide(number, size)) - 0.1
  limits <- range(0, data$importance)
  if (diff(limits) <= 0) limits <- c(0, 1)
  panel <- new_panel(left, right, bottom, room$top, limits, c(0, rows))
  y <- to_y(panel, rows - seq_len(rows) + 0.5)
  from <- to_x(panel, 0)
  to <- to_x(panel, data$importance)
  graphics::rect(pmin(from, to), y - 0.36 * high, pmax(from, to), y + 0.36 * high,
    col = okabe_ito[1L], border = NA, xpd = NA)
  graphics::text(left - 0.06, y, name, adj = c(1, 0.5), cex = size, xpd = NA)
  graphics::text(pmax(from, to) + 0.05, y, number,
    adj = c(0, 0.5), cex = size, col = "grey30", xpd = NA)
  graphics::segments(from, panel$bottom, from, panel$top, col = "grey40", xpd = NA)
  draw_x_axis(panel, cex)
  graphics::text((left + right) / 2, bottom - 0.08 - line_height(cex), "importance",
    adj = c(0.5, 1), cex = cex, col = "grey30", xpd = NA)
}
