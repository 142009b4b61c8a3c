# Which training rows are used, what happens to gaps, and the outcome.
# Everything here is about fitting; new data is handled in blueprint.R.
# This file must not know how columns are coded.

# Raw columns and outcome to the rows used, with gaps handled as `na_action` says.
# `chosen`: numbers of these rows in the data as given, if `subset` was used.
mold_rows <- function(columns, y, weights, na_action, outcome = NULL, chosen = NULL) {
  n <- length(weights)
  check_row_count(n)
  columns <- Map(normal_column, columns, names(columns))
  spec <- column_spec(columns)
  columns <- Map(typed_column, columns, spec_items(spec))
  check_finite(columns, "cpt_error_data")
  gaps <- lapply(columns, function(x) if (anyNA(x)) which(is.na(x)) else integer())
  counts <- lengths(gaps, use.names = FALSE)
  check_all_missing(spec$name, counts, n)
  rows <- missing_rows(unlist(gaps, use.names = FALSE), counts, spec$name, y, n,
    na_action, outcome)
  keep <- rows$keep
  if (length(keep) < n) {
    columns <- lapply(columns, take_rows, keep)
    y <- take_rows(y, keep)
    weights <- check_weight_values(weights[keep])
  }
  spec$fill <- mapply(column_fill, columns, spec$kind, MoreArgs = list(weights = weights))
  spec$fill <- as.double(spec$fill)
  check_all_missing(spec$name, ifelse(is.na(spec$fill), length(keep), 0L), length(keep))
  if (any(counts > 0L)) columns <- Map(fill_column, columns, spec_items(spec))
  warn_id(columns, spec, length(keep))
  omitted <- if (is.null(chosen)) rows$omitted else chosen[rows$omitted]
  list(columns = columns, spec = spec, y = y, weights = weights,
    keep = keep, na = list(action = na_action, omitted = omitted))
}

# Which rows stay. `gaps`: numbers of rows with a missing predictor.
missing_rows <- function(gaps, counts, name, y, n, na_action, outcome = NULL) {
  no_y <- which(is.na(y))
  if (na_action == "fail") abort_missing(counts, name, length(no_y), outcome)
  drop <- sort(unique(c(no_y, if (na_action == "omit") gaps)))
  if (length(drop) > 0L) {
    what <- outcome_text(outcome)
    in_x <- sum(counts > 0L)
    cpt_inform(c(
      "Left out {length(drop)} of {n} rows with missing values.",
      i = if (length(no_y) > 0L) "The outcome{what} is missing in {length(no_y)}.",
      i = if (na_action == "omit" && in_x > 0L) {
        "A predictor is missing in {length(unique(gaps))}."
      }
    ), "cpt_message_missing")
  }
  if (na_action == "impute" && any(counts > 0L)) {
    text <- count_text(name[counts > 0L], counts[counts > 0L])
    cpt_inform(
      "Missing values filled in with the training median or mode: {text}.",
      "cpt_message_missing")
  }
  if (n - length(drop) < n) check_row_count(n - length(drop), " without missing values")
  list(keep = if (length(drop) > 0L) seq_len(n)[-drop] else seq_len(n), omitted = drop)
}

abort_missing <- function(counts, name, in_y, outcome) {
  if (in_y == 0L && all(counts == 0L)) return(invisible())
  what <- outcome_text(outcome)
  text <- count_text(name[counts > 0L], counts[counts > 0L])
  advice <- if (any(counts > 0L)) {
    paste("`na_action = \"omit\"` leaves these rows out; `\"impute\"` fills",
      "predictors in with the training median or mode.")
  } else {
    "`na_action = \"omit\"` leaves these rows out."
  }
  cpt_abort(c(
    "There are missing values.",
    x = if (in_y > 0L) "The outcome{what} is missing in {in_y} row{?s}.",
    x = if (any(counts > 0L)) "Predictors with the number of missing rows: {text}.",
    i = advice
  ), "cpt_error_data")
}

outcome_text <- function(outcome) if (is.null(outcome)) "" else paste0(" `", outcome, "`")

check_row_count <- function(n, which = "") {
  if (n >= 2L) return(invisible(n))
  got <- if (n == 0L) "none" else "one"
  cpt_abort("At least 2 rows{which} are needed to fit a tree; there is {got}.",
    "cpt_error_data")
}

check_all_missing <- function(name, counts, n) {
  empty <- name[counts == n]
  if (length(empty) == 0L) return(invisible(name))
  text <- name_text(empty)
  cpt_abort(c(
    "A predictor must have at least one value.",
    x = "Only missing values: {text}.",
    i = "Leave {cli::qty(length(empty))}{?this column/these columns} out; nothing can be filled in."
  ), "cpt_error_data")
}

check_finite <- function(columns, class) {
  bad <- vapply(columns, function(x) {
    if (is.factor(x) || is.logical(x) || is.integer(x)) return(0L)
    v <- unclass(x)
    if (all(is.finite(v))) 0L else sum(is.nan(v) | is.infinite(v))
  }, 0L, USE.NAMES = FALSE)
  if (any(bad > 0L)) abort_infinite(names(columns)[bad > 0L], bad[bad > 0L], class)
  invisible(columns)
}

abort_infinite <- function(name, counts, class) {
  text <- count_text(name, counts)
  cpt_abort(c(
    "Predictors must not hold `Inf`, `-Inf` or `NaN`.",
    x = "Columns with the number of such values: {text}.",
    i = "Replace them by a number, or by `NA` and choose {.arg na_action}."
  ), class)
}

# A factor with a level per row cannot be learned from; most often it is an id.
warn_id <- function(columns, spec, n) {
  if (n <= 2L) return(invisible())
  is_id <- vapply(which(spec$kind == "factor"), function(j) {
    length(spec$levels[[spec$name[j]]]) >= n && !anyDuplicated(as.integer(columns[[j]]))
  }, NA)
  id <- spec$name[spec$kind == "factor"][is_id]
  if (length(id) == 0L) return(invisible())
  text <- name_text(id)
  cpt_warn(c(
    paste("{cli::qty(length(id))}Predictor{?s} {text} {cli::qty(length(id))}{?has/have}",
      "as many levels as there are rows."),
    i = "Is it an id? Then leave it out, for example by `. - {id[1]}`."
  ), "cpt_warning_id")
}

take_rows <- function(x, rows) if (is.null(dim(x))) x[rows] else x[rows, , drop = FALSE]

# Outcome --------------------------------------------------------------------

check_outcome <- function(y, n, outcome) {
  what <- if (is.null(outcome)) "{.arg y}" else "The outcome {.var {outcome}}"
  if (is.matrix(y) && ncol(y) == 1L) dim(y) <- NULL
  plain <- is.factor(y) || is.character(y) || is.logical(y) ||
    (is.numeric(y) && !inherits(y, c("integer64", "difftime")))
  if (!plain || !is.null(dim(y))) {
    got <- describe(y)
    cpt_abort(c(
      paste(what, "must be a factor, character, logical or numeric vector, not {got}."),
      i = if (inherits(y, "formula")) "A formula goes first: `cpt(formula, data)`.",
      i = if (is.data.frame(y) && ncol(y) == 1L) "Take the column out: `y[[1]]`.",
      i = if (!is.null(dim(y)) && ncol(y) > 1L) "Fit one tree per outcome."
    ), "cpt_error_data")
  }
  if (length(y) != n) {
    len <- length(y)
    cpt_abort(c(
      paste(what, "must have one value per row."),
      x = "The predictors have {n} row{?s}; the outcome has length {len}."
    ), "cpt_error_data")
  }
  bad <- if (is.numeric(y)) sum(is.nan(y) | is.infinite(y)) else 0L
  if (bad > 0L) {
    cpt_abort(c(
      paste(what, "must not hold `Inf`, `-Inf` or `NaN`."),
      x = "{bad} value{?s} {?is/are} not finite."
    ), "cpt_error_data")
  }
  invisible(y)
}

# Codes 0..C-1 with their levels, or numbers. `y` has no missing value any more.
mold_outcome <- function(y, outcome, weights) {
  if (is.matrix(y)) dim(y) <- NULL
  what <- if (is.null(outcome)) "The outcome" else paste0("`", outcome, "`")
  if (is.numeric(y)) {
    y <- as.double(unclass(y))
    if (all(y == 0 | y == 1) && any(y != y[1L])) hint_classes(what, outcome)
    out <- list(task = "regression", y = y, levels = NULL)
  } else {
    # "radix" sorts as in the C locale: the same levels on every machine.
    if (is.character(y)) y <- factor(y, sort(unique(y), method = "radix"))
    if (is.logical(y)) y <- factor(y, c(FALSE, TRUE))
    empty <- levels(y)[tabulate(y, nlevels(y)) == 0L]
    if (length(empty) > 0L) {
      text <- name_text(empty, quote = "\"")
      cpt_inform("{what} has no row of level{cli::qty(length(empty))}{?/s} {text}; dropped.",
        "cpt_message_levels")
    }
    y <- factor(y, setdiff(levels(y), empty))
    out <- list(task = "classification", y = as.integer(y) - 1L, levels = levels(y))
  }
  used <- out$y[weights > 0]
  if (all(used == used[1L])) {
    cpt_warn(c(
      "{what} is the same in every row, so there is nothing to split.",
      i = "The tree is a root without a split."
    ), "cpt_warning_outcome")
  }
  c(out, list(outcome = outcome))
}

hint_classes <- function(what, outcome) {
  name <- outcome %||% "y"
  cpt_inform(c(
    "{what} is numeric (only 0 and 1), so this is a regression.",
    i = "For classes use `factor({name})`."
  ), "cpt_message_outcome")
}
