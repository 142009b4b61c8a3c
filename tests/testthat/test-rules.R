# Rules: every row satisfies one, the one of its leaf. Conditions are evaluated as plain R
# text and held against predict(); words are read back and held against the same.

# Rows that fill the ranges of a data frame and somewhat more, every level included.
random_rows <- function(data, n, seed = 1) {
  withr::local_seed(seed)
  as.data.frame(lapply(data, function(x) {
    if (is.factor(x) || is.character(x) || is.logical(x)) return(x[sample.int(length(x), n, TRUE)])
    range <- range(as.numeric(x))
    wide <- stats::runif(n, range[1L] - 0.1 * diff(range), range[2L] + 0.1 * diff(range))
    if (inherits(x, "Date")) return(structure(round(wide), class = "Date"))
    if (inherits(x, "POSIXct")) return(structure(wide, class = c("POSIXct", "POSIXt")))
    if (inherits(x, "difftime")) return(as.difftime(wide, units = units(x)))
    wide
  }), optional = TRUE)
}

# One rule a row: by rules_match(), by the text alone, and by predict().
expect_one_rule <- function(fit, rows, frame = rows) {
  rules <- cpt_rules(fit)
  match <- rules_match(rules, rows)
  leaf <- unname(predict(fit, rows, type = "node", threads = 1))
  expect_true(all(rowSums(match) == 1))
  expect_identical(rules$node[max.col(match)], leaf)
  alone <- vapply(rules$condition, function(text) {
    rep_len(eval(str2lang(text), frame, globalenv()), nrow(frame))
  }, logical(nrow(frame)))
  expect_identical(unname(alone), unname(match))
  # A test of one leaf, or of leaves that no row reaches, would show nothing.
  invisible(c(leaves = length(unique(leaf)), facets = max(fit$tree$facets)))
}

mixed_data <- function(n = 240) {
  data <- kinds(n)
  data$`odd name` <- noise_matrix(n, 1)[, 1]
  data$y <- data$num + 9 * (data$fct == "u") * (data$two == "q") + 6 * (data$ord == "high") *
    data$lgl + 3 * (data$`odd name` > 0)
  data
}

test_that("10,000 random rows of five data sets satisfy exactly one rule each", {
  settings <- brisk(min_leaf_obs = 2, min_split_obs = 4)
  seen <- list()
  for (data in list(list(Species ~ ., iris), list(class ~ ., rings), list(mpg ~ ., mtcars))) {
    fit <- cpt(data[[1L]], data[[2L]], control = settings, seed = 3, threads = 1)
    seen <- c(seen, list(expect_one_rule(fit, random_rows(data[[2L]], 10000))))
    expect_one_rule(fit, data[[2L]])
  }
  mixed <- mixed_data()
  fit <- cpt(y ~ . + log(num) + poly(int, 2) + fct:num + two * lgl, mixed, control = settings,
    seed = 3, threads = 1)
  rows <- random_rows(mixed, 10000)
  rows$num <- abs(rows$num) + 0.01
  seen <- c(seen, list(expect_one_rule(fit, rows)))
  sparse <- sparse_data()
  fit <- cpt(sparse$sparse, rowSums(sparse$x[, 1:20]), control = settings, seed = 3, threads = 1)
  x <- noise_matrix(10000, 60, 0.5)
  x[abs(x) < 1.3] <- 0
  seen <- c(seen, list(expect_one_rule(fit, methods::as(x, "CsparseMatrix"), as.data.frame(x))))
  seen <- do.call(rbind, seen)
  expect_true(all(seen[, "leaves"] >= 3))
  expect_gte(sum(seen[, "facets"] > 1), 3)
})

test_that("trees with many facets and leaves agree too", {
  fit <- big_tree(5L)
  rows <- data.frame(a = steady(10000, 0.2), b = steady(10000, 0.9)[10000:1],
    c = steady(10000, 0.4))
  rows$b <- rows$b[order((seq_len(10000) * 1237L) %% 10007L)]
  seen <- expect_one_rule(fit, rows)
  expect_gte(seen[["leaves"]], 20)
  expect_identical(nrow(cpt_rules(fit)), 32L)
})

test_that("the code of every coded column gives the column", {
  data <- mixed_data(60)
  formula <- y ~ . - sec + sec + log(num) + poly(int, 2) + fct:num + two * lgl +
    factor(int %% 3) + I(num^2) + (num > 2) + ord:lgl
  fit <- cpt(formula, data, control = quick(), seed = 1, threads = 1)
  parts <- coded_parts(fit$blueprint)
  x <- blueprint_forge(fit$blueprint, data)$x
  expect_length(parts$code, ncol(x))
  value <- vapply(parts$code, function(code) as.double(eval(str2lang(code), data)), double(60))
  expect_equal(unname(value), unname(x), tolerance = 1e-15)
  expect_true("(fct is u) * num" %in% parts$words)
})

# Reads "u - 0.5 v <= 0.3" as R; names must be single words.
read_words <- function(text, data) {
  text <- gsub("([0-9]) ([a-z])", "\\1*\\2", text)
  eval(str2lang(text), data)
}

test_that("the words of a rule are true, at full precision, clause by clause", {
  grid <- square_data(61L)
  fit <- hand_square()
  rules <- cpt_rules(fit, digits = NULL)
  leaf <- predict(fit, grid, type = "node")
  s <- function(z) log(1 + exp(z))
  evidence <- vapply(attr(rules, "evidence"), function(text) {
    read_words(text, c(as.list(grid), s = s))
  }, double(nrow(grid)))
  grid$e1 <- evidence[, "1"]
  grid$e2 <- evidence[, "2"]
  said <- vapply(attr(rules, "clauses"), function(clauses) {
    each <- vapply(clauses, function(clause) {
      clause <- gsub("evidence ([0-9])", "e\\1", gsub("^\\(|\\)$", "", clause))
      items <- strsplit(sub("^(all|any) of: ", "", clause), "; ", fixed = TRUE)[[1L]]
      true <- vapply(items, read_words, logical(nrow(grid)), data = grid)
      if (startsWith(clause, "all")) rowSums(true) == ncol(true) else rowSums(true) > 0
    }, logical(nrow(grid)))
    rowSums(each) == ncol(each)
  }, logical(nrow(grid)))
  expect_identical(rules$node[max.col(said)], leaf)
  expect_true(all(rowSums(said) == 1))
  # Corners are round: some rows are outside by the evidence alone.
  keeps <- with(grid, pmax(abs(u), abs(v)) <= 0.5)
  expect_true(any(keeps & leaf == 3L))
})

test_that("rules are written as expected", {
  expect_snapshot({
    cpt_rules(hand_iris())
    cpt_rules(hand_square())
    cpt_rules(hand_cars())
    cpt_rules(hand_cars(), max_terms = 1)
    cpt_rules(root_iris())
  })
})

test_that("the columns hold what the tree holds", {
  fit <- hand_square()
  rules <- cpt_rules(fit)
  nodes <- leaf_table(fit)
  expect_s3_class(rules, c("cpt_rules", "data.frame"), exact = TRUE)
  expect_identical(names(rules), c("node", "rule", "prediction", "n", "weight", "support",
    "accuracy", "condition", "prob_out", "prob_in", "prob_core"))
  expect_identical(rules$node, nodes$node)
  expect_identical(rules$prediction, nodes$prediction)
  expect_equal(sum(rules$support), 1)
  # 62 of the 72 rows of leaf 5 are of class "in".
  expect_equal(rules$accuracy, c(1, 62 / 72, 1))
  cars <- cpt_rules(hand_cars(), condition = FALSE)
  expect_null(cars$condition)
  expect_equal(cars$rmse, as.vector(tapply(residuals(hand_cars()), hand_cars()$where,
    function(r) sqrt(mean(r^2)))[c("4", "5", "3")]))
})

test_that("support and accuracy are weighted", {
  w <- ifelse(iris$Species == "virginica", 4, 1)
  fit <- hand_cpt(gate(c(0, 0, 1, 0), -2.5), Species ~ ., iris, weights = w)
  rules <- cpt_rules(fit)
  expect_equal(rules$support, c(50, 250) / 300)
  expect_equal(rules$accuracy, c(1, 200 / 250))
})

test_that("bounds on one categorical column are written as its levels", {
  data <- data.frame(
    f = factor(rep(c("a", "b", "c", "d"), 10)), two = factor(rep(c("no", "yes"), 20)),
    o = factor(rep(c("low", "mid", "high", "top"), each = 10),
      c("low", "mid", "high", "top"), ordered = TRUE),
    flag = rep(c(TRUE, FALSE, FALSE, TRUE), 10), y = 1:40
  )
  rule <- function(b, a) {
    fit <- hand_cpt(gate(b, a), y ~ ., data)
    expect_one_rule(fit, data)
    cpt_rules(fit)$rule
  }
  # Coded columns: fa, fb, fc, fd, twoyes, o, flagTRUE.
  expect_identical(rule(c(-1, 2, -3, 1, 0, 0, 0), 0), c("f is a or c", "f is b or d"))
  expect_identical(rule(c(0, 2, 0, 0, 0, 0, 0), -1), c("f is not b", "f is b"))
  expect_identical(rule(c(0, 0, 0, 0, -2, 0, 0), 1), c("two is yes", "two is no"))
  expect_identical(rule(c(0, 0, 0, 0, 0, 1, 0), -2.5), c("o is low or mid", "o is high or top"))
  expect_identical(rule(c(0, 0, 0, 0, 0, 0, 1), -0.5), c("flag is FALSE", "flag is TRUE"))
  expect_identical(rule(c(0, 0, 0, 0, 0, 0, 1), -5), c("flag has any of its levels",
    "flag has none of its levels"))
  expect_identical(rule(c(0, 2, 0, 0, 0, 0.5, 0), -2)[1L], "(f is b) + 0.25 o <= 1")
})

test_that("a bound on a date is a date", {
  data <- data.frame(day = as.Date("2020-01-01") + 0:39, y = 1:40,
    at = as.POSIXct("2020-01-01", tz = "UTC") + 60 * 0:39)
  cut <- as.numeric(as.Date("2020-01-20")) + 0.5
  fit <- hand_cpt(gate(c(1, 0), -cut), y ~ ., data)
  expect_identical(cpt_rules(fit)$rule, c("day <= 2020-01-20", "day > 2020-01-20"))
  expect_identical(predict(fit, data, type = "node") == 2L, data$day <= as.Date("2020-01-20"))
  fit <- hand_cpt(gate(c(-1, 0), cut), y ~ ., data)
  expect_identical(cpt_rules(fit)$rule, c("day >= 2020-01-21", "day < 2020-01-21"))
  late <- as.numeric(data$at[11L]) + 0.5
  fit <- hand_cpt(gate(c(0, 1), -late), y ~ ., data)
  expect_identical(cpt_rules(fit)$rule[1L], "at <= 2020-01-01 00:10:00 UTC")
  expect_one_rule(fit, data)
})

test_that("rounded words keep the digits that tell rows apart", {
  data <- data.frame(year = 1980 + steady(200), month = steady(200, 0.4), y = seq_len(200))
  fit <- hand_cpt(gate(c(3.4567, 1.2345), -3.4567 * 1980.123), y ~ ., data)
  fit$predictors$mean <- colMeans(data[1:2])
  fit$predictors$sd <- vapply(data[1:2], sd, 0)
  rule <- cpt_rules(fit)$rule[1L]
  expect_identical(rule, "year + 0.357 month <= 1980.12")
  said <- read_words(rule, data)
  expect_gte(mean(said == (predict(fit, data, type = "node") == 2L)), 0.99)
})

test_that("numbers read back as they were", {
  x <- c(0, 1, -1, 0.1, 1 / 3, pi * 1e300, -pi * 1e-300, 5e-324, .Machine$double.xmax, 2^53,
    steady(2000) * 10^(seq_len(2000) %% 40 - 20))
  expect_identical(as.numeric(exact_numbers(x)), x)
  expect_identical(vapply(exact_numbers(x), function(v) eval(str2lang(v)), 0, USE.NAMES = FALSE), x)
  expect_identical(exact_numbers(c(0.1, 2.5)), c("0.1", "2.5"))
})

test_that("evidence that exp() cannot hold is still right", {
  data <- data.frame(x = seq(-2000, 2000, length.out = 81), y = 1:81)
  # Weight so small that the border lies at z = 1000, beyond the largest exp().
  fit <- hand_cpt(gate(cbind(1, -1), c(0, 0), r = c(1e-3, 1e-3), threshold = 1), y ~ x, data)
  expect_one_rule(fit, data)
  expect_identical(predict(fit, data, type = "node") == 2L, abs(data$x) <= 1000)
})

test_that("facets without weight or coefficients are rules too", {
  fit <- hand_cpt(gate(cbind(c(1, 0), c(0, 1)), c(-3, -9), r = c(1, 0)), mpg ~ wt + hp, mtcars)
  expect_one_rule(fit, mtcars)
  expect_identical(cpt_rules(fit)$rule[1L], "all of: wt <= 3; evidence 1 <= 0.693")
  fit <- hand_cpt(gate(c(0, 0), 1), mpg ~ wt + hp, mtcars)
  expect_one_rule(fit, mtcars)
  expect_identical(cpt_rules(fit)$rule, c("0 <= -1", "0 > -1"))
  fit <- hand_cpt(gate(c(1, 0), 1, threshold = -1), mpg ~ wt + hp, mtcars)
  expect_one_rule(fit, mtcars)
})

test_that("odd names and long sums can be evaluated", {
  data <- data.frame(a = steady(60), b = steady(60, 0.3), y = 1:60)
  names(data)[1:2] <- c("a `b` \\ c", "if")
  fit <- hand_cpt(gate(cbind(c(1, -2), c(-1, 0.5)), c(-0.2, -0.1), threshold = 1.5), y ~ ., data)
  expect_one_rule(fit, data)
  level <- data.frame(f = factor(rep(c("+ -1", "say \"so\"", "\\n"), 20)), x = steady(60), y = 1:60)
  fit <- hand_cpt(gate(c(-1, 0.5, 2, 1), -0.2), y ~ ., level)
  expect_one_rule(fit, level)
  wide <- noise_matrix(40, 3000)
  fit <- cpt(wide, seq_len(40) %% 2 == 0, control = quick(), seed = 1, threads = 1)
  expect_one_rule(fit, wide, as.data.frame(wide))
})

test_that("matrices without names, recipes and 100 classes have rules", {
  x <- unname(noise_matrix(120, 3))
  fit <- cpt(x, factor(x[, 1] > 0), control = quick(), seed = 1, threads = 1)
  expect_one_rule(fit, x, as.data.frame(x))
  many <- big_tree(3L, 100L)
  expect_one_rule(many, data.frame(a = steady(50), b = steady(50, 0.1), c = steady(50, 0.6)))
  expect_true(all(nchar(format(many), "width") <= 80))
  skip_if_not_installed("recipes")
  recipe <- recipes::step_normalize(recipes::recipe(Species ~ ., iris), recipes::all_predictors())
  fit <- cpt(recipe, iris, control = quick(), seed = 1, threads = 1)
  match <- rules_match(cpt_rules(fit), iris)
  expect_identical(cpt_rules(fit)$node[max.col(match)], unname(predict(fit, iris, type = "node")))
})

test_that("rules_match() keeps row names and answers NA where a value is missing", {
  rules <- cpt_rules(hand_cars())
  match <- rules_match(rules, mtcars[1:3, ])
  expect_identical(dimnames(match), list(rownames(mtcars)[1:3], c("4", "5", "3")))
  rows <- data.frame(wt = c(5, 2, NA), hp = c(NA, NA, 100))
  match <- rules_match(rules, rows)
  expect_identical(match[1L, ], c(`4` = FALSE, `5` = FALSE, `3` = TRUE))
  expect_identical(match[2L, ], c(`4` = NA, `5` = NA, `3` = FALSE))
  expect_identical(dim(rules_match(rules, mtcars[0, ])), c(0L, 3L))
  expect_identical(rules_match(cpt_rules(root_cars()), mtcars[1:2, ])[, 1L], c(TRUE, TRUE),
    ignore_attr = TRUE)
})

test_that("a matrix is matched in blocks of rows", {
  x <- noise_matrix(10, 3)
  expect_identical(row_blocks(x, cells = 12), list(1:4, 5:8, 9:10))
  expect_identical(row_blocks(iris), list(NULL))
  expect_length(row_blocks(x[0, ]), 0L)
})

test_that("linear leaves are written out", {
  coef <- matrix(0, 2L, 5L)
  coef[, 3L] <- c(-5.25, 0.01)
  fit <- with_models(hand_cars(), coef, c(0, 0, 37, 30.88, 16.76))
  rules <- cpt_rules(fit)
  expect_identical(rules$model, c("-5.25 wt + 0.01 hp + 37", "30.9", "16.8"))
  expect_match(format(rules), "Leaf 4: -5.25 wt + 0.01 hp + 37 (7 rows", fixed = TRUE, all = FALSE)
  expect_match(format(fit), "21.91 (1.87); -5.25 wt + 0.01 hp + 37", fixed = TRUE, all = FALSE)
})

test_that("text fits the terminal, and parts of the rules print", {
  rules <- cpt_rules(big_tree(3L))
  for (width in c(40L, 80L)) {
    local_reproducible_output(width = width)
    expect_true(all(nchar(format(rules), "width") <= width))
  }
  lines <- capture.output(out <- withVisible(print(rules)))
  expect_false(out$visible)
  expect_identical(out$value, rules)
  expect_identical(format(rules), lines)
  expect_identical(format(rules[2L, ])[3L], grep("^Leaf", format(rules), value = TRUE)[2L])
  expect_output(print(rules[c("node", "n")]), "node +n\n1")
})

test_that("what cannot be written is refused", {
  fit <- hand_iris()
  expect_snapshot({
    refusal(cpt_rules(iris))
    refusal(cpt_rules(fit, digits = 0))
    refusal(cpt_rules(fit, max_terms = 0.5))
    refusal(cpt_rules(fit, condition = NA))
    refusal(check_rule_size(fit$tree, Inf, TRUE, most = 3))
    refusal(rules_match(fit, iris))
    refusal(rules_match(cpt_rules(fit, condition = FALSE), iris))
    refusal(rules_match(cpt_rules(fit), iris[1:2]))
    refusal(format(cpt_rules(fit), width = 3))
  })
})
