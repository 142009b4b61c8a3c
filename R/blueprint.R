# The blueprint: how raw columns become the numeric matrix of the engine.
# blueprint_mold_*() learn it from training data; blueprint_forge() applies it to
# new data, never taking a statistic from there. One coding for all interfaces.
# The work is in blueprint-*.R: rows, columns, formula, matrix, recipe.
# These files must not know the control, the tree or the engine.
#
# A blueprint is a plain list without data or environment:
#   interface  "formula", "data.frame", "matrix", "sparse" or "recipe"
#   formula    as given, without environment; NULL without one
#   named      had the predictors names, or were they made here?
#   columns    spec (below) of the raw columns that new data must hold
#   plain      which of them enter as they are; the others only feed `terms`
#   terms      terms of the transformed part of a formula (log(x), a:b) or NULL
#   variables  spec of the variables of `terms` or NULL
#   encoded    names of the columns of the matrix
#   source     for each of them, the column or term it comes from
#   recipe     prepared recipe or NULL
#
# A spec is a list of parallel vectors (a list per column would be 20 MB for
# 20,000 columns): name, kind, fill (training median, or code of the most
# frequent level), and the named lists levels and units where there are any.

new_blueprint <- function(interface, columns, encoded, source,
                          plain = columns$name, formula = NULL, terms = NULL,
                          variables = NULL, named = TRUE, recipe = NULL) {
  list(interface = interface, formula = formula, named = named,
    columns = columns, plain = plain, terms = terms, variables = variables,
    encoded = encoded, source = source, recipe = recipe)
}

# What every mold returns; `rows` are the numbers of the rows used.
new_mold <- function(blueprint, x, outcome, weights, row_names, na) {
  c(list(blueprint = blueprint, x = x, weights = weights,
    row_names = row_names, na = na), outcome)
}

# Molding: interfaces --------------------------------------------------------

blueprint_mold_frame <- function(x, y, weights = NULL, na_action = "fail",
                                 outcome = NULL, interface = "data.frame") {
  check_predictor_names(names(x))
  columns <- frame_columns(x)
  n <- .row_names_info(x, 2L)
  check_outcome(y, n, outcome)
  rows <- mold_rows(columns, y, check_weights(weights, n), na_action, outcome)
  coded <- encode(rows$columns, rows$spec)
  blueprint <- new_blueprint(interface, rows$spec, coded$names, coded$source)
  new_mold(blueprint, coded$x, mold_outcome(rows$y, outcome, rows$weights),
    rows$weights, frame_row_names(x)[rows$keep], rows$na)
}

blueprint_mold_formula <- function(formula, data, weights = NULL, subset = NULL,
                                   na_action = "fail") {
  parts <- formula_parts(formula, data)
  columns <- parts$columns
  n <- parts$n
  check_outcome(parts$y, n, parts$outcome)
  weights <- check_weights(weights, n)
  chosen <- check_subset(subset, n)
  row_names <- parts$row_names
  if (!is.null(chosen)) {
    columns <- lapply(columns, take_rows, chosen)
    parts$y <- take_rows(parts$y, chosen)
    weights <- check_weight_values(weights[chosen])
    row_names <- row_names[chosen]
  }
  rows <- mold_rows(columns, parts$y, weights, na_action, parts$outcome, chosen)
  extra <- mold_extra(parts$extra, rows$columns, parts$constants, rows$weights)
  coded <- encode(rows$columns, rows$spec, parts$plain, extra)
  blueprint <- new_blueprint("formula", rows$spec, coded$names, coded$source,
    plain = parts$plain, formula = bare_formula(formula),
    terms = extra$terms, variables = extra$spec)
  new_mold(blueprint, coded$x, mold_outcome(rows$y, parts$outcome, rows$weights),
    rows$weights, row_names[rows$keep], rows$na)
}

# Dense or dgCMatrix: the numbers go to the engine as they are, without a copy.
blueprint_mold_matrix <- function(x, y, weights = NULL, na_action = "fail") {
  x <- check_matrix(x)
  n <- nrow(x)
  row_names <- rownames(x)
  named <- !is.null(colnames(x))
  name <- colnames(x) %||% paste0("V", seq_len(ncol(x)), recycle0 = TRUE)
  check_predictor_names(name)
  check_outcome(y, n, NULL)
  weights <- check_weights(weights, n)
  check_row_count(n)
  cells <- matrix_missing(x, name, "cpt_error_data")
  check_all_missing(name, matrix_counts(cells, ncol(x)), n)
  rows <- missing_rows(cells$row, matrix_counts(cells, ncol(x)), name, y, n, na_action)
  keep <- rows$keep
  if (length(keep) < n) x <- x[keep, , drop = FALSE]
  weights <- check_weight_values(weights[keep])
  spec <- list(name = name, kind = rep("numeric", ncol(x)),
    fill = matrix_medians(x, weights), levels = list(), units = list())
  check_all_missing(name, ifelse(is.na(spec$fill), length(keep), 0L), length(keep))
  x <- matrix_fill(x, spec$fill)
  blueprint <- new_blueprint(if (isS4(x)) "sparse" else "matrix", spec, name, name,
    named = named)
  new_mold(blueprint, x, mold_outcome(take_rows(y, keep), NULL, weights), weights,
    row_names[keep], list(action = na_action, omitted = rows$omitted))
}

# Forging --------------------------------------------------------------------

# New data to the matrix of the engine: list(x, row_names, missing).
# `missing` has a flag for every row of `newdata`. "omit" leaves those rows out of
# `x` and `row_names`; "pass" and "impute" keep them, filled in.
blueprint_forge <- function(blueprint, newdata, na_action = "fail") {
  if (isS4(newdata) && inherits(newdata, "Matrix")) newdata <- sparse_matrix(newdata)
  wide <- is.matrix(newdata) || inherits(newdata, "dgCMatrix")
  if (!wide && !is.data.frame(newdata)) {
    got <- describe(newdata)
    cpt_abort(c(
      "{.arg newdata} must be a data frame or a matrix, not {got}.",
      i = "It needs the columns the tree was fitted with; see `?predict.cpt`."
    ), "cpt_error_newdata")
  }
  row_names <- if (wide) rownames(newdata) else frame_row_names(newdata)
  if (wide && is.null(blueprint$terms) && all(blueprint$columns$kind == "numeric") &&
        is.null(blueprint$recipe)) {
    forged <- forge_matrix(blueprint, newdata, na_action)
  } else {
    if (wide) newdata <- as.data.frame(as.matrix(newdata))
    if (!is.null(blueprint$recipe)) newdata <- recipe_bake(blueprint, newdata)
    forged <- forge_frame(blueprint, newdata, na_action)
  }
  forged$row_names <- row_names
  if (na_action == "omit" && any(forged$missing)) {
    forged$x <- forged$x[!forged$missing, , drop = FALSE]
    forged$row_names <- row_names[!forged$missing]
  }
  forged[c("x", "row_names", "missing")]
}

forge_frame <- function(blueprint, newdata, na_action) {
  spec <- blueprint$columns
  n <- .row_names_info(newdata, 2L)
  at <- forge_positions(blueprint, names(newdata), ncol(newdata))
  columns <- frame_columns(newdata)[at]
  names(columns) <- spec$name
  columns <- Map(normal_column, columns, spec$name, "cpt_error_newdata")
  items <- spec_items(spec)
  columns <- Map(typed_column, columns, items)
  check_finite(columns, "cpt_error_newdata")
  gaps <- lapply(columns, function(x) if (anyNA(x)) which(is.na(x)) else integer())
  if (na_action == "fail") abort_new_missing(names(gaps), lengths(gaps))
  missing <- logical(n)
  missing[unlist(gaps)] <- TRUE
  columns <- Map(fill_column, columns, items)
  if (n == 0L) {
    x <- matrix(0, 0L, length(blueprint$encoded), dimnames = list(NULL, blueprint$encoded))
    return(list(x = x, missing = missing))
  }
  extra <- forge_extra(blueprint, columns, n, na_action)
  x <- encode(columns, spec, blueprint$plain, extra)$x
  dimnames(x) <- list(NULL, blueprint$encoded)
  list(x = x, missing = if (is.null(extra)) missing else missing | extra$missing)
}

# cut() may leave a new value in no interval: that is a gap of its row.
forge_extra <- function(blueprint, columns, n, na_action) {
  if (is.null(blueprint$terms)) return(NULL)
  terms <- blueprint$terms
  environment(terms) <- globalenv()
  frame <- extra_frame(terms, columns, "cpt_error_newdata")
  items <- spec_items(blueprint$variables)
  variables <- lapply(frame_columns(frame), extra_variable)
  variables <- Map(typed_extra, variables, items)
  narrow <- !vapply(variables, is.matrix, NA)
  gaps <- lapply(variables[narrow], function(x) which(is.na(x) & !is_nan(x)))
  if (na_action == "fail") abort_new_missing(names(gaps), lengths(gaps))
  missing <- logical(n)
  missing[unlist(gaps)] <- TRUE
  variables[narrow] <- Map(function(x, item) {
    # NaN is no gap: keep it from being filled in, so that it is told below.
    nan <- is_nan(x)
    if (any(nan)) x[nan] <- Inf
    fill_column(x, item)
  }, variables[narrow], items[narrow])
  check_extra(variables, "cpt_error_newdata")
  list(terms = terms, spec = blueprint$variables, variables = variables, n = n,
    missing = missing)
}

is_nan <- function(x) if (is.double(x)) is.nan(unclass(x)) else logical(length(x))

forge_matrix <- function(blueprint, newdata, na_action) {
  x <- check_matrix(newdata, "newdata", "cpt_error_newdata")
  name <- blueprint$columns$name
  at <- forge_positions(blueprint, colnames(x), ncol(x))
  if (!identical(at, seq_len(ncol(x)))) x <- x[, at, drop = FALSE]
  cells <- matrix_missing(x, name, "cpt_error_newdata")
  if (na_action == "fail") abort_new_missing(name, matrix_counts(cells, ncol(x)))
  missing <- logical(nrow(x))
  missing[cells$row] <- TRUE
  list(x = matrix_fill(x, blueprint$columns$fill), missing = missing)
}

# Where the columns are in the new data: by name, and by position only if the
# training matrix had no names.
forge_positions <- function(blueprint, names, p) {
  name <- blueprint$columns$name
  at <- match(name, names)
  lost <- name[is.na(at)]
  if (length(lost) > 0L && !blueprint$named && p == length(name)) return(seq_len(p))
  if (length(lost) == 0L) {
    check_names_unique(names[names %in% name], "`newdata`", "cpt_error_newdata")
    return(at)
  }
  text <- name_text(lost)
  others <- setdiff(names, name)
  hint <- nearest_name(lost[1L], others)
  cpt_abort(c(
    "{.arg newdata} must hold every predictor of the tree.",
    x = "Missing {cli::qty(length(lost))}column{?s}: {text}.",
    i = if (!is.null(hint)) "Is {.var {hint}} meant to be {.var {lost[1]}}?",
    i = if (is.null(names)) "It has no column names; columns are found by name."
  ), "cpt_error_newdata")
}

abort_new_missing <- function(name, counts) {
  if (all(counts == 0L)) return(invisible())
  text <- count_text(name[counts > 0L], counts[counts > 0L])
  cpt_abort(c(
    "There are missing values in {.arg newdata}.",
    x = "Columns with the number of missing rows: {text}.",
    i = paste("`na_action = \"pass\"` gives these rows `NA`, `\"impute\"` fills them",
      "in from the training data, `\"omit\"` leaves them out.")
  ), "cpt_error_newdata")
}
