# Counterfactuals in words: print() and the table of changes.

#' @rdname counterfactual
#' @param digits *A whole number*: significant digits of printed numbers.
#' @export
print.cpt_counterfactual <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  check_no_dots(...)
  digits <- check_number(digits, "digits", 1, 22, whole = TRUE)
  writeLines(wrap_line(counterfactual_lines(x, digits)))
  if (nrow(x$changes)) {
    writeLines("")
    print_changes(x$changes, digits)
  }
  invisible(x)
}

counterfactual_lines <- function(x, digits) {
  now <- answer_text(x$before, digits)
  what <- if (is.null(x$outcome)) "The prediction" else paste0("`", x$outcome, "`")
  if (!nrow(x$changes)) {
    return(paste0(what, " is predicted as ", now, " already: nothing has to change."))
  }
  count <- plural(nrow(x$changes), "column changes", "columns change")
  c(
    paste0(what, " goes from ", now, " to ", answer_text(x$after, digits), "."),
    paste0(
      "The smallest change is ", format(x$distance, digits = digits), " standard deviations (",
      c(l2 = "root of the sum of squares", l1 = "sum")[[x$norm]], "); ", count, "."
    ),
    if (!x$finished) {
      paste0("The search was ended early: a change as small as ",
        format(x$bound, digits = digits), " cannot be ruled out.")
    }
  )
}

# "setosa (probability 0.98, leaf 4)"
answer_text <- function(answer, digits) {
  leaf <- paste0("leaf ", answer$node)
  if (is.numeric(answer$prediction)) {
    return(paste0(format(answer$prediction, digits = digits), " (", leaf, ")"))
  }
  class <- as.character(answer$prediction)
  prob <- format(answer$prob[[class]], digits = min(digits, 3L))
  paste0(class, " (probability ", prob, ", ", leaf, ")")
}

# Values are shown in full: a rounded one might not reach the leaf.
print_changes <- function(changes, digits, most = 20L) {
  change <- ifelse(is.na(changes$change), "", signed_number(changes$change, digits))
  shown <- data.frame(from = changes$from, to = changes$to, change = change,
    "in sd" = signed_number(changes$size, digits), check.names = FALSE)
  rownames(shown) <- changes$column
  print(utils::head(shown, most), right = TRUE)
  if (nrow(shown) > most) {
    writeLines(paste0("and ", plural(nrow(shown) - most, "more column", "more columns")))
  }
}
