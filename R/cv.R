# Cross-validation: the data of a call as a `case` that can be cut by rows, folds chosen
# by the seed alone, and tasks (one fit each) that run here or on a `future` plan. tune.R
# is built on the same three.
# This file must not know the engine or how columns are coded: every fit is a call of cpt().

#' Cross-validation of a convex polytope tree
#'
#' Fits a tree to all folds but one and predicts the rows of that one, for every fold in
#' turn, so that every row is predicted by a tree that has not seen it. Everything that is
#' learned from the data is learned again in every fit: the steps of a recipe, terms such
#' as `poly()`, and values filled in.
#'
#' @section Folds:
#' They are chosen by `seed` alone, without touching R's random stream, and are stratified:
#' every class, or every stretch of the sorted numeric outcome, is spread evenly over the
#' folds. Sizes differ by at most one row. `foldid` takes your own folds instead, for
#' example to keep rows of one patient together. A class with fewer rows than folds is
#' unknown to some trees, which then give it probability 0.
#'
#' The standard error of a mean over \eqn{k} folds is \eqn{s / \sqrt{k}}{s / sqrt(k)}, with
#' the standard deviation \eqn{s} of the folds. Repeats steady the mean; they do not make the
#' standard error smaller, since they see the same rows again (the variances of the repeats
#' are averaged).
#'
#' @section In parallel:
#' Fits run on the plan set by `future::plan()`, if the package 'future.apply' is installed:
#' on the cores of this computer, or on a cluster. Every fit then uses one thread. The
#' result does not depend on the plan. Without a plan, or with a sequential one, fits run one
#' after the other with `threads` threads, and a progress bar shows if `verbose`. On other
#' plans progress is told through the package 'progressr': wrap the call into
#' `progressr::with_progress()`. The data are sent once to every worker (`future` asks for
#' `options(future.globals.maxSize = )` if they are larger than 500 MB).
#'
#' @param x *A formula, data frame, matrix, sparse matrix or recipe*, as the first argument
#'   of [cpt()]; for `print()` the result.
#' @param ... The other arguments of [cpt()] that are about the data, in the same order or
#'   by name: `data`, `y`, `weights`, `subset`, `na_action`. And *settings* of
#'   [cpt_control()] by name, such as `max_depth = 4`.
#' @param folds *A whole number >= 2*: number of folds. 10, so that the trees have nearly all
#'   rows. Not used with `foldid`.
#' @param foldid *A vector* with one value per row of the data: rows of the same value are in
#'   the same fold. Looked up in `data` first. The default `NULL` chooses folds.
#' @param repeats *A whole number >= 1*: how often to do it, with other folds each time.
#' @param control *A `cpt_control` object*: the settings, from [cpt_control()].
#' @param seed *A whole number* from 0 to 2^53 that decides folds and fits. `NULL`: drawn from
#'   R's stream.
#' @param threads *A whole number*: threads of a fit, as in [cpt()]; 1 on a parallel plan.
#' @param verbose *`TRUE` or `FALSE`*: show progress? `NULL`: as in [cpt()].
#' @return A list of class `cpt_cv`:
#' * `metrics`: data frame with one row per metric of [cpt_metrics()]: `metric`, `mean` and
#'   `se` (standard error) over the folds, and `folds`, the number of folds that have a
#'   value; a fold of one class has no AUC.
#' * `sizes`: the same for `leaves`, `depth` and `facets` (number of all facets of a tree).
#' * `folds`: data frame with one row per fit: `repetition`, `fold`, `rows` (predicted rows),
#'   the metrics and sizes.
#' * `predictions`: data frame of the out-of-fold predictions: `row` (number of the row in the
#'   data), `repetition`, `fold`, `weight`, `truth`, `estimate`, and for classes the
#'   probabilities `prob_<level>`.
#' * `foldid`: integer matrix with one row per row of the data and one column per repeat; `NA`
#'   for rows that were not used. A column can be given as `foldid`.
#' * `task`, `levels`, `control`, `seed`, `call`.
#'
#'   `summary()` returns the object with another class, whose `print()` shows every fold.
#' @seealso [cpt_tune()] to choose settings, [cpt_metrics()] for the measures.
#' @examples
#' cv <- cpt_cv(Species ~ ., iris, folds = 3, max_depth = 2, max_facets = 2,
#'   grow_epochs = 5, refine_epochs = 5, seed = 1)
#' cv
#' table(cv$predictions$truth, cv$predictions$estimate)
#' @export
cpt_cv <- function(x, ..., folds = 10, foldid = NULL, repeats = 1,
                   control = cpt_control(), seed = NULL, threads = NULL, verbose = NULL) {
  call <- match.call()
  foldid <- rlang::enquo(foldid)
  run <- run_settings(seed, threads, verbose)
  check_number(folds, "folds", 2, whole = TRUE)
  check_number(repeats, "repeats", 1, whole = TRUE)
  own <- list(control = control, known = names(formals(cpt_cv)))
  case <- if (missing(x)) as_case(..., .own = own) else as_case(x, ..., .own = own)
  run$seed <- resolve_seed(run$seed)
  design <- fold_design(case, folds, foldid, repeats, run$seed)
  tasks <- fold_tasks(design, list(case$control), keep = TRUE)
  results <- run_tasks(tasks, case, design, run)
  new_cpt_cv(results, tasks, case, design, run$seed, named_call(call, case, "cpt_cv"))
}

run_settings <- function(seed, threads, verbose) {
  list(seed = check_seed(seed), threads = resolve_threads(threads),
    verbose = resolve_verbose(verbose),
    # progressr decides itself what to show, unless silence is asked for.
    signal = !isFALSE(verbose))
}

# The call with the data arguments named as in cpt(), and without the data itself.
named_call <- function(call, case, name) {
  # The first argument is `x` here, also if it is a formula.
  names(call)[names(call) == "x"] <- ""
  call <- bare_call(match.call(case$method, call))
  call[[1L]] <- as.name(name)
  call
}

# The data as a case ---------------------------------------------------------------

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

# Folds -----------------------------------------------------------------------------

# id: fold of every row used, one column per repeat; seed: of every fit, folds x repeats.
fold_design <- function(case, folds, foldid, repeats, seed) {
  data <- if (is.data.frame(case$full$data)) case$full$data
  given <- eval_in_data(foldid, "foldid", data, case$full$formula %||% list())
  if (!is.null(given)) {
    id <- check_foldid(given, case, repeats)
    folds <- max(id)
  } else {
    usable <- sum(case$weights > 0)
    if (folds > usable) {
      cpt_abort("{.arg folds} must not be larger than {usable}, the number of rows.")
    }
  }
  key <- matrix(random_keys(seed, (folds + 1) * repeats), folds + 1)
  if (is.null(given)) {
    id <- vapply(key[1L, ], function(k) choose_folds(case, folds, k), integer(length(case$y)))
    inform_rare(case, folds)
  }
  list(id = matrix(id, ncol = repeats), seed = key[-1L, , drop = FALSE])
}

# Rows are dealt out in turn, class by class or along the sorted outcome, in an order that
# is random within the class or within a stretch of as many rows as there are folds.
choose_folds <- function(case, folds, seed) {
  n <- length(case$y)
  key <- random_keys(seed, n)
  absent <- case$weights == 0
  group <- case$y
  if (case$task == "regression") {
    group[order(absent, case$y, key)] <- (seq_len(n) - 1L) %/% folds
  }
  id <- integer(n)
  id[order(absent, group, key)] <- rep_len(seq_len(folds), n)
  id
}

check_foldid <- function(foldid, case, repeats) {
  if (!is.atomic(foldid) || (!is.null(dim(foldid)) && ncol(foldid) != 1L) ||
      length(foldid) != case$n) {
    got <- describe(foldid)
    cpt_abort("{.arg foldid} must be a vector with one value per row ({case$n}), not {got}.")
  }
  foldid <- as.vector(foldid)[case$rows]
  gap <- is.na(foldid)
  if (any(gap)) {
    cpt_abort(c(
      "{.arg foldid} must have a value for every row that is used.",
      x = "{sum(gap)} {?is/are} missing; the first is that of row {case$rows[gap][1L]}."
    ))
  }
  known <- sort(unique(foldid))
  if (length(known) < 2L) cpt_abort("{.arg foldid} must name at least two folds.")
  if (repeats > 1) {
    cpt_abort(c(
      "`repeats` must be 1 with {.arg foldid}.",
      i = "The folds are given, so that every repeat would be the same."
    ))
  }
  match(foldid, known)
}

inform_rare <- function(case, folds) {
  if (case$task == "regression") return(invisible())
  count <- tabulate(case$y[case$weights > 0] + 1L, length(case$levels))
  rare <- which(count > 0L & count < folds)
  if (length(rare) == 0L) return(invisible())
  text <- count_text(case$levels[rare], count[rare])
  cpt_inform("{cli::qty(length(rare))}Class{?/es} with fewer rows than folds: {text}.",
    "cpt_message_folds")
}

# Tasks -----------------------------------------------------------------------------

# One task per fold and setting, fold by fold: a worker that gets some folds gets settings
# of every size. `share`: share of the training rows; `keep`: return the predictions?
fold_tasks <- function(design, controls, number = seq_along(controls), share = 1,
                       keep = FALSE) {
  each <- expand.grid(setting = seq_along(controls), fold = seq_len(nrow(design$seed)),
    repetition = seq_len(ncol(design$seed)))
  Map(function(setting, fold, repetition) {
    list(setting = number[setting], control = controls[[setting]], fold = fold,
      repetition = repetition, seed = design$seed[fold, repetition], share = share,
      keep = keep)
  }, each$setting, each$fold, each$repetition)
}

# Here one after the other, or on the workers of a plan. Every fit has its own seed, so
# the order does not matter and R's random stream is not used.
run_tasks <- function(tasks, case, design, run) {
  light <- case[c("args", "by_row", "newdata", "passed", "task", "levels", "y", "weights",
    "na_action")]
  light$id <- design$id
  light$kernels <- getOption("cptree.kernels")
  workers <- plan_workers()
  results <- if (workers == 0) {
    run_here(tasks, light, run)
  } else {
    light$threads <- if (workers > 1) 1L else run$threads
    needs <- case_needs(case)
    signal <- progress_signal(length(tasks), run)
    future.apply::future_lapply(tasks, run_task, case = light, signal = signal,
      future.seed = NULL, future.globals = needs$globals,
      future.packages = c("cptree", needs$packages))
  }
  warn_fits(lapply(results, `[[`, "warnings"), case$seen)
  results
}

run_here <- function(tasks, case, run) {
  tick <- if (run$verbose) progress_bar()
  case$threads <- run$threads
  lapply(seq_along(tasks), function(i) {
    if (run$verbose) tick("fit", i, length(tasks), NA, (i - 1) / length(tasks))
    run_task(tasks[[i]], case)
  })
}

# Workers of the current plan; 0 if work is to be done here.
plan_workers <- function() {
  if (!rlang::is_installed("future.apply")) return(0)
  if (inherits(future::plan("next"), c("sequential", "uniprocess"))) return(0)
  future::nbrOfWorkers()
}

# The progressor ends with the frame that asked for it.
progress_signal <- function(steps, run, frame = parent.frame()) {
  if (!run$signal || !rlang::is_installed("progressr")) return(NULL)
  progressr::progressor(steps = steps, envir = frame)
}

# Functions in a formula that the user wrote, and the packages of the others.
case_needs <- function(case) {
  if (is.null(case$extra)) return(list(globals = FALSE))
  found <- future::getGlobalsAndPackages(case$extra[[2L]], envir = globalenv())
  functions <- Filter(is.function, unclass(found$globals))
  attributes(functions) <- list(names = names(functions))
  list(globals = if (length(functions) > 0L) functions else FALSE, packages = found$packages)
}

run_task <- function(task, case, signal = NULL) {
  if (!is.null(case$kernels)) {
    old <- options(cptree.kernels = case$kernels)
    on.exit(options(old))
  }
  out <- tryCatch(fold_result(task, case), error = function(e) abort_fold(task, e))
  if (!is.null(signal)) signal()
  out
}

fold_result <- function(task, case) {
  id <- case$id[, task$repetition]
  test <- which(id == task$fold)
  train <- which(id != task$fold)
  if (task$share < 1) train <- share_rows(train, case, task$share, task$seed)
  quiet <- quietly(fit_rows(case, train, task$control, task$seed))
  tree <- quiet$value$tree
  answer <- predict_rows(quiet$value, case, test)
  list(
    metrics = fold_metrics(case, answer, test),
    sizes = c(leaves = sum(tree_leaf(tree)), depth = tree_depth(tree), facets = length(tree$r)),
    test = test, answer = if (task$keep) answer, warnings = quiet$warnings
  )
}

fit_rows <- function(case, rows, control, seed) {
  args <- case$args
  args[case$by_row] <- lapply(args[case$by_row], case_rows, rows)
  do.call(cpt, c(args, case$passed, list(na_action = case$na_action, control = control,
    seed = seed, threads = case$threads, verbose = FALSE)))
}

# Numbers, or probabilities of all classes of the case, also of those the tree has not seen.
predict_rows <- function(fit, case, rows) {
  new <- case_rows(case$args[[case$newdata]], rows)
  na_action <- if (case$na_action == "impute") "impute" else "fail"
  if (case$task == "regression") {
    return(unname(predict(fit, new, na_action = na_action, threads = case$threads)))
  }
  prob <- matrix(0, length(rows), length(case$levels), dimnames = list(NULL, case$levels))
  prob[, fit$levels] <- predict(fit, new, type = "prob", na_action = na_action,
    threads = case$threads)
  prob
}

fold_metrics <- function(case, answer, test) {
  if (!any(case$weights[test] > 0)) {
    name <- metric_table$name[metric_table$task == case$task]
    return(stats::setNames(rep(NA_real_, length(name)), name))
  }
  judge(case$task, case_truth(case)[test], answer, case$weights[test])
}

case_truth <- function(case) {
  if (case$task == "regression") case$y else factor(case$levels[case$y + 1L], case$levels)
}

# The same share of every class. Smaller shares are parts of larger ones.
share_rows <- function(rows, case, share, seed) {
  key <- random_keys(seed, length(case$y))[rows]
  group <- if (case$task == "regression") integer(length(rows)) else case$y[rows]
  taken <- lapply(split(seq_along(rows), group), function(at) {
    at[order(key[at])][seq_len(max(1, round(share * length(at))))]
  })
  rows[sort(unlist(taken, use.names = FALSE))]
}

# Conditions of the fits -------------------------------------------------------------

# Messages about the data were given once, for all rows; warnings are collected.
quietly <- function(expr) {
  withCallingHandlers(watch_warnings(expr, muffle = TRUE),
    cpt_message = function(m) invokeRestart("muffleMessage"))
}

watch_warnings <- function(expr, muffle = FALSE) {
  text <- character()
  value <- withCallingHandlers(expr, cpt_warning = function(w) {
    text <<- c(text, conditionMessage(w))
    if (muffle) invokeRestart("muffleWarning")
  })
  list(value = value, warnings = unique(text))
}

# Each warning once, with the number of fits; those that the data gave are known already.
warn_fits <- function(warnings, seen) {
  all <- unlist(warnings)
  for (text in setdiff(unique(all), seen)) {
    first <- cli::ansi_strip(strsplit(text, "\n", fixed = TRUE)[[1L]][1L])
    count <- sum(all == text)
    cpt_warn(c("In {count} of {length(warnings)} fits: {first}"), "cpt_warning_fits")
  }
}

abort_fold <- function(task, e) {
  class <- grep("^cpt_error_", class(e), value = TRUE)
  cpt_abort("The tree of fold {task$fold} could not be fitted or judged.",
    if (length(class) > 0L) class else "cpt_error_engine", parent = e)
}

# The result -------------------------------------------------------------------------

new_cpt_cv <- function(results, tasks, case, design, seed, call) {
  folds <- fold_table(results, tasks)
  id <- matrix(NA_integer_, case$n, ncol(design$id))
  id[case$rows, ] <- design$id
  structure(list(
    metrics = mean_table(folds, metric_table$name[metric_table$task == case$task]),
    sizes = mean_table(folds, c("leaves", "depth", "facets")),
    folds = folds[names(folds) != "setting"],
    predictions = prediction_table(results, tasks, case),
    foldid = id, task = case$task, levels = case$levels, control = case$control,
    seed = seed, call = call
  ), class = "cpt_cv")
}

fold_table <- function(results, tasks) {
  pick <- function(name) vapply(tasks, function(t) as.integer(t[[name]]), 1L)
  data.frame(
    setting = pick("setting"), repetition = pick("repetition"), fold = pick("fold"),
    rows = vapply(results, function(r) length(r$test), 1L),
    do.call(rbind, lapply(results, `[[`, "metrics")),
    do.call(rbind, lapply(results, `[[`, "sizes"))
  )
}

mean_table <- function(folds, names) {
  data.frame(
    metric = names,
    mean = vapply(folds[names], mean_known, 0, USE.NAMES = FALSE),
    se = vapply(folds[names], fold_error, 0, repetition = folds$repetition, USE.NAMES = FALSE),
    folds = vapply(folds[names], function(v) sum(!is.na(v)), 1L, USE.NAMES = FALSE)
  )
}

mean_known <- function(v) if (all(is.na(v))) NA_real_ else mean(v, na.rm = TRUE)

# Repeats see the same rows, so their variances are averaged, not pooled.
fold_error <- function(v, repetition) {
  one <- vapply(split(v, repetition), function(u) {
    u <- u[!is.na(u)]
    if (length(u) < 2L) NA_real_ else stats::var(u) / length(u)
  }, 0)
  sqrt(mean_known(one))
}

prediction_table <- function(results, tasks, case) {
  truth <- case_truth(case)
  parts <- Map(function(result, task) {
    at <- result$test
    out <- data.frame(row = case$rows[at], repetition = task$repetition, fold = task$fold,
      weight = case$weights[at], truth = truth[at])
    if (case$task == "regression") return(cbind(out, estimate = result$answer))
    prob <- result$answer
    out$estimate <- factor(case$levels[node_class(prob)], case$levels)
    colnames(prob) <- paste0("prob_", case$levels)
    cbind(out, as.data.frame(prob, optional = TRUE))
  }, results, tasks)
  out <- do.call(rbind, parts)
  out <- out[order(out$repetition, out$row), ]
  row.names(out) <- NULL
  out
}

#' @rdname cpt_cv
#' @param object *A `cpt_cv` object*.
#' @param digits *A whole number*: significant digits to print.
#' @export
print.cpt_cv <- function(x, digits = 3L, ...) {
  check_no_dots(...)
  writeLines(c(paste0("Cross-validation of a convex polytope tree (", x$task, ")"),
    cv_line(x), ""))
  print_means(rbind(x$metrics, x$sizes), digits)
  invisible(x)
}

cv_line <- function(x) {
  repeats <- max(x$folds$repetition)
  paste0(plural(sum(!is.na(x$foldid[, 1L])), "row", "rows"), ", ", max(x$folds$fold), " folds",
    if (repeats > 1L) paste0(", repeated ", repeats, " times"),
    ", seed ", format(x$seed, scientific = FALSE))
}

# Numbers of different sizes: each row is formatted alone.
print_means <- function(table, digits) {
  number <- function(v) vapply(v, function(u) format(signif(u, digits)), "")
  shown <- data.frame(mean = number(table$mean), se = number(table$se), row.names = table$metric)
  if (any(table$folds < max(table$folds))) shown$folds <- table$folds
  print(shown)
}

#' @rdname cpt_cv
#' @export
summary.cpt_cv <- function(object, ...) {
  check_no_dots(...)
  structure(object, class = c("summary.cpt_cv", "cpt_cv"))
}

#' @rdname cpt_cv
#' @export
print.summary.cpt_cv <- function(x, digits = 3L, ...) {
  check_no_dots(...)
  print.cpt_cv(x, digits)
  writeLines("")
  shown <- x$folds
  if (max(shown$repetition) == 1L) shown$repetition <- NULL
  print(format(shown, digits = digits), row.names = FALSE)
  invisible(x)
}
