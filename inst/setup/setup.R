# What install.R and test.R share: where the checkout is, which packages are missing,
# and how they and this package are installed. Needs R and a compiler only.
# Nothing is written into the checkout.

# The checkout that this script lies in, however Rscript was called.
checkout_root <- function() {
  file <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
  root <- dirname(dirname(dirname(normalizePath(file[1L]))))
  if (!file.exists(file.path(root, "DESCRIPTION"))) {
    stop("Run this script from the checkout: Rscript inst/setup/", basename(file[1L]), call. = FALSE)
  }
  root
}

# Packages that DESCRIPTION names in these fields: name = least version, "0" for any.
described_packages <- function(root, fields) {
  text <- read.dcf(file.path(root, "DESCRIPTION"), fields)
  one <- trimws(unlist(strsplit(text[!is.na(text)], ",")))
  name <- sub("[[:space:](].*", "", one)
  least <- ifelse(grepl(">=", one), gsub(".*>=[[:space:]]*|[[:space:]]*[)].*", "", one), "0")
  out <- stats::setNames(least, name)
  # The version matters only once: Rcpp is both imported and linked to.
  out <- out[order(name, least == "0")]
  out[!duplicated(names(out)) & names(out) != "R"]
}

is_missing <- function(name, least) {
  have <- suppressWarnings(utils::packageDescription(name, fields = "Version"))
  is.na(have) || package_version(have) < least
}

# Packages go where R would put them; a personal library is made if there is none.
use_writable_library <- function() {
  if (file.access(.libPaths()[1L], 2L) == 0L) return(invisible())
  own <- strsplit(Sys.getenv("R_LIBS_USER"), .Platform$path.sep, fixed = TRUE)[[1L]][1L]
  own <- path.expand(own)
  dir.create(own, recursive = TRUE, showWarnings = FALSE)
  .libPaths(c(own, .libPaths()))
}

# The mirror the user has configured, else the first of R's own list.
use_mirror <- function() {
  repos <- getOption("repos")
  if (length(repos) == 0L || anyNA(repos) || "@CRAN@" %in% repos) {
    utils::chooseCRANmirror(graphics = FALSE, ind = 1L, local.only = TRUE)
  }
}

# Installs what is missing; stops if a package of `needed` cannot be had. Packages of
# `wanted` only serve tests that are skipped without them.
install_missing <- function(needed, wanted = character()) {
  missing_of <- function(all) names(all)[mapply(is_missing, names(all), all)]
  missing <- missing_of(c(needed, wanted))
  if (length(missing)) {
    message("Installing from CRAN: ", paste(missing, collapse = ", "))
    use_mirror()
    tryCatch(
      utils::install.packages(missing, quiet = TRUE),
      error = function(e) message(conditionMessage(e))
    )
  }
  lost <- missing_of(needed)
  if (length(lost)) {
    stop("Could not install ", paste(lost, collapse = ", "), ". Is there a connection, ",
      "a compiler, GNU make and cmake? See \"What it needs\" in README.md.", call. = FALSE)
  }
  lost <- missing_of(wanted)
  if (length(lost)) message("Without ", paste(lost, collapse = ", "), ": some tests are skipped.")
}


# Builds a source package from the checkout in a temporary folder and installs it.
# The compiler's output goes to `log`, and is shown if it fails.
install_checkout <- function(root, lib = .libPaths()[1L], log = tempfile()) {
  if (!nzchar(Sys.getenv("MAKEFLAGS"))) Sys.setenv(MAKEFLAGS = "-j2")
  folder <- tempfile("build")
  dir.create(folder)
  old <- setwd(folder)
  on.exit(setwd(old))
  message("Building and installing cptree ...")
  quiet <- file.path(folder, "build.log")
  built <- system2(file.path(R.home("bin"), "R"),
    c("CMD", "build", "--no-build-vignettes", shQuote(root)), stdout = quiet, stderr = quiet)
  file <- list.files(folder, "^cptree_.*[.]tar[.]gz$")
  if (built != 0L || length(file) != 1L) {
    stop("R CMD build failed:\n", paste(readLines(quiet), collapse = "\n"), call. = FALSE)
  }
  done <- system2(file.path(R.home("bin"), "R"),
    c("CMD", "INSTALL", "--no-test-load", paste0("--library=", shQuote(lib)), file),
    stdout = log, stderr = log)
  if (done != 0L) {
    stop("R CMD INSTALL failed:\n", paste(utils::tail(readLines(log), 60L), collapse = "\n"),
      call. = FALSE)
  }
}
