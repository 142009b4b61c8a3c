# Settings that were left open (NULL): a few recipes are fitted on part of the rows and
# judged on the others; the tree is then fitted on all rows with the best one.
# This file must not know how columns are coded or how the engine works.

# What a recipe decides, where the user has not. Sharp borders want many facets and no
# restraint; outcomes that change smoothly want jitter; noisy ones want a teacher. What the
# splits then see is smooth, so that less training and less of a prior do.
recipes <- local({
  flexible <- list(max_depth = 7, max_facets = 20, min_leaf_obs = 7, starts = 3, grow_epochs = 20,
    grow_min_steps = 500, refine_epochs = 40, refine_min_steps = 1000, batch_size = 1000,
    lambda_end = 6, dropout = 0, jitter = 0, ridge = 0, prior_weight = 0.2, a_beta = 1, teacher_trees = 0,
    leaf_shrinkage = 0)
  but <- function(...) utils::modifyList(flexible, list(...))
  list(
    flexible = flexible,
    jittered = but(jitter = 0.1),
    taught = but(max_depth = 6, max_facets = 8, starts = 1, grow_epochs = 10, grow_min_steps = 200,
      refine_epochs = 20, refine_min_steps = 500, batch_size = 500, prior_weight = 0.03,
      teacher_trees = 100)
  )
})
open_settings <- names(recipes$flexible)

search_rows <- 40000    # rows that are enough to choose by
search_least <- 40      # with fewer rows there is nothing to judge by
# This share of the rows judges: of few rows more are needed. A third of them chooses as
# well as a quarter does twice, in two thirds of the time.
judging_share <- function(n) if (n < 3000) 1 / 3 else 1 / 4
# With fewer rows the trials are most of the time: jitter, which seldom wins there, is not
# tried, and no facets are removed.
search_patience <- 3000
# With this many rows a tree without a teacher holds rows out and is pruned by them: those rows
# are missed less than restraint is. With fewer, all rows train it.
search_many <- 10000
search_many_share <- 0.2
# Shrinkage of leaf values needs no fit of its own: all of these are judged on each tree.
search_shrinkage <- c(0, 3, 10, 30, 100, 300, 1000)
# Leaves few enough to be read, more where there are many rows.
most_leaves <- function(n) min(48, max(24, ceiling(n / 300)))
# A trial trains less than a tree that is kept: it need only show which recipe is better.
# Removing facets helps recipes with a strong prior most, so patient trials do some of it.
search_effort <- function(n) {
  list(council_trees = 0, starts = 2, tree_starts = 1, refine_epochs = 20, refine_min_steps = 500,
    batch_size = 500, shrink_rounds = if (n < search_patience) 0 else 2)
}

# list(control, search): the settings with nothing left open, and the table of what was
# tried (NULL if nothing was). `run_all(mold, cases)` makes fits, see fit_case().
search_settings <- function(mold, control, seed, run_all) {
  possible <- recipes[can_jitter(recipes, mold) & can_teach(recipes, control$teacher_trees, mold)]
  choices <- possible[differ(possible, control)]
  n <- length(mold$weights)
  given <- sum(differ(recipes, control)) == 1L || !control$search || control$validation > 0
  if (given || n < search_least || mold_is_constant(mold)) {
    return(list(control = fill_open(control, choices[[1L]]), search = NULL))
  }
  kept <- lapply(choices, function(recipe) bound_size(fill_open(control, recipe), n))
  if (n > search_rows) mold <- sample_mold(mold, search_rows, seed)
  trials <- lapply(kept, trial_control, effort = search_effort(n))
  shrinkages <- shrinkages_for(control)
  tried <- judge_trials(trials, shrinkages, mold, seed + 1, run_all)
  best <- which(tried$chosen)
  found <- kept[[best]]
  if (is.null(control$leaf_shrinkage)) found$leaf_shrinkage <- tried$leaf_shrinkage[best]
  list(control = found, search = tried)
}

# Which recipes can be tried: jitter needs dense rows, and enough of them.
can_jitter <- function(recipes, mold) {
  can <- jitter_can(mold) && length(mold$weights) >= search_patience
  can | vapply(recipes, `[[`, 0, "jitter") == 0
}

# A user who has decided about a teacher, or data that are too large for one, leave the
# recipes with or those without one.
can_teach <- function(recipes, trees, mold) {
  taught <- vapply(recipes, `[[`, 0, "teacher_trees") > 0
  if (!teacher_can(mold)) return(!taught)
  if (is.null(trees)) rep(TRUE, length(taught)) else taught == (trees > 0)
}

# The size of a tree: few enough leaves to be read. A taught tree does not learn noise by
# heart, and with few rows another one wins only where there is little of it. With many rows
# and no teacher, held-out rows prune instead.
bound_size <- function(control, n) {
  if (n >= search_many && control$teacher_trees == 0) {
    control$validation <- search_many_share
    control$choose_size <- TRUE
  } else {
    control$max_leaves <- min(control$max_leaves, most_leaves(n))
  }
  control
}

# A tree as it would be kept, with less training.
trial_control <- function(control, effort) {
  for (name in names(effort)) control[[name]] <- min(control[[name]], effort[[name]])
  control
}

# Linear leaves are shrunk when they are fitted, so there one value is judged.
shrinkages_for <- function(control) {
  if (is.null(control$leaf_shrinkage) && control$leaf == "constant") return(search_shrinkage)
  control$leaf_shrinkage %||% 0
}

# One row per trial, with the shrinkage that suits it best. The rows that judge have no part
# in the trials: not in the training, nor in the choice of a snapshot or of the size.
judge_trials <- function(trials, shrinkages, mold, seed, run_all) {
  judges <- hold_out(mold, judging_share(length(mold$weights)), seed)
  part <- reweigh(mold, ifelse(judges, 0, mold$weights))
  cases <- lapply(trials, function(trial) fit_case(part, trial, seed, fill_all = TRUE))
  judged <- lapply(run_all(mold, cases), function(fit) {
    loss <- vapply(shrinkages, function(by) judge_tree(mold, judges, fit, by), 0)
    data.frame(loss = min(loss), leaf_shrinkage = shrinkages[which.min(loss)],
      leaves = sum(tree_leaf(fit$tree)), depth = tree_depth(fit$tree))
  })
  tried <- data.frame(recipe = names(trials), do.call(rbind, judged), row.names = NULL)
  tried$chosen <- seq_along(trials) == which.min(tried$loss)
  tried
}

# Mean loss of the judging rows with leaf values shrunk by `by`: squared error, of classes that
# of all their shares (Brier's score), with one row's weight of doubt in each leaf. It is
# nearer to what is right and wrong than the log loss, which a few pure leaves decide.
judge_tree <- function(mold, judges, fit, by) {
  tree <- fit$tree
  leaf <- match(fit$where[judges], tree$node)
  if (!tree_linear(tree)) tree$leaf_shrinkage <- if (by > 0) by
  value <- shrunk_counts(tree)
  y <- mold$y[judges]
  loss <- if (mold$task == "regression") {
    (y - (fit$fitted[judges] %||% value[leaf, 1L]))^2
  } else {
    share <- ((value + 1 / ncol(value)) / (rowSums(value) + 1))[leaf, , drop = FALSE]
    rowSums(share^2) - 2 * share[cbind(seq_along(y), y + 1)] + 1
  }
  stats::weighted.mean(loss, mold$weights[judges])
}

# TRUE for recipes that differ from those before, once the user's own settings are put in.
differ <- function(recipes, control) {
  !duplicated(lapply(recipes, function(recipe) unclass(fill_open(control, recipe))[open_settings]))
}

fill_open <- function(control, recipe) {
  open <- open_settings[vapply(open_settings, function(s) is.null(control[[s]]), NA)]
  control[open] <- recipe[open]
  # A recipe gives way to the one setting of the user it could contradict.
  if ("lambda_end" %in% open) control$lambda_end <- max(control$lambda_end, control$lambda_start)
  structure(unclass(control)[names(control_table)], class = "cpt_control")
}

mold_is_constant <- function(mold) {
  y <- mold$y[mold$weights > 0]
  all(y == y[1L])
}

sample_mold <- function(mold, size, seed) {
  rows <- sort(order(random_keys(seed, length(mold$weights)))[seq_len(size)])
  mold$x <- mold$x[rows, , drop = FALSE]
  mold$y <- mold$y[rows]
  mold$weights <- mold$weights[rows]
  mold
}
