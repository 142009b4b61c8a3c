# Jitter: rows that are moved a little in every step of training. When it can be used; the
# engine's data.h says how rows are moved.

# A sparse row that is moved is dense.
jitter_can <- function(mold) is.matrix(mold$x)

check_jitter <- function(jitter, mold) {
  if (is.null(jitter) || jitter == 0 || jitter_can(mold)) return(invisible())
  cpt_abort(c(
    "{.arg jitter} needs dense data.",
    x = "The predictors are a sparse matrix; rows that are moved would have no zeros left.",
    i = "Use `jitter = 0`, or `as.matrix()` if the data fit into memory."
  ), "cpt_error_data")
}
