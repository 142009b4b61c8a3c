# The gamma process at work (Section 3.2): of 50 facets, a split keeps as many as the
# shape of its region asks for, and loses no accuracy by it.

shapes <- list(
  hyperplane = function(x, y) x + y / 2 < 0.1,
  triangle = function(x, y) y > -0.6 & y < 0.8 - 1.4 * abs(x),
  square = function(x, y) abs(x) < 0.6 & abs(y) < 0.6,
  disc = function(x, y) x^2 + y^2 < 0.5
)

# Two thousand points spread evenly over the square from -1 to 1, others for each `from`.
shape_data <- function(shape, from, n = 2000) {
  along <- function(by) 2 * ((from + seq_len(n) * by) %% 1) - 1
  x <- along(0.7548776662466927)
  y <- along(0.5698402909980532)
  data.frame(x, y, side = factor(shape(x, y)))
}

shape_fits <- function(shape, ...) {
  new <- shape_data(shape, 0.5, 20000)
  vapply(1:4, function(seed) {
    fit <- cpt(side ~ x + y, shape_data(shape, seed / 9), max_depth = 1, max_facets = 50,
      search = FALSE, seed = seed, ...)
    c(facets = as.data.frame(fit)$facets[1], accuracy = mean(predict(fit, new) == new$side))
  }, c(facets = 0, accuracy = 0))
}

test_that("of 50 facets as many are left as the shape has sides", {
  skip_on_cran()
  # fewest, usual and most of four seeds; a disc has no sides, seven or eight draw it well
  expected <- list(hyperplane = c(1, 1, 2), triangle = c(3, 3, 4), square = c(4, 4, 5),
    disc = c(6, 8, 9))
  for (name in names(shapes)) {
    got <- shape_fits(shapes[[name]])
    free <- shape_fits(shapes[[name]], prior_weight = 0)
    facets <- got["facets", ]
    expect_gte(min(facets), expected[[name]][1])
    expect_identical(stats::median(facets), expected[[name]][2])
    expect_lte(max(facets), expected[[name]][3])
    expect_lte(mean(facets), mean(free["facets", ]))
    expect_gt(min(got["accuracy", ]), 0.975)
    expect_gt(mean(got["accuracy", ]), mean(free["accuracy", ]) - 0.005)
  }
})

test_that("shrink_rounds bounds how often facets are switched off", {
  stages <- function(rounds) {
    fit <- cpt(side ~ x + y, shape_data(shapes$disc, 0.1, 400), max_depth = 1, max_facets = 20,
      starts = 1, grow_min_steps = 100, refine_min_steps = 90, search = FALSE, seed = 1,
      shrink_rounds = rounds)
    sum(fit$history$stage == "shrink")
  }
  expect_identical(stages(0), 0L)
  one <- stages(1)
  expect_gt(one, 0L)
  expect_identical(stages(2) %% one, 0L)
  expect_lte(stages(2), 2L * one)
})
