# Small trees made by hand, and a ten-line routing in plain R to judge the engine by.
# Facets, weights and thresholds are chosen here, so every expected number in the
# tests can be worked out on paper. Nothing here calls the engine.

# An inner node: `b` has one column per facet; leaves are NULL.
gate <- function(b, a, r = rep(1, length(a)), threshold = log(2), inside = NULL,
                 outside = NULL) {
  list(b = as.matrix(b), a = a, r = r, threshold = threshold, kids = list(inside, outside))
}

softplus <- function(z) pmax(z, 0) + log1p(exp(-abs(z)))

gate_evidence <- function(gate, x) {
  z <- sweep(as.matrix(x) %*% gate$b, 2L, gate$a, "+")
  sweep(softplus(z), 2L, gate$r, "*")
}

# The flat tree of the contract, filled from encoded rows x and outcome y.
flat_tree <- function(top, x, y, classes = 0L, weights = rep(1, nrow(x)), lambda = 4) {
  nodes <- list()
  gates <- list()
  visit <- function(gate, id, rows) {
    at <- length(nodes) + 1L
    nodes[[at]] <<- list(id = id, rows = rows, gate = gate, left = 0L, right = 0L)
    if (is.null(gate)) return(at)
    outside <- rowSums(gate_evidence(gate, x[rows, , drop = FALSE])) > gate$threshold
    gates[[length(gates) + 1L]] <<- gate
    left <- visit(gate$kids[[1L]], 2L * id, rows[!outside])
    right <- visit(gate$kids[[2L]], 2L * id + 1L, rows[outside])
    nodes[[at]]$left <<- left
    nodes[[at]]$right <<- right
    at
  }
  visit(top, 1L, seq_len(nrow(x)))
  int <- function(f) vapply(nodes, function(v) as.integer(f(v)), 1L)
  dbl <- function(f) vapply(nodes, function(v) as.double(f(v)), 1)
  inner <- !vapply(nodes, function(v) is.null(v$gate), NA)
  facets <- int(function(v) length(v$gate$a))
  tree <- list(
    node = int(function(v) v$id), parent = int(function(v) v$id %/% 2L),
    depth = int(function(v) floor(log2(v$id))),
    left = int(function(v) v$left), right = int(function(v) v$right),
    n = int(function(v) length(v$rows)), weight = dbl(function(v) sum(weights[v$rows])),
    loss = dbl(function(v) node_loss(y[v$rows], weights[v$rows], classes)),
    value = node_values(nodes, y, weights, classes),
    threshold = dbl(function(v) if (is.null(v$gate)) NA else v$gate$threshold),
    first = ifelse(inner, as.integer(cumsum(facets) - facets + 1L), 0L),
    facets = facets,
    r = as.double(unlist(lapply(gates, `[[`, "r"))),
    intercept = as.double(unlist(lapply(gates, `[[`, "a"))),
    coef = matrix(as.double(unlist(lapply(gates, `[[`, "b"))), ncol(x)),
    lambda = lambda
  )
  tree
}

node_loss <- function(y, w, classes) {
  if (!sum(w)) return(0)
  if (!classes) return(sum(w * (y - sum(w * y) / sum(w))^2))
  p <- tapply(w, factor(y, seq_len(classes) - 1L), sum, default = 0) / sum(w)
  -sum(w) * sum(ifelse(p > 0, p * log(p), 0))
}

node_values <- function(nodes, y, w, classes) {
  one <- function(v) {
    if (!classes) return(sum((w * y)[v$rows]) / max(sum(w[v$rows]), 1e-300))
    as.vector(tapply(w[v$rows], factor(y[v$rows], seq_len(classes) - 1L), sum, default = 0))
  }
  matrix(unlist(lapply(nodes, one)), length(nodes), byrow = TRUE)
}

# Position of the leaf of each row of x.
route <- function(tree, x) {
  one <- function(row) {
    at <- 1L
    while (tree$left[at] > 0L) {
      k <- tree$first[at] - 1L + seq_len(tree$facets[at])
      g <- sum(tree$r[k] * softplus(drop(row %*% tree$coef[, k, drop = FALSE]) + tree$intercept[k]))
      at <- if (g > tree$threshold[at]) tree$right[at] else tree$left[at]
    }
    at
  }
  apply(unname(as.matrix(x)), 1L, one)
}

# What the engine tells about the columns.
hand_columns <- function(x, w) {
  mean <- colSums(w * x) / sum(w)
  list(mean = unname(mean), sd = unname(sqrt(colSums(w * sweep(x, 2L, mean)^2) / sum(w))),
    min = unname(apply(x, 2L, min)), max = unname(apply(x, 2L, max)),
    whole = unname(apply(x, 2L, function(v) all(v == round(v)))))
}

# A fitted object around such a tree, built by the package's own constructor.
hand_cpt <- function(top, formula, data, weights = NULL, lambda = 4) {
  mold <- suppressWarnings(blueprint_mold_formula(formula, data, weights))
  tree <- flat_tree(top, mold$x, mold$y, length(mold$levels), mold$weights, lambda)
  fit <- list(tree = tree, where = tree$node[route(tree, mold$x)], history = data.frame(),
    columns = hand_columns(as.matrix(mold$x), mold$weights))
  call <- bquote(cpt(formula = .(formula), data = .(substitute(data)), max_depth = 2))
  new_cpt(mold, fit, list(control = cpt_control()), seed = 1, time = 0.25, bare_call(call))
}

# Two splits of one facet each: setosa | versicolor, virginica.
hand_iris <- function(formula = Species ~ ., data = iris) {
  hand_cpt(
    gate(c(0, 0, 1, 0), -2.5, outside = gate(c(0, 0, 0.2, 1), -2.7)), formula, data
  )
}

# A square of side 1 around the origin with a triangle inside; three leaves.
hand_square <- function(data = square_data()) {
  square <- rbind(c(20, -20, 0, 0), c(0, 0, 20, -20))
  triangle <- rbind(c(20, -20, 0), c(20, 20, -20))
  hand_cpt(gate(square, rep(-10, 4), inside = gate(triangle, rep(-4, 3))), class ~ ., data)
}

square_data <- function(n = 21L) {
  grid <- expand.grid(u = seq(-1, 1, length.out = n), v = seq(-1, 1, length.out = n))
  grid$class <- ifelse(pmax(abs(grid$u), abs(grid$v)) < 0.5, "in", "out")
  grid$class[abs(grid$u) + grid$v < 0.2 & grid$v > -0.2] <- "core"
  grid$class <- factor(grid$class, c("out", "in", "core"))
  grid
}

# Regression: mpg by one split on weight and one on two columns.
hand_cars <- function() {
  hand_cpt(
    gate(c(1, 0), -3, inside = gate(c(-1, -0.01), 3, outside = NULL)), mpg ~ wt + hp, mtcars
  )
}

root_iris <- function() hand_cpt(NULL, Species ~ ., iris)

root_cars <- function() hand_cpt(NULL, mpg ~ wt + hp, mtcars)

# Numbers that look random and are the same everywhere, R's stream untouched.
steady <- function(n, from = 0) stats::qnorm(((from + seq_len(n)) * 0.6180339887498949) %% 1)

# A full tree of 2^depth leaves, each with rows; facets are arbitrary.
big_tree <- function(depth, classes = 4L, names = paste("class", seq_len(classes))) {
  data <- data.frame(a = steady(3000), b = steady(3000, 0.37), c = steady(3000, 0.71)[3000:1])
  data$b <- data$b[order((seq_len(3000) * 1237L) %% 3001L)]
  data$y <- if (classes) {
    factor(names[1L + (seq_len(3000) * 7L) %% classes], names)
  } else {
    data$a * 3 + data$b
  }
  count <- 0
  grow <- function(left, x) {
    if (left == 0L) return(NULL)
    count <<- count + 1
    k <- 1L + (count * 7) %% 12
    one <- gate(matrix(steady(3L * k, count), 3L), steady(k, count / 3))
    g <- rowSums(gate_evidence(one, x))
    one$threshold <- stats::median(g)
    one$kids <- list(
      grow(left - 1L, x[g <= one$threshold, , drop = FALSE]),
      grow(left - 1L, x[g > one$threshold, , drop = FALSE])
    )
    one
  }
  hand_cpt(grow(depth, as.matrix(data[1:3])), y ~ ., data)
}

# What a refused call says, in the same form for every version of testthat.
refusal <- function(expr) {
  e <- tryCatch(expr, error = identity)
  stopifnot("the call must fail" = inherits(e, "error"))
  cat("<", class(e)[1L], ">\n", cli::ansi_strip(conditionMessage(e)), "\n", sep = "")
}

# Draws to a file that is thrown away, at a size in inches.
on_page <- function(expr, width = 7, height = 5) {
  file <- tempfile(fileext = ".pdf")
  grDevices::pdf(file, width = width, height = height)
  on.exit({
    grDevices::dev.off()
    unlink(file)
  })
  force(expr)
}

# A hand-made tree with linear models in all nodes: `coef` has one column per node.
with_models <- function(fit, coef, intercept, low = -1e6, high = 1e6) {
  size <- length(fit$tree$node)
  fit$tree$leaf_coef <- coef
  fit$tree$leaf_intercept <- as.double(intercept)
  fit$tree$leaf_low <- rep_len(as.double(low), size)
  fit$tree$leaf_high <- rep_len(as.double(high), size)
  fit$tree$leaf_loss <- fit$tree$loss
  fit$fitted <- rep(0, fit$nobs)
  fit
}

# Ridge regression with a free intercept, penalty on columns scaled by `sd`: normal
# equations, nothing else. Returns c(intercept, coefficients) in the units of x.
plain_ridge <- function(x, y, w, lambda, sd) {
  z <- cbind(1, sweep(x, 2L, sd, "/"))
  b <- solve(crossprod(z, w * z) + diag(c(0, rep(lambda, ncol(x)))), crossprod(z, w * y))
  drop(b) / c(1, sd)
}

# The documented choice of a node's model by brute force: a fit for every penalty and
# every unit of weight left out.
plain_leaf <- function(x, y, w, sd) {
  x <- unname(x)
  mean <- colSums(w * x) / sum(w)
  trace <- sum(w * sweep(sweep(x, 2L, mean), 2L, sd, "/")^2)
  lambda <- trace * 10^seq(-6, 1, by = 0.5)
  error <- function(predict) {
    vapply(seq_along(y), function(i) y[i] - predict(replace(w, i, w[i] - min(1, w[i])), i), 0)
  }
  constant <- error(function(v, i) sum(v * y) / sum(v))
  ridge <- vapply(lambda, function(l) {
    error(function(v, i) sum(c(1, x[i, ]) * plain_ridge(x, y, v, l, sd)))
  }, double(length(y)))
  best <- which.min(colSums(w * ridge^2))
  gain <- constant^2 - ridge[, best]^2
  mean_gain <- sum(w * gain) / sum(w)
  spread <- sum(w * (gain - mean_gain)^2) / sum(w)
  if (mean_gain <= sqrt(spread / sum(w))) return(c(sum(w * y) / sum(w), 0 * sd))
  plain_ridge(x, y, w, lambda[best], sd)
}
