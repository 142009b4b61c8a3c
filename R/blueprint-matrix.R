# Matrices, dense and sparse (dgCMatrix): gaps, medians and checks without ever
# copying a matrix that needs no change, and without making a sparse one dense.
# This file must not know data frames or formulas.

check_matrix <- function(x, name = "x", class = "cpt_error_data") {
  if (isS4(x)) return(sparse_matrix(x, name, class))
  if (is.logical(x)) storage.mode(x) <- "integer"
  if (!is.numeric(x)) {
    got <- describe(x)
    cpt_abort(c(
      "{.arg {name}} must be a numeric matrix, not {got}.",
      i = "A data frame may hold factors and strings."
    ), class)
  }
  if (is.object(x)) x <- unclass(x)
  x
}

# Any matrix of package Matrix as dgCMatrix; a dense one as a plain matrix.
sparse_matrix <- function(x, name = "x", class = "cpt_error_data") {
  if (inherits(x, "dgCMatrix")) return(x)
  if (inherits(x, "sparseMatrix")) {
    return(methods::as(methods::as(methods::as(x, "dMatrix"), "generalMatrix"), "CsparseMatrix"))
  }
  if (inherits(x, "Matrix")) return(as.matrix(x))
  got <- describe(x)
  cpt_abort("{.arg {name}} must be a matrix, not {got}.", class)
}

# Rows and columns of the missing cells; stops at infinite ones.
matrix_missing <- function(x, name, class) {
  value <- if (isS4(x)) x@x else x
  none <- list(row = integer(), col = integer())
  # min() and max() make no copy of the matrix; range() and is.finite() would.
  if (length(value) == 0L || (!anyNA(value) && is.finite(min(value)) && is.finite(max(value)))) {
    return(none)
  }
  at_bad <- if (is.integer(value)) integer() else which(is.nan(value) | is.infinite(value))
  if (length(at_bad) > 0L) {
    counts <- tabulate(cell_columns(x, at_bad), ncol(x))
    abort_infinite(name[counts > 0L], counts[counts > 0L], class)
  }
  at <- which(is.na(value))
  row <- if (isS4(x)) x@i[at] + 1L else (at - 1L) %% nrow(x) + 1L
  list(row = as.integer(row), col = cell_columns(x, at))
}

cell_columns <- function(x, at) {
  if (isS4(x)) return(findInterval(at - 1L, x@p))
  as.integer((at - 1) %/% nrow(x) + 1)
}

matrix_counts <- function(cells, p) tabulate(cells$col, p)

matrix_fill <- function(x, fill) {
  value <- if (isS4(x)) x@x else x
  if (!anyNA(value)) return(x)
  at <- which(is.na(value))
  new <- fill[cell_columns(x, at)]
  if (is.integer(value) && any(new != round(new))) storage.mode(x) <- "double"
  if (is.integer(x)) new <- as.integer(new)
  if (isS4(x)) x@x[at] <- new else x[at] <- new
  x
}

# NA where a column has no value. Computed without copies of columns in R, which would
# fill the memory before they are collected.
matrix_medians <- function(x, weights) engine_medians(x, as.double(weights))
