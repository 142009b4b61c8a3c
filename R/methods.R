# The small generics that users of R's model objects expect: what was asked for
# (formula, terms, update), what was used (nobs, levels), how well it fits
# (fitted, residuals, deviance). They read the stored list; none needs the engine.

#' Parts of a fitted tree
#'
#' @param object,x,formula *A `cpt` object*, as returned by [cpt()].
#' @param type *A string*: what to return for the training rows, as in
#'   [predict.cpt()].
#' @param ... *Not used*; anything given is an error.
#' @return
#' * `formula()`: the formula, with `.` written out; `terms()`: its terms object. Both
#'   are errors of class `cpt_error_model` for a tree fitted without a formula.
#' * `nobs()`: an integer, the number of rows used.
#' * `levels()`: a character vector, the classes; `NULL` for regression.
#' * `fitted()`: what `predict(object, type = type)` gives for the training rows.
#' * `residuals()`: a numeric vector with one entry per training row: for
#'   regression, outcome minus fitted value; for classification, 1 if the
#'   predicted class is wrong and 0 if it is right. After [prune.cpt()] some
#'   residuals of classes and of linear leaves can be `NA`.
#' * `deviance()`: a number, over the rows that filled the leaves: for regression, the
#'   weighted sum of squared residuals; for classification, minus twice the
#'   weighted log-likelihood of the classes under the leaf probabilities.
#' * `weights()` and `model.frame()` are errors of class `cpt_error_model`: a tree keeps
#'   neither weights nor data.
#' @examples
#' fit <- cpt(Species ~ ., iris, max_depth = 2, max_facets = 2, seed = 1)
#' formula(fit)
#' nobs(fit)
#' table(fitted(fit), iris$Species)
#' mean(residuals(fit))
#' deviance(fit)
#' @name cpt-methods
NULL

#' @rdname cpt-methods
#' @importFrom stats formula
#' @export
formula.cpt <- function(x, ...) {
  check_no_dots(...)
  stats::formula(stats::terms(x))
}

#' @rdname cpt-methods
#' @importFrom stats terms
#' @export
terms.cpt <- function(x, ...) {
  check_no_dots(...)
  terms <- blueprint_terms(x$blueprint)
  if (is.null(terms)) {
    cpt_abort(
      c("This tree was not fitted by a formula, so it has no terms.",
        i = "Its predictors are {name_text(x$blueprint$columns$name, 10L)}."),
      class = "cpt_error_model"
    )
  }
  terms
}

#' @rdname cpt-methods
#' @importFrom stats nobs
#' @export
nobs.cpt <- function(object, ...) {
  check_no_dots(...)
  object$nobs
}

#' @rdname cpt-methods
#' @export
levels.cpt <- function(x) x$levels

#' @rdname cpt-methods
#' @importFrom stats fitted
#' @export
fitted.cpt <- function(object,
                       type = c("class", "prob", "response", "node", "path"), ...) {
  check_no_dots(...)
  if (missing(type)) predict(object) else predict(object, type = type)
}

#' @rdname cpt-methods
#' @importFrom stats residuals
#' @export
residuals.cpt <- function(object, ...) {
  check_no_dots(...)
  validate_cpt(object)
  stats::setNames(object$residuals, names(object$where))
}

#' @rdname cpt-methods
#' @importFrom stats deviance
#' @export
deviance.cpt <- function(object, ...) {
  check_no_dots(...)
  validate_cpt(object)
  training_loss(object) * if (object$task == "classification") 2 else 1
}

# Total training loss of the hard tree, as its leaves predict.
training_loss <- function(object) {
  sum(node_losses(object$tree, object$task)[tree_leaf(object$tree)])
}

#' @rdname cpt-methods
#' @importFrom stats weights
#' @export
weights.cpt <- function(object, ...) {
  not_kept("case weights")
}

#' @rdname cpt-methods
#' @importFrom stats model.frame
#' @export
model.frame.cpt <- function(formula, ...) {
  not_kept("training data")
}

not_kept <- function(what) {
  cpt_abort(
    c("A {.cls cpt} object does not keep its {what}.",
      i = "This keeps saved models small. Use the object you fitted the tree to."),
    class = "cpt_error_model"
  )
}

#' Fit a tree again with some arguments changed
#'
#' Takes the call stored in the tree, changes it, and evaluates it where `update()`
#' was called. The data must still be found there: a tree does not keep them.
#'
#' @param object *A `cpt` object*, as returned by [cpt()].
#' @param formula. *A formula*: changes to the formula, as in [stats::update.formula()].
#'   Only for trees that were fitted by a formula.
#' @param ... *Named arguments* of [cpt()] to add or replace; `NULL` removes one.
#' @param evaluate *`TRUE`* (default) to fit, *`FALSE`* to get the call only.
#' @return A `cpt` object, or a call if `evaluate = FALSE`.
#' @examples
#' fit <- cpt(Species ~ ., iris, max_depth = 1, max_facets = 2, seed = 1)
#' update(fit, . ~ . - Sepal.Width, evaluate = FALSE)
#' update(fit, max_depth = 2)
#' @importFrom stats update
#' @export
update.cpt <- function(object, formula., ..., evaluate = TRUE) {
  check_flag(evaluate, "evaluate")
  call <- object$call
  if (!is.call(call)) {
    bad_model("its {.code call} is missing")
  }
  if (!missing(formula.)) {
    new <- stats::update.formula(formula(object), formula.)
    # As in the stored call: the expression without class and environment.
    attributes(new) <- NULL
    call <- replace_formula(call, new)
  }
  extra <- as.list(match.call(expand.dots = FALSE)$...)
  if (length(extra) && (is.null(names(extra)) || any(names(extra) == ""))) {
    cpt_abort(
      c("All arguments of {.fn update} after {.arg formula.} must be named.",
        i = "For example {.code update(fit, max_depth = 4)}."),
      class = "cpt_error_argument"
    )
  }
  for (name in names(extra)) call[[name]] <- extra[[name]]
  if (evaluate) eval(call, parent.frame()) else call
}

# The formula of a call is named, or it is the first argument of cpt().
replace_formula <- function(call, formula) {
  given <- names(call)
  at <- intersect(c("formula", "x"), given)
  if (length(at)) {
    call[[at[1L]]] <- formula
  } else {
    free <- setdiff(which(is.null(given) | given == ""), 1L)
    call[[if (length(free)) free[1L] else 2L]] <- formula
  }
  call
}
