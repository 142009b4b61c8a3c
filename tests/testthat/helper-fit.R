# Small data and quick settings for the tests of the fitting side.

# One column of every kind a predictor may have.
kinds <- function(n = 30) {
  i <- seq_len(n)
  data.frame(
    y = sin(i),
    num = i / 10,
    int = rev(i),
    lgl = i %% 3 == 0,
    fct = factor(c("u", "v", "w")[i %% 3 + 1]),
    two = factor(c("p", "q")[i %% 2 + 1]),
    ord = factor(c("low", "mid", "high")[i %% 3 + 1], c("low", "mid", "high"), ordered = TRUE),
    chr = c("b", "a", "C")[i %% 3 + 1],
    day = as.Date("2020-01-01") + i,
    sec = as.POSIXct("2020-01-01", tz = "UTC") + i,
    dur = as.difftime(i, units = "mins")
  )
}

quick <- function(...) {
  cpt_control(max_depth = 2, max_facets = 3, starts = 1, grow_epochs = 2,
    grow_min_steps = 20, refine_epochs = 2, refine_min_steps = 4, search = FALSE, ...)
}

# The parts of two fits that must agree whatever interface was used.
same_fit <- function(a, b) {
  expect_identical(a$tree, b$tree)
  expect_identical(unname(a$where), unname(b$where))
  expect_identical(a$levels, b$levels)
}

# Environments, pointers and functions anywhere inside a list, by path.
foreign_parts <- function(x, path = "fit") {
  found <- character()
  if (is.environment(x) || is.function(x) || typeof(x) == "externalptr") found <- path
  more <- attributes(x)
  more <- more[setdiff(names(more), c("names", "class", "dim", "dimnames", "row.names"))]
  for (i in seq_along(more)) found <- c(found, foreign_parts(more[[i]], paste0(path, "@", names(more)[i])))
  if (is.list(x) || is.call(x)) {
    for (i in seq_along(x)) {
      if (!identical(x[[i]], quote(expr = ))) {
        found <- c(found, foreign_parts(x[[i]], paste0(path, "$", names(x)[i] %||% i)))
      }
    }
  }
  found
}
