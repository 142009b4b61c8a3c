test_that("the table and the formals hold the same fields in the same order", {
  expect_identical(names(control_table), names(formals(cpt_control)))
  expect_identical(names(cpt_control()), names(control_table))
  expect_setequal(vapply(control_table, `[[`, "", "group"), names(control_groups))
})

test_that("every default is valid, and so are both ends of every range", {
  expect_s3_class(cpt_control(), "cpt_control")
  for (f in control_table) {
    if (f$type %in% c("flag", "choice")) next
    ends <- c(if (!f$above) f$min, if (is.finite(f$max)) f$max)
    for (value in ends) expect_identical(check_field(value, f), as.double(value))
  }
})

test_that("every field refuses what is just outside its range, and wrong types", {
  for (f in control_table) {
    bad <- list("a", NA, c(1, 2))
    if (!f$name %in% open_settings) bad <- c(bad, list(NULL))
    if (!f$type %in% c("flag", "choice")) {
      bad <- c(bad, list(if (f$above) f$min else f$min - 1e-9, NaN, TRUE))
      if (is.finite(f$max)) bad <- c(bad, list(f$max * (1 + 1e-9)))
    }
    if (f$type == "whole") bad <- c(bad, list(2.5))
    for (value in bad) {
      e <- tryCatch(check_field(value, f), error = identity)
      expect_s3_class(e, "cpt_error_argument")
      expect_match(conditionMessage(e), paste0("`", f$name, "` must be"), fixed = TRUE)
    }
  }
})

test_that("messages name the range and what was got", {
  expect_snapshot(error = TRUE, {
    cpt_control(max_depth = 0.5)
    cpt_control(max_depth = 21)
    cpt_control(max_leaves = 0)
    cpt_control(min_leaf_obs = 0)
    cpt_control(validation = 0.6)
    cpt_control(grow_rate = 0)
    cpt_control(choose_size = 1)
    cpt_control(grow_epochs = 3e9)
    cpt_control(lambda_start = 2, lambda_end = 1)
    cpt_control(choose_size = TRUE)
    cpt_control(standardize = "column")
  })
})

test_that("no limit of leaves can be written in two ways", {
  expect_identical(cpt_control(max_leaves = NULL)$max_leaves, Inf)
  expect_identical(cpt_control(max_leaves = Inf)$max_leaves, Inf)
  expect_identical(cpt_control(max_leaves = 8)$max_leaves, 8)
})

test_that("fields in the dots win and are checked", {
  control <- cpt_control(max_depth = 3, starts = 5)
  merged <- control_merge(control, list(max_depth = 4))
  expect_identical(merged$max_depth, 4)
  expect_identical(merged$starts, 5)
  expect_identical(control_merge(cpt_control(max_leaves = 5), list(max_leaves = NULL))$max_leaves, Inf)
  expect_identical(control_merge(list(max_depth = 2), list())$max_depth, 2)
  expect_snapshot(error = TRUE, {
    control_merge(control, list(max_depth = -1))
    control_merge(control, list(lambda_start = 9, lambda_end = 6))
    control_merge(control, list(maxdepth = 3))
    control_merge(control, list(depth = 3))
    control_merge(control, list(minbucket = 3))
    control_merge(control, list(num.threads = 3), "threads")
    control_merge(control, list(colour = 3, size = 2))
    control_merge(control, list(3))
    control_merge(control, list(max_depth = 1, max_depth = 2))
    control_merge(5, list())
    control_merge(list(dept = 5), list())
  })
})

test_that("the engine gets integers, and 0 for no limit", {
  options <- control_options(cpt_control(max_depth = 3))
  expect_identical(options$max_depth, 3L)
  expect_identical(options$max_leaves, 0L)
  expect_identical(options$choose_size, FALSE)
  expect_identical(options$grow_rate, formals(cpt_control)$grow_rate)
  expect_identical(control_options(cpt_control(max_leaves = 1e12))$max_leaves, .Machine$integer.max)
  expect_identical(names(options), names(control_table))
  expect_null(attr(options, "class"))
})

test_that("control prints what was changed", {
  expect_snapshot(print(cpt_control(max_depth = 3, validation = 0.2)))
  expect_false(any(grepl("*", format(cpt_control()), fixed = TRUE)))
  expect_invisible(print(cpt_control()))
})

test_that("the help page has one entry per field, with its default", {
  tags <- control_params()
  expect_length(tags, length(control_table))
  expect_match(tags[1], "@param max_depth (*integer*, whole number from 0 to 20)", fixed = TRUE)
  expect_true(all(grepl("Default `", tags, fixed = TRUE)))
})
