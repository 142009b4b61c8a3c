# Choice of settings by cross-validation: which settings are tried (grid, ranges), in which
# rounds, and which one is taken. Folds, fits and workers are those of cv.R.
# This file must not know the data or the engine.

# Tried by default: the two settings that decide how large the tree and its splits are.
tune_grid <- list(max_depth = c(2, 3, 4, 6), max_facets = c(1, 5, 20))

# Ranges drawn from by default. A range that spans a factor of 10 is drawn from evenly in
# logarithms.
tune_ranges <- list(
  max_depth = c(2, 8), max_facets = c(1, 30), min_leaf_obs = c(3, 50),
  prior_weight = c(0.02, 2), dropout = c(0, 0.4), refine_epochs = c(15, 150)
)

# Halving keeps a third of the settings and takes three times the rows.
halving_factor <- 3

# Fewer training rows than this tell little about a setting.
halving_rows <- 100

#' Choose the settings of a tree by cross-validation
#'
#' Tries settings of [cpt_control()] by [cross-validation][cpt_cv()] and fits a tree with the
#' chosen one to all rows. All settings are tried on the same folds with the same seeds.
#'
#' @section Methods:
#' * `"grid"` tries all settings of `grid`; by default `max_depth` 2, 3, 4, 6 with
#'   `max_facets` 1, 5, 20.
#' * `"random"` tries `n_settings` settings drawn from `ranges`, or that many rows of `grid`.
#'   The values of a setting are spread evenly over its range, in logarithms if it spans a
#'   factor of 10, and paired at random with those of the others. By default drawn from:
#'   `max_depth` 2 to 8, `max_facets` 1 to 30, `min_leaf_obs` 3 to 50, `prior_weight` 0.02 to
#'   2, `dropout` 0 to 0.4 and `refine_epochs` 15 to 150.
#' * `"halving"` (successive halving) begins with the settings of `grid`, or else with settings
#'   drawn as for `"random"`, and a small share of the training rows of every fold. The best
#'   third goes on to a round with three times the rows, until all training rows are used;
#'   the choice is among the settings of this last round. No round has less than 100
#'   training rows, so that on small data all is one round. Rows, not epochs, are what is
#'   saved, since a fit takes time in proportion to them in every stage, while
#'   `refine_epochs` says nothing about the first stage and may be what is tuned. For few
#'   rows the best tree is smaller; with settings of very different size prefer the other
#'   methods.
#'
#' While tuning, no fit chooses settings by itself (`search = FALSE`): what is neither tried
#' nor given is as in the first recipe of [cpt_control()].
#'
#' Settings given by name, as in `cpt_tune(..., dropout = 0.2)`, or changed in `control`, are
#' the same for all and are left out of the default grid and ranges.
#'
#' @section The choice:
#' With `one_se = TRUE` the smallest tree that is nearly as good as the best is taken: of all
#' settings whose mean is within one standard error (that of the best setting) of the best
#' mean, the one with the fewest leaves on average; of several, the one with the better
#' mean. With `FALSE` it is the setting of the best mean. The mean of the chosen setting
#' is a little too good, as is any best of many; use rows that took no part for an honest
#' number.
#'
#' @inheritSection cpt_cv In parallel
#' @inheritParams cpt_cv
#' @param grid *A data frame* with one column per setting and one row per combination to try, or
#'   *a named list* of values, all combinations of which are tried. `NULL`: see below.
#' @param method *A string*: `"grid"`, `"random"` or `"halving"`, see below.
#' @param n_settings *A whole number*: how many settings to draw.
#' @param ranges *A named list* with the smallest and the largest value of every setting to draw,
#'   or all values of a setting that is not a number. `NULL`: see below.
#' @param metric *A string*: the measure to choose by, one of [cpt_metrics()]. `NULL`:
#'   `"accuracy"` or `"rmse"`.
#' @param folds *A whole number >= 2*: number of folds. 5, half of what [cpt_cv()] has, since
#'   every setting costs that many fits.
#' @param one_se *`TRUE`* (default) or *`FALSE`*: take the smallest tree within one standard
#'   error of the best?
#' @param refit *`TRUE`* (default) or *`FALSE`*: fit a tree with the chosen setting to all rows?
#' @return A list of class `cpt_tune`:
#' * `results`: data frame with one row per setting, in the order tried: `setting` (number), the
#'   settings, `round` and `share` (last round of the setting and the share of training rows
#'   in it; 1 without halving), `mean` and `se` of the metric over the folds, `leaves`,
#'   `depth` and `facets` (means), `best` and `chosen` (`TRUE` in one row each).
#' * `folds`: data frame with one row per fit: `setting`, `round`, `share`, and as in
#'   [cpt_cv()].
#' * `control`: the chosen settings, a [cpt_control()].
#' * `fit`: the tree fitted to all rows by `control` and `seed`, a [cpt()] object; `NULL` if
#'   `refit = FALSE`.
#' * `metric`, `method`, `one_se`, `foldid` (as in [cpt_cv()]), `task`, `seed`, `call`.
#' @seealso [cpt_cv()], [cpt_control()].
#' @examples
#' tuned <- cpt_tune(Species ~ ., iris, grid = list(max_depth = 1:2, max_facets = c(1, 3)),
#'   folds = 3, grow_epochs = 5, refine_epochs = 5, seed = 1)
#' tuned
#' tuned$control$max_depth
#' predict(tuned$fit, iris[c(1, 51, 101), ])
#' @export
cpt_tune <- function(x, ..., grid = NULL, method = c("grid", "random", "halving"),
                     n_settings = 20, ranges = NULL, metric = NULL, folds = 5, foldid = NULL,
                     repeats = 1, one_se = TRUE, refit = TRUE, control = cpt_control(),
                     seed = NULL, threads = NULL, verbose = NULL) {
  call <- match.call()
  foldid <- rlang::enquo(foldid)
  run <- run_settings(seed, threads, verbose)
  check_number(folds, "folds", 2, whole = TRUE)
  check_number(repeats, "repeats", 1, whole = TRUE)
  method <- check_choice(method, "method", c("grid", "random", "halving"))
  check_number(n_settings, "n_settings", 1, whole = TRUE)
  check_flag(one_se, "one_se")
  check_flag(refit, "refit")
  check_search(grid, ranges, method)
  own <- list(control = control, known = names(formals(cpt_tune)))
  case <- if (missing(x)) as_case(..., .own = own) else as_case(x, ..., .own = own)
  metric <- check_metric(metric, case$task)
  run$seed <- resolve_seed(run$seed)
  table <- settings_to_try(case, grid, ranges, method, n_settings, run$seed)
  controls <- setting_controls(case$control, table)
  design <- fold_design(case, folds, foldid, repeats, run$seed)
  rounds <- run_rounds(controls, case, design, run, method, metric)
  out <- new_cpt_tune(rounds, table, case, design, metric, one_se)
  chosen <- controls[[which(out$results$chosen)]]
  fit <- if (refit) fit_all(case, chosen, run, call)
  structure(c(out, list(control = chosen, fit = fit, metric = metric, method = method,
    one_se = one_se, task = case$task, seed = run$seed,
    call = named_call(call, case, "cpt_tune"))), class = "cpt_tune")
}

# The settings to try ----------------------------------------------------------------

check_search <- function(grid, ranges, method) {
  if (!is.null(ranges) && (method == "grid" || !is.null(grid))) {
    cpt_abort(c(
      "{.arg ranges} goes with `method = \"random\"` or `\"halving\"`, and without {.arg grid}.",
      i = "For a grid give all values: `grid = list(max_depth = 2:6)`."
    ))
  }
  check_named(grid, "grid", "list(max_depth = c(2, 4))")
  check_named(ranges, "ranges", "list(max_depth = c(2, 8))")
  lapply(names(ranges), function(name) check_range(ranges[[name]], name))
  invisible()
}

# A named list, or a data frame, of settings.
check_named <- function(x, name, example) {
  if (is.null(x)) return(invisible())
  named <- !is.null(names(x)) && all(nzchar(names(x)))
  if (!is.list(x) || inherits(x, "cpt_control") || !named) {
    got <- if (length(x) == 0L) "an empty one" else describe(unclass(x))
    if (is.list(x) && !named && length(x) > 0L) got <- "one without names"
    if (inherits(x, "cpt_control")) got <- "a <cpt_control>"
    cpt_abort(c(
      "{.arg {name}} must be a named list of settings, not {got}.",
      i = "For example `{name} = {example}`."
    ))
  }
  check_control_names(names(x), length(x), character())
  empty <- names(x)[lengths(x) == 0L]
  if (length(empty) > 0L || (is.data.frame(x) && nrow(x) == 0L)) {
    cpt_abort("{.arg {name}} must have at least one value of every setting.")
  }
}

check_range <- function(range, name) {
  field <- control_table[[name]]
  if (field$type %in% c("flag", "choice")) return(invisible())
  ok <- is.numeric(range) && length(range) == 2L && all(is.finite(range)) &&
    range[1L] < range[2L]
  if (!ok) {
    got <- describe(range)
    cpt_abort("The range of {.arg {name}} must be two increasing numbers, not {got}.")
  }
  lapply(range, check_field, field)
}

# One row per setting to try.
settings_to_try <- function(case, grid, ranges, method, n_settings, seed) {
  fixed <- union(case$given, changed_settings(case$control))
  if (is.null(grid) && method == "grid") {
    return(expand_grid(tune_grid[setdiff(names(tune_grid), fixed)]))
  }
  if (is.null(grid)) {
    ranges <- ranges %||% tune_ranges[setdiff(names(tune_ranges), fixed)]
    check_not_fixed(names(ranges), case$given, "ranges")
    return(draw_settings(ranges, n_settings, seed))
  }
  check_not_fixed(names(grid), case$given, "grid")
  table <- expand_grid(grid)
  if (method == "random" && nrow(table) > n_settings) {
    drawn <- order(random_keys(seed, nrow(table)))[seq_len(n_settings)]
    table <- case_rows(table, sort(drawn))
  }
  table
}

changed_settings <- function(control) {
  now <- unclass(control)
  names(now)[!mapply(identical, now, unclass(cpt_control())[names(now)])]
}

check_not_fixed <- function(names, given, what) {
  both <- intersect(names, given)
  if (length(both) == 0L) return(invisible())
  text <- name_text(both)
  cpt_abort(c(
    "A setting must not be both tried and given.",
    x = "In {.arg {what}} and by name: {text}."
  ))
}

# All combinations of a list, the first setting changing fastest; a data frame has them
# already. One row without columns if all settings of the default grid are given.
expand_grid <- function(values) {
  if (is.data.frame(values)) return(plain_frame(frame_columns(values), nrow(values)))
  if (length(values) == 0L) return(plain_frame(stats::setNames(list(), character()), 1L))
  expand.grid(lapply(values, function(v) if (is.factor(v)) as.character(v) else v),
    KEEP.OUT.ATTRS = FALSE, stringsAsFactors = FALSE)
}

# A Latin hypercube: every setting takes evenly spread values, in an order of its own.
draw_settings <- function(ranges, n, seed) {
  key <- random_keys(seed, n * length(ranges))
  columns <- lapply(seq_along(ranges), function(j) {
    rank <- order(order(key[(j - 1) * n + seq_len(n)]))
    range_values(ranges[[j]], (rank - 0.5) / n, control_table[[names(ranges)[j]]])
  })
  # Rounding can make two settings the same.
  unique(plain_frame(stats::setNames(columns, names(ranges)), n))
}

# Values at the shares `u` (0 to 1) of a range.
range_values <- function(range, u, field) {
  if (field$type %in% c("flag", "choice")) return(range[floor(u * length(range)) + 1L])
  low <- range[1L]
  high <- range[2L]
  if (low > 0 && high / low >= 10) {
    value <- exp(log(low) + u * (log(high) - log(low)))
    return(if (field$type == "whole") round(value) else signif(value, 2L))
  }
  if (field$type == "whole") return(low + floor(u * (high - low + 1)))
  signif(low + u * (high - low), 2L)
}

# The settings as controls; a wrong one is told with its row before anything is fitted.
# Tuning is the search, so no fit searches by itself unless that is what is tried.
setting_controls <- function(base, table) {
  base <- control_merge(base, list(search = FALSE))
  lapply(seq_len(nrow(table)), function(i) {
    values <- lapply(frame_columns(table), function(v) {
      if (is.factor(v)) as.character(v[i]) else v[[i]]
    })
    tryCatch(control_merge(base, values), cpt_error = function(e) {
      cpt_abort("Setting {i} of {nrow(table)} is not possible.", "cpt_error_argument", parent = e)
    })
  })
}

check_metric <- function(metric, task) {
  known <- metric_table$name[metric_table$task == task]
  if (is.null(metric)) return(if (task == "regression") "rmse" else "accuracy")
  check_choice(metric, "metric", known)
}

# Rounds -----------------------------------------------------------------------------

# Every round fits the settings that are left to a share of the rows; a table of all fits.
run_rounds <- function(controls, case, design, run, method, metric) {
  shares <- if (method == "halving") halving_shares(length(controls), case, design) else 1
  left <- seq_along(controls)
  rounds <- list()
  for (round in seq_along(shares)) {
    tasks <- fold_tasks(design, controls[left], left, shares[round])
    folds <- fold_table(run_tasks(tasks, case, design, run), tasks)
    rounds[[round]] <- cbind(folds[1L], round = round, share = shares[round], folds[-1L])
    if (round < length(shares)) {
      means <- setting_means(folds, metric)
      keep <- rank_settings(means, metric)[seq_len(ceiling(length(left) / halving_factor))]
      left <- sort(means$setting[keep])
    }
  }
  do.call(rbind, rounds)
}

# Shares of the training rows, the last one 1.
halving_shares <- function(n_settings, case, design) {
  train <- length(case$y) * (1 - 1 / nrow(design$seed))
  wanted <- ceiling(log(n_settings) / log(halving_factor) - 1e-9)
  possible <- 1 + floor(log(train / halving_rows) / log(halving_factor))
  rounds <- max(1, min(wanted, possible))
  halving_factor^-((rounds - 1):0)
}

setting_means <- function(folds, metric) {
  parts <- split(folds, folds$setting)
  mean_of <- function(name) vapply(parts, function(p) mean_known(p[[name]]), 0, USE.NAMES = FALSE)
  data.frame(
    setting = as.integer(names(parts)), mean = mean_of(metric),
    se = vapply(parts, function(p) fold_error(p[[metric]], p$repetition), 0, USE.NAMES = FALSE),
    leaves = mean_of("leaves"), depth = mean_of("depth"), facets = mean_of("facets")
  )
}

# Positions from the best to the worst; of equal ones the smaller tree first.
rank_settings <- function(means, metric) {
  larger <- metric_table$larger[metric_table$name == metric]
  order(if (larger) -means$mean else means$mean, means$leaves, means$facets)
}

# The choice --------------------------------------------------------------------------

new_cpt_tune <- function(rounds, table, case, design, metric, one_se) {
  # A setting is told by its last round.
  last <- rounds[rounds$round == stats::ave(rounds$round, rounds$setting, FUN = max), ]
  first <- last[!duplicated(last$setting), ]
  means <- setting_means(last, metric)
  at <- match(means$setting, first$setting)
  final <- which(first$round[at] == max(rounds$round))
  picked <- final[choose_setting(means[final, ], metric, one_se)]
  results <- cbind(means["setting"], table, round = first$round[at], share = first$share[at],
    means[-1L], best = means$setting == means$setting[picked[1L]],
    chosen = means$setting == means$setting[picked[2L]])
  id <- matrix(NA_integer_, case$n, ncol(design$id))
  id[case$rows, ] <- design$id
  row.names(rounds) <- row.names(results) <- NULL
  list(results = results, folds = rounds, foldid = id)
}

# Positions of the best setting and of the chosen one.
choose_setting <- function(means, metric, one_se) {
  order <- rank_settings(means, metric)
  best <- order[1L]
  if (is.na(means$mean[best])) {
    cpt_abort(c(
      "The metric {.val {metric}} has no value in any fold.",
      i = "Are there rows of two classes in every fold? Use fewer folds or another metric."
    ), "cpt_error_data")
  }
  if (!one_se) return(c(best, best))
  within <- abs(means$mean - means$mean[best]) <= if (is.na(means$se[best])) 0 else means$se[best]
  near <- order[order %in% which(within)]
  c(best, near[which.min(means$leaves[near])])
}

# The same tree as cpt() gives, and a call that gives it again.
fit_all <- function(case, control, run, call) {
  fit <- quietly(do.call(cpt, c(case$full, case$passed, list(na_action = case$na_action,
    control = control, seed = run$seed, threads = run$threads, verbose = run$verbose))))$value
  call <- as.list(named_call(call, case, "cpt"))
  data <- setdiff(names(formals(case$method)), c("control", "seed", "threads", "verbose", "..."))
  call <- call[c(TRUE, names(call)[-1L] %in% c(data, names(case$passed)))]
  fit$call <- as.call(c(call, unclass(control)[changed_settings(control)], list(seed = run$seed)))
  fit
}

# Print -------------------------------------------------------------------------------

#' @rdname cpt_tune
#' @param n,digits *Whole numbers*: how many settings to print, and with how many digits.
#' @export
print.cpt_tune <- function(x, n = 6L, digits = 3L, ...) {
  check_no_dots(...)
  check_number(n, "n", 0)
  larger <- metric_table$larger[metric_table$name == x$metric]
  results <- x$results
  writeLines(c(
    paste0("Settings of a convex polytope tree (", x$task, ") by ", search_name(x$method)),
    paste0(plural(nrow(results), "setting", "settings"), ", ",
      plural(sum(!is.na(x$foldid[, 1L])), "row", "rows"), ", ", max(x$folds$fold), " folds, ",
      x$metric, " (", if (larger) "larger" else "smaller", " is better), seed ",
      format(x$seed, scientific = FALSE)),
    "",
    wrap_line(paste0("Chosen: ", setting_text(results, which(results$chosen)), choice_text(x)))
  ))
  rounds <- results$round == max(results$round)
  order <- c(which(rounds)[rank_settings(results[rounds, ], x$metric)],
    which(!rounds)[order(-results$round[!rounds])])
  shown <- results[utils::head(order, n), names(results) != "best"]
  if (max(results$round) == 1L) shown[c("round", "share")] <- NULL
  shown$chosen <- ifelse(shown$chosen, "*", "")
  names(shown)[names(shown) == "chosen"] <- ""
  writeLines("")
  if (nrow(shown) > 0L) print(format(shown, digits = digits), row.names = FALSE)
  if (nrow(results) > nrow(shown)) {
    writeLines(paste0("... and ", nrow(results) - nrow(shown), " more"))
  }
  invisible(x)
}

search_name <- function(method) {
  c(grid = "grid search", random = "random search", halving = "successive halving")[[method]]
}

setting_text <- function(results, i) {
  name <- names(results)[seq_len(match("round", names(results)) - 1L)][-1L]
  if (length(name) == 0L) return("the settings given")
  value <- vapply(name, function(v) format(results[[v]][[i]], digits = 4L), "")
  paste(name, "=", value, collapse = ", ")
}

choice_text <- function(x) {
  if (!x$one_se || which(x$results$chosen) == which(x$results$best)) return("; the best mean")
  "; the fewest leaves within one standard error of the best"
}
