# counterfactual(): what would have to change in a row for another prediction. Here the
# question is put into standardised units, and the answer back into the columns of the user;
# the search in between is in counterfactual-search.R.
# This file must not know how the smallest change is found.

#' The smallest change of a row that changes its prediction
#'
#' Finds a row as near as possible to a given one that the tree predicts as wished: which
#' columns to change, and by how much. Only leaves with the wished prediction are
#' aimed at, and the answer is always checked by [predict.cpt()].
#'
#' @section Distance:
#' The distance of two rows is taken over the predictors, each change in units of the
#' standard deviation of the training rows: for `norm = "l2"` the root of the sum of
#' squares, for `"l1"` the sum of absolute values, which changes fewer columns. A
#' change of a logical value or of the level of a factor counts as 1, whatever the
#' level; an ordered factor counts by its scores 1, 2, ... .
#'
#' @section How it is solved:
#' To be inside a polytope is a convex constraint; to be outside is not, since the row can
#' leave through any facet. Branch and bound over leaves, facets, whole numbers and levels
#' bounds the distance from below by quadratic (or, for `"l1"`, linear) programs, and stops
#' when the best row found is within `tolerance` of that bound. The result does not depend
#' on chance. The new row is placed just off the border of its leaf, and its numbers are
#' rounded to as few digits as the tolerance allows.
#'
#' Needs the package quadprog, and for `norm = "l1"` the package lpSolve.
#'
#' @section What can change:
#' - Columns that were whole numbers in all training rows stay whole, if the row's own value is.
#' - A factor gets one of its levels, a logical column `TRUE` or `FALSE`.
#' - A column that enters the tree by one transformed term of its own, such as `log(x)`, is
#'   solved for by inverting the term. Columns that enter by several terms, or together with
#'   others, as in `a:b`, are held fixed, with a message.
#' - In a regression with linear leaves the row may stay in its leaf and reach the range by the
#'   leaf's own model.
#' - A tree fitted from a recipe is answered in the columns that the recipe makes.
#'
#' @param object *A `cpt` object*, as returned by [cpt()].
#' @param row *A data frame or matrix of one row* with the predictors, as for
#'   [predict.cpt()]. Missing values are an error.
#' @param to *What to predict*. For classification one or several classes; the default `NULL`
#'   is any class but the present one. For regression a range `c(low, high)`, ends
#'   included, where `Inf` and `-Inf` are allowed; or `"higher"` or `"lower"` than
#'   now; there is no default.
#' @param mutable *Names* of the columns that may change. The default `NULL` is all.
#' @param ranges *A named list* of what columns may become: the lowest and highest number or
#'   date (`NA` for no limit), or level of an ordered factor; for a factor or logical column
#'   the values allowed; or `"increase"` or `"decrease"`, for one direction from the present
#'   value. By default the range of the training rows, widened to the present value.
#' @param norm *A string*: `"l2"` (default) or `"l1"`, see below.
#' @param tolerance *A number*: how much farther than the nearest possible row the answer may
#'   be, as a share. The default is 0.01; often the answer is much nearer, at no more cost.
#' @param max_steps *A whole number*: most steps of the search. If they do not
#'   suffice, the best row so far is returned with a warning.
#' @param threads *A whole number*: threads to use; see [predict.cpt()].
#' @param ... *Not used*; anything given is an error.
#' @return A list of class `cpt_counterfactual`:
#' * `row`, `new_row`: the row as given and the changed one, of the same class and columns;
#' * `changes`: data frame with one row per changed column: `column`, `from` and `to` as
#'   text, `change` (a number, `NA` for factors and logical columns) and `size`, the change
#'   in standard deviations (1 for a factor or logical column), by which the rows are ordered;
#' * `distance`, and `bound`, which no possible row can be nearer than;
#' * `norm`, `to`, `finished` (`FALSE` if `max_steps` ended the search), `steps`;
#' * `before`, `after`: lists of `node` (the leaf) and `prediction`, and for classification
#'   `prob`, the named probabilities of the classes.
#'
#'   `as.data.frame()` gives `changes`. If the row is predicted as wished already, nothing is
#'   changed. If no possible row is, the error has class `cpt_error_counterfactual`.
#' @seealso [explain()] for why a row is predicted as it is.
#' @examplesIf requireNamespace("quadprog", quietly = TRUE)
#' fit <- cpt(Species ~ ., iris, max_depth = 2, max_facets = 4, seed = 1)
#' counterfactual(fit, iris[1, ], to = "versicolor")
#' # only the petals may change, and only grow
#' counterfactual(fit, iris[1, ], to = "virginica",
#'   mutable = c("Petal.Length", "Petal.Width"),
#'   ranges = list(Petal.Length = "increase", Petal.Width = "increase"))
#' @export
counterfactual <- function(object, ...) UseMethod("counterfactual")

#' @rdname counterfactual
#' @export
counterfactual.cpt <- function(object, row, to = NULL, mutable = NULL, ranges = NULL,
                               norm = c("l2", "l1"), tolerance = 0.01, max_steps = 2000,
                               threads = NULL, ...) {
  check_no_dots(...)
  validate_cpt(object)
  check_predictor_table(object)
  norm <- check_choice(norm, "norm", c("l2", "l1"))
  tolerance <- check_number(tolerance, "tolerance", 0, 1)
  max_steps <- check_number(max_steps, "max_steps", 1, whole = TRUE)
  threads <- resolve_threads(threads)
  check_solvers(norm)
  check_one_row(row)
  start <- start_row(object, row)
  before <- row_answer(start, start$row, threads)
  wish <- check_wish(object, to, before$prediction)
  entries <- row_entries(start, mutable, ranges)
  if (wish$met && !any(entries$must)) {
    return(new_counterfactual(start, start$row, entries, before, before, norm, wish))
  }
  found <- solve_wish(start, entries, wish, norm, tolerance, max_steps, threads)
  new_counterfactual(start, found$row, entries, before, found$answer, norm, wish, found$search)
}

# Checks ----------------------------------------------------------------------

check_solvers <- function(norm) {
  rlang::check_installed("quadprog", "to compute counterfactuals.")
  if (norm == "l1") rlang::check_installed("lpSolve", "for counterfactuals with `norm = \"l1\"`.")
}

check_one_row <- function(row) {
  if (missing(row) || is.null(dim(row)) || length(dim(row)) != 2L) {
    got <- if (missing(row)) "nothing" else describe(row)
    cpt_abort("{.arg row} must be a data frame or matrix of one row, not {got}.")
  }
  if (nrow(row) != 1L) {
    cpt_abort(c(
      "{.arg row} must have one row; it has {nrow(row)}.",
      i = "Take one by `data[i, , drop = FALSE]`."
    ))
  }
}

# Means and spreads came with a later version; models made by hand may lack them too.
check_predictor_table <- function(object) {
  if (all(c("mean", "sd", "min", "max", "whole") %in% names(object$predictors))) {
    return(invisible())
  }
  cpt_abort(c(
    "This model does not hold the means and ranges of its predictors.",
    i = "It was made by an earlier version of cptree. Fit it again."
  ), "cpt_error_model")
}

# The row -----------------------------------------------------------------------

# list(object, row, x): the model to ask, the row in its columns, the coded row. A recipe is
# applied first; from there on its columns are the user's.
start_row <- function(object, row) {
  if (!is.null(object$blueprint$recipe)) {
    if (!is.data.frame(row)) row <- as.data.frame(as.matrix(row))
    row <- as.data.frame(recipe_bake(object$blueprint, row))
    object$blueprint$recipe <- NULL
  }
  x <- tryCatch(code_row(object, row), cpt_error_newdata = function(e) {
    cpt_abort("{.arg row} does not fit the tree.", "cpt_error_newdata", parent = e)
  })
  list(object = object, row = row, x = x)
}

code_row <- function(object, row) {
  as.double(as.matrix(blueprint_forge(object$blueprint, row, "fail")$x))
}

# Leaf and prediction of a row, all by predict().
row_answer <- function(start, row, threads) {
  object <- start$object
  ask <- function(type) unname(predict(object, row, type = type, threads = threads))
  out <- list(node = ask("node"), prediction = ask("response"))
  if (object$task == "classification") {
    out$prob <- predict(object, row, type = "prob", threads = threads)[1L, ]
  }
  out
}

# Problem and solution -------------------------------------------------------------

# list(row, answer, search): the row found and what predict() says about it.
solve_wish <- function(start, entries, wish, norm, tolerance, max_steps, threads) {
  entries <- finish_scale(entries, norm)
  # A larger margin is a second try, for columns whose numbers are coarse.
  for (margin in c(1e-6, 1e-4)) {
    problem <- wish_problem(start, entries, wish, norm, margin)
    # One half of the tolerance is for the search, the other for rounding.
    problem$tolerance <- tolerance / 2
    problem$max_steps <- max_steps
    search <- search_leaves(problem)
    if (is.null(search$t)) abort_unreached(search, wish)
    row <- round_row(start, entries, search, norm, tolerance / 2, wish, threads)
    answer <- row_answer(start, row, threads)
    if (is_wished(answer$prediction, wish)) {
      warn_unfinished(search)
      return(list(row = row, answer = answer, search = search))
    }
  }
  cpt_abort(c(
    "The row found does not reach its leaf after rounding.",
    i = "Columns with very large values and small spreads can be the cause; subtract a constant."
  ), "cpt_error_counterfactual")
}

abort_unreached <- function(search, wish) {
  if (search$done) {
    cpt_abort(c(
      "No row can be predicted as wished.",
      x = "Within the ranges, no change leads to a leaf that predicts {wish$text}.",
      i = "Let more columns change by {.arg mutable}, or widen {.arg ranges}."
    ), "cpt_error_counterfactual")
  }
  cpt_abort(c(
    "No row was found within {search$steps} steps.",
    i = "Raise {.arg max_steps}, or let fewer columns change by {.arg mutable}."
  ), c("cpt_error_counterfactual_steps", "cpt_error_counterfactual"))
}

warn_unfinished <- function(search) {
  if (search$done) return(invisible())
  cpt_warn(c(
    "The search was ended after {search$steps} steps: there may be a smaller change.",
    x = paste("The distance found is {format(search$distance, digits = 4)}; no change is smaller",
      "than {format(search$bound, digits = 4)}."),
    i = "Raise {.arg max_steps}."
  ), "cpt_warning_counterfactual")
}

# The row after the change found, its numbers rounded to as few digits as the tolerance
# allows, always away from where they were, so that what is printed is what was found.
round_row <- function(start, entries, search, norm, tolerance, wish, threads) {
  value <- entries$origin + entries$scale * search$t
  value[entries$whole] <- round(value[entries$whole])
  still <- abs(search$t) <= 1e-9
  value[still] <- entries$origin[still]
  for (digits in if (tolerance > 0) 1:6) {
    rounded <- round_away(value, entries, digits)
    size <- change_size((rounded - entries$origin) / entries$scale, norm)
    if (size > (1 + tolerance) * search$distance) next
    row <- changed_row(start, entries, rounded)
    if (is_wished(unname(predict(start$object, row, threads = threads)), wish)) return(row)
  }
  changed_row(start, entries, value)
}

# `digits` digits of each change are kept.
round_away <- function(value, entries, digits) {
  change <- value - entries$origin
  number <- entries$kind %in% c("numeric", "duration", "datetime") & !entries$whole
  open <- which(change != 0 & number)
  if (!length(open)) return(value)
  places <- pmin(digits - 1 - floor(log10(abs(change[open]))), 15)
  shifted <- value[open] * 10^places
  away <- ifelse(change[open] > 0, ceiling(shifted - 1e-6), floor(shifted + 1e-6))
  new <- mapply(round, away / 10^places, places)
  fits <- new >= entries$low[open] & new <= entries$high[open]
  value[open[fits]] <- new[fits]
  value
}

# The result -----------------------------------------------------------------------

new_counterfactual <- function(start, row, entries, before, after, norm, wish, search = NULL) {
  changes <- list_changes(start, row, entries)
  distance <- change_size(changes$size, norm)
  structure(list(
    row = start$row, new_row = row, changes = changes,
    distance = distance, bound = min(search$bound %||% 0, distance), norm = norm, to = wish$to,
    finished = search$done %||% TRUE, steps = search$steps %||% 0L,
    before = before, after = after, task = start$object$task, outcome = start$object$outcome
  ), class = "cpt_counterfactual")
}

# One row per changed column, the largest change first.
list_changes <- function(start, row, entries) {
  part <- (code_row(start$object, row)[entries$coded] - entries$origin) / entries$scale
  columns <- unique(entries$column[part != 0])
  if (!length(columns)) {
    return(data.frame(column = character(), from = character(), to = character(),
      change = double(), size = double()))
  }
  part <- split(part, factor(entries$column, columns))
  unordered <- entries$kind[match(columns, entries$column)] %in% c("flag", "level")
  size <- mapply(function(p, one) if (one) 1 else p, part, unordered)
  at <- user_positions(start, columns)
  before <- row_cells(start$row, at)
  after <- row_cells(row, at)
  change <- mapply(function(old, new) {
    if (!is.numeric(unclass(old)) || is.factor(old)) return(NA_real_)
    as.double(unclass(new)) - as.double(unclass(old))
  }, before, after)
  text <- function(cells) vapply(cells, format, "", digits = 10L)
  out <- data.frame(column = columns, from = text(before), to = text(after), change = change,
    size = size, row.names = NULL)
  out <- out[order(-abs(out$size)), , drop = FALSE]
  rownames(out) <- NULL
  out
}

# Single cells of a row as a list.
row_cells <- function(row, at) {
  if (is.data.frame(row)) return(unname(unclass(row)[at]))
  as.list(as.vector(row[1L, at]))
}

#' @rdname counterfactual
#' @param x *A `cpt_counterfactual` object*.
#' @param row.names,optional *Ignored*; they are part of the generic.
#' @export
as.data.frame.cpt_counterfactual <- function(x, row.names = NULL, optional = FALSE, ...) {
  check_no_dots(...)
  x$changes
}
