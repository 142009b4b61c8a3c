# Fits of a seed, in the order of the folds, as cpt_cv() draws them.
fold_seeds <- function(seed, folds, repeats = 1) {
  matrix(random_keys(seed, (folds + 1) * repeats), folds + 1)[-1, , drop = FALSE]
}

# What each row is told by trees fitted by hand to the other folds. `fit(rows, seed)`
# fits to these rows, `new(rows)` are rows to predict.
by_hand <- function(cv, fit, new, seed = 1, ...) {
  id <- cv$foldid[, 1]
  seeds <- fold_seeds(seed, max(id, na.rm = TRUE))
  out <- rep(NA_real_, length(id))
  for (k in seq_along(seeds)) {
    test <- which(id == k)
    tree <- suppressMessages(fit(which(id != k), seeds[k]))
    answer <- predict(tree, new(test), type = if (tree$task == "regression") "response" else "prob", ...)
    out[test] <- if (is.matrix(answer)) answer[, 1] else answer
  }
  out
}

first_prob <- function(cv) cv$predictions[[if (cv$task == "regression") "estimate" else 7]]

fake_case <- function(y, weights = rep(1, length(y)), task = "classification") {
  list(y = y, weights = weights, task = task, levels = letters[seq_len(max(y) + 1)])
}

# Folds -----------------------------------------------------------------------------

test_that("classes are spread evenly over the folds, and sizes differ by one row at most", {
  y <- rep(0:3, c(101, 37, 10, 3))
  for (folds in c(2, 7, 10)) {
    id <- choose_folds(fake_case(y), folds, 5)
    expect_setequal(id, seq_len(folds))
    counts <- table(factor(id, seq_len(folds)), y)
    expect_lte(max(apply(counts, 2, max) - apply(counts, 2, min)), 1)
    expect_lte(diff(range(rowSums(counts))), 1)
  }
})

test_that("a numeric outcome is spread evenly over the folds", {
  y <- exp(steady(103))
  id <- choose_folds(fake_case(y, task = "regression"), 5, 5)
  expect_lte(diff(range(table(id))), 1)
  # of every five rows that follow each other in size, one is in each fold
  by_size <- matrix(id[order(y)][1:100], 5)
  expect_true(all(apply(by_size, 2, sort) == 1:5))
  expect_false(all(by_size == by_size[, 1]))
})

test_that("rows of weight 0 do not unbalance the folds", {
  y <- rep(0:1, 50)
  w <- rep(c(1, 1, 0, 0, 1), 20)
  id <- choose_folds(fake_case(y, w), 4, 1)
  expect_lte(diff(range(table(id[w > 0]))), 1)
  expect_false(anyNA(id))
})

test_that("folds depend on the seed alone and leave R's stream untouched", {
  run <- function(seed) cpt_cv(Species ~ ., iris, folds = 3, max_depth = 0, seed = seed)
  set.seed(1)
  before <- .Random.seed
  a <- run(4)
  expect_identical(.Random.seed, before)
  expect_identical(run(4), a)
  expect_false(identical(run(5)$foldid, a$foldid))
  set.seed(1)
  b <- run(NULL)
  set.seed(1)
  expect_identical(run(NULL), b)
  # 3 classes of 50 in 3 folds: the same on every machine
  expect_identical(table(a$foldid, iris$Species)[, 1], c("1" = 17L, "2" = 17L, "3" = 16L))
  expect_snapshot(cat(run(1)$foldid))
})

# Interfaces --------------------------------------------------------------------------

test_that("every row is predicted by a tree of the other folds: formula", {
  cv <- cpt_cv(Species ~ ., iris, folds = 3, control = quick(), seed = 1)
  fit <- function(rows, seed) cpt(Species ~ ., iris[rows, ], control = quick(), seed = seed)
  expect_identical(first_prob(cv), by_hand(cv, fit, function(rows) iris[rows, ]))
  expect_identical(cv$predictions$truth, iris$Species)
  expect_identical(cv$predictions$row, 1:150)
})

test_that("every row is predicted by a tree of the other folds: frame, matrix, sparse", {
  x <- as.matrix(iris[1:4])
  cv <- cpt_cv(iris[1:4], iris$Species, folds = 3, control = quick(), seed = 1)
  fit <- function(rows, seed) cpt(x[rows, ], iris$Species[rows], control = quick(), seed = seed)
  known <- by_hand(cv, fit, function(rows) x[rows, ])
  expect_identical(first_prob(cv), known)
  dense <- cpt_cv(unname(x), iris$Species, folds = 3, control = quick(), seed = 1)
  expect_identical(dense$predictions, cv$predictions)
  sparse <- methods::as(x, "CsparseMatrix")
  a <- cpt_cv(sparse, iris$Species, folds = 3, control = quick(), seed = 1)
  fit <- function(rows, seed) cpt(sparse[rows, ], iris$Species[rows], control = quick(), seed = seed)
  expect_identical(first_prob(a), by_hand(a, fit, function(rows) sparse[rows, ]))
  b <- cpt_cv(methods::as(x, "TsparseMatrix"), iris$Species, folds = 3, control = quick(), seed = 1)
  expect_identical(b$predictions, a$predictions)
})

test_that("every row is predicted by a tree of the other folds: recipe", {
  skip_if_not_installed("recipes")
  recipe <- recipes::step_normalize(recipes::recipe(mpg ~ wt + hp, mtcars), recipes::all_predictors())
  cv <- cpt_cv(recipe, folds = 3, control = quick(), seed = 1)
  fit <- function(rows, seed) cpt(recipe, mtcars[rows, ], control = quick(), seed = seed)
  expect_identical(first_prob(cv), by_hand(cv, fit, function(rows) mtcars[rows, ]))
  expect_identical(cpt_cv(recipe, mtcars, folds = 3, control = quick(), seed = 1)$folds, cv$folds)
  expect_error(cpt_cv(recipes::prep(recipe), folds = 3), "data", class = "cpt_error_argument")
})

test_that("weights, subset and foldid are looked up in the data", {
  d <- mtcars
  d$w <- rep(c(1, 3), 16)
  d$group <- rep(c("u", "v", "w", "v"), 8)
  cv <- cpt_cv(log(mpg) ~ wt + hp, d, weights = w, subset = gear < 5, foldid = group,
    control = quick(), seed = 1)
  used <- which(d$gear < 5)
  expect_identical(cv$predictions$row, used)
  expect_identical(cv$predictions$weight, d$w[used])
  expect_equal(cv$predictions$truth, log(d$mpg[used]))
  expect_identical(cv$foldid[, 1], ifelse(d$gear < 5, match(d$group, c("u", "v", "w")), NA))
  fit <- function(rows, seed) {
    rows <- intersect(rows, used)
    cpt(log(mpg) ~ wt + hp, d[rows, ], weights = w, control = quick(), seed = seed)
  }
  expect_identical(first_prob(cv), by_hand(cv, fit, function(rows) d[rows, ])[used])
  # metrics are weighted too
  k <- cv$predictions[cv$predictions$fold == 2, ]
  expect_equal(unlist(cv$folds[2, c("rmse", "mae", "r2")]),
    cpt_metrics(k$truth, k$estimate, weights = k$weight))
  v <- d$w
  again <- cpt_cv(log(mpg) ~ wt + hp, d, weights = v, subset = d$gear < 5, foldid = d$group,
    control = quick(), seed = 1)
  expect_identical(again$predictions, cv$predictions)
  wrapper <- function(data, ...) cpt_cv(log(mpg) ~ wt + hp, data, ..., control = quick(), seed = 1)
  expect_identical(wrapper(d, weights = w, subset = gear < 5, foldid = group)$predictions, cv$predictions)
  expect_identical(
    do.call(cpt_cv, list(formula = log(mpg) ~ wt + hp, data = d, weights = d$w, subset = d$gear < 5,
      foldid = d$group, control = quick(), seed = 1))$predictions,
    cv$predictions)
})

test_that("a variable that is not in the data does not become a predictor by the dot", {
  d <- mtcars[c("mpg", "wt", "hp")]
  other <- mtcars$qsec
  cv <- cpt_cv(mpg ~ . + log(other), d, folds = 3, control = quick(), seed = 1)
  all <- cbind(d, other = other)
  fit <- function(rows, seed) cpt(mpg ~ wt + hp + log(other), all[rows, ], control = quick(), seed = seed)
  expect_identical(first_prob(cv), by_hand(cv, fit, function(rows) all[rows, ]))
})

test_that("names need not be those of variables", {
  d <- data.frame(iris[1:4], iris$Species)
  names(d) <- c("a b", "if", "{x}", strrep("long name ", 20), "the class")
  known <- cpt_cv(Species ~ ., iris, folds = 3, control = quick(), seed = 1)
  plain <- cpt_cv(`the class` ~ ., d, folds = 3, control = quick(), seed = 1)
  expect_identical(plain$predictions, known$predictions)
  expect_identical(cpt_cv(d[1:4], d[[5]], folds = 3, control = quick(), seed = 1)$predictions,
    known$predictions)
  x <- cpt_cv(factor(`the class` == "setosa") ~ `a b` + log(`{x}`), d, folds = 3, control = quick(), seed = 1)
  expect_identical(x$predictions$truth, factor(iris$Species == "setosa"))
})

test_that("one predictor, 100 classes, and a sparse matrix wider than long", {
  d <- data.frame(x = rep(1:100, 3), y = sprintf("class %d", rep(1:100, 3)))
  cv <- cpt_cv(y ~ x, d, folds = 3, control = quick(), seed = 1)
  expect_identical(as.vector(table(cv$foldid, d$y)), rep(1L, 300))
  expect_equal(rowSums(cv$predictions[-(1:6)]), rep(1, 300), ignore_attr = "names")
  wide <- methods::as(t(sparse_data(300, 60)$x), "CsparseMatrix")
  y <- rep(c("u", "v"), 30)
  cv <- cpt_cv(wide, y, folds = 4, control = quick(), seed = 1)
  fit <- function(rows, seed) cpt(wide[rows, ], y[rows], control = quick(), seed = seed)
  expect_identical(first_prob(cv), by_hand(cv, fit, function(rows) wide[rows, ]))
})

test_that("nothing is learned from the rows of the fold itself", {
  # filled in by the median of the other folds
  d <- data.frame(y = c(1:20, 101:120) / 1, x = c(1:20, 101:120) + 0.5)
  d$x[c(1, 40)] <- NA
  id <- rep(1:2, each = 20)
  cv <- suppressMessages(cpt_cv(y ~ x, d, foldid = id, na_action = "impute", control = quick(), seed = 1))
  fit <- function(rows, seed) {
    cpt(y ~ x, d[rows, ], na_action = "impute", control = quick(), seed = seed)
  }
  expect_identical(first_prob(cv), by_hand(cv, fit, function(rows) d[rows, ], na_action = "impute"))
  # poly() finds its basis in the other folds
  cv <- cpt_cv(mpg ~ poly(wt, 2), mtcars, folds = 4, control = quick(), seed = 1)
  fit <- function(rows, seed) cpt(mpg ~ poly(wt, 2), mtcars[rows, ], control = quick(), seed = seed)
  expect_identical(first_prob(cv), by_hand(cv, fit, function(rows) mtcars[rows, ]))
})

test_that("rows with gaps are left out once, with one message", {
  d <- iris
  d$Petal.Width[c(3, 70)] <- NA
  d$Species[10] <- NA
  messages <- 0
  withCallingHandlers(
    cv <- cpt_cv(Species ~ ., d, folds = 3, na_action = "omit", control = quick(), seed = 1),
    message = function(m) {
      messages <<- messages + 1
      invokeRestart("muffleMessage")
    })
  expect_identical(messages, 1)
  expect_identical(cv$predictions$row, setdiff(1:150, c(3, 10, 70)))
  expect_identical(which(is.na(cv$foldid)), c(3L, 10L, 70L))
  expect_error(cpt_cv(Species ~ ., d, folds = 3), class = "cpt_error_data")
})

test_that("strings and levels that occur in one fold only are known to all trees", {
  d <- kinds()
  d$chr[4] <- "only here"
  cv <- cpt_cv(y ~ ., d, folds = 5, control = quick(), seed = 1)
  d$chr <- factor(d$chr, sort(unique(d$chr), method = "radix"))
  fit <- function(rows, seed) cpt(y ~ ., d[rows, ], control = quick(), seed = seed)
  expect_identical(first_prob(cv), by_hand(cv, fit, function(rows) d[rows, ]))
  frame <- cpt_cv(d[-1], d$y, folds = 5, control = quick(), seed = 1)
  expect_identical(frame$predictions, cv$predictions)
  expect_s3_class(cpt_cv(y ~ num:chr, transform(d, chr = as.character(chr)), folds = 5,
    control = quick(), seed = 1), "cpt_cv")
})

test_that("a class that no training row has gets probability 0", {
  d <- data.frame(x = 1:41, y = rep(c("a", "b", "rare"), c(20, 20, 1)))
  expect_message(cv <- cpt_cv(y ~ x, d, folds = 4, control = quick(), seed = 1),
    class = "cpt_message_folds")
  p <- cv$predictions
  expect_identical(p$prob_rare[41], 0)
  expect_equal(p$prob_a + p$prob_b + p$prob_rare, rep(1, 41))
  expect_gt(cv$folds$log_loss[p$fold[41]], -log(1e-15) / 11 - 1e-9)
})

# Results ------------------------------------------------------------------------------

test_that("means and standard errors are those of the folds", {
  cv <- cpt_cv(Species ~ ., iris, folds = 4, control = quick(), seed = 2)
  expect_identical(cv$folds$rows, as.vector(table(cv$foldid)))
  for (k in 1:4) {
    p <- cv$predictions[cv$predictions$fold == k, ]
    prob <- as.matrix(p[paste0("prob_", levels(iris$Species))])
    colnames(prob) <- levels(iris$Species)
    expect_equal(unlist(cv$folds[k, cv$metrics$metric]), cpt_metrics(p$truth, prob = prob))
  }
  expect_identical(cv$predictions$estimate,
    factor(levels(iris$Species)[max.col(cv$predictions[7:9], "first")], levels(iris$Species)))
  for (name in cv$metrics$metric) {
    row <- cv$metrics[cv$metrics$metric == name, ]
    expect_equal(row$mean, mean(cv$folds[[name]]))
    expect_equal(row$se, sd(cv$folds[[name]]) / 2)
    expect_identical(row$folds, 4L)
  }
  fit <- cpt(Species ~ ., iris[cv$foldid != 3, ], control = quick(), seed = fold_seeds(2, 4)[3])
  expect_equal(unlist(cv$folds[3, cv$sizes$metric]),
    c(leaves = sum(leaf_table(fit)$is_leaf), depth = max(fit$tree$depth), facets = sum(fit$tree$facets)))
  expect_equal(cv$sizes$mean, unname(colMeans(cv$folds[cv$sizes$metric])))
})

test_that("repeats have other folds, and average the variance", {
  cv <- cpt_cv(dist ~ speed, cars, folds = 3, repeats = 2, control = quick(), seed = 1)
  expect_identical(dim(cv$foldid), c(50L, 2L))
  expect_false(identical(cv$foldid[, 1], cv$foldid[, 2]))
  expect_identical(nrow(cv$predictions), 100L)
  expect_identical(cv$predictions$row, rep(1:50, 2))
  v <- tapply(cv$folds$rmse, cv$folds$repetition, var)
  expect_equal(cv$metrics$se[1], sqrt(mean(v) / 3))
  expect_equal(cv$metrics$mean[1], mean(cv$folds$rmse))
  # a column of the folds can be given again
  own <- cpt_cv(dist ~ speed, cars, foldid = cv$foldid[, 2], control = quick(), seed = 1)
  expect_identical(own$foldid[, 1], cv$foldid[, 2])
})

test_that("leave-one-out has no AUC, and says in how many folds", {
  few <- iris[c(1:4, 51:54, 101:104), ]
  expect_message(cv <- cpt_cv(Species ~ Petal.Width, few, folds = 12, max_depth = 0, seed = 1),
    class = "cpt_message_folds")
  expect_identical(cv$metrics$folds, c(12L, 12L, 0L, 12L, 12L))
  expect_identical(cv$metrics$mean[3], NA_real_)
  # without its own row, a class of three rows is never the largest
  expect_identical(cv$metrics$mean[1], 0)
})

test_that("rows of weight 0 are predicted but do not count", {
  w <- rep(c(1, 0), 75)
  cv <- cpt_cv(Species ~ ., iris, weights = w, foldid = rep(1:3, each = 50), control = quick(), seed = 1)
  expect_identical(nrow(cv$predictions), 150L)
  p <- cv$predictions[w > 0, ]
  expect_equal(cv$metrics$mean[1], mean(p$truth == p$estimate))
  none <- suppressWarnings(cpt_cv(Species ~ ., iris, weights = as.numeric(Species != "setosa"),
    foldid = as.integer(Species), control = quick(), seed = 1))
  expect_identical(none$metrics$folds[1], 2L)
})

test_that("warnings of the fits are given once, with their number", {
  d <- data.frame(x = 1:30, y = factor(rep(c("a", "b", "a"), each = 10)))
  seen <- character()
  withCallingHandlers(
    cv <- cpt_cv(y ~ x, d, foldid = d$y, control = quick(), seed = 1),
    warning = function(w) {
      seen <<- c(seen, class(w)[1])
      invokeRestart("muffleWarning")
    })
  expect_identical(seen, "cpt_warning_fits")
  expect_identical(cv$metrics$mean[1], 0)
})

test_that("other arguments of cpt() are passed on, settings are merged", {
  cv <- cpt_cv(Species ~ ., iris, folds = 3, control = quick(), max_depth = 0, seed = 1)
  expect_identical(cv$control, control_merge(quick(), list(max_depth = 0)))
  expect_identical(cv$sizes$mean, c(1, 0, 0))
})

test_that("what is sent to workers holds the needed columns only, and no environment of the user", {
  d <- data.frame(y = sin(1:100), x = 1:100, z = 1)
  d$big <- paste(rep("a long text of a column that no one needs", 100), 1:100)
  formula <- local({
    huge <- rnorm(1e6)
    k <- 2
    y ~ x + I(x^k)
  })
  case <- as_case(formula, d, .own = list(control = cpt_control(), known = character()))
  expect_lt(length(serialize(case$args, NULL)), 2e4)
  expect_setequal(names(case$args$data), c("x", "y"))
})

# Elsewhere and progress ---------------------------------------------------------------

test_that("the result is the same on every plan, and R's stream stays as it was", {
  skip_on_cran()
  skip_if_not_installed("future.apply")
  cube <- function(x) by_half(x)^3
  by_half <- function(x) x / 2
  assign("cube", cube, globalenv())
  assign("by_half", by_half, globalenv())
  withr::defer(rm(cube, by_half, envir = globalenv()))
  k <- 2
  cv <- function() {
    cpt_cv(mpg ~ wt + cube(hp) + I(disp^k) + splines::ns(qsec, 2), mtcars, folds = 4,
      control = quick(), seed = 3)
  }
  tune <- function() {
    cpt_tune(class ~ ., rings[1:400, ], method = "halving", n_settings = 4, folds = 3,
      ranges = list(max_depth = c(1, 3), max_facets = c(1, 4)), control = quick(), seed = 3)
  }
  # `time` is the clock
  strip <- function(tuned) {
    tuned$fit$time <- tuned$fit$history$seconds <- NULL
    tuned
  }
  set.seed(1)
  expect_identical(plan_workers(), 0)
  known <- list(cv(), strip(tune()))
  old <- future::plan("multisession", workers = 2)
  withr::defer(future::plan(old))
  expect_identical(as.integer(plan_workers()), 2L)
  before <- .Random.seed
  expect_identical(cv(), known[[1]])
  expect_identical(strip(tune()), known[[2]])
  expect_identical(.Random.seed, before)
  # fits of a parallel plan have one thread each, whatever is asked for
  tell <- function(x) {
    for (frame in sys.frames()) if (is.list(frame$case)) stop("threads: ", frame$case$threads)
    x
  }
  assign("tell", tell, globalenv())
  withr::defer(rm(tell, envir = globalenv()))
  expect_error(cpt_cv(mpg ~ tell(wt), mtcars, folds = 2, control = quick(), threads = 2), "threads: 1")
  skip_if_not_installed("progressr")
  withr::local_options(progressr.enable = TRUE)
  signals <- 0
  withCallingHandlers(cv(), progression = function(p) signals <<- signals + (p$type == "update"))
  expect_identical(signals, 4)
  expect_error(cpt_cv(mpg ~ factor(carb), mtcars, foldid = mtcars$carb > 4, control = quick()),
    class = "cpt_error_newdata")
})

test_that("progress changes nothing", {
  run <- function(verbose) {
    cpt_cv(Species ~ ., iris, folds = 3, control = quick(), seed = 1, verbose = verbose)
  }
  silent <- run(FALSE)
  silent$call <- NULL
  shown <- suppressMessages(run(TRUE))
  shown$call <- NULL
  expect_identical(shown, silent)
  expect_silent(run(FALSE))
})

test_that("print and summary", {
  expect_snapshot({
    cv <- cpt_cv(mpg ~ wt, mtcars, folds = 4, max_depth = 0, seed = 1)
    cv
    summary(cv)
    cpt_cv(dist ~ speed, cars, folds = 3, repeats = 2, max_depth = 0, seed = 2)
    print(cpt_cv(x = iris[1:4], iris$Species, folds = 3, max_depth = 0, seed = 2)$call)
  })
})

test_that("wrong calls say what to do", {
  expect_snapshot(error = TRUE, {
    cpt_cv()
    cpt_cv(1:3, 1:3)
    cpt_cv(Species ~ ., iris, folds = 1)
    cpt_cv(Species ~ ., iris, folds = 151)
    cpt_cv(Species ~ ., iris, repeats = 0)
    cpt_cv(Species ~ ., iris, fold = 3)
    cpt_cv(Species ~ ., iris, maxdepth = 3)
    cpt_cv(Species ~ ., iris, max_depth = -3)
    cpt_cv(Species ~ ., iris, foldid = 1:3)
    cpt_cv(Species ~ ., iris, foldid = rep(1, 150))
    cpt_cv(Species ~ ., iris, foldid = c(NA, 2:150))
    cpt_cv(Species ~ ., iris, foldid = rep(1:2, 75), repeats = 2)
    cpt_cv(Species ~ ., iris, foldid = nowhere)
    cpt_cv(iris[1:4], iris$Species, subset = 1:3)
    cpt_cv(iris[1:4])
    cpt_cv(mpg ~ factor(carb), mtcars, foldid = mtcars$carb > 4, control = quick(), seed = 1)
    print(cpt_cv(dist ~ speed, cars, folds = 2, max_depth = 0, seed = 1), colour = 1)
  })
})
