# Pictures of a fitted tree in base graphics: the generic, its checks, and the colours.
# One file per picture (plot-*.R); each has a plot_data_*() that autoplot() shares.
# Pictures only ask predict(), the engine's evidence and the tree's own vectors; they
# compute nothing new about the model.

#' Plot a convex polytope tree
#'
#' Six pictures of a tree in base graphics; [autoplot.cpt()] draws the same with
#' ggplot2. All of them fit their text to the room there is: labels are shortened or
#' left out, never drawn over each other, and the returned data has them in full.
#'
#' @section The tree:
#' `type = "tree"` draws the tree from the root down. An inner node shows its number of
#' facets, or what is inside if that is a bound on one column, and of training rows; rows inside its polytope go left, the others right. A
#' leaf shows the probabilities of the classes as bars, or the training outcomes as a
#' histogram that stands upright (a box plot where leaves are narrow) with a line at
#' the prediction (of a linear leaf, at the mean). Its prediction and number of rows are written below.
#'
#' @section Regions:
#' `type = "regions"` shows two predictors, the others held at the stored training
#' medians (modes for factors) or at the values `at`: the region of each leaf in the
#' colour of its class (stronger if the leaf is purer) or of its prediction. Dashed
#' lines are the boundaries of the polytopes, each within the region of its own node;
#' thin lines are the faces, the bound that each facet sets alone: the boundary follows
#' them and rounds the corners off. A tree with one predictor is drawn
#' along it: the class probabilities as stacked bands, or the prediction as a line. For
#' a tree fitted from a recipe, the predictors are the columns that the recipe makes.
#' The plot uses `par("mar")`, so [graphics::points()] can add to it. Only in a figure
#' of less than 4 inches, and only if `par("mar")` is R's default, are the margins made
#' smaller while drawing.
#'
#' @section Nodes:
#' `type = "nodes"` shows each inner node by itself: the rows of `data` that arrive
#' there, and as shades of grey the probability \eqn{f = 1 - \exp(-g)}{f = 1 - exp(-g)}
#' of the noisy-OR of its facets, where \eqn{g} is the evidence; see [coef.cpt()]. A
#' dashed line is the boundary, where \eqn{g} is the threshold. As \eqn{f} is close to 1
#' over most of a picture, shades grow with \eqn{g} and have their middle at the
#' boundary. With `data`, a small tree is laid out as a tree with its leaves; else the
#' inner nodes are shown in a grid, from the root on, as many as are legible.
#'
#' Trees with at most two measured predictors are shown on these, all others on the
#' two strongest directions of the node (or on predictors, `vars`): the first two right
#' singular vectors of the coefficients of its facets (weight times coefficient times
#' standard deviation of the column), in standard deviations around the means. Facets
#' of one direction only are completed by the strongest other facet of the tree. Facets
#' of more than two directions are cut by this plane, so that rows far off it can appear
#' on the wrong side; `side` in the returned rows is always right.
#'
#' @section Facets:
#' `type = "facets"` shows the coefficients of the facets, one row a facet. Colours show
#' coefficients times the standard deviation of the column, relative to the largest of
#' the facet; the numbers are the coefficients in the units of the data. Predictors
#' without room are left out, smallest first. With `image_dim`, each
#' facet is an image of its coefficients, relative to the largest of the image.
#'
#' @section History and importance:
#' `type = "history"` draws the loss of the soft tree, the loss of the hard tree and of
#' the held-out rows where they were computed, and the steepness `lambda` of the gates,
#' over the steps of each stage: depths of `grow`, epochs of `refine` and `shrink`.
#' `type = "importance"` draws the values of `importance()` as bars.
#'
#' @section Colours:
#' Classes have the colours of Okabe and Ito if they are at most 8, else shades of
#' `viridis`, as have numbers: both can be told apart by colour-blind readers.
#' Coefficients run from blue (negative) through white to red (positive).
#'
#' @param x *A `cpt` object*, as returned by [cpt()].
#' @param type *A string*: `"tree"` (default), `"regions"`, `"nodes"`, `"facets"`,
#'   `"history"` or `"importance"`.
#' @param vars *One or two names* of predictors, horizontal axis first, for `"regions"` and
#'   `"nodes"`. The default `NULL` takes the predictors if there are at most two; else
#'   `"regions"` takes the two that the facets rely on most, and `"nodes"` the
#'   strongest directions.
#' @param data *A data frame or matrix* with rows to add to `"regions"` and `"nodes"` as
#'   points, with all predictors for `"nodes"`. If it has the outcome, points are
#'   coloured by it. Rows with missing values are left out. Default `NULL`: no points.
#' @param y *A vector*: the outcome of the rows of `data`, for trees fitted by `x` and
#'   `y`. The default `NULL` takes it from `data`.
#' @param at *A named list* of values at which to hold other predictors in `"regions"`,
#'   and in `"nodes"` with `vars`, instead of the training medians.
#' @param node *Whole numbers*: the nodes to draw in `"nodes"`, or the inner nodes
#'   whose facets to draw in `"facets"`. The default `NULL` takes all, from the root on.
#' @param image_dim *Two whole numbers*: height and width of the images in
#'   `"facets"`, such as `c(28, 28)`. The predictors must be the pixels, row by row.
#'   Default `NULL`: no images.
#' @param xlim,ylim *Two numbers*: ranges of the axes of `"regions"` and `"nodes"`. The
#'   default `NULL` takes the range of `data`, else of the training data.
#' @param resolution *A whole number*: grid points per axis. The default `NULL` is 200
#'   in `"regions"` and 100 in each panel of `"nodes"`.
#' @param asp *A number*: the aspect ratio of `"regions"` and of the panels of
#'   `"nodes"`, as in [graphics::plot.window()]; 1 draws a circle as a circle. The
#'   default `NA` fills the room.
#' @param palette *Colours*, one per class, or (regression) any number from low to
#'   high. The default `NULL` is described below.
#' @param legend *`TRUE`* (default) *or `FALSE`*: explain the colours?
#' @param main *A string*: title. Default `NULL`: none.
#' @param digits *A whole number*: significant digits of numbers; default 3.
#' @param threads *A whole number*: threads to use; see [predict.cpt()].
#' @param ... *Not used*; anything given is an error.
#' @return What was drawn, invisibly:
#' * `"tree"`: a data frame with one row per node: `node`, `parent`, `depth`, `is_leaf`, `n`,
#'   `facets`, `prediction`, `label` (the full text), `drawn` (the text that had room),
#'   and `x`, `y` in the coordinates of the plot. Its attribute `"leaves"` is a data
#'   frame of the bars: `node`, `part` (`"bar"`, `"whisker"`, `"box"`, `"median"` or
#'   `"prediction"`), `class` and `prob` or the outcomes `from`, `to` and (bars) `n`.
#' * `"regions"`: a data frame with one row per grid point: the predictors, `node`
#'   (the leaf) and `prediction`. Its attribute `"lines"` is a data frame of the lines:
#'   `node`, `kind` (`"boundary"`, `"face"`, or `"edge"` beside a factor), `piece` and
#'   the coordinates `x` and `y`.
#' * `"nodes"`: a list of data frames. `nodes`: one row per node drawn with `node`,
#'   `is_leaf`, `facets`, `n` (training rows), `rows` (rows of `data`), `threshold`,
#'   `xlab`, `ylab`. `grid`: `node`, `x`, `y`, evidence `g` and probability `f`.
#'   `boundary`: `node`, `piece`, `x`, `y`. `rows`: `node`, `row` (of `data`), `x`, `y`,
#'   and `side` (`"inside"` or `"outside"`, `NA` in a leaf). With one predictor, `y` only
#'   spreads the points.
#' * `"facets"`: a data frame with one row per facet and column drawn: `node`, `facet`,
#'   `weight`, `column`, `coefficient` (in the units of the data), `relative` (as
#'   drawn), and for images `row` and `col`.
#' * `"history"`: a data frame: `stage`, `epoch`, `measure` (`"loss"`, `"hard_loss"`,
#'   `"valid_loss"` or `"lambda"`) and `value`.
#' * `"importance"`: a data frame: `variable` and `importance`, largest first.
#' @seealso [autoplot.cpt()] for ggplot2.
#' @examples
#' some <- rings[1:500, ]
#' fit <- cpt(class ~ ., some, max_depth = 2, max_facets = 6, seed = 1)
#' plot(fit)
#' plot(fit, type = "regions", data = some, asp = 1, resolution = 100)
#' plot(fit, type = "nodes", data = some, asp = 1)
#' plot(fit, type = "history")
#' plot(fit, type = "facets")
#' plot(fit, type = "importance")
#' @importFrom graphics plot
#' @export
plot.cpt <- function(x, type = c("tree", "regions", "nodes", "facets", "history", "importance"),
                     vars = NULL, data = NULL, y = NULL, at = NULL, node = NULL,
                     image_dim = NULL, xlim = NULL, ylim = NULL, resolution = NULL,
                     asp = NA, palette = NULL, legend = TRUE, main = NULL,
                     digits = 3, threads = NULL, ...) {
  check_no_dots(...)
  validate_cpt(x)
  type <- check_choice(type, "type", plot_types)
  look <- check_look(x, palette, legend, main, digits, asp)
  ask <- list(
    vars = vars, data = data, y = y, at = at, node = node, image_dim = image_dim,
    xlim = xlim, ylim = ylim, resolution = resolution, threads = resolve_threads(threads)
  )
  out <- switch(type,
    tree = plot_tree(x, look),
    regions = plot_regions(x, ask, look),
    nodes = plot_nodes(x, ask, look),
    facets = plot_facets(x, ask, look),
    history = plot_history(x, look),
    importance = plot_importance(importance(x), look)
  )
  invisible(out)
}

plot_types <- c("tree", "regions", "nodes", "facets", "history", "importance")

# What all pictures share: colours, key, title, digits, aspect ratio.
check_look <- function(x, palette, legend, main, digits, asp) {
  legend <- check_flag(legend, "legend")
  if (!identical(asp, NA)) check_number(asp, "asp", 0, above = TRUE)
  if (!is.null(main) && !(is.character(main) && length(main) == 1L)) {
    cpt_abort("{.arg main} must be a string, not {describe(main)}.")
  }
  list(
    colours = leaf_colours(x, palette), legend = legend, main = main,
    digits = check_number(digits, "digits", 1, 22, whole = TRUE), asp = asp
  )
}

# Colours ---------------------------------------------------------------------

# Blue and vermilion first: the pair that differs most for every kind of eye.
okabe_ito <- c(
  "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#999999"
)

# list(key = colour of each class or shade, node = colour of each node's prediction,
# range = predictions that the first and the last shade stand for)
leaf_colours <- function(x, palette) {
  if (!is.null(palette)) check_palette(palette, x)
  if (x$task == "classification") {
    key <- if (is.null(palette)) class_palette(length(x$levels)) else palette
    return(list(key = key, node = key[node_class(node_prob(x$tree))]))
  }
  if (is.null(palette)) palette <- grDevices::hcl.colors(64L, "viridis")
  out <- list(key = grDevices::colorRampPalette(palette)(64L), range = value_range(x))
  out$node <- shade(node_mean(x$tree), out)
  out
}

class_palette <- function(classes) {
  if (classes <= 8L) return(okabe_ito[seq_len(classes)])
  # In golden steps, so that neighbours differ.
  colours <- grDevices::hcl.colors(classes, "viridis")
  colours[order((seq_len(classes) * 0.6180339887498949) %% 1)]
}

check_palette <- function(palette, x) {
  known <- tryCatch(is.matrix(grDevices::col2rgb(palette)), error = function(e) FALSE)
  if (!known || !length(palette)) {
    cpt_abort("{.arg palette} must be a vector of colours, not {describe(palette)}.")
  }
  classes <- length(x$levels)
  if (x$task == "classification" && length(palette) < classes) {
    cpt_abort(
      "{.arg palette} must have a colour for each of the {classes} classes, not {length(palette)}."
    )
  }
}

# Range of the predictions of the training rows.
value_range <- function(x) {
  out <- range(predict(x, threads = 1L), na.rm = TRUE)
  if (all(is.finite(out))) out else range(node_mean(x$tree))
}

# Number from 1 to 64 of the shade of each value, or its colour.
shade_number <- function(value, range) {
  if (diff(range) <= 0) return(rep(32L, length(value)))
  share <- pmin(pmax((value - range[1L]) / diff(range), 0), 1)
  as.integer(1 + round(63 * share))
}

shade <- function(value, colours) colours$key[shade_number(value, colours$range)]

# Mixed with white: strength 1 keeps the colour, 0 gives white.
lighten <- function(colour, strength) {
  rgb <- grDevices::col2rgb(colour) / 255
  mixed <- 1 - (1 - rgb) * rep(strength, each = 3L)
  grDevices::rgb(mixed[1L, ], mixed[2L, ], mixed[3L, ])
}

# One colour per node: lighter than the points, and lighter still if it is mixed.
region_strength <- function(x) {
  if (x$task == "regression") return(rep(0.6, length(x$tree$node)))
  prob <- node_prob(x$tree)
  best <- prob[cbind(seq_len(nrow(prob)), node_class(prob))]
  least <- 1 / ncol(prob)
  0.3 + 0.3 * if (ncol(prob) > 1L) (best - least) / (1 - least) else 1
}

# From inside (0) to outside (1): greys, since the points have the colours.
heat_colours <- function(n = 64L) grDevices::colorRampPalette(c("white", "grey62"))(n)

# From -1 through 0 to 1.
sign_colours <- function(n = 65L) {
  grDevices::colorRampPalette(c("#2166AC", "#92C5DE", "#F7F7F7", "#F4A582", "#B2182B"))(n)
}

# Colours of rows by their outcome; grey without one.
row_colours <- function(x, outcome, n, colours) {
  if (is.null(outcome)) return(rep("grey40", n))
  if (x$task == "regression") return(shade(outcome, colours))
  colours$key[match(as.character(outcome), x$levels)]
}
