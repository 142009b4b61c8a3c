# Is this a sound model? `validate_cpt()` runs before any method indexes the vectors
# of a tree, so that a damaged model ends in an R error, not in C++.
# This file must not change anything.

# Returns the object invisibly, or fails with class "cpt_error_model".
# Cost: one pass over the nodes and one over the parameters. `where` is checked
# for type and length only; methods that look rows up in it check the match.
validate_cpt <- function(object) {
  if (!inherits(object, "cpt") || !is.list(object)) {
    bad_model("it is not a list of class {.cls cpt}")
  }
  wanted <- c(
    "task", "levels", "blueprint", "tree", "where", "residuals", "nobs", "version"
  )
  # A NULL entry (levels of a regression tree) is a field; a lost one is not.
  lost <- setdiff(wanted, names(object))
  if (length(lost)) {
    bad_model("field{?s} {.code {lost}} {?is/are} missing")
  }
  validate_version(object$version)
  classes <- validate_task(object)
  validate_nodes(object$tree)
  validate_structure(object$tree)
  validate_facets(object$tree, n_encoded(object))
  validate_value(object$tree, object$task, classes)
  validate_leaves(object$tree, object$task, n_encoded(object))
  validate_rows(object)
  invisible(object)
}

# `what` is a cli template, read in the caller's frame.
bad_model <- function(what, .envir = parent.frame()) {
  what <- cli::format_inline(what, .envir = .envir)
  cpt_abort(
    c(
      "This is not a valid {.cls cpt} model: {what}.",
      i = "The object was changed or cut short after {.fn cpt} made it. Fit or load it again."
    ),
    class = "cpt_error_model"
  )
}

validate_version <- function(version) {
  here <- getNamespaceVersion("cptree")[[1L]]
  # Comparing version numbers is slow; nearly always they are the same text.
  if (identical(version, here)) return(invisible())
  made <- if (is.character(version) && length(version) == 1L && !is.na(version)) {
    package_version(version, strict = FALSE)
  }
  if (is.null(made) || is.na(made)) {
    bad_model("its {.code version} is not a version number")
  }
  if (made > package_version(here)) {
    cpt_abort(
      c(
        "This model was made by cptree {version}, but cptree {here} is installed.",
        i = "Install cptree {version} or newer to use this model."
      ),
      class = "cpt_error_model"
    )
  }
}

# Returns the number of columns that `tree$value` must have.
validate_task <- function(object) {
  task <- object$task
  if (!is_one_of(task, c("classification", "regression"))) {
    bad_model("its {.code task} is neither classification nor regression")
  }
  levels <- object$levels
  if (task == "regression") {
    if (!is.null(levels)) bad_model("a regression tree has class {.code levels}")
    return(1L)
  }
  if (!is.character(levels) || !length(levels) || anyNA(levels) || anyDuplicated(levels)) {
    bad_model("its class {.code levels} are not distinct strings")
  }
  length(levels)
}

is_one_of <- function(x, values) {
  is.character(x) && length(x) == 1L && x %in% values
}

# The number of encoded columns the blueprint promises.
n_encoded <- function(object) {
  columns <- tryCatch(encoded_columns(object), error = function(e) NULL)
  if (!is.character(columns) || !length(columns)) {
    bad_model("its {.code blueprint} names no columns")
  }
  length(columns)
}

# Types, lengths and ranges of the vectors with one entry a node.
validate_nodes <- function(tree) {
  if (!is.list(tree)) bad_model("its {.code tree} is not a list")
  whole <- c("node", "parent", "depth", "left", "right", "n", "first", "facets")
  real <- c("weight", "loss", "threshold")
  lost <- setdiff(
    c(whole, real, "value", "r", "intercept", "coef", "lambda"), names(tree)
  )
  if (length(lost)) {
    lost <- paste0("tree$", lost)
    bad_model("{.code {lost}} {?is/are} missing")
  }
  size <- length(tree$node)
  if (!size) bad_model("its tree has no nodes")
  for (field in c(whole, real)) {
    x <- tree[[field]]
    integer <- field %in% whole
    if (!(if (integer) is.integer(x) else is.double(x)) || length(x) != size) {
      type <- if (integer) "integer" else "double"
      bad_model("{.code tree${field}} is not {type} of length {size}")
    }
    if (integer && (anyNA(x) || min(x) < 0L)) {
      bad_model("{.code tree${field}} has missing or negative entries")
    }
  }
  for (field in c("weight", "loss")) {
    if (!all_finite(tree[[field]])) {
      bad_model("{.code tree${field}} is not finite")
    }
  }
}

# One tree in preorder. Heap ids make this a vector check: a child's id must
# follow from its parent's, every node but the root must be a child once, and in
# preorder the ids, read as binary fractions, never fall.
validate_structure <- function(tree) {
  size <- length(tree$node)
  inner <- which(tree$left > 0L | tree$right > 0L)
  kids <- c(tree$left[inner], tree$right[inner])
  if (length(kids) && (min(kids) < 2L || max(kids) > size)) {
    bad_model("a child position is out of range")
  }
  count <- tabulate(kids, size)
  if (count[1L] != 0L || any(count[-1L] != 1L)) {
    bad_model("its nodes do not form one tree")
  }
  left <- tree$left[inner]
  right <- tree$right[inner]
  id <- as.double(tree$node)
  linked <- id[1L] == 1 && tree$parent[1L] == 0L && tree$depth[1L] == 0L &&
    all(id[left] == 2 * id[inner]) && all(id[right] == 2 * id[inner] + 1) &&
    all(tree$parent[left] == tree$node[inner]) &&
    all(tree$parent[right] == tree$node[inner]) &&
    all(tree$depth[left] == tree$depth[inner] + 1L) &&
    all(tree$depth[right] == tree$depth[inner] + 1L)
  if (!linked) bad_model("node, parent and depth disagree with the children")
  key <- diff(id / 2^tree$depth)
  if (any(key < 0 | (key == 0 & diff(tree$depth) <= 0L))) {
    bad_model("its nodes are not in preorder")
  }
  if (any(tree$n[inner] != as.double(tree$n[left]) + tree$n[right])) {
    bad_model("the rows of two children do not add up to their parent's")
  }
}

# The facets of the inner nodes must tile r, intercept and coef exactly once.
validate_facets <- function(tree, columns) {
  leaf <- tree$left == 0L
  inner <- which(!leaf)
  if (any(tree$first[leaf] != 0L) || any(tree$facets[leaf] != 0L) ||
      !all(is.na(tree$threshold[leaf]))) {
    bad_model("a leaf has facets or a threshold")
  }
  if (!all_finite(tree$threshold[inner])) {
    bad_model("the threshold of an inner node is not finite")
  }
  if (any(tree$facets[inner] < 1L)) bad_model("an inner node has no facets")
  total <- sum(as.double(tree$facets))
  right_size <- is.double(tree$r) && length(tree$r) == total &&
    is.double(tree$intercept) && length(tree$intercept) == total &&
    is.double(tree$coef) && identical(dim(tree$coef), as.integer(c(columns, total)))
  if (!right_size) {
    bad_model(paste0(
      "{.code tree$r}, {.code tree$intercept} and {.code tree$coef} do not hold {total} facet{?s} ",
      "of {columns} column{?s}"
    ))
  }
  run <- inner[order(tree$first[inner])]
  begin <- cumsum(c(1, tree$facets[run]))[seq_along(run)]
  if (any(tree$first[run] != begin)) {
    bad_model("the facets of its nodes overlap or leave gaps")
  }
  if (!all_finite(tree$r) || !all_finite(tree$intercept) || !all_finite(tree$coef)) {
    bad_model("a facet has missing or infinite numbers")
  }
  if (any(tree$r < 0)) bad_model("a facet has a negative weight")
  lambda <- tree$lambda
  if (!is.double(lambda) || length(lambda) != 1L || !is.finite(lambda) || lambda <= 0) {
    bad_model("{.code tree$lambda} is not one positive number")
  }
}

validate_value <- function(tree, task, classes) {
  value <- tree$value
  if (!is.double(value) || !identical(dim(value), c(length(tree$node), classes))) {
    bad_model("{.code tree$value} is not a double matrix of {length(tree$node)} x {classes}")
  }
  if (!all_finite(value)) bad_model("{.code tree$value} has missing or infinite entries")
  if (task == "classification" && any(value < 0)) {
    bad_model("{.code tree$value} has negative class counts")
  }
}

# Linear models and shrinkage: absent, or whole.
validate_leaves <- function(tree, task, columns) {
  shrinkage <- tree$leaf_shrinkage
  if (!is.null(shrinkage) && !(is.double(shrinkage) && length(shrinkage) == 1L &&
      is.finite(shrinkage) && shrinkage >= 0)) {
    bad_model("{.code tree$leaf_shrinkage} is not one number of at least 0")
  }
  fields <- c("leaf_intercept", "leaf_coef", "leaf_low", "leaf_high", "leaf_loss")
  lost <- setdiff(fields, names(tree))
  if (length(lost) == length(fields)) return(invisible())
  if (length(lost)) {
    lost <- paste0("tree$", lost)
    bad_model("{.code {lost}} {?is/are} missing")
  }
  if (task == "classification") bad_model("a classification tree has linear leaves")
  size <- length(tree$node)
  if (!identical(dim(tree$leaf_coef), c(columns, size))) {
    bad_model("{.code tree$leaf_coef} is not a matrix of {columns} x {size}")
  }
  for (field in fields) {
    x <- tree[[field]]
    if (!is.double(x) || (field != "leaf_coef" && length(x) != size) || !all_finite(x)) {
      bad_model("{.code tree${field}} is not finite numbers, one for each node")
    }
  }
  if (any(tree$leaf_low > tree$leaf_high)) {
    bad_model("the lowest prediction of a leaf is above its highest")
  }
}

validate_rows <- function(object) {
  nobs <- object$nobs
  if (!is.numeric(nobs) || length(nobs) != 1L || is.na(nobs) || nobs < 1) {
    bad_model("{.code nobs} is not a positive number")
  }
  if (!is.integer(object$where) || length(object$where) != nobs) {
    bad_model("{.code where} is not integer with one entry per training row")
  }
  if (!is.numeric(object$residuals) || length(object$residuals) != nobs) {
    bad_model("{.code residuals} is not numeric with one entry per training row")
  }
  if (tree_linear(object$tree) &&
      (!is.numeric(object$fitted) || length(object$fitted) != nobs)) {
    bad_model("{.code fitted} is not numeric with one entry per training row")
  }
}

# A finite sum proves that every entry is finite, and allocates nothing.
all_finite <- function(x) {
  is.finite(sum(x)) || all(is.finite(x))
}
