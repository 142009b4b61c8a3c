# Pictures: the training of a tree over its stages.
# plot_data_history() is shared with autoplot.R.

# One row per stage, epoch and measure that has a value.
plot_data_history <- function(x) {
  history <- x$history
  measure <- intersect(names(history_names), names(history))
  if (!is.data.frame(history) || !nrow(history) || !all(c("stage", "epoch") %in% names(history))) {
    return(data.frame(stage = factor(), epoch = integer(), measure = factor(), value = double()))
  }
  stage <- factor(history$stage, unique(history$stage))
  parts <- lapply(measure, function(name) {
    data.frame(stage = stage, epoch = history$epoch, measure = name, value = history[[name]])
  })
  out <- do.call(rbind, parts)
  out <- out[is.finite(out$value), ]
  row.names(out) <- NULL
  out$measure <- factor(out$measure, measure)
  out
}

history_names <- c(
  loss = "soft tree", hard_loss = "hard tree", valid_loss = "held-out rows", lambda = "lambda"
)

history_colours <- c(loss = "#56B4E9", hard_loss = "#D55E00", valid_loss = "#009E73",
  lambda = "grey30")

# A loss that falls by more than an order of magnitude needs a logarithmic axis.
loss_is_wide <- function(value) {
  length(value) > 0L && min(value) > 0 && max(value) > 20 * min(value)
}

plot_history <- function(x, look) {
  data <- plot_data_history(x)
  room <- open_canvas(look$main)
  if (!nrow(data)) {
    draw_note(room, "This tree has no history of its training.")
    return(data)
  }
  used <- intersect(names(history_names)[1:3], data$measure)
  if (look$legend) {
    taken <- draw_key(unname(history_names[used]), history_colours[used], room$left, room$top,
      room$width, rows = 3L, cex = 0.7)
    room <- take_from(room, taken + 0.06)
  }
  loss <- data[data$measure != "lambda", ]
  steep <- data[data$measure == "lambda", ]
  cex <- 0.65
  # Below every panel: ticks; below the last: what they count. Above: the stage.
  line <- line_height(cex)
  split <- room$bottom + 2.2 * line + 0.3 * (room$height - 4 * line)
  boxes <- history_columns(data, room, cex)
  draw_history_row(loss, boxes, split + 0.6 * line, room$top - line, "loss", cex,
    loss_is_wide(loss$value))
  draw_history_row(steep, boxes, room$bottom + 2.2 * line, split - 0.6 * line, "lambda", cex, FALSE,
    below = TRUE)
  stage <- levels(data$stage)
  graphics::text((boxes$left + boxes$right) / 2, room$top,
    shorten(stage, min(boxes$right - boxes$left) + 0.1, cex),
    adj = c(0.5, 1), cex = cex, font = 2L, xpd = NA)
  data
}

# A column per stage; even three depths of growing get a visible share of the width.
history_columns <- function(data, room, cex) {
  count <- vapply(split(data$epoch, data$stage), function(e) length(unique(e)), 0L)
  share <- pmax(count / sum(count), 0.16)
  share <- share / sum(share)
  left <- room$left + line_height(cex) + 0.5
  gap <- 0.1
  wide <- (room$right - left - gap * (length(share) - 1L)) * share
  from <- left + c(0, cumsum(wide[-length(wide)] + gap))
  limits <- lapply(split(data$epoch, data$stage), function(e) {
    range(e) + c(-0.5, 0.5) * (diff(range(e)) < 2)
  })
  data.frame(left = from, right = from + wide, low = vapply(limits, `[`, 1, 1L),
    high = vapply(limits, `[`, 1, 2L))
}

draw_history_row <- function(data, boxes, bottom, top, label, cex, log_y, below = FALSE) {
  if (!nrow(data)) return(invisible())
  range <- range(data$value)
  if (diff(range) <= 0) range <- range + c(-0.5, 0.5) * max(abs(range[1L]), 1e-8)
  ylim <- if (log_y) range * c(1 / 1.1, 1.1) else range + c(-0.05, 0.05) * diff(range)
  if (!log_y && range[1L] >= 0) ylim[1L] <- max(0, ylim[1L])
  for (k in seq_len(nrow(boxes))) {
    box <- boxes[k, ]
    panel <- new_panel(box$left, box$right, bottom, top, c(box$low, box$high), ylim, log_y)
    frame_panel(panel, "white")
    here <- data[data$stage == levels(data$stage)[k], ]
    for (name in unique(as.character(here$measure))) draw_track(panel, here[here$measure == name, ])
    draw_x_axis(panel, cex, pretty = whole_pretty)
    if (k == 1L) draw_y_axis(panel, cex)
    if (below) {
      what <- if (levels(data$stage)[k] == "grow") "depth" else "epoch"
      graphics::text((panel$left + panel$right) / 2, bottom - 0.08 - line_height(cex), what,
        adj = c(0.5, 1), cex = cex, col = "grey30", xpd = NA)
    }
  }
  graphics::text(boxes$left[1L] - 0.5, (bottom + top) / 2, label, srt = 90, adj = c(0.5, 0),
    cex = cex, col = "grey30", xpd = NA)
}

whole_pretty <- function(limits, n) {
  at <- axis_pretty(limits, n)$at
  at <- at[at == round(at)]
  list(at = at, labels = format(at, trim = TRUE))
}

# The soft loss has a value for every epoch, the others for some: these as points too.
draw_track <- function(panel, track) {
  name <- as.character(track$measure[1L])
  x <- to_x(panel, track$epoch)
  y <- to_y(panel, track$value)
  colour <- history_colours[[name]]
  graphics::lines(x, y, col = colour, lwd = 1.3, xpd = NA)
  if (nrow(track) <= 60L) graphics::points(x, y, pch = 20L, cex = 0.5, col = colour, xpd = NA)
}
