# The engine through cpt(): what must not change a tree (weights as rows, units,
# labels, threads, kernels, interfaces, seeds), and what it must reach.
# Saved models and interrupts are in test-engine-process.R, limits and trees
# without a split in test-engine-limits.R.

# Reductions ---------------------------------------------------------------------

test_that("one facet and one split separate what logistic regression separates", {
  for (from in c(0, 0.3)) {
    x <- noise_matrix(200, 3, from)
    side <- drop(x %*% c(1, -2, 0.5)) + 0.3
    d <- data.frame(x, y = factor(ifelse(side > 0, "up", "down")))[abs(side) > 0.5, ]
    logistic <- suppressWarnings(stats::glm(y ~ ., stats::binomial(), d))
    fit <- cpt(y ~ ., d, control = brisk(max_depth = 1, max_facets = 1), seed = 1)
    up <- stats::predict(logistic) > 0
    expect_identical(unname(fit$where %in% c(2L, 3L)), rep(TRUE, nrow(d)))
    expect_identical(partition(unname(fit$where)), partition(unname(up)))
    expect_identical(as.vector(predict(fit, d) == "up"), unname(up))
    expect_identical(fit$tree$facets, c(1L, 0L, 0L))
  }
})

test_that("max_facets = 1 gives one facet a split, at any depth", {
  fit <- cpt(y ~ ., noisy_disc(), control = brisk(max_facets = 1, max_depth = 4), seed = 1)
  inner <- fit$tree$left > 0
  expect_gt(sum(inner), 2)
  expect_true(all(fit$tree$facets[inner] == 1L))
  expect_length(fit$tree$r, sum(inner))
})

test_that("one facet and one split come close to logistic regression where classes overlap", {
  make <- function(n, from) {
    up <- seq_len(n) %% 2 == 0
    x <- noise_matrix(n, 2, from) + outer(up, c(1, 1.5))
    data.frame(x, y = factor(ifelse(up, "up", "down")))
  }
  d <- make(500, 0)
  new <- make(4000, 0.45)
  logistic <- stats::glm(y ~ ., stats::binomial(), d)
  fit <- cpt(y ~ ., d, control = brisk(max_depth = 1, max_facets = 1), seed = 1)
  error <- mean(predict(fit, new) != new$y)
  glm_error <- mean((stats::predict(logistic, new) > 0) != (new$y == "up"))
  expect_gt(glm_error, 0.1)
  expect_lt(error, glm_error + 0.015)
  # the same direction, not only the same error
  b <- fit$tree$coef[, 1]
  a <- stats::coef(logistic)[-1]
  expect_gt(abs(sum(a * b)) / sqrt(sum(a^2) * sum(b^2)), 0.97)
})

# Weights ------------------------------------------------------------------------

test_that("a weight of 2 is the row twice", {
  control <- brisk(batch_size = 1000)
  d <- clusters(90)
  w <- rep(c(1, 2, 2, 1), length.out = 90)
  twice <- rep(seq_len(90), w)
  a <- cpt(y ~ ., d, weights = w, control = control, seed = 4)
  b <- cpt(y ~ ., d[twice, ], control = control, seed = 4)
  expect_identical(partition(a$where[twice]), partition(unname(b$where)))
  leaves <- function(fit) fit$tree$value[match(predict(fit, d, type = "node"), fit$tree$node), ]
  expect_equal(leaves(a), leaves(b))
  expect_equal(leaves(a)[1:3, ], diag(as.vector(tapply(w, d$y, sum))))
  expect_identical(sum(leaf_table(a)$n), 90L)
  expect_equal(sum(leaf_table(a)$weight), sum(w))
})

test_that("a weight of 2 is the row twice also where classes overlap", {
  control <- brisk(batch_size = 1000)
  d <- noisy_disc(300)
  w <- rep(c(1, 2, 2, 1, 1), length.out = 300)
  moved <- vapply(1:4, function(seed) {
    a <- cpt(y ~ ., d, weights = w, control = control, seed = seed)
    b <- cpt(y ~ ., d[rep(1:300, w), ], control = control, seed = seed)
    mean(a$where != predict(b, d, type = "node"))
  }, 1)
  # The same start and the same steps, but for the rounding of sums: nearly always
  # the same leaves.
  expect_lte(stats::median(moved), 0.02)
})

test_that("weights of regression rows count as rows", {
  control <- brisk(batch_size = 1000, max_depth = 2, min_gain = 0.01)
  d <- clusters(90)
  d$y <- c(a = -1, b = 2, c = 7)[as.character(d$y)] + steady(90, 0.2) / 10
  w <- rep(c(2, 1, 3), length.out = 90)
  a <- cpt(y ~ ., d, weights = w, control = control, seed = 4)
  b <- cpt(y ~ ., d[rep(1:90, w), ], control = control, seed = 4)
  expect_equal(predict(a, d), predict(b, d), ignore_attr = TRUE)
  expect_equal(sort(leaf_table(a)$loss), sort(leaf_table(b)$loss))
  expect_equal(a$tree$value[1], stats::weighted.mean(d$y, w))
})

test_that("weights decide where a single split falls", {
  # Three groups on a line, one cut: it takes off the group of half the weight.
  d <- data.frame(x = rep(c(0, 5, 10), c(20, 10, 10)) + steady(40) / 10,
    y = rep(c("a", "b", "c"), c(20, 10, 10)))
  control <- brisk(max_depth = 1, max_facets = 1, starts = 5)
  plain <- cpt(y ~ x, d, control = control, seed = 1)
  heavy <- cpt(y ~ x, d, weights = ifelse(d$y == "c", 4, 1), control = control, seed = 1)
  expect_identical(partition(plain$where), partition(d$y == "a"))
  expect_identical(partition(heavy$where), partition(d$y != "c"))
})

test_that("a weight of 0 is a row that is not there, but it is told its leaf", {
  d <- clusters(90)
  d[c(5, 50), 1:3] <- 1e3
  w <- replace(rep(1, 90), c(5, 50), 0)
  a <- cpt(y ~ ., d, weights = w, control = brisk(), seed = 2)
  b <- cpt(y ~ ., d[w > 0, ], control = brisk(), seed = 2)
  expect_identical(unname(a$where[w > 0]), unname(b$where))
  expect_identical(a$tree, b$tree)
  expect_identical(unname(a$where), unname(predict(a, d, type = "node")))
})

# Units and labels ---------------------------------------------------------------

test_that("columns rescaled by powers of two give the same tree", {
  d <- noisy_disc()
  by <- c(1024, 2^-20, 8, 0.5)
  e <- d
  e[1:4] <- Map(`*`, d[1:4], by)
  a <- cpt(y ~ ., d, control = brisk(), seed = 3)
  b <- cpt(y ~ ., e, control = brisk(), seed = 3)
  expect_gt(length(unique(a$where)), 2)
  expect_identical(a$where, b$where)
  expect_identical(a$tree$threshold, b$tree$threshold)
  expect_equal(a$tree$coef, b$tree$coef * by, tolerance = 1e-12)
  expect_identical(predict(a, d, type = "prob", soft = FALSE), predict(b, e, type = "prob"))
})

test_that("an outcome rescaled by a power of two gives the same regression tree", {
  d <- noisy_disc()
  d$y <- d$x1 + d$x2^2
  a <- cpt(y ~ ., d, control = brisk(), seed = 3)
  d$y <- d$y * 64
  b <- cpt(y ~ ., d, control = brisk(), seed = 3)
  expect_gt(length(unique(a$where)), 2)
  expect_identical(a$where, b$where)
  expect_equal(a$tree$value * 64, b$tree$value, tolerance = 1e-12)
})

test_that("relabelled and reordered classes give the same partition", {
  d <- noisy_disc()
  d$y <- factor(paste0(d$y, ifelse(d$x3 > 0.8, "+", "")))
  a <- cpt(y ~ ., d, control = brisk(), seed = 3)
  expect_gt(length(unique(a$where)), 3)
  for (order in list(4:1, c(2, 4, 3, 1))) {
    e <- d
    e$y <- factor(as.character(d$y), levels = levels(d$y)[order])
    b <- cpt(y ~ ., e, control = brisk(), seed = 3)
    expect_identical(b$where, a$where)
    expect_identical(b$tree$coef, a$tree$coef)
    expect_identical(b$tree$value[, match(levels(d$y), levels(e$y))], a$tree$value)
  }
  e <- d
  levels(e$y) <- c("zebra", "ant", "cow", "bee")
  expect_identical(cpt(y ~ ., e, control = brisk(), seed = 3)$where, a$where)
})

test_that("constant columns get coefficient 0 and do not disturb the others", {
  d <- clusters(90)
  e <- data.frame(k = 3, d)
  a <- cpt(y ~ ., e, control = brisk(), seed = 2)
  expect_true(all(a$tree$coef[1, ] == 0))
  expect_identical(partition(unname(a$where)), partition(as.character(d$y)))
})

# Threads and kernels ------------------------------------------------------------

expect_same_for_threads <- function(x, y, new, control, type, leaves) {
  run <- function(threads) {
    fit <- cpt(x, y, control = control, seed = 5, threads = threads)
    history <- fit$history[names(fit$history) != "seconds"]
    list(tree = fit$tree, where = fit$where, history = history,
      hard = predict(fit, new, type = type, threads = threads),
      soft = predict(fit, new, type = type, soft = TRUE, threads = threads))
  }
  one <- run(1)
  expect_gte(sum(one$tree$left == 0), leaves)
  for (threads in c(2, 3, 7)) expect_identical(run(threads), one, info = paste(threads, "threads"))
}

test_that("of several trees the one of least loss is kept, for every number of threads", {
  d <- noisy_disc(200)
  fit_of <- function(tree_starts, threads = 1, seed = 3) {
    cpt(y ~ ., d, seed = seed, threads = threads, control = brisk(max_depth = 2, max_facets = 2,
      starts = 1, prior_weight = 0, tree_starts = tree_starts))
  }
  loss <- vapply(1:6, function(k) deviance(fit_of(k)), 0)
  expect_true(all(diff(loss) <= 1e-6 * loss[1]))
  expect_lt(loss[6], 0.95 * loss[1])
  expect_identical(fit_of(6, threads = 2)$tree, fit_of(6)$tree)
})

test_that("1, 2, 3 and 7 threads give the same bits: classification", {
  x <- noise_matrix(700, 4)
  y <- factor(paste(x[, 1] * x[, 2] > 0, x[, 3] > 1))
  expect_same_for_threads(x, y, noise_matrix(300, 4, 0.2), brisk(validation = 0.2, dropout = 0.1),
    "prob", 4)
})

test_that("1, 2, 3 and 7 threads give the same bits: regression", {
  x <- noise_matrix(700, 5)
  expect_same_for_threads(x, x[, 1] * x[, 2] + x[, 3], noise_matrix(300, 5, 0.2), brisk(),
    "response", 4)
})

test_that("1, 2, 3 and 7 threads give the same bits: sparse", {
  s <- sparse_data(600, 80)
  expect_same_for_threads(s$sparse, s$y, s$sparse[1:200, ], brisk(max_depth = 2), "prob", 2)
})

test_that("1, 2, 3 and 7 threads give the same bits: wide", {
  x <- noise_matrix(150, 700)
  y <- factor(rowSums(x[, 1:30]) > 0)
  expect_same_for_threads(x, y, x[1:50, ],
    brisk(max_depth = 2, grow_min_steps = 20, refine_min_steps = 20), "prob", 2)
})

test_that("every kernel of this processor fits the rings, chosen by option or environment", {
  withr::local_options(cptree.kernels = NULL)
  withr::local_envvar(CPTREE_KERNELS = NA)
  default <- as.vector(engine_kernels(""))
  expect_true("portable" %in% default)
  expect_identical(resolve_kernels(), default[1])
  d <- rings[1:1000, ]
  for (kernel in default) {
    withr::local_options(cptree.kernels = kernel)
    fit <- cpt(class ~ ., d, control = brisk(max_depth = 2, max_facets = 12), seed = 1)
    expect_identical(attr(engine_kernels(""), "in_use"), kernel)
    right <- mean(predict(fit, rings[1001:2000, ]) == rings$class[1001:2000])
    expect_gt(right, 0.93, label = paste("accuracy of", kernel))
  }
  withr::local_options(cptree.kernels = NULL)
  withr::local_envvar(CPTREE_KERNELS = "portable")
  expect_identical(resolve_kernels(), "portable")
  withr::local_envvar(CPTREE_KERNELS = NA)
  expect_identical(resolve_kernels(), default[1])
})

test_that("kernels this processor has not are refused, and those in use stay", {
  before <- engine_kernels("")
  withr::local_options(cptree.kernels = "abacus")
  error <- expect_error(cpt(class ~ ., rings, max_depth = 0, seed = 1), class = "cpt_error_argument")
  expect_match(conditionMessage(error), "\"abacus\"")
  expect_match(conditionMessage(error), "\"portable\"")
  expect_identical(engine_kernels(""), before)
})

# Interfaces ---------------------------------------------------------------------

test_that("dense and sparse rows are predicted alike, to the bit", {
  s <- sparse_data()
  for (x in list(s$x, s$sparse)) {
    fit <- cpt(x, s$y, control = brisk(max_depth = 2), seed = 1)
    expect_gt(length(fit$tree$node), 1)
    for (type in c("node", "prob", "class", "path")) {
      expect_identical(predict(fit, s$sparse, type = type), predict(fit, s$x, type = type))
    }
    expect_identical(predict(fit, s$sparse, type = "prob", soft = TRUE),
      predict(fit, s$x, type = "prob", soft = TRUE))
  }
})

test_that("dense and sparse input give the same partition of separate groups", {
  group <- rep_len(1:3, 150)
  x <- matrix(0, 150, 12, dimnames = list(NULL, letters[1:12]))
  for (g in 1:3) x[group == g, 4 * g - 3:0] <- 3 + steady(50 * 4, g / 7) / 4
  y <- factor(c("u", "v", "w")[group])
  a <- cpt(x, y, control = brisk(), seed = 1)
  b <- cpt(methods::as(x, "CsparseMatrix"), y, control = brisk(), seed = 1)
  expect_identical(partition(a$where), partition(group))
  expect_identical(a$where, b$where)
  expect_equal(a$tree$value, b$tree$value)
})

test_that("integer and double matrices give the same tree", {
  x <- round(noise_matrix(200, 3) * 20)
  y <- factor(x[, 1] + x[, 2]^2 / 20 > 10)
  whole <- x
  storage.mode(whole) <- "integer"
  same_fit(cpt(x, y, control = brisk(), seed = 1), cpt(whole, y, control = brisk(), seed = 1))
})

test_that("formula, data frame, matrix and recipe give the same tree", {
  d <- noisy_disc(200)
  a <- cpt(y ~ ., d, control = brisk(), seed = 6)
  expect_gt(length(a$tree$node), 1)
  same_fit(cpt(y ~ x1 + x2 + x3 + x4, d, control = brisk(), seed = 6), a)
  same_fit(cpt(d[1:4], d$y, control = brisk(), seed = 6), a)
  same_fit(cpt(as.matrix(d[1:4]), d$y, control = brisk(), seed = 6), a)
  skip_if_not_installed("recipes")
  recipe <- recipes::recipe(y ~ ., data = d)
  b <- cpt(recipe, d, control = brisk(), seed = 6)
  same_fit(b, a)
  expect_identical(predict(b, d, type = "prob", soft = TRUE),
    predict(a, d, type = "prob", soft = TRUE))
})

# Seeds --------------------------------------------------------------------------

test_that("the same seed gives the same tree, another seed another", {
  d <- noisy_disc(200)
  a <- cpt(y ~ ., d, control = brisk(), seed = 8)
  same_fit(cpt(y ~ ., d, control = brisk(), seed = 8), a)
  expect_false(identical(cpt(y ~ ., d, control = brisk(), seed = 9)$tree, a$tree))
  # large seeds are told apart too
  b <- cpt(y ~ ., d, control = brisk(), seed = 2^53)
  expect_false(identical(cpt(y ~ ., d, control = brisk(), seed = 2^53 - 1)$tree, b$tree))
})

test_that("a seed leaves R's stream alone; without one set.seed() decides", {
  d <- noisy_disc(200)
  withr::with_preserve_seed({
    set.seed(1)
    before <- .Random.seed
    cpt(y ~ ., d, control = brisk(validation = 0.2), seed = 8)
    expect_identical(.Random.seed, before)
    a <- cpt(y ~ ., d, control = brisk())
    expect_false(identical(.Random.seed, before))
    b <- cpt(y ~ ., d, control = brisk())
    set.seed(1)
    same_fit(cpt(y ~ ., d, control = brisk()), a)
    expect_false(identical(a$seed, b$seed))
    # exactly one draw: what follows does not depend on the fit
    set.seed(1)
    sample.int(.Machine$integer.max, 1L)
    expect_identical(.Random.seed, {
      set.seed(1)
      cpt(y ~ ., d, control = brisk(max_depth = 1))
      .Random.seed
    })
    # no stream yet: a given seed must not create one
    rm(".Random.seed", envir = globalenv())
    cpt(y ~ ., d, control = brisk(max_depth = 1), seed = 8)
    expect_false(exists(".Random.seed", globalenv()))
  })
})

# The paper's first figure -------------------------------------------------------

test_that("two levels of polytopes find the rings", {
  fit <- cpt(class ~ ., rings, max_depth = 2, max_facets = 50, seed = 1)
  new <- withr::with_seed(99, make_rings(5000))
  leaves <- sum(fit$tree$left == 0)
  expect_gte(auc(predict(fit, new, type = "prob")[, "red"], new$class == "red"), 0.985)
  expect_true(leaves %in% 3:4)
  expect_lte(mean(fit$tree$facets[fit$tree$left > 0]), 10)
})

# Numbers in the order of the nodes, of rpart's frame and of ours.
rpart_splits <- function(formula, data, depth = 3, ...) {
  tree <- rpart::rpart(formula, data, control = rpart::rpart.control(minsplit = 20, minbucket = 7,
    cp = 0, maxdepth = depth, xval = 0, maxcompete = 0, maxsurrogate = 0), ...)
  inner <- tree$frame$var != "<leaf>"
  list(column = as.character(tree$frame$var[inner]), at = unname(tree$splits[, "index"]),
    sizes = sort(tree$frame$n))
}

test_that("without polytopes the greedy tree is rpart's", {
  skip_if_not_installed("rpart")
  greedy <- function(formula, data, depth = 3) {
    fit <- cpt(formula, data, control = brisk(column_share = 0, refine_epochs = 0, prior_weight = 0,
      max_depth = depth, min_split_obs = 20, min_leaf_obs = 7, min_gain = 0), seed = 1)
    nodes <- as.data.frame(fit)
    inner <- which(!nodes$is_leaf)
    first <- fit$tree$first[inner]
    column <- apply(fit$tree$coef[, first, drop = FALSE] != 0, 2L, which)
    zero <- -fit$tree$intercept[first] / fit$tree$coef[cbind(column, first)]
    list(column = fit$predictors$name[column], at = zero, sizes = sort(nodes$n))
  }
  in_order <- function(splits) lapply(splits[1:2], function(v) v[order(splits$column, splits$at)])
  for (case in list(list(mpg ~ ., mtcars), list(Sepal.Length ~ Sepal.Width + Petal.Width, iris))) {
    ours <- greedy(case[[1L]], case[[2L]])
    theirs <- rpart_splits(case[[1L]], case[[2L]])
    expect_equal(in_order(ours), in_order(theirs), tolerance = 1e-5)
    expect_identical(ours$sizes, theirs$sizes)
  }
  # Deeper, rpart leaves out splits that change no prediction.
  ours <- greedy(Species ~ ., iris, 2)
  theirs <- rpart_splits(Species ~ ., iris, 2, parms = list(split = "information"))
  expect_equal(in_order(ours), in_order(theirs), tolerance = 1e-5)
})

test_that("one column is preferred where it gains nearly as much", {
  d <- data.frame(x1 = steady(300), x2 = steady(300, 0.3), x3 = steady(300, 0.7))
  columns <- function(fit) colSums(fit$tree$coef != 0)
  oblique <- factor(d$x1 + d$x2 > 0)
  for (share in c(0.8, Inf)) {
    fit <- cpt(d, oblique, control = brisk(column_share = share, max_depth = 1, max_facets = 1), seed = 1)
    expect_gt(columns(fit), 1)
  }
  expect_identical(columns(cpt(d, oblique, control = brisk(column_share = 0, max_depth = 1), seed = 1)), 1)
  straight <- factor(ifelse(steady(300, 0.9) > 0.9, d$x3 > 0, d$x3 <= 0))
  fit <- cpt(d, straight, control = brisk(column_share = 0.8, max_depth = 1, max_facets = 1), seed = 1)
  expect_identical(which(fit$tree$coef != 0), 3L)
  fit <- cpt(d, straight, control = brisk(column_share = Inf, max_depth = 1, max_facets = 1), seed = 1)
  expect_gt(max(columns(fit)), 1)
})
