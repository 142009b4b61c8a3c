# What the nodes answer: probabilities, means and linear models, shrunk towards their
# ancestors if asked (`leaf_shrinkage`), and how well the training rows are met by it.
# Everything that reports an answer of a node asks here; `tree$value` is only what was
# counted. This file must not know formulas or how columns are coded.

# Does every leaf predict its mean, or do leaves have linear models?
tree_linear <- function(tree) !is.null(tree$leaf_coef)

# Hierarchical shrinkage (Agarwal et al. 2022): `value` has one row per node. On the way
# down, each step from parent to child counts less if the parent has few rows. Parents
# come first in preorder.
shrink_nodes <- function(tree, value, by = tree$leaf_shrinkage) {
  if (is.null(by) || by == 0) return(value)
  up <- node_position(tree, tree$parent)
  out <- value
  for (i in seq_along(up)[-1L]) {
    share <- 1 / (1 + by / tree$weight[up[i]])
    out[i, ] <- out[up[i], ] + share * (value[i, ] - value[up[i], ])
  }
  out
}

# Class probabilities that every node answers with.
node_prob <- function(tree) shrink_nodes(tree, node_share(tree))

# Shares of the classes among the training rows of every node. A node that only rows of
# weight zero reach has no counts: it takes its parent's, which come first in preorder.
node_share <- function(tree) {
  total <- rowSums(tree$value)
  prob <- tree$value / total
  for (i in which(!(total > 0))) {
    up <- node_position(tree, tree$parent[i])
    prob[i, ] <- if (up) prob[up, ] else 1 / ncol(prob)
  }
  prob
}

# Means of every node; what a leaf without a linear model predicts.
node_mean <- function(tree) shrink_nodes(tree, tree$value)[, 1L]

# As `tree$value`, but what the node answers with: its weight in shares of the classes, or
# its mean.
shrunk_counts <- function(tree) {
  if (is.null(tree$leaf_shrinkage)) return(tree$value)
  if (ncol(tree$value) == 1L) return(as.matrix(node_mean(tree)))
  node_prob(tree) * rowSums(tree$value)
}

# Loss of the training rows of every node when it answers as a leaf: minus the
# log-likelihood of the classes, or the sum of squared residuals. Without shrinkage and
# linear models this is the impurity `tree$loss`.
node_losses <- function(tree, task) {
  if (tree_linear(tree)) return(tree$leaf_loss)
  if (is.null(tree$leaf_shrinkage)) return(tree$loss)
  if (task == "regression") {
    return(tree$loss + tree$weight * (tree$value[, 1L] - node_mean(tree))^2)
  }
  seen <- tree$value > 0
  out <- matrix(0, nrow(seen), ncol(seen))
  out[seen] <- -tree$value[seen] * log(node_prob(tree)[seen])
  rowSums(out)
}

# Predictions of a regression tree for encoded rows at the leaves `at`.
leaf_values <- function(tree, at, x, threads) {
  if (!tree_linear(tree)) return(node_mean(tree)[at])
  gone <- is.na(at)
  at[gone] <- 1L
  out <- engine_linear(tree, at, x, threads)
  out[gone] <- NA
  out
}

# After the engine --------------------------------------------------------------------

check_leaf <- function(leaf, task) {
  if (leaf == "constant" || task == "regression") return(invisible())
  cpt_abort(c(
    "`leaf = \"linear\"` needs a numeric outcome, but this is a classification.",
    i = "A leaf of a classification tree predicts class probabilities: use `leaf = \"constant\"`."
  ))
}

# The engine fits every node's own model; here they are shrunk, and the training rows
# are predicted with them. `valid`: rows held out, which count in no loss.
finish_leaves <- function(fit, mold, valid, control, threads) {
  tree <- fit$tree
  if (control$leaf_shrinkage > 0) tree$leaf_shrinkage <- control$leaf_shrinkage
  if (tree_linear(tree)) {
    tree <- shrink_models(tree)
    at <- match(fit$where, tree$node)
    fit$fitted <- leaf_values(tree, at, mold$x, threads)
    weight <- ifelse(valid, 0, mold$weights)
    tree$leaf_loss <- model_losses(tree, at, fit$fitted, mold, weight, threads)
  }
  fit$tree <- tree
  fit
}

shrink_models <- function(tree) {
  rest <- c("leaf_intercept", "leaf_low", "leaf_high")
  tree$leaf_coef <- t(shrink_nodes(tree, t(tree$leaf_coef)))
  tree[rest] <- lapply(tree[rest], function(v) shrink_nodes(tree, as.matrix(v))[, 1L])
  tree
}

# Weighted sum of squared residuals of every node's model over the rows that pass it.
model_losses <- function(tree, at, fitted, mold, weight, threads) {
  out <- double(length(tree$node))
  add <- function(out, rows, node, value) {
    sums <- rowsum(weight[rows] * (mold$y[rows] - value[rows])^2, node[rows])
    out[as.integer(rownames(sums))] <- sums
    out
  }
  out <- add(out, seq_along(at), at, fitted)
  path <- node_paths(tree)
  for (depth in seq_len(tree_depth(tree)) - 1L) {
    above <- tree$depth[at] > depth
    node <- ifelse(above, node_position(tree, path[at, depth + 1L]), at)
    out <- add(out, which(above), node, leaf_values(tree, node, mold$x, threads))
  }
  out
}
