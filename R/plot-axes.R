# Predictors as axes of a picture: which to show, over what range, where the others are
# held, and where the rows of the user's data lie. All of it in columns of the data, as
# the blueprint knows them; only grid_rows() makes them rows to predict.

# An axis is a list: name, kind (as in the blueprint), limits, and either `levels` or
# nothing. Values on it are numbers; axis_column() turns them into a column.

is_level_axis <- function(axis) !is.null(axis$levels)

# Which predictors -------------------------------------------------------------

# One or two names; see ?plot.cpt for the default.
axis_vars <- function(x, vars, type) {
  spec <- x$blueprint$columns
  if (!is.null(vars)) return(check_vars(vars, spec, type))
  # Measured columns first: a factor shows little of a polytope.
  order <- order(!is_measured(spec$kind), -column_reliance(x))
  if (type == "nodes") order <- order[is_measured(spec$kind)[order]]
  shown <- utils::head(order, 2L)
  spec$name[if (length(spec$name) == 2L) sort(shown) else shown]
}

is_measured <- function(kind) !kind %in% c("factor", "ordered", "logical")

check_vars <- function(vars, spec, type) {
  if (!is.character(vars) || !length(vars) %in% 1:2 || anyNA(vars) || anyDuplicated(vars)) {
    cpt_abort("{.arg vars} must be the names of one or two predictors, not {describe(vars)}.")
  }
  wrong <- setdiff(vars, spec$name)
  if (length(wrong)) {
    cpt_abort(c(
      "{.field {wrong}} {?is/are} not {?a predictor/predictors} of this tree.",
      i = "Predictors: {name_text(spec$name, 10L)}."
    ))
  }
  level <- vars[!is_measured(spec$kind[match(vars, spec$name)])]
  if (type == "nodes" && length(level)) {
    cpt_abort(c(
      "{.code type = \"nodes\"} needs numeric {.arg vars}: {.field {level}} {?is/are} not.",
      i = "Use {.code type = \"regions\"}, or leave {.arg vars} out for the strongest directions."
    ))
  }
  vars
}

# How much the facets rely on each predictor: the sum over all facets of weight times
# absolute coefficient, in standard deviations of the column.
column_reliance <- function(x) {
  size <- drop(abs(x$tree$coef) %*% x$tree$r) * column_scale(x)$sd
  raw <- encoded_origin(x)
  name <- x$blueprint$columns$name
  from <- factor(unlist(raw), name)
  as.vector(tapply(rep(size, lengths(raw)), from, sum, default = 0))
}

# The columns of the data that each encoded column is made of.
encoded_origin <- function(x) {
  source <- x$blueprint$source
  plain <- x$blueprint$columns$name
  made <- setdiff(source, plain)
  parts <- lapply(made, function(term) intersect(all.vars(str2lang(term)), plain))
  known <- stats::setNames(c(as.list(plain), parts), c(plain, made))
  unname(known[source])
}

# Mean, sd and range of the encoded columns. Trees of version 0.1.0 do not have them:
# then from rows, if there are any, else standard units.
column_scale <- function(x, encoded = NULL) {
  known <- x$predictors
  if (!is.null(known$sd) && nrow(known) == nrow(x$tree$coef)) {
    return(as.list(known[c("mean", "sd", "min", "max")]))
  }
  p <- nrow(x$tree$coef)
  if (is.null(encoded) || !nrow(encoded)) {
    return(list(mean = rep(0, p), sd = rep(1, p), min = rep(NA_real_, p), max = rep(NA_real_, p)))
  }
  encoded <- as.matrix(encoded)
  list(
    mean = colMeans(encoded), sd = apply(encoded, 2L, function(v) sqrt(mean((v - mean(v))^2))),
    min = apply(encoded, 2L, min), max = apply(encoded, 2L, max)
  )
}

# Ranges -----------------------------------------------------------------------

# One axis per name. `points`: numbers of the rows to show, one column per name.
make_axes <- function(x, vars, points, ask) {
  spec <- x$blueprint$columns
  given <- list(check_limits(ask$xlim, "xlim"), check_limits(ask$ylim, "ylim"))
  lapply(seq_along(vars), function(k) {
    at <- match(vars[k], spec$name)
    axis <- list(name = vars[k], kind = spec$kind[at], units = spec$units[[vars[k]]])
    if (axis$kind %in% c("factor", "ordered")) axis$levels <- spec$levels[[vars[k]]]
    if (axis$kind == "logical") axis$levels <- c("FALSE", "TRUE")
    axis$limits <- if (is_level_axis(axis)) {
      c(0.5, length(axis$levels) + 0.5)
    } else {
      given[[k]] %||% axis_range(x, vars[k], points[[vars[k]]])
    }
    axis
  })
}

check_limits <- function(limit, name) {
  if (is.null(limit)) return(NULL)
  if (inherits(limit, c("Date", "POSIXct", "difftime"))) limit <- as.double(unclass(limit))
  if (!is.numeric(limit) || length(limit) != 2L || !all(is.finite(limit)) ||
      limit[1L] == limit[2L]) {
    cpt_abort("{.arg {name}} must be two different numbers, not {describe(limit)}.")
  }
  sort(limit)
}

# Range of the points, else of the training data, else (trees of version 0.1.0) of the
# places where the strongest facets cross the axis.
axis_range <- function(x, var, points) {
  range <- suppressWarnings(range(points[is.finite(points)]))
  if (!(diff(range) > 0)) range <- training_range(x, var)
  if (!all(is.finite(range))) return(crossing_range(x, var))
  if (diff(range) <= 0) return(range + c(-1, 1))
  range + c(-0.03, 0.03) * diff(range)
}

training_range <- function(x, var) {
  scale <- column_scale(x)
  j <- match(var, encoded_columns(x))
  if (!is.na(j) && x$blueprint$source[j] == var) return(c(scale$min[j], scale$max[j]))
  made_range(x, var, scale)
}

# A column that only enters by terms such as log(x): as far as all of these stay
# within their training ranges, seen from the training median.
made_range <- function(x, var, scale) {
  own <- which(vapply(encoded_origin(x), identical, NA, var))
  middle <- x$blueprint$columns$fill[match(var, x$blueprint$columns$name)]
  if (!length(own) || anyNA(scale$min[own])) return(c(NA_real_, NA_real_))
  slack <- 1e-8 * (scale$max[own] - scale$min[own])
  within <- function(value) {
    row <- tryCatch(
      suppressWarnings(forge_grid(x, stats::setNames(data.frame(value), var), list())),
      error = function(e) NULL
    )
    !is.null(row) && all(row[own] >= scale$min[own] - slack & row[own] <= scale$max[own] + slack)
  }
  reach <- function(sign) {
    step <- max(abs(middle), 1)
    far <- 0
    for (k in 1:40) {
      if (within(middle + sign * (far + step))) far <- far + step else step <- step / 2
    }
    middle + sign * far
  }
  c(reach(-1), reach(1))
}

crossing_range <- function(x, var) {
  tree <- x$tree
  spec <- x$blueprint$columns
  middle <- spec$fill[match(var, spec$name)]
  j <- match(var, encoded_columns(x), nomatch = 0L)
  facet <- if (j) which(tree$coef[j, ] != 0)
  if (!length(facet)) return(middle + c(-1, 1))
  base <- forge_grid(x, data.frame(row.names = 1L), list())
  home <- facet_home(tree)[facet]
  slope <- tree$coef[j, facet]
  rest <- drop(base %*% tree$coef[, facet, drop = FALSE]) - base[1L, j] * slope +
    tree$intercept[facet]
  cross <- (facet_bound(tree$threshold[home], tree$r[facet]) - rest) / slope
  strength <- abs(slope) * tree$r[facet]
  cross <- cross[is.finite(cross) & strength >= 0.25 * max(strength)]
  # Faces can cross far away: twice the middle distance is safe from the few that do.
  reach <- 2 * stats::median(abs(cross - middle))
  if (!is.finite(reach) || reach <= 0) reach <- max(1, abs(middle) / 2)
  middle + c(-reach, reach)
}

# Numbers on an axis as a column of the kind that was trained.
axis_column <- function(axis, value) {
  switch(axis$kind,
    factor = , ordered = factor(axis$levels[value], axis$levels, ordered = axis$kind == "ordered"),
    logical = value == 2,
    date = structure(value, class = "Date"),
    datetime = structure(value, class = c("POSIXct", "POSIXt")),
    duration = as.difftime(value, units = axis$units),
    value
  )
}

# Numbers on an axis as text; dates are dates.
axis_labels <- function(axis, at, digits = 6L) {
  if (!axis$kind %in% c("date", "datetime")) {
    return(vapply(signif(at, digits), format, "", digits = digits))
  }
  out <- rep(NA_character_, length(at))
  out[!is.na(at)] <- format(axis_column(axis, at[!is.na(at)]))
  out
}

# Ticks for fit_ticks().
axis_ticks <- function(axis) {
  if (!axis$kind %in% c("date", "datetime")) return(axis_pretty)
  function(limits, n) {
    at <- pretty(axis_column(axis, limits), n)
    inside <- as.double(at) >= limits[1L] & as.double(at) <= limits[2L]
    list(at = as.double(at)[inside], labels = format(at)[inside])
  }
}

axis_values <- function(axis, resolution) {
  if (is_level_axis(axis)) return(seq_along(axis$levels))
  seq(axis$limits[1L], axis$limits[2L], length.out = resolution)
}

# Grid rows --------------------------------------------------------------------

check_at <- function(x, at, vars) {
  if (is.null(at)) return(list())
  known <- setdiff(x$blueprint$columns$name, vars)
  if (is.data.frame(at)) at <- as.list(at)
  if (!is.list(at) || is.null(names(at)) || any(lengths(at) != 1L)) {
    cpt_abort("{.arg at} must be a named list of single values, not {describe(at)}.")
  }
  wrong <- setdiff(names(at), known)
  if (length(wrong)) {
    cpt_abort(c(
      "{.arg at} names {.field {wrong}}, which {?is/are} not among the predictors held fixed.",
      i = if (length(known)) "These are: {name_text(known, 10L)}."
    ))
  }
  at
}

# New rows with the columns of `frame`; the others are `at`, or missing, to be filled in
# as the blueprint fills in gaps: by training medians and modes.
grid_rows <- function(x, frame, at) {
  name <- x$blueprint$columns$name
  n <- nrow(frame)
  columns <- lapply(name, function(j) {
    if (!is.null(frame[[j]])) return(frame[[j]])
    rep(if (is.null(at[[j]])) NA else at[[j]], n)
  })
  structure(stats::setNames(columns, name), class = "data.frame", row.names = .set_row_names(n))
}

# A recipe ends in the very columns that the grid is laid over.
without_recipe <- function(x) {
  x$blueprint$recipe <- NULL
  x
}

forge_grid <- function(x, frame, at) {
  x <- without_recipe(x)
  as.matrix(blueprint_forge(x$blueprint, grid_rows(x, frame, at), "impute")$x)
}

# The same tree over the columns `vars` only, the others held at their values: grids
# over thousands of columns would not fit in memory. Only for plain numbers.
narrow_fit <- function(x, vars, at) {
  spec <- x$blueprint$columns
  plain <- is.null(x$blueprint$terms) && all(spec$kind == "numeric")
  if (!plain || length(spec$name) <= 100L) return(x)
  fixed <- spec$fill
  fixed[match(names(at), spec$name)] <- vapply(at, as.double, 1)
  keep <- match(vars, spec$name)
  rest <- fixed[-keep]
  tree <- x$tree
  tree$intercept <- tree$intercept + drop(rest %*% tree$coef[-keep, , drop = FALSE])
  tree$coef <- tree$coef[keep, , drop = FALSE]
  if (!is.null(tree$leaf_coef)) {
    tree$leaf_intercept <- tree$leaf_intercept +
      drop(rest %*% tree$leaf_coef[-keep, , drop = FALSE])
    tree$leaf_coef <- tree$leaf_coef[keep, , drop = FALSE]
  }
  x$tree <- tree
  x$predictors <- x$predictors[keep, , drop = FALSE]
  x$blueprint[c("encoded", "source", "plain")] <- list(vars, vars, vars)
  parts <- c("name", "kind", "fill")
  x$blueprint$columns[parts] <- lapply(spec[parts], `[`, keep)
  x
}

# The user's rows ---------------------------------------------------------------

# list(value = data frame of numbers on the axes, outcome, keep = numbers of the rows
# that have them all), or NULL without data.
axis_points <- function(x, vars, ask) {
  if (is.null(ask$data)) return(NULL)
  data <- check_plot_data(ask$data)
  columns <- pick_columns(x, data, vars)
  lost <- setdiff(vars, names(columns))
  if (length(lost)) {
    cpt_abort(
      "{.arg data} has no {cli::qty(length(lost))}column{?s} {name_text(lost)}.",
      class = "cpt_error_data"
    )
  }
  items <- spec_items(x$blueprint$columns)[vars]
  value <- as_plot_data(Map(function(column, item) {
    number <- column_number(typed_column(normal_column(column, item$name), item))
    # FALSE and TRUE are the levels 1 and 2 of their axis.
    if (item$kind == "logical") number + 1 else number
  }, columns[vars], items))
  value <- structure(value, class = "data.frame", row.names = .set_row_names(nrow(data)))
  keep <- which(Reduce(`&`, lapply(value, is.finite)))
  outcome <- row_outcome(x, data, ask$y)
  list(value = value[keep, , drop = FALSE], outcome = outcome[keep], keep = keep)
}

# The blueprint speaks of `newdata`; here it is `data`.
as_plot_data <- function(expr) {
  tryCatch(expr, cpt_error_newdata = function(e) {
    cpt_abort("{.arg data} does not have the columns that the tree was fitted with.",
      "cpt_error_data", parent = e)
  })
}

check_plot_data <- function(data) {
  fine <- is.data.frame(data) || is.matrix(data) || methods::is(data, "Matrix")
  if (fine) return(data)
  cpt_abort("{.arg data} must be a data frame or a matrix, not {describe(data)}.")
}

# The columns that are there, as a named list. Only those: a wide matrix stays as it is.
pick_columns <- function(x, data, vars) {
  if (!is.null(x$blueprint$recipe)) data <- recipe_bake(x$blueprint, as.data.frame(data))
  if (is.data.frame(data)) return(frame_columns(data)[intersect(vars, names(data))])
  known <- x$blueprint$columns$name
  name <- colnames(data) %||% if (ncol(data) == length(known)) known
  vars <- intersect(vars, name)
  stats::setNames(lapply(vars, function(j) as.vector(data[, match(j, name)])), vars)
}

# Outcome of every row of the data: given, a column of it, or computed as the formula
# says. NULL if it is not there or of another kind than the tree's.
row_outcome <- function(x, data, y) {
  if (!is.null(y)) {
    if (length(y) != nrow(data)) {
      cpt_abort(
        "{.arg y} must have one value per row of {.arg data}: {nrow(data)}, not {length(y)}."
      )
    }
  } else if (is.data.frame(data) && !is.null(x$outcome)) {
    y <- if (x$outcome %in% names(data)) {
      data[[x$outcome]]
    } else if (!is.null(x$blueprint$formula)) {
      tryCatch(eval(x$blueprint$formula[[2L]], data, globalenv()), error = function(e) NULL)
    }
  }
  if (length(y) != nrow(data)) return(NULL)
  if (x$task == "classification") return(as.character(y))
  if (is.numeric(y)) as.double(y)
}
