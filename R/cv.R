# Cross-validation: the data as a case (cv-case.R), folds chosen by the seed alone, tasks
# (cv-tasks.R), and the table of what they gave. tune.R is built on the same.
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
