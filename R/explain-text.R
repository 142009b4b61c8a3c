# Explanations in words: print(), one sentence a step, and contributions by variable.
# Nothing is computed here that explain() does not give.

#' @rdname explain
#' @param rows *A whole number*: how many rows to print; 5 by default.
#' @param digits *A whole number*: significant digits of printed numbers.
#' @export
print.cpt_explanation <- function(x, rows = 5, terms = 3, digits = 3, ...) {
  check_no_dots(...)
  check_number(rows, "rows", 1)
  check_number(terms, "terms", 1)
  check_number(digits, "digits", 1, 22, whole = TRUE)
  all <- nrow(x$rows)
  if (!all) writeLines("No rows to explain.")
  for (i in seq_len(min(rows, all))) {
    if (i > 1L) writeLines("")
    writeLines(explain_lines(x, i, terms, digits))
  }
  if (all > rows) {
    writeLines(c("", wrap_line(paste0(plural(all - rows, "more row", "more rows"),
      "; see `rows` of print(), or as.data.frame()."))))
  }
  invisible(x)
}

# The story of the i-th row.
explain_lines <- function(x, i, terms, digits) {
  row <- x$rows[i, ]
  path <- row_steps(x, i)
  parts <- variable_terms(x, i)
  answer <- if (is.na(row$prob)) {
    format(row$prediction, digits = digits)
  } else {
    paste0(row$prediction, " (probability ", format(row$prob, digits = digits), ")")
  }
  what <- if (is.null(x$outcome)) "predicted " else paste0("`", x$outcome, "` is predicted as ")
  head <- paste0("Row ", row$name, ": ", what, answer, ", in leaf ", row$node, ".")
  if (!nrow(path)) head <- paste(head, "The tree has no split, so all rows are.")
  steps <- lapply(seq_len(nrow(path)), function(k) {
    step <- path[k, ]
    own <- parts[parts$node == step$node, , drop = FALSE]
    c(wrap_line(paste0(k, ". ", side_text(step, digits)), 2L),
      wrap_line(c(
        decided_text(step, unique(own$facet), digits),
        push_text(own[own$facet == step$facet, , drop = FALSE], terms, digits),
        distance_text(step, digits)
      ), 5L))
  })
  c(wrap_line(head), unlist(steps))
}

side_text <- function(step, digits) {
  paste0(
    if (step$side == "inside") "Inside" else "Outside", " the polytope of node ", step$node, " (",
    plural(step$facets, "facet", "facets"), "): its evidence is ",
    format(step$evidence, digits = digits), ", and outside begins above ",
    format(step$threshold, digits = digits), "."
  )
}

decided_text <- function(step, facets, digits) {
  if (step$side == "inside") {
    if (step$facets == 1L) return(NULL)
    return(paste0("The nearest facet is ", step$facet, ": straight towards it the row is outside ",
      "after ", format(step$exit, digits = digits), " standard deviations."))
  }
  if (step$facets == 1L) return(NULL)
  share <- paste0(format(100 * step$facet_share, digits = 2L), " % of the evidence")
  if (step$deciding == 1L) {
    return(paste0("Facet ", step$facet, " decided, with ", share,
      ": without it the row would be inside."))
  }
  paste0("Facets ", enumerate(c(step$facet, setdiff(facets, step$facet))),
    " decided together, with ", share, ": without them the row would be inside.")
}

# "Towards outside: age = 63 (+1.2). Towards inside: bmi = 21 (-0.4) and 2 more (-0.1)."
push_text <- function(parts, terms, digits) {
  # What is nothing but rounding is not worth a word.
  parts <- parts[abs(parts$contribution) > 1e-9 * max(abs(parts$contribution), 0), , drop = FALSE]
  side <- function(own, label) {
    if (!nrow(own)) return(NULL)
    top <- utils::head(own, terms)
    text <- paste0(top$text, " (", signed_number(top$contribution, digits), ")")
    rest <- own$contribution[-seq_len(nrow(top))]
    if (length(rest)) {
      text <- c(text, paste0(length(rest), " more (", signed_number(sum(rest), digits), ")"))
    }
    paste0(label, ": ", enumerate(text), ".")
  }
  paste(c(
    side(parts[parts$contribution > 0, , drop = FALSE], "Towards outside"),
    side(parts[parts$contribution < 0, , drop = FALSE], "Towards inside")
  ), collapse = " ")
}

distance_text <- function(step, digits) {
  if (is.na(step$distance)) return(NULL)
  if (is.infinite(step$distance)) return("No change leads to the other side.")
  paste0("The other side is ", format(step$distance, digits = digits), " standard deviations away.")
}

signed_number <- function(v, digits) {
  paste0(ifelse(v >= 0, "+", ""), vapply(v, function(u) format(u, digits = digits), ""))
}

# Contributions of the i-th row by variable, largest first: node, facet, variable, value (" = 3"),
# text (both), contribution. Columns of one factor are added up.
variable_terms <- function(x, i, digits = 4L) {
  own <- x$terms[x$terms$row == x$rows$row[i] & x$terms$column != "(mean)", , drop = FALSE]
  key <- paste(own$node, own$facet, own$variable, sep = "\r")
  first <- !duplicated(key)
  total <- rowsum(own$contribution, match(key, key[first]))
  out <- own[first, c("node", "facet", "variable"), drop = FALSE]
  value <- vapply(own$value[first], format, "", digits = digits)
  for (name in intersect(out$variable, names(x$labels))) {
    value[out$variable == name] <- x$labels[[name]][i]
  }
  others <- out$variable == "(others)"
  # What poly(x, 2) is cannot be said in one number.
  bare <- others | (out$variable %in% x$wide & !out$variable %in% names(x$labels))
  out$variable[others] <- "other terms"
  out$value <- ifelse(bare, "", paste(" =", value))
  out$text <- paste0(out$variable, out$value)
  out$contribution <- as.vector(total)
  out[order(out$node, out$facet, -abs(out$contribution)), , drop = FALSE]
}
