test_that("conditions carry their class and the parent class", {
  expect_error(cpt_abort("no", "cpt_error_data"), class = "cpt_error_data")
  expect_error(cpt_abort("no", "cpt_error_data"), class = "cpt_error")
  expect_error(cpt_abort("no"), class = "cpt_error_argument")
  expect_warning(cpt_warn("hm", "cpt_warning_id"), class = "cpt_warning_id")
  expect_warning(cpt_warn("hm"), class = "cpt_warning")
  expect_message(cpt_inform("so", "cpt_message_missing"), class = "cpt_message_missing")
  expect_message(cpt_inform("so"), class = "cpt_message")
})

test_that("errors show no call", {
  e <- tryCatch(cpt_abort("no"), error = identity)
  expect_null(conditionCall(e))
})

test_that("braces in user strings are text, not code", {
  name <- "a{stop('ran')}"
  expect_error(cpt_abort("Column {name} is bad."), "a{stop('ran')}", fixed = TRUE)
  d <- data.frame(y = 1:3, z = c(1, NA, 2))
  names(d)[2] <- name
  expect_error(cpt(d[2], d$y), "a{stop('ran')}", fixed = TRUE, class = "cpt_error_data")
})

test_that("describe() says what a value is", {
  expect_identical(describe(NULL), "`NULL`")
  expect_identical(describe(NA), "`NA`")
  expect_identical(describe(NaN), "`NaN`")
  expect_identical(describe("a\"b"), "\"a\\\"b\"")
  expect_identical(describe(0.5), "0.5")
  expect_identical(describe(123456789), "123456789")
  expect_identical(describe(1:3), "a numeric vector of length 3")
  expect_identical(describe(character()), "an empty character vector")
  expect_identical(describe(list(1)), "a list")
  expect_identical(describe(iris), "a data frame")
  expect_identical(describe(matrix(1, 2, 3)), "a numeric matrix of 2 x 3")
  expect_identical(describe(y ~ x), "a formula")
  expect_identical(describe(factor("a")), "a factor")
  expect_identical(describe(mean), "a function")
  expect_identical(describe(Sys.Date()), "an object of class <Date>")
  expect_identical(describe(quote(a + b)), "an expression")
})

test_that("lists of names are cut short", {
  expect_identical(name_text("a"), "`a`")
  expect_identical(name_text(c("a", "b")), "`a` and `b`")
  expect_identical(name_text(letters[1:7]), "`a`, `b`, `c`, `d`, `e` and 2 more")
  expect_identical(count_text(c("a", "b"), 3:4), "`a` (3) and `b` (4)")
})
