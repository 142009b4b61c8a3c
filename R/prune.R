# Weakest-link pruning from the losses stored in the tree, without data, and the
# nested sequence of trees that it gives. Everything that hangs on the nodes (where,
# residuals, facets) is kept consistent here.

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
#' `residuals` of a regression tree are exact, except that with linear leaves those of rows
#' whose leaf has changed are `NA`, and so are their fitted values. The residual of a classified row
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
  models <- intersect(c("leaf_intercept", "leaf_low", "leaf_high", "leaf_loss"), names(tree))
  tree[models] <- lapply(tree[models], function(x) x[keep])
  if (tree_linear(tree)) tree$leaf_coef <- tree$leaf_coef[, keep, drop = FALSE]
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
  if (tree_linear(new)) return(forget_fitted(object, old$node[from] != new$node[to]))
  object$residuals <- if (object$task == "regression") {
    object$residuals + node_mean(old)[from] - node_mean(new)[to]
  } else {
    pruned_errors(object, node_class(node_prob(old))[from], node_class(node_prob(new))[to])
  }
  object
}

# What the model of another node says of a row takes the row to know.
forget_fitted <- function(object, moved) {
  lost <- sum(moved & !is.na(object$residuals))
  object$residuals[moved] <- NA
  object$fitted[moved] <- NA
  if (lost) {
    cpt_inform(c(
      "{lost} residual{?s} {?is/are} now {.code NA}.",
      i = paste(
        "The linear model of {cli::qty(lost)}{?this row/these rows} has changed,",
        "and the data are not stored; {.fn predict} with the data has the new predictions."
      )
    ))
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
