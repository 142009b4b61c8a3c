# Counterfactuals: always checked by predict(), against numbers worked out by hand, a fine grid
# in two dimensions, and complete enumeration where all columns are discrete.

skip_if_not_installed("quadprog")
skip_if_not_installed("lpSolve")

test_that("a change through one facet is the projection worked out by hand", {
  fit <- hand_iris()
  sd <- fit$predictors$sd
  # To versicolor: petals longer than 2.5, which row 1 misses by 1.1.
  out <- counterfactual(fit, iris[1, ], "versicolor", tolerance = 1e-6)
  expect_equal(out$distance, 1.1 / sd[3], tolerance = 1e-4)
  expect_identical(out$changes$column, "Petal.Length")
  expect_equal(out$new_row$Petal.Length, 2.5, tolerance = 1e-4)
  expect_gt(out$new_row$Petal.Length, 2.5)
  expect_identical(out$new_row[-3], iris[1, -3])
  expect_identical(out$after$node, 6L)
  # To virginica: also 0.2 length + width > 2.7; the projection onto that line is long enough.
  out <- counterfactual(fit, iris[1, ], "virginica", tolerance = 1e-6)
  b <- c(0.2 * sd[3], sd[4])
  t <- b * (2.7 - 0.2 * 1.4 - 0.2) / sum(b^2)
  expect_gt(1.4 + sd[3] * t[1], 2.5)
  expect_equal(out$distance, sqrt(sum(t^2)), tolerance = 1e-4)
  expect_equal(unlist(out$new_row[3:4], use.names = FALSE), c(1.4, 0.2) + sd[3:4] * t, tolerance = 1e-4)
  # By absolute values the cheaper column alone, up to its range: width, then length.
  out <- counterfactual(fit, iris[1, ], "virginica", norm = "l1", tolerance = 1e-6)
  expect_equal(out$distance, (2.5 - 1.4) / sd[3] + (2.7 - 0.2 * 2.5 - 0.2) / sd[4], tolerance = 1e-4)
})

test_that("numbers are rounded as far as the tolerance allows, and the text is the row", {
  fit <- hand_iris()
  exact <- counterfactual(fit, iris[1, ], "virginica", tolerance = 0)
  for (tolerance in c(0.001, 0.01, 0.1)) {
    out <- counterfactual(fit, iris[1, ], "virginica", tolerance = tolerance)
    expect_lte(out$distance, exact$distance * (1 + tolerance))
    row <- iris[1, ]
    row[out$changes$column] <- as.list(as.numeric(out$changes$to))
    expect_identical(row, out$new_row)
    expect_identical(as.character(predict(fit, row)), "virginica")
  }
  expect_identical(counterfactual(fit, iris[1, ], "versicolor", tolerance = 0.1)$new_row$Petal.Length, 2.51)
})

test_that("the result says what was changed, in the columns and types of the row", {
  fit <- hand_iris()
  out <- counterfactual(fit, iris[1, ])
  expect_s3_class(out, "cpt_counterfactual")
  expect_identical(out$row, iris[1, ])
  expect_identical(as.data.frame(out), out$changes)
  expect_equal(out$changes$change, out$new_row$Petal.Length - 1.4)
  expect_equal(out$changes$size, out$changes$change / fit$predictors$sd[3])
  expect_equal(out$distance, abs(out$changes$size))
  expect_lte(out$bound, out$distance)
  expect_identical(as.character(out$before$prediction), "setosa")
  expect_identical(out$after$prob, predict(fit, out$new_row, type = "prob")[1, ])
})

# The row changed on a fine grid up to `reach`: the smallest change that is predicted as wished.
grid_smallest <- function(fit, row, to, reach, norm, n = 301) {
  name <- fit$predictors$name
  g <- seq(-reach, reach, length.out = n)
  t <- as.matrix(expand.grid(g, g))
  size <- if (norm == "l2") sqrt(rowSums(t^2)) else rowSums(abs(t))
  x <- sweep(sweep(t, 2L, fit$predictors$sd, "*"), 2L, unlist(row[name]), "+")
  colnames(x) <- name
  inside <- x[, 1] >= fit$predictors$min[1] & x[, 1] <= fit$predictors$max[1] &
    x[, 2] >= fit$predictors$min[2] & x[, 2] <= fit$predictors$max[2]
  wished <- inside & predict(fit, x) %in% to
  min(size[wished], Inf)
}

test_that("no smaller change is found on a fine grid", {
  hand <- hand_square()
  one <- cpt(class ~ ., rings, control = brisk(max_depth = 2), seed = 1)
  deep <- cpt(class ~ ., rings, control = brisk(max_depth = 4, max_facets = 3), seed = 2)
  cases <- list(list(hand, square_data()[seq(1, 441, by = 61), ]),
    list(one, rings[seq(1, 2000, by = 290), ]), list(deep, rings[seq(5, 2000, by = 290), ]))
  for (case in cases) {
    fit <- case[[1L]]
    for (i in seq_len(nrow(case[[2L]]))) {
      row <- case[[2L]][i, ]
      norm <- if (i %% 2) "l2" else "l1"
      for (to in setdiff(levels(fit), as.character(predict(fit, row)))) {
        out <- counterfactual(fit, row, to, norm = norm)
        expect_identical(as.character(predict(fit, out$new_row)), to)
        expect_gte(grid_smallest(fit, row, to, 1.02 * out$distance, norm), out$distance * 0.99)
      }
    }
  }
})

test_that("with discrete columns no smaller change exists at all", {
  all <- expand.grid(a = 0:8, b = 0:5, f = factor(c("u", "v", "w")), g = c("p", "q"), l = c(FALSE, TRUE),
    o = factor(1:3, ordered = TRUE), stringsAsFactors = FALSE)
  score <- with(all, (a - 4)^2 / 4 + b * (f == "v") - 2 * (g == "q") + as.integer(o) * l)
  all$y <- cut(score, c(-Inf, 1.5, 4, Inf), c("low", "mid", "high"))
  fit <- cpt(y ~ ., all, control = brisk(max_depth = 3), seed = 1)
  x <- blueprint_forge(fit$blueprint, all)$x
  class <- as.character(predict(fit, all))
  sd <- stats::setNames(fit$predictors$sd, fit$predictors$name)
  number <- c("a", "b", "o")
  for (i in seq(7, nrow(all), by = 411)) {
    part <- cbind(
      t((t(x[, number]) - x[i, number]) / sd[number]),
      all$f != all$f[i], all$g != all$g[i], all$l != all$l[i]
    )
    for (norm in c("l2", "l1")) {
      size <- if (norm == "l2") sqrt(rowSums(part^2)) else rowSums(abs(part))
      for (to in setdiff(unique(class), class[i])) {
        out <- counterfactual(fit, all[i, ], to, norm = norm, tolerance = 1e-6)
        expect_equal(out$distance, min(size[class == to]))
        expect_equal(out$distance, size[match(do.call(paste, out$new_row[1:6]), do.call(paste, all[1:6]))])
      }
    }
  }
})

test_that("every change reaches what was wished", {
  for (case in five_fits()) {
    fit <- case$fit
    rows <- mixed_rows(case$data, 12)
    now <- predict(fit, rows)
    for (i in seq_len(12)) {
      to <- if (fit$task == "regression") {
        if (i %% 2 && now[i] < max(fit$tree$value)) "higher" else c(-Inf, min(fit$tree$value[tree_leaf(fit$tree), ]))
      } else {
        leaves <- unique(as.character(node_prediction(fit))[tree_leaf(fit$tree)])
        rev(setdiff(leaves, as.character(now[i])))[1L]
      }
      out <- counterfactual(fit, rows[i, ], to, norm = if (i %% 3) "l2" else "l1")
      new <- predict(fit, out$new_row)
      expect_true(if (identical(to, "higher")) new > now[i] else if (is.numeric(to)) new <= to[2] else new == to)
      expect_identical(vapply(out$new_row, typeof, ""), vapply(rows[i, ], typeof, ""))
      expect_true(out$finished)
    }
  }
})

test_that("whole, level, logical and date columns stay what they are", {
  fit <- cpt(ok ~ ., credit_data(), control = brisk(), seed = 1)
  for (i in seq(1, 500, by = 45)) {
    row <- credit_data()[i, ]
    out <- counterfactual(fit, row)$new_row
    expect_identical(out$age, round(out$age))
    expect_identical(as.double(out$day), round(as.double(out$day)))
    expect_s3_class(out$day, "Date")
    expect_identical(levels(out$job), levels(row$job))
    expect_true(out$home %in% c("own", "rent", "free"))
    expect_identical(class(out$save), class(row$save))
    expect_type(out$phone, "logical")
    range <- lapply(credit_data()[c("age", "amount", "rate", "day")], range)
    for (name in names(range)) expect_true(out[[name]] >= range[[name]][1] && out[[name]] <= range[[name]][2])
  }
  d <- kinds(60)
  fit <- cpt(y ~ ., d, control = quick(), seed = 1)
  out <- counterfactual(fit, d[5, ], "higher")$new_row
  expect_identical(lapply(out, class), lapply(d[5, ], class))
  expect_identical(attr(out$dur, "units"), "mins")
  expect_type(out$int, "integer")
  # A character column of one row, and a factor without the other levels.
  row <- droplevels(d[5, ])
  out <- counterfactual(fit, row, "higher")$new_row
  expect_true(out$fct %in% levels(d$fct))
})

test_that("only mutable columns change, within their ranges", {
  fit <- cpt(ok ~ ., credit_data(), control = brisk(), seed = 1)
  rows <- credit_data()[seq(3, 500, by = 70), ]
  for (i in seq_len(nrow(rows))) {
    out <- tryCatch(
      counterfactual(fit, rows[i, ], mutable = c("age", "amount", "home", "save"),
        ranges = list(age = "increase", amount = c(NA, 5000), home = c("own", "rent"), save = c("mid", "high"))),
      cpt_error_counterfactual = function(e) NULL)
    if (is.null(out)) next
    expect_true(all(out$changes$column %in% c("age", "amount", "home", "save")))
    expect_gte(out$new_row$age, rows$age[i])
    expect_lte(out$new_row$amount, 5000)
    expect_true(out$new_row$home %in% c("own", "rent"))
    expect_true(out$new_row$save %in% c("mid", "high"))
  }
  # Less freedom, never a smaller change.
  free <- counterfactual(fit, rows[1, ])
  few <- counterfactual(fit, rows[1, ], free$to, mutable = c("rate", "amount", "age"))
  expect_gte(few$distance, free$distance * 0.99)
})

test_that("a value that is not allowed now is changed, and only then", {
  fit <- hand_iris()
  out <- counterfactual(fit, iris[1, ], "setosa", ranges = list(Sepal.Width = c(2, 3)))
  expect_identical(out$changes$column, "Sepal.Width")
  expect_equal(out$new_row$Sepal.Width, 3)
  expect_identical(nrow(counterfactual(fit, iris[1, ], "setosa")$changes), 0L)
  expect_identical(counterfactual(fit, iris[1, ], "setosa")$new_row, iris[1, ])
  expect_identical(counterfactual(fit, iris[1, ], "setosa")$distance, 0)
  # A row beyond the training range may stay there.
  row <- transform(iris[1, ], Sepal.Length = 30)
  expect_identical(counterfactual(fit, row)$new_row$Sepal.Length, 30)
})

test_that("regression trees reach ranges, higher and lower values", {
  fit <- hand_cars()
  value <- fit$tree$value[tree_leaf(fit$tree), 1L]
  row <- mtcars["Merc 280", ]
  now <- predict(fit, row)
  expect_gt(counterfactual(fit, row, "higher")$after$prediction, now)
  out <- counterfactual(fit, row, range(value[value != now]))
  expect_identical(rownames(out$new_row), "Merc 280")
  expect_true(out$after$prediction %in% value)
  expect_error(counterfactual(fit, mtcars[which.max(predict(fit, mtcars)), ], "higher"), class = "cpt_error_counterfactual")
})

test_that("leaves with a linear model are aimed at by that model", {
  d <- data.frame(a = steady(300), b = steady(300, 0.4)[300:1])
  d$y <- with(d, ifelse(a + b > 0, 3 + 2 * a - b, a * 2 - 4)) + steady(300, 0.7) / 20
  fit <- cpt(y ~ ., d, control = brisk(max_depth = 2), leaf = "linear", search = FALSE, seed = 1)
  expect_true(any(leaf_linear(fit$tree)))
  sd <- fit$predictors$sd
  found <- 0L
  for (i in seq(2, 300, by = 43)) {
    now <- predict(fit, d[i, ])
    for (to in list(now + c(0.5, 0.8), now - c(0.6, 0.4), c(6, Inf), c(-Inf, -3))) {
      # Between the ranges of two leaves nothing is predicted.
      out <- tryCatch(counterfactual(fit, d[i, ], sort(to)), cpt_error_counterfactual = function(e) NULL)
      if (is.null(out)) next
      found <- found + 1L
      new <- predict(fit, out$new_row)
      expect_true(new >= min(to) && new <= max(to))
      g <- seq(-1, 1, length.out = 201) * 1.02 * max(out$distance, 1e-6)
      t <- as.matrix(expand.grid(g, g))
      x <- data.frame(a = d$a[i] + t[, 1] * sd[1], b = d$b[i] + t[, 2] * sd[2])
      within <- x$a >= min(d$a) & x$a <= max(d$a) & x$b >= min(d$b) & x$b <= max(d$b)
      y <- predict(fit, x)
      hit <- within & y >= min(to) & y <= max(to)
      expect_gte(min(sqrt(rowSums(t^2))[hit], Inf), 0.99 * out$distance)
    }
    expect_gt(predict(fit, counterfactual(fit, d[i, ], "higher")$new_row), now)
  }
  expect_gte(found, 20L)
  highest <- max(fit$tree$leaf_high[tree_leaf(fit$tree)])
  expect_error(counterfactual(fit, d[1, ], c(highest + 1, Inf)), class = "cpt_error_counterfactual")
})

test_that("shrunk leaves are aimed at by what they predict", {
  fit <- cpt(mpg ~ wt + hp, mtcars, control = brisk(min_split_obs = 8, min_leaf_obs = 4), leaf_shrinkage = 10, search = FALSE, seed = 1)
  predicted <- sort(unique(predict(fit, mtcars)))
  out <- counterfactual(fit, mtcars[1, ], rep(max(predicted), 2) + c(-1e-6, 1e-6))
  expect_equal(out$after$prediction, max(predicted))
})

test_that("terms of one column are inverted, others are held fixed", {
  d <- data.frame(x = exp(steady(200)), a = steady(200, 0.3), b = steady(200, 0.6))
  d$y <- factor(ifelse(log(d$x) + d$a * d$b > 0, "yes", "no"))
  fit <- cpt(y ~ log(x) + a:b + b, d, control = brisk(max_depth = 2), seed = 1)
  row <- d[which(d$a * d$b > -0.1 & d$a * d$b < 0.1)[1L], ]
  expect_message(out <- counterfactual(fit, row), class = "cpt_message_fixed")
  expect_identical(out$changes$column, "x")
  expect_identical(unname(predict(fit, out$new_row)), out$after$prediction)
  sd <- fit$predictors$sd[fit$predictors$name == "log(x)"]
  expect_equal(out$distance, abs(log(out$new_row$x) - log(row$x)) / sd, tolerance = 1e-6)
  way <- if (out$new_row$x > row$x) "increase" else "decrease"
  expect_silent(again <- counterfactual(fit, row, mutable = "x", ranges = list(x = way)))
  expect_equal(again$new_row, out$new_row, tolerance = 1e-6)
  far <- c(out$new_row$x, out$new_row$x * 1.5)
  expect_true(all(counterfactual(fit, row, mutable = "x", ranges = list(x = far))$new_row$x >= far[1]))
})

test_that("matrices, sparse matrices and data frames give the same change", {
  data <- sparse_data()
  fit <- cpt(data$sparse, data$y, control = brisk(max_depth = 2), seed = 1)
  dense <- counterfactual(fit, data$x[3, , drop = FALSE])
  sparse <- counterfactual(fit, data$sparse[3, , drop = FALSE])
  frame <- counterfactual(fit, as.data.frame(data$x)[3, ])
  expect_true(is.matrix(dense$new_row))
  expect_s4_class(sparse$new_row, "dgCMatrix")
  expect_s3_class(frame$new_row, "data.frame")
  expect_equal(as.vector(sparse$new_row), as.vector(dense$new_row))
  expect_equal(unlist(frame$new_row, use.names = FALSE), as.vector(dense$new_row))
  expect_equal(frame$changes, dense$changes)
  x <- unname(as.matrix(iris[1:4]))
  fit <- cpt(x, iris$Species, control = quick(), seed = 1)
  out <- counterfactual(fit, x[1, , drop = FALSE])
  expect_identical(dimnames(out$new_row), NULL)
  expect_false(predict(fit, out$new_row) == "setosa")
})

test_that("many columns are no obstacle", {
  x <- noise_matrix(120, 600)
  y <- factor(ifelse(rowSums(x[, 1:30]) > 0, "up", "down"))
  fit <- cpt(x, y, control = brisk(max_depth = 1, grow_min_steps = 40), seed = 1)
  out <- counterfactual(fit, x[1, , drop = FALSE])
  expect_identical(as.character(predict(fit, out$new_row)), out$to)
  few <- counterfactual(fit, x[1, , drop = FALSE], norm = "l1")
  expect_lt(nrow(few$changes), nrow(out$changes))
  expect_lte(few$distance, sum(abs(out$changes$size)) * 1.01)
})

test_that("a tree from a recipe is answered in the recipe's columns", {
  skip_if_not_installed("recipes")
  recipe <- recipes::step_log(recipes::recipe(Species ~ ., iris), Petal.Length)
  fit <- cpt(recipe, control = quick(), seed = 1)
  out <- counterfactual(fit, iris[1, ])
  expect_equal(out$row$Petal.Length, log(1.4))
  bare <- fit
  bare$blueprint$recipe <- NULL
  expect_identical(unname(predict(bare, out$new_row)), out$after$prediction)
  expect_false(out$after$prediction == "setosa")
})

test_that("a search that is cut short says so", {
  fit <- cpt(class ~ ., rings, control = brisk(max_depth = 2), seed = 1)
  slow <- NULL
  for (i in seq(1, 2000, by = 50)) {
    if (counterfactual(fit, rings[i, ], tolerance = 0)$steps > 5L) {
      slow <- rings[i, ]
      break
    }
  }
  expect_false(is.null(slow))
  expect_warning(out <- counterfactual(fit, slow, tolerance = 0, max_steps = 2), class = "cpt_warning_counterfactual")
  expect_false(out$finished)
  expect_lt(out$bound, out$distance)
  expect_identical(unname(predict(fit, out$new_row)), out$after$prediction)
  full <- counterfactual(fit, slow, tolerance = 0)
  expect_lte(full$distance, out$distance + 1e-9)
  expect_gte(full$distance, out$bound - 1e-9)
})

test_that("wishes that cannot be met are refused by class", {
  fit <- hand_iris()
  expect_error(counterfactual(root_iris(), iris[1, ]), class = "cpt_error_counterfactual")
  expect_error(counterfactual(fit, iris[1, ], mutable = "Sepal.Width"), class = "cpt_error_counterfactual")
  expect_error(counterfactual(fit, iris[1, ], mutable = character()), class = "cpt_error_counterfactual")
  expect_snapshot({
    refusal(counterfactual(root_iris(), iris[1, ]))
    refusal(counterfactual(fit, iris[1, ], "virginica", mutable = "Petal.Length"))
    refusal(counterfactual(hand_cars(), mtcars[1, ], c(80, 90)))
  })
})

test_that("classes that are numbers or flags may be given as such", {
  d <- data.frame(x = steady(60), y = factor(rep(3:5, 20)))
  fit <- hand_cpt(gate(1, 0), y ~ x, transform(d, y = factor(ifelse(x > 0, 5, 3))))
  row <- data.frame(x = -1)
  expect_identical(counterfactual(fit, row, 5)$new_row, counterfactual(fit, row, "5")$new_row)
  fit <- hand_cpt(gate(1, 0), y ~ x, transform(d, y = x > 0))
  expect_gt(counterfactual(fit, row, TRUE)$new_row$x, 0)
})

test_that("arguments are checked", {
  fit <- hand_iris()
  credit <- cpt(ok ~ ., credit_data(), control = brisk(max_depth = 1), seed = 1)
  row <- credit_data()[1, ]
  expect_snapshot({
    refusal(counterfactual(fit))
    refusal(counterfactual(fit, iris[1:2, ]))
    refusal(counterfactual(fit, c(1, 2, 3, 4)))
    refusal(counterfactual(fit, iris[1, 1:3]))
    refusal(counterfactual(fit, iris[1, ], "setossa"))
    refusal(counterfactual(fit, iris[1, ], 3))
    refusal(counterfactual(fit, iris[1, ], norm = "max"))
    refusal(counterfactual(fit, iris[1, ], mutable = "Petal"))
    refusal(counterfactual(fit, iris[1, ], mutable = 1:2))
    refusal(counterfactual(fit, iris[1, ], ranges = c(1, 2)))
    refusal(counterfactual(fit, iris[1, ], ranges = list(Petal.Length = 5)))
    refusal(counterfactual(fit, iris[1, ], ranges = list(Petal.Length = c(5, 3))))
    refusal(counterfactual(fit, iris[1, ], mutable = "Petal.Width", ranges = list(Petal.Length = c(1, 2))))
    refusal(counterfactual(fit, iris[1, ], too = "setosa"))
    refusal(counterfactual(fit, iris[1, ], tolerance = -1))
    refusal(counterfactual(credit, row, ranges = list(job = "king")))
    refusal(counterfactual(credit, row, ranges = list(save = c("high", "low"))))
    refusal(counterfactual(hand_cars(), mtcars[1, ]))
    refusal(counterfactual(hand_cars(), mtcars[1, ], "up"))
    refusal(counterfactual(replace(fit, "predictors", list(NULL)), iris[1, ]))
  })
})

test_that("results read well", {
  fit <- hand_iris()
  credit <- hand_cpt(
    gate(c(0.05, rep(0, 2), 0, -1, 0, 1, rep(0, 3), 1, 0, 0), -2.5), ok ~ ., credit_data()
  )
  expect_snapshot({
    counterfactual(fit, iris[1, ], "virginica")
    counterfactual(fit, iris[1, ], "setosa")
    counterfactual(hand_cars(), mtcars[1, ], "lower")
    counterfactual(credit, credit_data()[2, ], norm = "l1")
  })
})

# The solver -----------------------------------------------------------------------

test_that("the least change under linear constraints is right for few and many columns", {
  for (n in c(3L, 80L)) {
    a <- steady(n)
    rows <- new_rows(cbind(a), 2)
    expect_equal(least_change(rows, rep(-Inf, n), rep(Inf, n)), 2 * a / sum(a^2))
    l1 <- least_change(rows, rep(-Inf, n), rep(Inf, n), "l1")
    expect_equal(sum(abs(l1)), 2 / max(abs(a)))
    # A bound on the entry that would change most is met, and the rest makes up for it.
    top <- which.max(abs(a))
    limit <- replace(rep(Inf, n), top, abs(a[top]) / sum(a^2))
    t <- least_change(rows, -limit, limit)
    rest <- 2 - abs(a[top]) * limit[top]
    expect_equal(t[-top], rest * a[-top] / sum(a[-top]^2))
    expect_null(least_change(rows, rep(0, n), rep(0, n)))
    expect_null(least_change(add_rows(rows, cbind(-a), -1), rep(-Inf, n), rep(Inf, n)))
  }
  expect_null(least_change(no_rows(2L), c(1, 0), c(0, 1)))
  expect_identical(least_change(no_rows(2L), c(-1, 1), c(1, 2)), c(0, 1))
})

test_that("changes that are all or nothing count in proportion in between", {
  problem <- list(n = 4L, norm = "l2", whole = c(1L, 2L, 4L), lower = c(0, -1, -2, 0),
    upper = c(sqrt(0.5), 0, 2, 3), scale = c(sqrt(2), 1, 1, 1))
  problem$cost <- switch_cost(problem)
  expect_identical(problem$cost$linear != 0, c(TRUE, TRUE, FALSE, FALSE))
  for (t in list(c(0, 0, 0, 0), c(sqrt(0.5), 0, 1.3, 0), c(0, -1, 0, 2), c(sqrt(0.5), -1, -2, 3))) {
    expect_equal(relaxed_size(problem, t), change_size(t, "l2"))
  }
  expect_gt(relaxed_size(problem, c(0, -0.5, 0, 0)), 0.5)
  expect_null(switch_cost(replace(problem, "norm", "l1")))
  # The cheaper of two ways to reach 1: the switch in part, or the number.
  rows <- new_rows(cbind(c(0, -1, 1, 0)), 1)
  t <- least_change(rows, problem$lower, problem$upper, "l2", problem$cost)
  share <- seq(0, 1, by = 1e-4)
  size <- vapply(share, function(u) relaxed_size(problem, c(0, -u, 1 - u, 0)), 0)
  expect_equal(-t[2], share[which.min(size)], tolerance = 1e-3)
})

test_that("chords lie above the evidence and tangents below", {
  shape <- list(b = matrix(steady(6), 2), z = c(-1, 0.5, -3), r = c(1, 2, 0.5), threshold = 3)
  range <- list(low = shape$z - 4, high = shape$z + 3)
  chord <- chords(shape, range)
  at <- shape_tangent(shape, c(0.4, -0.2))
  for (t in list(c(0, 0), c(1, -0.5), c(-0.7, 0.6), c(0.2, 1.1))) {
    z <- shape_scores(shape, t)
    expect_true(all(chord$at + chord$slope * (z - range$low) >= shape$r * softplus(z)))
    expect_gte(shape_evidence(shape, t), at$value + sum(at$slope * (t - c(0.4, -0.2))))
  }
})
