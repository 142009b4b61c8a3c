# Text about a fitted tree: format() and print(). One line a node, as rpart prints it,
# with facets in the units of the data. Nothing is computed here that as.data.frame()
# or coef() does not also give; what a facet says comes from words.R.

#' Print a convex polytope tree
#'
#' One line per node, indented by depth, in the manner of rpart: its number, how it was
#' reached, its training rows and loss, the prediction and how sure it is. A line above
#' the tree names these columns.
#'
#' A split with one facet is written out as an inequality in the units of the data. It
#' is scaled so that its strongest term, by coefficient times standard deviation, has
#' coefficient 1 and comes first. A split with several facets reads
#' `inside: all of 5 facets` for the rows inside the polytope, with the facets below, and
#' `outside: any of 5 facets` for the others. Rows inside keep all of these bounds; see
#' [coef.cpt()] for rows near a corner, and [cpt_rules()] for the exact rules.
#'
#' Terms of factors read `(species is a)`, which is 1 for the rows of this level and 0 for
#' others; a bound on a single factor is written as the levels that keep it.
#'
#' @param x *A `cpt` object*, as returned by [cpt()].
#' @param digits *A whole number*: significant digits of numbers. The default is
#'   three less than the option `digits`.
#' @param terms *A whole number*: how many terms of an inequality to show; the default of 3
#'   keeps most lines within one row of the screen.
#' @param facets *A whole number*: how many facets of a split to show, those with most
#'   evidence. The default of 8 shows all in most trees; 0 shows none.
#' @param ... *Not used*; anything given is an error.
#' @return `print()` returns `x` invisibly. `format()` returns the printed lines as
#'   a character vector.
#' @seealso [summary.cpt()], [cpt_rules()], [as.data.frame.cpt()].
#' @examples
#' fit <- cpt(Species ~ ., iris, max_depth = 2, max_facets = 1, seed = 1)
#' fit
#'
#' fit <- cpt(class ~ ., rings, max_depth = 2, max_facets = 8, search = FALSE, seed = 1)
#' print(fit, digits = 2)
#' @export
print.cpt <- function(x, digits = max(3L, getOption("digits") - 3L), terms = 3L,
                      facets = 8L, ...) {
  check_no_dots(...)
  writeLines(format(x, digits = digits, terms = terms, facets = facets))
  invisible(x)
}

#' @rdname print.cpt
#' @export
format.cpt <- function(x, digits = max(3L, getOption("digits") - 3L), terms = 3L,
                       facets = 8L, ...) {
  check_no_dots(...)
  validate_cpt(x)
  check_number(digits, "digits", 1, 22, whole = TRUE)
  check_number(terms, "terms", 1, whole = TRUE)
  check_number(facets, "facets", 0, whole = TRUE)
  splits <- node_splits(x, digits, terms, facets)
  lines <- node_lines(x, splits$text, digits)
  indent <- 2L * x$tree$depth
  nodes <- Map(function(line, below, by) {
    c(wrap_line(line, by), if (!is.na(below)) wrap_items(below, by + 6L, 2L))
  }, lines, splits$facets, indent)
  c(
    wrap_line(header_lines(x)), "",
    wrap_line(columns_line(x)),
    if (length(x$tree$node) > 1L) "      * denotes a leaf",
    "",
    unlist(nodes, use.names = FALSE)
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
    paste0("mean, (standard deviation)",
      if (!is.null(x$tree$leaf_coef)) "; of a linear leaf what it predicts")
  } else if (length(x$levels) <= max_probs) {
    paste0("class, (probabilities of ", paste(x$levels, collapse = ", "), ")")
  } else {
    "class, (its probability)"
  }
  paste0("node), split, n, loss, ", answer)
}

# More probabilities than this on a line cannot be told apart.
max_probs <- 5L

node_lines <- function(x, splits, digits) {
  tree <- x$tree
  number <- function(v) vapply(v, format, "", digits = digits)
  if (x$task == "regression") {
    spread <- sqrt(tree$loss / pmax(tree$weight, 1e-300))
    answer <- paste0(number(node_mean(tree)), " (", number(signif(spread, digits)), ")")
    answer <- paste0(answer, linear_leaves(x, digits))
  } else {
    prob <- node_prob(tree)
    class <- node_class(prob)
    if (ncol(prob) > max_probs) prob <- prob[cbind(seq_along(class), class), drop = FALSE]
    shown <- matrix(format(round(prob, digits), digits = digits), length(class))
    answer <- paste0(x$levels[class], " (", apply(shown, 1L, paste, collapse = " "), ")")
  }
  paste0(
    tree$node, ") ", splits, " ", tree$n, " ",
    number(tree$loss), " ", answer, ifelse(tree_leaf(tree), " *", "")
  )
}

# "; 37.3 - 5.3 wt" for leaves that predict by a linear model, "" for all other nodes.
linear_leaves <- function(x, digits, terms = 3L) {
  tree <- x$tree
  out <- character(length(tree$node))
  if (is.null(tree$leaf_coef)) return(out)
  at <- which(tree_leaf(tree) & colSums(tree$leaf_coef != 0) > 0)
  model <- leaf_model(tree, at, words_context(x), digits, terms)
  out[at] <- paste0("; ", model, recycle0 = TRUE)
  out
}

# How each node was reached: the side of its parent's polytope, and for the inside of a
# polytope of several facets what these are (else NA).
node_splits <- function(x, digits, terms, facets) {
  tree <- x$tree
  context <- words_context(x)
  text <- rep("root", length(tree$node))
  below <- rep(NA_character_, length(tree$node))
  for (i in which(!tree_leaf(tree))) {
    kids <- c(tree$left[i], tree$right[i])
    if (tree$facets[i] > 1L) {
      text[kids] <- paste0(c("inside: all of ", "outside: any of "), tree$facets[i], " facets")
      if (facets > 0) below[kids[1L]] <- facet_list(tree, i, context, digits, terms, facets)
    } else {
      text[kids] <- paste0(c("inside: ", "outside: "), facet_words(tree, i, context, digits, terms))
    }
  }
  list(text = text, facets = below)
}

# "x + 0.2 y <= 1; x >= -1; + 3 more facets", in the order of coef().
facet_list <- function(tree, i, context, digits, terms, facets) {
  words <- facet_words(tree, i, context, digits, terms)[, "inside"]
  at <- node_facets(tree, i)
  size <- tree$r[at] * colSums(abs(tree$coef[, at, drop = FALSE]) * context$sd)
  shown <- sort(utils::head(order(-size), facets))
  more <- length(words) - length(shown)
  paste(c(words[shown], if (more) paste("+", plural(more, "more facet", "more facets"))),
    collapse = "; ")
}

# Indents, and breaks lines that are wider than the terminal at spaces; `hang` is how
# much further the following lines are indented.
wrap_line <- function(text, indent = 0L, hang = 4L) {
  width <- max(20L, getOption("width"))
  wrap <- function(line, by) {
    by <- min(by, width %/% 2L)
    strwrap(line, width = width, indent = by, exdent = by + hang)
  }
  unlist(Map(wrap, text, indent), use.names = FALSE)
}

# As wrap_line(), for a list of items: breaks after ";" where the items are short enough.
wrap_items <- function(text, indent = 0L, hang = 4L) {
  width <- max(20L, getOption("width"))
  indent <- min(indent, width %/% 2L)
  one <- function(text) {
    items <- strsplit(text, "; ", fixed = TRUE)[[1L]]
    items[-length(items)] <- paste0(items[-length(items)], ";", recycle0 = TRUE)
    out <- character()
    line <- ""
    for (item in items) {
      longer <- paste0(line, if (nzchar(line)) " ", item)
      by <- indent + if (length(out)) hang else 0L
      if (nzchar(line) && nchar(longer, "width") + by >= width) {
        out <- c(out, line)
        longer <- item
      }
      line <- longer
    }
    out <- c(out, line)
    c(wrap_line(out[1L], indent, hang + 2L), wrap_line(out[-1L], indent + hang, 2L))
  }
  unlist(lapply(text, one), use.names = FALSE)
}

plural <- function(n, one, many) {
  paste(format(n, big.mark = ","), if (n == 1) one else many)
}
