# The fitted tree as data: small questions about it, its nodes as a data frame, its
# facets. Everything here works on the plain vectors of `object$tree` (nodes in
# preorder) and never sees the training data.

# Small questions about a tree ------------------------------------------------

# Names of the columns of the matrix that the engine saw.
encoded_columns <- function(object) object$blueprint$encoded

n_predictors <- function(object) length(object$blueprint$columns$name)

tree_leaf <- function(tree) tree$left == 0L

tree_depth <- function(tree) max(tree$depth)

# Position of the node of each heap id, with 0 for "no such node".
node_position <- function(tree, id) match(id, tree$node, nomatch = 0L)

# The predicted class (1-based code; ties go to the first level) or mean.
node_class <- function(prob) max.col(prob, ties.method = "first")

node_prediction <- function(object) {
  if (object$task == "regression") return(node_mean(object$tree))
  factor_of(node_class(node_prob(object$tree)), object)
}

# Ids of the ancestors of every node, root first: N x (depth + 1), NA below it.
node_paths <- function(tree) {
  deepest <- tree_depth(tree)
  at <- rep(0:deepest, each = length(tree$node))
  up <- rep(tree$depth, deepest + 1L) - at
  id <- rep(tree$node, deepest + 1L) %/% 2^pmax(up, 0L)
  id[up < 0L] <- NA
  matrix(
    as.integer(id), length(tree$node),
    dimnames = list(NULL, paste0("depth_", 0:deepest))
  )
}

# Position of the leaf of each encoded row.
route_rows <- function(tree, x, threads) engine_route(tree, x, threads)

# Nodes as a data frame -------------------------------------------------------

#' The tree as a data frame, one row per node
#'
#' Node numbers follow rpart: the root is 1, and node `v` has the children `2v`
#' (inside the polytope of `v`) and `2v + 1` (outside). Rows are in preorder: a
#' node, the nodes inside its polytope, the nodes outside.
#'
#' @param x *A `cpt` object*, as returned by [cpt()].
#' @param row.names,optional *Ignored*; they are part of the generic.
#' @param ... *Not used*; anything given is an error.
#' @return A data frame with one row per node:
#' * `node`, `parent` (integer; the parent of the root is 0), `depth` (root 0),
#' * `side` (`"inside"` or `"outside"` the parent's polytope, `NA` for the root),
#' * `is_leaf`, `n` (training rows that arrive), `weight` (their total weight),
#' * `loss` (impurity of the node taken as a leaf: weight times entropy in nats,
#'   or the weighted sum of squares), `gain` (what its split takes off the loss,
#'   `NA` for a leaf),
#' * `threshold` (evidence above which a row is outside, `NA` for a leaf),
#'   `facets` (0 for a leaf), `nonzero` (coefficients of these facets that are not 0),
#' * `prediction` (factor or number; of a leaf with a linear model, the mean),
#' * only with linear leaves, `terms` (coefficients of the leaf's linear model that are
#'   not 0; 0 for a leaf that predicts its mean, and for an inner node),
#' * for classification, one column `prob_<level>` per class.
#' @seealso [coef.cpt()] for the facets, [predict.cpt()] for `type = "node"`.
#' @examples
#' fit <- cpt(Species ~ ., iris, max_depth = 2, max_facets = 2, seed = 1)
#' as.data.frame(fit)
#' @export
as.data.frame.cpt <- function(x, row.names = NULL, optional = FALSE, ...) {
  check_no_dots(...)
  validate_cpt(x)
  tree <- x$tree
  leaf <- tree_leaf(tree)
  side <- ifelse(tree$node %% 2L == 0L, "inside", "outside")
  side[tree$node == 1L] <- NA
  out <- data.frame(
    node = tree$node, parent = tree$parent, depth = tree$depth, side = side,
    is_leaf = leaf, n = tree$n, weight = tree$weight, loss = tree$loss,
    gain = node_gain(tree), threshold = tree$threshold, facets = tree$facets,
    nonzero = node_nonzero(tree), prediction = node_prediction(x)
  )
  if (tree_linear(tree)) out$terms <- ifelse(leaf, node_terms(tree), 0L)
  if (x$task == "regression") return(out)
  prob <- node_prob(tree)
  colnames(prob) <- paste0("prob_", x$levels)
  cbind(out, as.data.frame(prob, optional = TRUE))
}

node_gain <- function(tree) {
  gain <- rep(NA_real_, length(tree$node))
  inner <- which(!tree_leaf(tree))
  gain[inner] <- tree$loss[inner] - tree$loss[tree$left[inner]] -
    tree$loss[tree$right[inner]]
  gain
}

node_terms <- function(tree) as.integer(colSums(tree$leaf_coef != 0))

node_nonzero <- function(tree) {
  out <- integer(length(tree$node))
  inner <- which(!tree_leaf(tree))
  per_facet <- colSums(tree$coef != 0)
  out[inner] <- vapply(
    inner, function(i) as.integer(sum(per_facet[node_facets(tree, i)])), 1L
  )
  out
}

# Facet numbers (columns of coef) of the node at position i.
node_facets <- function(tree, i) {
  tree$first[i] - 1L + seq_len(tree$facets[i])
}

# Position of the node of every facet.
facet_home <- function(tree) {
  inner <- which(!tree_leaf(tree))
  inner <- inner[order(tree$first[inner])]
  rep(inner, tree$facets[inner])
}

# Facets ----------------------------------------------------------------------

#' Facets of the polytopes, in the units of the data
#'
#' A row `x` is outside the polytope of a node when its evidence
#' `sum(weight * log(1 + exp(x %*% b + intercept)))`, summed over the facets,
#' exceeds the node's threshold. Taken alone, a facet bounds the polytope by
#' the half-space `x %*% b + intercept <= bound`: every row inside the polytope
#' meets all of these bounds. With several facets the corners of the polytope
#' are rounded, so a row near a corner can be outside although it meets each
#' bound. With one facet the bound is the whole rule.
#'
#' @param object *A `cpt` object*, as returned by [cpt()].
#' @param node *Whole numbers*: nodes to show. The default `NULL` shows all inner nodes.
#' @param ... *Not used*; anything given is an error.
#' @return A list with one numeric matrix per inner node, named by node number,
#'   in preorder; for a single `node`, its matrix. A matrix has one row per
#'   facet, and the columns
#' * `(weight)`: how much the facet counts,
#' * `(bound)`: the bound that the facet sets alone, as above (`Inf` for a facet
#'   of weight 0; `-Inf` if no row can be inside),
#' * `(Intercept)` and one column per encoded predictor: the hyperplane. A factor
#'   has one column per coded level, a constant predictor has coefficient 0.
#'
#'   A tree without splits gives an empty list. The node's threshold is the
#'   attribute `"threshold"` of its matrix.
#'
#'   For a leaf of a tree with linear leaves (`leaf = "linear"` in [cpt_control()]), a numeric
#'   vector: `(Intercept)` and one coefficient per encoded predictor, as the leaf predicts
#'   with them (after `leaf_shrinkage`); all 0 for a leaf that predicts its mean. Its
#'   attribute `"range"` has the smallest and the largest prediction of the leaf.
#' @examples
#' fit <- cpt(Species ~ ., iris, max_depth = 2, max_facets = 2, seed = 1)
#' coef(fit, node = 1)
#' @importFrom stats coef
#' @export
coef.cpt <- function(object, node = NULL, ...) {
  check_no_dots(...)
  validate_cpt(object)
  tree <- object$tree
  inner <- tree$node[!tree_leaf(tree)]
  if (is.null(node)) {
    node <- inner
  } else {
    check_inner_nodes(node, inner, if (tree_linear(tree)) tree$node)
  }
  columns <- encoded_columns(object)
  out <- lapply(node_position(tree, node), function(i) {
    if (tree_leaf(tree)[i]) leaf_vector(i, tree, columns) else node_matrix(i, tree, columns)
  })
  names(out) <- as.character(node)
  if (length(node) == 1L && !missing(node)) out[[1L]] else out
}

# `known`: nodes that have something to show, if that is more than the inner nodes.
check_inner_nodes <- function(node, inner, known = NULL) {
  if (!is.numeric(node) || !length(node) || anyNA(node)) {
    cpt_abort(
      "{.arg node} must be numbers of inner nodes, not {describe(node)}.",
      class = "cpt_error_argument"
    )
  }
  wrong <- setdiff(node, known %||% inner)
  if (length(wrong) && !is.null(known)) {
    cpt_abort("This tree has no {cli::qty(length(wrong))}node{?s} {wrong}.")
  }
  if (length(wrong)) {
    have <- if (length(inner)) {
      "Inner nodes of this tree: {inner}."
    } else {
      "This tree is a single leaf: it has no facets."
    }
    cpt_abort(
      c(
        "{.arg node} {wrong} {cli::qty(length(wrong))}{?is not an inner node/are not inner nodes}.",
        i = have
      ),
      class = "cpt_error_argument"
    )
  }
}

node_matrix <- function(i, tree, columns) {
  at <- node_facets(tree, i)
  out <- cbind(
    tree$r[at], facet_bound(tree$threshold[i], tree$r[at]), tree$intercept[at],
    t(tree$coef[, at, drop = FALSE])
  )
  dimnames(out) <- list(
    paste0("facet", seq_along(at)), c("(weight)", "(bound)", "(Intercept)", columns)
  )
  attr(out, "threshold") <- tree$threshold[i]
  out
}

# The linear model of the leaf at position i.
leaf_vector <- function(i, tree, columns) {
  out <- c(tree$leaf_intercept[i], tree$leaf_coef[, i])
  names(out) <- c("(Intercept)", columns)
  attr(out, "range") <- c(tree$leaf_low[i], tree$leaf_high[i])
  out
}

# log(exp(u) - 1) with u = threshold / weight, where exp() must not overflow for
# large u nor cancel for small u. A threshold <= 0 leaves nothing inside.
facet_bound <- function(threshold, weight) {
  u <- threshold / weight
  out <- rep(-Inf, length(u))
  big <- u > log(2)
  small <- u > 0 & !big
  big[is.na(u)] <- small[is.na(u)] <- FALSE
  out[big] <- u[big] + log1p(-exp(-u[big]))
  out[small] <- log(expm1(u[small]))
  # A facet without weight gives no evidence, whatever the threshold.
  out[weight == 0] <- Inf
  out
}
