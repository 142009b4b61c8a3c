# What is wished of a counterfactual: which leaves to aim at, within which limits, or an
# error that says what the tree can predict. This file must not know rows or distances.

# list(leaves = positions of the leaves aimed at, low, high, text, met): `low` and `high`
# are limits of a regression's prediction.
check_wish <- function(object, to, now) {
  check <- if (object$task == "regression") check_wish_number else check_wish_class
  check(object, to, now)
}

check_wish_class <- function(object, to, now) {
  leaf <- which(tree_leaf(object$tree))
  class <- as.character(node_prediction(object))[leaf]
  given <- !is.null(to)
  # Classes may read as numbers or as TRUE and FALSE.
  if (is.factor(to) || all(as.character(to) %in% object$levels)) to <- as.character(to)
  if (!given) to <- setdiff(object$levels, as.character(now))
  if (!is.character(to) || anyNA(to) || (given && !length(to))) {
    cpt_abort("{.arg to} must be a class of the tree, not {describe(to)}.")
  }
  check_known(to, object$levels, "to", "a class", "classes")
  aim <- leaf[class %in% to]
  if (!length(aim)) {
    never <- name_text(to, quote = "\"")
    cpt_abort(c(
      "No row can be predicted as wished.",
      x = "{cli::qty(max(length(to), 1L))}The tree has no leaf that predicts {never}.",
      i = "Leaves predict {name_text(unique(class), 10L, quote = \"\\\"\")}."
    ), "cpt_error_counterfactual")
  }
  list(leaves = aim, low = -Inf, high = Inf, met = as.character(now) %in% to, to = to,
    text = name_text(to, quote = "\""))
}

# Unknown names, with the nearest known one as a hint.
check_known <- function(given, known, argument, one, many) {
  wrong <- setdiff(given, known)
  if (!length(wrong)) return(invisible(given))
  hint <- nearest_name(wrong[1L], known)
  what <- if (length(wrong) == 1L) one else many
  cpt_abort(c(
    "{.arg {argument}} names {name_text(wrong)}, not {what} of the tree.",
    i = if (!is.null(hint)) "Did you mean {.val {hint}}?",
    i = if (is.null(hint)) "There {cli::qty(length(known))}{?is/are} {name_text(known, 10L)}."
  ))
}

check_wish_number <- function(object, to, now) {
  direction <- is.character(to) && length(to) == 1L && to %in% c("higher", "lower")
  range <- is.numeric(to) && length(to) == 2L && !anyNA(to)
  if (!direction && !(range && to[1L] <= to[2L])) {
    cpt_abort(c(
      paste("{.arg to} must be a range {.code c(low, high)}, \"higher\" or \"lower\" for a",
        "regression tree, not {describe(to)}."),
      i = "Now the prediction is {format(now, digits = 4)}."
    ))
  }
  tree <- object$tree
  reach <- leaf_reach(object)
  # Strictly higher: by more than rounding.
  step <- 1e-6 * diff(range(reach, now)) + 1e-12 * abs(now)
  limit <- if (!direction) to else if (to == "higher") c(now + step, Inf) else c(-Inf, now - step)
  aim <- which(tree_leaf(tree))
  aim <- aim[reach$high[aim] >= limit[1L] & reach$low[aim] <= limit[2L]]
  text <- if (direction) paste("a", to, "value") else paste(format(to[1L]), "to", format(to[2L]))
  if (!length(aim)) {
    all <- format(range(reach$low[tree_leaf(tree)], reach$high[tree_leaf(tree)]), digits = 4L)
    cpt_abort(c(
      "No row can be predicted as wished.",
      x = "The tree has no leaf that predicts {text}.",
      i = "Its leaves predict values from {all[1]} to {all[2]}."
    ), "cpt_error_counterfactual")
  }
  list(leaves = aim, low = limit[1L], high = limit[2L], to = to, text = text,
    met = now >= limit[1L] && now <= limit[2L])
}

# The smallest and largest prediction of every node.
leaf_reach <- function(object) {
  tree <- object$tree
  mean <- node_prediction(object)
  if (!tree_linear(tree)) return(list(low = mean, high = mean))
  # A model without slopes predicts one number, within its bounds like all others.
  one <- pmin(pmax(tree$leaf_intercept, tree$leaf_low), tree$leaf_high)
  sloped <- leaf_linear(tree)
  list(low = ifelse(sloped, tree$leaf_low, one), high = ifelse(sloped, tree$leaf_high, one))
}

# Nodes whose prediction depends on the row.
leaf_linear <- function(tree) {
  if (!tree_linear(tree)) return(logical(length(tree$node)))
  colSums(tree$leaf_coef != 0) > 0
}

is_wished <- function(prediction, wish) {
  if (is.numeric(prediction)) return(prediction >= wish$low && prediction <= wish$high)
  as.character(prediction) %in% wish$to
}
