# cpt_control(): every hyperparameter, its range, its default and why.
# The defaults are the formals of cpt_control(); type, range and text are
# `control_table`. Checking, printing and the help page are driven by these two.
# This file must not know the data or the engine.

# One row per field, in the order of the formals.
# type: "whole", "number", "flag" or "choice"; above: `min` itself is not allowed.
control_field <- function(name, type, min, max, group, about, above = FALSE,
                          choices = NULL) {
  list(name = name, type = type, min = min, max = max, above = above,
       group = group, about = about, choices = choices)
}

# Largest count the engine takes (a 32-bit integer).
count_max <- .Machine$integer.max

control_table <- list(
  control_field("max_depth", "whole", 0, 20, "tree",
    paste(
      "Deepest level of the tree; the root is level 0, so `max_depth = 0` is a tree",
      "without a split. This is the first argument to turn."
    )),
  control_field("max_leaves", "whole", 1, Inf, "tree",
    paste(
      "Most leaves of the tree; `Inf` or `NULL` for no limit. No limit by default,",
      "since `max_depth` already is one."
    )),
  control_field("max_facets", "whole", 1, 1000, "tree",
    paste(
      "Most facets (linear experts) of the polytope of a node. 1 gives an ordinary",
      "oblique tree. Facets that are not needed are removed after training, so many",
      "cost time but not readability."
    )),
  control_field("min_split_obs", "number", 2, Inf, "tree",
    "A node of a smaller total weight is not split. 20 as in 'rpart'."),
  control_field("min_leaf_obs", "number", 1, Inf, "tree",
    "Smallest total weight of a leaf. 'rpart' has 7 (a third of `min_split_obs`)."),
  control_field("min_gain", "number", 0, 1, "tree",
    paste(
      "A split must lower the loss by at least this share of the loss of the root.",
      "Small, so that it only stops splits that do nothing."
    )),
  control_field("starts", "whole", 1, 100, "grow",
    paste(
      "Random starts per split, judged by the gain of the hard split. The start",
      "matters; more starts cost time in proportion."
    )),
  control_field("tree_starts", "whole", 1, 1000, "grow",
    paste(
      "Whole trees, each from random starts of its own, of which the best is kept: the one",
      "of least loss (and price of its facets) on the training rows, or on those of",
      "`validation`. Time grows in proportion. Helps most where rows are many."
    )),
  control_field("column_share", "number", 0, Inf, "grow",
    paste(
      "A split asks about one column alone where that gains at least this share of what",
      "the polytope gains: simple where simple is nearly as good. `0` gives an ordinary",
      "tree of one column a split, `Inf` none of them."
    )),
  control_field("search", "flag", NA, NA, "grow",
    paste(
      "Choose the settings that are `NULL` by fitting up to three recipes, with many facets,",
      "with `jitter` and with a teacher, on part of the rows and judging them on the others? The",
      "tree is then fitted on all rows (from 10,000 rows on, if it has no teacher, a fifth is",
      "held out again to prune it, and comes back to fill the leaves). With fewer than 3,000",
      "rows, or sparse ones, `jitter` is not tried. `FALSE` takes the first recipe.",
      "Not done if `validation` is above 0."
    )),
  control_field("validation", "number", 0, 0.5, "grow",
    paste(
      "Share of the rows (of each class) held out to choose the size and the best",
      "state of the joint training. 0 by default: all rows train."
    )),
  control_field("choose_size", "flag", NA, NA, "grow",
    "Undo splits that do not lower the loss of the held-out rows? Needs `validation` above 0."),
  control_field("standardize", "choice", NA, NA, "grow", choices = c("columns", "matrix", "none"),
    paste(
      "Scaling of the predictors inside the engine: each column by its own mean and",
      "standard deviation, the whole `\"matrix\"` by one of each (for pixels and",
      "other columns of one unit), or not at all. By column, so that units do not",
      "matter."
    )),
  control_field("grow_epochs", "whole", 1, count_max, "grow",
    "Passes over the rows of a node when its split is trained alone."),
  control_field("grow_min_steps", "whole", 1, count_max, "grow",
    paste(
      "Fewest optimiser steps per split, so that small nodes, where a pass is one",
      "step, are trained too."
    )),
  control_field("grow_rate", "number", 0, Inf, "grow", above = TRUE,
    "Step size of the optimiser (Adam) for a split trained alone."),
  control_field("refine_epochs", "whole", 0, count_max, "refine",
    paste(
      "Passes over all rows when all splits are trained together. 0 leaves the greedy",
      "tree as it is. The second argument to turn: more epochs give a better tree in",
      "proportional time."
    )),
  control_field("refine_min_steps", "whole", 1, count_max, "refine",
    paste(
      "Fewest optimiser steps of the joint training, so that small data, where a",
      "pass is one step, are trained too. Every round that removes facets takes a",
      "third of them."
    )),
  control_field("refine_rate", "number", 0, Inf, "refine", above = TRUE,
    paste(
      "Step size of the optimiser for the joint training. Smaller than `grow_rate`,",
      "since it starts from a good tree."
    )),
  control_field("batch_size", "whole", 1, count_max, "refine",
    "Rows per optimiser step."),
  control_field("lambda_start", "number", 0, Inf, "refine", above = TRUE,
    paste(
      "Steepness of the gates when a training begins. Soft, so that rows near a border",
      "are still seen by both sides, and every side of a region is found."
    )),
  control_field("lambda_end", "number", 0, Inf, "refine", above = TRUE,
    paste(
      "Steepness of the gates at its end; at least `lambda_start`. Steep gates make the",
      "soft tree the hard one, flat ones keep a wide margin around borders."
    )),
  control_field("weight_rate", "number", 0, Inf, "refine", above = TRUE,
    paste(
      "Step size for the logarithm of the facet weights `r`, relative to the others.",
      "2, so that facets that are not needed can fade within the steps given; at 3 some",
      "faded that would have been needed."
    )),
  control_field("dropout", "number", 0, 0.95, "refine",
    paste(
      "Share of the predictors hidden at random in each step of training. 0.2 to 0.5",
      "helps with many columns of one kind, such as pixels or fingerprints."
    )),
  control_field("jitter", "number", 0, 1, "refine",
    paste(
      "In each step of training every row is moved by this share of the difference between two",
      "training rows drawn at random, so that columns that go together move together. Borders",
      "then keep a distance from single rows. 0.05 to 0.1 helps where outcomes change smoothly;",
      "it hurts where borders are sharp. Needs dense data."
    )),
  control_field("reach_tolerance", "number", 0, 0.1, "refine",
    paste(
      "A row is followed into a branch only if it arrives there with at least this",
      "probability. Saves most of the time; at the default the gradient changes by less",
      "than one percent. 0 follows every row everywhere."
    )),
  control_field("ridge", "number", 0, Inf, "prior",
    paste(
      "Strength of the normal prior on the slope of the gates, as in ridge regression:",
      "how fast the probability of a side may change with a standardised predictor.",
      "Raise it when the tree fits the training rows much better than new rows."
    )),
  control_field("prior_weight", "number", 0, Inf, "prior",
    paste(
      "Weight of the priors: 1 counts them once per data set, as in the paper, 0 not",
      "at all. Raise it for fewer facets; at 1 and above the priors may outweigh the",
      "few rows of a deep node."
    )),
  control_field("gamma0", "number", 0, Inf, "prior", above = TRUE,
    paste(
      "Mass of the gamma process of the facet weights: a smaller value leaves fewer",
      "facets."
    )),
  control_field("c0", "number", 0, Inf, "prior", above = TRUE,
    "Rate of the gamma process: a larger value shrinks the facet weights more."),
  control_field("a_beta", "number", 0, Inf, "prior", above = TRUE,
    paste(
      "Shape of the inverse-gamma variance of every coefficient: a smaller value has",
      "heavier tails."
    )),
  control_field("e0", "number", 0, Inf, "prior", above = TRUE,
    paste(
      "Shape of the gamma prior on the scale of these variances, whose mean is",
      "`e0 / f0`. Large, so that the scale stays near 1, the unit of standardised",
      "columns; small values let each facet find its own scale."
    )),
  control_field("f0", "number", 0, Inf, "prior", above = TRUE,
    paste(
      "Rate of the gamma prior on the scale of these variances: a larger value",
      "shrinks the coefficients more."
    )),
  control_field("shrink_rounds", "whole", 0, 100, "prior",
    paste(
      "How often, at most, facets that the prior finds not worth their price are switched",
      "off and the others trained on. 0 leaves them all."
    )),
  control_field("facet_tolerance", "number", 0, 0.1, "prior",
    paste(
      "Share of the rows of a node that may change sides when facets are removed. 0",
      "by default: removing facets changes nothing."
    )),
  control_field("teacher_trees", "whole", 0, 10000, "teacher",
    paste(
      "Trees of a forest that teaches the splits, see below. 0 for no teacher: the splits",
      "learn from the outcomes. 100 or more help where outcomes are noisy."
    )),
  control_field("council_trees", "whole", 0, 1000, "council",
    paste(
      "Polytope trees that teach this one, see below. 0 for no council. Ten take some twenty",
      "times as long, and help where borders are fine and outcomes are not noisy."
    )),
  control_field("council_rows", "whole", 1, 1000, "council",
    "Rows that the council makes and names for every training row."),
  control_field("council_move", "number", 0, 1, "council", above = TRUE,
    paste(
      "How far made rows lie from the training rows: the share of the difference of two other",
      "rows that is added to a row. Of a sparse row, this share of the columns is taken from another."
    )),
  control_field("leaf", "choice", NA, NA, "leaf", choices = c("constant", "linear"),
    paste(
      "What a leaf of a regression tree predicts: its mean, or a linear model of its",
      "rows (ridge regression), see below. Means by default, since they are read at",
      "a glance."
    )),
  control_field("leaf_shrinkage", "number", 0, Inf, "leaf",
    paste(
      "Shrinks what a leaf predicts towards the nodes above it (hierarchical shrinkage,",
      "Agarwal et al. 2022): on the way down from the root, the step from a parent of",
      "weight `w` to its child counts `1 / (1 + leaf_shrinkage / w)`. It acts when",
      "predicting, on class probabilities, means and linear models; the counts in the",
      "tree stay exact. 0 by default: no shrinkage. 10 to 100 often improves",
      "probabilities, far more helps if the tree fits its training rows too well."
    ))
)
names(control_table) <- vapply(control_table, `[[`, "", "name")

control_groups <- c(
  tree = "Tree", grow = "Growing", refine = "Joint training", prior = "Priors and facets",
  teacher = "Teacher", council = "Council",
  leaf = "Leaves"
)

#' Settings of a convex polytope tree
#'
#' Every setting of [cpt()] that is not about the data. Each can also be given
#' to `cpt()` directly, as in `cpt(y ~ ., d, max_depth = 4)`; given in both
#' places, the one in `cpt()` wins.
#'
#' Settings that are `NULL` are chosen from the data, see `search`; the tree keeps
#' what was chosen in `fit$control` and what was tried in `fit$search`.
#'
#' Turn `max_depth` first, then `refine_epochs`, then `max_facets`. If the tree
#' fits the training rows much better than new rows, raise `ridge`, `min_leaf_obs`,
#' `dropout` (many columns) or `prior_weight`.
#'
#' @section Teacher:
#' With `teacher_trees` above 0, a random forest of that many ordinary trees is grown first, and
#' the splits learn from what it thinks instead of from the outcomes ("born-again trees",
#' Breiman and Shang 1996): of every training row the mean of the trees that have not seen
#' the row, and of as much weight in made rows, each a training row in which one
#' column in ten is taken from another. Opinions hold less noise than outcomes, and made
#' rows fill the space between the others, so the tree finds borders that hold for new rows.
#' The forest is gone after that: leaves are filled with the outcomes of the training rows,
#' and the tree is read and used like any other. It needs one byte for every number of the data.
#'
#' @section Council:
#' With `council_trees` above 0, that many trees are fitted first, each from a random start of its
#' own, with these settings (and the same teacher, if there is one). Together they know far more
#' than each of them. They name made rows, `council_rows` for every training row, by the class of
#' the largest sum of shares, or by the mean of their numbers, and one more tree learns from these
#' rows and the training rows alike, in `sqrt(1 + council_rows)` times as many steps; its priors
#' (`prior_weight`, `ridge`) weigh `1 / (1 + council_rows)` as much, since what they guard against,
#' chance in few rows, is gone where the council names as many as it likes. The others are gone
#' after that. Leaves hold the outcomes of the training rows; in a leaf that they reach with
#' less than `min_leaf_obs`, perhaps with none (`n = 0`), what the council says of the made rows there
#' counts too, `1 / (1 + council_rows)` of a row each. `jitter` is for the council alone, and so is the teacher.
#' Trials of `search` have no council. The made rows take four bytes for every number of theirs.
#'
#' @section Linear leaves:
#' With `leaf = "linear"`, every node of the finished tree gets a ridge regression on its own
#' training rows, with case weights, in the scaling of `standardize` and with a free
#' intercept. The penalty is one of 15, from 1e-6 to 10 times the sum of squares of all columns
#' in half powers of ten: the one of least squared error when a unit of weight is left
#' out. (This is computed exactly; in nodes with more than 600 rows and columns, or
#' with 100 rows a column, by generalised cross-validation. Of nodes with more than 3,000
#' rows and columns, 3,000 rows are used.) The model is taken only if its error is smaller
#' than that of the mean by more than one standard error of the difference, and if the
#' node has at least 10 rows; else the leaf predicts its mean. Splits are
#' trained as for means.
#'
#' A linear leaf never predicts beyond the range of the outcomes of its training rows
#' widened by a tenth on both sides. With `leaf_shrinkage` the models are mixed with those of
#' the nodes above, as means are. That often is the better choice: the penalty of a
#' leaf is chosen as if its region had been known before, and cannot see that
#' the region was fitted to the same rows.
#'
#' `loss` in the tree, and so [prune.cpt()], always is that of means; [deviance.cpt()] and
#' [summary.cpt()] use the linear models. [coef.cpt()] shows them.
#'
#' @eval control_params()
#'
#' @return A named list of class `cpt_control` with one element per argument.
#'   `max_leaves` is `Inf` when there is no limit.
#' @references Breiman, L. and Shang, N. (1996). Born again trees. Technical report,
#'   University of California, Berkeley.
#'
#'   Agarwal, A., Tan, Y. S., Ronen, O., Singh, C. and Yu, B. (2022). Hierarchical
#'   Shrinkage: improving the accuracy and interpretability of tree-based methods.
#'   *Proceedings of Machine Learning Research* 162.
#' @seealso [cpt()]
#' @examples
#' cpt_control(max_depth = 3, refine_epochs = 100)
#'
#' # a value out of range is told at once
#' try(cpt_control(max_depth = 0.5))
#' @export
cpt_control <- function(max_depth = NULL,
                        max_leaves = NULL,
                        max_facets = NULL,
                        min_split_obs = 20,
                        min_leaf_obs = NULL,
                        min_gain = 1e-4,
                        starts = NULL,
                        tree_starts = 1,
                        column_share = 0.9,
                        search = TRUE,
                        validation = 0,
                        choose_size = FALSE,
                        standardize = "columns",
                        grow_epochs = NULL,
                        grow_min_steps = NULL,
                        grow_rate = 0.03,
                        refine_epochs = NULL,
                        refine_min_steps = NULL,
                        refine_rate = 0.02,
                        batch_size = NULL,
                        lambda_start = 0.3,
                        lambda_end = NULL,
                        weight_rate = 2,
                        dropout = NULL,
                        jitter = NULL,
                        reach_tolerance = 3e-4,
                        ridge = NULL,
                        prior_weight = NULL,
                        gamma0 = 1,
                        c0 = 1,
                        a_beta = NULL,
                        e0 = 1e4,
                        f0 = 1e4,
                        shrink_rounds = 8,
                        facet_tolerance = 0,
                        teacher_trees = NULL,
                        council_trees = 0,
                        council_rows = 24,
                        council_move = 0.15,
                        leaf = "constant",
                        leaf_shrinkage = NULL) {
  values <- mget(names(control_table))
  values["max_leaves"] <- list(values$max_leaves %||% Inf)
  control <- Map(check_field, values, control_table)
  check_control_together(control)
  structure(control, class = "cpt_control")
}

check_field <- function(value, field) {
  if (is.null(value) && field$name %in% open_settings) return(NULL)
  if (field$type == "flag") return(check_flag(value, field$name))
  if (field$type == "choice") return(check_choice(value, field$name, field$choices))
  # How "no limit" and "never" are written.
  if (field$name %in% c("max_leaves", "column_share") && identical(value, Inf)) return(Inf)
  check_number(value, field$name, field$min, field$max,
    whole = field$type == "whole", above = field$above)
}

# What no field can know alone.
check_control_together <- function(control) {
  if (!is.null(control$lambda_end) && control$lambda_end < control$lambda_start) {
    start <- describe(control$lambda_start)
    end <- describe(control$lambda_end)
    cpt_abort(c(
      "{.arg lambda_end} must not be smaller than {.arg lambda_start}.",
      x = "{.arg lambda_start} is {start} and {.arg lambda_end} is {end}.",
      i = "The gates become steeper during training; give both to change both."
    ))
  }
  if (control$choose_size && control$validation == 0) {
    cpt_abort(c(
      "`choose_size = TRUE` needs rows to judge the depth by.",
      i = "Give a share of rows to hold out, for example `validation = 0.2`."
    ))
  }
  invisible(control)
}

# Fields given by name in cpt(...) ----------------------------------------------

# Names that other packages use for the same thing.
control_aliases <- c(
  minsplit = "min_split_obs", minbucket = "min_leaf_obs", cp = "min_gain",
  minnodesize = "min_leaf_obs", leafminobs = "min_leaf_obs", depth = "max_depth",
  epochs = "refine_epochs", lambda = "lambda_end", lr = "refine_rate",
  learningrate = "refine_rate", nthread = "threads", nthreads = "threads",
  numthreads = "threads", naaction = "na_action", caseweights = "weights"
)

# `control` with the fields of `dots` put in; a field in `dots` wins.
control_merge <- function(control, dots, arguments = character()) {
  if (!inherits(control, "cpt_control")) control <- control_from_list(control, arguments)
  if (length(dots) == 0L) return(control)
  check_control_names(names(dots), length(dots), arguments)
  fields <- unclass(control)
  fields[names(dots)] <- dots
  do.call(cpt_control, fields)
}

# A plain named list is what `update()` and do.call() users write.
control_from_list <- function(control, arguments) {
  if (!is.list(control) || is.object(control)) {
    got <- describe(control)
    cpt_abort(c(
      "{.arg control} must be made by `cpt_control()`, not {got}.",
      i = "For example `control = cpt_control(max_depth = 4)`."
    ))
  }
  check_control_names(names(control), length(control), character())
  do.call(cpt_control, control)
}

check_control_names <- function(names, n, arguments) {
  if (n > 0L && (is.null(names) || any(!nzchar(names)))) {
    cpt_abort(c(
      "Arguments after the data must be named.",
      x = "{sum(!nzchar(names %||% character(n)))} of them {?has/have} no name.",
      i = "For example `max_depth = 4`; see `?cpt_control` for all names."
    ))
  }
  fields <- names(control_table)
  unknown <- setdiff(names, fields)
  if (length(unknown) > 0L) abort_unknown(unknown, c(fields, arguments))
  twice <- unique(names[duplicated(names)])
  if (length(twice) > 0L) cpt_abort("{.arg {twice[1]}} is given more than once.")
  invisible(names)
}

abort_unknown <- function(unknown, known) {
  first <- unknown[1L]
  alias <- control_aliases[gsub("[._]", "", tolower(first))]
  hint <- if (!is.na(alias) && alias %in% known) unname(alias) else nearest_name(first, known)
  others <- name_text(unknown[-1L])
  cpt_abort(c(
    "There is no argument {.arg {first}}.",
    x = if (length(unknown) > 1L) "Also unknown: {others}.",
    i = if (!is.null(hint)) "Did you mean {.arg {hint}}?",
    i = if (first == "subset") "{.arg subset} goes with a formula; else take rows of `x` and `y`.",
    i = "`?cpt_control` lists all settings."
  ))
}

# For the engine -----------------------------------------------------------------

# The engine wants integers where we have whole numbers, and 0 for "no limit".
control_options <- function(control) {
  control$max_leaves <- if (is.finite(control$max_leaves)) control$max_leaves else 0
  control$max_leaves <- min(control$max_leaves, count_max)
  whole <- vapply(control_table, function(f) f$type == "whole", NA)
  control[whole] <- lapply(unclass(control)[whole], as.integer)
  unclass(control)
}

# Printing and documentation -----------------------------------------------------

#' @export
print.cpt_control <- function(x, ...) {
  cat(format(x, ...), sep = "\n")
  invisible(x)
}

#' @export
format.cpt_control <- function(x, ...) {
  now <- unclass(x)
  standard <- unclass(cpt_control())
  changed <- !mapply(identical, now, standard[names(now)])
  value <- vapply(now, function(v) if (is.null(v)) "(search)" else format(v, digits = 6L), "")
  width <- max(nchar(names(now)))
  line <- paste0("  ", formatC(names(now), width = -width), "  ",
    formatC(value, width = -max(nchar(value))), ifelse(changed, "  *", ""))
  group <- vapply(control_table[names(now)], `[[`, "", "group")
  blocks <- lapply(names(control_groups), function(g) {
    c(paste0(control_groups[[g]], ":"), sub(" +$", "", line[group == g]))
  })
  c("<cpt_control>", unlist(blocks), if (any(changed)) "* not the default")
}

# roxygen2 calls this: one @param per field, from the table and the formals.
control_params <- function() {
  defaults <- formals(cpt_control)
  vapply(control_table, function(f) {
    range <- switch(f$type,
      flag = "`TRUE` or `FALSE`",
      choice = enumerate_or(paste0("`\"", f$choices, "\"`")),
      range_text(f$min, if (f$max == count_max) Inf else f$max, f$type == "whole", f$above)
    )
    type <- switch(f$type,
      whole = "integer", number = "double", flag = "logical", choice = "character"
    )
    default <- deparse1(defaults[[f$name]])
    text <- if (f$name %in% open_settings) " Default `NULL`: chosen by `search`." else
      paste0(" Default `", default, "`.")
    paste0("@param ", f$name, " (*", type, "*, ", sub("^a ", "", range), ") ", f$about, text)
  }, "", USE.NAMES = FALSE)
}
