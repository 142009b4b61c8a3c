# The bridge: a mold (blueprint.R) and the settings go to the engine, and what
# comes back becomes a fitted tree. Also here: held-out rows, progress, and what
# the stored call may hold.
# This file must not know formulas or how columns are coded.

# Everything about a call of cpt() that is not data, checked before the data is.
fit_settings <- function(control, dots, na_action, seed, threads, verbose,
                         arguments = character(), class_weights = NULL) {
  list(
    class_weights = class_weights,
    control = control_merge(control, dots, arguments),
    na_action = check_choice(na_action, "na_action", c("fail", "omit", "impute")),
    seed = check_seed(seed),
    threads = resolve_threads(threads),
    verbose = resolve_verbose(verbose)
  )
}

fit_mold <- function(mold, settings, call) {
  resolve_kernels()
  seed <- resolve_seed(settings$seed)
  check_leaf(settings$control$leaf, mold$task)
  check_teacher(settings$control$teacher_trees, mold)
  check_jitter(settings$control$jitter, mold)
  check_council(settings$control, mold)
  mold <- weigh_classes(mold, settings$class_weights)
  run_all <- function(mold, cases) {
    fits <- run_engine(mold, cases, settings$threads, settings$verbose)
    Map(function(fit, case) {
      finish_leaves(fit, reweigh(mold, case$weights), case$valid & !case$fill_all, case$control,
        settings$threads)
    }, fits, cases)
  }
  start <- proc.time()[["elapsed"]]
  found <- search_settings(mold, settings$control, seed, run_all)
  # Rows that the user held out stay out; those of the search come back to fill the leaves.
  case <- fit_case(mold, found$control, seed, fill_all = !is.null(found$search))
  fit <- run_all(mold, list(case))[[1L]]
  time <- proc.time()[["elapsed"]] - start
  new_cpt(mold, fit, found, seed, time, bare_call(call))
}

# One fit to be made: the rows' weights, which rows are held out, the settings, a seed of
# its own, and whether the rows held out fill the leaves with the others in the end.
fit_case <- function(mold, control, seed, fill_all = FALSE) {
  list(weights = mold$weights, valid = hold_out(mold, control$validation, seed),
    control = control, seed = seed, fill_all = fill_all)
}

reweigh <- function(mold, weights) {
  mold$weights <- weights
  mold
}

# One fit for each case. The engine's errors keep their text as the cause; an interrupt
# is no error and passes through.
run_engine <- function(mold, cases, threads, verbose) {
  options <- lapply(cases, function(case) {
    c(control_options(case$control),
      list(task = mold$task, n_classes = length(mold$levels), seed = case$seed,
        fill_all = case$fill_all))
  })
  tryCatch(
    with_progress(verbose, function(tick) {
      engine_fit_all(mold$x, mold$y, lapply(cases, `[[`, "weights"), lapply(cases, `[[`, "valid"),
        options, threads, tick)
    }),
    error = function(e) {
      cpt_abort(c(
        "The tree could not be fitted.",
        i = "The engine stopped; the reason is given below."
      ), "cpt_error_engine", parent = e)
    }
  )
}

# Held-out rows ------------------------------------------------------------------

# TRUE for the rows held out: the same share of every class, chosen by the seed
# alone. R's random stream is not touched.
hold_out <- function(mold, share, seed) {
  n <- length(mold$weights)
  valid <- logical(n)
  if (share == 0) return(valid)
  group <- if (mold$task == "classification") mold$y else integer(n)
  key <- random_keys(seed, n)
  # A row of weight 0 is not there, so it can judge nothing.
  for (rows in split(which(mold$weights > 0), group[mold$weights > 0])) {
    size <- min(round(share * length(rows)), length(rows) - 1)
    valid[rows[order(key[rows])[seq_len(size)]]] <- TRUE
  }
  if (!any(valid)) {
    text <- describe(share)
    cpt_abort(c(
      "{.arg validation} holds out no row.",
      x = "A share of {text} of each class is less than one row.",
      i = "Raise {.arg validation}, or set it to 0 to train on all rows."
    ), "cpt_error_data")
  }
  valid
}

# n whole numbers from the combined generator of L'Ecuyer (1988). Products stay
# below 2^53, so doubles are exact and every machine gives the same.
random_keys <- function(seed, n) {
  m1 <- 2147483563
  m2 <- 2147483399
  a <- (seed %% m1 + 40014 * (seed %/% m1)) %% (m1 - 1) + 1
  for (i in 1:20) a <- (40014 * a) %% m1
  # A square takes neighbouring seeds apart; products of one state would not.
  b <- ((a %% 94906249)^2) %% (m2 - 1) + 1
  key <- double(n)
  for (i in seq_len(n)) {
    a <- (40014 * a) %% m1
    b <- (40692 * b) %% m2
    key[i] <- (a - b) %% (m1 - 1)
  }
  key
}

# Progress -------------------------------------------------------------------------

# work(tick) with a bar on the screen: the engine calls tick(), and the bar goes when
# the work ends in any way. Without `show`, tick is NULL.
# Ctrl-C in the middle of cli's work would leave a bar that cannot be cleaned up, which
# is an error and no interrupt; so it waits until the bar is drawn. And a bar that
# cannot be cleaned up must not cost the user the fit.
with_progress <- function(show, work) {
  if (!show) return(work(NULL))
  steps <- 1000
  bar <- suspendInterrupts(cli::cli_progress_bar(
    total = steps, clear = TRUE, current = FALSE, .auto_close = FALSE,
    # Short enough for 80 columns; a longer line would lose the time left.
    format = "{cli::pb_bar} {cli::pb_percent} {cli::pb_extra$text} | {cli::pb_eta} left",
    extra = list(text = "starting")
  ))
  on.exit(try(suspendInterrupts(cli::cli_progress_done(id = bar)), silent = TRUE))
  work(function(stage, epoch, epochs, loss, done) {
    suspendInterrupts(cli::cli_progress_update(
      id = bar, set = min(steps, max(0, floor(steps * done))),
      extra = list(text = progress_text(stage, epoch, epochs, loss))
    ))
    invisible(NULL)
  })
}

progress_text <- function(stage, epoch, epochs, loss) {
  loss <- if (is.finite(loss)) paste0(", loss ", formatC(loss, digits = 4L, format = "g"))
  paste0(stage, " ", epoch, "/", epochs, loss)
}

# The fitted object ------------------------------------------------------------------

# See "The fitted object" in ?cpt. A plain list: no pointer, environment or data.
new_cpt <- function(mold, fit, found, seed, time, call) {
  n <- length(mold$weights)
  stopifnot(
    "the engine must return a leaf for every row" = length(fit$where) == n,
    "the engine must return the leaves of its own tree" = all(fit$where %in% fit$tree$node)
  )
  where <- as.integer(fit$where)
  residuals <- training_residuals(fit$tree, where, mold, fit$fitted)
  names(where) <- names(residuals) <- mold$row_names
  structure(c(list(
    call = call,
    task = mold$task,
    outcome = mold$outcome,
    levels = mold$levels,
    blueprint = mold$blueprint,
    predictors = data.frame(name = mold$blueprint$encoded, fit$columns),
    tree = fit$tree,
    where = where,
    residuals = residuals,
    class_weights = mold$class_weights,
    control = found$control,
    search = found$search,
    history = as.data.frame(fit$history, stringsAsFactors = FALSE),
    seed = seed,
    nobs = n,
    na = mold$na,
    time = time,
    version = as.character(getNamespaceVersion("cptree"))
  ), if (!is.null(fit$fitted)) list(fitted = fit$fitted)), class = "cpt")
}

# Regression: outcome minus fitted value. Classification: 1 where the predicted
# class of the leaf is not the row's class. `fitted`: given for linear leaves.
training_residuals <- function(tree, where, mold, fitted = NULL) {
  leaf <- match(where, tree$node)
  if (mold$task == "regression") return(mold$y - (fitted %||% node_mean(tree)[leaf]))
  class <- node_class(node_prob(tree))[leaf]
  as.double(class - 1L != mold$y)
}

# The stored call ----------------------------------------------------------------------

# do.call() puts the data itself into the call. Keep names, expressions, single values
# and class weights; put the name of the argument in place of everything else.
bare_call <- function(call) {
  parts <- as.list(call)
  parts[[1L]] <- quote(cpt)
  for (i in seq_along(parts)[-1L]) {
    value <- parts[[i]]
    if (is.call(value) && identical(value[[1L]], quote(`~`))) {
      parts[[i]] <- bare_tilde(value)
    } else if (!is_small(value) && !identical(names(parts)[i], "class_weights")) {
      parts[[i]] <- as.name(names(parts)[i])
    }
  }
  as.call(parts)
}

is_small <- function(x) {
  if (rlang::is_quosure(x)) return(FALSE)
  is.symbol(x) || is.call(x) || is.null(x) || inherits(x, "cpt_control") ||
    (is.atomic(x) && length(x) <= 1L && is.null(attributes(x)))
}
