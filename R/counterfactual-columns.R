# The columns that a counterfactual may change: from columns of the user to the entries of the
# problem, with their ranges and kinds, and from the values found back to a row.
# This file must not know leaves, polytopes or the search.

# Entries: coded columns that can change ---------------------------------------

# A data frame with one row per coded column that may change: `coded` (its position),
# `column` (of the user), `kind`, `level`, `origin` (its value now), `scale` (what counts
# as 1), `low`, `high`, `whole`, `must` (its value now is not allowed), and for a
# transformed column `from` and `upto`, its range before the transformation.
row_entries <- function(start, mutable, ranges) {
  object <- start$object
  spec <- object$blueprint$columns
  mutable <- check_mutable(start, mutable)
  check_ranges(ranges, spec$name, mutable$all)
  simple <- plain_numbers(object$blueprint, mutable$use, ranges)
  blocks <- lapply(setdiff(mutable$use, simple), function(name) {
    column_entries(start, name, ranges[[name]], mutable$term[[name]])
  })
  out <- do.call(rbind, c(list(number_entries(start, simple)), blocks))
  out <- out[order(out$coded), , drop = FALSE]
  out$must <- out$origin < out$low | out$origin > out$high
  # A column that no facet looks at need not change.
  used <- rowSums(object$tree$coef[out$coded, , drop = FALSE] != 0) > 0
  if (tree_linear(object$tree)) {
    used <- used | rowSums(object$tree$leaf_coef[out$coded, , drop = FALSE] != 0) > 0
  }
  keep <- out$column %in% out$column[used | out$must]
  out[keep & out$scale > 0, , drop = FALSE]
}

# Columns of numbers that enter as they are, with their default range: there may be many.
plain_numbers <- function(blueprint, names, ranges) {
  spec <- blueprint$columns
  kind <- spec$kind[match(names, spec$name)]
  plain <- kind %in% c("numeric", "date", "datetime", "duration") & names %in% blueprint$plain
  names[plain & !names %in% names(ranges)]
}

number_entries <- function(start, names) {
  object <- start$object
  spec <- object$blueprint$columns
  at <- match(names, object$blueprint$source)
  table <- object$predictors[at, ]
  now <- start$x[at]
  new_entries(start, names, at, spec$kind[match(names, spec$name)], rep(NA_character_, length(at)),
    table$sd, pmin(table$min, now), pmax(table$max, now), table$whole & now == round(now))
}

# Which columns may change: all that enter as they are or by one term of their own.
check_mutable <- function(start, mutable) {
  blueprint <- start$object$blueprint
  name <- blueprint$columns$name
  if (!is.null(mutable) && (!is.character(mutable) || anyNA(mutable))) {
    cpt_abort("{.arg mutable} must be names of columns, not {describe(mutable)}.")
  }
  if (!is.null(mutable)) check_known(mutable, name, "mutable", "a predictor", "predictors")
  all <- mutable %||% name
  term <- own_terms(blueprint, start$row)
  mixed <- setdiff(intersect(all, term_columns(blueprint)), names(term))
  if (length(mixed)) {
    cpt_inform(c(
      "Held fixed: {name_text(mixed)}.",
      i = paste("{cli::qty(length(mixed))}{?This column enters/These columns enter} by terms",
        "of the formula that cannot be solved for.")
    ), "cpt_message_fixed")
  }
  list(all = all, use = setdiff(all, mixed), term = term)
}

# Columns that feed the transformed terms of a formula.
term_columns <- function(blueprint) {
  if (is.null(blueprint$terms)) return(character())
  intersect(blueprint$columns$name, all.vars(attr(blueprint$terms, "variables")))
}

# Name of the coded column of each column that enters by one numeric term that no other
# column has a part in, such as log(x). Integer columns are left out: what the inverted
# term gives is no whole number.
own_terms <- function(blueprint, row) {
  columns <- term_columns(blueprint)
  if (!length(columns)) return(list())
  label <- attr(blueprint$terms, "term.labels")
  parts <- lapply(label, function(text) {
    intersect(columns, all.vars(str2lang(text)))
  })
  out <- list()
  kind <- blueprint$columns$kind[match(columns, blueprint$columns$name)]
  for (name in setdiff(columns[kind == "numeric"], blueprint$plain)) {
    at <- which(vapply(parts, function(p) name %in% p, NA))
    coded <- which(blueprint$source %in% label[at])
    alone <- length(at) == 1L && length(parts[[at]]) == 1L && length(coded) == 1L
    if (alone && !is.integer(row[[name]])) out[[name]] <- coded
  }
  out
}

check_ranges <- function(ranges, known, mutable) {
  if (is.null(ranges)) return(invisible())
  if (!is.list(ranges) || is.null(names(ranges)) || !all(nzchar(names(ranges)))) {
    cpt_abort("{.arg ranges} must be a named list, not {describe(ranges)}.")
  }
  check_known(names(ranges), known, "ranges", "a predictor", "predictors")
  fixed <- setdiff(names(ranges), mutable)
  if (length(fixed)) {
    cpt_abort(c(
      "{.arg ranges} names {name_text(fixed)}, which {.arg mutable} does not.",
      i = "A column that may not change needs no range."
    ))
  }
}

column_entries <- function(start, name, range, term) {
  blueprint <- start$object$blueprint
  spec <- blueprint$columns
  kind <- spec$kind[match(name, spec$name)]
  level <- spec$levels[[name]]
  if (!is.null(term)) return(term_entry(start, name, term, range))
  at <- which(blueprint$source == name)
  if (kind == "factor" && length(level) > 2L) return(level_entries(start, name, at, level, range))
  if (kind == "factor") return(flag_entry(start, name, at, level, range))
  if (kind == "logical") return(flag_entry(start, name, at, c("FALSE", "TRUE"), range))
  number_entry(start, name, at, kind, level, range)
}

new_entries <- function(start, name, at, kind, level, scale, low, high, whole,
                        from = NA_real_, upto = NA_real_) {
  n <- length(at)
  data.frame(coded = at, column = rep_len(name, n), kind = rep_len(kind, n), level = level,
    origin = start$x[at], scale = scale, low = low, high = high, whole = whole,
    from = rep_len(from, n), upto = rep_len(upto, n))
}

# Numbers, dates, durations and scores of ordered factors.
number_entry <- function(start, name, at, kind, level, range) {
  table <- start$object$predictors[at, ]
  now <- start$x[at]
  limit <- c(min(table$min, now), max(table$max, now))
  if (kind == "ordered") limit <- c(1, length(level))
  if (!is.null(range)) limit <- number_range(range, name, start, kind, level, now, limit)
  whole <- (table$whole || kind == "ordered") && now == round(now)
  if (whole) limit <- c(ceiling(limit[1L]), floor(limit[2L]))
  new_entries(start, name, at, kind, NA_character_, table$sd, limit[1L], limit[2L], whole)
}

number_range <- function(range, name, start, kind, level, now, default) {
  if (identical(range, "increase")) return(c(now, default[2L]))
  if (identical(range, "decrease")) return(c(default[1L], now))
  item <- spec_items(start$object$blueprint$columns)[[name]]
  value <- if (kind == "ordered") match(as.character(range), level) else range_number(range, item)
  if (length(value) != 2L || (kind == "ordered" && anyNA(value)) || isTRUE(value[1L] > value[2L])) {
    wanted <- if (kind == "ordered") "two levels" else "two values"
    cpt_abort(c(
      "{.arg ranges} must give {wanted} for {.var {name}}, lowest first, not {describe(range)}.",
      i = "Or \"increase\" or \"decrease\", for one direction."
    ))
  }
  value[is.na(value)] <- c(-Inf, Inf)[is.na(value)]
  value
}

range_number <- function(range, item) {
  if (inherits(range, "difftime")) return(as.double(range, units = item$units %||% "days"))
  if (item$kind == "date" && is.character(range)) range <- as.Date(range)
  if (is.numeric(unclass(range)) || all(is.na(range))) as.double(unclass(range)) else double()
}

# Two values in one 0/1 column: logical, or a factor of two levels.
flag_entry <- function(start, name, at, level, range) {
  allowed <- allowed_levels(range, name, level)
  limit <- range(match(allowed, level)) - 1
  if (length(level) < 2L) limit <- c(1, 1) * start$x[at]
  new_entries(start, name, at, "flag", level[length(level)], 1, limit[1L], limit[2L], TRUE)
}

# One 0/1 column a level. A change touches two of them and counts as 1 in all, which
# finish_scale() sees to.
level_entries <- function(start, name, at, level, range) {
  allowed <- level %in% allowed_levels(range, name, level)
  new_entries(start, name, at, "level", level, 1, 0, as.double(allowed), TRUE)
}

allowed_levels <- function(range, name, level) {
  if (is.null(range)) return(level)
  range <- unique(as.character(range))
  if (!length(range) || anyNA(range) || !all(range %in% level)) {
    cpt_abort(c(
      "{.arg ranges} must give values of {.var {name}}, not {describe(range)}.",
      i = "Its values are {name_text(level, 10L, quote = \"\\\"\")}."
    ))
  }
  range
}

# Transformed columns ------------------------------------------------------------

# A column that enters by a term f(x): the entry is f(x), and x is found afterwards.
term_entry <- function(start, name, at, range) {
  table <- start$object$predictors[at, ]
  now <- start$x[at]
  limit <- c(min(table$min, now), max(table$max, now))
  span <- c(-Inf, Inf)
  if (!is.null(range)) {
    here <- start$row[[name]]
    ends <- vapply(limit, function(v) invert_term(start, name, at, v, span), 0)
    ends <- range(ends, here, na.rm = TRUE)
    span <- number_range(range, name, start, "numeric", NULL, here, ends)
    span[is.infinite(span)] <- ends[is.infinite(span)]
    value <- vapply(seq(span[1L], span[2L], length.out = 51L), function(v) {
      term_value(start, name, at, v)
    }, 0)
    limit <- range(value, na.rm = TRUE)
  }
  new_entries(start, name, at, "term", NA_character_, table$sd, limit[1L], limit[2L], FALSE,
    span[1L], span[2L])
}

# f(v), or NA where the term cannot be computed, as log(-1).
term_value <- function(start, name, at, v) {
  row <- start$row
  row[[name]] <- v
  # log(-1) warns before the blueprint refuses it.
  tryCatch(suppressWarnings(code_row(start$object, row)[at]), cpt_error = function(e) NA_real_)
}

# The value of a column whose term has the value found.
solve_term <- function(start, entries, value) {
  out <- invert_term(start, entries$column, entries$coded, value, c(entries$from, entries$upto))
  if (!is.na(out)) return(out)
  term <- start$object$blueprint$encoded[entries$coded]
  cpt_abort(c(
    "No value of {.var {entries$column}} was found that makes `{term}` {format(value)}.",
    i = "Leave {.var {entries$column}} out of {.arg mutable}."
  ), "cpt_error_counterfactual")
}

# The v nearest to the present one with f(v) = value, or NA: steps away from it on both
# sides double until f has passed the value.
invert_term <- function(start, name, at, value, span) {
  now <- as.double(start$row[[name]])
  gap <- function(v) term_value(start, name, at, v) - value
  side_now <- sign(gap(now))
  if (side_now == 0) return(now)
  reach <- max(abs(now), 1e-6) * 1e-3
  edge <- c(now, now)
  for (k in 1:60) {
    for (side in 1:2) {
      v <- now + c(-1, 1)[side] * reach
      v <- min(max(v, span[1L]), span[2L])
      # Where f ends, go half of the way.
      off <- gap(v)
      for (half in 1:30) {
        if (!is.na(off)) break
        v <- (v + edge[side]) / 2
        off <- gap(v)
      }
      if (is.na(off) || v == edge[side]) next
      if (sign(off) != side_now) {
        return(stats::uniroot(gap, sort(c(edge[side], v)), tol = 1e-12 * max(1, abs(v)))$root)
      }
      edge[side] <- v
    }
    reach <- 2 * reach
  }
  NA_real_
}

# Back to the user's columns ---------------------------------------------------

# The row with new values of the entries, in the columns and types of the user.
changed_row <- function(start, entries, value) {
  changed <- value != entries$origin
  row <- start$row
  columns <- unique(entries$column[changed])
  at <- user_positions(start, columns)
  if (!is.data.frame(row)) {
    # Columns of a matrix are numbers: one entry each.
    if (length(at)) row[1L, at] <- value[match(columns, entries$column)]
    return(row)
  }
  class <- oldClass(row)
  row <- unclass(row)
  these <- split(seq_along(value), factor(entries$column, columns))
  for (k in seq_along(columns)) {
    new <- user_value(start, entries[these[[k]], ], value[these[[k]]])
    row[[at[k]]] <- retype(new, row[[at[k]]])
  }
  structure(row, class = class)
}

# Where columns of the tree are in the row.
user_positions <- function(start, columns) {
  blueprint <- start$object$blueprint
  at <- forge_positions(blueprint, colnames(start$row), ncol(start$row))
  at[match(columns, blueprint$columns$name)]
}

# A number, or the label of a level.
user_value <- function(start, entries, value) {
  spec <- start$object$blueprint$columns
  level <- spec$levels[[entries$column[1L]]]
  switch(entries$kind[1L],
    level = entries$level[which.max(value)],
    flag = if (is.null(level)) value == 1 else level[value + 1],
    ordered = level[value],
    term = solve_term(start, entries, value),
    duration = as.difftime(value, units = spec$units[[entries$column]]),
    value
  )
}

# The new value in the type that the column of the row has.
retype <- function(new, old) {
  if (is.factor(old)) {
    known <- levels(old)
    if (!new %in% known) known <- c(known, new)
    return(factor(new, known, ordered = is.ordered(old)))
  }
  if (inherits(old, "difftime")) {
    units(new) <- attr(old, "units")
    return(new)
  }
  if (is.logical(new) && !is.logical(old)) new <- as.double(new)
  if (is.integer(old) && new == round(new)) return(as.integer(new))
  if (is.object(old) && is.numeric(new)) attributes(new) <- attributes(old)
  new
}
