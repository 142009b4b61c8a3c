# Nearest points of regions cut out by polytopes: the numerical side of explain() and
# counterfactual(). A row may change by t, in standardised units; t = 0 is the row.
# A shape is the polytope of a node seen from the row: list(b, z, r, threshold), where the
# scores of its facets are z + b't. The only file that calls quadprog and lpSolve.
# This file must not know fitted objects, columns or units.

# log(1 + exp(z)), also for large z. Not by pmax(), which is slow on short vectors.
softplus <- function(z) {
  size <- abs(z)
  (z + size) / 2 + log1p(exp(-size))
}

shape_scores <- function(shape, t) shape$z + drop(crossprod(shape$b, t))

shape_evidence <- function(shape, t) sum(shape$r * softplus(shape_scores(shape, t)))

# Evidence and gradient. Evidence is convex, so its tangent never lies above it.
shape_tangent <- function(shape, t) {
  z <- shape_scores(shape, t)
  list(value = sum(shape$r * softplus(z)), slope = drop(shape$b %*% (shape$r * stats::plogis(z))))
}

# A little away from the threshold on both sides, so that rounding cannot change the side.
shape_limits <- function(shape, margin) {
  room <- margin * max(abs(shape$threshold), 1e-9)
  list(room = room, inside = shape$threshold - room, outside = shape$threshold + room)
}

# Linear constraints a't >= b, one column of `a` each; the first `equal` are equations.
new_rows <- function(a, b, equal = 0L) list(a = a, b = b, equal = equal)

add_rows <- function(rows, a, b) new_rows(cbind(rows$a, a), c(rows$b, b), rows$equal)

no_rows <- function(n) new_rows(matrix(0, n, 0L), double())

# The smallest change ---------------------------------------------------------

# The smallest t, by "l2" or "l1", that meets linear constraints and bounds; NULL if there
# is none. With `cost`, "l2" means sum(cost$square * t^2 + cost$linear * t). Fixed entries
# are taken out first.
least_change <- function(rows, lower, upper, norm = "l2", cost = NULL) {
  if (any(lower > upper)) return(NULL)
  t <- lower
  free <- which(upper > lower)
  fixed <- which(upper <= lower)
  b <- rows$b
  if (length(fixed)) b <- b - drop(crossprod(rows$a[fixed, , drop = FALSE], t[fixed]))
  # In units in which every square counts the same.
  unit <- if (is.null(cost)) rep(1, length(free)) else sqrt(cost$square[free])
  a <- rows$a[free, , drop = FALSE] / unit
  size <- sqrt(colSums(a^2))
  flat <- size <= 1e-12
  equation <- seq_along(b) <= rows$equal
  if (any(b[flat] > 1e-9) || any(abs(b[flat & equation]) > 1e-9)) return(NULL)
  keep <- which(!flat)
  scaled <- new_rows(a[, keep, drop = FALSE] / rep(size[keep], each = length(free)),
    b[keep] / size[keep], sum(equation[keep]))
  if (!length(free)) return(t)
  pull <- if (!is.null(cost)) -cost$linear[free] / unit / 2
  found <- within_bounds(scaled, lower[free] * unit, upper[free] * unit, norm, pull)
  if (is.null(found)) return(NULL)
  t[free] <- found / unit
  t
}

# Bounds of a few variables are all constraints; of many, only those that were passed.
within_bounds <- function(rows, lower, upper, norm, pull = NULL) {
  n <- length(lower)
  low <- if (n <= 50L) is.finite(lower) else lower > 0
  high <- if (n <= 50L) is.finite(upper) else upper < 0
  repeat {
    unit <- function(which, sign) {
      replace(matrix(0, n, length(which)), cbind(which, seq_along(which)), sign)
    }
    all <- add_rows(rows, cbind(unit(which(low), 1), unit(which(high), -1)),
      c(lower[low], -upper[high]))
    t <- if (norm == "l2") solve_l2(all, pull) else solve_l1(all)
    if (is.null(t)) return(NULL)
    past_low <- t < lower - 1e-9 & !low
    past_high <- t > upper + 1e-9 & !high
    if (!any(past_low | past_high)) return(pmin(pmax(t, lower), upper))
    low <- low | past_low
    high <- high | past_high
  }
}

# The point nearest to `pull`, or to 0, that meets the constraints.
solve_l2 <- function(rows, pull = NULL) {
  a <- rows$a
  pull <- pull %||% double(nrow(a))
  if (!ncol(a)) return(pull)
  # The solution is a combination of the constraints: few of them need few dimensions.
  basis <- if (nrow(a) > ncol(a) + 1L) {
    q <- qr(cbind(a, if (any(pull != 0)) pull))
    qr.Q(q)[, seq_len(q$rank), drop = FALSE]
  }
  if (!is.null(basis)) {
    a <- crossprod(basis, a)
    pull <- drop(crossprod(basis, pull))
  }
  out <- tryCatch(
    quadprog::solve.QP(diag(nrow(a)), pull, a, rows$b, rows$equal, factorized = TRUE),
    error = function(e) {
      if (grepl("inconsistent", conditionMessage(e))) return(NULL)
      stop(e)
    }
  )
  if (is.null(out)) return(NULL)
  if (is.null(basis)) out$solution else drop(basis %*% out$solution)
}

# t is the difference of two vectors that are not negative.
solve_l1 <- function(rows) {
  n <- nrow(rows$a)
  if (!ncol(rows$a)) return(double(n))
  sign <- rep(c("=", ">="), c(rows$equal, ncol(rows$a) - rows$equal))
  a <- t(rows$a)
  out <- lpSolve::lp("min", rep(1, 2L * n), cbind(a, -a), sign, rows$b)
  if (out$status != 0L) return(NULL)
  out$solution[seq_len(n)] - out$solution[n + seq_len(n)]
}

change_size <- function(t, norm) if (norm == "l2") sqrt(sum(t^2)) else sum(abs(t))

# One convex shape ------------------------------------------------------------

# Bounds that every point inside meets: one half-space a facet.
facet_rows <- function(shape, limit) {
  bound <- facet_bound(limit, shape$r)
  use <- which(bound < Inf)
  new_rows(-shape$b[, use, drop = FALSE], shape$z[use] - bound[use])
}

# The half-space that holds all points with evidence up to `limit`, tangent at t.
cut_rows <- function(shape, t, limit) {
  at <- shape_tangent(shape, t)
  new_rows(cbind(-at$slope), at$value - limit - sum(at$slope * t))
}

# Distance to a shape from outside it: a convex problem, solved by adding tangents.
distance_inside <- function(shape, margin = 1e-7) {
  # The facets span all directions that matter.
  q <- qr(shape$b)
  shape$b <- crossprod(qr.Q(q)[, seq_len(max(q$rank, 1L)), drop = FALSE], shape$b)
  limit <- shape_limits(shape, margin)
  if (limit$inside <= 0) return(Inf)
  rows <- facet_rows(shape, limit$inside)
  free <- rep(Inf, nrow(shape$b))
  t <- double(nrow(shape$b))
  for (i in 1:100) {
    last <- t
    t <- least_change(rows, -free, free)
    if (is.null(t)) {
      # Tangents that nearly coincide can look inconsistent; a point that is all but inside
      # tells this from a shape that holds no point at all.
      near <- shape_evidence(shape, last) <= shape$threshold * (1 + 1e-4)
      return(if (near) change_size(last, "l2") else Inf)
    }
    if (shape_evidence(shape, t) <= shape$threshold) break
    cut <- cut_rows(shape, t, limit$inside)
    rows <- add_rows(rows, cut$a, cut$b)
  }
  change_size(t, "l2")
}
