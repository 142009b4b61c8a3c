# explain(): why rows are predicted as they are. The path of each row, the evidence that the
# engine reports at every node of it, the facets that decided, the terms of these facets, and
# how far the row is from the other side. Sides come from the engine's routing, never from
# arithmetic here; only distances and terms are computed in this file.

#' Explain predictions, node by node
#'
#' Follows rows from the root to their leaf. At each node it says whether the row is inside
#' or outside the polytope, which facet decided, what each predictor contributed to that
#' facet, and how far the row is from the other side.
#'
#' @section The facet that decides:
#' The *score* of a facet is `x %*% b + intercept`, its *evidence* is
#' `weight * log(1 + exp(score))`, and a row is outside if the evidence of all facets
#' together exceeds the threshold.
#' - *Outside*: the facet of the largest evidence decides. Were it not there, the row would
#'   be inside. If it would still be outside, the facet with the next largest evidence
#'   decides too, and so on: the deciding facets are the smallest set without which the row
#'   is inside. In most cases it is one facet.
#' - *Inside*: all facets agree. The one that decides is the one through which the row would
#'   leave first: of all straight moves along the normal of a facet (in standard
#'   deviations), it needs the shortest. `exit` is the length of this move, and any longer
#'   one puts the row outside.
#'
#' @section Contributions:
#' The score of a facet is its score for the mean of the training rows plus, for each coded
#' column, `b * (value - mean)`. This product is the contribution of the column: positive
#' ones push towards outside, negative ones towards inside. Printing and plotting add up the
#' columns of a factor.
#'
#' @section Distance to the other side:
#' `distance` is in standard deviations of the coded columns, as if all of them could take
#' any value (see [counterfactual()] for changes that are possible).
#' - With one facet it is exact.
#' - For a row outside it is the exact distance to the polytope, found by quadratic programs.
#'   This needs the package quadprog; without it the distance to a polytope of several facets
#'   is `NA`.
#' - For a row inside a polytope of several facets it is the length of a shortest way out
#'   that is found by following the normal of the border, beginning at the deciding facet. It
#'   is never more than `exit` and never less than the exact distance, and nearly always
#'   equal to it.
#'
#' @param object *A `cpt` object*, as returned by [cpt()].
#' @param newdata *A data frame, matrix or sparse matrix* with the rows to explain, as for
#'   [predict.cpt()]. A tree does not keep its training rows, so there is no default.
#' @param terms *A whole number*: most terms to keep for each deciding facet, largest
#'   contributions first; the others are added up in one row. The default of 100 keeps wide
#'   data small. For `print()`, most variables to name for each direction.
#' @param distance *`TRUE`* (default) *or `FALSE`*: compute distances? They take most of the
#'   time, about a millisecond for a row and node.
#' @param na_action *A string*: `"fail"` (default), `"omit"` or `"impute"`, as in
#'   [predict.cpt()].
#' @param threads *A whole number*: threads to use; see [predict.cpt()].
#' @param ... *Not used*; anything given is an error.
#' @return A list of class `cpt_explanation` with these data frames (the other entries are
#'   for printing); `as.data.frame()` gives one of the first three.
#' * `nodes`, one row per row of `newdata` and node of its path: `row` (its number), `name`
#'   (its row name, or its number), `depth`, `node`, `side` (`"inside"` or `"outside"`),
#'   `evidence`, `threshold`, `margin` (evidence minus threshold, positive outside), `facets`
#'   (number of facets), `facet` (the first deciding one), `deciding` (how many decide),
#'   `facet_evidence` and `facet_share` (evidence of the deciding facets, and as a share of
#'   all evidence), `exit` (inside only), `distance`, and `prediction`, that of the row. The
#'   last node of a path is a leaf: all from `side` to `distance` is `NA`.
#' * `facets`, one row per row, node and facet: `row`, `node`, `facet`, `score`, `bound`
#'   (score above which the facet alone puts the row outside), `evidence`, `decides`.
#' * `terms`, one row per row, node, deciding facet and coded column: `row`, `node`, `facet`,
#'   `variable` (column of the data or term of the formula), `column` (the coded column),
#'   `value`, `mean`, `coefficient`, `contribution`. The row whose `column` is `"(mean)"` has
#'   the score of the mean row; with it, contributions add up to the score. `"(others)"` is
#'   the sum of those left out.
#' * `rows`, one row per row: `row`, `name`, `prediction`, `prob` (probability of the predicted
#'   class, `NA` for regression), `node` (the leaf).
#' @seealso [counterfactual()] for the smallest change that changes the prediction.
#' @examples
#' fit <- cpt(Species ~ ., iris, max_depth = 2, max_facets = 4, seed = 1)
#' why <- explain(fit, iris[c(1, 71, 120), ])
#' why
#' as.data.frame(why)
#' head(as.data.frame(why, what = "terms"))
#' plot(why, row = 3)
#' @export
explain <- function(object, ...) UseMethod("explain")

#' @rdname explain
#' @export
explain.cpt <- function(object, newdata, terms = 100, distance = TRUE,
                        na_action = c("fail", "omit", "impute"), threads = NULL, ...) {
  check_no_dots(...)
  validate_cpt(object)
  check_predictor_table(object)
  terms <- check_number(terms, "terms", 1, whole = TRUE)
  distance <- check_flag(distance, "distance")
  na_action <- check_choice(na_action, "na_action", c("fail", "omit", "impute"))
  threads <- resolve_threads(threads)
  if (missing(newdata)) {
    cpt_abort(c(
      "{.arg newdata} is not given.",
      i = "A tree does not keep its training rows: give the rows to explain."
    ))
  }
  check_newdata(newdata)
  forged <- blueprint_forge(object$blueprint, newdata, na_action)
  rows <- explained_rows(forged, na_action)
  rows$leaf <- route_rows(object$tree, forged$x, threads)
  rows <- c(rows, row_predictions(object, newdata, na_action, threads))
  parts <- lapply(which(!tree_leaf(object$tree)), function(i) {
    explain_node(object, i, forged$x, rows, terms, distance, threads)
  })
  new_explanation(object, rows, parts, forged$x)
}

# Number in newdata and name of each row explained.
explained_rows <- function(forged, na_action) {
  number <- seq_along(forged$missing)
  if (na_action == "omit") number <- number[!forged$missing]
  list(number = number, name = forged$row_names %||% as.character(number))
}

# Predictions of the rows, and for classes the probability of the predicted one.
row_predictions <- function(object, newdata, na_action, threads) {
  ask <- function(type) {
    unname(predict(object, newdata, type = type, na_action = na_action, threads = threads))
  }
  out <- list(prediction = ask("response"))
  out$prob <- if (object$task == "regression") {
    rep(NA_real_, length(out$prediction))
  } else {
    ask("prob")[cbind(seq_along(out$prediction), as.integer(out$prediction))]
  }
  out
}

# One node ----------------------------------------------------------------------

# The rows that arrive at the node at position i: list(nodes, facets, terms), or NULL.
explain_node <- function(object, i, x, rows, terms, distance, threads) {
  tree <- object$tree
  take <- which(rows$leaf > i & rows$leaf <= subtree_end(tree, i))
  if (!length(take)) return(NULL)
  x <- x[take, , drop = FALSE]
  k <- node_facets(tree, i)
  evidence <- engine_evidence(tree, i, x, threads)
  score <- facet_scores(tree, k, x)
  outside <- rows$leaf[take] >= tree$right[i]
  gram <- facet_gram(object, k)
  exit <- matrix(Inf, length(take), length(k))
  exit[!outside, ] <- exit_lengths(score[!outside, , drop = FALSE], tree$r[k],
    tree$threshold[i], gram)
  decides <- deciding_facets(evidence, tree$threshold[i], outside, exit)
  first <- max.col(ifelse(decides, evidence, -1), "first")
  own <- rowSums(evidence * decides)
  total <- add_facets(evidence)
  nodes <- data.frame(
    row = rows$number[take], name = rows$name[take], depth = tree$depth[i], node = tree$node[i],
    side = ifelse(outside, "outside", "inside"), evidence = total,
    threshold = tree$threshold[i], margin = total - tree$threshold[i], facets = length(k),
    facet = first, deciding = as.integer(rowSums(decides)), facet_evidence = own,
    facet_share = ifelse(total > 0, own / total, NA),
    exit = ifelse(outside, NA, exit[cbind(seq_along(first), first)]),
    distance = NA_real_, prediction = rows$prediction[take]
  )
  if (distance) {
    nodes$distance <- side_distance(score, tree$r[k], tree$threshold[i], outside, nodes, gram)
  }
  list(
    nodes = nodes,
    facets = facet_table(tree, i, rows$number[take], score, evidence, decides),
    terms = term_table(object, i, rows$number[take], x, decides, terms)
  )
}

# Scores of the facets k: one column each. A sparse matrix stays sparse.
facet_scores <- function(tree, k, x) {
  score <- as.matrix(x %*% tree$coef[, k, drop = FALSE])
  score + rep(tree$intercept[k], each = nrow(score))
}

# Inner products of the facets' coefficients in standardised units.
facet_gram <- function(object, k) {
  crossprod(object$tree$coef[, k, drop = FALSE] * object$predictors$sd)
}

# Added up in the engine's order, so that the sum agrees with its routing in every bit.
add_facets <- function(evidence) {
  Reduce(`+`, lapply(seq_len(ncol(evidence)), function(j) evidence[, j]))
}

# TRUE for the deciding facets of each row; see the help page.
deciding_facets <- function(evidence, threshold, outside, exit) {
  decides <- matrix(FALSE, nrow(evidence), ncol(evidence))
  decides[cbind(seq_len(nrow(exit)), max.col(-exit, "first"))] <- TRUE
  decides[outside, ] <- FALSE
  left <- evidence
  open <- which(outside)
  for (step in seq_len(ncol(evidence))) {
    open <- open[add_facets(left[open, , drop = FALSE]) > threshold]
    if (!length(open)) break
    at <- cbind(open, max.col(left[open, , drop = FALSE], "first"))
    decides[at] <- TRUE
    left[at] <- 0
  }
  decides
}

# Tables --------------------------------------------------------------------------

facet_table <- function(tree, i, row, score, evidence, decides) {
  k <- node_facets(tree, i)
  n <- length(row)
  data.frame(
    row = rep(row, length(k)), node = tree$node[i], facet = rep(seq_along(k), each = n),
    score = as.vector(score), bound = rep(facet_bound(tree$threshold[i], tree$r[k]), each = n),
    evidence = as.vector(evidence), decides = as.vector(decides)
  )
}

# Terms of the deciding facets: one facet at a time, and not too many numbers at once.
term_table <- function(object, i, row, x, decides, most) {
  parts <- lapply(which(colSums(decides) > 0L), function(j) {
    take <- which(decides[, j])
    piece <- ceiling(seq_along(take) / max(1, floor(1e7 / ncol(x))))
    lapply(split(take, piece), function(rows) {
      facet_terms(object, i, j, row[rows], x[rows, , drop = FALSE], most)
    })
  })
  do.call(rbind, unlist(parts, recursive = FALSE))
}

# Terms of facet j of the node at position i for the rows of x, the largest first.
facet_terms <- function(object, i, j, row, x, most) {
  tree <- object$tree
  k <- tree$first[i] - 1L + j
  b <- tree$coef[, k]
  mean <- object$predictors$mean
  use <- which(b != 0)
  n <- nrow(x)
  value <- as.matrix(x[, use, drop = FALSE])
  part <- (value - rep(mean[use], each = n)) * rep(b[use], each = n)
  at <- order(rep(seq_len(n), length(use)), -abs(part))
  keep <- at[rep(seq_along(use) <= most, n)]
  who <- (keep - 1L) %% n + 1L
  which <- use[(keep - 1L) %/% n + 1L]
  kept <- term_rows(tree$node[i], j, row[who], object$blueprint$source[which],
    object$blueprint$encoded[which], value[keep], mean[which], b[which], part[keep])
  rest <- if (length(use) > most) {
    shown <- rowsum(part[keep], who)[, 1L]
    term_rows(tree$node[i], j, row, "(others)", "(others)", NA, NA, NA,
      rowSums(part) - shown)
  }
  base <- term_rows(tree$node[i], j, row, "(mean)", "(mean)", NA, NA, NA,
    tree$intercept[k] + sum(b * mean))
  rbind(kept, rest, base)
}

term_rows <- function(node, facet, row, variable, column, value, mean, b, part) {
  n <- length(row)
  data.frame(
    row = row, node = rep(node, n), facet = rep(facet, n), variable = rep_len(variable, n),
    column = rep_len(column, n), value = rep_len(as.double(value), n),
    mean = rep_len(as.double(mean), n), coefficient = rep_len(as.double(b), n),
    contribution = rep_len(part, n)
  )
}

# The object --------------------------------------------------------------------------

new_explanation <- function(object, rows, parts, x) {
  bind <- function(what) do.call(rbind, lapply(parts, `[[`, what))
  sorted <- function(table, ...) {
    table <- table[order(...), , drop = FALSE]
    rownames(table) <- NULL
    table
  }
  nodes <- rbind(leaf_rows_of(object, rows), bind("nodes"))
  facets <- bind("facets") %||% data.frame(row = integer(), node = integer(), facet = integer(),
    score = double(), bound = double(), evidence = double(), decides = logical())
  terms <- bind("terms") %||% term_rows(1L, 1L, integer(), "", "", 0, 0, 0, 0)
  structure(list(
    nodes = sorted(nodes, nodes$row, nodes$depth),
    facets = sorted(facets, facets$row, facets$node, facets$facet),
    # Within a facet the largest terms come first already, and order() keeps them so.
    terms = sorted(terms, terms$row, terms$node, terms$facet),
    rows = data.frame(row = rows$number, name = rows$name, prediction = rows$prediction,
      prob = rows$prob, node = object$tree$node[rows$leaf]),
    labels = row_labels(object, x), outcome = object$outcome,
    wide = unique(object$blueprint$source[duplicated(object$blueprint$source)])
  ), class = "cpt_explanation")
}

# The last row of each path: a leaf has no side.
leaf_rows_of <- function(object, rows) {
  tree <- object$tree
  n <- length(rows$leaf)
  real <- rep(NA_real_, n)
  whole <- rep(NA_integer_, n)
  data.frame(
    row = rows$number, name = rows$name, depth = tree$depth[rows$leaf],
    node = tree$node[rows$leaf], side = rep(NA_character_, n), evidence = real,
    threshold = real, margin = real, facets = whole, facet = whole, deciding = whole,
    facet_evidence = real, facet_share = real, exit = real, distance = real,
    prediction = rows$prediction
  )
}

# What a variable that is no plain number reads as in each row, by variable.
row_labels <- function(object, x) {
  blueprint <- object$blueprint
  spec <- blueprint$columns
  name <- spec$name[spec$kind != "numeric" & spec$name %in% blueprint$plain]
  items <- spec_items(spec)[name]
  lapply(items, function(item) {
    value <- as.matrix(x[, blueprint$source == item$name, drop = FALSE])
    switch(item$kind,
      factor = item$levels[if (ncol(value) > 1L) max.col(value, "first") else value[, 1L] + 1],
      ordered = item$levels[value[, 1L]],
      logical = as.character(value[, 1L] == 1),
      date = format(structure(value[, 1L], class = "Date")),
      datetime = format(structure(value[, 1L], class = c("POSIXct", "POSIXt"))),
      duration = paste(format(value[, 1L], digits = 4L, trim = TRUE), item$units)
    )
  })
}

#' @rdname explain
#' @param x *A `cpt_explanation` object*, as returned by `explain()`.
#' @param what *A string*: which table, `"nodes"` (default), `"facets"` or `"terms"`.
#' @param row.names,optional *Ignored*; they are part of the generic.
#' @export
as.data.frame.cpt_explanation <- function(x, row.names = NULL, optional = FALSE,
                                          what = c("nodes", "facets", "terms"), ...) {
  check_no_dots(...)
  x[[check_choice(what, "what", c("nodes", "facets", "terms"))]]
}
