# Columns: what kind a column is, what is stored about it (its spec), how gaps are
# filled and how it becomes numbers. The same code serves training and new data.
# This file must not know formulas, matrices or the outcome.

frame_columns <- function(x) {
  columns <- unclass(x)
  attributes(columns) <- list(names = names(x))
  columns
}

frame_row_names <- function(x) {
  if (.row_names_info(x) > 0L) as.character(attr(x, "row.names")) else NULL
}

check_predictor_names <- function(names) {
  if (length(names) == 0L) {
    cpt_abort("There must be at least one predictor; there is none.", "cpt_error_data")
  }
  if (anyNA(names) || any(!nzchar(names))) {
    at <- which(is.na(names) | !nzchar(names))[1L]
    cpt_abort("Every predictor must have a name; column {at} has none.", "cpt_error_data")
  }
  check_names_unique(names, "the predictors")
}

# The one place that decides what a column is.
column_kind <- function(x) {
  if (is.factor(x)) return(if (is.ordered(x)) "ordered" else "factor")
  if (!is.null(dim(x)) || inherits(x, "integer64")) return("unsupported")
  if (inherits(x, "Date")) return("date")
  if (inherits(x, "POSIXct")) return("datetime")
  if (inherits(x, "difftime")) return("duration")
  if (is.logical(x)) return("logical")
  if (is.character(x)) return("factor")
  if (is.numeric(x)) return("numeric")
  "unsupported"
}

# The same column without wrappers that carry no meaning here.
normal_column <- function(x, name, class = "cpt_error_data") {
  if (inherits(x, "AsIs")) oldClass(x) <- setdiff(oldClass(x), "AsIs")
  if (inherits(x, "POSIXlt")) x <- as.POSIXct(x)
  if (is.matrix(x) && ncol(x) == 1L) x <- as.vector(x)
  if (is.array(x) && length(dim(x)) == 1L) x <- as.vector(x)
  if (column_kind(x) == "unsupported") {
    got <- if (is.complex(x)) "complex" else describe(x)
    cpt_abort(c(
      "Predictor {.var {name}} must be numeric, logical, factor, character or a date, not {got}.",
      i = if (length(dim(x)) == 2L) "Give its columns one by one, for example by `cbind()`.",
      i = if (is.list(x) && is.null(dim(x))) "Take what you need out of the list first.",
      i = if (inherits(x, "integer64")) "Use `as.numeric()` first."
    ), class)
  }
  x
}

# Spec of normal columns, still without `fill`.
column_spec <- function(columns) {
  kind <- vapply(columns, column_kind, "", USE.NAMES = FALSE)
  has_levels <- kind %in% c("factor", "ordered")
  list(
    name = names(columns), kind = kind, fill = rep(NA_real_, length(kind)),
    levels = lapply(columns[has_levels], column_levels),
    units = lapply(columns[kind == "duration"], attr, "units")
  )
}

column_levels <- function(x) {
  if (is.factor(x)) levels(x) else sort(unique(as.character(x)), method = "radix")
}

# The spec as one small list per column, to walk columns and spec together.
spec_items <- function(spec) {
  items <- Map(function(name, kind, fill) list(name = name, kind = kind, fill = fill),
    spec$name, spec$kind, spec$fill)
  for (j in names(spec$levels)) items[[j]]$levels <- spec$levels[[j]]
  for (j in names(spec$units)) items[[j]]$units <- spec$units[[j]]
  items
}

# A column in the type of its spec. Training columns fit by construction; new
# ones are checked here: type, levels, and 0/1 where TRUE/FALSE was learned.
typed_column <- function(x, item) {
  if (item$kind %in% c("factor", "ordered")) return(typed_factor(x, item))
  if (is.logical(x) && (item$kind != "logical") && all(is.na(x))) x <- as.double(x)
  got <- column_kind(x)
  ok <- got == item$kind || (got == "logical" && item$kind == "numeric") ||
    (is.double(x) && !is.object(x) && all(is.na(x) & !is.nan(x)))
  if (item$kind == "logical" && got == "numeric") {
    x <- unclass(x)
    ok <- all(x %in% c(0, 1, NA))
    if (ok) x <- as.logical(x)
  }
  if (!ok) abort_type(x, item)
  if (got == "logical" && item$kind == "numeric") x <- as.double(x)
  if (item$kind == "duration") x <- as.double(x, units = item$units)
  x
}

typed_factor <- function(x, item) {
  if (is.logical(x) && all(is.na(x))) x <- as.character(x)
  if (!is.factor(x) && !is.character(x)) abort_type(x, item)
  text <- as.character(x)
  novel <- setdiff(text, c(item$levels, NA))
  if (length(novel) > 0L) {
    new <- name_text(novel, quote = "\"")
    old <- name_text(item$levels, 10L, quote = "\"")
    cpt_abort(c(
      paste("{.var {item$name}} has {cli::qty(length(novel))}{?a level/levels} that",
        "{?was/were} not in the training data: {new}."),
      i = "Known levels: {old}.",
      i = paste("Set {cli::qty(length(novel))}{?it/them} to `NA` and choose",
        "{.arg na_action}, or fit again with such rows.")
    ), "cpt_error_newdata")
  }
  # Labels, not codes: a subset of the levels or another order changes nothing.
  factor(text, levels = item$levels)
}

abort_type <- function(x, item) {
  wanted <- item$kind
  now <- if (is.character(x)) "character" else column_kind(x)
  if (now == "unsupported") now <- describe(x)
  cpt_abort(c(
    "{.var {item$name}} is {now} in {.arg newdata}, but was {wanted} in the training data.",
    i = "Give the column the type it had when the tree was fitted."
  ), "cpt_error_newdata")
}

# Training median of numbers and dates; code of the most frequent value else.
column_fill <- function(x, kind, weights) {
  if (kind %in% c("factor", "ordered")) return(weighted_mode(as.integer(x), nlevels(x), weights))
  if (kind == "logical") return(weighted_mode(x + 1L, 2L, weights) - 1)
  if (kind == "matrix") return(NA_real_)
  weighted_median(as.double(unclass(x)), weights)
}

weighted_mode <- function(code, n_codes, weights) {
  seen <- !is.na(code)
  if (!any(seen)) return(NA_real_)
  total <- vapply(seq_len(n_codes), function(k) sum(weights[seen & code == k]), 0)
  if (max(total) == 0) total <- tabulate(code[seen], n_codes)
  as.double(which.max(total))
}

# Equal to median() of the rows repeated `weights` times.
weighted_median <- function(x, weights) matrix_medians(as.matrix(x), weights)

fill_column <- function(x, item) {
  if (!anyNA(x)) return(x)
  at <- is.na(x)
  value <- switch(item$kind,
    factor = , ordered = item$levels[item$fill],
    logical = item$fill == 1,
    date = structure(item$fill, class = "Date"),
    datetime = structure(item$fill, class = c("POSIXct", "POSIXt")),
    item$fill
  )
  x[at] <- value
  x
}

# Encoding -------------------------------------------------------------------

# Columns (typed, without gaps) to one double matrix: first the plain ones in
# their order, then the transformed terms of a formula.
encode <- function(columns, spec, plain = spec$name, extra = NULL) {
  at <- match(plain, spec$name)
  blocks <- Map(encode_block, columns[at], spec_items(spec)[at])
  source <- rep(plain, vapply(blocks, function(b) length(b$names), 0L))
  if (!is.null(extra)) {
    more <- encode_terms(extra, plain)
    blocks <- c(blocks, more)
    source <- c(source, rep(names(more), vapply(more, function(b) length(b$names), 0L)))
  }
  name <- make.unique(as.character(unlist(lapply(blocks, `[[`, "names"), use.names = FALSE)))
  n <- if (length(columns) > 0L) length(columns[[1L]]) else extra$n
  x <- as.double(unlist(lapply(blocks, `[[`, "values"), use.names = FALSE))
  dim(x) <- c(n, length(name))
  dimnames(x) <- list(NULL, name)
  list(x = x, names = name, source = unname(source))
}

# `full`: a column for every level, also of two (needed inside interactions,
# where the other level is not given by the intercept).
encode_block <- function(x, item, full = FALSE) {
  if (item$kind == "matrix") {
    return(list(values = as.double(x), names = paste0(item$name, item$levels)))
  }
  if (item$kind == "logical" && full) {
    x <- factor(x, c(FALSE, TRUE))
    item$levels <- levels(x)
  } else if (item$kind != "factor") {
    return(list(values = column_number(x), names = item$name))
  }
  level <- item$levels
  use <- if (length(level) == 2L && !full) 2L else seq_along(level)
  list(values = as.double(outer(as.integer(x), use, "==")), names = paste0(item$name, level[use]))
}

# Ordered factors become scores 1, 2, ...; dates days; times seconds.
column_number <- function(x) {
  if (is.factor(x)) as.double(as.integer(x)) else as.double(unclass(x))
}

# One block per term; an interaction is all products of its variables' columns.
encode_terms <- function(extra, plain) {
  label <- attr(extra$terms, "term.labels")
  uses <- attr(extra$terms, "factors") > 0
  simple <- attr(extra$terms, "order") == 1L
  items <- spec_items(extra$spec)
  blocks <- lapply(seq_along(label), function(j) {
    at <- which(uses[, j])
    parts <- lapply(at, function(i) {
      encode_block(extra$variables[[i]], items[[i]], full = !simple[j])
    })
    Reduce(function(a, b) block_product(a, b, extra$n), parts)
  })
  names(blocks) <- label
  blocks[!(simple & label %in% c(plain, paste0("`", plain, "`")))]
}

block_product <- function(a, b, n) {
  p <- length(a$names)
  q <- length(b$names)
  left <- matrix(a$values, n, p)[, rep(seq_len(p), q), drop = FALSE]
  right <- matrix(b$values, n, q)[, rep(seq_len(q), each = p), drop = FALSE]
  list(values = as.double(left * right),
    names = paste(rep(a$names, q), rep(b$names, each = p), sep = ":"))
}
