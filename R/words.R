# Facets in words and as R code: what a coded column means in the columns of the
# data, and what a facet says about them. Text of print() and cpt_rules() comes from
# here. This file must not know leaves or predictions.

# Coded columns -----------------------------------------------------------------

# For every coded column: `words` for people, `code`, an R expression over the columns of
# the data (of the baked data for a recipe), and the `kind` of column it comes from.
coded_parts <- function(blueprint) {
  spec <- blueprint$columns
  items <- spec_items(spec)[match(blueprint$plain, spec$name)]
  blocks <- lapply(items, function(item) block_parts(item, r_names(item$name)))
  blocks <- c(blocks, term_parts(blueprint))
  pick <- function(field) as.character(unlist(lapply(blocks, `[[`, field), use.names = FALSE))
  list(words = pick("words"), code = pick("code"), kind = pick("kind"))
}

# Mirrors encode_block(): the same columns in the same order.
block_parts <- function(item, code, full = FALSE) {
  name <- item$name
  one <- function(code) list(words = name, code = code, kind = item$kind)
  switch(item$kind,
    factor = level_parts(item, code, full),
    logical = if (full) {
      level_parts(list(name = name, kind = "factor", levels = c(FALSE, TRUE)), code, TRUE)
    } else {
      list(words = paste0("(", name, " is TRUE)"), code = code, kind = "logical")
    },
    ordered = one(paste0("match(", code, ", ", r_vector(item$levels), ")")),
    date = , datetime = one(paste0("as.numeric(", code, ")")),
    duration = one(paste0("as.numeric(", code, ", units = \"", item$units, "\")")),
    matrix = list(words = paste0(name, item$levels),
      code = paste0(code, "[, ", seq_along(item$levels), "]"),
      kind = rep("numeric", length(item$levels))),
    one(code)
  )
}

level_parts <- function(item, code, full) {
  level <- item$levels
  if (length(level) == 2L && !full) level <- level[2L]
  text <- if (is.logical(level)) level else encodeString(level, quote = "\"")
  list(words = paste0("(", item$name, " is ", level, ")"),
    code = paste0("(", code, " == ", text, ")"), kind = rep("factor", length(level)))
}

# Mirrors encode_terms(); NULL for a blueprint without transformed terms.
term_parts <- function(blueprint) {
  terms <- blueprint$terms
  if (is.null(terms)) return(NULL)
  label <- attr(terms, "term.labels")
  uses <- attr(terms, "factors") > 0
  simple <- attr(terms, "order") == 1L
  items <- spec_items(blueprint$variables)
  code <- vapply(as.list(attr(terms, "predvars"))[-1L], term_code, "")
  plain <- c(blueprint$plain, paste0("`", blueprint$plain, "`"))
  lapply(which(!(simple & label %in% plain)), function(j) {
    parts <- lapply(which(uses[, j]), function(i) {
      block_parts(items[[i]], code[i], full = !simple[j])
    })
    Reduce(parts_product, parts)
  })
}

parts_product <- function(a, b) {
  p <- length(a$code)
  q <- length(b$code)
  cross <- function(x, y, by) paste(rep(x, q), rep(y, each = p), sep = by)
  list(words = cross(a$words, b$words, " * "), code = cross(a$code, b$code, "*"),
    kind = rep("product", p * q))
}

# With the constants that poly() and its like have learned, at full precision.
term_code <- function(expr) {
  text <- deparse1(expr, " ", control = c("keepNA", "keepInteger", "niceNames",
    "showAttributes", "digits17"))
  head <- if (is.call(expr) && is.symbol(expr[[1L]])) as.character(expr[[1L]])
  plain <- is.symbol(expr) || (!is.null(head) && grepl("^[[:alpha:].]", head))
  if (plain) text else paste0("(", text, ")")
}

r_names <- function(names) {
  odd <- make.names(names) != names
  names[odd] <- vapply(names[odd], function(name) deparse(as.name(name), backtick = TRUE), "")
  names
}

r_vector <- function(text) {
  paste0("c(", paste(encodeString(text, quote = "\""), collapse = ", "), ")")
}

# Numbers -----------------------------------------------------------------------

# The shortest text that R reads back as the same number. In the rare cases where its
# parser misses the last bit of 17 digits, hexadecimal.
exact_numbers <- function(x) {
  out <- character(length(x))
  left <- seq_along(x)
  for (digits in 15:17) {
    text <- sprintf("%.*g", digits, x[left])
    same <- as.numeric(text) == x[left]
    out[left[same]] <- text[same]
    left <- left[!same]
  }
  out[left] <- sprintf("%a", x[left])
  out
}

# `digits` may differ by number; NULL is full precision.
number_text <- function(x, digits) {
  if (is.null(digits)) return(exact_numbers(x))
  as.character(mapply(format, x, digits = pmin(digits, 15), USE.NAMES = FALSE))
}

# Decimal places that a number of this size spends before those that tell rows apart.
spare_digits <- function(size, spread) {
  extra <- floor(log10(abs(size) / spread))
  ifelse(is.finite(extra) & extra > 0, extra, 0)
}

# Facets ------------------------------------------------------------------------

# Everything about the columns that words about facets need, computed once a tree.
words_context <- function(fit) {
  parts <- coded_parts(fit$blueprint)
  c(parts, list(source = fit$blueprint$source,
    levels = c(fit$blueprint$columns$levels, fit$blueprint$variables$levels),
    sd = column_sd(fit), mean = column_mean(fit)))
}

# Without the spread of the columns (models of older versions) all count alike.
column_sd <- function(fit) {
  sd <- fit$predictors$sd
  if (is.null(sd)) return(rep(1, length(encoded_columns(fit))))
  ifelse(is.finite(sd) & sd > 0, sd, 1)
}

column_mean <- function(fit) {
  fit$predictors$mean %||% rep(0, length(encoded_columns(fit)))
}

# What each facet of the node at position i bounds: two columns, for rows that keep
# the bound and for rows that break it.
facet_words <- function(tree, i, context, digits, terms) {
  at <- node_facets(tree, i)
  bound <- facet_bound(tree$threshold[i], tree$r[at]) - tree$intercept[at]
  out <- vapply(seq_along(at), function(k) {
    bound_words(tree$coef[, at[k]], bound[k], context, digits, terms)
  }, character(2L))
  matrix(out, ncol = 2L, byrow = TRUE, dimnames = list(NULL, c("inside", "outside")))
}

# x'b <= bound and its opposite, in words.
bound_words <- function(b, bound, context, digits, terms) {
  used <- which(b != 0)
  if (!length(used)) return(paste("0", c("<=", ">"), number_text(bound, digits)))
  kind <- context$kind[used]
  alone <- length(unique(context$source[used])) == 1L
  if (alone && all(kind %in% c("factor", "logical", "ordered")) && is.finite(bound)) {
    return(level_words(b, bound, context$source[used[1L]], kind[1L], context, terms))
  }
  top <- used[order(-abs(b[used]) * context$sd[used])]
  lead <- b[top[1L]]
  sides <- if (lead < 0) c(" >= ", " < ") else c(" <= ", " > ")
  spread <- sqrt(sum((b[used] / lead * context$sd[used])^2))
  limit <- bound / lead
  right <- if (alone) time_text(limit, kind[1L], sides[1L] == " <= ")
  if (is.null(right)) {
    right <- number_text(limit, if (!is.null(digits)) digits + spare_digits(limit, spread))
  }
  paste0(linear_words(b[top] / lead, top, context, digits, terms), sides, right)
}

# "0.8 age - 1.2 bmi + 4 more terms", in the order given. `b` belongs to the columns `at`.
linear_words <- function(b, at, context, digits, terms) {
  more <- length(b) - min(length(b), terms)
  shown <- seq_len(length(b) - more)
  at <- at[shown]
  places <- if (!is.null(digits)) digits + spare_digits(context$mean[at], context$sd[at])
  size <- number_text(abs(b[shown]), places)
  size <- ifelse(size == "1", "", paste0(size, " "))
  sign <- ifelse(b[shown] < 0, "- ", "+ ")
  sign[1L] <- if (b[1L] < 0) "-" else ""
  text <- paste0(sign, size, context$words[at], collapse = " ")
  if (more) paste0(text, " + ", more, if (more > 1L) " more terms" else " more term") else text
}

# A bound on one categorical column holds for some of its levels: exact in words.
level_words <- function(b, bound, name, kind, context, terms) {
  columns <- which(context$source == name)
  level <- if (kind == "logical") c("FALSE", "TRUE") else context$levels[[name]]
  # A column of two levels is coded once, for the second; scores of an ordered one are 1, 2, ...
  z <- switch(kind, ordered = b[columns] * seq_along(level), {
    if (length(columns) == length(level)) b[columns] else c(0, b[columns])
  })
  inside <- z <= bound
  c(among_words(name, level, inside, terms), among_words(name, level, !inside, terms))
}

among_words <- function(name, level, chosen, terms) {
  if (!any(chosen)) return(paste(name, "has none of its levels"))
  if (all(chosen)) return(paste(name, "has any of its levels"))
  negate <- sum(chosen) > max(1, sum(!chosen))
  listed <- level[if (negate) !chosen else chosen]
  more <- length(listed) - max(terms, 3)
  if (more > 0) listed <- c(listed[seq_len(length(listed) - more)], paste(more, "more levels"))
  paste(name, if (negate) "is not" else "is", enumerate_or(listed))
}

# A bound on one date or time, at the whole day or second where rows of whole days or
# seconds change sides. NULL for other columns, and beyond what a calendar can show.
time_text <- function(value, kind, at_most) {
  value <- if (at_most) floor(value) else ceiling(value)
  if (kind == "date" && abs(value) < 2e6) return(format(structure(value, class = "Date")))
  if (kind != "datetime" || !(abs(value) < 1e11)) return(NULL)
  value <- structure(value, class = c("POSIXct", "POSIXt"))
  paste(format(value, "%Y-%m-%d %H:%M:%S", tz = "UTC"), "UTC")
}
