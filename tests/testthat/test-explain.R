# Explanations: sides and evidence against predict() and plain R, numbers worked out by hand,
# and the promise that undoing what decided changes the side.

test_that("evidence, margin, terms and distance are those worked out by hand", {
  fit <- hand_iris()
  why <- explain(fit, iris[c(1, 101), ])
  nodes <- as.data.frame(why)
  expect_identical(nodes$row, c(1L, 1L, 2L, 2L, 2L))
  expect_identical(nodes$name, c("1", "1", "101", "101", "101"))
  expect_identical(nodes$node, c(1L, 2L, 1L, 3L, 7L))
  expect_identical(nodes$side, c("inside", NA, "outside", "outside", NA))
  # Row 1 has petals of 1.4 x 0.2, row 101 of 6 x 2.5.
  score <- c(1.4 - 2.5, 6 - 2.5, 0.2 * 6 + 2.5 - 2.7)
  inner <- !is.na(nodes$side)
  expect_equal(nodes$evidence[inner], log1p(exp(score)))
  expect_equal(nodes$threshold[inner], rep(log(2), 3))
  expect_equal(nodes$margin[inner], log1p(exp(score)) - log(2))
  sd <- fit$predictors$sd[3:4]
  size <- c(sd[1], sd[1], sqrt((0.2 * sd[1])^2 + sd[2]^2))
  expect_equal(nodes$distance[inner], abs(score) / size)
  expect_equal(nodes$exit[1], 1.1 / sd[1])
  expect_identical(nodes$facet[inner], c(1L, 1L, 1L))
  expect_equal(nodes$facet_share[inner], c(1, 1, 1))
  expect_identical(as.character(nodes$prediction), rep(c("setosa", "virginica"), c(2, 3)))
  terms <- as.data.frame(why, what = "terms")
  last <- terms[terms$node == 3L, ]
  expect_identical(last$column, c("Petal.Width", "Petal.Length", "(mean)"))
  means <- c(mean(iris$Petal.Width), mean(iris$Petal.Length))
  expect_equal(last$contribution, c(2.5 - means[1], 0.2 * (6 - means[2]), means[1] + 0.2 * means[2] - 2.7))
})

test_that("sides and evidence agree with predict() and with plain R", {
  for (case in five_fits()) {
    new <- mixed_rows(case$data, 60)
    why <- explain(case$fit, new, distance = FALSE)
    path <- predict(case$fit, new, type = "path")
    told <- split(why$nodes$node, why$nodes$row)
    expect_identical(unname(told), lapply(seq_len(60), function(i) as.integer(stats::na.omit(path[i, ]))))
    expect_identical(why$rows$prediction, unname(predict(case$fit, new)))
    inner <- why$nodes[!is.na(why$nodes$side), ]
    expect_identical(inner$side == "outside", inner$evidence > inner$threshold)
    x <- blueprint_forge(case$fit$blueprint, new)$x
    facets <- why$facets
    at <- match(facets$node, case$fit$tree$node)
    k <- case$fit$tree$first[at] - 1L + facets$facet
    z <- rowSums(x[facets$row, ] * t(case$fit$tree$coef[, k])) + case$fit$tree$intercept[k]
    expect_equal(facets$score, z)
    expect_equal(facets$evidence, case$fit$tree$r[k] * softplus(z))
    total <- stats::aggregate(evidence ~ node + row, facets, sum)
    expect_equal(total$evidence, inner$evidence)
  }
})

# Rows and nodes for which undoing what decided does not change the side.
not_undone <- function(fit, new) {
  why <- explain(fit, new, distance = FALSE)
  x <- as.matrix(blueprint_forge(fit$blueprint, new)$x)
  tree <- fit$tree
  wrong <- 0L
  for (i in which(tree$left > 0L)) {
    own <- why$nodes[why$nodes$node == tree$node[i] & !is.na(why$nodes$side), ]
    facets <- why$facets[why$facets$node == tree$node[i], ]
    decides <- matrix(facets$decides, ncol = tree$facets[i], byrow = TRUE)
    k <- tree$first[i] - 1L + seq_len(tree$facets[i])
    for (pattern in unique(split(decides, row(decides)))) {
      rows <- which(colSums(t(decides) == pattern) == length(pattern))
      for (side in unique(own$side[rows])) {
        these <- rows[own$side[rows] == side]
        here <- x[own$row[these], , drop = FALSE]
        less <- tree
        if (side == "outside") {
          # Without the deciding facets.
          less$r[k[pattern]] <- 0
        } else {
          # A little farther than `exit` straight towards the deciding facet.
          b <- tree$coef[, k[pattern]] * fit$predictors$sd
          step <- fit$predictors$sd * b / sqrt(sum(b^2))
          here <- here + outer(own$exit[these] * (1 + 1e-6) + 1e-9, step)
        }
        less$left[-i] <- 0L
        out <- rowSums(engine_evidence(less, i, here, 1L)) > tree$threshold[i]
        wrong <- wrong + sum(out == (side == "outside"))
      }
    }
  }
  wrong
}

test_that("undoing what decided changes the side", {
  for (case in five_fits()) {
    expect_identical(not_undone(case$fit, mixed_rows(case$data, 100)), 0L)
  }
  expect_identical(not_undone(hand_square(), square_data()), 0L)
  big <- big_tree(4L)
  data <- data.frame(a = steady(300), b = steady(300, 0.4), c = steady(300, 0.8))
  expect_identical(not_undone(big, data), 0L)
})

test_that("no smaller set of facets decides, and ties go to the first", {
  evidence <- rbind(c(3, 3, 0), c(1, 5, 0), c(2, 2, 2), c(0.1, 0.2, 0))
  outside <- c(TRUE, TRUE, TRUE, FALSE)
  exit <- matrix(c(9, 9, 9, 2, 9, 9, 9, 1, 9, 9, 9, 3), 4)
  decides <- deciding_facets(evidence, 1.5, outside, exit)
  expect_identical(decides[1, ], c(TRUE, TRUE, FALSE))
  expect_identical(decides[2, ], c(FALSE, TRUE, FALSE))
  expect_identical(decides[3, ], c(TRUE, TRUE, TRUE))
  expect_identical(decides[4, ], c(FALSE, TRUE, FALSE))
  # 2 + 2 + 2 against 4: one gone is enough.
  expect_identical(deciding_facets(evidence[3, , drop = FALSE], 4, TRUE, exit[3, , drop = FALSE])[1, ], c(TRUE, FALSE, FALSE))
})

test_that("contributions add up to the score, also if few terms are kept", {
  fit <- five_fits()$credit$fit
  for (most in c(2, 100)) {
    why <- explain(fit, mixed_rows(credit_data(), 30), terms = most, distance = FALSE)
    total <- stats::aggregate(contribution ~ facet + node + row, why$terms, sum)
    deciding <- why$facets[why$facets$decides, ]
    expect_equal(total$contribution, deciding$score)
    expect_identical(total$facet, deciding$facet)
  }
  why <- explain(fit, mixed_rows(credit_data(), 30), terms = 2, distance = FALSE)
  kept <- table(paste(why$terms$row, why$terms$node, why$terms$facet))
  expect_true(all(kept <= 4L))
  expect_true("(others)" %in% why$terms$column)
})

# Distance to the nearest grid point on the other side of the polytope at position i.
grid_distance <- function(fit, i, x0, outside, reach = 2.5, n = 601) {
  sd <- fit$predictors$sd
  g <- seq(-reach, reach, length.out = n)
  t <- as.matrix(expand.grid(g, g))
  x <- sweep(sweep(t, 2L, sd, "*"), 2L, x0, "+")
  out <- rowSums(engine_evidence(fit$tree, i, x, 1L)) > fit$tree$threshold[i]
  other <- out != outside
  sqrt(min(rowSums(t[other, , drop = FALSE]^2)))
}

test_that("distances are those of a fine grid", {
  skip_if_not_installed("quadprog")
  fit <- cpt(class ~ ., rings, control = brisk(max_depth = 2), seed = 1)
  new <- rings[seq(1, 2000, by = 250), ]
  why <- explain(fit, new)
  inner <- why$nodes[!is.na(why$nodes$side), ]
  expect_true(all(c("inside", "outside") %in% inner$side))
  for (j in seq_len(nrow(inner))) {
    i <- match(inner$node[j], fit$tree$node)
    grid <- grid_distance(fit, i, unlist(new[inner$row[j], c("x1", "x2")]), inner$side[j] == "outside")
    # The grid is never nearer, and in a sharp corner farther by its spacing at most.
    expect_gte(grid, inner$distance[j] * (1 - 1e-6))
    expect_lte(grid, inner$distance[j] * 1.01 + 0.013)
    expect_lte(inner$distance[j], min(inner$exit[j], Inf, na.rm = TRUE) * (1 + 1e-9))
  }
})

test_that("distances without quadprog are NA only where it is needed", {
  score <- rbind(c(-1, -2), c(3, -1))
  nodes <- data.frame(facet = c(1L, 1L), exit = c(1.3, NA))
  out <- side_distance(score, c(1, 1), log(2), c(FALSE, TRUE), nodes, diag(2), solver = FALSE)
  expect_identical(is.na(out), c(FALSE, TRUE))
  out <- side_distance(score[, 1, drop = FALSE], 1, log(2), c(FALSE, TRUE), nodes, diag(1), solver = FALSE)
  expect_equal(out, c(1, 3))
})

test_that("sparse, dense and data frame are explained alike", {
  data <- sparse_data()
  fit <- cpt(data$sparse, data$y, control = brisk(max_depth = 2), seed = 1)
  a <- explain(fit, data$sparse[1:20, ])
  b <- explain(fit, data$x[1:20, ])
  expect_equal(a, b)
  expect_equal(explain(fit, as.data.frame(data$x[1:20, ]))$terms, b$terms)
})

test_that("every kind of column is told in the words of the data", {
  fit <- cpt(ok ~ ., credit_data(), control = brisk(max_depth = 1, max_facets = 1), seed = 1)
  row <- credit_data()[3, ]
  text <- variable_terms(explain(fit, row), 1L)$text
  expect_true(all(c(
    paste("job =", row$job), paste("home =", row$home), paste("save =", row$save),
    paste("phone =", row$phone), paste("day =", row$day)
  ) %in% text))
  expect_identical(anyDuplicated(sub(" = .*", "", text)), 0L)
  d <- kinds()
  fit <- cpt(y ~ log(num) + poly(int, 2) + dur + two, d, control = quick(column_share = Inf), seed = 1)
  text <- variable_terms(explain(fit, d[4, ]), 1L)$text
  expect_true(all(c("poly(int, 2)", "log(num) = -0.9163", "dur = 4 mins") %in% text))
  expect_true(any(text == paste("two =", d$two[4])))
})

test_that("rows are told as prose", {
  fit <- hand_iris()
  square <- hand_square()
  cars <- hand_cars()
  expect_snapshot({
    explain(fit, iris[c(1, 101), ])
    explain(square, data.frame(u = c(0.1, 0.49), v = c(0, 0.49)), distance = FALSE)
    explain(cars, mtcars[1, ], distance = FALSE)
    print(explain(fit, iris), rows = 1, terms = 1)
    explain(root_iris(), iris[1, ])
    explain(fit, iris[0, ])
  })
})

test_that("root-only trees, one predictor, many classes and no rows are explained", {
  root <- explain(root_iris(), iris[1:2, ])
  expect_identical(root$nodes$node, c(1L, 1L))
  expect_identical(nrow(root$terms), 0L)
  expect_identical(nrow(root$facets), 0L)
  none <- explain(hand_iris(), iris[0, ])
  expect_identical(nrow(none$nodes), 0L)
  one <- cpt(dist ~ speed, cars, control = brisk(max_depth = 2), seed = 1)
  expect_identical(unique(explain(one, cars)$terms$column), c("speed", "(mean)"))
  many <- big_tree(5L, 100L)
  why <- explain(many, data.frame(a = 0, b = 0, c = 0), distance = FALSE)
  expect_identical(as.character(why$rows$prediction), as.character(predict(many, data.frame(a = 0, b = 0, c = 0))))
})

test_that("missing values are handled as asked", {
  fit <- hand_iris()
  new <- iris[1:3, ]
  new$Petal.Length[2] <- NA
  expect_error(explain(fit, new), class = "cpt_error_newdata")
  expect_identical(explain(fit, new, na_action = "omit")$rows$row, c(1L, 3L))
  expect_identical(explain(fit, new, na_action = "omit")$rows$name, c("1", "3"))
  filled <- explain(fit, new, na_action = "impute")
  expect_identical(filled$terms$value[filled$terms$row == 2L & filled$terms$node == 1L][1], stats::median(iris$Petal.Length))
})

test_that("what cannot be explained is refused", {
  fit <- hand_iris()
  expect_snapshot({
    refusal(explain(fit))
    refusal(explain(fit, 1:4))
    refusal(explain(fit, iris[1, ], terms = 0))
    refusal(explain(fit, iris[1, ], na_action = "pass"))
    refusal(explain(fit, iris[1, ], digits = 3))
    refusal(explain(replace(fit, "predictors", list(NULL)), iris[1, ]))
    refusal(as.data.frame(explain(fit, iris[1, ]), what = "rules"))
    refusal(plot(explain(fit, iris[1, ]), row = 2))
  })
  bad <- fit
  bad$tree$left[3L] <- 77L
  expect_error(explain(bad, iris), class = "cpt_error_model")
})

# Pictures ----------------------------------------------------------------------

test_that("the plot returns its bars, and drops some only for want of room", {
  fit <- five_fits()$credit$fit
  why <- explain(fit, credit_data()[1:2, ])
  large <- on_page(plot(why, row = 2, terms = 20), 10, 20)
  expect_true(all(large$drawn))
  told <- variable_terms(why, 2L)
  steps <- row_steps(why, 2L)
  told <- told[paste(told$node, told$facet) %in% paste(steps$node, steps$facet), ]
  expect_identical(large$text, told$text)
  expect_identical(large$contribution, told$contribution)
  small <- on_page(plot(why, row = 2, terms = 20), 3.5, 2.5)
  expect_true(any(small$drawn) && !all(small$drawn))
  on_page(expect_invisible(plot(why)))
})

test_that("all kinds of explanations draw at all kinds of sizes", {
  long <- stats::setNames(iris, c(strrep("long name ", 12), "a b", "c", "d", "Species"))
  cases <- list(
    explain(root_iris(), iris[1, ]),
    explain(big_tree(6L), data.frame(a = 0, b = 0.3, c = 1)),
    explain(cpt(Species ~ ., long, control = quick(), seed = 1), long[60, ]),
    explain(cpt(mpg ~ wt, mtcars, control = quick(), seed = 1), mtcars[1, ])
  )
  for (why in cases) {
    for (size in list(c(7, 5), c(3.5, 3.5), c(3.5, 2.5), c(12, 3))) {
      out <- on_page(plot(why), size[1L], size[2L])
      expect_named(out, c("node", "side", "facet", "variable", "text", "contribution", "drawn"))
      expect_identical(any(out$drawn), nrow(out) > 0L)
    }
  }
})

test_that("autoplot() shows the same bars", {
  skip_if_not_installed("ggplot2")
  fit <- hand_iris()
  why <- explain(fit, iris[101, ])
  picture <- ggplot2::autoplot(why)
  bars <- on_page(plot(why))
  built <- ggplot2::layer_data(picture, 1L)
  expect_equal(built$x[order(built$PANEL, -built$y)] > 0, bars$contribution > 0)
  expect_identical(picture$data$contribution, bars$contribution)
  expect_s3_class(ggplot2::autoplot(explain(root_iris(), iris[1, ])), "ggplot")
})

test_that("pictures stay as they are", {
  skip_if_not_installed("vdiffr")
  square <- explain(hand_square(), data.frame(u = 0.1, v = 0.3), distance = FALSE)
  vdiffr::expect_doppelganger("explanation of a row", function() plot(square))
  vdiffr::expect_doppelganger("explanation without a split", function() plot(explain(root_iris(), iris[1, ])))
})
