# The tree for ggplot2. Leaves stand at 1, 2, ... across; the height is 1, shared by
# labels, leaf panels and levels. Data comes from plot-tree.R.

autoplot_tree <- function(x, look) {
  tree <- x$tree
  shown <- plot_data_tree(x, look$digits)
  leaves <- sum(shown$is_leaf)
  style <- leaf_style(x, if (leaves <= 12L) 4.5 / leaves else 0)
  parts <- plot_data_leaves(x, style)
  grid <- tree_heights(shown)
  half <- if (leaves == 1L) 0.16 else 0.36
  ggplot2::ggplot() +
    edge_layers(tree, shown, grid) + leaf_layers(x, shown, parts, grid, half) +
    outcome_scale(x, look, "fill") +
    node_text_layers(shown, grid) + leaf_text_layers(shown, grid) +
    ggplot2::coord_cartesian(xlim = c(0.5, leaves + 0.5), ylim = c(0, 1), expand = FALSE) +
    ggplot2::labs(caption = tree_caption(x, parts, look, leaves)) +
    plain_theme(look, axes = FALSE)
}

# Heights of the levels: list(label, bottom, top of the leaf panels, level, y).
tree_heights <- function(shown) {
  leaves <- sum(shown$is_leaf)
  if (leaves == 1L) {
    return(list(bands = 1L, label = 0.16, bottom = 0.2, top = 0.95, level = 0, y = 0.95))
  }
  bands <- if (leaves > 24L) 2L else 1L
  label <- if (leaves > 6L) 0.2 else 0.12
  if (bands == 2L) label <- 0.26
  bottom <- label + 0.02
  top <- bottom + 0.22
  head <- if (max(shown$depth) > 4L) 0.1 else 0.14
  level <- (1 - top - head) / max(shown$depth)
  y <- ifelse(shown$is_leaf, top, 1 - head - shown$depth * level)
  list(bands = bands, label = label, bottom = bottom, top = top, level = level, head = head, y = y)
}

edge_layers <- function(tree, shown, grid) {
  inner <- which(!shown$is_leaf)
  if (!length(inner)) return(NULL)
  left <- tree$left[inner]
  right <- tree$right[inner]
  kid <- c(left, right)
  x <- shown$across
  edges <- data.frame(
    x = c(x[left], x[kid]), xend = c(x[right], x[kid]),
    y = c(grid$y[inner], grid$y[inner], grid$y[inner]), yend = c(grid$y[inner], grid$y[kid])
  )
  # A label on each branch, in the part of its level that no box can reach.
  room <- side_room(shown)[kid]
  line <- rep(grid$y[inner], 2L)
  sides <- data.frame(
    xmin = x[kid] - room, xmax = x[kid] + room,
    ymin = line - 0.34 * grid$level, ymax = line - 0.03 * grid$level,
    label = rep(paste0(c("inside", "outside"), label_break, c("in", "out")), each = length(inner)),
    level = rep(shown$depth[inner], 2L), ink = "grey30"
  )
  list(
    ggplot2::geom_segment(ggplot2::aes(.data$x, .data$y, xend = .data$xend, yend = .data$yend),
      edges, colour = "grey50", linewidth = 0.4),
    fit_text_layer(sides, size = 7, fill = "white")
  )
}

# Half the width of the leaves below a node, on its narrower side.
side_room <- function(shown) {
  below <- leaves_below(shown)
  0.96 * (pmin(shown$across - below$first, below$last - shown$across) + 0.5)
}

node_text_layers <- function(shown, grid) {
  at <- which(!shown$is_leaf)
  if (!length(at)) return(NULL)
  room <- side_room(shown)[at]
  high <- ifelse(shown$depth[at] == 0L, grid$head, 0.6 * grid$level)
  fit_text_layer(data.frame(
    xmin = shown$across[at] - room, xmax = shown$across[at] + room,
    ymin = grid$y[at], ymax = grid$y[at] + high,
    label = do.call(paste, c(lapply(node_labels(shown), `[`, at), sep = label_break)),
    level = shown$depth[at]
  ), size = 8, box = TRUE)
}

leaf_text_layers <- function(shown, grid) {
  at <- which(shown$is_leaf)
  x <- shown$across[at]
  lower <- if (grid$bands == 2L) (seq_along(at) + 1L) %% 2L else 0
  tall <- grid$label / grid$bands
  top <- grid$label - lower * tall
  room <- 0.48 * grid$bands
  text <- data.frame(
    xmin = x - room, xmax = x + room, ymin = top - tall, ymax = top,
    label = paste(paste0(shown$answer[at], "\nn = ", shown$n[at]),
      shown$label[at], shown$answer[at], sep = label_break)
  )
  # Two lines across are for a row of leaves, one line upright for a crowd.
  if (length(at) > 8L) text$label <- paste(shown$label[at], shown$answer[at], sep = label_break)
  lines <- data.frame(x = x, y = grid$label, yend = top)[lower > 0, ]
  list(
    if (nrow(lines)) {
      ggplot2::geom_segment(ggplot2::aes(.data$x, .data$y, xend = .data$x, yend = .data$yend),
        lines, colour = "grey80", linewidth = 0.2)
    },
    fit_text_layer(text, size = 8, turn = TRUE)
  )
}

# The bars or marks of every leaf, and a frame around them.
leaf_layers <- function(x, shown, parts, grid, half) {
  leaf <- which(shown$is_leaf)
  place <- parts
  at <- match(parts$node, shown$node)
  place$xmin <- shown$across[at] - half + 2 * half * parts$xmin
  place$xmax <- shown$across[at] - half + 2 * half * parts$xmax
  place$ymin <- grid$bottom + (grid$top - grid$bottom) * parts$ymin
  place$ymax <- grid$bottom + (grid$top - grid$bottom) * parts$ymax
  place$fill <- if (x$task == "classification") parts$class else node_mean(x$tree)[at]
  area <- place[place$part %in% c("bar", "box"), ]
  frame <- data.frame(xmin = shown$across[leaf] - half, xmax = shown$across[leaf] + half,
    ymin = grid$bottom, ymax = grid$top)
  box <- ggplot2::aes(xmin = .data$xmin, xmax = .data$xmax, ymin = .data$ymin, ymax = .data$ymax)
  line <- function(part, colour, linewidth) {
    data <- place[place$part == part, ]
    if (nrow(data)) {
      ggplot2::geom_segment(
        ggplot2::aes(.data$xmin, .data$ymin, xend = .data$xmax, yend = .data$ymax),
        data, colour = colour, linewidth = linewidth
      )
    }
  }
  list(
    line("whisker", "grey40", 0.4),
    ggplot2::geom_rect(utils::modifyList(box, ggplot2::aes(fill = .data$fill)), area,
      colour = if (x$task == "regression") "grey40" else NA, linewidth = 0.2),
    line("median", "white", 0.4), line("prediction", "black", 0.6),
    ggplot2::geom_rect(box, frame, fill = NA, colour = "grey40", linewidth = 0.3)
  )
}

# What the leaves show; and which branch is which, where that may have no room.
tree_caption <- function(x, parts, look, leaves) {
  sides <- if (leaves > 12L) "left branch: inside, right branch: outside"
  if (x$task == "classification") return(sides)
  range <- vapply(attr(parts, "range"), format, "", digits = look$digits)
  what <- paste0("leaves: ", cut_name(x$outcome %||% "outcome", 30L), " from ", range[1L], " to ",
    range[2L], ", line: ", leaf_line(x))
  paste(c(what, sides), collapse = "\n")
}
