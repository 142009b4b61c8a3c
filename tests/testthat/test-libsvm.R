# Text of a sparse matrix as other programs write it, with all digits.
libsvm_text <- function(x, y, zero_based = FALSE) {
  x <- methods::as(x, "TsparseMatrix")
  at <- order(x@i, x@j)
  word <- sprintf("%d:%.17g", x@j[at] + if (zero_based) 0L else 1L, x@x[at])
  row <- split(word, factor(x@i[at], seq_len(nrow(x)) - 1L))
  trimws(paste(sprintf("%.17g", y), vapply(row, paste, "", collapse = " ")), "right")
}

text_file <- function(lines, open = file, sep = "\n", end = TRUE) {
  path <- withr::local_tempfile(fileext = ".txt", .local_envir = parent.frame())
  connection <- open(path, "wb")
  text <- paste(lines, collapse = sep)
  writeChar(if (end) paste0(text, sep) else text, connection, eos = NULL)
  close(connection)
  path
}

sparse_example <- function(n = 60, p = 40) {
  x <- sparse_data(n, p)$x
  x[, p] <- 0
  x[7, ] <- 0
  # numbers of all sizes, which need all 17 digits
  x <- x * 10^(round(60 * sin(row(x) * 7 + col(x))))
  methods::as(unname(x), "CsparseMatrix")
}

test_that("what is written with 17 digits comes back to the last bit", {
  x <- sparse_example()
  y <- steady(60)
  for (zero in c(FALSE, TRUE)) {
    path <- text_file(libsvm_text(x, y, zero))
    back <- read_libsvm(path, n_features = 40, zero_based = zero, y = "numeric")
    expect_identical(back, list(x = x, y = y))
  }
  # without a number of features, the last one without values is not seen
  expect_identical(read_libsvm(text_file(libsvm_text(x, y)), y = "numeric")$x, x[, -40])
})

test_that("a file larger than a piece is the same", {
  x <- sparse_example(60, 40)
  lines <- libsvm_text(x, rep(1:3, 20))
  many <- ceiling(3 * piece_size / sum(nchar(lines) + 1))
  back <- suppressMessages(read_libsvm(text_file(rep(lines, many)), 40))
  expect_identical(dim(back$x), as.integer(c(60 * many, 40)))
  for (block in c(1, ceiling(many / 2), many)) {
    expect_identical(back$x[(block - 1) * 60 + 1:60, ], x)
  }
  expect_identical(back$y, factor(rep(1:3, 20 * many)))
})

test_that("compressed files are read as plain ones", {
  lines <- c("1 1:2 4:0.25", "-1 2:1e-3", "1")
  plain <- read_libsvm(text_file(lines), y = "class")
  expect_identical(plain$y, factor(c(1, -1, 1)))
  expect_identical(as.matrix(plain$x), rbind(c(2, 0, 0, 0.25), c(0, 1e-3, 0, 0), 0))
  for (open in list(gzfile, bzfile, xzfile)) {
    expect_identical(read_libsvm(text_file(lines, open), y = "class"), plain)
  }
  expect_identical(read_libsvm(text_file(lines, sep = "\r\n"), y = "class"), plain)
  expect_identical(read_libsvm(text_file(lines, end = FALSE), y = "class"), plain)
  noisy <- c("# head", "", "1  1:2\t4:0.25 # tail", "-1 2:1e-3", "   ", "1")
  expect_identical(read_libsvm(text_file(noisy), y = "class"), plain)
})

test_that("labels become classes or numbers", {
  kind <- function(label, ...) suppressMessages(read_libsvm(text_file(paste(label, "1:1")), ...)$y)
  expect_identical(kind(c("+1", "-1", "1.0")), factor(c(1, -1, 1)))
  expect_identical(levels(kind(c(10, 9, 2, 100000))), c("2", "9", "10", "100000"))
  expect_identical(kind(c(0.5, 1)), c(0.5, 1))
  expect_identical(kind(c(0.5, 1), y = "class"), factor(c("0.5", "1")))
  expect_identical(kind(c(1, 2), y = "numeric"), c(1, 2))
  expect_identical(kind(1:100), factor(1:100))
  expect_identical(kind(1:101), as.double(1:101))
  close <- c("0.1", "0.10000000000000001", "0.10000000000000002")
  expect_identical(as.integer(kind(close, y = "class")), c(1L, 1L, 2L))
  expect_snapshot({
    read_libsvm(text_file(c("1 1:1", "2 1:2")))$y
    read_libsvm(text_file(c("1.5 qid:1 1:1", "2 qid:1 1:2")))$y
  })
})

test_that("cpt() takes what was read", {
  d <- sparse_data()
  path <- text_file(libsvm_text(d$sparse, as.integer(d$y)))
  back <- suppressMessages(read_libsvm(path, n_features = ncol(d$x)))
  fit <- cpt(back$x, back$y, control = quick(), seed = 1)
  expect_identical(fit$where, cpt(d$sparse, d$y, control = quick(), seed = 1)$where)
})

test_that("wrong files are told with the line", {
  withr::local_dir(withr::local_tempdir())
  refuse <- function(...) {
    writeLines(as.character(c(...)), "data.txt")
    refusal(read_libsvm("data.txt", y = "class"))
  }
  expect_snapshot({
    refuse(rep("1 1:2", 16), "1 3:4 x:2")
    refuse("1 1:2", "", "# a comment", "one 1:2")
    refuse("1:2 2:3")
    refuse("1,2 1:3")
    refuse("1 0:3")
    refuse("1 -4:3")
    refuse("1 3000000000:3")
    refuse("1 4:3 2:1")
    refuse("1 4:3 4:1")
    refuse("1 4:nan")
    refuse("1 4:inf")
    refuse("1 4:1e400")
    refuse("1 4:")
    refuse("1 4:{x}")
    refuse("# nothing")
    refuse()
  })
  expect_snapshot(error = TRUE, {
    read_libsvm("lost.txt")
    read_libsvm(1)
    read_libsvm("data.txt", n_features = 0)
    read_libsvm("data.txt", zero_based = NA)
    read_libsvm("data.txt", y = "factor")
  }, transform = function(x) gsub("'/.*'|/[^ ]*file[0-9a-f]+", "<folder>", x))
  writeLines(c("1 1:2", "1 9:2"), "data.txt")
  expect_snapshot(refusal(read_libsvm("data.txt", n_features = 8)))
})

test_that("a compressed file that was cut short is an error, not fewer rows", {
  lines <- rep(libsvm_text(sparse_example(), steady(60)), 50)
  for (open in list(gzfile, bzfile, xzfile)) {
    path <- text_file(lines, open)
    bytes <- readBin(path, "raw", file.size(path))
    for (size in c(length(bytes) %/% 2, length(bytes) - 3)) {
      writeBin(utils::head(bytes, size), path)
      expect_error(read_libsvm(path, y = "numeric"), class = "cpt_error_data")
    }
  }
  # every length, so that the end of a bzip2 file falls on every bit
  for (n in 1:20) {
    path <- text_file(lines[seq_len(n)], bzfile)
    expect_identical(nrow(read_libsvm(path, y = "numeric")$x), n)
  }
})

test_that("a gzip file of several parts is read whole, with a warning", {
  path <- text_file(c("1 1:2", "0 1:1"), gzfile)
  bytes <- readBin(path, "raw", file.size(path))
  writeBin(c(bytes, bytes), path)
  expect_warning(d <- read_libsvm(path, y = "numeric"), class = "cpt_warning_libsvm")
  expect_identical(d$y, c(1, 0, 1, 0))
})
