# Small data and settings for the tests of the engine, and what two trees are
# compared by. Data come from `steady()`, so R's random stream is left alone.

# Settings that train well on a few hundred rows in well under a second. Every one
# that decides the tree is named here, so that new defaults do not move the tests.
brisk <- function(...) {
  fields <- list(search = FALSE, min_leaf_obs = 7, dropout = 0, jitter = 0, ridge = 0, max_depth = 3, max_facets = 6, starts = 2, grow_epochs = 5,
    grow_min_steps = 150, grow_rate = 0.03, refine_epochs = 5, refine_min_steps = 100,
    refine_rate = 0.02, batch_size = 256, lambda_start = 0.5, lambda_end = 6, weight_rate = 3, column_share = Inf,
    prior_weight = 0.2, gamma0 = 1, c0 = 1, a_beta = 1, e0 = 1e4, f0 = 1e4)
  given <- list(...)
  fields[names(given)] <- given
  do.call(cpt_control, fields)
}

# Normal numbers in a matrix whose columns do not follow each other.
noise_matrix <- function(n, p, from = 0) {
  x <- vapply(seq_len(p), function(j) {
    steady(n, from + 0.377 * j)[order((seq_len(n) * 0.7548776662466927 * (j + 1)) %% 1)]
  }, double(n))
  matrix(x, n, p, dimnames = list(NULL, paste0("x", seq_len(p))))
}

# Groups far from each other: any sensible split falls into the gaps.
clusters <- function(n = 120, groups = 3, p = 3, gap = 8) {
  group <- rep_len(seq_len(groups), n)
  x <- noise_matrix(n, p) * 0.5
  x[, 1] <- x[, 1] + gap * (group == 1)
  x[, 2] <- x[, 2] + gap * (group == 2)
  data.frame(x, y = factor(letters[group]))
}

# A disc in a square with some labels turned: every tree is larger than it should be.
noisy_disc <- function(n = 300, flip = 0.15, from = 0) {
  x <- noise_matrix(n, 4, from)
  red <- x[, 1]^2 + x[, 2]^2 < 1.2
  turned <- (seq_len(n) * 0.5698402909980532 + from) %% 1 < flip
  data.frame(x, y = factor(ifelse(red != turned, "red", "blue")))
}

sparse_data <- function(n = 200, p = 60, share = 0.1) {
  x <- noise_matrix(n, p)
  x[abs(x) < stats::qnorm(1 - share / 2)] <- 0
  list(x = x, sparse = methods::as(x, "CsparseMatrix"),
    y = factor(ifelse(rowSums(x[, 1:20]) > 0, "up", "down")))
}

# The groups of rows, whatever their labels are.
partition <- function(x) match(x, unique(x))

leaf_table <- function(fit) {
  nodes <- as.data.frame(fit)
  nodes[nodes$is_leaf, ]
}

# Area under the curve by ranks; `red` is TRUE or FALSE.
auc <- function(score, red) {
  r <- rank(score)
  (sum(r[red]) - sum(red) * (sum(red) + 1) / 2) / (sum(red) * sum(!red))
}

# Evidence of rows at a node, summed in the router's order.
node_evidence <- function(fit, position, x) {
  terms <- engine_evidence(fit$tree, position, x, 2L)
  Reduce(`+`, lapply(seq_len(ncol(terms)), function(k) terms[, k]))
}
