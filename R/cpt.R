# cpt(): the generic and its methods. Each checks the settings, molds its kind of
# data and hands over to fit_mold(). The help page describes the fitted object.
# This file must not know how columns are coded or how the engine works.

#' Fit a convex polytope tree
#'
#' `cpt()` fits one decision tree for classification or regression. Every split
#' asks whether a row lies inside a convex polytope, a region bounded by up to
#' `max_facets` hyperplanes. The tree is grown split by split; then all splits
#' are trained together. With `max_facets = 1` it is an ordinary oblique tree. Where
#' one column alone splits nearly as well, the split asks about that column only
#' (`column_share` of [cpt_control()]).
#'
#' @section What to turn first:
#' Nothing: size, facets and restraint are chosen on held-out rows, and the tree is
#' then fitted on all (from 10,000 rows on, a fifth is held out again to prune it). To
#' decide yourself: `max_depth`, the number of levels, decides how large the tree is and
#' how well it can fit. Then `refine_epochs` (more training),
#' then `max_facets` (rounder regions) and `ridge` or `min_leaf_obs` (steadier, less
#' bold). `search = FALSE` spends no time on choosing. See [cpt_control()].
#'
#' @section Outcome:
#' A factor, character or logical outcome means classification. Levels without
#' a row are dropped with a message; a character outcome has its values as
#' levels, sorted as in the C locale; a logical one has `FALSE` and `TRUE`. A
#' numeric outcome means regression, also if it is 0/1 (a message tells how to
#' get classes). An outcome that is the same in all rows gives a tree without a
#' split, and a warning.
#'
#' @section Predictors:
#' All interfaces use one coding:
#'
#' | column | becomes |
#' |---|---|
#' | numeric, integer | itself |
#' | logical | 0/1 |
#' | factor, character | one 0/1 column per level, named as in [model.matrix()]; with two levels one column, for the second |
#' | ordered factor | scores 1, 2, ... |
#' | `Date`, `POSIXct`, `difftime` | days, seconds, or the units of the training column |
#'
#' The levels are stored: new data may hold some of them, in any order, as a
#' factor or as strings. Levels of a factor that no training row has are kept.
#' Matrices are taken as they are. Columns are standardised inside the engine;
#' coefficients are reported in your units.
#'
#' In a formula, `log(x)`, `poly(x, 2)`, `a:b`, `a * b`, `(a + b)^2` and
#' `. - z` work as in [lm()]; [offset()] is refused. There always is an
#' intercept. An interaction is all products of its columns, with one column for
#' every level of a factor. The formula is stored without its environment, so
#' functions in it must be found from the global environment when predicting;
#' single values, as in `I(x^k)`, are stored.
#'
#' @section Missing values:
#' They are handled in the columns of the data, before a formula transforms
#' them. `"fail"` stops and says where they are. `"omit"` leaves the rows out.
#' `"impute"` fills in the (weighted) training median of numbers and dates and
#' the most frequent value of all other columns. Rows without an outcome are
#' left out in both. There is always a message. Infinite values and `NaN` are
#' always an error. The fill values are stored with every tree and used by
#' [predict.cpt()] if asked.
#'
#' @section The fitted object:
#' A plain list of class `cpt`, without pointers, environments or data: it can
#' be saved by [saveRDS()] and predicts the same in any other session.
#' - `call`: the call; data put in by [do.call()] is replaced by a name.
#' - `task`: `"classification"` or `"regression"`.
#' - `outcome`: name of the outcome; `NULL` with `x` and `y`.
#' - `levels`: the classes, or `NULL`.
#' - `blueprint`: how columns are coded; a list whose `encoded` names the coded
#'   columns and whose `columns$name` names what new data must hold.
#' - `predictors`: data frame with one row per coded column: `name`, and the `mean`,
#'   `sd`, `min`, `max` of the training rows, and `whole`, whether all are whole
#'   numbers.
#' - `tree`: the tree as parallel vectors with one element per node, in preorder:
#'   `node` (root 1; children of `v` are `2v`, inside the polytope, and `2v + 1`,
#'   outside), `parent` (0 for the root), `depth`, `left` and `right` (positions of
#'   the children, 0 for a leaf), `n` (training rows), `weight` (their total
#'   weight, with that of a council's rows where these help out, see
#'   [cpt_control()]), `loss` (entropy times weight, or sum of squares), `value` (matrix:
#'   weighted counts per class, or the mean), `threshold`, `first` and `facets`
#'   (position of the first facet and number of facets). One element per facet:
#'   `r` (weight), `intercept`, `coef` (matrix, one row per coded column). And
#'   `lambda`, the last steepness. With `leaf_shrinkage` above 0, also that number. With
#'   linear leaves, one element per node: `leaf_intercept`, `leaf_coef` (matrix, one row
#'   per coded column, all 0 where the mean is as good), `leaf_low` and `leaf_high` (bounds of
#'   the prediction) and `leaf_loss` (sum of squared residuals). A row is outside a node's
#'   polytope if the sum
#'   of \eqn{r \log(1 + \exp(a + x'b))}{r * log(1 + exp(a + x'b))} over its
#'   facets, with intercept \eqn{a} and coefficients \eqn{b}, exceeds `threshold`.
#' - `where`: node number of the leaf of every training row, named by the row
#'   names if there are any.
#' - `residuals`: outcome minus fitted value; for classes 1 where the class is
#'   wrong, else 0.
#' - `class_weights`: the factors by class as they were used, or `NULL`.
#' - `control`: the settings, see [cpt_control()]; those left open as they were chosen.
#' - `search`: data frame of the recipes that were tried to choose them: `recipe`,
#'   mean `loss` of the held-out rows (squared error; for classes Brier's score),
#'   `leaf_shrinkage` that gave it, `leaves`, `depth`, `chosen`. `NULL` if none was.
#' - `history`: data frame of the training: `stage`, `epoch`, `lambda`, `loss`,
#'   `hard_loss`, `valid_loss`, `seconds`. With a teacher the first two losses are those of
#'   its opinions; `valid_loss` always is that of outcomes.
#' - `seed`: the seed used, also if it was drawn.
#' - `nobs`: number of rows used.
#' - `na`: list of `action` and `omitted`, the numbers of the rows left out.
#' - `time`: seconds the engine took.
#' - `version`: version of the package.
#' - `fitted`: predictions of the training rows; only with linear leaves, where they do
#'   not follow from `where`.
#'
#' @param x (*data frame, matrix, `dgCMatrix` or recipe*) The predictors; for the
#'   formula method the formula. A sparse matrix is never made dense (a teacher
#'   keeps one byte for each of its numbers).
#' @param formula (*formula*) `outcome ~ predictors`; `.` means all other columns.
#' @param data (*data frame*) Where the columns of the formula are; also a tibble
#'   or data.table. With a recipe, the rows to prepare it on: by default those
#'   it was made with.
#' @param y (*factor, character, logical or numeric*) The outcome, one value per
#'   row of `x`.
#' @param weights (*double*) Case weights, at least 0: a weight of 2 is the row
#'   twice. In the formula method looked up in `data` first, as in [lm()].
#'   `NULL`: all 1.
#' @param subset (*logical or integer*) Rows to use; looked up in `data` first.
#'   `NULL`: all.
#' @param na_action (*character*) What to do with missing values: `"fail"`,
#'   `"omit"` or `"impute"`, see below. Failing is the default, since only you
#'   know why a value is missing.
#' @param class_weights (*double or* `"balanced"`) For classification: numbers above 0,
#'   one per class and named by class, as in `c(no = 1, yes = 5)`. The case weights of
#'   the rows of a class are multiplied by its number, everywhere in the fit: a rare
#'   class then counts as if it were more frequent. Counts in the leaves are those of
#'   the weighted rows, and so are predicted probabilities: they are too high for a
#'   class that was weighted up, as with the priors of 'rpart'. `min_leaf_obs` and
#'   `min_split_obs` count the multiplied weights. `"balanced"` gives all classes the same
#'   total weight, with a sum as before. `NULL`: all 1.
#' @param control (*cpt_control*) The settings, from [cpt_control()].
#' @param seed (*integer*) Whole number from 0 to 2^53 that decides all random
#'   choices. The same seed gives the same tree for any number of threads, and
#'   leaves R's random stream alone. `NULL`: drawn from R's stream, so
#'   [set.seed()] works as usual.
#' @param threads (*integer*) Number of threads. `NULL`: the option
#'   `cptree.threads`, else the environment variable `CPTREE_THREADS`, else 2, so
#'   that a shared computer is not taken over. The result does not depend on it.
#' @param verbose (*logical*) Show progress? `NULL`: the option `cptree.verbose`,
#'   else only in an interactive session. Always silent inside knitr.
#' @param ... Settings of [cpt_control()] by name, such as `max_depth = 4`; they
#'   win over those in `control`.
#'
#' @return A fitted tree of class `cpt`, see "The fitted object".
#' @seealso [predict.cpt()], [cpt_control()].
#' @references Armandpour, M., Sadeghian, A. and Zhou, M. (2021). Convex Polytope
#'   Trees. *Advances in Neural Information Processing Systems* 34.
#' @examples
#' fit <- cpt(Species ~ ., iris, max_depth = 2, max_facets = 4, seed = 1)
#' fit
#'
#' # regression, with a transformed predictor and case weights
#' fit <- cpt(dist ~ log(speed), cars, max_depth = 1, max_facets = 2,
#'   weights = speed, seed = 1)
#' nobs(fit)
#'
#' # linear models in the leaves
#' fit <- cpt(dist ~ speed, cars, max_depth = 1, leaf = "linear", search = FALSE, seed = 1)
#' fit
#'
#' # a rare class weighted up
#' fit <- cpt(Species ~ ., iris[1:110, ], max_depth = 2, max_facets = 2,
#'   class_weights = "balanced", search = FALSE, seed = 1)
#' fit$class_weights
#'
#' # predictors and outcome apart; also with a matrix or a sparse matrix
#' fit <- cpt(iris[1:4], iris$Species, max_depth = 2, max_facets = 4, seed = 1)
#' table(predict(fit, iris), iris$Species)
#' @export
cpt <- function(x, ...) UseMethod("cpt")

#' @rdname cpt
#' @export
cpt.formula <- function(formula, data = NULL, weights = NULL, subset = NULL,
                        na_action = c("fail", "omit", "impute"),
                        class_weights = NULL,
                        control = cpt_control(), seed = NULL, threads = NULL,
                        verbose = NULL, ...) {
  call <- match.call()
  settings <- fit_settings(control, list(...), na_action, seed, threads, verbose,
    names(formals(cpt.formula)), class_weights)
  weights <- rlang::enquo(weights)
  subset <- rlang::enquo(subset)
  mold <- blueprint_mold_formula(formula, data,
    weights = eval_in_data(weights, "weights", data, formula),
    subset = eval_in_data(subset, "subset", data, formula),
    na_action = settings$na_action)
  hint_weights(weights, mold$blueprint)
  fit_mold(mold, settings, call)
}

#' @rdname cpt
#' @export
cpt.data.frame <- function(x, y, weights = NULL,
                           na_action = c("fail", "omit", "impute"),
                           class_weights = NULL,
                           control = cpt_control(), seed = NULL, threads = NULL,
                           verbose = NULL, ...) {
  call <- match.call()
  settings <- fit_settings(control, list(...), na_action, seed, threads, verbose,
    names(formals(cpt.data.frame)), class_weights)
  check_y(y, names(x))
  mold <- blueprint_mold_frame(x, y, weights, settings$na_action)
  fit_mold(mold, settings, call)
}

#' @rdname cpt
#' @export
cpt.matrix <- function(x, y, weights = NULL,
                       na_action = c("fail", "omit", "impute"),
                       class_weights = NULL,
                       control = cpt_control(), seed = NULL, threads = NULL,
                       verbose = NULL, ...) {
  call <- match.call()
  settings <- fit_settings(control, list(...), na_action, seed, threads, verbose,
    names(formals(cpt.matrix)), class_weights)
  check_y(y, colnames(x))
  mold <- blueprint_mold_matrix(x, y, weights, settings$na_action)
  fit_mold(mold, settings, call)
}

#' @rdname cpt
#' @export
cpt.dgCMatrix <- cpt.matrix

# Other classes of package Matrix: check_matrix() turns them into one we know.
#' @rdname cpt
#' @export
cpt.Matrix <- cpt.matrix

#' @rdname cpt
#' @export
cpt.recipe <- function(x, data = NULL, weights = NULL,
                       na_action = c("fail", "omit", "impute"),
                       class_weights = NULL,
                       control = cpt_control(), seed = NULL, threads = NULL,
                       verbose = NULL, ...) {
  call <- match.call()
  settings <- fit_settings(control, list(...), na_action, seed, threads, verbose,
    names(formals(cpt.recipe)), class_weights)
  mold <- blueprint_mold_recipe(x, data, weights, settings$na_action)
  fit_mold(mold, settings, call)
}

#' @rdname cpt
#' @export
cpt.default <- function(x, ...) {
  got <- if (missing(x)) "nothing" else describe(x)
  cpt_abort(c(
    paste("The first argument of `cpt()` must be a formula, a data frame, a matrix",
      "or a recipe, not {got}."),
    i = "Use `cpt(y ~ ., data)` or `cpt(x, y)`.",
    i = if (!missing(x) && is.list(x)) "`as.data.frame()` may turn the list into a data frame."
  ))
}

# `weights` and `subset` may name columns of the data.
eval_in_data <- function(quo, name, data, formula) {
  if (!is.data.frame(data)) data <- NULL
  tryCatch(rlang::eval_tidy(quo, data), error = function(e) {
    # As in lm(): what the caller cannot see, the formula's author may have meant.
    tryCatch(
      eval(rlang::quo_get_expr(quo), data, environment(formula) %||% globalenv()),
      error = function(again) {
        cpt_abort("{.arg {name}} could not be computed.", "cpt_error_argument", parent = e)
      }
    )
  })
}

# `.` takes in the column of weights too, as in lm(), but seldom on purpose.
hint_weights <- function(quo, blueprint) {
  name <- rlang::quo_get_expr(quo)
  if (!is.symbol(name) || !as.character(name) %in% blueprint$plain) return(invisible())
  name <- as.character(name)
  cpt_inform(c(
    "{.var {name}} gives the weights and is a predictor too.",
    i = "To leave it out write `. - {name}` in the formula."
  ), "cpt_message_weights")
}

# What people try who come from formulas or from other packages.
check_y <- function(y, names) {
  if (missing(y)) {
    cpt_abort(c(
      "{.arg y}, the outcome, is not given.",
      i = "Use `cpt(x, y)`, or `cpt(y ~ ., data)` if it is a column of the data."
    ))
  }
  if (is.character(y) && length(y) == 1L && y %in% names) {
    cpt_abort(c(
      "{.arg y} must be the outcome itself, not the name of a column.",
      i = "Use `cpt({y} ~ ., data)`."
    ))
  }
}
