# Which variables a tree relies on: by the share of the evidence that its splits take
# from them, or by what is lost when they are permuted in new rows.
# This file must not know how rows are routed: it only asks predict().

#' Importance of the variables of a model
#'
#' `importance()` is a generic; this page is about its method for [cpt()]. Packages
#' ranger and randomForest have a function of the same name: if one of them is attached
#' later, write `cptree::importance(fit)`.
#'
#' @section Share of evidence:
#' `type = "evidence"` needs no data. Each inner node has its gain to give away, that is what its
#' split takes off the training loss (see [as.data.frame.cpt()]; a negative gain counts
#' as 0). It is given to the coded columns in proportion to
#' \deqn{\sum_k r_k |b_{jk}| s_j}{sum_k r_k |b_jk| s_j}
#' over the facets \eqn{k} of the node, where \eqn{r_k} is the weight of a facet,
#' \eqn{b_{jk}}{b_jk} its coefficient of column \eqn{j} and \eqn{s_j} the standard deviation of
#' this column in the training rows: the evidence that one standard deviation can add.
#' Columns that come from one column of the data or one term of the formula, such as
#' the levels of a factor, are added up, and the total is scaled to sum to 1. A tree
#' without a split gives 0 for all. Linear models in leaves are not counted. Columns that
#' carry the same information share their importance.
#'
#' @section Permutation:
#' `type = "permutation"` asks how much worse the predictions of `newdata` become if the
#' values of one column of the data are exchanged at random between rows: the drop of
#' accuracy, or the rise of the mean squared error, as a mean over `n_repeats`
#' permutations. All that is made of the column, in a formula or a recipe, changes
#' with it. Use rows that were not trained on. The result can be slightly negative for a
#' column that does not matter, and is exactly 0 for one that the tree does not use.
#'
#' @param object *A `cpt` object*, as returned by [cpt()].
#' @param type *A string*: `"evidence"` (default, since it needs no data) or
#'   `"permutation"`.
#' @param newdata *A data frame, matrix or sparse matrix* with the predictors and, if
#'   the tree was fitted by a formula or recipe, the outcome. Only for `"permutation"`.
#' @param y *The outcome* of the rows of `newdata`, if it is not a column there.
#' @param n_repeats *A whole number*: permutations per variable; the default of 5 gives
#'   a rough standard deviation.
#' @param seed *A whole number* from 0 to 2^53 that decides the permutations, without
#'   touching R's random stream. `NULL`: drawn from R's stream.
#' @param na_action *A string*: `"fail"` (default) or `"impute"` missing values of
#'   `newdata`, see [predict.cpt()].
#' @param threads *A whole number*: threads to use; see [predict.cpt()].
#' @param ... *Not used*; anything given is an error.
#' @return A data frame of class `cpt_importance`, most important first:
#' * `variable` (character): for `"evidence"` the column of the data or the term of the formula
#'   (for a recipe, the column that it makes); for `"permutation"` the column of the
#'   data,
#' * `importance` (number),
#' * `sd` (number), only for `"permutation"`: standard deviation over the repeats.
#'
#'   Attributes: `type`, and for `"permutation"` also `metric` (`"accuracy"` or
#'   `"mse"`), `baseline` (its value before any permutation), `n_repeats` and `seed`.
#' @examples
#' train <- seq(1, 150, by = 2)
#' fit <- cpt(Species ~ ., iris[train, ], max_depth = 2, max_facets = 2, seed = 1)
#' importance(fit)
#' importance(fit, type = "permutation", newdata = iris[-train, ], seed = 1)
#' @export
importance <- function(object, ...) UseMethod("importance")

#' @rdname importance
#' @export
importance.default <- function(object, ...) {
  got <- if (missing(object)) "nothing" else describe(object)
  known <- intersect(class(if (!missing(object)) object), c("ranger", "randomForest"))
  cpt_abort(c(
    "{.fn importance} of cptree needs a tree from {.fn cpt}, not {got}.",
    i = if (length(known)) "Use {.code {known[1]}::importance()} for this model."
  ))
}

#' @rdname importance
#' @export
#' @rawNamespace S3method(ranger::importance,cpt)
importance.cpt <- function(object, type = c("evidence", "permutation"), newdata = NULL,
                           y = NULL, n_repeats = 5, seed = NULL,
                           na_action = c("fail", "impute"), threads = NULL, ...) {
  check_no_dots(...)
  validate_cpt(object)
  type <- check_choice(type, "type", c("evidence", "permutation"))
  if (type == "evidence") {
    if (!is.null(newdata) || !is.null(y)) {
      cpt_abort(c(
        "{.code type = \"evidence\"} takes no data.",
        i = "Use {.code type = \"permutation\"} to judge variables by {.arg newdata}."
      ))
    }
    return(new_importance(evidence_importance(object), type = type))
  }
  n_repeats <- check_number(n_repeats, "n_repeats", 1, 1e4, whole = TRUE)
  seed <- check_seed(seed)
  na_action <- check_choice(na_action, "na_action", c("fail", "impute"))
  threads <- resolve_threads(threads)
  rows <- scored_rows(object, newdata, y)
  permutation_importance(object, rows, n_repeats, resolve_seed(seed), na_action, threads)
}

# Most important first; ties keep the order of the data.
new_importance <- function(x, ...) {
  x <- x[order(-x$importance), , drop = FALSE]
  rownames(x) <- NULL
  structure(x, class = c("cpt_importance", "data.frame"), ...)
}

# Evidence ------------------------------------------------------------------------

evidence_importance <- function(object) {
  share <- column_shares(object)
  source <- object$blueprint$source
  variable <- unique(source)
  total <- rowsum(share, match(source, variable), reorder = TRUE)[, 1L]
  data.frame(variable = variable, importance = unname(total))
}

# Share of each coded column; see the help page.
column_shares <- function(object) {
  tree <- object$tree
  share <- double(nrow(tree$coef))
  gain <- pmax(node_gain(tree), 0)
  sd <- column_sd(object)
  for (i in which(!tree_leaf(tree))) {
    at <- node_facets(tree, i)
    size <- drop(abs(tree$coef[, at, drop = FALSE]) %*% tree$r[at]) * sd
    if (sum(size) > 0) share <- share + gain[i] * size / sum(size)
  }
  if (sum(share) > 0) share / sum(share) else share
}

# Permutation ---------------------------------------------------------------------

permutation_importance <- function(object, rows, n_repeats, seed, na_action, threads) {
  score <- function(newdata) {
    answer <- predict(object, newdata, type = "response", na_action = na_action, threads = threads)
    if (object$task == "regression") -mean((rows$y - answer)^2) else mean(answer == rows$y)
  }
  n <- length(rows$y)
  key <- matrix(random_keys(seed, n * n_repeats), n)
  shuffle <- apply(key, 2L, order)
  dim(shuffle) <- dim(key)
  base <- score(rows$newdata)
  name <- data_variables(object)
  lost <- matrix(0, n_repeats, length(name))
  for (j in which(variable_used(object, name))) {
    lost[, j] <- base - apply(shuffle, 2L, function(order) {
      score(permute_column(object, rows$newdata, name[j], j, order))
    })
  }
  spread <- if (n_repeats > 1) apply(lost, 2L, stats::sd) else rep(NA_real_, length(name))
  regression <- object$task == "regression"
  new_importance(
    data.frame(variable = name, importance = colMeans(lost), sd = spread),
    type = "permutation", metric = if (regression) "mse" else "accuracy",
    baseline = abs(base), n_repeats = n_repeats, seed = seed
  )
}

# The columns that new data holds: for a recipe, what goes into it.
data_variables <- function(object) {
  recipe <- object$blueprint$recipe
  if (is.null(recipe)) return(object$blueprint$columns$name)
  unique(recipe$var_info$variable[recipe$var_info$role %in% "predictor"])
}

# FALSE for a column whose coefficients are all 0: permuting it changes nothing. What
# a term or a recipe makes of a column is not looked into.
variable_used <- function(object, name) {
  blueprint <- object$blueprint
  if (!is.null(blueprint$recipe)) return(rep(TRUE, length(name)))
  used <- rowSums(object$tree$coef != 0) > 0
  if (!is.null(object$tree$leaf_coef)) used <- used | rowSums(object$tree$leaf_coef != 0) > 0
  in_terms <- if (!is.null(blueprint$terms)) all.vars(attr(blueprint$terms, "variables"))
  name %in% c(blueprint$source[used], in_terms)
}

permute_column <- function(object, newdata, name, j, order) {
  at <- match(name, colnames(newdata))
  # A matrix without names is taken by position, see blueprint_forge().
  if (is.na(at)) at <- j
  if (is.data.frame(newdata)) {
    newdata[[at]] <- take_rows(newdata[[at]], order)
  } else {
    newdata[, at] <- newdata[order, at]
  }
  newdata
}

# Rows with an outcome ------------------------------------------------------------

# New rows and their outcome, `y` or looked up in the rows by the name of the outcome.
# Rows without an outcome are left out.
scored_rows <- function(object, newdata, y = NULL) {
  if (is.null(newdata)) {
    cpt_abort(c(
      "{.arg newdata} is not given.",
      i = "Give rows with their outcome, best such that the tree was not trained on."
    ))
  }
  check_newdata(newdata)
  y <- y %||% outcome_of(object, newdata)
  check_new_outcome(object, y, nrow(newdata))
  if (is.factor(y)) y <- as.character(y)
  y <- if (object$task == "regression") as.double(y) else as.character(y)
  known <- which(!is.na(y))
  if (length(known) < length(y)) {
    cpt_inform("Left out {length(y) - length(known)} of {length(y)} rows without an outcome.",
      "cpt_message_missing")
    newdata <- newdata[known, , drop = FALSE]
  }
  if (!length(known)) {
    cpt_abort("{.arg newdata} must have at least one row with an outcome.", "cpt_error_newdata")
  }
  list(newdata = newdata, y = y[known])
}

# NULL if the rows do not hold it. An outcome such as log(y) is computed.
find_outcome <- function(object, newdata) {
  if (is.null(object$outcome) || !is.data.frame(newdata)) return(NULL)
  if (object$outcome %in% names(newdata)) return(newdata[[object$outcome]])
  expr <- tryCatch(str2lang(object$outcome), error = function(e) NULL)
  if (is.null(expr) || !all(all.vars(expr) %in% names(newdata))) return(NULL)
  tryCatch(eval(expr, newdata, globalenv()), error = function(e) NULL)
}

outcome_of <- function(object, newdata) {
  y <- find_outcome(object, newdata)
  if (!is.null(y)) return(y)
  name <- object$outcome
  cpt_abort(c(
    "{.arg newdata} does not hold the outcome{if (!is.null(name)) paste0(' `', name, '`')}.",
    i = "Give it as {.arg y}."
  ), "cpt_error_newdata")
}

check_new_outcome <- function(object, y, n) {
  check_outcome(y, n, NULL)
  if (is.numeric(y) == (object$task == "regression")) return(invisible(y))
  # Numbers may name classes; words are no numbers.
  if (is.numeric(y) && all(as.character(y) %in% c(object$levels, NA))) return(invisible(y))
  got <- describe(y)
  wanted <- if (object$task == "regression") "numeric" else "classes"
  cpt_abort("The outcome must be {wanted}, as in the training data, not {got}.",
    "cpt_error_newdata")
}

# Text ----------------------------------------------------------------------------

#' @rdname importance
#' @param x *A `cpt_importance` data frame*.
#' @param n *A whole number*: most variables to print; default 20.
#' @param digits *A whole number*: significant digits; default 3.
#' @export
print.cpt_importance <- function(x, n = 20, digits = 3, ...) {
  check_no_dots(...)
  if (all(c("variable", "importance") %in% names(x))) {
    writeLines(format(x, n = n, digits = digits))
  } else {
    print(as.data.frame(unclass(x)))
  }
  invisible(x)
}

#' @rdname importance
#' @export
format.cpt_importance <- function(x, n = 20, digits = 3, ...) {
  check_no_dots(...)
  check_number(n, "n", 1, whole = TRUE)
  check_number(digits, "digits", 1, 15, whole = TRUE)
  shown <- utils::head(as.data.frame(unclass(x)), n)
  more <- nrow(x) - nrow(shown)
  share <- !identical(attr(x, "metric"), "mse")
  c(wrap_line(importance_head(x, digits)), "", importance_bars(shown, digits, share),
    if (more > 0) paste("...", plural(more, "more variable", "more variables")))
}

importance_head <- function(x, digits) {
  if (identical(attr(x, "type"), "permutation")) {
    what <- if (attr(x, "metric") == "mse") "Rise of the mean squared error" else "Drop of accuracy"
    return(paste0(what, " by permutation (", attr(x, "n_repeats"), " repeats, from ",
      format(attr(x, "baseline"), digits = digits), ")"))
  }
  "Importance by share of evidence"
}

# Name, value, bar: a bar of full length is the most important variable.
importance_bars <- function(x, digits, share) {
  width <- max(40L, getOption("width"))
  text <- function(v) if (share) formatC(v, digits, format = "f") else format(signif(v, digits))
  number <- format(text(x$importance), justify = "right")
  if (!is.null(x$sd)) number <- paste0(number, " (sd ", format(text(x$sd), justify = "right"), ")")
  name <- format(trim_names(x$variable, width %/% 2L))
  room <- min(30L, width - 3L - max(nchar(name, "width")) - max(nchar(number, "width")))
  top <- max(x$importance, 0)
  size <- if (top > 0) round(room * pmax(x$importance, 0) / top) else rep(0, nrow(x))
  sub(" +$", "", paste0(name, "  ", number, " ", strrep("#", pmax(size, 0))))
}

trim_names <- function(name, most) {
  long <- nchar(name, "width") > most
  name[long] <- paste0(strtrim(name[long], most - 3L), "...")
  name
}
