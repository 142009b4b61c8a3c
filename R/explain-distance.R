# How far a row is from the other side of a node: along the normal of each facet, and the
# shortest way, in standard deviations of the training rows. Works on scores of facets and
# the products of their normals; knows neither rows nor the tree.

# How far a row inside has to go along the normal of each facet until it is outside. Along
# a line evidence is convex, so Newton's steps from beyond the border fall to it without
# passing it. Beyond it is where the facet alone has all the evidence.
exit_lengths <- function(score, r, threshold, gram) {
  size <- sqrt(diag(gram))
  out <- matrix(Inf, nrow(score), ncol(score))
  if (!nrow(score)) return(out)
  for (j in which(size > 0 & r > 0)) {
    slope <- rep(gram[, j] / size[j], each = nrow(score))
    dim(slope) <- dim(score)
    start <- (facet_bound(threshold, r[j]) - score[, j]) / size[j]
    out[, j] <- cross_line(score, r, threshold, slope, start)
  }
  out
}

# Where evidence falls to the threshold on the lines score + length * slope, from lengths
# beyond it. Rows that do not begin beyond it keep their start.
cross_line <- function(score, r, threshold, slope, length) {
  length <- pmax(length, 0)
  weight <- rep(r, each = nrow(score))
  for (step in 1:60) {
    z <- score + length * slope
    excess <- rowSums(weight * softplus(z)) - threshold
    rise <- rowSums(weight * stats::plogis(z) * slope)
    move <- ifelse(excess > 0 & rise > 0, excess / rise, 0)
    length <- pmax(length - move, 0)
    if (all(move <= 1e-12 * (1 + length))) break
  }
  length
}

# Distance to the other side, by the definitions of the help page.
side_distance <- function(score, r, threshold, outside, nodes, gram,
                          solver = requireNamespace("quadprog", quietly = TRUE)) {
  size <- sqrt(diag(gram))
  if (length(r) == 1L) {
    if (size == 0) return(rep(Inf, nrow(score)))
    return(abs(facet_bound(threshold, r) - score[, 1L]) / size)
  }
  out <- rep(NA_real_, nrow(score))
  inside <- which(!outside)
  if (length(inside)) {
    out[inside] <- way_out(score[inside, , drop = FALSE], r, threshold, nodes$facet[inside],
      nodes$exit[inside], gram)
  }
  if (any(outside) && solver) {
    b <- gram_root(gram)
    out[outside] <- vapply(which(outside), function(row) {
      distance_inside(list(b = b, z = score[row, ], r = r, threshold = threshold))
    }, 0)
  }
  out
}

# A matrix of few rows with the same inner products.
gram_root <- function(gram) {
  e <- eigen(gram, symmetric = TRUE)
  keep <- which(e$values > max(e$values, 0) * 1e-12)
  if (!length(keep)) return(matrix(0, 1L, ncol(gram)))
  sqrt(e$values[keep]) * t(e$vectors[, keep, drop = FALSE])
}

# From where a row leaves through its deciding facet, the normal of the border shows a way out
# that is no longer: the border bends towards the row. Again from there, until nothing is gained.
# Directions are combinations of facets of length 1; all inner products are in `gram`.
way_out <- function(score, r, threshold, facet, exit, gram) {
  best <- exit
  go <- which(is.finite(exit))
  if (!length(go)) return(best)
  score <- score[go, , drop = FALSE]
  mix <- matrix(0, length(go), ncol(score))
  mix[cbind(seq_along(go), facet[go])] <- 1 / sqrt(diag(gram))[facet[go]]
  for (step in 1:100) {
    last <- best[go]
    z <- score + last * (mix %*% gram)
    new <- stats::plogis(z) * rep(r, each = length(go))
    new <- new / sqrt(rowSums((new %*% gram) * new))
    # The tangent at the last crossing is met here, where evidence is at the threshold or above.
    start <- last * rowSums((new %*% gram) * mix)
    best[go] <- pmin(last, cross_line(score, r, threshold, new %*% gram, start))
    mix <- new
    if (all(last - best[go] <= 1e-6 * last)) break
  }
  best
}
