# The fitted tree as data: validate it, list its nodes, show its facets, prune it.
# Everything here works on the plain vectors of `object$tree` (nodes in preorder)
# and never sees the training data. `validate_cpt()` runs before any method
# indexes these vectors, so a damaged model ends in an R error, not in C++.

# Validation ------------------------------------------------------------------

# Returns the object invisibly, or fails with class "cpt_error_model".
# Cost: one pass over the nodes and one over the parameters. `where` is checked
# for type and length only; methods that look rows up in it check the match.
validate_cpt <- function(object) {
  if (!inherits(object, "cpt") || !is.list(object)) {
    bad_model("it is not a list of class {.cls cpt}")
  }
  wanted <- c(
    "task", "levels", "blueprint", "tree", "where", "residuals", "nobs", "version"
  )
  # A NULL entry (levels of a regression tree) is a field; a lost one is not.
  lost <- setdiff(wanted, names(object))
  if (length(lost)) {
    bad_model("field{?s} {.code {lost}} {?is/are} missing")
  }
  validate_version(object$version)
  classes <- validate_task(object)
  validate_nodes(object$tree)
  validate_structure(object$tree)
  validate_facets(object$tree, n_encoded(object))
  validate_value(object$tree, object$task, classes)
  validate_rows(object)
  invisible(object)
}

# `what` is a cli template, read in the caller's frame.
bad_model <- function(what, .envir = parent.frame()) {
  what <- cli::format_inline(what, .envir = .envir)
  cpt_abort(
    c(
      "This is not a valid {.cls cpt} model: {what}.",
      i = "The object was changed or cut short after {.fn cpt} made it. Fit or load it again."
    ),
    class = "cpt_error_model"
  )
}

validate_version <- function(version) {
  here <- getNamespaceVersion("cptree")[[1L]]
  # Comparing version numbers is slow; nearly always they are the same text.
  if (identical(version, here)) return(invisible())
  made <- if (is.character(version) && length(version) == 1L && !is.na(version)) {
    package_version(version, strict = FALSE)
  }
  if (is.null(made) || is.na(made)) {
    bad_model("its {.code version} is not a version number")
  }
  if (made > package_version(here)) {
    cpt_abort(
      c(
        "This model was made by cptree {version}, but cptree {here} is installed.",
        i = "Install cptree {version} or newer to use this model."
      ),
      class = "cpt_error_model"
    )
  }
}

# Returns the number of columns that `tree$value` must have.
validate_task <- function(object) {
  task <- object$task
  if (!is_one_of(task, c("classification", "regression"))) {
    bad_model("its {.code task} is neither classification nor regression")
  }
  levels <- object$levels
  if (task == "regression") {
    if (!is.null(levels)) bad_model("a regression tree has class {.code levels}")
    return(1L)
  }
  if (!is.character(levels) || !length(levels) || anyNA(levels) || anyDuplicated(levels)) {
    bad_model("its class {.code levels} are not distinct strings")
  }
  length(levels)
}

is_one_of <- function(x, values) {
  is.character(x) && length(x) == 1L && x %in% values
}

# The number of encoded columns the blueprint promises.
n_encoded <- function(object) {
  columns <- tryCatch(encoded_columns(object), error = function(e) NULL)
  if (!is.character(columns) || !length(columns)) {
    bad_model("its {.code blueprint} names no columns")
  }
  length(columns)
}

# Types, lengths and ranges of the vectors with one entry a node.
validate_nodes <- function(tree) {
  if (!is.list(tree)) bad_model("its {.code tree} is not a list")
  whole <- c("node", "parent", "depth", "left", "right", "n", "first", "facets")
  real <- c("weight", "loss", "threshold")
  lost <- setdiff(
    c(whole, real, "value", "r", "intercept", "coef", "lambda"), names(tree)
  )
  if (length(lost)) {
    lost <- paste0("tree$", lost)
    bad_model("{.code {lost}} {?is/are} missing")
  }
  size <- length(tree$node)
  if (!size) bad_model("its tree has no nodes")
  for (field in c(whole, real)) {
    x <- tree[[field]]
    integer <- field %in% whole
    if (!(if (integer) is.integer(x) else is.double(x)) || length(x) != size) {
      type <- if (integer) "integer" else "double"
      bad_model("{.code tree${field}} is not {type} of length {size}")
    }
    if (integer && (anyNA(x) || min(x) < 0L)) {
      bad_model("{.code tree${field}} has missing or negative entries")
    }
  }
  for (field in c("weight", "loss")) {
    if (!all_finite(tree[[field]])) {
      bad_model("{.code tree${field}} is not finite")
    }
  }
}

# One tree in preorder. Heap ids make this a vector check: a child's id must
# follow from its parent's, every node but the root must be a child once, and in
# preorder the ids, read as binary fractions, never fall.
validate_structure <- function(tree) {
  size <- length(tree$node)
  inner <- which(tree$left > 0L | tree$right > 0L)
  kids <- c(tree$left[inner], tree$right[inner])
  if (length(kids) && (min(kids) < 2L || max(kids) > size)) {
    bad_model("a child position is out of range")
  }
  count <- tabulate(kids, size)
  if (count[1L] != 0L || any(count[-1L] != 1L)) {
    bad_model("its nodes do not form one tree")
  }
  left <- tree$left[inner]
  right <- tree$right[inner]
  id <- as.double(tree$node)
  linked <- id[1L] == 1 && tree$parent[1L] == 0L && tree$depth[1L] == 0L &&
    all(id[left] == 2 * id[inner]) && all(id[right] == 2 * id[inner] + 1) &&
    all(tree$parent[left] == tree$node[inner]) &&
    all(tree$parent[right] == tree$node[inner]) &&
    all(tree$depth[left] == tree$depth[inner] + 1L) &&
    all(tree$depth[right] == tree$depth[inner] + 1L)
  if (!linked) bad_model("node, parent and depth disagree with the children")
  key <- diff(id / 2^tree$depth)
  if (any(key < 0 | (key == 0 & diff(tree$depth) <= 0L))) {
    bad_model("its nodes are not in preorder")
  }
  if (any(tree$n[inner] != as.double(tree$n[left]) + tree$n[right])) {
    bad_model("the rows of two children do not add up to their parent's")
  }
}

# The facets of the inner nodes must tile r, intercept and coef exactly once.
validate_facets <- function(tree, columns) {
  leaf <- tree$left == 0L
  inner <- which(!leaf)
  if (any(tree$first[leaf] != 0L) || any(tree$facets[leaf] != 0L) ||
      !all(is.na(tree$threshold[leaf]))) {
    bad_model("a leaf has facets or a threshold")
  }
  if (!all_finite(tree$threshold[inner])) {
    bad_model("the threshold of an inner node is not finite")
  }
  if (any(tree$facets[inner] < 1L)) bad_model("an inner node has no facets")
  total <- sum(as.double(tree$facets))
  right_size <- is.double(tree$r) && length(tree$r) == total &&
    is.double(tree$intercept) && length(tree$intercept) == total &&
    is.double(tree$coef) && identical(dim(tree$coef), as.integer(c(columns, total)))
  if (!right_size) {
    bad_model(paste0(
      "{.code tree$r}, {.code tree$intercept} and {.code tree$coef} do not hold {total} facet{?s} ",
      "of {columns} column{?s}"
    ))
  }
  run <- inner[order(tree$first[inner])]
  begin <- cumsum(c(1, tree$facets[run]))[seq_along(run)]
  if (any(tree$first[run] != begin)) {
    bad_model("the facets of its nodes overlap or leave gaps")
  }
  if (!all_finite(tree$r) || !all_finite(tree$intercept) || !all_finite(tree$coef)) {
    bad_model("a facet has missing or infinite numbers")
  }
  if (any(tree$r < 0)) bad_model("a facet has a negative weight")
  lambda <- tree$lambda
  if (!is.double(lambda) || length(lambda) != 1L || !is.finite(lambda) || lambda <= 0) {
    bad_model("{.code tree$lambda} is not one positive number")
  }
}

validate_value <- function(tree, task, classes) {
  value <- tree$value
  if (!is.double(value) || !identical(dim(value), c(length(tree$node), classes))) {
    bad_model("{.code tree$value} is not a double matrix of {length(tree$node)} x {classes}")
  }
  if (!all_finite(value)) bad_model("{.code tree$value} has missing or infinite entries")
  if (task == "classification" && any(value < 0)) {
    bad_model("{.code tree$value} has negative class counts")
  }
}

validate_rows <- function(object) {
  nobs <- object$nobs
  if (!is.numeric(nobs) || length(nobs) != 1L || is.na(nobs) || nobs < 1) {
    bad_model("{.code nobs} is not a positive number")
  }
  if (!is.integer(object$where) || length(object$where) != nobs) {
    bad_model("{.code where} is not integer with one entry per training row")
  }
  if (!is.numeric(object$residuals) || length(object$residuals) != nobs) {
    bad_model("{.code residuals} is not numeric with one entry per training row")
  }
}

# A finite sum proves that every entry is finite, and allocates nothing.
all_finite <- function(x) {
  is.finite(sum(x)) || all(is.finite(x))
}

# Small questions about a tree ------------------------------------------------

# Names of the columns of the matrix that the engine saw.
encoded_columns <- function(object) object$blueprint$encoded

n_predictors <- function(object) length(object$blueprint$columns$name)

tree_leaf <- function(tree) tree$left == 0L

tree_depth <- function(tree) max(tree$depth)

# Position of the node of each heap id, with 0 for "no such node".
node_position <- function(tree, id) match(id, tree$node, nomatch = 0L)

# Class probabilities of every node. A node that only rows of weight zero reach
# has no counts: it takes its parent's, which come first in preorder.
node_prob <- function(tree) {
  total <- rowSums(tree$value)
  prob <- tree$value / total
  for (i in which(!(total > 0))) {
    up <- node_position(tree, tree$parent[i])
    prob[i, ] <- if (up) prob[up, ] else 1 / ncol(prob)
  }
  prob
}

# The predicted class (1-based code; ties go to the first level) or mean.
node_class <- function(prob) max.col(prob, ties.method = "first")

node_prediction <- function(object) {
  if (object$task == "regression") return(object$tree$value[, 1L])
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

# How far each row of x is outside each polytope (evidence minus threshold): one
# column per inner node, in preorder.
node_excess <- function(tree, x, threads) {
  inner <- which(!tree_leaf(tree))
  out <- vapply(inner, function(i) {
    rowSums(engine_evidence(tree, i, x, threads)) - tree$threshold[i]
  }, double(nrow(x)))
  matrix(out, nrow(x), length(inner))
}

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
#' * `prediction` (factor or number),
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
#' @param node *Whole numbers*: inner nodes to show. The default `NULL` shows all.
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
    check_inner_nodes(node, inner)
  }
  columns <- encoded_columns(object)
  out <- lapply(node_position(tree, node), node_matrix, tree = tree, columns = columns)
  names(out) <- as.character(node)
  if (length(node) == 1L && !missing(node)) out[[1L]] else out
}

check_inner_nodes <- function(node, inner) {
  if (!is.numeric(node) || !length(node) || anyNA(node)) {
    cpt_abort(
      "{.arg node} must be numbers of inner nodes, not {describe(node)}.",
      class = "cpt_error_argument"
    )
  }
  wrong <- setdiff(node, inner)
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

# Pruning ---------------------------------------------------------------------

#' @importFrom rpart prune
#' @export
rpart::prune

#' Prune a convex polytope tree
#'
#' Cuts a tree back without the data. `cp` and `leaves` follow weakest-link
#' (cost-complexity) pruning as in rpart: the inner node whose subtree lowers the
#' training loss least per leaf is made a leaf, then the next, and so on. `depth`
#' makes every node at that depth a leaf. If several are given, all of them hold
#' for the result.
#'
#' Facets are not trained again. Leaves keep the statistics stored at fit time.
#'
#' `residuals` of a regression tree are exact. The residual of a classified row
#' only says whether it was right. After pruning it is kept wherever it follows
#' from that: rows that were right, rows whose predicted class stays, and all rows
#' when there are two classes. It is `NA` for the other rows, and a message says
#' how many.
#'
#' @param tree,object *A `cpt` object*, as returned by [cpt()].
#' @param depth *A whole number >= 0*: the depth to keep; 0 leaves the root only.
#' @param leaves *A whole number >= 1*: keep the largest tree of the sequence with
#'   at most this many leaves.
#' @param cp *A number >= 0*: cut subtrees that lower the loss by no more than `cp`
#'   times the loss of the root per leaf they add. The default `NULL` of these
#'   three means no limit; one must be given.
#' @param ... *Not used*; anything given is an error.
#' @return `prune()` returns a `cpt` object with fewer or equally many nodes; node
#'   numbers stay. `call`, `control` and `history` are those of the fit.
#'
#'   `cpt_sequence()` returns the nested sequence of pruned trees as a data frame,
#'   like rpart's `cptable`, largest tree first: `cp` (the tree of this row is what
#'   `prune(object, cp = cp)` gives), `splits`, `leaves`, `depth`, `loss` (training
#'   loss) and `rel_loss` (as a share of the loss of the root).
#' @examples
#' fit <- cpt(Species ~ ., iris, max_depth = 3, max_facets = 2, seed = 1)
#' cpt_sequence(fit)
#' prune(fit, leaves = 2)
#' @method prune cpt
#' @export
prune.cpt <- function(tree, depth = NULL, leaves = NULL, cp = NULL, ...) {
  check_no_dots(...)
  object <- validate_cpt(tree)
  check_prune(depth, leaves, cp)
  cut <- logical(length(object$tree$node))
  if (!is.null(depth)) cut <- object$tree$depth == depth & !tree_leaf(object$tree)
  if (!is.null(leaves) || !is.null(cp)) {
    small <- cut_tree(object$tree, cut)
    links <- weakest_links(small)
    sizes <- c(sum(tree_leaf(small)), links$leaves)
    steps <- max(
      if (is.null(cp)) 0L else sum(links$cp <= cp),
      if (is.null(leaves)) 0L else which(sizes <= leaves)[1L] - 1L
    )
    cut <- cut | object$tree$node %in% links$node[seq_len(steps)]
  }
  cut_cpt(object, cut)
}

check_prune <- function(depth, leaves, cp) {
  if (is.null(depth) && is.null(leaves) && is.null(cp)) {
    cpt_abort(
      c("One of {.arg depth}, {.arg leaves} and {.arg cp} must be given.",
        i = "{.fn cpt_sequence} lists the trees that pruning can give."),
      class = "cpt_error_argument"
    )
  }
  if (!is.null(depth)) check_number(depth, "depth", 0, whole = TRUE)
  if (!is.null(leaves)) check_number(leaves, "leaves", 1, whole = TRUE)
  if (!is.null(cp)) check_number(cp, "cp", 0)
}

#' @rdname prune.cpt
#' @export
cpt_sequence <- function(object) {
  validate_cpt(object)
  tree <- object$tree
  links <- weakest_links(tree)
  # Cuts of equal cp belong to one step: prune(cp = ) takes all of them.
  last <- which(!duplicated(links$cp, fromLast = TRUE))
  state <- data.frame(
    cp = c(0, links$cp[last]),
    leaves = c(sum(tree_leaf(tree)), links$leaves[last]),
    loss = c(sum(tree$loss[tree_leaf(tree)]), links$loss[last])
  )
  state$depth <- vapply(
    c(0L, last), function(k) pruned_depth(tree, links$node[seq_len(k)]), 1L
  )
  # A first step of cp 0 (a split without gain) already belongs to the full tree.
  state <- state[!duplicated(state$cp, fromLast = TRUE), , drop = FALSE]
  root <- tree$loss[1L]
  data.frame(
    cp = state$cp, splits = state$leaves - 1L, leaves = state$leaves,
    depth = state$depth, loss = state$loss,
    rel_loss = if (root > 0) state$loss / root else rep(1, nrow(state))
  )
}

pruned_depth <- function(tree, cut) {
  max(tree$depth[kept_nodes(tree, tree$node %in% cut)])
}

# Weakest-link pruning of the whole tree: one row per cut, in order, with its cp
# and the leaves and loss of the tree that is left. Each cut updates the sums of
# its ancestors only.
weakest_links <- function(tree) {
  up <- node_position(tree, tree$parent)
  below <- subtree_sums(tree, up)
  root <- if (tree$loss[1L] > 0) tree$loss[1L] else 1
  strength <- function(i) {
    (tree$loss[i] - below$loss[i]) / (below$leaves[i] - 1) / root
  }
  open <- !tree_leaf(tree)
  link <- ifelse(open, strength(seq_along(open)), Inf)
  steps <- sum(open)
  out <- data.frame(
    node = integer(steps), cp = double(steps), leaves = integer(steps), loss = double(steps)
  )
  cp <- 0
  done <- 0L
  while (any(open)) {
    i <- which.min(link)
    # Rounding must not make the sequence of cp fall, nor begin below 0.
    if (link[i] > cp * (1 + 1e-12) + 1e-15) cp <- link[i]
    under <- i:subtree_end(tree, i)
    open[under] <- FALSE
    link[under] <- Inf
    fewer <- below$leaves[i] - 1L
    more <- tree$loss[i] - below$loss[i]
    for (j in c(i, ancestors(up, i))) {
      below$leaves[j] <- below$leaves[j] - fewer
      below$loss[j] <- below$loss[j] + more
      if (open[j]) link[j] <- strength(j)
    }
    done <- done + 1L
    out[done, ] <- list(tree$node[i], cp, below$leaves[1L], below$loss[1L])
  }
  out[seq_len(done), , drop = FALSE]
}

# Last position below node i: in preorder, follow the outside children.
subtree_end <- function(tree, i) {
  while (tree$right[i] > 0L) i <- tree$right[i]
  i
}

ancestors <- function(up, i) {
  out <- integer()
  while ((i <- up[i]) > 0L) out <- c(out, i)
  out
}

# Leaves and their loss below every node; children come after parents.
subtree_sums <- function(tree, up) {
  leaf <- tree_leaf(tree)
  leaves <- as.integer(leaf)
  loss <- ifelse(leaf, tree$loss, 0)
  for (i in rev(seq_along(leaf))[-length(leaf)]) {
    leaves[up[i]] <- leaves[up[i]] + leaves[i]
    loss[up[i]] <- loss[up[i]] + loss[i]
  }
  list(leaves = leaves, loss = loss)
}

# The tree with the marked nodes made leaves. Preorder and node ids are kept.
cut_tree <- function(tree, cut) {
  if (!any(cut)) return(tree)
  keep <- kept_nodes(tree, cut)
  now_leaf <- (cut | tree_leaf(tree))[keep]
  position <- cumsum(keep)
  move <- function(child) ifelse(now_leaf, 0L, position[pmax(child[keep], 1L)])
  kept_facets <- unlist(lapply(
    which(keep & !cut & !tree_leaf(tree)), node_facets, tree = tree
  ))
  facets <- ifelse(now_leaf, 0L, tree$facets[keep])
  out <- lapply(
    tree[c("node", "parent", "depth", "n", "weight", "loss")], function(x) x[keep]
  )
  tree[names(out)] <- out
  tree$left <- move(tree$left)
  tree$right <- move(tree$right)
  tree$value <- tree$value[keep, , drop = FALSE]
  tree$threshold <- ifelse(now_leaf, NA_real_, tree$threshold[keep])
  tree$first <- ifelse(now_leaf, 0L, as.integer(cumsum(c(1L, facets))[seq_along(facets)]))
  tree$facets <- facets
  tree$r <- tree$r[kept_facets]
  tree$intercept <- tree$intercept[kept_facets]
  tree$coef <- tree$coef[, kept_facets, drop = FALSE]
  tree
}

# TRUE for nodes without a marked ancestor. Parents come first in preorder.
kept_nodes <- function(tree, cut) {
  keep <- rep(TRUE, length(cut))
  for (i in which(cut & !tree_leaf(tree))) {
    end <- subtree_end(tree, i)
    keep[(i + 1L):end] <- FALSE
  }
  keep
}

# Cuts the tree of a fitted object, and brings `where` and `residuals` along.
cut_cpt <- function(object, cut) {
  if (!any(cut)) return(object)
  old <- object$tree
  new <- cut_tree(old, cut)
  path <- node_paths(old)
  # The deepest ancestor that is still there, for every old node.
  alive <- matrix(path %in% new$node, nrow(path))
  home <- path[cbind(seq_len(nrow(path)), rowSums(alive))]
  from <- where_position(object)
  object$tree <- new
  object$where <- stats::setNames(home[from], names(object$where))
  to <- node_position(new, object$where)
  object$residuals <- if (object$task == "regression") {
    object$residuals + old$value[from, 1L] - new$value[to, 1L]
  } else {
    pruned_errors(object, node_class(node_prob(old))[from], node_class(node_prob(new))[to])
  }
  object
}

# Was the row wrong before, and is it now? See the help page of prune().
pruned_errors <- function(object, before, after) {
  wrong <- object$residuals
  out <- wrong
  changed <- before != after
  out[changed] <- ifelse(wrong[changed] == 0, 1, NA)
  if (length(object$levels) == 2L) out[changed] <- 1 - wrong[changed]
  lost <- sum(is.na(out) & !is.na(wrong))
  if (lost) {
    cpt_inform(c(
      "{lost} residual{?s} {?is/are} now {.code NA}.",
      i = paste(
        "The class predicted for {cli::qty(lost)}{?this row/these rows} has changed,",
        "and the true one is not stored."
      )
    ))
  }
  out
}

# Position of the leaf of every training row; `where` may have been tampered with.
where_position <- function(object) {
  leaves <- object$tree$node[tree_leaf(object$tree)]
  if (!all(object$where %in% leaves)) {
    bad_model("{.code where} names nodes that are not leaves")
  }
  match(object$where, object$tree$node)
}
