# The tree as data: validation, nodes, facets, pruning.

test_that("hand-made and root-only trees are valid", {
  for (fit in list(hand_iris(), hand_square(), hand_cars(), root_iris(), root_cars(), big_tree(3L))) {
    expect_identical(validate_cpt(fit), fit)
  }
})

# Each entry damages a model in one way. None may get as far as being indexed.
damage <- list(
  "not a list" = function(m) structure(1, class = "cpt"),
  "no tree" = function(m) `[[<-`(m, "tree", NULL),
  "two fields lost" = function(m) `[<-`(m, c("where", "levels"), NULL),
  "tree NULL" = function(m) replace(m, "tree", list(NULL)),
  "newer version" = function(m) replace(m, "version", "99.1.0"),
  "bad version" = function(m) replace(m, "version", "one"),
  "bad task" = function(m) replace(m, "task", "ranking"),
  "levels twice" = function(m) replace(m, "levels", list(c("a", "a", "b"))),
  "fewer levels" = function(m) replace(m, "levels", list(c("a", "b"))),
  "no blueprint" = function(m) replace(m, "blueprint", list(list())),
  "short where" = function(m) replace(m, "where", list(m$where[-1L])),
  "real where" = function(m) replace(m, "where", list(m$where + 0.5)),
  "short residuals" = function(m) replace(m, "residuals", list(1)),
  "nobs" = function(m) replace(m, "nobs", NA)
)

damage_tree <- list(
  "field lost" = function(t) t[setdiff(names(t), "coef")],
  "no nodes" = function(t) replace(t, "node", list(integer())),
  "truncated vector" = function(t) replace(t, "left", list(t$left[-5L])),
  "double children" = function(t) replace(t, "left", list(as.double(t$left))),
  "negative child" = function(t) replace(t, "left", list(replace(t$left, 1L, -1L))),
  "NA child" = function(t) replace(t, "right", list(replace(t$right, 1L, NA))),
  "child out of range" = function(t) replace(t, "right", list(replace(t$right, 3L, 6L))),
  "one child only" = function(t) replace(t, "right", list(replace(t$right, 3L, 0L))),
  "cycle" = function(t) replace(t, "right", list(replace(t$right, 3L, 3L))),
  "child is the root" = function(t) replace(t, "left", list(replace(t$left, 3L, 1L))),
  "wrong ids" = function(t) replace(t, "node", list(replace(t$node, 5L, 9L))),
  "wrong depth" = function(t) replace(t, "depth", list(replace(t$depth, 5L, 7L))),
  "rows do not add up" = function(t) replace(t, "n", list(replace(t$n, 5L, 1L))),
  "NA loss" = function(t) replace(t, "loss", list(replace(t$loss, 1L, NA))),
  "leaf with threshold" = function(t) replace(t, "threshold", list(replace(t$threshold, 2L, 1))),
  "no threshold" = function(t) replace(t, "threshold", list(replace(t$threshold, 1L, NA))),
  "no facets" = function(t) replace(t, "facets", list(replace(t$facets, 1L, 0L))),
  "more facets" = function(t) replace(t, "facets", list(replace(t$facets, 1L, 1000000L))),
  "overlapping facets" = function(t) replace(t, "first", list(replace(t$first, 3L, 1L))),
  "gap before facets" = function(t) replace(t, "first", list(replace(t$first, 3L, 99L))),
  "short r" = function(t) replace(t, "r", list(t$r[1L])),
  "integer coef" = function(t) replace(t, "coef", list(matrix(1L, 4L, 2L))),
  "coef of other shape" = function(t) replace(t, "coef", list(t(t$coef))),
  "coef without a row" = function(t) replace(t, "coef", list(t$coef[-1L, ])),
  "infinite coef" = function(t) replace(t, "coef", list(replace(t$coef, 3L, Inf))),
  "cancelling infinities" = function(t) replace(t, "coef", list(replace(t$coef, 2:3, c(Inf, -Inf)))),
  "NA intercept" = function(t) replace(t, "intercept", list(replace(t$intercept, 1L, NA))),
  "negative r" = function(t) replace(t, "r", list(-t$r)),
  "lambda" = function(t) replace(t, "lambda", list(c(1, 2))),
  "value as vector" = function(t) replace(t, "value", list(as.vector(t$value))),
  "value with NA" = function(t) replace(t, "value", list(replace(t$value, 1L, NaN))),
  "negative value" = function(t) replace(t, "value", list(-t$value))
)

test_that("a damaged model is refused before it is indexed, and says why", {
  fit <- hand_iris()
  for (harm in names(damage)) {
    expect_error(validate_cpt(damage[[harm]](fit)), class = "cpt_error_model", info = harm)
  }
  for (harm in names(damage_tree)) {
    bad <- fit
    bad["tree"] <- list(damage_tree[[harm]](fit$tree))
    expect_error(predict(bad, iris), class = "cpt_error_model", info = harm)
  }
  expect_snapshot({
    for (harm in names(damage)) {
      cat("# ", harm, "\n", sep = "")
      refusal(validate_cpt(damage[[harm]](fit)))
    }
    for (harm in names(damage_tree)) {
      cat("# ", harm, "\n", sep = "")
      bad <- fit
      bad["tree"] <- list(damage_tree[[harm]](fit$tree))
      refusal(validate_cpt(bad))
    }
  })
})

test_that("nodes out of preorder are refused", {
  fit <- big_tree(2L)
  tree <- fit$tree
  # The right child of node 2 and that of the root change places consistently.
  tree$node <- c(1L, 2L, 4L, 3L, 6L, 7L, 5L)
  tree$parent <- tree$node %/% 2L
  tree$depth <- as.integer(floor(log2(tree$node)))
  tree$left <- c(2L, 3L, 0L, 5L, 0L, 0L, 0L)
  tree$right <- c(4L, 7L, 0L, 6L, 0L, 0L, 0L)
  order <- match(tree$node, fit$tree$node)
  for (field in c("n", "weight", "loss", "threshold", "first", "facets")) {
    tree[[field]] <- fit$tree[[field]][order]
  }
  tree$value <- fit$tree$value[order, ]
  fit$tree <- tree
  expect_error(validate_cpt(fit), "preorder", class = "cpt_error_model")
})

test_that("every method refuses a damaged model", {
  bad <- hand_iris()
  bad$tree$right[1L] <- 99L
  bad$tree$left[3L] <- 77L
  expect_error(print(bad), class = "cpt_error_model")
  expect_error(format(bad), class = "cpt_error_model")
  expect_error(summary(bad), class = "cpt_error_model")
  expect_error(as.data.frame(bad), class = "cpt_error_model")
  expect_error(coef(bad), class = "cpt_error_model")
  expect_error(prune(bad, depth = 1), class = "cpt_error_model")
  expect_error(cpt_sequence(bad), class = "cpt_error_model")
  expect_error(fitted(bad), class = "cpt_error_model")
  expect_error(residuals(bad), class = "cpt_error_model")
  expect_error(deviance(bad), class = "cpt_error_model")
  expect_error(plot(bad), class = "cpt_error_model")
  lost <- hand_iris()
  lost$where[1L] <- 3L
  expect_error(predict(lost), class = "cpt_error_model")
  expect_snapshot(refusal(predict(lost)))
})

test_that("as.data.frame() has one row per node", {
  fit <- hand_iris()
  frame <- as.data.frame(fit)
  expect_identical(frame$node, c(1L, 2L, 3L, 6L, 7L))
  expect_identical(frame$parent, c(0L, 1L, 1L, 3L, 3L))
  expect_identical(frame$depth, c(0L, 1L, 1L, 2L, 2L))
  expect_identical(frame$side, c(NA, "inside", "outside", "inside", "outside"))
  expect_identical(frame$is_leaf, c(FALSE, TRUE, FALSE, TRUE, TRUE))
  expect_identical(frame$n, c(150L, 50L, 100L, 53L, 47L))
  expect_identical(frame$facets, c(1L, 0L, 1L, 0L, 0L))
  expect_identical(frame$nonzero, c(1L, 0L, 2L, 0L, 0L))
  expect_equal(frame$loss[1L], 150 * log(3))
  expect_equal(frame$gain[1L], 150 * log(3) - 100 * log(2))
  expect_identical(is.na(frame$gain), frame$is_leaf)
  expect_identical(is.na(frame$threshold), frame$is_leaf)
  expect_identical(as.character(frame$prediction[-1L]), c("setosa", "versicolor", "versicolor", "virginica"))
  expect_equal(rowSums(frame[c("prob_setosa", "prob_versicolor", "prob_virginica")]), rep(1, 5), ignore_attr = TRUE)
  cars <- as.data.frame(hand_cars())
  expect_identical(cars$prediction, hand_cars()$tree$value[, 1L])
  expect_false(any(startsWith(names(cars), "prob_")))
  expect_identical(nrow(as.data.frame(root_iris())), 1L)
  expect_error(as.data.frame(fit, foo = 1), class = "cpt_error_argument")
})

test_that("level names are kept as they are", {
  data <- transform(iris, Species = factor(Species, labels = c("a b", "1", "x:y")))
  frame <- as.data.frame(hand_iris(data = data))
  expect_true(all(c("prob_a b", "prob_1", "prob_x:y") %in% names(frame)))
})

test_that("coef() gives facets in user units and their bounds", {
  fit <- hand_square()
  all <- coef(fit)
  expect_named(all, c("1", "2"))
  expect_identical(coef(fit, node = 2), all[["2"]])
  expect_identical(coef(fit, node = c(2, 1)), all[c("2", "1")])
  one <- all[["1"]]
  expect_identical(colnames(one), c("(weight)", "(bound)", "(Intercept)", "u", "v"))
  expect_identical(unname(one[, "u"]), c(20, -20, 0, 0))
  expect_identical(unname(one[, "(Intercept)"]), rep(-10, 4))
  expect_equal(unname(one[, "(bound)"]), rep(0, 4))
  expect_identical(attr(one, "threshold"), log(2))
  expect_identical(coef(root_iris()), stats::setNames(list(), character()))
})

test_that("rows inside a polytope meet every bound", {
  fit <- big_tree(3L)
  x <- cbind(a = steady(3000), b = steady(3000, 0.4), c = steady(3000, 0.8))
  path <- predict(fit, x, type = "path")
  for (node in names(coef(fit))) {
    facets <- coef(fit)[[node]]
    inside <- rowSums(path == 2 * as.integer(node), na.rm = TRUE) > 0
    if (!any(inside)) next
    z <- x[inside, , drop = FALSE] %*% t(facets[, c("a", "b", "c"), drop = FALSE])
    z <- sweep(z, 2L, facets[, "(Intercept)"], "+")
    expect_true(all(sweep(z, 2L, facets[, "(bound)"]) <= 1e-9))
  }
})

test_that("bounds are safe for extreme weights and thresholds", {
  expect_equal(facet_bound(1, 2), log(exp(0.5) - 1))
  expect_equal(facet_bound(5000, 1), 5000)
  expect_equal(facet_bound(1e-12, 1), log(1e-12), tolerance = 1e-9)
  expect_equal(facet_bound(1, 1e-300), 1e300)
  expect_identical(facet_bound(c(0, -1, 1, 0), c(1, 1, 0, 0)), c(-Inf, -Inf, Inf, Inf))
})

test_that("coef() refuses nodes without facets", {
  fit <- hand_iris()
  expect_snapshot({
    refusal(coef(fit, node = 2))
    refusal(coef(fit, node = c(1, 6, 7)))
    refusal(coef(fit, node = "root"))
    refusal(coef(fit, node = NA_real_))
    refusal(coef(root_iris(), node = 1))
    refusal(coef(fit, nodes = 1))
  })
})

# Pruning ---------------------------------------------------------------------

test_that("the sequence is nested, ends at the root, and prune() follows it", {
  for (fit in list(hand_square(), hand_cars(), big_tree(4L), big_tree(4L, 0L))) {
    steps <- cpt_sequence(fit)
    expect_identical(steps$leaves[nrow(steps)], 1L)
    expect_identical(steps$splits, steps$leaves - 1L)
    expect_true(all(diff(steps$cp) > 0))
    expect_true(all(diff(steps$leaves) < 0))
    expect_equal(steps$rel_loss[nrow(steps)], 1)
    before <- fit$tree$node
    for (k in seq_len(nrow(steps))) {
      small <- suppressMessages(prune(fit, cp = steps$cp[k]))
      expect_identical(validate_cpt(small), small)
      leaf <- small$tree$left == 0L
      expect_identical(sum(leaf), steps$leaves[k])
      expect_equal(sum(small$tree$loss[leaf]), steps$loss[k])
      expect_identical(max(small$tree$depth), steps$depth[k])
      expect_true(all(small$tree$node %in% before))
      before <- small$tree$node
    }
  }
})

test_that("weakest links are those of a search over all pruned trees", {
  fit <- big_tree(3L, 0L)
  tree <- fit$tree
  # Loss and size of the best subtree for one alpha, by brute recursion.
  best <- function(i, alpha) {
    stop <- c(tree$loss[i] + alpha, 1)
    if (tree$left[i] == 0L) return(stop)
    go <- best(tree$left[i], alpha) + best(tree$right[i], alpha)
    if (go[1L] < stop[1L] - 1e-9) go else stop
  }
  for (cp in c(0.001, 0.01, 0.05, 0.2, 0.7)) {
    small <- prune(fit, cp = cp)
    expect_identical(sum(small$tree$left == 0L), as.integer(best(1L, cp * tree$loss[1L])[2L]))
  }
})

test_that("cp agrees with rpart on a tree of one-column splits", {
  big <- rpart::rpart(mpg ~ wt + hp, mtcars, cp = 0, minsplit = 2, maxdepth = 2, xval = 0)
  frame <- big$frame
  inner <- frame$var != "<leaf>"
  at <- cumsum(c(1, frame$ncompete + frame$nsurrogate + inner))
  build <- function(id) {
    i <- match(id, rownames(frame))
    if (!inner[i]) return(NULL)
    split <- big$splits[at[i], ]
    # ncat -1 sends x < index left, ncat 1 sends x >= index left; left is inside.
    b <- ifelse(c("wt", "hp") == as.character(frame$var[i]), -split[["ncat"]], 0)
    gate(b, split[["ncat"]] * split[["index"]], inside = build(2 * id), outside = build(2 * id + 1))
  }
  fit <- hand_cpt(build(1), mpg ~ wt + hp, mtcars)
  expect_identical(fit$tree$node, as.integer(rownames(frame)))
  expect_equal(fit$tree$loss, frame$dev)
  table <- big$cptable[nrow(big$cptable):1, ]
  steps <- cpt_sequence(fit)
  expect_equal(steps$cp, unname(table[, "CP"]))
  expect_equal(steps$splits, unname(table[, "nsplit"]))
  expect_equal(steps$rel_loss, unname(table[, "rel error"]))
})

test_that("depth and leaves limit the tree, together if both are given", {
  fit <- big_tree(4L, 2L)
  expect_identical(max(prune(fit, depth = 2)$tree$depth), 2L)
  expect_identical(prune(fit, depth = 0)$tree$node, 1L)
  expect_identical(dim(prune(fit, depth = 0)$tree$coef), c(3L, 0L))
  expect_lte(sum(prune(fit, leaves = 5)$tree$left == 0L), 5L)
  both <- prune(fit, depth = 2, leaves = 3)
  expect_lte(max(both$tree$depth), 2L)
  expect_lte(sum(both$tree$left == 0L), 3L)
  expect_identical(prune(fit, depth = 4), fit)
  expect_identical(prune(fit, leaves = 16), fit)
  expect_identical(prune(root_iris(), cp = 1), root_iris())
  expect_identical(cpt_sequence(root_iris())$leaves, 1L)
})

test_that("a pruned tree predicts like the tree cut at the same nodes", {
  fit <- big_tree(4L, 3L)
  small <- suppressMessages(prune(fit, leaves = 6))
  new <- data.frame(a = steady(400, 0.2), b = steady(400, 0.6), c = steady(400, 0.9))
  path <- predict(fit, new, type = "path")
  leaves <- small$tree$node[small$tree$left == 0L]
  home <- apply(path, 1L, function(p) p[p %in% leaves])
  expect_identical(predict(small, new, type = "node"), home)
  expect_identical(predict(small, new, type = "node"), small$tree$node[route(small$tree, new)])
  old <- match(small$tree$node, fit$tree$node)
  expect_identical(small$tree$value, fit$tree$value[old, ])
  for (node in names(coef(small))) expect_identical(coef(small)[[node]], coef(fit)[[node]])
})

test_that("where and residuals follow the pruned tree", {
  cars <- prune(hand_cars(), leaves = 2)
  expect_identical(cars$where, predict(cars, mtcars, type = "node"))
  expect_equal(residuals(cars), stats::setNames(mtcars$mpg, rownames(mtcars)) - predict(cars, mtcars))
  expect_equal(sum(residuals(cars)^2), deviance(cars))
  # Two classes: residuals stay exact.
  two <- big_tree(4L, 2L)
  truth <- ifelse(residuals(two) == 0, as.integer(fitted(two)), 3L - as.integer(fitted(two)))
  small <- prune(two, leaves = 3)
  expect_identical(residuals(small), as.double(as.integer(fitted(small)) != truth))
})

test_that("residuals that cannot be known are NA, and a message says so", {
  fit <- hand_iris()
  expect_message(small <- prune(fit, leaves = 2), class = "cpt_message")
  wrong <- as.double(fitted(small) != iris$Species)
  known <- !is.na(small$residuals)
  expect_identical(small$residuals[known], wrong[known])
  # Only the row that node 7 got wrong is lost: its class could be any other.
  expect_identical(which(!known), which(fit$residuals == 1 & fit$where == 7L))
  expect_identical(validate_cpt(small), small)
  expect_snapshot(invisible(prune(fit, leaves = 2)))
})

test_that("nonsense limits are refused", {
  fit <- hand_iris()
  expect_error(prune(fit), class = "cpt_error_argument")
  expect_snapshot({
    refusal(prune(fit))
    refusal(prune(fit, 0.01))
    refusal(prune(fit, depth = -1))
    refusal(prune(fit, leaves = 0))
    refusal(prune(fit, leaves = "two"))
    refusal(prune(fit, cp = NA))
    refusal(prune(fit, cp = c(0.1, 0.2)))
    refusal(prune(fit, cp = -0.1))
    refusal(prune(fit, deph = 1))
  })
})
