# The council (`council_trees`): when it can be asked. The engine's council.h says how it
# teaches.

council_cells <- 2e9  # made rows take four bytes for every number (sparse: every nonzero)

council_size <- function(rows, mold) {
  stored <- if (is.matrix(mold$x)) as.double(nrow(mold$x)) * ncol(mold$x) else length(mold$x@x)
  c(rows = nrow(mold$x) * (1 + rows), cells = stored * (1 + rows))
}

check_council <- function(control, mold, most = council_cells) {
  if (control$council_trees == 0) return(invisible())
  size <- council_size(control$council_rows, mold)
  if (size[["cells"]] <= most && size[["rows"]] <= count_max) return(invisible())
  rows <- describe(nrow(mold$x))
  numbers <- describe(size[["cells"]])
  most <- describe(most)
  cpt_abort(c(
    "The data are too large for this council.",
    x = "With {control$council_rows} made row{?s} for each of {rows} there are {numbers} numbers; {most} is the most.",
    i = "Lower `council_rows`, or use `council_trees = 0`: with so many rows the outcomes themselves teach well."
  ), "cpt_error_data")
}
