# Rules: one per leaf, in words and as an R expression that can be evaluated. Facets
# come from words.R; where a row goes is still decided by predict() alone, and the
# expressions are a second way to say it that tests hold against the first.

#' Rules of a convex polytope tree
#'
#' One rule per leaf: what the rows of the leaf have in common, what the tree predicts
#' for them, how many training rows support it and how well it did on them. Every row
#' satisfies exactly one rule.
#'
#' @section How to read a rule:
#' A node with one facet is one inequality, `0.8 age - 1.2 bmi <= 3.1` inside and the same
#' with `>` outside. It is scaled so that the strongest term, by coefficient times
#' standard deviation, comes first and has coefficient 1. A bound on a single factor,
#' ordered factor or logical is written as the levels that keep it: `species is a or c`.
#' Elsewhere `(species is a)` is 1 for rows of this level and 0 for others, an ordered
#' factor counts 1, 2, ..., and dates count days (times: seconds) since 1970.
#'
#' A node with several facets reads `all of: ...` inside and `any of: ...` outside. The
#' polytope of a node has rounded corners, so its last item is the evidence of all
#' facets together, which decides: a row is inside if and only if the evidence of the
#' node is at most the threshold, and then it also keeps the bound of every facet. A row
#' that breaks the bound of any facet is outside; near a corner a row can be outside by
#' the evidence alone. `print()` writes out each evidence below the rules, with
#' `s(z) = log(1 + exp(z))`.
#'
#' Words are rounded to `digits`. The column `condition` has all digits: an R expression
#' over the columns of the data (for a recipe, of the baked data) that is `TRUE` for the
#' rows of the leaf. It can only differ from [predict.cpt()] for a row so close to a
#' border that the last bits of the arithmetic decide.
#'
#' @param fit *A `cpt` object*, as returned by [cpt()].
#' @param digits *A whole number*: significant digits of numbers in words; default 3.
#'   Columns that vary little around a large mean, such as years, get the digits they
#'   need on top. `NULL` writes every number so that it reads back as the same.
#' @param max_terms *A whole number*: most terms of an inequality to write; the others are
#'   counted. The default `Inf` writes all, without which the words are not the whole rule.
#' @param condition *`TRUE`* (default) *or `FALSE`*: add the column `condition`? It is long
#'   if there are many predictors.
#' @return `cpt_rules()`: a data frame of class `cpt_rules` with one row per leaf, in the order
#'   of the tree:
#' * `node` (integer), `rule` (character), `prediction` (factor or number),
#' * `n` (training rows), `weight` (their total weight), `support` (their share of the
#'   weight of all training rows),
#' * `accuracy` (share of this weight that has the predicted class) or, for
#'   regression, `rmse` (root mean squared error in the leaf),
#' * `model` (character), only for trees with linear leaves: what is predicted,
#' * `condition` (character),
#' * for classification, one column `prob_<level>` per class.
#'
#'   The attribute `evidence` is a character vector, named by node, with the evidence
#'   of every node that has several facets.
#'
#'   `rules_match()`: a logical matrix with one row per row of `newdata` and one column
#'   per rule, named by node: the value of the `condition` (`NA` if it depends on a missing value).
#'
#'   `print()` returns its argument invisibly, and `format()` the printed lines.
#' @seealso [coef.cpt()] for the facets as numbers, [predict.cpt()] for `type = "node"`.
#' @examples
#' fit <- cpt(Species ~ ., iris, max_depth = 2, max_facets = 2, seed = 1)
#' rules <- cpt_rules(fit)
#' rules
#'
#' # every row satisfies one rule, the one of its leaf
#' match <- rules_match(rules, iris)
#' table(rowSums(match))
#' all(rules$node[max.col(match)] == predict(fit, iris, type = "node"))
#'
#' # the condition is plain R
#' nrow(iris[eval(str2lang(rules$condition[1]), iris), ])
#' @export
cpt_rules <- function(fit, digits = 3, max_terms = Inf, condition = TRUE) {
  validate_cpt(fit)
  if (!is.null(digits)) check_number(digits, "digits", 1, 15, whole = TRUE)
  if (!identical(max_terms, Inf)) check_number(max_terms, "max_terms", 1, whole = TRUE)
  check_flag(condition, "condition")
  check_rule_size(fit$tree, max_terms, condition)
  tree <- fit$tree
  context <- words_context(fit)
  leaf <- which(tree_leaf(tree))
  clauses <- leaf_clauses(tree, leaf, node_sides(tree, context, digits, max_terms), "all rows")
  out <- data.frame(
    node = tree$node[leaf], rule = vapply(clauses, paste, "", collapse = " and "),
    prediction = node_prediction(fit)[leaf], n = tree$n[leaf], weight = tree$weight[leaf],
    support = tree$weight[leaf] / tree$weight[1L]
  )
  out <- cbind(out, leaf_quality(fit, leaf))
  out$model <- leaf_model(tree, leaf, context, digits, max_terms)
  if (condition) {
    code <- leaf_clauses(tree, leaf, node_conditions(tree, context$code), "TRUE")
    out$condition <- vapply(code, paste, "", collapse = " & ")
  }
  if (fit$task == "classification") {
    prob <- node_prob(tree)[leaf, , drop = FALSE]
    colnames(prob) <- paste0("prob_", fit$levels)
    out <- cbind(out, as.data.frame(prob, optional = TRUE))
  }
  structure(out, class = c("cpt_rules", "data.frame"), task = fit$task, outcome = fit$outcome,
    clauses = stats::setNames(clauses, out$node),
    evidence = evidence_words(tree, context, digits, max_terms), blueprint = fit$blueprint)
}

# Words of many leaves below nodes of thousands of columns would fill the memory.
check_rule_size <- function(tree, max_terms, condition, most = 2e6) {
  per_facet <- colSums(tree$coef != 0)
  home <- facet_home(tree)
  below <- subtree_sums(tree, node_position(tree, tree$parent))$leaves[home]
  size <- sum(below * pmin(per_facet, max_terms)) + condition * sum(below * per_facet)
  if (size <= most) return(invisible())
  size <- format(size, big.mark = ",", digits = 2L, scientific = FALSE)
  cpt_abort(c(
    "These rules would have {size} terms, too many to write down.",
    i = paste("Use {.code cpt_rules(fit, max_terms = 3, condition = FALSE)}",
      "for the strongest terms only."),
    i = "{.fn coef} has all numbers."
  ))
}

leaf_quality <- function(fit, leaf) {
  tree <- fit$tree
  if (fit$task == "regression") {
    loss <- node_losses(tree, fit$task)[leaf]
    return(data.frame(rmse = sqrt(loss / pmax(tree$weight[leaf], 1e-300))))
  }
  class <- node_class(node_prob(tree))[leaf]
  data.frame(accuracy = node_share(tree)[cbind(leaf, class)])
}

# What a linear leaf predicts; NULL for trees that predict means.
leaf_model <- function(tree, leaf, context, digits, terms) {
  if (is.null(tree$leaf_coef)) return(NULL)
  vapply(leaf, function(i) {
    sum_words(tree$leaf_coef[, i], tree$leaf_intercept[i], context, digits, terms)
  }, "")
}

# Words ---------------------------------------------------------------------------

# For every node, the two texts of its split: inside and outside.
node_sides <- function(tree, context, digits, terms) {
  out <- matrix(NA_character_, length(tree$node), 2L)
  for (i in which(!tree_leaf(tree))) {
    words <- facet_words(tree, i, context, digits, terms)
    if (nrow(words) == 1L) {
      out[i, ] <- words
      next
    }
    # A facet without weight bounds nothing.
    words <- words[tree$r[node_facets(tree, i)] > 0, , drop = FALSE]
    last <- paste0("evidence ", tree$node[i], c(" <= ", " > "),
      number_text(tree$threshold[i], digits))
    words <- rbind(words, last)
    out[i, ] <- paste(c("all of:", "any of:"), apply(words, 2L, paste, collapse = "; "))
  }
  out
}

# The texts on the way to each leaf, as a list. Nodes with several facets are put in
# parentheses if there are others.
leaf_clauses <- function(tree, leaf, sides, none) {
  path <- node_paths(tree)
  lapply(leaf, function(i) {
    id <- path[i, seq_len(tree$depth[i] + 1L)]
    if (length(id) == 1L) return(none)
    from <- node_position(tree, id[-length(id)])
    text <- sides[cbind(from, id[-1L] %% 2L + 1L)]
    if (length(text) == 1L) return(text)
    ifelse(tree$facets[from] > 1L, paste0("(", text, ")"), text)
  })
}

evidence_words <- function(tree, context, digits, terms) {
  several <- which(tree$facets > 1L)
  text <- vapply(several, function(i) {
    at <- node_facets(tree, i)
    size <- paste0(number_text(tree$r[at], digits), " ")
    size[size == "1 "] <- ""
    inner <- vapply(at, function(k) {
      sum_words(tree$coef[, k], tree$intercept[k], context, digits, terms)
    }, "")
    paste0(size, "s(", inner, ")", collapse = " + ")
  }, "")
  stats::setNames(text, tree$node[several])
}

# "0.8 age - 1.2 bmi - 3.1", strongest terms first.
sum_words <- function(b, intercept, context, digits, terms) {
  used <- which(b != 0)
  places <- if (!is.null(digits)) {
    digits + spare_digits(intercept, sqrt(sum((b[used] * context$sd[used])^2)))
  }
  if (!length(used)) return(number_text(intercept, digits))
  top <- used[order(-abs(b[used]) * context$sd[used])]
  text <- linear_words(b[top], top, context, digits, terms)
  if (intercept == 0) return(text)
  paste0(text, if (intercept < 0) " - " else " + ", number_text(abs(intercept), places))
}

# R expressions -------------------------------------------------------------------

# For every node, the R expressions of its two sides.
node_conditions <- function(tree, code) {
  out <- matrix(NA_character_, length(tree$node), 2L)
  for (i in which(!tree_leaf(tree))) out[i, ] <- split_code(tree, i, code)
  out
}

split_code <- function(tree, i, code) {
  at <- node_facets(tree, i)
  bound <- facet_bound(tree$threshold[i], tree$r[at])
  if (length(at) == 1L && is.finite(bound)) {
    left <- sum_code(tree$coef[, at], code)
    return(paste(left, c("<=", ">"), exact_numbers(bound - tree$intercept[at])))
  }
  left <- join_sum(vapply(at, function(k) {
    z <- sum_code(tree$coef[, k], code, tree$intercept[k])
    paste0(exact_numbers(tree$r[k]), "*", softplus_code(z, tree$r[k], tree$threshold[i]))
  }, ""))
  paste(left, c("<=", ">"), exact_numbers(tree$threshold[i]))
}

# exp() overflows above 709; infinite evidence is as good as any above the threshold.
softplus_code <- function(z, weight, threshold) {
  if (weight * 709 > threshold) return(paste0("log1p(exp(", z, "))"))
  paste0("(pmax(", z, ", 0) + log1p(exp(-abs(", z, "))))")
}

# "a + b1*x1 - b2*x2"
sum_code <- function(b, code, intercept = NULL) {
  used <- which(b != 0)
  term <- paste0(exact_numbers(b[used]), "*", code[used], recycle0 = TRUE)
  if (!is.null(intercept)) term <- c(exact_numbers(intercept), term)
  if (!length(term)) return("0")
  join_sum(term)
}

# In parentheses by the hundred: R cannot evaluate a sum of thousands of terms, which is
# a call nested as deep.
join_sum <- function(terms) {
  while (length(terms) > 100L) {
    group <- (seq_along(terms) - 1L) %/% 100L
    terms <- paste0("(", vapply(split(terms, group), join_sum, ""), ")")
  }
  minus <- startsWith(terms, "-")
  minus[1L] <- FALSE
  sign <- ifelse(minus, " - ", " + ")
  sign[1L] <- ""
  paste0(sign, substring(terms, minus + 1L), collapse = "")
}

# Evaluation ------------------------------------------------------------------------

#' @rdname cpt_rules
#' @param rules *A `cpt_rules` data frame*, as returned by `cpt_rules()`.
#' @param newdata *A data frame, matrix or sparse matrix* with the predictors, as for
#'   [predict.cpt()].
#' @export
rules_match <- function(rules, newdata) {
  if (!inherits(rules, "cpt_rules") || is.null(rules$condition) ||
        is.null(attr(rules, "blueprint"))) {
    cpt_abort(c(
      "{.arg rules} must come from {.fn cpt_rules} and still have its conditions.",
      i = "Use {.code cpt_rules(fit)}; taking out columns loses what is needed here."
    ))
  }
  check_newdata(newdata)
  conditions <- lapply(rules$condition, str2lang)
  n <- nrow(newdata)
  out <- matrix(NA, n, nrow(rules), dimnames = list(rownames_of(newdata), rules$node))
  for (rows in row_blocks(newdata)) {
    part <- if (is.null(rows)) newdata else as.data.frame(as.matrix(newdata[rows, , drop = FALSE]))
    # Hashed: a list of thousands of columns would be searched from its start every time.
    columns <- list2env(raw_columns(attr(rules, "blueprint"), part, conditions),
      parent = globalenv())
    for (k in seq_along(conditions)) {
      out[rows %||% seq_len(n), k] <- eval(conditions[[k]], columns)
    }
  }
  out
}

rownames_of <- function(newdata) {
  if (is.data.frame(newdata)) frame_row_names(newdata) else rownames(newdata)
}

# A matrix becomes a data frame in blocks of rows, so that a sparse one is never dense
# as a whole. NULL is all rows of what is a data frame already.
row_blocks <- function(newdata, cells = 1e7) {
  if (is.data.frame(newdata)) return(list(NULL))
  n <- nrow(newdata)
  size <- max(1, floor(cells / max(1, ncol(newdata))))
  unname(split(seq_len(n), (seq_len(n) - 1L) %/% size))
}

# The columns that conditions name, typed as in training; gaps stay gaps.
raw_columns <- function(blueprint, newdata, conditions) {
  if (!is.null(blueprint$recipe)) newdata <- recipe_bake(blueprint, newdata)
  at <- forge_positions(blueprint, names(newdata), ncol(newdata))
  items <- spec_items(blueprint$columns)
  used <- unique(unlist(lapply(conditions, all.vars)))
  wanted <- which(blueprint$columns$name %in% used)
  columns <- lapply(wanted, function(j) {
    x <- normal_column(newdata[[at[j]]], items[[j]]$name, "cpt_error_newdata")
    typed_column(x, items[[j]])
  })
  stats::setNames(columns, blueprint$columns$name[wanted])
}

# Text ------------------------------------------------------------------------------

#' @rdname cpt_rules
#' @param x *A `cpt_rules` data frame*.
#' @param ... *Not used*; anything given is an error.
#' @export
print.cpt_rules <- function(x, ...) {
  check_no_dots(...)
  if (!all(c("node", "rule", "prediction", "n", "support") %in% names(x))) {
    print(as.data.frame(unclass(x), optional = TRUE))
  } else {
    writeLines(format(x))
  }
  invisible(x)
}

#' @rdname cpt_rules
#' @export
format.cpt_rules <- function(x, ...) {
  check_no_dots(...)
  outcome <- attr(x, "outcome")
  head <- paste0("Rules of a convex polytope tree (", attr(x, "task"),
    if (!is.null(outcome)) paste(" of", outcome), ")")
  out <- wrap_line(head)
  for (i in seq_len(nrow(x))) {
    out <- c(out, "", wrap_line(rule_head(x, i)), wrap_items(rule_lines(x, i), 2L))
  }
  used <- attr(x, "evidence")
  if (!length(used)) return(out)
  c(out, "", wrap_line("where s(z) = log(1 + exp(z)) and"),
    wrap_line(paste0("evidence ", names(used), " = ", used), 2L))
}

# One line a node on the way.
rule_lines <- function(x, i) {
  text <- attr(x, "clauses")[[as.character(x$node[i])]] %||% x$rule[i]
  if (x$node[i] == 1L) return("for all rows")
  paste0(c("if ", rep("and ", length(text) - 1L)), text)
}

rule_head <- function(x, i) {
  number <- function(v) format(v, digits = 3L)
  answer <- x$model[i] %||%
    if (is.numeric(x$prediction)) number(x$prediction[i]) else as.character(x$prediction[i])
  quality <- if (!is.null(x$accuracy)) {
    paste0(", accuracy ", number(x$accuracy[i]))
  } else if (!is.null(x$rmse)) {
    paste0(", rmse ", number(x$rmse[i]))
  }
  paste0("Leaf ", x$node[i], ": ", answer, " (", plural(x$n[i], "row", "rows"), ", ",
    number(100 * x$support[i]), " %", quality, ")")
}
