# The teacher (`teacher_trees`): when it can be asked. The engine's lesson.h says how it
# teaches.

teacher_cells <- 4e8  # the forest keeps one byte for every number of the data

teacher_can <- function(mold, most = teacher_cells) {
  as.double(nrow(mold$x)) * ncol(mold$x) <= most
}

check_teacher <- function(trees, mold, most = teacher_cells) {
  if (is.null(trees) || trees == 0 || teacher_can(mold, most)) return(invisible())
  most <- describe(most)
  size <- paste(describe(nrow(mold$x)), "rows of", describe(ncol(mold$x)), "columns")
  cpt_abort(c(
    "The data are too large for a teacher.",
    x = "They have {size}; the forest takes {most} numbers at most.",
    i = "Use `teacher_trees = 0`: with so many rows the outcomes themselves teach well."
  ), "cpt_error_data")
}
