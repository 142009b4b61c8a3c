# The search for the smallest change that reaches one of several leaves: branch and bound
# over leaves, whole numbers, and the scores of facets that must be passed.
# This file must not know fitted objects, columns or units.
#
# A leaf is a list of shapes to be inside (convex) and shapes to be outside. "Outside"
# is not convex: evidence must be large, and it is a sum of convex functions of the facets'
# scores. Over an interval of its score each function lies below its chord, so chords give
# a linear constraint that no solution breaks: the least change under it bounds the
# distance from below. Splitting intervals makes chords exact. Tangents lie below the
# evidence, so they give solutions, which bound the distance from above.
#
# A problem is a list: n (entries of t), norm, lower, upper (bounds of t), whole (positions
# of entries that must be whole numbers), origin and scale (entry j is the number
# origin[j] + scale[j] * t[j]), rows (constraints that hold for every leaf), shapes (by node
# position), leaves (list of list(inside, outside, rows)), margin, tolerance, max_steps.

# list(t, leaf, distance, bound, steps, done): the best change found, the leaf it reaches, a
# lower bound of the distance, and whether the search was finished. t is NULL if none was
# found.
search_leaves <- function(problem) {
  problem$shapes <- lapply(problem$shapes, prepare_shape, problem = problem)
  problem$cost <- switch_cost(problem)
  state <- new_state(problem)
  for (l in seq_along(problem$leaves)) {
    push(state, list(leaf = l, lower = problem$lower, upper = problem$upper, intervals = list()))
  }
  # A first solution by way of each leaf, the most promising first: bounds need one to work.
  for (branch in state$queue[order(state$bounds)]) {
    if (branch$bound < cutoff(state)) dive(state, branch)
  }
  while (length(state$bounds) && state$steps < problem$max_steps) {
    state$steps <- state$steps + 1L
    branch <- pop(state)
    if (branch$bound >= cutoff(state)) {
      state$bounds <- double()
      break
    }
    look <- if (is.null(state$t) || state$steps %% 10L == 0L) dive else improve
    look(state, branch)
    for (child in split_branch(state, branch)) push(state, child)
  }
  open <- state$bounds
  list(t = state$t, leaf = state$leaf, distance = state$distance,
    bound = max(0, min(open, cutoff(state))), steps = state$steps,
    done = !length(open) || min(open) >= cutoff(state))
}

# What is asked of a shape again and again: its limits, its facets as constraints, and how
# fast its scores can change.
prepare_shape <- function(shape, problem) {
  if (is.null(shape)) return(NULL)
  shape$limit <- shape_limits(shape, problem$margin)
  shape$facets <- facet_rows(shape, shape$limit$inside)
  shape$up <- pmax(shape$b, 0)
  shape$down <- pmin(shape$b, 0)
  shape$size <- sqrt(colSums(shape$b^2))
  shape$speed <- shape$size
  if (problem$norm == "l1" && problem$n) shape$speed <- apply(abs(shape$b), 2L, max)
  shape$beyond <- facet_bound(shape$limit$outside, shape$r)
  shape
}

# The square of a change that is all or nothing may as well be counted in proportion: it is the
# same at both ends, and more in between, which makes better bounds. A small part stays a
# square, which solvers need. NULL if there is no such change.
switch_cost <- function(problem) {
  full <- ifelse(problem$upper > 0, problem$upper, problem$lower)
  two <- seq_len(problem$n) %in% problem$whole & pmin(abs(problem$lower), abs(problem$upper)) == 0 &
    abs(abs(full * problem$scale) - 1) < 1e-9
  if (problem$norm == "l1" || !any(two)) return(NULL)
  list(square = ifelse(two, 0.02, 1), linear = ifelse(two, 0.98 * full, 0))
}

# Size of a change, where switches are between their ends too; change_size() for solutions.
relaxed_size <- function(problem, t) {
  if (is.null(problem$cost)) return(change_size(t, problem$norm))
  sqrt(max(0, sum(problem$cost$square * t^2 + problem$cost$linear * t)))
}

new_state <- function(problem) {
  state <- new.env(parent = emptyenv())
  state$problem <- problem
  state$queue <- list()
  state$bounds <- double()
  # Tangents found so far, by position of the shape: they hold for every leaf.
  state$cuts <- list()
  state$distance <- Inf
  state$steps <- 0L
  state
}

# Changes that are not smaller than this are of no interest.
cutoff <- function(state) {
  if (is.infinite(state$distance)) return(Inf)
  state$distance - max(state$problem$tolerance * state$distance, 1e-7)
}

push <- function(state, branch) {
  branch <- relax(state, branch)
  if (is.null(branch)) return(invisible())
  state$queue[[length(state$queue) + 1L]] <- branch
  state$bounds <- c(state$bounds, branch$bound)
}

pop <- function(state) {
  first <- which.min(state$bounds)
  branch <- state$queue[[first]]
  state$queue[[first]] <- NULL
  state$bounds <- state$bounds[-first]
  branch
}

# Lower bounds ----------------------------------------------------------------

# The branch with `t`, the least change under chords and tangents, and `bound`, its size.
# NULL if the branch holds nothing better than what is known.
relax <- function(state, branch) {
  problem <- state$problem
  leaf <- problem$leaves[[branch$leaf]]
  # Evidence is above 0, so nothing is inside a threshold of 0.
  for (i in leaf$inside) if (problem$shapes[[i]]$limit$inside <= 0) return(NULL)
  rows <- leaf_rows(state, leaf)
  for (i in leaf$outside) {
    chord <- chord_rows(state, branch, i)
    if (is.null(chord)) return(NULL)
    rows <- add_rows(rows, chord$a, chord$b)
  }
  t <- solve_inside(state, leaf, rows, branch$lower, branch$upper)
  if (is.null(t)) return(NULL)
  branch$t <- t
  branch$bound <- relaxed_size(problem, t)
  if (branch$bound < cutoff(state)) branch else NULL
}

# Constraints of a leaf but for its outside shapes.
leaf_rows <- function(state, leaf) {
  problem <- state$problem
  rows <- add_rows(problem$rows, leaf$rows$a, leaf$rows$b)
  for (i in leaf$inside) {
    facets <- problem$shapes[[i]]$facets
    cuts <- cuts_of(state, i)
    rows <- add_rows(rows, cbind(facets$a, cuts$a), c(facets$b, cuts$b))
  }
  rows
}

cuts_of <- function(state, i) {
  state$cuts[[as.character(i)]] %||% no_rows(state$problem$n)
}

# The least change that meets `rows` and is inside all shapes of the leaf that ask for it,
# by tangents where it is not. After some rounds what is left is rounding of corners: t then
# may still be a little outside, but no solution is smaller. NULL if nothing is of interest.
solve_inside <- function(state, leaf, rows, lower, upper) {
  problem <- state$problem
  for (round in 1:40) {
    t <- least_change(rows, lower, upper, problem$norm, problem$cost)
    if (is.null(t) || relaxed_size(problem, t) >= cutoff(state)) return(NULL)
    missed <- not_inside(problem, leaf, t)
    if (!length(missed)) break
    for (i in missed) {
      shape <- problem$shapes[[i]]
      cut <- cut_rows(shape, t, shape$limit$inside)
      rows <- add_rows(rows, cut$a, cut$b)
      pool <- cuts_of(state, i)
      last <- utils::tail(seq_along(pool$b), 79L)
      state$cuts[[as.character(i)]] <- new_rows(cbind(pool$a[, last, drop = FALSE], cut$a),
        c(pool$b[last], cut$b))
    }
  }
  t
}

# The shapes that t should be inside of but is not.
not_inside <- function(problem, leaf, t) {
  Filter(function(i) {
    shape <- problem$shapes[[i]]
    shape_evidence(shape, t) > shape$limit$inside + shape$limit$room / 2
  }, leaf$inside)
}

# What a point outside shape i must meet, as far as linear constraints can say; NULL if
# there is no such point in the branch.
chord_rows <- function(state, branch, i) {
  problem <- state$problem
  shape <- problem$shapes[[i]]
  limit <- shape$limit$outside
  if (limit <= 0) return(no_rows(problem$n))
  if (length(shape$z) == 1L) return(new_rows(shape$b, shape$beyond - shape$z))
  range <- score_range(state, branch, i)
  if (any(range$low > range$high)) return(NULL)
  chord <- chords(shape, range)
  if (sum(shape$r * softplus(range$high)) < limit) return(NULL)
  base <- sum(chord$at + chord$slope * (shape$z - range$low))
  rows <- new_rows(cbind(shape$b %*% chord$slope), limit - base)
  given <- branch$intervals[[as.character(i)]]
  if (is.null(given)) return(rows)
  low <- which(given$low > -Inf)
  high <- which(given$high < Inf)
  add_rows(rows, cbind(shape$b[, low, drop = FALSE], -shape$b[, high, drop = FALSE]),
    c(given$low[low] - shape$z[low], shape$z[high] - given$high[high]))
}

# The scores that facets of shape i can have: within the bounds, within the branch, and
# no farther away than the best change known.
score_range <- function(state, branch, i) {
  shape <- state$problem$shapes[[i]]
  low <- shape$z + drop(crossprod(shape$up, branch$lower) + crossprod(shape$down, branch$upper))
  high <- shape$z + drop(crossprod(shape$up, branch$upper) + crossprod(shape$down, branch$lower))
  if (is.finite(state$distance)) {
    reach <- state$distance * shape$speed
    low <- pmax(low, shape$z - reach)
    high <- pmin(high, shape$z + reach)
  }
  given <- branch$intervals[[as.character(i)]]
  if (is.null(given)) return(list(low = low, high = high))
  # Rounding may cross bounds that touch.
  high <- pmin(high, given$high)
  low <- pmax(low, given$low)
  list(low = pmin(low, high + 1e-9), high = high)
}

# Slope of the chord of each facet's evidence, and its value at the low end.
chords <- function(shape, range) {
  wide <- range$high - range$low
  at <- shape$r * softplus(range$low)
  slope <- (shape$r * softplus(range$high) - at) / wide
  # Over a point any slope will do; the tangent's is safe.
  narrow <- wide <= 1e-12
  slope[narrow] <- (shape$r * stats::plogis(range$high))[narrow]
  list(at = at, slope = slope)
}

# Branching -------------------------------------------------------------------

# Two branches that together hold every solution of this one, or none if its own least
# change is a solution. What is farthest from being met is settled first: a shape that t
# should be outside of, or a number that should be whole.
split_branch <- function(state, branch) {
  worst <- worst_shape(state$problem, branch)
  part <- farthest_part(state$problem, branch$t)
  if (part$far > worst$far) return(split_whole(state$problem, branch, part$entry))
  chord <- if (worst$shape) worst_chord(state, branch, worst$shape)
  if (is.null(chord)) {
    if (part$entry) return(split_whole(state$problem, branch, part$entry))
    keep_solution(state, branch$leaf, branch$t)
    # Not quite inside yet: once more, with the tangents found meanwhile.
    again <- not_inside(state$problem, state$problem$leaves[[branch$leaf]], branch$t)
    return(if (length(again)) list(branch) else list())
  }
  key <- as.character(worst$shape)
  size <- length(state$problem$shapes[[worst$shape]]$z)
  below <- branch$intervals[[key]] %||% list(low = rep(-Inf, size), high = rep(Inf, size))
  above <- below
  below$high[chord$facet] <- above$low[chord$facet] <- chord$score
  left <- right <- branch
  left$intervals[[key]] <- below
  right$intervals[[key]] <- above
  list(left, right)
}

# The entry that is farthest from a whole number, in units of t; entry 0 if all are whole.
farthest_part <- function(problem, t) {
  none <- list(entry = 0L, far = 0)
  if (!length(problem$whole)) return(none)
  scale <- problem$scale[problem$whole]
  value <- problem$origin[problem$whole] + scale * t[problem$whole]
  off <- abs(value - round(value))
  off[off < 1e-6] <- 0
  if (!any(off > 0)) return(none)
  best <- which.max(off / scale)
  list(entry = problem$whole[best], far = (off / scale)[best])
}

split_whole <- function(problem, branch, j) {
  value <- problem$origin[j] + problem$scale[j] * branch$t[j]
  left <- right <- branch
  left$upper[j] <- (floor(value) - problem$origin[j]) / problem$scale[j]
  right$lower[j] <- (ceiling(value) - problem$origin[j]) / problem$scale[j]
  list(left, right)
}

# The shape that t is farthest from being outside of, as it should be; shape 0 if there is none.
worst_shape <- function(problem, branch) {
  worst <- list(shape = 0L, far = 0)
  for (i in problem$leaves[[branch$leaf]]$outside) {
    shape <- problem$shapes[[i]]
    if (shape_evidence(shape, branch$t) >= shape$limit$outside - shape$limit$room / 2) next
    far <- nearest_way(shape, branch$t)$far
    if (far >= worst$far) worst <- list(shape = i, far = far)
  }
  worst
}

# The facet of a shape whose chord is farthest from its evidence at t, and its score there.
worst_chord <- function(state, branch, i) {
  shape <- state$problem$shapes[[i]]
  range <- score_range(state, branch, i)
  chord <- chords(shape, range)
  z <- shape_scores(shape, branch$t)
  gap <- chord$at + chord$slope * (z - range$low) - shape$r * softplus(z)
  gap[z <= range$low | z >= range$high] <- 0
  if (max(gap) <= 0) return(NULL)
  list(facet = which.max(gap), score = z[which.max(gap)])
}

# Solutions -------------------------------------------------------------------

# Tries to turn the branch's least change into a solution, and keeps it if it is the best.
improve <- function(state, branch) {
  problem <- state$problem
  leaf <- problem$leaves[[branch$leaf]]
  box <- round_box(problem, branch)
  t <- branch$t
  size <- Inf
  for (round in 1:30) {
    rows <- leaf_rows(state, leaf)
    for (i in leaf$outside) {
      half <- outside_rows(problem, i, t, first = round == 1L)
      if (is.null(half)) return(invisible())
      rows <- add_rows(rows, half$a, half$b)
    }
    t <- solve_inside(state, leaf, rows, box$lower, box$upper)
    if (is.null(t)) return(invisible())
    if (length(not_inside(problem, leaf, t))) {
      t <- pull_inside(problem, leaf, rows, box, t)
      if (is.null(t)) return(invisible())
    }
    last <- size
    size <- change_size(t, problem$norm)
    keep_solution(state, branch$leaf, t)
    if (last - size < 1e-5 * size) break
  }
}

# t moved towards a point well inside, no farther than it must be; NULL if there is none.
pull_inside <- function(problem, leaf, rows, box, t) {
  deep <- deep_point(problem, leaf, rows, box)
  if (is.null(deep)) return(NULL)
  share <- c(0, 1)
  for (half in 1:40) {
    middle <- mean(share)
    met <- !length(not_inside(problem, leaf, t + middle * (deep - t)))
    share[if (met) 2L else 1L] <- middle
  }
  t + share[2L] * (deep - t)
}

# A point that meets `rows` with less evidence than it may have.
deep_point <- function(problem, leaf, rows, box) {
  for (depth in c(0.1, 0.01, 0.001)) {
    more <- rows
    for (round in 1:40) {
      t <- least_change(more, box$lower, box$upper)
      if (is.null(t)) break
      excess <- vapply(leaf$inside, function(i) {
        shape <- problem$shapes[[i]]
        shape_evidence(shape, t) - (1 - depth / 2) * shape$threshold
      }, 0)
      if (all(excess <= 0)) return(t)
      for (i in leaf$inside[excess > 0]) {
        shape <- problem$shapes[[i]]
        cut <- cut_rows(shape, t, (1 - depth) * shape$threshold)
        more <- add_rows(more, cut$a, cut$b)
      }
    }
  }
  NULL
}

keep_solution <- function(state, l, t) {
  problem <- state$problem
  size <- change_size(t, problem$norm)
  if (size >= state$distance || !is_solution(problem, problem$leaves[[l]], t)) return(invisible())
  state$t <- t
  state$leaf <- l
  state$distance <- size
}

# Fixes entries that must be whole one after the other, the one nearest to a whole number
# first, and solves again each time: slower than improve(), but it seldom fails.
dive <- function(state, branch) {
  problem <- state$problem
  for (round in seq_along(problem$whole)) {
    value <- problem$origin + problem$scale * branch$t
    off <- abs(value - round(value))
    open <- problem$whole[branch$upper[problem$whole] > branch$lower[problem$whole]]
    if (!length(open) || all(off[open] < 1e-6)) break
    settled <- open[off[open] < 1e-6]
    open <- setdiff(open, settled)
    branch <- fix_entries(problem, branch, settled, round(value[settled]))
    j <- open[which.min(off[open])]
    near <- round(value[j])
    other <- if (near > value[j]) near - 1 else near + 1
    for (to in c(near, other)) {
      next_one <- relax(state, fix_entries(problem, branch, j, to))
      if (!is.null(next_one)) break
    }
    if (is.null(next_one)) return(invisible())
    branch <- next_one
  }
  improve(state, branch)
}

fix_entries <- function(problem, branch, at, value) {
  t <- (value - problem$origin[at]) / problem$scale[at]
  branch$lower[at] <- pmax(branch$lower[at], t)
  branch$upper[at] <- pmin(branch$upper[at], t)
  branch
}

# Entries that must be whole are fixed at the nearest whole number.
round_box <- function(problem, branch) {
  at <- problem$whole
  if (!length(at)) return(branch)
  value <- round(problem$origin[at] + problem$scale[at] * branch$t[at])
  new <- (value - problem$origin[at]) / problem$scale[at]
  fits <- new >= branch$lower[at] - 1e-9 & new <= branch$upper[at] + 1e-9
  branch$lower[at[fits]] <- branch$upper[at[fits]] <- new[fits]
  branch
}

# A half-space all of whose points are outside shape i, near t.
outside_rows <- function(problem, i, t, first) {
  shape <- problem$shapes[[i]]
  if (shape$limit$outside <= 0) return(no_rows(problem$n))
  way <- nearest_way(shape, t, facets = first)
  if (is.infinite(way$far)) return(NULL)
  new_rows(cbind(way$slope), way$bound)
}

# The half-space slope't >= bound that is outside a shape and nearest to t: the tangent at t,
# or (where the tangent is nearly flat) the one beyond a facet. `far` is its distance.
nearest_way <- function(shape, t, facets = TRUE) {
  limit <- shape$limit$outside
  at <- shape_tangent(shape, t)
  steep <- sqrt(sum(at$slope^2))
  far <- if (steep > 0) (limit - at$value) / steep else Inf
  tangent <- list(slope = at$slope, bound = limit - at$value + sum(at$slope * t), far = far)
  if (!facets || far <= 0) return(tangent)
  away <- (shape$beyond - shape_scores(shape, t)) / shape$size
  away[shape$size == 0] <- Inf
  k <- which.min(away)
  if (away[k] >= far) return(tangent)
  list(slope = shape$b[, k], bound = shape$beyond[k] - shape$z[k], far = away[k])
}

# On the right side of every shape by half the margin, and whole where it must be.
is_solution <- function(problem, leaf, t) {
  if (farthest_part(problem, t)$entry) return(FALSE)
  side <- function(i, sign) {
    shape <- problem$shapes[[i]]
    sign * (shape_evidence(shape, t) - shape$threshold) >= shape$limit$room / 4
  }
  all(vapply(leaf$inside, side, NA, -1)) && all(vapply(leaf$outside, side, NA, 1))
}
