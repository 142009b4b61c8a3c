# The data of a call as a `case`: the same for all interfaces of cpt(), and cut by rows.
# This file must not know folds or settings.

# A case is a list that works the same for all interfaces of cpt():
#   args      arguments of cpt() that hold the data of the rows used, and nothing else
#   by_row    which of them have rows; newdata: which of them predict() needs
#   passed    other arguments of cpt(), the same for all rows
#   y, weights, levels, task   the outcome of the rows used, coded as in a mold
#   rows, n   numbers of the rows used, and how many the data have
#   control, na_action
#   full      the arguments as given, for a fit to all rows; expr: the terms of a formula
as_case <- function(x, ...) UseMethod("as_case")

as_case.formula <- function(formula, data = NULL, weights = NULL, subset = NULL,
                            na_action = c("fail", "omit", "impute"), ..., .own) {
  settings <- case_settings(cpt.formula, list(...), na_action, .own)
  weights <- rlang::enquo(weights)
  subset <- rlang::enquo(subset)
  full <- list(formula = formula, data = data,
    weights = eval_in_data(weights, "weights", data, formula),
    subset = eval_in_data(subset, "subset", data, formula))
  mold <- watch_warnings(blueprint_mold_formula(formula, data, full$weights, full$subset,
    settings$na_action))
  hint_weights(weights, mold$value$blueprint)
  parts <- formula_parts(formula, data)
  args <- list(formula = case_formula(parts), data = case_frame(parts),
    weights = if (!is.null(full$weights)) check_weights(full$weights, parts$n))
  new_case(settings, mold, args, c("data", "weights"), "data", full, parts$n,
    check_subset(full$subset, parts$n), parts$extra)
}

as_case.data.frame <- function(x, y, weights = NULL,
                               na_action = c("fail", "omit", "impute"), ..., .own) {
  settings <- case_settings(cpt.data.frame, list(...), na_action, .own)
  check_y(y, names(x))
  mold <- watch_warnings(blueprint_mold_frame(x, y, weights, settings$na_action))
  full <- list(x = x, y = y, weights = weights)
  n <- .row_names_info(x, 2L)
  args <- list(x = plain_frame(with_levels(frame_columns(x), names(x)), n), y = y,
    weights = weights)
  new_case(settings, mold, args, names(args), "x", full, n)
}

as_case.matrix <- function(x, y, weights = NULL,
                           na_action = c("fail", "omit", "impute"), ..., .own) {
  settings <- case_settings(cpt.matrix, list(...), na_action, .own)
  check_y(y, colnames(x))
  mold <- watch_warnings(blueprint_mold_matrix(x, y, weights, settings$na_action))
  # Once, not in every fit: other classes of matrices have to be turned into these.
  full <- list(x = check_matrix(x), y = y, weights = weights)
  new_case(settings, mold, full, names(full), "x", full, nrow(x))
}

as_case.dgCMatrix <- as_case.matrix

as_case.Matrix <- as_case.matrix

as_case.recipe <- function(x, data = NULL, weights = NULL,
                           na_action = c("fail", "omit", "impute"), ..., .own) {
  settings <- case_settings(cpt.recipe, list(...), na_action, .own)
  mold <- watch_warnings(blueprint_mold_recipe(x, data, weights, settings$na_action))
  if (is.null(data) && recipes::fully_trained(x)) {
    cpt_abort(c(
      "{.arg data} is needed: the recipe is prepared already.",
      i = "It is prepared again in every fold, from the rows of the data."
    ))
  }
  full <- list(x = x, data = data, weights = weights)
  data <- data %||% x$template
  args <- list(x = x, data = plain_frame(frame_columns(data), nrow(data)), weights = weights)
  new_case(settings, mold, args, c("data", "weights"), "data", full, nrow(data))
}

as_case.default <- function(x, ...) cpt.default(x)

# Settings are those of cpt_control(); what else cpt() takes is passed on as it is.
case_settings <- function(method, dots, na_action, own) {
  arguments <- names(formals(method))
  passed <- names(dots) %in% arguments
  list(
    control = control_merge(own$control, dots[!passed], union(own$known, arguments)),
    given = setdiff(names(dots)[!passed], ""),
    na_action = check_choice(na_action, "na_action", c("fail", "omit", "impute")),
    passed = dots[passed], method = method
  )
}

new_case <- function(settings, mold, args, by_row, newdata, full, n, chosen = NULL,
                     extra = NULL) {
  seen <- mold$warnings
  mold <- mold$value
  rows <- chosen %||% seq_len(n)
  rows <- rows[!rows %in% mold$na$omitted]
  if (length(rows) != length(mold$weights)) {
    cpt_abort(c(
      "The recipe must keep every row.",
      x = "{length(rows)} rows went in and {length(mold$weights)} came out."
    ), "cpt_error_data")
  }
  if (!identical(rows, seq_len(n))) args[by_row] <- lapply(args[by_row], case_rows, rows)
  c(settings, list(args = args, by_row = by_row, newdata = newdata, full = full,
    task = mold$task, levels = mold$levels, y = mold$y, weights = mold$weights,
    rows = rows, n = n, extra = extra, seen = seen))
}

case_rows <- function(x, rows) {
  if (is.null(x)) return(NULL)
  if (!is.data.frame(x)) return(take_rows(x, rows))
  plain_frame(lapply(frame_columns(x), take_rows, rows), length(rows))
}

plain_frame <- function(columns, n) {
  structure(columns, class = "data.frame", row.names = .set_row_names(n))
}

# Only the columns that the formula needs, and the outcome as a column of its own.
case_frame <- function(parts) {
  variables <- as.list(attr(parts$extra, "variables"))[-1L]
  symbol <- vapply(variables, is.symbol, NA)
  bare <- union(parts$plain, vapply(variables[symbol], as.character, ""))
  inside <- unlist(lapply(variables[!symbol], all.vars))
  columns <- with_levels(parts$columns, setdiff(bare, inside))
  columns[[parts$outcome]] <- if (is.matrix(parts$y)) as.vector(parts$y) else parts$y
  plain_frame(columns, parts$n)
}

# The formula with `.` written out, and with an environment of nothing but the single values
# that it needs: it is sent to other R processes.
case_formula <- function(parts) {
  atoms <- lapply(parts$plain, function(name) list(minus = FALSE, expr = as.name(name)))
  if (!is.null(parts$extra)) atoms <- c(atoms, rhs_atoms(parts$extra[[2L]]))
  formula <- eval(call("~", as.name(parts$outcome), join_atoms(atoms)))
  environment(formula) <- list2env(parts$constants, parent = globalenv())
  formula
}

# A string that occurs in one fold only must be known to all fits.
with_levels <- function(columns, names) {
  text <- names[vapply(columns[names], is.character, NA)]
  columns[text] <- lapply(columns[text], function(x) factor(x, column_levels(x)))
  columns
}
