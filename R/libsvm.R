# read_libsvm(): bytes come from an R connection, so compressed files work too, and go
# in pieces to the reader in src/libsvm.cpp.
# This file must not know the model.

#' Read a file in LIBSVM format
#'
#' Reads sparse data written as text, one row a line:
#' ```
#' label feature:value feature:value ...
#' ```
#' The file may be compressed by gzip, bzip2 or xz; one that was cut short is told.
#' Features that a row does not name are 0, and the matrix stays sparse, so that
#' `cpt(d$x, d$y)` can use it as it is.
#'
#' Features of a row must ascend. Blank lines, `#` comments, tabs, Windows line ends and a
#' last line without an end are accepted; `qid:` groups are left out, with a message.
#' Anything else stops with an error of class `cpt_error_data` that names the line. Numbers
#' are rounded to the nearest double, where [as.numeric()] can be off in the last bit. An
#' infinite value, `NaN` or a number too large for a double is an error; one too small
#' becomes 0.
#'
#' @param file *A string*: path of the file.
#' @param n_features *A whole number*: columns of the matrix. The default `NULL` takes the
#'   largest feature in the file. Give it for a test file, so that it has the columns of
#'   the training file; a larger feature is then an error.
#' @param zero_based *`TRUE` or `FALSE`* (default): is the first feature number 0? LIBSVM
#'   numbers features from 1.
#' @param y *A string*: are the labels classes, `"class"`, or numbers, `"numeric"`? The
#'   default `"auto"` takes them as classes if all are whole numbers and there are at most
#'   100 different ones, and says so.
#' @return A list of
#' * `x`: a sparse matrix (`dgCMatrix`) with one row per line, without names;
#' * `y`: a factor, whose levels are the labels in increasing order, such as `"-1"` and
#'   `"1"`; or a numeric vector.
#' @seealso [cpt()], which takes `x` and `y`.
#' @examples
#' file <- tempfile(fileext = ".gz")
#' connection <- gzfile(file, "w")
#' writeLines(c("+1 1:0.5 3:2", "-1 2:1 # a comment", "+1 1:-3.25e-1"), connection)
#' close(connection)
#' d <- read_libsvm(file)
#' d$x
#' d$y
#' @export
read_libsvm <- function(file, n_features = NULL, zero_based = FALSE,
                        y = c("auto", "class", "numeric")) {
  check_file(file)
  features <- -1
  if (!is.null(n_features)) {
    features <- check_number(n_features, "n_features", 1, count_max - 1, whole = TRUE)
  }
  zero_based <- check_flag(zero_based, "zero_based")
  kind <- check_choice(y, "y", c("auto", "class", "numeric"))
  found <- read_bytes(file, libsvm_open(zero_based, as.integer(features)))
  if (found$dim[1L] == 0L) {
    cpt_abort("There are no rows in {.file {file}}.", "cpt_error_data")
  }
  if (found$groups > 0) {
    cpt_inform("`qid:` groups are left out; {found$groups} row{?s} {?has/have} one.",
      "cpt_message_libsvm")
  }
  x <- methods::new("dgCMatrix", p = found$p, i = found$i, x = found$x, Dim = found$dim)
  list(x = x, y = label_outcome(found$y, kind))
}

check_file <- function(file) {
  if (!is.character(file) || length(file) != 1L || is.na(file)) {
    got <- describe(file)
    cpt_abort("{.arg file} must be the path of a file, not {got}.")
  }
  if (!file.exists(file) || dir.exists(file)) {
    what <- if (dir.exists(file)) "It is a folder." else "The working folder is {.path {getwd()}}."
    cpt_abort(c("There is no file {.file {file}}.", i = what))
  }
}

# Large enough that R's part costs nothing, small enough to stay in the cache.
piece_size <- 2^20

# gzfile() reads gzip, bzip2, xz and plain files alike.
read_bytes <- function(file, reader) {
  connection <- gzfile(file, "rb")
  on.exit(close(connection))
  total <- 0
  repeat {
    # A damaged archive is a mere warning to R.
    bytes <- tryCatch(
      readBin(connection, "raw", piece_size),
      warning = function(e) abort_libsvm(file, conditionMessage(e)),
      error = function(e) abort_libsvm(file, conditionMessage(e))
    )
    if (length(bytes) == 0L) break
    total <- total + length(bytes)
    tryCatch(libsvm_feed(reader, bytes),
      error = function(e) abort_libsvm(file, conditionMessage(e)))
  }
  check_complete(file, total)
  tryCatch(libsvm_close(reader), error = function(e) abort_libsvm(file, conditionMessage(e)))
}

# R reads what is there of a gzip or bzip2 file that was cut short, and says nothing.
check_complete <- function(file, total) {
  first <- readBin(file, "raw", 3L)
  last <- last_bytes(file, 11L)
  cut <- "the file was cut short: its end is missing"
  if (identical(first, charToRaw("BZh")) && !is_bzip2_end(last)) abort_libsvm(file, cut)
  if (!identical(first[1:2], as.raw(c(0x1f, 0x8b)))) return(invisible())
  # The last four bytes of a gzip file are its size, or that of its last part.
  size <- sum(as.integer(utils::tail(last, 4L)) * 256^(0:3))
  if (size == total %% 2^32) return(invisible())
  if (size > total) abort_libsvm(file, cut)
  cpt_warn(c(
    "{.file {file}} may be cut short.",
    x = "It says that it holds {size} bytes; {total} were read.",
    i = "A gzip file of several parts says so too; if it is one, all is well."
  ), "cpt_warning_libsvm")
}

last_bytes <- function(file, n) {
  connection <- file(file, "rb")
  on.exit(close(connection))
  seek(connection, max(0, file.size(file) - n))
  readBin(connection, "raw", n)
}

# A bzip2 file ends in a mark of 48 bits, a sum of 32 and up to 7 bits to fill a byte.
is_bzip2_end <- function(last) {
  bits <- function(x) as.vector(matrix(as.integer(rawToBits(x)), 8L)[8:1, ])
  mark <- bits(as.raw(c(0x17, 0x72, 0x45, 0x38, 0x50, 0x90)))
  found <- bits(last)
  end <- length(found) - 32L - 0:7
  any(vapply(end[end >= 48L], function(e) identical(found[e - 47:0], mark), NA))
}

abort_libsvm <- function(file, text) {
  cpt_abort(c(
    "{.file {file}} could not be read as a LIBSVM file.",
    x = "{text}.",
    i = if (grepl("numbered from 1", text)) "Use `zero_based = TRUE` if the first feature is 0."
  ), "cpt_error_data")
}

label_outcome <- function(label, kind) {
  if (kind == "numeric") return(label)
  known <- sort(unique(label))
  whole <- all(known == round(known))
  if (kind == "auto" && (!whole || length(known) > 100L)) {
    cpt_inform("The labels are taken as numbers; `y = \"class\"` makes them classes.",
      "cpt_message_libsvm")
    return(label)
  }
  if (kind == "auto") {
    cpt_inform(c(
      "The labels are taken as {length(known)} class{?/es}.",
      i = "`y = \"numeric\"` keeps them as numbers."
    ), "cpt_message_libsvm")
  }
  factor(match(label, known), seq_along(known), format_label(known))
}

# As written: "1", not "1e+05", and different labels stay different.
format_label <- function(x) {
  text <- vapply(x, function(v) format(v, digits = 15L, scientific = abs(v) >= 1e15), "")
  if (anyDuplicated(text)) sprintf("%.17g", x) else text
}
