# The question for search_leaves(): polytopes, levels and linear leaves as constraints on
# the entries that may change, in standardised units. This file must not know the search.

# Two columns change with a level, and together they count as 1.
finish_scale <- function(entries, norm) {
  entries$scale[entries$kind == "level"] <- if (norm == "l2") sqrt(2) else 2
  entries
}

# The question for search_leaves(), without its limits.
wish_problem <- function(start, entries, wish, norm, margin) {
  tree <- start$object$tree
  n <- nrow(entries)
  # Beyond this many standard deviations nothing is looked for.
  far <- 1e4
  paths <- lapply(wish$leaves, leaf_path, tree = tree)
  shapes <- vector("list", length(tree$node))
  for (i in unique(unlist(lapply(paths, unlist)))) {
    shapes[[i]] <- row_shape(tree, i, start$x, entries)
  }
  leaves <- Map(function(path, i) {
    c(path, list(rows = linear_rows(start, entries, i, wish)))
  }, paths, wish$leaves)
  list(n = n, norm = norm, margin = margin,
    lower = pmax((entries$low - entries$origin) / entries$scale, -far),
    upper = pmin((entries$high - entries$origin) / entries$scale, far),
    whole = which(entries$whole), origin = entries$origin, scale = entries$scale,
    rows = level_rows(entries), shapes = shapes, leaves = leaves)
}

# The polytope of the node at position i as a row sees it, by the entries that may change.
row_shape <- function(tree, i, x, entries) {
  k <- node_facets(tree, i)
  coef <- tree$coef[, k, drop = FALSE]
  list(b = coef[entries$coded, , drop = FALSE] * entries$scale,
    z = drop(crossprod(coef, x)) + tree$intercept[k], r = tree$r[k],
    threshold = tree$threshold[i])
}

# Positions of the nodes above a leaf, by the side on which it is.
leaf_path <- function(tree, leaf) {
  out <- list(inside = integer(), outside = integer())
  at <- leaf
  while (at != 1L) {
    up <- node_position(tree, tree$parent[at])
    side <- if (tree$left[up] == at) "inside" else "outside"
    out[[side]] <- c(up, out[[side]])
    at <- up
  }
  out
}

# The columns of a factor always add up to 1.
level_rows <- function(entries) {
  factors <- unique(entries$column[entries$kind == "level"])
  a <- vapply(factors, function(name) (entries$column == name) * entries$scale,
    double(nrow(entries)))
  new_rows(matrix(a, nrow(entries)), double(length(factors)), length(factors))
}

# Limits of the prediction in a leaf with a linear model. A bound of the model itself may
# keep a limit for all rows.
linear_rows <- function(start, entries, i, wish) {
  tree <- start$object$tree
  if (!leaf_linear(tree)[i]) return(no_rows(nrow(entries)))
  slope <- tree$leaf_coef[entries$coded, i] * entries$scale
  now <- tree$leaf_intercept[i] + sum(tree$leaf_coef[, i] * start$x)
  room <- min(1e-7 * (tree$leaf_high[i] - tree$leaf_low[i]), (wish$high - wish$low) / 4)
  keep <- c(tree$leaf_low[i] < wish$low, tree$leaf_high[i] > wish$high)
  new_rows(cbind(slope, -slope)[, keep, drop = FALSE],
    c(wish$low - now + room, now - wish$high + room)[keep])
}
