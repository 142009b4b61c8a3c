test_that("flags, numbers and choices are checked", {
  expect_true(check_flag(TRUE, "a"))
  expect_identical(check_number(3L, "a", 0, 5, whole = TRUE), 3)
  expect_identical(check_choice(c("x", "y"), "a", c("x", "y")), "x")
  expect_identical(check_choice("y", "a", c("x", "y")), "y")
  expect_snapshot(error = TRUE, {
    check_flag(NA, "choose_size")
    check_flag("yes", "choose_size")
    check_number("a", "max_depth", 0, 20, whole = TRUE)
    check_number(c(1, 2), "max_depth", 0, 20, whole = TRUE)
    check_number(NA_real_, "rate", 0, above = TRUE)
    check_number(0, "rate", 0, above = TRUE)
    check_number(Inf, "rate", 0, above = TRUE)
    check_number(NULL, "size", 1, whole = TRUE)
    check_choice("omitt", "na_action", c("fail", "omit"))
    check_choice(1, "na_action", c("fail", "omit"))
  })
})

test_that("weights are checked", {
  expect_identical(check_weights(NULL, 3), c(1, 1, 1))
  expect_identical(check_weights(1:3, 3), c(1, 2, 3))
  expect_identical(check_weights(matrix(1:3), 3), c(1, 2, 3))
  expect_identical(check_weights(structure(1:2, class = "hardhat_frequency_weights"), 2), c(1, 2))
  expect_snapshot(error = TRUE, {
    check_weights("a", 3)
    check_weights(factor(1:3), 3)
    check_weights(1:2, 3)
    check_weights(c(1, NA, 2), 3)
    check_weights(c(1, -1, -2), 3)
    check_weights(c(1, Inf, 2), 3)
    check_weights(c(0, 0), 2)
  })
})

test_that("the nearest name is found, and none when nothing is near", {
  known <- c("max_depth", "max_facets", "min_leaf_obs", "threads")
  expect_identical(nearest_name("maxdepth", known), "max_depth")
  expect_identical(nearest_name("Max.Depth", known), "max_depth")
  expect_identical(nearest_name("depth", known), "max_depth")
  expect_identical(nearest_name("thread", known), "threads")
  expect_identical(nearest_name("max_facet", known), "max_facets")
  expect_null(nearest_name("colour", known))
  expect_null(nearest_name("a", character()))
})

test_that("threads come from argument, option, environment variable, then 2", {
  withr::local_options(cptree.threads = NULL)
  withr::local_envvar(CPTREE_THREADS = NA)
  expect_identical(resolve_threads(), 2L)
  withr::local_envvar(CPTREE_THREADS = "3")
  expect_identical(resolve_threads(), 3L)
  withr::local_options(cptree.threads = 4)
  expect_identical(resolve_threads(), 4L)
  expect_identical(resolve_threads(5), 5L)
})

test_that("a bad number of threads says where it came from", {
  withr::local_options(cptree.threads = NULL)
  withr::local_envvar(CPTREE_THREADS = "many")
  expect_snapshot(error = TRUE, {
    resolve_threads(0)
    resolve_threads(1.5)
    resolve_threads()
  })
  withr::local_options(cptree.threads = -1)
  expect_snapshot(error = TRUE, resolve_threads())
})

test_that("a seed is a whole number and leaves R's stream alone", {
  set.seed(1)
  before <- .Random.seed
  expect_identical(resolve_seed(7L), 7)
  expect_identical(.Random.seed, before)
  drawn <- resolve_seed()
  expect_true(drawn == round(drawn) && drawn > 0)
  set.seed(1)
  expect_identical(resolve_seed(), drawn)
  expect_snapshot(error = TRUE, {
    check_seed(-1)
    check_seed(1.5)
    check_seed("a")
    check_seed(1e20)
  })
})

test_that("progress is silent by default here, on request and in knitr", {
  withr::local_options(cptree.verbose = NULL, knitr.in.progress = NULL)
  expect_identical(resolve_verbose(), interactive())
  expect_true(resolve_verbose(TRUE))
  expect_false(resolve_verbose(FALSE))
  withr::local_options(cptree.verbose = TRUE)
  expect_true(resolve_verbose())
  withr::local_options(knitr.in.progress = TRUE)
  expect_false(resolve_verbose())
  expect_false(resolve_verbose(TRUE))
  withr::local_options(cptree.verbose = "a")
  expect_snapshot(error = TRUE, {
    resolve_verbose()
    resolve_verbose(1)
  })
})

test_that("duplicate names are told", {
  expect_silent(check_names_unique(c("a", "b")))
  expect_snapshot(error = TRUE, check_names_unique(c("a", "b", "a", "b")))
})
