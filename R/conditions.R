# Conditions: the only place where errors, warnings and messages are raised.
# Every message is formatted by cli and carries a class, so that callers can
# catch it by name and tests can read it.
# This file must not know the data, the model or the engine.

# `message` is a cli template: values go in by `{name}`, never by paste(), since
# a column called "a{b}" would otherwise be read as code.
# Classes in use: cpt_error_argument, cpt_error_data, cpt_error_newdata,
# cpt_error_model, cpt_error_engine. All of them are also a "cpt_error".
cpt_abort <- function(message, class = "cpt_error_argument", ...,
                      .envir = parent.frame()) {
  # The call of an inner helper would only distract: `call = NULL`.
  cli::cli_abort(
    message,
    class = unique(c(class, "cpt_error")), ...,
    call = NULL, .envir = .envir
  )
}

cpt_warn <- function(message, class = NULL, ..., .envir = parent.frame()) {
  cli::cli_warn(
    message,
    class = unique(c(class, "cpt_warning")), ...,
    call = NULL, .envir = .envir
  )
}

cpt_inform <- function(message, class = NULL, ..., .envir = parent.frame()) {
  cli::cli_inform(
    message,
    class = unique(c(class, "cpt_message")), ...,
    .envir = .envir
  )
}

# Pieces of messages ---------------------------------------------------------

# What a value is, for the end of "must be ..., not ...".
describe <- function(x) {
  if (is.null(x)) return("`NULL`")
  if (is.function(x)) return("a function")
  if (is.data.frame(x)) return("a data frame")
  if (inherits(x, "formula")) return("a formula")
  if (is.factor(x)) return("a factor")
  if (length(dim(x)) == 2L) return(describe_matrix(x))
  if (is.object(x) || isS4(x)) return(paste0("an object of class <", class(x)[1L], ">"))
  if (is.symbol(x) || is.language(x)) return("an expression")
  if (is.list(x)) return("a list")
  if (!is.atomic(x)) return(paste0("an object of type <", typeof(x), ">"))
  if (length(x) != 1L) return(describe_vector(x))
  describe_scalar(x)
}

describe_scalar <- function(x) {
  if (is.na(x)) return(if (is.numeric(x) && is.nan(x)) "`NaN`" else "`NA`")
  if (is.character(x)) return(encodeString(x, quote = "\""))
  if (is.numeric(x)) return(format(x, digits = if (x == round(x)) 15L else 7L))
  as.character(x)
}

describe_vector <- function(x) {
  kind <- if (is.numeric(x)) "numeric" else typeof(x)
  article <- if (kind == "integer") "an" else "a"
  if (length(x) == 0L) return(paste("an empty", kind, "vector"))
  paste(article, kind, "vector of length", length(x))
}

describe_matrix <- function(x) {
  kind <- if (isS4(x)) class(x)[1L] else if (is.numeric(x)) "numeric" else typeof(x)
  paste0("a ", kind, " matrix of ", nrow(x), " x ", ncol(x))
}

# "`a` (3), `b` (1) and 7 more": columns with counts, never more than `most`.
count_text <- function(names, counts, most = 5L) {
  shown <- seq_len(min(length(names), most))
  text <- paste0("`", names[shown], "` (", counts[shown], ")")
  enumerate(text, length(names) - length(shown))
}

# "`a`, `b` and 7 more"
name_text <- function(names, most = 5L, quote = "`") {
  shown <- seq_len(min(length(names), most))
  enumerate(paste0(quote, names[shown], quote), length(names) - length(shown))
}

enumerate <- function(text, more = 0L) {
  if (more > 0L) text <- c(text, paste(more, "more"))
  n <- length(text)
  if (n < 2L) return(paste(text))
  paste(paste(text[-n], collapse = ", "), "and", text[n])
}
