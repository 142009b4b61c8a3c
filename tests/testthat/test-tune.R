means_of <- function(mean, se, leaves, facets = leaves) {
  data.frame(setting = seq_along(mean), mean = mean, se = se, leaves = leaves, depth = 1, facets = facets)
}

# Points of two rings without R's random stream.
make_rings_steady <- function(n) {
  x1 <- 2 * ((seq_len(n) * 0.7548776662466927) %% 1) - 1
  x2 <- 2 * ((seq_len(n) * 0.5698402909980532) %% 1) - 1
  radius <- sqrt(x1^2 + x2^2)
  data.frame(x1 = x1, x2 = x2, class = factor(radius > 0.4 & radius < 0.8, c(FALSE, TRUE), c("blue", "red")))
}

small_grid <- list(max_depth = c(1, 2), max_facets = c(1, 3))

tune_iris <- function(...) {
  cpt_tune(Species ~ ., iris, folds = 3, control = quick(), seed = 1, ...)
}

# The choice ----------------------------------------------------------------------------

test_that("the fewest leaves within one standard error of the best are chosen", {
  means <- means_of(c(0.80, 0.90, 0.93, 0.95, 0.94), c(0.01, 0.02, 0.02, 0.03, 0.5), c(1, 3, 4, 9, 7))
  # 0.95 - 0.03 = 0.92: settings 3, 4 and 5 are near
  expect_identical(choose_setting(means, "accuracy", TRUE), c(4L, 3L))
  expect_identical(choose_setting(means, "accuracy", FALSE), c(4L, 4L))
  # the standard error is that of the best, not of the others
  means$se[4] <- 0.005
  expect_identical(choose_setting(means, "accuracy", TRUE), c(4L, 4L))
  # smaller is better for these
  means$se <- 0.06
  expect_identical(choose_setting(means, "rmse", TRUE), c(1L, 1L))
  means$leaves[1] <- 20
  means$se[1] <- 0.1
  expect_identical(choose_setting(means, "rmse", TRUE), c(1L, 2L))
})

test_that("ties go to the smaller tree, then to the better mean", {
  tie <- means_of(c(0.9, 0.9, 0.9), 0.01, c(5, 3, 3), c(9, 8, 7))
  expect_identical(choose_setting(tie, "auc", FALSE), c(3L, 3L))
  near <- means_of(c(0.90, 0.905, 0.91), 0.02, c(3, 3, 5))
  expect_identical(choose_setting(near, "auc", TRUE), c(3L, 2L))
})

test_that("settings without a value are never chosen", {
  means <- means_of(c(NA, 0.7, 0.9), c(NA, 0.1, NA), c(1, 2, 3))
  expect_identical(choose_setting(means, "auc", TRUE), c(3L, 3L))
  expect_snapshot(error = TRUE, {
    choose_setting(means_of(NA_real_, NA_real_, 1), "auc", TRUE)
    cpt_tune(Species ~ Petal.Width, iris[c(1:3, 51:53), ], grid = list(max_depth = 0), folds = 6,
      metric = "auc", seed = 1)
  })
})

# Results -------------------------------------------------------------------------------

test_that("every setting has the numbers that cpt_cv() gives", {
  tuned <- tune_iris(grid = small_grid, one_se = FALSE)
  expect_identical(tuned$results[c("max_depth", "max_facets")],
    data.frame(max_depth = c(1, 2, 1, 2), max_facets = c(1, 1, 3, 3)))
  for (i in 1:4) {
    row <- tuned$results[i, ]
    cv <- cpt_cv(Species ~ ., iris, folds = 3, control = quick(), seed = 1,
      max_depth = row$max_depth, max_facets = row$max_facets)
    expect_identical(c(row$mean, row$se), unlist(cv$metrics[1, c("mean", "se")], use.names = FALSE))
    expect_identical(c(row$leaves, row$depth, row$facets), cv$sizes$mean)
    folds <- tuned$folds[tuned$folds$setting == i, ]
    expect_equal(folds[names(cv$folds)], cv$folds, ignore_attr = "row.names")
    expect_identical(tuned$foldid, cv$foldid)
  }
  expect_identical(tuned$results$best, tuned$results$chosen)
  expect_identical(tuned$results$mean[tuned$results$best], max(tuned$results$mean))
})

test_that("regression, by another metric", {
  tuned <- cpt_tune(mpg ~ wt + hp, mtcars, grid = data.frame(max_depth = 0:2), metric = "mae",
    folds = 4, control = quick(), seed = 1, one_se = FALSE)
  expect_identical(which.min(tuned$results$mean), which(tuned$results$best))
  cv <- cpt_cv(mpg ~ wt + hp, mtcars, folds = 4, control = quick(), max_depth = 1, seed = 1)
  expect_identical(tuned$results$mean[2], cv$metrics$mean[2])
})

test_that("the fit is what cpt() gives with the chosen settings", {
  tuned <- tune_iris(grid = small_grid)
  expect_s3_class(tuned$control, "cpt_control")
  expect_identical(tuned$control$max_depth, tuned$results$max_depth[tuned$results$chosen])
  same_fit(tuned$fit, cpt(Species ~ ., iris, control = tuned$control, seed = 1))
  expect_identical(tuned$fit$call[1:3], quote(cpt(formula = Species ~ ., data = iris)))
  same_fit(update(tuned$fit), tuned$fit)
  expect_null(tune_iris(grid = small_grid, refit = FALSE)$fit)
  expect_true("fit" %in% names(tune_iris(grid = small_grid, refit = FALSE)))
})

test_that("all interfaces choose the same", {
  tuned <- tune_iris(grid = small_grid)
  x <- as.matrix(iris[1:4])
  for (data in list(iris[1:4], x)) {
    other <- cpt_tune(data, iris$Species, grid = small_grid, folds = 3, control = quick(), seed = 1)
    expect_identical(other$results, tuned$results)
    same_fit(other$fit, tuned$fit)
  }
  sparse <- cpt_tune(methods::as(x, "CsparseMatrix"), iris$Species, grid = small_grid, folds = 3,
    control = quick(), seed = 1)
  same_fit(sparse$fit, cpt(methods::as(x, "CsparseMatrix"), iris$Species, control = sparse$control, seed = 1))
})

test_that("weights, subset, folds and gaps reach the fit on all rows", {
  d <- mtcars
  d$w <- rep(1:2, 16)
  d$hp[5] <- NA
  tuned <- suppressMessages(cpt_tune(mpg ~ wt + hp, d, weights = w, subset = gear < 5, foldid = cyl,
    na_action = "omit", grid = list(max_depth = 1:2), control = quick(), seed = 1))
  expect_identical(sort(unique(tuned$folds$fold)), 1:3)
  known <- suppressMessages(cpt(mpg ~ wt + hp, d, weights = w, subset = gear < 5, na_action = "omit",
    control = tuned$control, seed = 1))
  same_fit(tuned$fit, known)
  expect_identical(tuned$fit$na, known$na)
  expect_identical(names(tuned$fit$where), names(known$where))
  same_fit(suppressMessages(update(tuned$fit)), known)
})

test_that("a seed decides everything and leaves R's stream alone", {
  set.seed(1)
  before <- .Random.seed
  strip <- function(tuned) replace(tuned, c("fit", "call"), NULL)
  a <- tune_iris(method = "random", n_settings = 3)
  expect_identical(strip(tune_iris(method = "random", n_settings = 3)), strip(a))
  expect_identical(.Random.seed, before)
  set.seed(1)
  b <- cpt_tune(dist ~ speed, cars, grid = list(max_depth = 0:1), folds = 2, control = quick())
  same_fit(cpt(dist ~ speed, cars, control = b$control, seed = b$seed), b$fit)
})

# Settings ------------------------------------------------------------------------------

test_that("what is given by name or in control is not searched by default", {
  table <- function(given = character(), method = "grid", ...) {
    case <- list(given = given, control = cpt_control(...))
    settings_to_try(case, NULL, NULL, method, 7, 1)
  }
  expect_named(table(), names(tune_grid))
  expect_identical(nrow(table()), 12L)
  expect_named(table("max_depth"), "max_facets")
  expect_named(table(max_facets = 2), "max_depth")
  expect_identical(dim(table(c("max_depth", "max_facets"))), c(1L, 0L))
  expect_named(table("dropout", "random"), setdiff(names(tune_ranges), "dropout"))
  one <- tune_iris(max_depth = 1, max_facets = 2)
  expect_identical(nrow(one$results), 1L)
  expect_identical(one$control$max_facets, 2)
  expect_output(print(one), "the settings given")
})

test_that("drawn settings are spread evenly over their ranges", {
  ranges <- list(max_depth = c(2, 8), max_facets = c(1, 30), prior_weight = c(0.02, 2),
    dropout = c(0, 0.4), standardize = c("columns", "none"), choose_size = c(TRUE, FALSE))
  drawn <- draw_settings(ranges, 70, 3)
  expect_identical(nrow(drawn), 70L)
  expect_identical(as.vector(table(drawn$max_depth)), rep(10L, 7))
  expect_true(all(drawn$max_facets %in% 1:30))
  # a third of the settings in each third of the logarithms
  thirds <- findInterval(log(drawn$prior_weight / 0.02) / log(100), c(0, 1, 2) / 3)
  expect_true(all(table(thirds) %in% 22:25))
  expect_true(all(table(findInterval(drawn$dropout, c(0, 0.1, 0.2, 0.3))) %in% 16:19))
  expect_identical(as.vector(table(drawn$standardize)), c(35L, 35L))
  expect_type(drawn$choose_size, "logical")
  # settings are not tied to each other
  expect_lt(abs(cor(drawn$max_depth, drawn$dropout)), 0.4)
  expect_identical(draw_settings(ranges, 70, 3), drawn)
  expect_false(identical(draw_settings(ranges, 70, 4), drawn))
  expect_identical(draw_settings(list(max_depth = c(1, 2)), 10, 1)$max_depth |> sort(), c(1, 2))
})

test_that("the built-in grid and ranges hold possible settings", {
  for (name in names(tune_ranges)) expect_silent(check_range(tune_ranges[[name]], name))
  expect_length(setting_controls(cpt_control(), expand_grid(tune_grid)), 12)
  drawn <- draw_settings(tune_ranges, 30, 1)
  expect_length(setting_controls(cpt_control(), drawn), 30)
})

test_that("a grid may be a data frame, a tibble or a list; random search takes some of its rows", {
  frame <- data.frame(max_depth = c(1, 2, 0), standardize = factor(c("none", "columns", "matrix")))
  tuned <- tune_iris(grid = frame, refit = FALSE)
  expect_identical(tuned$results[2:3], frame)
  expect_identical(tuned$control$standardize, as.character(frame$standardize[tuned$results$chosen]))
  case <- list(given = character(), control = cpt_control())
  grid <- list(max_depth = 1:6, max_facets = 1:5)
  some <- settings_to_try(case, grid, NULL, "random", 8, 1)
  expect_identical(nrow(unique(some)), 8L)
  expect_true(all(some$max_depth %in% 1:6 & some$max_facets %in% 1:5))
  expect_identical(nrow(settings_to_try(case, grid, NULL, "random", 99, 1)), 30L)
  expect_identical(nrow(settings_to_try(case, grid, NULL, "halving", 8, 1)), 30L)
  skip_if_not_installed("tibble")
  again <- tune_iris(grid = tibble::as_tibble(frame), refit = FALSE)
  expect_identical(again$results, tuned$results)
})

# Halving -------------------------------------------------------------------------------

test_that("rounds take three times the rows, and never less than 100", {
  shares <- function(settings, n, folds = 5) {
    halving_shares(settings, list(y = numeric(n)), list(seed = matrix(0, folds, 1)))
  }
  expect_equal(shares(27, 1e5), c(1 / 9, 1 / 3, 1))
  expect_equal(shares(28, 1e5), c(1 / 27, 1 / 9, 1 / 3, 1))
  expect_equal(shares(3, 1e5), 1 / c(1))
  expect_equal(shares(1, 1e5), 1)
  expect_equal(shares(20, 150), 1)
  # 400 training rows: 133 is possible, 44 is not
  expect_equal(shares(20, 500), c(1 / 3, 1))
})

test_that("a share of the rows keeps the classes, and smaller shares are parts of larger ones", {
  case <- list(y = rep(0:2, c(90, 45, 1)), task = "classification")
  rows <- setdiff(1:136, c(1, 50, 100))
  third <- share_rows(rows, case, 1 / 3, 9)
  ninth <- share_rows(rows, case, 1 / 9, 9)
  expect_true(all(ninth %in% third) && all(third %in% rows))
  expect_identical(as.vector(table(case$y[third])), c(29L, 15L, 1L))
  expect_false(identical(share_rows(rows, case, 1 / 3, 8), third))
  case <- list(y = sin(1:60), task = "regression")
  expect_length(share_rows(1:60, case, 1 / 3, 9), 20)
})

test_that("halving lets the best third go on, and chooses among the last", {
  d <- make_rings_steady(450)
  tuned <- cpt_tune(class ~ ., d, method = "halving", folds = 3, seed = 1, control = quick(),
    grid = list(max_depth = 0:2, max_facets = c(1, 2, 4)))
  by_round <- split(tuned$folds, tuned$folds$round)
  expect_length(by_round, 2)
  expect_equal(unique(by_round[[1]]$share), 1 / 3)
  expect_equal(unique(by_round[[2]]$share), 1)
  first <- tapply(by_round[[1]]$accuracy, by_round[[1]]$setting, mean)
  gone_on <- unique(by_round[[2]]$setting)
  expect_length(gone_on, 3)
  expect_gte(min(first[gone_on]), max(first[-gone_on]))
  expect_identical(which(tuned$results$round == 2), gone_on)
  expect_true(which(tuned$results$chosen) %in% gone_on)
  # the numbers of the last round are those of a full cross-validation
  i <- gone_on[1]
  cv <- cpt_cv(class ~ ., d, folds = 3, seed = 1, control = quick(),
    max_depth = tuned$results$max_depth[i], max_facets = tuned$results$max_facets[i])
  expect_identical(tuned$results$mean[i], cv$metrics$mean[1])
  # the first round is that of trees fitted to a third of the rows
  id <- cv$foldid[, 1]
  seed <- random_keys(1, 4)[3]
  case <- list(y = as.integer(d$class) - 1L, task = "classification")
  rows <- share_rows(which(id != 2), case, 1 / 3, seed)
  fit <- cpt(class ~ ., d[rows, ], control = quick(), max_depth = 2, max_facets = 1, seed = seed)
  one <- by_round[[1]]
  expect_equal(one$accuracy[one$setting == 3 & one$fold == 2],
    cpt_metrics(fit, d[id == 2, ])[["accuracy"]])
})

# Text ----------------------------------------------------------------------------------

test_that("print shows the choice and the best settings", {
  tuned <- structure(list(
    results = data.frame(setting = 1:4, max_depth = c(1, 2, 3, 4), dropout = c(0, 0.25, 0, 0.25),
      round = 1L, share = 1, mean = c(0.7, 0.911, 0.92, 0.9), se = c(0.01, 0.02, 0.0123, 0.01),
      leaves = c(2, 3.4, 7, 12), depth = c(1, 2, 3, 4), facets = c(4, 8, 12, 20),
      best = c(FALSE, FALSE, TRUE, FALSE), chosen = c(FALSE, TRUE, FALSE, FALSE)),
    folds = data.frame(fold = 1:5), foldid = matrix(c(1:5, NA), 6), metric = "accuracy",
    method = "grid", one_se = TRUE, task = "classification", seed = 17
  ), class = "cpt_tune")
  halved <- tuned
  halved$method <- "halving"
  halved$results$round <- c(1L, 2L, 2L, 1L)
  halved$results$share <- c(1 / 3, 1, 1, 1 / 3)
  halved$results$chosen <- halved$results$best
  expect_snapshot({
    tuned
    print(tuned, n = 2)
    halved
  })
})

test_that("wrong calls say what to do", {
  expect_snapshot(error = TRUE, {
    cpt_tune(Species ~ ., iris, grid = list(maxdepth = 1:3))
    cpt_tune(Species ~ ., iris, grid = list(max_depth = c(1, -1)))
    cpt_tune(Species ~ ., iris, grid = list(max_depth = c(2, 3), choose_size = TRUE))
    cpt_tune(Species ~ ., iris, grid = 1:3)
    cpt_tune(Species ~ ., iris, grid = list(1:3))
    cpt_tune(Species ~ ., iris, grid = list())
    cpt_tune(Species ~ ., iris, grid = list(max_depth = numeric()))
    cpt_tune(Species ~ ., iris, grid = cpt_control())
    cpt_tune(Species ~ ., iris, grid = list(max_depth = 1:2), max_depth = 3)
    cpt_tune(Species ~ ., iris, ranges = list(max_depth = c(1, 3)))
    cpt_tune(Species ~ ., iris, method = "random", ranges = list(max_depth = 3))
    cpt_tune(Species ~ ., iris, method = "random", ranges = list(max_depth = c(3, 30)))
    cpt_tune(Species ~ ., iris, method = "random", ranges = list(depth = c(3, 30)))
    cpt_tune(Species ~ ., iris, method = "bayes")
    cpt_tune(Species ~ ., iris, metric = "rmse")
    cpt_tune(Species ~ ., iris, metric = "acuracy")
    cpt_tune(Species ~ ., iris, n_settings = 0)
    cpt_tune(Species ~ ., iris, one_se = 1)
    cpt_tune(Species ~ ., iris, grd = 1)
    cpt_tune(iris)
  })
})
