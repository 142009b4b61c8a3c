# `class_weights` of cpt(): a factor for the case weights of every class. Checked here
# and multiplied in before the engine sees the weights; the engine knows nothing of it.

# The mold with weights multiplied, and what was multiplied as `class_weights`.
weigh_classes <- function(mold, class_weights) {
  if (is.null(class_weights)) return(mold)
  if (mold$task == "regression") {
    cpt_abort(c(
      "{.arg class_weights} needs classes, but this is a regression.",
      i = "Use {.arg weights} for the rows, or `factor()` to make the outcome classes."
    ))
  }
  given <- if (identical(class_weights, "balanced")) {
    balanced_weights(mold)
  } else {
    check_class_weights(class_weights, mold$levels)
  }
  mold$weights <- mold$weights * unname(given)[mold$y + 1L]
  mold$class_weights <- given
  mold
}

# Factors that give every class the same total weight, and all together the one they had.
balanced_weights <- function(mold) {
  classes <- length(mold$levels)
  total <- vapply(seq_len(classes) - 1L, function(k) sum(mold$weights[mold$y == k]), 0)
  # A class without weight is not there, so no factor can help it.
  present <- total > 0
  factor <- ifelse(present, sum(total) / sum(present) / total, 1)
  stats::setNames(factor, mold$levels)
}

# Numbers above 0, one per class, in the order of the levels.
check_class_weights <- function(class_weights, levels) {
  example <- paste0("c(", paste0(class_name(utils::head(levels, 2L)), " = ",
    seq_along(utils::head(levels, 2L)), collapse = ", "), if (length(levels) > 2L) ", ...", ")")
  if (!is.numeric(class_weights) || is.object(class_weights) || is.null(names(class_weights))) {
    got <- describe(class_weights)
    cpt_abort(c(
      "{.arg class_weights} must be numbers named by class or \"balanced\", not {got}.",
      i = "For example {.code class_weights = {example}}."
    ))
  }
  check_class_names(names(class_weights), levels)
  bad <- which(!is.finite(class_weights) | class_weights <= 0)
  if (length(bad) > 0L) {
    name <- names(class_weights)[bad[1L]]
    got <- describe(class_weights[[bad[1L]]])
    cpt_abort(c(
      "{.arg class_weights} must be finite numbers above 0.",
      x = "That of class \"{name}\" is {got}.",
      i = "To leave a class out, leave its rows out."
    ))
  }
  stats::setNames(as.double(class_weights[levels]), levels)
}

check_class_names <- function(names, levels) {
  unknown <- setdiff(names, levels)
  if (length(unknown) > 0L) {
    text <- name_text(unknown, quote = "\"")
    known <- name_text(levels, quote = "\"")
    hint <- nearest_name(unknown[1L], setdiff(levels, names))
    cpt_abort(c(
      "{.arg class_weights} names {text}, which {cli::qty(length(unknown))}{?is/are} not among the classes.",
      i = if (!is.null(hint)) "Did you mean \"{hint}\"?",
      i = "The classes are {known}."
    ))
  }
  twice <- unique(names[duplicated(names)])
  if (length(twice) > 0L) {
    cpt_abort("{.arg class_weights} names class \"{twice[1]}\" more than once.")
  }
  lost <- setdiff(levels, names)
  if (length(lost) > 0L) {
    text <- name_text(lost, quote = "\"")
    cpt_abort(c(
      "{.arg class_weights} must have a number for every class.",
      x = "Without one: {text}.",
      i = "A class of weight 1 keeps the weights of its rows."
    ))
  }
}

# As a name is written in c().
class_name <- function(levels) {
  ifelse(make.names(levels) == levels, levels, paste0("`", levels, "`"))
}
