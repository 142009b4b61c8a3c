# The package as a whole: its help page, what it imports and its native library.
# This file must not hold any function of the model.

#' cptree: convex polytope trees
#'
#' A convex polytope tree is a single decision tree whose splits ask "is this row
#' inside a convex polytope?". One such split can cut out a region for which an
#' ordinary tree needs dozens of splits, so the tree stays small enough to read.
#'
#' Begin with [cpt()]; [cpt_control()] has all settings, [rings] a first data set. The
#' vignettes: `vignette("cptree")` goes from a data frame to a saved tree,
#' `vignette("reading-a-tree")` reads and explains one, `vignette("how-it-works")` has the
#' mathematics and `vignette("experiments")` the experiments of the paper.
#'
#' @section Options:
#' - `options(cptree.threads = )`: threads to use when the argument `threads` is
#'   not given. Next comes the environment variable `CPTREE_THREADS`, then 2.
#' - `options(cptree.verbose = )`: show progress when the argument `verbose` is
#'   not given? `interactive()` by default; never inside knitr.
#' - `options(cptree.kernels = )` or the environment variable `CPTREE_KERNELS`: which
#'   version of the inner loops to use, `"avx512"`, `"avx2"` or `"portable"`, instead
#'   of the fastest that the processor has (`"auto"`). They differ in the last bits.
#'
#' @references Armandpour, M., Sadeghian, A. and Zhou, M. (2021). Convex Polytope
#'   Trees. *Advances in Neural Information Processing Systems* 34.
#'
#' @examples
#' fit <- cpt(Species ~ ., iris, max_depth = 2, search = FALSE, seed = 1)
#' fit
#' plot(fit)
#' explain(fit, iris[1, ])
#'
#' @useDynLib cptree, .registration = TRUE
#' @importFrom Rcpp evalCpp
#' @importFrom RcppParallel RcppParallelLibs
#' @importFrom rlang %||%
#' @importFrom methods as
#' @importClassesFrom Matrix dgCMatrix CsparseMatrix Matrix
#' @importFrom Matrix sparseMatrix
#' @keywords internal
"_PACKAGE"
