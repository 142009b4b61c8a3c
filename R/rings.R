# The two-ring data of the paper: the generator and the data set made by it.
# This file must not know the model.

#' Points between two circles
#'
#' `make_rings()` draws points uniformly from the square \eqn{[-1, 1]^2}. A
#' point between the two circles around the origin is "red", any other is
#' "blue". `rings` is such a data set of 2,000 points. Neither class is convex,
#' but "red" is one disc without a smaller one, so two polytopes are enough: a
#' hard task for a tree with axis-parallel splits and an easy one for [cpt()].
#'
#' `rings` was made by
#' ```r
#' set.seed(2021, kind = "Mersenne-Twister", normal.kind = "Inversion",
#'   sample.kind = "Rejection")
#' rings <- make_rings(2000)
#' ```
#'
#' @param n (*integer*) Number of points. 2000 as in the paper.
#' @param radii (*double*) Inner and outer radius of the red ring, in
#'   increasing order. 0.4 and 0.8 as in `rings`.
#'
#' @return A data frame with `n` rows and the columns
#'   - `x1`, `x2` (double): the coordinates, uniform on \eqn{[-1, 1]};
#'   - `class` (factor, levels "blue" and "red"): "red" if the distance to the
#'     origin is between the two radii.
#'
#'   The points are drawn from R's current random stream, so `set.seed()` makes
#'   them reproducible.
#' @examples
#' set.seed(1)
#' d <- make_rings(500)
#' table(d$class)
#' plot(x2 ~ x1, rings, col = c("steelblue", "firebrick")[rings$class],
#'   pch = 20, asp = 1)
#' @export
make_rings <- function(n = 2000, radii = c(0.4, 0.8)) {
  n <- check_number(n, "n", 0, .Machine$integer.max, whole = TRUE)
  ok <- is.numeric(radii) && length(radii) == 2L && !anyNA(radii) &&
    radii[1L] >= 0 && radii[1L] < radii[2L]
  if (!ok) {
    got <- if (is.numeric(radii) && length(radii) == 2L) {
      paste(format(radii), collapse = " and ")
    } else {
      describe(radii)
    }
    cpt_abort("{.arg radii} must be two increasing numbers of at least 0, not {got}.")
  }
  x1 <- stats::runif(n, -1, 1)
  x2 <- stats::runif(n, -1, 1)
  radius <- sqrt(x1^2 + x2^2)
  red <- radius > radii[1L] & radius < radii[2L]
  data.frame(x1 = x1, x2 = x2,
    class = factor(ifelse(red, "red", "blue"), levels = c("blue", "red")))
}

#' @rdname make_rings
#' @format NULL
#' @usage rings
"rings"
