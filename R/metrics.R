# Measures of prediction, weighted: from the truth and an answer, or from a fitted
# tree and new rows. cv.R and tune.R use the same functions, so that a number means the
# same wherever it is printed.
# This file must not know the engine or how rows are split into folds.

# Every metric: its task, and whether larger is better.
metric_table <- data.frame(
  name = c("accuracy", "balanced_accuracy", "auc", "log_loss", "brier", "rmse", "mae", "r2"),
  task = rep(c("classification", "regression"), c(5L, 3L)),
  larger = c(TRUE, TRUE, TRUE, FALSE, FALSE, FALSE, FALSE, TRUE)
)

# A probability of 0 given to what happened would make the log loss infinite.
least_prob <- 1e-15

#' How good predictions are
#'
#' One function for all measures: of a fitted tree on new rows, or of any predictions
#' given as vectors. All measures are weighted; rows of weight 0 do not count.
#'
#' @section Classification:
#' With the weight \eqn{w_i}{w_i}, the class \eqn{y_i}{y_i} and the probabilities
#' \eqn{p_{ik}}{p_ik} of a row:
#' * `accuracy`: share of the weight whose class is predicted. The predicted class is
#'   the one of the largest probability; ties go to the first level.
#' * `balanced_accuracy`: the same share within each class, averaged over the classes
#'   that have rows.
#' * `auc`: area under the ROC curve, which is the probability that a row of the event has
#'   a larger probability of it than a row of the other class, ties counting half. With
#'   more than two levels the mean over all pairs of classes of Hand and Till (2001), as
#'   in `pROC::multiclass.roc()`; classes without rows are left out. `NA` with a warning
#'   (class `cpt_warning_metric`) if only one class has rows.
#' * `log_loss`: mean of \eqn{-\log p_{i y_i}}{-log p_iy}, in nats, with probabilities
#'   below `1e-15` raised to `1e-15` (34.5 nats). A pure leaf of a tree gives
#'   probabilities of exactly 0, so that few rows can decide this number.
#' * `brier`: mean of \eqn{\frac{1}{2}\sum_k (p_{ik} - [y_i = k])^2}{half the sum over k of
#'   (p_ik - [y_i = k])^2}, from 0 to 1; with two classes the usual squared difference
#'   between the outcome, 0 or 1, and its probability.
#'
#' Predicted classes alone give only the first two.
#'
#' @section Regression:
#' `rmse`: root of the mean squared error. `mae`: mean absolute error. `r2`: 1 minus the sum
#' of squared errors over that of the mean of these rows; negative if the mean is
#' better, and `NA` with a warning if the outcome does not vary.
#'
#' @param x *A `cpt` object*, as returned by [cpt()]; or the true outcome, one value per
#'   row: *a factor, character or logical vector* for classes, *a numeric vector* for
#'   regression.
#' @param newdata *A data frame or matrix*: rows to predict, as in [predict.cpt()].
#' @param truth *A vector*: the true outcome of the rows of `newdata`. The default `NULL`
#'   computes it from `newdata` by the left side of the tree's formula; a tree fitted
#'   without one needs it.
#' @param estimate *A vector*: predicted classes or numbers. For classes not needed if
#'   `prob` is given.
#' @param prob *A matrix or data frame* of probabilities with a column per class, named by
#'   the classes (without names: in the order of the levels). With two classes also *a
#'   numeric vector*, the probability of `event`.
#' @param weights *A numeric vector*: weights of the rows. `NULL`: all 1.
#' @param event *A string*: with two classes, the class that `prob` is the probability
#'   of, if it is a vector. The default `NULL` is the second level (`TRUE` of a logical
#'   outcome). Probabilities of both classes give the same AUC for either event.
#' @param soft *`TRUE` or `FALSE`* (default): judge the soft tree, see [predict.cpt()]?
#' @param na_action *A string*: what to do with missing values in `newdata`. `"fail"`
#'   (default) is an error, `"omit"` leaves the rows out, `"impute"` fills predictors in
#'   as [predict.cpt()] does. Rows without an outcome are left out in both.
#' @param threads *A whole number*: threads to use, as in [predict.cpt()].
#' @param ... *Not used*; anything given is an error.
#' @return A named numeric vector: `accuracy`, `balanced_accuracy`, `auc`, `log_loss` and
#'   `brier` for classes, `rmse`, `mae` and `r2` for regression.
#' @references Hand, D. J. and Till, R. J. (2001). A simple generalisation of the area
#'   under the ROC curve for multiple class classification problems. *Machine Learning*
#'   45, 171-186.
#' @seealso [cpt_cv()] for the same measures by cross-validation.
#' @examples
#' train <- seq(1, 150, by = 2)
#' fit <- cpt(Species ~ ., iris[train, ], max_depth = 2, max_facets = 2, seed = 1)
#' cpt_metrics(fit, iris[-train, ])
#'
#' # any predictions: here the probability of the second level, "yes"
#' cpt_metrics(factor(c("no", "yes", "no", "yes")), prob = c(0.2, 0.9, 0.4, 0.3))
#' cpt_metrics(c(1, 2, 4), estimate = c(1, 3, 3), weights = c(1, 1, 2))
#' @export
cpt_metrics <- function(x, ...) UseMethod("cpt_metrics")

#' @rdname cpt_metrics
#' @export
cpt_metrics.cpt <- function(x, newdata, truth = NULL, weights = NULL,
                            na_action = c("fail", "omit", "impute"), soft = FALSE,
                            threads = NULL, ...) {
  check_no_dots(...)
  validate_cpt(x)
  na_action <- check_choice(na_action, "na_action", c("fail", "omit", "impute"))
  if (missing(newdata)) {
    cpt_abort(c(
      "{.arg newdata} is not given.",
      i = "A tree does not keep its data; give the rows to judge it by."
    ))
  }
  check_newdata(newdata)
  n <- nrow(newdata)
  truth <- check_truth(truth %||% outcome_in(x, newdata), n, x$task)
  weights <- check_weights(weights, n)
  # Rows with gaps keep their place, so that truth and weights still fit.
  answer <- predict(x, newdata, soft = soft, threads = threads,
    type = if (x$task == "regression") "response" else "prob",
    na_action = if (na_action == "omit") "pass" else na_action)
  known <- !is.na(truth) & !is.na(if (is.matrix(answer)) answer[, 1L] else answer)
  if (na_action == "fail") check_no_gaps(is.na(truth), "The outcome", "newdata")
  keep <- which(known)
  value <- judge(x$task, take_rows(truth, keep), take_rows(answer, keep), weights[keep])
  warn_metrics(value)
}

#' @rdname cpt_metrics
#' @export
cpt_metrics.default <- function(x, estimate = NULL, prob = NULL, weights = NULL,
                                event = NULL, ...) {
  check_no_dots(...)
  task <- if (is.numeric(x)) "regression" else "classification"
  truth <- check_truth(x, length(x), task, "x")
  check_no_gaps(is.na(truth), "{.arg x}", "x")
  weights <- check_weights(weights, length(truth))
  if (is.null(estimate) && is.null(prob)) {
    cpt_abort("One of {.arg estimate} and {.arg prob} must be given.")
  }
  if (task == "regression") {
    if (!is.null(prob)) {
      cpt_abort(c(
        "{.arg prob} needs classes, but {.arg x} is numeric.",
        i = "For classes use `factor(x)`; for numbers give {.arg estimate}."
      ), "cpt_error_data")
    }
    value <- judge(task, truth, check_estimate(estimate, truth), weights)
  } else {
    if (!is.null(estimate)) estimate <- check_estimate(estimate, truth)
    at <- event_column(event, levels(truth))
    if (!is.null(prob)) prob <- check_prob(prob, truth, at)
    value <- judge(task, truth, prob, weights, estimate, at)
  }
  warn_metrics(value)
}

# The outcome of new rows, by the left side of the formula or the name in the recipe.
outcome_in <- function(object, newdata) {
  formula <- object$blueprint$formula
  if (is.null(object$outcome) || !is.data.frame(newdata)) {
    cpt_abort(c(
      "{.arg truth}, the true outcome of {.arg newdata}, is not given.",
      i = if (is.null(object$outcome)) "The tree was fitted without a formula.",
      i = if (!is.null(object$outcome)) "{.arg newdata} is not a data frame."
    ))
  }
  side <- if (is.null(formula)) as.name(object$outcome) else formula[[2L]]
  text <- object$outcome
  tryCatch(eval(side, newdata, globalenv()), error = function(e) {
    cpt_abort("The outcome `{text}` could not be computed from {.arg newdata}.",
      "cpt_error_newdata", parent = e)
  })
}

# Checks --------------------------------------------------------------------------

# The truth as a factor or a double. Missing values are left to the caller.
check_truth <- function(truth, n, task, name = "truth") {
  if (is.matrix(truth) && ncol(truth) == 1L) dim(truth) <- NULL
  classes <- is.factor(truth) || is.character(truth) || is.logical(truth)
  number <- is.numeric(truth) && !inherits(truth, c("integer64", "difftime"))
  if (!is.null(dim(truth)) || !(if (task == "regression") number else classes)) {
    wanted <- if (task == "regression") {
      "a numeric vector"
    } else if (name == "x") {
      "a fitted tree, or a factor, character, logical or numeric vector"
    } else {
      "a factor, character or logical vector"
    }
    got <- describe(truth)
    cpt_abort("{.arg {name}} must be {wanted}, not {got}.", "cpt_error_data")
  }
  if (length(truth) != n) {
    cpt_abort(c(
      "{.arg {name}} must have one value per row.",
      x = "It has length {length(truth)}, and the data has {n} row{?s}."
    ), "cpt_error_data")
  }
  if (task == "regression") return(as.double(unclass(truth)))
  if (is.factor(truth)) return(truth)
  if (is.logical(truth)) return(factor(truth, c(FALSE, TRUE)))
  factor(truth, sort(unique(truth), method = "radix"))
}

# `what` is a cli template for the beginning of the sentence.
check_no_gaps <- function(gap, what, name) {
  if (!any(gap)) return(invisible())
  cpt_abort(c(
    paste(what, "must not have missing values."),
    x = "{sum(gap)} {?is/are} missing; the first is number {which(gap)[1L]}.",
    i = if (name == "newdata") "`na_action = \"omit\"` leaves these rows out.",
    i = if (name != "newdata") "Leave these rows out of all arguments."
  ), "cpt_error_data")
}

# Predicted numbers, or predicted classes as text.
check_estimate <- function(estimate, truth) {
  if (is.matrix(estimate) && ncol(estimate) == 1L) dim(estimate) <- NULL
  numeric <- is.double(truth)
  fine <- is.null(dim(estimate)) && if (numeric) {
    is.numeric(estimate)
  } else {
    is.factor(estimate) || is.character(estimate) || is.logical(estimate)
  }
  if (!fine) {
    got <- describe(estimate)
    wanted <- if (numeric) "predicted numbers" else "predicted classes"
    cpt_abort(c(
      "{.arg estimate} must be {wanted}, not {got}.",
      i = if (!numeric && is.numeric(estimate)) "Probabilities go to {.arg prob}."
    ), "cpt_error_data")
  }
  if (length(estimate) != length(truth)) {
    cpt_abort(c(
      "{.arg estimate} must have one value per value of {.arg x}.",
      x = "It has length {length(estimate)}, and {.arg x} has length {length(truth)}."
    ), "cpt_error_data")
  }
  check_no_gaps(is.na(estimate), "{.arg estimate}", "estimate")
  if (numeric) as.double(unclass(estimate)) else as.character(estimate)
}

# Probabilities as a matrix with a named column per class; `event` is a position.
check_prob <- function(prob, truth, event) {
  if (is.data.frame(prob)) prob <- as.matrix(prob)
  if (is.numeric(prob) && (is.null(dim(prob)) || ncol(prob) == 1L)) {
    prob <- both_classes(as.double(prob), truth, event)
  }
  if (!is.matrix(prob) || !is.numeric(prob)) {
    got <- describe(prob)
    cpt_abort("{.arg prob} must be a numeric matrix or vector, not {got}.", "cpt_error_data")
  }
  if (nrow(prob) != length(truth)) {
    cpt_abort(c(
      "{.arg prob} must have one row per value of {.arg x}.",
      x = "It has {nrow(prob)} row{?s}, and {.arg x} has length {length(truth)}."
    ), "cpt_error_data")
  }
  check_prob_values(name_classes(prob, truth))
}

both_classes <- function(p, truth, event) {
  if (nlevels(truth) != 2L) {
    cpt_abort(c(
      "{.arg prob} must be a matrix with a column per class.",
      x = "A vector is enough for two classes only; there {?is/are} {nlevels(truth)}."
    ), "cpt_error_data")
  }
  prob <- cbind(1 - p, 1 - p, deparse.level = 0)
  prob[, event] <- p
  colnames(prob) <- levels(truth)
  prob
}

# Number of the level that is the event; with more than two classes there is none.
event_column <- function(event, levels) {
  if (is.null(event)) return(2L)
  if (length(levels) != 2L) {
    cpt_abort("{.arg event} needs two classes; there {?is/are} {length(levels)}.")
  }
  match(check_choice(as.character(event), "event", levels), levels)
}

name_classes <- function(prob, truth) {
  if (is.null(colnames(prob)) && ncol(prob) == nlevels(truth)) colnames(prob) <- levels(truth)
  lost <- setdiff(levels(droplevels(truth)), colnames(prob))
  if (length(lost) > 0L || anyDuplicated(colnames(prob)) > 0L) {
    text <- name_text(lost, quote = "\"")
    cpt_abort(c(
      "{.arg prob} must have a column for every class, named by it, once.",
      x = if (length(lost) > 0L) "There is none for {text}.",
      i = if (is.null(colnames(prob))) {
        "It has no names and {ncol(prob)} columns; {.arg x} has {nlevels(truth)} level{?s}."
      }
    ), "cpt_error_data")
  }
  # The order of the levels decides ties and the event.
  prob[, union(intersect(levels(truth), colnames(prob)), colnames(prob)), drop = FALSE]
}

check_prob_values <- function(prob) {
  check_no_gaps(rowSums(is.na(prob)) > 0, "{.arg prob}", "prob")
  off <- rowSums(prob < 0 | prob > 1) > 0 | abs(rowSums(prob) - 1) > 1e-6
  if (any(off)) {
    cpt_abort(c(
      "{.arg prob} must be probabilities: from 0 to 1, with a sum of 1 in every row.",
      x = "{sum(off)} row{?s} {?is/are} not; the first is number {which(off)[1L]}."
    ), "cpt_error_data")
  }
  prob
}

# Measures ---------------------------------------------------------------------------

# All metrics of checked values without a gap. For classes `answer` is a matrix of
# probabilities (NULL if only `estimate`, the classes as text, is known); a class that has
# no column, as one that no training row had, has probability 0.
judge <- function(task, truth, answer, weights, estimate = NULL, event = 2L) {
  if (length(truth) == 0L) {
    cpt_abort("There are no rows to judge the predictions by.", "cpt_error_data")
  }
  used <- which(weights > 0)
  if (length(used) < length(weights)) {
    truth <- take_rows(truth, used)
    if (!is.null(answer)) answer <- take_rows(answer, used)
    estimate <- estimate[used]
    weights <- weights[used]
  }
  if (task == "regression") return(number_metrics(truth, answer, weights))
  all <- union(colnames(answer) %||% levels(truth), as.character(truth))
  code <- match(as.character(truth), all)
  if (is.null(answer)) return(class_metrics(code, match(estimate, all, 0L), weights))
  prob <- matrix(0, length(code), length(all))
  prob[, seq_len(ncol(answer))] <- answer
  class <- if (is.null(estimate)) node_class(prob) else match(estimate, all, 0L)
  c(class_metrics(code, class, weights), prob_metrics(code, prob, weights, event))
}

class_metrics <- function(code, class, weights) {
  right <- weights * (code == class)
  recall <- rowsum(right, code) / rowsum(weights, code)
  c(accuracy = sum(right) / sum(weights), balanced_accuracy = mean(recall))
}

prob_metrics <- function(code, prob, weights, event) {
  total <- sum(weights)
  at <- cbind(seq_along(code), code)
  hit <- prob[at]
  # Sum over the classes of (p - [y = k])^2, without a second matrix.
  squares <- rowSums(prob^2) - hit^2 + (1 - hit)^2
  c(
    auc = if (ncol(prob) == 2L) {
      area_under_curve(prob[, event], code == event, weights)
    } else {
      hand_till(code, prob, weights)
    },
    log_loss = -sum(weights * log(pmax(hit, least_prob))) / total,
    brier = sum(weights * squares) / (2 * total)
  )
}

# Probability that a row of the event scores higher than another, ties counting half.
area_under_curve <- function(score, event, weights) {
  at <- order(score)
  score <- score[at]
  last <- which(c(score[-1L] != score[-length(score)], TRUE))
  inside <- diff(c(0, cumsum(weights[at] * event[at])[last]))
  other <- cumsum(weights[at] * !event[at])[last]
  if (!any(event) || all(event)) return(NA_real_)
  below <- other - diff(c(0, other)) / 2
  sum(inside * below) / (sum(inside) * other[length(other)])
}

# Mean over pairs of classes; each pair is judged by the probabilities of both.
hand_till <- function(code, prob, weights) {
  rows <- split(seq_along(code), code)
  seen <- as.integer(names(rows))
  if (length(seen) < 2L) return(NA_real_)
  pairs <- utils::combn(length(seen), 2L)
  areas <- apply(pairs, 2L, function(pair) {
    both <- unlist(rows[pair], use.names = FALSE)
    one <- function(k) area_under_curve(prob[both, k], code[both] == k, weights[both])
    (one(seen[pair[1L]]) + one(seen[pair[2L]])) / 2
  })
  mean(areas)
}

number_metrics <- function(truth, estimate, weights) {
  total <- sum(weights)
  error <- truth - estimate
  spread <- sum(weights * (truth - sum(weights * truth) / total)^2)
  squares <- sum(weights * error^2)
  c(
    rmse = sqrt(squares / total),
    mae = sum(weights * abs(error)) / total,
    r2 = if (all(truth == truth[1L])) NA_real_ else 1 - squares / spread
  )
}

warn_metrics <- function(value) {
  if (anyNA(value["auc"]) && "auc" %in% names(value)) {
    cpt_warn(c(
      "The AUC is `NA`: there are rows of one class only.",
      i = "It compares rows of two classes."
    ), "cpt_warning_metric")
  }
  if (anyNA(value["r2"]) && "r2" %in% names(value)) {
    cpt_warn("R2 is `NA`: the outcome is the same in every row.", "cpt_warning_metric")
  }
  value
}
