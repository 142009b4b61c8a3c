# Text about a fitted tree: format(), print() and summary(). One line a node, as
# rpart prints it, with facets in the units of the data. Nothing is computed here
# that as.data.frame() or coef() does not also give.

#' Print a convex polytope tree
#'
#' One line per node, indented by depth, in the manner of rpart. A split with
#' several facets reads `inside: all of 5 facets` for the rows inside the polytope
#' and `outside: any of 5 facets` for the others; see [coef.cpt()] for what a facet
#' says. A split with one facet is written out as an inequality in the units of the
#' data, scaled so that its largest coefficient is 1, with its largest terms first.
#'
#' @param x,object *A `cpt` object*, as returned by [cpt()].
#' @param digits *A whole number*: significant digits of numbers. The default is
#'   three less than the option `digits`.
#' @param terms *A whole number*: how many terms of an inequality to show; the default of 3
#'   keeps most lines within one row of the screen.
#' @param ... *Not used*; anything given is an error.
#' @return `print()` returns `x` invisibly. `format()` returns the printed lines as
#'   a character vector. `summary()` returns a list of class `summary.cpt`:
#' * `call`, `task`, `outcome`, `levels`,
#' * `nobs`, `held_out` (rows of these held out for validation), `predictors` (number of predictors), `columns` (number of encoded
#'   columns), `omitted` (rows left out for missing values),
#' * `leaves`, `depth`, `facets` (named integer, per inner node), `nonzero` (number
#'   of nonzero coefficients) and `coefficients` (number of all),
#' * `loss` (training loss per unit of weight: entropy in nats, or mean squared
#'   error), `error` (share of the weight misclassified, or root mean squared
#'   error), `explained` (share of the root's loss that the tree explains),
#' * `time` (seconds), `seed`, `version`.
#' @examples
#' fit <- cpt(Species ~ ., iris, max_depth = 2, max_facets = 1, seed = 1)
#' fit
#' summary(fit)
#' @export
print.cpt <- function(x, digits = max(3L, getOption("digits") - 3L), terms = 3L, ...) {
  check_no_dots(...)
  writeLines(format(x, digits = digits, terms = terms))
  invisible(x)
}

#' @rdname print.cpt
#' @export
format.cpt <- function(x, digits = max(3L, getOption("digits") - 3L), terms = 3L, ...) {
  check_no_dots(...)
  validate_cpt(x)
  check_number(digits, "digits", 1, 22, whole = TRUE)
  check_number(terms, "terms", 1, whole = TRUE)
  c(
    wrap_line(header_lines(x)), "",
    wrap_line(columns_line(x)),
    if (length(x$tree$node) > 1L) "      * denotes a leaf",
    "",
    wrap_line(node_lines(x, digits, terms), 2L * x$tree$depth)
  )
}

header_lines <- function(x) {
  leaves <- sum(tree_leaf(x$tree))
  c(
    paste0("Convex polytope tree (", x$task, ")"),
    paste0(
      plural(x$nobs, "row", "rows"), held_text(x$nobs - x$tree$n[1L]), ", ",
      plural(n_predictors(x), "predictor", "predictors"), ", ",
      plural(leaves, "leaf", "leaves"), ", depth ", tree_depth(x$tree)
    )
  )
}

# Rows held out for validation are among the rows used, but in no node.
held_text <- function(held) if (held > 0) paste0(" (", format(held, big.mark = ","), " held out)")

# Names the columns of the lines below, as rpart does.
columns_line <- function(x) {
  answer <- if (x$task == "regression") {
    "mean"
  } else if (length(x$levels) <= max_probs) {
    paste0("class, (probabilities of ", paste(x$levels, collapse = ", "), ")")
  } else {
    "class, (its probability)"
  }
  paste0("node), split, n, loss, ", answer)
}

# More probabilities than this on a line cannot be told apart.
max_probs <- 5L

node_lines <- function(x, digits, terms) {
  tree <- x$tree
  number <- function(v) vapply(v, format, "", digits = digits)
  if (x$task == "regression") {
    answer <- number(tree$value[, 1L])
  } else {
    prob <- node_prob(tree)
    class <- node_class(prob)
    if (ncol(prob) > max_probs) prob <- prob[cbind(seq_along(class), class), drop = FALSE]
    shown <- matrix(format(round(prob, digits), digits = digits), length(class))
    answer <- paste0(x$levels[class], " (", apply(shown, 1L, paste, collapse = " "), ")")
  }
  paste0(
    tree$node, ") ", node_splits(x, digits, terms), " ", tree$n, " ",
    number(tree$loss), " ", answer, ifelse(tree_leaf(tree), " *", "")
  )
}

# How each node was reached: the side of its parent's polytope.
node_splits <- function(x, digits, terms) {
  tree <- x$tree
  columns <- encoded_columns(x)
  out <- rep("root", length(tree$node))
  for (i in which(!tree_leaf(tree))) {
    out[c(tree$left[i], tree$right[i])] <- split_text(tree, i, columns, digits, terms)
  }
  out
}

# The texts of both sides of the split at position i.
split_text <- function(tree, i, columns, digits, terms) {
  facets <- tree$facets[i]
  if (facets > 1L) {
    return(paste0(c("inside: all of ", "outside: any of "), facets, " facets"))
  }
  at <- tree$first[i]
  b <- tree$coef[, at]
  bound <- facet_bound(tree$threshold[i], tree$r[at]) - tree$intercept[at]
  sides <- c(" <= ", " > ")
  # The scale of a lone facet is arbitrary: the largest coefficient becomes 1.
  lead <- b[which.max(abs(b))]
  if (lead != 0) {
    if (lead < 0) sides <- c(" >= ", " < ")
    bound <- bound / lead
    b <- b / lead
  }
  left <- linear_text(b, columns, digits, terms)
  paste0(c("inside: ", "outside: "), left, sides, format(bound, digits = digits))
}

# "0.8 age - 1.2 bmi + 4 more terms", the largest coefficients first.
linear_text <- function(b, columns, digits, terms) {
  used <- which(b != 0)
  if (!length(used)) return("0")
  top <- utils::head(used[order(-abs(b[used]))], terms)
  sign <- ifelse(b[top] < 0, "- ", "+ ")
  sign[1L] <- if (b[top[1L]] < 0) "-" else ""
  size <- vapply(abs(b[top]), format, "", digits = digits)
  size <- ifelse(size == "1", "", paste0(size, " "))
  text <- paste0(sign, size, columns[top], collapse = " ")
  more <- length(used) - length(top)
  if (more) text <- paste0(text, " + ", more, " more term", if (more > 1L) "s")
  text
}

# Indents, and breaks lines that are wider than the terminal at spaces.
wrap_line <- function(text, indent = 0L) {
  width <- max(20L, getOption("width"))
  wrap <- function(line, by) {
    by <- min(by, width %/% 2L)
    strwrap(line, width = width, indent = by, exdent = by + 4L)
  }
  unlist(Map(wrap, text, indent), use.names = FALSE)
}

# Summary ---------------------------------------------------------------------

#' @rdname print.cpt
#' @export
summary.cpt <- function(object, ...) {
  check_no_dots(...)
  validate_cpt(object)
  tree <- object$tree
  leaf <- tree_leaf(tree)
  weight <- tree$weight[1L]
  loss <- training_loss(object)
  out <- list(
    call = object$call, task = object$task, outcome = object$outcome,
    levels = object$levels, nobs = object$nobs,
    held_out = object$nobs - tree$n[1L], predictors = n_predictors(object),
    columns = nrow(tree$coef), omitted = length(object$na$omitted),
    leaves = sum(leaf), depth = tree_depth(tree),
    facets = stats::setNames(tree$facets[!leaf], tree$node[!leaf]),
    nonzero = sum(tree$coef != 0), coefficients = length(tree$coef),
    loss = loss / weight, error = training_error(object),
    explained = if (tree$loss[1L] > 0) 1 - loss / tree$loss[1L] else NA_real_,
    time = object$time, seed = object$seed, version = object$version
  )
  structure(out, class = "summary.cpt")
}

training_error <- function(object) {
  tree <- object$tree
  leaf <- tree_leaf(tree)
  weight <- tree$weight[1L]
  if (object$task == "regression") return(sqrt(sum(tree$loss[leaf]) / weight))
  best <- tree$value[cbind(which(leaf), node_class(node_prob(tree))[leaf])]
  1 - sum(best) / weight
}

#' @rdname print.cpt
#' @export
print.summary.cpt <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  check_no_dots(...)
  number <- function(v) format(v, digits = digits)
  regression <- x$task == "regression"
  rows <- paste0(format(x$nobs, big.mark = ","), " rows",
    held_text(x$held_out),
    if (x$omitted) paste0(" (", x$omitted, " more left out for missing values)"))
  encoded <- if (x$columns != x$predictors) paste0(" in ", x$columns, " columns")
  lines <- c(
    Call = paste(trimws(deparse(x$call)), collapse = " "),
    Task = paste0(x$task, if (!is.null(x$outcome)) paste0(" of ", x$outcome),
      if (!regression) paste0(", ", plural(length(x$levels), "class", "classes"))),
    Data = paste0(rows, ", ", plural(x$predictors, "predictor", "predictors"), encoded),
    Tree = paste0("leaves: ", x$leaves, ", depth: ", x$depth),
    Facets = facets_text(x$facets),
    Coefficients = paste0(x$nonzero, " of ", x$coefficients, " nonzero"),
    "Training loss" = paste0(number(x$loss),
      if (regression) " mean squared error" else " nats a row",
      if (!is.na(x$explained)) paste0(" (", number(100 * x$explained), " % explained)")),
    "Training error" = paste0(number(x$error),
      if (regression) " root mean squared" else " misclassified"),
    Fit = paste0("seed ", format(x$seed, scientific = FALSE), ", ", number(x$time),
      " seconds, cptree ", x$version)
  )
  writeLines(c("Convex polytope tree", ""))
  print_fields(lines)
  invisible(x)
}

plural <- function(n, one, many) {
  paste(format(n, big.mark = ","), if (n == 1) one else many)
}

facets_text <- function(facets) {
  if (!length(facets)) return("none (the tree is a single leaf)")
  nodes <- plural(length(facets), "node", "nodes")
  spread <- if (min(facets) < max(facets)) {
    paste0(" (", min(facets), " to ", max(facets), " a node, mean ",
      format(mean(facets), digits = 3L), ")")
  }
  paste0(sum(facets), " in ", nodes, spread)
}

# "name: value" with the values aligned, wrapped to the terminal.
print_fields <- function(lines) {
  label <- format(paste0(names(lines), ":"))
  width <- max(40L, getOption("width"))
  indent <- nchar(label[1L]) + 1L
  for (i in seq_along(lines)) {
    text <- strwrap(lines[[i]], width = width - indent)
    writeLines(paste0(c(label[i], rep(strrep(" ", indent - 1L), length(text) - 1L)), " ", text))
  }
}
