# Tasks, one fit each, that run here or on a `future` plan, and what becomes of their
# warnings and errors. This file must not know how folds or settings were chosen.

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
  case$threads <- run$threads
  with_progress(run$verbose, function(tick) {
    lapply(seq_along(tasks), function(i) {
      if (run$verbose) tick("fit", i, length(tasks), NA, (i - 1) / length(tasks))
      run_task(tasks[[i]], case)
    })
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
