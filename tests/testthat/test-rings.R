test_that("rings is what its help page says", {
  expect_identical(dim(rings), c(2000L, 3L))
  expect_identical(levels(rings$class), c("blue", "red"))
  radius <- sqrt(rings$x1^2 + rings$x2^2)
  expect_identical(rings$class == "red", radius > 0.4 & radius < 0.8)
  expect_true(all(abs(rings$x1) <= 1 & abs(rings$x2) <= 1))
  # the area of the ring is pi (0.8^2 - 0.4^2) of 4
  expect_equal(mean(rings$class == "red"), pi * 0.48 / 4, tolerance = 0.1)
})

test_that("rings can be made again from its seed", {
  withr::with_preserve_seed({
    set.seed(2021, kind = "Mersenne-Twister", normal.kind = "Inversion",
      sample.kind = "Rejection")
    expect_identical(make_rings(2000), rings)
  })
})

test_that("make_rings() uses R's stream and its arguments", {
  set.seed(1)
  a <- make_rings(50)
  set.seed(1)
  expect_identical(make_rings(50), a)
  expect_identical(nrow(make_rings(0)), 0L)
  expect_true(all(make_rings(50, radii = c(0, 2))$class == "red"))
  expect_snapshot(error = TRUE, {
    make_rings(-1)
    make_rings(10, radii = 0.4)
    make_rings(10, radii = c(0.8, 0.4))
    make_rings(10, radii = "a")
  })
})
