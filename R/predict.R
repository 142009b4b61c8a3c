# Predictions: new rows -> encoded matrix (blueprint) -> leaf (engine) -> answer.
# Types differ only in the table of node answers that the leaf positions index;
# soft prediction averages that table over the leaves. No statistic is ever taken
# from the new rows, so a row's answer does not depend on its neighbours.

#' Predict with a convex polytope tree
#'
#' @details
#' Columns of `newdata` are found by name. Extra columns are ignored, and the
#' outcome is not needed. The answer has one entry per row of `newdata`, in the
#' same order (but see `na_action = "omit"`), with its row names unless they are
#' automatic.
#'
#' The predicted class is the one of the largest probability; ties go to the
#' first level. `type = "response"` is the predicted outcome whatever the task:
#' the class as in `type = "class"`, or the mean. Types `"class"` and `"prob"` of a
#' regression tree are errors.
#'
#' A leaf answers with the shares of the classes among its training rows, or with their
#' mean. With `leaf_shrinkage` above 0 (see [cpt_control()]) it answers with a mixture of
#' these and those of the nodes above it, in all types and in [fitted()],
#' [residuals()], [print()] and [as.data.frame()] alike; the predicted class is then
#' the one of the largest shrunk probability. With `leaf = "linear"` a leaf answers with its
#' linear model, kept within the range of the outcomes of its training rows widened by
#' a tenth on both sides; training rows are then predicted by what the fit recorded.
#'
#' The hard tree (default) sends a row to one leaf. The soft tree, `soft = TRUE`,
#' sends it to every leaf with the probability that the gates of the last training
#' step give, and averages the leaves.
#'
#' @param object *A `cpt` object*, as returned by [cpt()].
#' @param newdata *A data frame, matrix or sparse matrix* (`dgCMatrix`) with the
#'   predictors. When missing, the training rows are predicted from the leaf that
#'   the fit recorded for them. `new_data` is accepted as another name.
#' @param type *A string*: `"class"` (default for classification), `"prob"`,
#'   `"response"` (default for regression), `"node"` or `"path"`.
#' @param soft *`TRUE` or `FALSE`* (default): average over all leaves? Only for
#'   `"class"`, `"prob"` and `"response"`, and only with `newdata`.
#' @param na_action *A string*: what to do with rows with missing values.
#'   `"fail"` (default, so that nothing is lost unseen) is an error; `"omit"` leaves
#'   the rows out; `"impute"` fills in the medians and modes of the training data;
#'   `"pass"` keeps the row, and its answer is `NA`.
#' @param threads *A whole number*: threads to use. The default `NULL` takes
#'   `getOption("cptree.threads")`, then the environment variable `CPTREE_THREADS`,
#'   then 2. The number does not change the result.
#' @param ... *Not used*, except `new_data`; anything else is an error.
#' @return With `n` rows:
#' * `"class"`: a factor of length `n` with the levels of the outcome;
#' * `"prob"`: a numeric matrix with `n` rows and one column per level, named;
#'   weighted shares of the training rows of the leaf (weighted also by
#'   `class_weights`, if these were given to [cpt()]);
#' * `"response"`: for regression, a numeric vector of leaf means or of what linear
#'   leaves predict; for classification, as `"class"`;
#' * `"node"`: an integer vector of leaf numbers, as in [as.data.frame.cpt()];
#' * `"path"`: an integer matrix with `n` rows and one column per depth from 0 to the
#'   depth of the tree: node numbers from the root to the leaf, then `NA`.
#' @examples
#' train <- seq(1, 150, by = 2)
#' fit <- cpt(Species ~ ., iris[train, ], max_depth = 2, max_facets = 2, seed = 1)
#' new <- iris[-train, -5]
#' head(predict(fit, new))
#' head(predict(fit, new, type = "prob"))
#' head(predict(fit, new, type = "prob", soft = TRUE))
#' head(predict(fit, new, type = "path"))
#' @importFrom stats predict
#' @export
predict.cpt <- function(object, newdata,
                        type = c("class", "prob", "response", "node", "path"),
                        soft = FALSE,
                        na_action = c("fail", "omit", "impute", "pass"),
                        threads = NULL, ...) {
  new_data <- check_predict_dots(..., has_newdata = !missing(newdata))
  validate_cpt(object)
  type <- check_type(if (missing(type)) NULL else type, object$task)
  soft <- check_soft(soft, type, as_fitted = missing(newdata) && !new_data$given)
  na_action <- check_choice(na_action, "na_action", c("fail", "omit", "impute", "pass"))
  threads <- resolve_threads(threads)
  if (missing(newdata) && !new_data$given) {
    at <- where_position(object)
    return(answer_rows(object, type, at, names(object$where), object$fitted))
  }
  if (new_data$given) newdata <- new_data$value
  check_newdata(newdata)
  forged <- blueprint_forge(object$blueprint, newdata, na_action)
  gone <- if (na_action == "pass") which(forged$missing)
  if (soft) {
    return(answer_soft(object, type, forged$x, forged$row_names, gone, threads))
  }
  at <- route_rows(object$tree, forged$x, threads)
  at[gone] <- NA
  mean <- if (as_answer(type, object$task) == "mean") {
    leaf_values(object$tree, at, forged$x, threads)
  }
  answer_rows(object, type, at, forged$row_names, mean)
}

# Checks ----------------------------------------------------------------------

# parsnip and its friends pass `new_data`; nothing else may hide in the dots.
check_predict_dots <- function(..., has_newdata) {
  dots <- list(...)
  given <- length(dots) == 1L && identical(names(dots), "new_data")
  if (!given) {
    check_no_dots(..., .known = names(formals(predict.cpt)))
  }
  if (given && has_newdata) {
    cpt_abort("Give {.arg newdata} or {.arg new_data}, not both.")
  }
  list(given = given, value = dots$new_data)
}

# A misspelt argument must not be swallowed by the dots of a method. By default the
# known names are the arguments of the function that calls this one.
check_no_dots <- function(..., .known = names(formals(sys.function(sys.parent())))) {
  if (...length() == 0L) return(invisible())
  names <- setdiff(...names(), c("", NA))
  if (length(names) == 0L) {
    cpt_abort("There are more arguments than this function has.")
  }
  name <- names[1L]
  hint <- nearest_name(name, setdiff(.known, "..."))
  cpt_abort(c(
    "{.arg {name}} is not an argument of this function.",
    i = if (!is.null(hint)) "Did you mean {.arg {hint}}?"
  ))
}

check_type <- function(type, task) {
  if (is.null(type)) {
    return(if (task == "regression") "response" else "class")
  }
  type <- check_choice(type, "type", c("class", "prob", "response", "node", "path"))
  if (task == "regression" && type %in% c("class", "prob")) {
    cpt_abort(
      c("{.code type = \"{type}\"} needs a classification tree, but this is a regression tree.",
        i = "Use {.code type = \"response\"} for the predicted mean.")
    )
  }
  type
}

check_soft <- function(soft, type, as_fitted) {
  soft <- check_flag(soft, "soft")
  if (soft && type %in% c("node", "path")) {
    cpt_abort(
      c("{.code type = \"{type}\"} has no soft version: the soft tree sends a row to every leaf.",
        i = "Use {.code soft = FALSE}.")
    )
  }
  if (soft && as_fitted) {
    cpt_abort(
      c("{.code soft = TRUE} needs {.arg newdata}: the model does not keep its training data.",
        i = "Give the training data as {.arg newdata}.")
    )
  }
  soft
}

check_newdata <- function(newdata) {
  fine <- is.data.frame(newdata) || is.matrix(newdata) || methods::is(newdata, "Matrix")
  if (fine) return(invisible())
  cpt_abort(
    c("{.arg newdata} must be a data frame or a matrix, not {describe(newdata)}.",
      i = if (is.null(newdata)) "Leave {.arg newdata} out to predict the training rows."),
    class = "cpt_error_newdata"
  )
}

# Answers ---------------------------------------------------------------------

# `at`: position of the leaf of each row in the tree vectors, NA for "no answer".
# `mean`: the prediction of each row, where it does not follow from `at`.
answer_rows <- function(object, type, at, row_names, mean = NULL) {
  tree <- object$tree
  switch(as_answer(type, object$task),
    class = name_rows(factor_of(node_class(node_prob(tree))[at], object), row_names),
    prob = name_prob(node_prob(tree)[at, , drop = FALSE], object, row_names),
    mean = name_rows(mean %||% node_mean(tree)[at], row_names),
    node = name_rows(tree$node[at], row_names),
    path = {
      path <- node_paths(tree)[at, , drop = FALSE]
      rownames(path) <- row_names
      path
    }
  )
}

# `gone`: rows whose answer is NA.
answer_soft <- function(object, type, x, row_names, gone, threads) {
  tree <- object$tree
  out <- if (tree_linear(tree)) {
    as.matrix(engine_soft_linear(tree, tree, x, threads))
  } else {
    value <- if (object$task == "regression") as.matrix(node_mean(tree)) else node_prob(tree)
    engine_soft(tree, value, x, threads)
  }
  out[gone, ] <- NA
  switch(as_answer(type, object$task),
    class = name_rows(factor_of(soft_class(out), object), row_names),
    prob = name_prob(out, object, row_names),
    mean = name_rows(out[, 1L], row_names)
  )
}

# max.col() has no answer for NA, and none for zero rows.
soft_class <- function(prob) {
  code <- rep(NA_integer_, nrow(prob))
  known <- which(!is.na(prob[, 1L]))
  code[known] <- node_class(prob[known, , drop = FALSE])
  code
}

as_answer <- function(type, task) {
  if (type != "response") return(type)
  if (task == "regression") "mean" else "class"
}

factor_of <- function(code, object) {
  structure(as.integer(code), levels = object$levels, class = "factor")
}

name_rows <- function(x, row_names) {
  names(x) <- row_names
  x
}

name_prob <- function(prob, object, row_names) {
  dimnames(prob) <- list(row_names, object$levels)
  prob
}
