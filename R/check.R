# Checks of arguments: each function either returns the checked value in its
# final type or stops with "`name` must be ..., not ...".
# Also here: the nearest-name hint, and where threads, seed and verbosity come
# from. This file must not know the data or the engine.

check_flag <- function(x, name) {
  if (is.logical(x) && length(x) == 1L && !is.na(x)) return(isTRUE(x))
  got <- describe(x)
  cpt_abort("{.arg {name}} must be `TRUE` or `FALSE`, not {got}.")
}

# `above = TRUE`: `min` itself is not allowed.
check_number <- function(x, name, min = -Inf, max = Inf, whole = FALSE,
                         above = FALSE, source = NULL) {
  ok <- is.numeric(x) && length(x) == 1L && is.finite(x) &&
    x <= max && (if (above) x > min else x >= min) &&
    (!whole || x == round(x))
  if (ok) return(as.double(x))
  wanted <- range_text(min, max, whole, above)
  got <- describe(x)
  from <- if (is.null(source)) "" else paste0(" (from ", source, ")")
  cpt_abort("{.arg {name}}{from} must be {wanted}, not {got}.")
}

# "a whole number from 0 to 20", "a number above 0", ...
range_text <- function(min, max, whole, above = FALSE) {
  what <- if (whole) "a whole number" else "a number"
  low <- format(min, digits = 15L, big.mark = "", scientific = FALSE)
  high <- format(max, digits = 15L, big.mark = "", scientific = FALSE)
  if (is.infinite(min) && is.infinite(max)) return(what)
  if (above && is.infinite(max)) return(paste(what, "above", low))
  if (above) return(paste(what, "above", low, "and up to", high))
  if (is.infinite(max)) return(paste(what, "of at least", low))
  paste(what, "from", low, "to", high)
}

check_choice <- function(x, name, choices) {
  if (identical(x, choices)) return(choices[1L])
  if (is.character(x) && length(x) == 1L && x %in% choices) return(x)
  got <- describe(x)
  wanted <- enumerate_or(paste0("\"", choices, "\""))
  hint <- if (is.character(x) && length(x) == 1L) nearest_name(x, choices)
  cpt_abort(c(
    "{.arg {name}} must be {wanted}, not {got}.",
    i = if (!is.null(hint)) "Did you mean \"{hint}\"?"
  ))
}

enumerate_or <- function(text) {
  n <- length(text)
  if (n < 2L) return(text)
  paste(paste(text[-n], collapse = ", "), "or", text[n])
}

# Case weights. hardhat's weight classes are doubles inside, so unclass() reads them.
check_weights <- function(weights, n) {
  if (is.null(weights)) return(rep(1, n))
  if (is.matrix(weights) && ncol(weights) == 1L) weights <- weights[, 1L]
  if (!is.numeric(unclass(weights)) || is.factor(weights) || !is.null(dim(weights))) {
    got <- describe(weights)
    cpt_abort("{.arg weights} must be a numeric vector, not {got}.", "cpt_error_data")
  }
  weights <- as.double(unclass(weights))
  if (length(weights) != n) {
    len <- length(weights)
    cpt_abort(c(
      "{.arg weights} must have one value per row.",
      x = "It has length {len}, and the data has {n} row{?s}."
    ), "cpt_error_data")
  }
  check_weight_values(weights)
}

check_weight_values <- function(weights) {
  bad <- which(!is.finite(weights) | weights < 0)
  if (length(bad) > 0L) {
    first <- bad[1L]
    got <- describe(weights[first])
    cpt_abort(c(
      "{.arg weights} must be finite numbers of at least 0.",
      x = "{length(bad)} {?is/are} not; the first is number {first}: {got}."
    ), "cpt_error_data")
  }
  if (length(weights) > 0L && !any(weights > 0)) {
    cpt_abort(c(
      "{.arg weights} must not all be zero.",
      i = "A row of weight 0 is not used, so no row would be left."
    ), "cpt_error_data")
  }
  weights
}

# Names ----------------------------------------------------------------------

# The candidate a person most likely meant, or NULL. Case, dots and underscores
# do not count; a name that is part of another is a hit ("depth" -> "max_depth").
nearest_name <- function(x, candidates) {
  if (length(candidates) == 0L || is.na(x) || !nzchar(x)) return(NULL)
  plain <- function(s) gsub("[._ ]", "", tolower(s))
  a <- plain(x)
  b <- plain(candidates)
  inside <- nchar(a) >= 3L & grepl(a, b, fixed = TRUE)
  distance <- as.vector(utils::adist(a, b)) - ifelse(inside, nchar(b) - nchar(a), 0)
  # Two letters exchanged are one slip, not two.
  letters_of <- function(s) vapply(strsplit(s, ""), function(v) paste(sort(v), collapse = ""), "")
  distance[letters_of(a) == letters_of(b)] <- pmin(distance[letters_of(a) == letters_of(b)], 1)
  best <- which.min(distance)
  limit <- max(1, floor(0.4 * nchar(a)))
  if (distance[best] <= limit) candidates[best] else NULL
}

check_names_unique <- function(names, what = "`x`", class = "cpt_error_data") {
  twice <- unique(names[duplicated(names)])
  if (length(twice) == 0L) return(invisible(names))
  text <- name_text(twice)
  cpt_abort(c(
    "Column names of {what} must be unique.",
    x = "More than once: {text}.",
    i = "`make.unique()` gives unique names."
  ), class)
}

# Threads, seed, verbosity -----------------------------------------------------

# First given wins: argument, option, environment variable, 2. Two, not all
# cores: a shared machine must not be taken over by default.
resolve_threads <- function(threads = NULL) {
  source <- NULL
  if (is.null(threads)) {
    threads <- getOption("cptree.threads")
    source <- "`getOption(\"cptree.threads\")`"
  }
  if (is.null(threads)) {
    text <- Sys.getenv("CPTREE_THREADS", unset = "")
    if (!nzchar(text)) return(2L)
    number <- suppressWarnings(as.numeric(text))
    threads <- if (is.na(number)) text else number
    source <- "the environment variable `CPTREE_THREADS`"
  }
  as.integer(check_number(threads, "threads", 1, 1024, whole = TRUE, source = source))
}

# Which version of the engine's inner loops runs: the fastest that the processor has,
# unless one is asked for by name. Returns the name in use.
resolve_kernels <- function() {
  name <- getOption("cptree.kernels", Sys.getenv("CPTREE_KERNELS", "auto"))
  available <- as.vector(engine_kernels(""))
  if (!is.character(name) || length(name) != 1L || !name %in% c("auto", available)) {
    got <- describe(name)
    cpt_abort(c(
      "The kernels asked for cannot run on this processor.",
      x = "`getOption(\"cptree.kernels\")` or `CPTREE_KERNELS` is {got}.",
      i = "It has {.val {available}}; {.val auto} takes the first."
    ))
  }
  attr(engine_kernels(name), "in_use")
}

# Whole numbers up to 2^53 are exact in a double; the engine hashes them.
check_seed <- function(seed) {
  if (is.null(seed)) return(NULL)
  check_number(seed, "seed", 0, 2^53, whole = TRUE)
}

# Only a missing seed may touch R's stream, so that `set.seed()` works as usual.
resolve_seed <- function(seed = NULL) {
  if (is.null(seed)) as.double(sample.int(.Machine$integer.max, 1L)) else check_seed(seed)
}

# A progress bar in a rendered document is noise, so knitr is always silent.
resolve_verbose <- function(verbose = NULL) {
  source <- "verbose"
  if (is.null(verbose)) {
    verbose <- getOption("cptree.verbose", interactive())
    source <- "getOption(\"cptree.verbose\")"
  }
  check_flag(verbose, source) && !isTRUE(getOption("knitr.in.progress"))
}
