# Formulas: from `y ~ .` to raw columns, and the evaluation of terms such as
# log(x) or a:b. Sums of plain names never reach terms(), so width costs nothing.
# This file must not know how columns are coded or how gaps are filled.

# Everything the formula asks for: outcome, raw columns, which of them enter
# plainly, and the rest as `extra`. terms() sees only the rest: for `y ~ .` with
# 20,000 columns it would build a matrix of 400 million numbers.
formula_parts <- function(formula, data) {
  check_formula(formula, data)
  env <- environment(formula) %||% globalenv()
  lhs <- formula[[2L]]
  names <- setdiff(names(data), all.vars(lhs))
  outcome <- deparse1(lhs)
  y <- formula_outcome(lhs, data, env)
  n <- if (is.null(data)) NROW(y) else .row_names_info(data, 2L)
  rhs <- rhs_parse(formula[[3L]], names, is.null(data))
  extra <- extra_terms(rhs$extra, names, env)
  needed <- formula_needs(rhs$plain, extra, data, env, n)
  if (length(needed$columns) == 0L) check_predictor_names(NULL)
  list(outcome = outcome, y = y, n = n, plain = rhs$plain, extra = extra,
    columns = needed$columns, constants = needed$constants,
    row_names = if (!is.null(data)) frame_row_names(data))
}

check_formula <- function(formula, data) {
  if (length(formula) != 3L) {
    cpt_abort(c(
      "The formula must have an outcome on its left side.",
      i = "For example `y ~ .` for all other columns."
    ))
  }
  if (!is.null(data) && !is.data.frame(data)) {
    got <- describe(data)
    cpt_abort(c(
      "{.arg data} must be a data frame, not {got}.",
      i = if (length(dim(data)) == 2L) "With a matrix use `cpt(x, y)`, or `as.data.frame()`."
    ), "cpt_error_data")
  }
  if (!is.null(data)) check_names_unique(names(data), "`data`")
}

formula_outcome <- function(lhs, data, env) {
  if (is.symbol(lhs) && !as.character(lhs) %in% names(data)) {
    name <- as.character(lhs)
    if (!exists(name, envir = env, mode = "any") || is.function(get(name, envir = env))) {
      abort_no_column(name, names(data))
    }
  }
  text <- deparse1(lhs)
  tryCatch(eval(lhs, data, env), error = function(e) {
    cpt_abort("The outcome `{text}` could not be computed.", "cpt_error_data", parent = e)
  })
}

abort_no_column <- function(name, known) {
  hint <- nearest_name(name, known)
  cpt_abort(c(
    "{.var {name}} is in the formula but not a column of {.arg data}.",
    i = if (!is.null(hint)) "Did you mean {.var {hint}}?",
    i = if (is.null(known)) "There is no {.arg data}; give it as the second argument."
  ), "cpt_error_data")
}

# Plain names (`.` expanded, `- z` taken out) and the other terms.
rhs_parse <- function(rhs, names, no_data = FALSE) {
  atoms <- rhs_atoms(rhs)
  plain <- list()
  extra <- list()
  for (atom in atoms) {
    expr <- atom$expr
    if (is_call_to(expr, "offset")) abort_offset()
    if (is.numeric(expr) && expr %in% c(0, 1)) next # an intercept is always there
    if (identical(expr, quote(.)) && no_data) {
      cpt_abort("`.` in a formula needs {.arg data}.")
    }
    these <- if (identical(expr, quote(.))) names else if (is.symbol(expr)) as.character(expr)
    if (atom$minus) {
      if (is_call_to(expr, "(")) these <- rhs_parse(expr[[2L]], names)$plain
      plain <- list(setdiff(unlist(plain), these))
      if (length(extra) > 0L) extra <- c(extra, list(atom))
    } else if (is.null(these)) {
      extra <- c(extra, list(atom))
    } else {
      plain[[length(plain) + 1L]] <- these
    }
  }
  list(plain = unique(as.character(unlist(plain))), extra = join_atoms(extra))
}

is_call_to <- function(expr, name) is.call(expr) && identical(expr[[1L]], as.name(name))

abort_offset <- function() {
  cpt_abort(c(
    "`offset()` is not supported.",
    x = "A tree has no linear predictor that an offset could be added to.",
    i = "In a regression, take it off the outcome first: `y - offset ~ .`."
  ))
}

# a + b - c as a list. A loop, not a recursion: sums of 20,000 terms are that deep.
rhs_atoms <- function(expr) {
  atoms <- list()
  repeat {
    sum <- is_call_to(expr, "+") || is_call_to(expr, "-")
    last <- if (sum) expr[[length(expr)]] else expr
    minus <- sum && is_call_to(expr, "-")
    nested <- is_call_to(last, "(") || (sum && is_call_to(last, "+"))
    found <- list(list(minus = minus, expr = last))
    if (nested && !minus) {
      found <- rev(rhs_atoms(if (is_call_to(last, "(")) last[[2L]] else last))
    }
    atoms[length(atoms) + seq_along(found)] <- found
    if (!sum || length(expr) == 2L) break
    expr <- expr[[2L]]
  }
  rev(atoms)
}

# The sum again. Long runs are nested evenly: readRDS() recurses into a sum, and
# 20,000 terms written one after the other end the R process there.
join_atoms <- function(atoms) {
  minus <- vapply(atoms, `[[`, NA, "minus")
  runs <- if (length(atoms) > 500L) cumsum(c(TRUE, minus[-1L] | minus[-length(minus)]))
  pieces <- split(atoms, runs %||% seq_along(atoms))
  Reduce(function(sum, piece) {
    expr <- join_evenly(lapply(piece, `[[`, "expr"))
    if (is.null(sum)) return(expr)
    call(if (piece[[1L]]$minus) "-" else "+", sum, expr)
  }, pieces, NULL)
}

join_evenly <- function(exprs) {
  n <- length(exprs)
  if (n == 1L) return(exprs[[1L]])
  half <- seq_len(n %/% 2L)
  call("+", join_evenly(exprs[half]), join_evenly(exprs[-half]))
}

extra_terms <- function(extra, names, env) {
  if (is.null(extra)) return(NULL)
  formula <- eval(call("~", extra))
  environment(formula) <- env
  known <- as.data.frame(stats::setNames(rep(list(logical()), length(names)), names),
    optional = TRUE)
  out <- tryCatch(stats::terms(formula, data = known), error = function(e) {
    cpt_abort("The formula could not be read.", "cpt_error_argument", parent = e)
  })
  if (length(attr(out, "offset")) > 0L) abort_offset()
  if (length(attr(out, "term.labels")) == 0L) NULL else out
}

# Raw columns by name: from `data`, else (as lm() does) from where the formula
# was written. Other things found there, such as an exponent, are constants.
formula_needs <- function(plain, extra, data, env, n) {
  name <- unique(c(plain, if (!is.null(extra)) all.vars(attr(extra, "variables"))))
  at <- match(name, names(data))
  columns <- frame_columns(data %||% data.frame())[at]
  names(columns) <- name
  constants <- list()
  for (j in which(is.na(at))) {
    value <- get0(name[j], envir = env, mode = "any", ifnotfound = NULL)
    if (!is.null(value) && !is.function(value) && NROW(value) == n) {
      columns[[j]] <- value
    } else if (!name[j] %in% plain && is.atomic(value) && !is.null(value)) {
      constants[[name[j]]] <- value
    } else {
      abort_no_column(name[j], names(data))
    }
  }
  list(columns = columns[!name %in% names(constants)], constants = constants)
}

# Evaluate the transformed terms on the training rows and learn their spec.
mold_extra <- function(terms, columns, constants, weights) {
  if (is.null(terms)) return(NULL)
  frame <- extra_frame(terms, columns, "cpt_error_data")
  warn_local_functions(terms)
  # predvars (poly(), scale(), ...) are known only after this evaluation.
  terms <- attr(frame, "terms")
  attr(terms, "predvars") <- do.call(substitute, list(attr(terms, "predvars"), constants))
  # Again, as predict() will do it: poly() differs in the last bit otherwise, and
  # a training row could change its leaf.
  frame <- extra_frame(terms, columns, "cpt_error_data")
  variables <- lapply(frame_columns(frame), extra_variable)
  spec <- extra_spec(variables)
  extra <- list(terms = bare_terms(terms), spec = spec, n = length(columns[[1L]]),
    variables = Map(typed_extra, variables, spec_items(spec)))
  check_extra(extra$variables, "cpt_error_data")
  extra$spec$fill <- as.double(mapply(column_fill, extra$variables, spec$kind,
    MoreArgs = list(weights = weights)))
  extra
}

extra_frame <- function(terms, columns, class) {
  data <- structure(columns, class = "data.frame",
    row.names = .set_row_names(length(columns[[1L]])))
  tryCatch(
    stats::model.frame(terms, data, na.action = stats::na.pass),
    error = function(e) {
      cpt_abort("A term of the formula could not be computed.", class, parent = e)
    }
  )
}

# poly() and its like give matrices: here (only) they are welcome.
extra_variable <- function(x) {
  if (is.matrix(x) && (is.numeric(x) || is.logical(x))) return(unclass(x))
  normal_column(x, "of the formula")
}

extra_spec <- function(variables) {
  wide <- vapply(variables, is.matrix, NA)
  spec <- list(name = names(variables), kind = character(length(variables)),
    fill = rep(NA_real_, length(variables)), levels = list(), units = list())
  spec$kind[wide] <- "matrix"
  narrow <- column_spec(variables[!wide])
  spec$kind[!wide] <- narrow$kind
  spec$units <- narrow$units
  # For a matrix, `levels` are the endings of its column names.
  spec$levels <- c(narrow$levels, lapply(variables[wide], function(x) {
    colnames(x) %||% as.character(seq_len(ncol(x)))
  }))
  spec
}

typed_extra <- function(x, item) {
  if (item$kind != "matrix") return(typed_column(x, item))
  if (!is.matrix(x) || ncol(x) != length(item$levels)) abort_type(x, item)
  storage.mode(x) <- "double"
  attributes(x) <- list(dim = dim(x))
  x
}

# log(-1), or a function that makes NA: these are not gaps in the data.
check_extra <- function(variables, class) {
  bad <- vapply(variables, function(x) {
    if (is.numeric(unclass(x)) && !is.factor(x)) sum(!is.finite(x)) else sum(is.na(x))
  }, 0L)
  if (all(bad == 0L)) return(invisible(variables))
  text <- count_text(names(bad)[bad > 0L], bad[bad > 0L])
  cpt_abort(c(
    "Terms of the formula must not make missing or infinite values.",
    x = "Terms with the number of such values: {text}.",
    i = "Check the range of the columns, for example `log()` of 0."
  ), class)
}

# The formula is stored without environment, so predict() looks for functions
# from the global environment on.
warn_local_functions <- function(terms) {
  used <- unique(called_functions(attr(terms, "variables")))
  seen <- vapply(used, exists, NA, envir = globalenv(), mode = "function")
  lost <- used[!seen]
  if (length(lost) == 0L) return(invisible())
  text <- name_text(paste0(lost, "()"))
  cpt_warn(c(
    "{cli::qty(length(lost))}Function{?s} {text} of the formula will not be found by `predict()`.",
    i = paste("It is visible only where the formula was written. Define it in the",
      "global environment, or write `package::function()`.")
  ), "cpt_warning_formula")
}

# Names of the functions an expression calls, but for those named by package.
called_functions <- function(expr) {
  if (!is.call(expr) || is_call_to(expr, "::") || is_call_to(expr, ":::")) return(character())
  head <- if (is.symbol(expr[[1L]])) as.character(expr[[1L]])
  c(head, unlist(lapply(as.list(expr)[-1L], called_functions)))
}

bare_formula <- function(formula) {
  structure(bare_tilde(formula), class = "formula")
}

# `lhs ~ rhs` as a mere call. Built anew: changing a deep call copies it by recursion.
bare_tilde <- function(formula) {
  parts <- as.list(formula)
  last <- length(parts)
  atoms <- rhs_atoms(parts[[last]])
  if (length(atoms) > 500L && !atoms[[1L]]$minus) parts[[last]] <- join_atoms(atoms)
  as.call(unname(parts))
}

bare_terms <- function(terms) {
  attr(terms, ".Environment") <- NULL
  terms
}

# terms() of the whole formula, `.` expanded; NULL without a formula. Built on
# demand: its matrix of factors would be the largest part of a wide model.
blueprint_terms <- function(blueprint) {
  if (is.null(blueprint$formula)) return(NULL)
  atoms <- lapply(blueprint$plain, function(name) list(minus = FALSE, expr = as.name(name)))
  if (!is.null(blueprint$terms)) {
    atoms <- c(atoms, rhs_atoms(blueprint$terms[[2L]]))
  }
  formula <- eval(call("~", blueprint$formula[[2L]], join_atoms(atoms)))
  bare_terms(stats::terms(formula))
}

# Rows chosen by `subset` (logical or numbers), as numbers; NULL for all.
check_subset <- function(subset, n) {
  if (is.null(subset)) return(NULL)
  if (is.logical(subset) && length(subset) == n) return(which(subset))
  whole <- is.numeric(subset) && !anyNA(subset) && all(subset == round(subset)) &&
    all(abs(subset) <= n)
  if (whole && (all(subset >= 0) || all(subset <= 0))) return(seq_len(n)[subset])
  got <- describe(subset)
  cpt_abort(c(
    "{.arg subset} must choose rows of the data, and {got} does not.",
    i = "Give a logical vector of length {n} or row numbers from 1 to {n}."
  ), "cpt_error_data")
}
