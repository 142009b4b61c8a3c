# Coding ------------------------------------------------------------------------

test_that("every kind of column has its documented coding", {
  d <- kinds()
  x <- blueprint_mold_frame(d[-1], d$y)$x
  expect_identical(colnames(x), c("num", "int", "lgl", "fctu", "fctv", "fctw", "twoq",
    "ord", "chrC", "chra", "chrb", "day", "sec", "dur"))
  expect_identical(x[, "num"], d$num)
  expect_identical(x[, "int"], as.double(d$int))
  expect_identical(x[, "lgl"], as.double(d$lgl))
  expect_identical(x[, "fctv"], as.double(d$fct == "v"))
  expect_identical(x[, "twoq"], as.double(d$two == "q"))
  expect_identical(x[, "ord"], as.double(match(d$ord, c("low", "mid", "high"))))
  expect_identical(x[, "chra"], as.double(d$chr == "a"))
  expect_identical(x[, "day"], as.double(d$day))
  expect_identical(x[, "sec"], as.double(d$sec))
  expect_identical(x[, "dur"], as.double(1:30))
})

test_that("formula, data frame, tibble and data.table give the same matrix", {
  d <- kinds()
  frame <- blueprint_mold_frame(d[-1], d$y)
  formula <- blueprint_mold_formula(y ~ ., d)
  expect_identical(formula$x, frame$x)
  expect_identical(formula$y, frame$y)
  expect_identical(formula$blueprint$columns, frame$blueprint$columns)
  skip_if_not_installed("tibble")
  expect_identical(blueprint_mold_formula(y ~ ., tibble::as_tibble(d))$x, frame$x)
  skip_if_not_installed("data.table")
  expect_identical(blueprint_mold_formula(y ~ ., data.table::as.data.table(d))$x, frame$x)
  expect_identical(blueprint_mold_frame(data.table::as.data.table(d[-1]), d$y)$x, frame$x)
})

test_that("a matrix goes to the engine as it is, dense or sparse", {
  x <- as.matrix(iris[1:4])
  dense <- blueprint_mold_matrix(x, iris$Species)
  expect_identical(dense$x, x)
  expect_equal(blueprint_mold_frame(iris[1:4], iris$Species)$x, x, ignore_attr = "dimnames")
  sparse <- blueprint_mold_matrix(as(x, "CsparseMatrix"), iris$Species)
  expect_s4_class(sparse$x, "dgCMatrix")
  expect_identical(sparse$blueprint$columns, dense$blueprint$columns)
  int <- matrix(1:20, 10)
  expect_type(blueprint_mold_matrix(int, 1:10)$x, "integer")
})

test_that("unused levels are kept and one level is one column", {
  d <- data.frame(g = factor(c("a", "b", "a"), c("a", "b", "c")), h = factor(rep("z", 3)))
  x <- blueprint_mold_frame(d, 1:3)$x
  expect_identical(colnames(x), c("ga", "gb", "gc", "hz"))
  expect_identical(unname(x[, "gc"]), c(0, 0, 0))
})

test_that("coded names are unique even if columns collide", {
  d <- data.frame(g = factor(c("1", "2", "3")), g1 = 1:3)
  mold <- suppressWarnings(blueprint_mold_frame(d, c(1, 3, 2)))
  expect_identical(colnames(mold$x), c("g1", "g2", "g3", "g1.1"))
})

test_that("wrappers without meaning are taken off", {
  d <- data.frame(a = 1:4)
  d$b <- scale(c(1, 3, 2, 5))
  d$c <- I(c(4, 3, 2, 1))
  d$t <- as.POSIXlt("2020-01-01", tz = "UTC") + 0:3
  x <- blueprint_mold_frame(d, 1:4)$x
  expect_identical(x[, "b"], as.vector(d$b))
  expect_identical(x[, "c"], c(4, 3, 2, 1))
  expect_identical(diff(x[, "t"]), c(1, 1, 1))
})

# Formulas ------------------------------------------------------------------------

test_that("sums of names never reach terms()", {
  parse <- function(f, names = c("a", "b", "c")) rhs_parse(f[[2]], names)
  expect_identical(parse(~.)$plain, c("a", "b", "c"))
  expect_null(parse(~.)$extra)
  expect_identical(parse(~ b + a + b)$plain, c("b", "a"))
  expect_identical(parse(~ . - b)$plain, c("a", "c"))
  expect_identical(parse(~ . - b + b)$plain, c("a", "c", "b"))
  expect_identical(parse(~ . - (a + b))$plain, "c")
  expect_identical(parse(~ (a + (b)) - 1)$plain, c("a", "b"))
  expect_identical(parse(~ 0 + a)$plain, "a")
  expect_identical(parse(~ log(a) + . - c)$plain, c("a", "b"))
  expect_identical(parse(~ log(a) + . - c)$extra, quote(log(a) - c))
  expect_identical(parse(~ `my col` + a)$plain, c("my col", "a"))
})

test_that("transformations, interactions and removals give the expected columns", {
  d <- kinds()
  x <- blueprint_mold_formula(y ~ log(num) + int:fct + poly(num, 2) + two - int, d)$x
  expect_identical(colnames(x), c("twoq", "log(num)", "poly(num, 2)1", "poly(num, 2)2",
    "int:fctu", "int:fctv", "int:fctw"))
  expect_identical(x[, "log(num)"], log(d$num))
  expect_equal(x[, 3:4], unclass(poly(d$num, 2)), ignore_attr = TRUE)
  expect_identical(x[, "int:fctv"], as.double(d$int * (d$fct == "v")))
  expect_identical(colnames(blueprint_mold_formula(y ~ . - fct - chr, d)$x),
    c("num", "int", "lgl", "twoq", "ord", "day", "sec", "dur"))
  expect_identical(colnames(blueprint_mold_formula(log(int) ~ num, d)$x), "num")
  expect_false("int" %in% colnames(blueprint_mold_formula(log(int) ~ ., d)$x))
})

test_that("interactions have a column for every level, so that nothing is lost", {
  d <- kinds()
  expect_identical(colnames(blueprint_mold_formula(y ~ two:lgl, d)$x),
    c("twop:lglFALSE", "twoq:lglFALSE", "twop:lglTRUE", "twoq:lglTRUE"))
  expect_identical(colnames(blueprint_mold_formula(y ~ two * num, d)$x),
    c("twoq", "num", "twop:num", "twoq:num"))
  expect_identical(blueprint_mold_formula(y ~ num + num * int, d)$blueprint$encoded,
    c("num", "int", "num:int"))
})

test_that("forging the training rows gives the training matrix, whatever the formula", {
  d <- kinds()
  for (f in list(y ~ ., y ~ log(num) + poly(int, 2) + fct * lgl, y ~ scale(num) + cut(int, c(0, 10, 30)),
    y ~ factor(int %% 3) + I(num^2), y ~ (num + two)^2, y ~ splines::ns(num, 3))) {
    expect_silent(mold <- blueprint_mold_formula(f, d))
    expect_identical(blueprint_forge(mold$blueprint, d)$x, mold$x)
    expect_identical(blueprint_forge(mold$blueprint, d[7, ])$x, mold$x[7, , drop = FALSE])
  }
})

test_that("poly() and scale() use the training data when predicting", {
  d <- kinds()
  mold <- blueprint_mold_formula(y ~ poly(num, 2) + scale(int), d)
  expect_equal(blueprint_forge(mold$blueprint, d[3:4, ])$x, mold$x[3:4, ])
})

test_that("values and vectors from where the formula was written are found", {
  d <- kinds()
  make <- function() {
    k <- 2
    y ~ I(num^k)
  }
  mold <- blueprint_mold_formula(make(), d)
  expect_identical(mold$x[, 1], d$num^2)
  expect_identical(blueprint_forge(mold$blueprint, d[2, ])$x[[1]], d$num[2]^2)
  outside <- d$num
  expect_identical(blueprint_mold_formula(y ~ outside, d)$x[, 1], d$num)
  y <- d$y
  expect_identical(blueprint_mold_formula(y ~ outside, NULL)$x[, 1], d$num)
})

test_that("20,000 columns work, by `.` and written out", {
  skip_on_cran()
  n <- 10
  p <- 20000
  d <- as.data.frame(matrix(rnorm(n * p), n))
  d$y <- seq_len(n)
  time <- system.time(mold <- blueprint_mold_formula(y ~ ., d))[["elapsed"]]
  expect_lt(time, 30)
  expect_identical(mold$blueprint$encoded, paste0("V", 1:p))
  written <- blueprint_mold_formula(stats::as.formula(paste("y ~", paste0("V", 1:p, collapse = "+"))), d)
  expect_identical(written$x, mold$x)
  # reading a sum that deep would end the R process
  file <- withr::local_tempfile()
  saveRDS(written$blueprint, file)
  expect_identical(blueprint_forge(readRDS(file), d)$x, mold$x)
  mixed <- blueprint_mold_formula(y ~ log(V1^2) + . - V2, d)
  expect_length(mixed$blueprint$encoded, p)
})

test_that("formulas that cannot work say why", {
  d <- kinds()
  expect_snapshot(error = TRUE, {
    blueprint_mold_formula(~num, d)
    blueprint_mold_formula(y ~ offset(num), d)
    blueprint_mold_formula(y ~ num + (int + offset(num)), d)
    blueprint_mold_formula(y ~ 1, d)
    blueprint_mold_formula(y ~ nun, d)
    blueprint_mold_formula(why ~ num, d)
    blueprint_mold_formula(y ~ log(nmu), d)
    blueprint_mold_formula(y ~ nosuchfunction(num), d)
    blueprint_mold_formula(y ~ log(num - 0.1), d)
    blueprint_mold_formula(nosuchfunction(y) ~ num, d)
    blueprint_mold_formula(cbind(y, num) ~ int, d)
    blueprint_mold_formula(y ~ ., as.matrix(d["num"]))
    blueprint_mold_formula(y ~ ., NULL)
    blueprint_mold_formula(y ~ num, d, subset = d$num > 99)
    blueprint_mold_formula(y ~ num, d, subset = 31)
    blueprint_mold_formula(y ~ num, d, subset = c(TRUE, FALSE))
  })
  expect_error(blueprint_mold_formula(y ~ nun, d), class = "cpt_error_data")
})

test_that("a function that predict() cannot find is told at fit", {
  d <- kinds()
  local({
    twice <- function(x) 2 * x
    expect_snapshot(mold <- blueprint_mold_formula(y ~ twice(num), d))
    expect_snapshot(error = TRUE, blueprint_forge(mold$blueprint, d))
  })
})

test_that("subset works by flag and by number, and na$omitted counts rows as given", {
  d <- kinds()
  expect_identical(blueprint_mold_formula(y ~ num, d, subset = d$num > 2)$x[, 1], d$num[d$num > 2])
  expect_identical(blueprint_mold_formula(y ~ num, d, subset = 3:5)$x[, 1], d$num[3:5])
  expect_identical(blueprint_mold_formula(y ~ num, d, subset = -(1:5))$x[, 1], d$num[-(1:5)])
  expect_identical(blueprint_mold_formula(y ~ num, d, subset = c(NA, rep(TRUE, 29)))$x[, 1], d$num[-1])
  d$num[12] <- NA
  mold <- suppressMessages(blueprint_mold_formula(y ~ num, d, subset = 11:20, na_action = "omit"))
  expect_identical(mold$na$omitted, 12L)
})

test_that("terms and formula are kept without environment", {
  d <- kinds()
  b <- blueprint_mold_formula(y ~ log(num) + . - fct, d)$blueprint
  expect_length(foreign_parts(b), 0)
  expect_null(environment(b$formula))
  t <- blueprint_terms(b)
  expect_s3_class(t, "terms")
  expect_setequal(attr(t, "term.labels"), c(setdiff(names(d), c("y", "fct")), "log(num)"))
  expect_identical(blueprint_terms(blueprint_mold_formula(y ~ log(num) + int, d)$blueprint)[[3]],
    quote(int + log(num)))
  expect_null(blueprint_terms(blueprint_mold_frame(d[-1], d$y)$blueprint))
})

# Outcome ------------------------------------------------------------------------

test_that("the type of the outcome decides the task", {
  x <- data.frame(a = 1:4)
  mold <- function(y) blueprint_mold_frame(x, y)
  expect_identical(mold(c(1.5, 2, 3, 4))$task, "regression")
  f <- mold(factor(c("b", "a", "b", "a"), c("b", "a")))
  expect_identical(f[c("task", "levels", "y")],
    list(task = "classification", levels = c("b", "a"), y = c(0L, 1L, 0L, 1L)))
  expect_identical(mold(c("b", "B", "a", "a"))$levels, c("B", "a", "b"))
  expect_identical(mold(c(TRUE, FALSE, TRUE, TRUE))$levels, c("FALSE", "TRUE"))
  expect_identical(mold(matrix(c(3, 4, 5, 6)))$y, c(3, 4, 5, 6))
})

test_that("messages and warnings about the outcome", {
  x <- data.frame(a = 1:4)
  expect_snapshot({
    m <- blueprint_mold_frame(x, c(0, 1, 1, 0))
    m <- blueprint_mold_formula(good ~ a, cbind(x, good = c(0L, 1L, 1L, 0L)))
    m <- blueprint_mold_frame(x, factor(c("a", "b", "a", "b"), c("a", "b", "c", "d")))
    m <- blueprint_mold_frame(x, factor(rep("a", 4)))
    m <- blueprint_mold_frame(x, rep(2, 4))
    m <- blueprint_mold_frame(x, c("a", "b", "b", "b"), weights = c(0, 1, 1, 1))
  })
  expect_warning(blueprint_mold_frame(x, rep(2, 4)), class = "cpt_warning_outcome")
  expect_message(blueprint_mold_frame(x, c(0, 1, 1, 0)), class = "cpt_message_outcome")
})

test_that("outcomes that cannot be used say why", {
  x <- data.frame(a = 1:4)
  expect_snapshot(error = TRUE, {
    blueprint_mold_frame(x, 1:3)
    blueprint_mold_frame(x, list(1, 2, 3, 4))
    blueprint_mold_frame(x, Sys.Date() + 1:4)
    blueprint_mold_frame(x, NULL)
    blueprint_mold_frame(x, data.frame(y = 1:4))
    blueprint_mold_frame(x, matrix(1:8, 4))
    blueprint_mold_frame(x, complex(real = 1:4))
    blueprint_mold_frame(x, c(1, Inf, 2, NaN))
    blueprint_mold_frame(x, c(1, NA, 2, 3))
    blueprint_mold_frame(x, rep(NA_real_, 4), na_action = "omit")
  })
})

# Rows, columns and gaps ------------------------------------------------------------

test_that("data that cannot be used says why", {
  d <- kinds()
  x <- d[2:3]
  bad <- function(column) {
    x$bad <- column
    x
  }
  twice <- cbind(x, x)
  nameless <- stats::setNames(x, c("num", ""))
  expect_snapshot(error = TRUE, {
    blueprint_mold_frame(x[0, ], numeric())
    blueprint_mold_frame(x[1, ], 1)
    blueprint_mold_frame(x[0], d$y)
    blueprint_mold_frame(twice, d$y)
    blueprint_mold_frame(nameless, d$y)
    blueprint_mold_frame(bad(as.list(1:30)), d$y)
    blueprint_mold_frame(bad(complex(real = 1:30)), d$y)
    blueprint_mold_frame(bad(matrix(1:60, 30)), d$y)
    blueprint_mold_frame(bad(data.frame(u = 1:30)), d$y)
    blueprint_mold_frame(bad(structure(1:30, class = "integer64")), d$y)
    blueprint_mold_frame(bad(c(Inf, NaN, 1:28)), d$y, na_action = "impute")
    blueprint_mold_frame(bad(rep(NA_real_, 30)), d$y, na_action = "impute")
    blueprint_mold_frame(bad(factor(rep(NA, 30))), d$y, na_action = "omit")
    blueprint_mold_matrix(matrix("a", 3, 2), 1:3)
    blueprint_mold_matrix(matrix(1, 3, 0), 1:3)
    blueprint_mold_matrix(matrix(c(1, Inf, 2), 3, 2), 1:3)
    blueprint_mold_matrix(matrix(c(1, 2, NA, NA), 2), 1:2, na_action = "impute")
    blueprint_mold_matrix(matrix(1:6, 3, dimnames = list(NULL, c("a", "a"))), 1:3)
    blueprint_mold_matrix(matrix(1:6, 3), 1:4)
  })
})

test_that("a factor with a level per row is asked about", {
  expect_snapshot({
    m <- blueprint_mold_frame(data.frame(id = letters[1:5], a = 1:5), 1:5)
    m <- blueprint_mold_formula(y ~ ., data.frame(y = 1:3, u = letters[1:3], v = factor(3:1)))
  })
  expect_warning(blueprint_mold_frame(data.frame(id = letters[1:5]), 1:5), class = "cpt_warning_id")
  expect_silent(blueprint_mold_frame(data.frame(id = c(letters[1:4], "a")), 1:5))
})

gappy <- function() {
  d <- kinds()
  d$num[2:4] <- NA
  d$fct[4] <- NA
  d$y[30] <- NA
  d
}

test_that("na_action: each of the three, with its messages", {
  d <- gappy()
  expect_snapshot(error = TRUE, blueprint_mold_formula(y ~ ., d))
  expect_snapshot({
    omit <- blueprint_mold_formula(y ~ ., d, na_action = "omit")
    impute <- blueprint_mold_formula(y ~ ., d, na_action = "impute")
  })
  expect_identical(omit$na, list(action = "omit", omitted = c(2L, 3L, 4L, 30L)))
  expect_identical(omit$x[, "num"], d$num[-c(2:4, 30)])
  expect_identical(impute$na, list(action = "impute", omitted = 30L))
  expect_identical(impute$x[2:4, "num"], rep(median(d$num[-30], na.rm = TRUE), 3))
  # fct without rows 4 and 30: u 9 (rows 3, 6, ...), v 9, w 10
  expect_identical(unname(impute$x[4, c("fctu", "fctv", "fctw")]), c(0, 0, 1))
  expect_identical(impute$y, d$y[-30])
  expect_length(impute$weights, 29)
})

test_that("gaps in columns the formula does not use do not matter", {
  d <- gappy()
  expect_silent(blueprint_mold_formula(y ~ int, d[-30, ]))
})

test_that("gaps are handled before a formula transforms them", {
  d <- gappy()[-30, ]
  mold <- suppressMessages(blueprint_mold_formula(y ~ poly(num, 2) + log(num), d, na_action = "impute"))
  expect_identical(mold$x[2, "log(num)"], c("log(num)" = log(median(d$num, na.rm = TRUE))))
})

test_that("na_action on matrices, dense and sparse, agrees with data frames", {
  x <- as.matrix(iris[1:4])
  x[1:3, 2] <- NA
  x[3, 4] <- NA
  for (action in c("omit", "impute")) {
    frame <- suppressMessages(blueprint_mold_frame(as.data.frame(x), iris$Species, na_action = action))
    dense <- suppressMessages(blueprint_mold_matrix(x, iris$Species, na_action = action))
    sparse <- suppressMessages(blueprint_mold_matrix(as(x, "CsparseMatrix"), iris$Species, na_action = action))
    expect_equal(dense$x, frame$x, ignore_attr = "dimnames")
    expect_equal(as.matrix(sparse$x), dense$x)
    expect_identical(dense$na, frame$na)
    expect_identical(sparse$blueprint$columns$fill, frame$blueprint$columns$fill)
  }
  expect_snapshot(error = TRUE, blueprint_mold_matrix(x, iris$Species))
  int <- matrix(c(1L, 2L, NA, 4L), 4)
  expect_identical(suppressMessages(blueprint_mold_matrix(int, 1:4, na_action = "impute"))$x[3], 2L)
  int <- matrix(c(1L, 2L, NA), 3)
  expect_identical(suppressMessages(blueprint_mold_matrix(int, 1:3, na_action = "impute"))$x[3], 1.5)
})

test_that("medians and modes of weighted rows are those of repeated rows", {
  set.seed(1)
  for (i in 1:50) {
    n <- sample(2:9, 1)
    w <- sample(0:3, n, replace = TRUE)
    if (sum(w) == 0) next
    v <- round(rnorm(n), 1)
    expect_identical(weighted_median(v, w), median(rep(v, w)))
    code <- sample(3L, n, replace = TRUE)
    expect_identical(weighted_mode(code, 3L, w), as.double(which.max(tabulate(rep(code, w), 3))))
  }
  expect_identical(weighted_median(c(1, 2, NA), c(0, 0, 1)), 1.5)
  expect_identical(weighted_median(c(NA_real_, NaN), 1:2), NA_real_)
  sparse <- Matrix::rsparsematrix(40, 6, 0.4)
  sparse[, 1] <- -1
  dense <- as.matrix(sparse)
  w <- rep(c(0, 1, 3), length.out = 40)
  of_repeated <- function(x) unname(apply(x, 2, function(v) median(rep(v, w), na.rm = TRUE)))
  expect_identical(matrix_medians(sparse, rep(1, 40)), unname(apply(dense, 2, median)))
  expect_identical(matrix_medians(sparse, w), of_repeated(dense))
  dense[cbind(1:40, rep(1:6, length.out = 40))] <- NA
  expect_identical(matrix_medians(dense, w), of_repeated(dense))
  whole <- round(10 * dense)
  storage.mode(whole) <- "integer"
  expect_identical(matrix_medians(whole, w), as.double(of_repeated(whole)))
  expect_identical(matrix_medians(whole > 0, w), as.double(of_repeated(whole > 0)))
})

test_that("every Matrix class becomes a dgCMatrix or a plain matrix", {
  x <- Matrix::Matrix(c(0, 1, 0, 2, 0, 3), 3, sparse = TRUE)
  for (class in c("TsparseMatrix", "RsparseMatrix")) {
    expect_identical(as.matrix(check_matrix(as(x, class))), as.matrix(x))
    expect_s4_class(check_matrix(as(x, class)), "dgCMatrix")
  }
  expect_s4_class(check_matrix(x > 0), "dgCMatrix")
  expect_true(is.matrix(check_matrix(Matrix::Matrix(matrix(1:6 + 0, 3), sparse = FALSE))))
})

# Forging ------------------------------------------------------------------------------

test_that("columns are found by name; extra ones, order and the outcome do not matter", {
  d <- kinds()
  mold <- blueprint_mold_formula(y ~ ., d)
  new <- cbind(extra = "z", d[rev(names(d))])
  new$y <- NULL
  expect_identical(blueprint_forge(mold$blueprint, new)$x, mold$x)
  skip_if_not_installed("tibble")
  expect_identical(blueprint_forge(mold$blueprint, tibble::as_tibble(new))$x, mold$x)
  skip_if_not_installed("data.table")
  expect_identical(blueprint_forge(mold$blueprint, data.table::as.data.table(new))$x, mold$x)
})

test_that("levels are matched by label: subsets, other orders and strings are fine", {
  d <- kinds()
  mold <- blueprint_mold_formula(y ~ ., d)
  new <- droplevels(d[4, ])
  expect_identical(blueprint_forge(mold$blueprint, new)$x, mold$x[4, , drop = FALSE])
  new <- d
  new$fct <- factor(as.character(d$fct), c("w", "v", "u"))
  new$ord <- as.character(d$ord)
  new$chr <- factor(d$chr)
  new$dur <- as.difftime(as.numeric(d$dur) * 60, units = "secs")
  new$lgl <- as.integer(d$lgl)
  expect_equal(blueprint_forge(mold$blueprint, new)$x, mold$x)
})

test_that("zero rows give zero rows, one row its row among many", {
  d <- kinds()
  mold <- blueprint_mold_formula(y ~ . + poly(num, 2), d)
  none <- blueprint_forge(mold$blueprint, d[0, ])
  expect_identical(dim(none$x), c(0L, ncol(mold$x)))
  expect_identical(none$missing, logical())
  expect_identical(blueprint_forge(mold$blueprint, d[9, ])$x, blueprint_forge(mold$blueprint, d)$x[9, , drop = FALSE])
  x <- as.matrix(iris[1:4])
  m <- blueprint_mold_matrix(x, iris$Species)
  expect_identical(dim(blueprint_forge(m$blueprint, x[0, ])$x), c(0L, 4L))
  expect_identical(dim(blueprint_forge(m$blueprint, as(x, "CsparseMatrix")[0, ])$x), c(0L, 4L))
})

test_that("row names are kept unless they are automatic", {
  d <- kinds()
  b <- blueprint_mold_formula(y ~ num, d)$blueprint
  expect_null(blueprint_forge(b, d)$row_names)
  row.names(d) <- paste0("r", 1:30)
  expect_identical(blueprint_forge(b, d[2:3, ])$row_names, c("r2", "r3"))
  d$num[2] <- NA
  omit <- blueprint_forge(b, d[2:3, ], "omit")
  expect_identical(omit$row_names, "r3")
  expect_identical(omit$missing, c(TRUE, FALSE))
  expect_identical(nrow(omit$x), 1L)
})

test_that("gaps in new data: fail, omit, impute and pass", {
  d <- kinds()
  mold <- blueprint_mold_formula(y ~ num + fct + log(int), d)
  new <- d[1:4, ]
  new$num[2] <- NA
  new$fct[3] <- NA
  new$int[2] <- NA
  expect_snapshot(error = TRUE, blueprint_forge(mold$blueprint, new))
  pass <- blueprint_forge(mold$blueprint, new, "pass")
  expect_identical(pass$missing, c(FALSE, TRUE, TRUE, FALSE))
  expect_true(all(is.finite(pass$x)))
  expect_identical(pass$x[c(1, 4), ], mold$x[c(1, 4), ])
  impute <- blueprint_forge(mold$blueprint, new, "impute")
  expect_identical(impute$x[[2, "num"]], median(d$num))
  expect_identical(impute$x[[2, "log(int)"]], log(median(d$int)))
  # statistics come from training: other rows of the new data change nothing
  expect_identical(blueprint_forge(mold$blueprint, new[2, ], "impute")$x[1, ], impute$x[2, ])
  expect_identical(blueprint_forge(mold$blueprint, new, "omit")$x, pass$x[c(1, 4), ])
  new$num <- NA
  expect_identical(blueprint_forge(mold$blueprint, new, "pass")$missing, rep(TRUE, 4))
  cut <- blueprint_mold_formula(y ~ cut(num, c(0, 1, 5)), d)$blueprint
  expect_identical(blueprint_forge(cut, data.frame(num = c(1, 9)), "pass")$missing, c(FALSE, TRUE))
})

test_that("matrices as new data: by name, by position only without names", {
  x <- as.matrix(iris[1:4])
  named <- blueprint_mold_matrix(x, iris$Species)$blueprint
  expect_identical(blueprint_forge(named, x[, 4:1])$x, x)
  expect_equal(blueprint_forge(named, iris)$x, x, ignore_attr = "dimnames")
  expect_equal(as.matrix(blueprint_forge(named, as(x[, 4:1], "CsparseMatrix"))$x), x)
  bare <- blueprint_mold_matrix(unname(x), iris$Species)$blueprint
  expect_identical(blueprint_forge(bare, unname(x))$x, unname(x))
  expect_equal(blueprint_forge(bare, iris[1:4])$x, x, ignore_attr = "dimnames")
  frame <- blueprint_mold_frame(iris[1:4], iris$Species)$blueprint
  expect_identical(blueprint_forge(frame, x)$x, x)
  d <- kinds()[c("y", "num", "lgl")]
  mold <- blueprint_mold_formula(y ~ ., d)
  expect_identical(blueprint_forge(mold$blueprint, as.matrix(d))$x, mold$x)
  expect_snapshot(error = TRUE, {
    blueprint_forge(named, unname(x))
    blueprint_forge(bare, unname(x)[, 1:3])
    blueprint_forge(named, matrix("a", 2, 4, dimnames = list(NULL, colnames(x))))
  })
})

test_that("new data that cannot be used says why", {
  d <- kinds()
  b <- blueprint_mold_formula(y ~ num + fct + lgl + day + log(int), d)$blueprint
  new <- d[1:3, ]
  with <- function(...) {
    new[...names()] <- list(...)
    new
  }
  renamed <- stats::setNames(new, sub("num", "nmu", names(new)))
  twice <- cbind(new, num = 1)
  expect_snapshot(error = TRUE, {
    blueprint_forge(b, NULL)
    blueprint_forge(b, list(num = 1))
    blueprint_forge(b, 1:3)
    blueprint_forge(b, renamed)
    blueprint_forge(b, new["fct"])
    blueprint_forge(b, twice)
    blueprint_forge(b, with(fct = factor(c("u", "x", "z"))))
    blueprint_forge(b, with(fct = 1:3))
    blueprint_forge(b, with(num = c("1", "2", "3")))
    blueprint_forge(b, with(num = factor(1:3)))
    blueprint_forge(b, with(lgl = c(0, 1, 2)))
    blueprint_forge(b, with(day = 1:3))
    blueprint_forge(b, with(num = list(1, 2, 3)))
    blueprint_forge(b, with(num = c(1, Inf, NaN)), "pass")
    blueprint_forge(b, with(int = c(0, 1, 2)), "pass")
  })
  expect_error(blueprint_forge(b, NULL), class = "cpt_error_newdata")
  expect_error(blueprint_forge(b, with(num = list(1, 2, 3))), class = "cpt_error_newdata")
})

# Recipes ----------------------------------------------------------------------------

test_that("a recipe gives the columns it bakes, and forges new data", {
  skip_if_not_installed("recipes")
  r <- recipes::recipe(Species ~ ., iris)
  r <- recipes::step_normalize(r, recipes::all_numeric_predictors())
  mold <- blueprint_mold_recipe(r, NULL)
  expect_equal(mold$x, scale(iris[1:4]), ignore_attr = TRUE)
  expect_identical(mold$outcome, "Species")
  expect_identical(mold$levels, levels(iris$Species))
  expect_equal(blueprint_forge(mold$blueprint, iris[3:5, 1:4])$x, mold$x[3:5, ])
  some <- blueprint_mold_recipe(r, iris[1:100, ])
  expect_equal(some$x, scale(iris[1:100, 1:4]), ignore_attr = TRUE)
  expect_identical(blueprint_mold_recipe(recipes::prep(r), NULL)$x, mold$x)
})

test_that("a stored recipe holds neither the data nor where it was written", {
  skip_if_not_installed("recipes")
  r <- local({
    big <- rnorm(1e5)
    recipes::step_center(recipes::recipe(Species ~ ., iris[rep(1:150, 50), ]), recipes::all_predictors())
  })
  b <- blueprint_mold_recipe(r, NULL)$blueprint
  expect_lt(length(serialize(b, NULL)), 1e5)
  expect_identical(nrow(b$recipe$template), 0L)
})

test_that("recipes that cannot be used say why", {
  skip_if_not_installed("recipes")
  expect_snapshot(error = TRUE, {
    blueprint_mold_recipe(recipes::recipe(~., iris), NULL)
    blueprint_mold_recipe(recipes::recipe(Species ~ ., iris), as.list(iris))
    blueprint_mold_recipe(recipes::recipe(Sepal.Length + Sepal.Width ~ Species, iris), NULL)
  })
  b <- blueprint_mold_recipe(recipes::recipe(Species ~ ., iris), NULL)$blueprint
  expect_error(blueprint_forge(b, iris[1]), class = "cpt_error_newdata")
})
