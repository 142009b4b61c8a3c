# Rscript inst/setup/test.R
# Installs what the tests need, installs cptree into a temporary library, runs the
# core tests (C++, without R) and testthat's, and prints 'N passed, N failed' last.
# CPTREE_INSTALL_LOG: a file for the compiler's output.

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
source(file.path(dirname(script), "setup.R"))

root <- checkout_root()
use_writable_library()
suggests <- described_packages(root, "Suggests")
install_missing(
  c(described_packages(root, c("Imports", "LinkingTo")), suggests[c("testthat", "withr")]),
  suggests[c("callr", "data.table", "recipes", "tibble")]
)

lib <- tempfile("library")
dir.create(lib)
log <- Sys.getenv("CPTREE_INSTALL_LOG")
install_checkout(root, lib, if (nzchar(log)) normalizePath(log, mustWork = FALSE) else tempfile())
.libPaths(c(lib, .libPaths()))

# Passed and failed tests of the core; a build that fails is a failed test.
core_tests <- function(root) {
  if (.Platform$OS.type == "windows") {
    message("Core tests need the sanitizers of GCC or clang: skipped on Windows.")
    return(c(passed = 0L, failed = 0L))
  }
  log <- tempfile()
  build <- file.path(tempdir(), "core")
  make <- Sys.getenv("MAKE", "make")
  Sys.setenv(PATH = paste(R.home("bin"), Sys.getenv("PATH"), sep = .Platform$path.sep))
  status <- system2(make, c("-C", shQuote(file.path(root, "tests", "core")), "check",
    paste0("BUILD=", shQuote(build))), stdout = log, stderr = log)
  text <- readLines(log)
  last <- utils::tail(grep("^[0-9]+ passed, [0-9]+ failed$", text, value = TRUE), 1L)
  count <- as.integer(regmatches(last, gregexpr("[0-9]+", last))[[1L]])
  fine <- status == 0L && length(last)
  writeLines(if (fine) grep("^(ok|FAIL|==)", text, value = TRUE) else text)
  if (!length(last)) return(c(passed = 0L, failed = 1L))
  c(passed = count[1L], failed = if (fine) count[2L] else max(count[2L], 1L))
}

# The tests run on a copy, so that the checkout stays as it is.
package_tests <- function(root) {
  Sys.setenv(NOT_CRAN = "true")
  # Some packages ask the system for its time zone and warn where it has none.
  if (!nzchar(Sys.getenv("TZ"))) Sys.setenv(TZ = "UTC")
  file.copy(file.path(root, "tests", "testthat"), tempdir(), recursive = TRUE)
  result <- as.data.frame(testthat::test_dir(file.path(tempdir(), "testthat"),
    package = "cptree", load_package = "installed", reporter = "check",
    stop_on_failure = FALSE))
  bad <- result$failed > 0L | result$error
  c(passed = sum(!bad & !result$skipped), failed = sum(bad))
}

cat("\nCore tests\n")
core <- core_tests(root)
cat("\nPackage tests\n")
all <- core + package_tests(root)
cat("\n", all[["passed"]], " passed, ", all[["failed"]], " failed\n", sep = "")
quit(status = if (all[["failed"]] > 0L || all[["passed"]] == 0L) 1L else 0L)
