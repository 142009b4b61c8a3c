# Speed, as ratios. Each pair is measured alternately in one run and the best of
# several counts, because seconds on a shared machine mean nothing.
#   Rscript inst/benchmarks/run.R DATA [--small] [--peer=torch_peer.py] [--out=FOLDER]
#     [--only=WORD,...] [--repeats=3] [--rows=1000000]
# DATA (or CPT_DATA) holds mnist.rds, letter.rds, hiv.rds and suite/. A peer that is
# not there is skipped, and a line says so. Writes benchmarks.json and benchmarks.png.

library(cptree)

given <- commandArgs(trailingOnly = TRUE)
flag <- function(name, default = "") {
  hit <- grep(paste0("^--", name, "="), given, value = TRUE)
  if (length(hit)) sub("^[^=]*=", "", hit[1]) else default
}
small <- "--small" %in% given
only <- strsplit(flag("only"), ",")[[1]]
out <- flag("out", ".")
dir.create(out, showWarnings = FALSE, recursive = TRUE)
peer <- flag("peer", Sys.getenv("CPT_PEER"))
data_folder <- c(grep("^--", given, value = TRUE, invert = TRUE), Sys.getenv("CPT_DATA"))[1]
here <- dirname(normalizePath(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])))
threads <- 2L
repeats <- as.integer(flag("repeats", if (small) "1" else "3"))
many_rows <- as.numeric(flag("rows", if (small) "20000" else "1000000"))  # to predict

results <- list()
# `ratio`: how many times faster than the peer (or what `unit` says).
report <- function(work, ours, theirs, ratio, goal, unit = "times faster") {
  cat(sprintf("%-58s %10.4g %10.4g  %8.3g %s (goal %s)\n", work, ours, theirs, ratio, unit, goal))
  results[[length(results) + 1L]] <<- list(work = work, ours = ours, peer = theirs, ratio = ratio,
    unit = unit, goal = goal)
}
skip <- function(work, why) cat(sprintf("%-58s skipped: %s\n", work, why))
wanted <- function(part) !length(only) || part %in% only
have <- function(package) requireNamespace(package, quietly = TRUE)
seconds <- function(expr) system.time(expr)[["elapsed"]]
read <- function(file) {
  path <- file.path(data_folder, file)
  if (nzchar(data_folder) && file.exists(path)) readRDS(path)
}

# The kernel against sgemm -------------------------------------------------------

kernel <- function() {
  src <- file.path(here, "..", "..", "src")
  if (!file.exists(file.path(src, "kernels.h"))) return(skip("kernel", "needs the checkout's src/"))
  program <- tempfile("kernel")
  sources <- c(file.path(here, "kernel.cpp"), Sys.glob(file.path(src, "kernels*.cpp")))
  built <- suppressWarnings(system2("c++", c("-std=c++17", "-O2", "-I", shQuote(src),
    shQuote(sources), "-lopenblas", "-o", program), stdout = FALSE, stderr = FALSE))
  if (built != 0L) return(skip("kernel against sgemm", "no OpenBLAS to link to"))
  table <- utils::read.table(text = system2(program, if (small) "20" else "300", stdout = TRUE))
  for (i in seq_len(nrow(table))) {
    row <- unlist(table[i, ])
    report(sprintf("kernel (%d, %d, %d), GFLOP/s against sgemm", row[1], row[2], row[3]),
      row[4], row[5], row[4] / row[5], if (i <= 4) ">= 0.85" else "-", "of sgemm's rate")
  }
}

# One joint epoch ------------------------------------------------------------------

# Seconds of the quickest epoch of the joint training at steepness 1.5 (torch_peer.py has
# the same), the tree grown greedily first.
epoch_seconds <- function(x, y, depth, facets, tolerance = 3e-4, threads = 2L, grow_epochs = 10,
                          refine_epochs = 3, batch_size = 1000) {
  fit <- cpt(x, y, seed = 1, threads = threads, verbose = FALSE, search = FALSE,
    max_depth = depth, max_facets = facets, min_gain = 0, min_leaf_obs = 2, min_split_obs = 4,
    starts = 1, grow_epochs = grow_epochs, grow_min_steps = 200, refine_epochs = refine_epochs,
    refine_min_steps = 1, lambda_start = 1.5, lambda_end = 1.5, reach_tolerance = tolerance,
    prior_weight = 0, batch_size = batch_size)
  min(fit$history$seconds[fit$history$stage == "refine"])
}

torch_seconds <- function(x, y, depth, facets) {
  files <- c(tempfile(), tempfile())
  x <- scale(as.matrix(x))
  x[!is.finite(x)] <- 0
  con <- file(files[1], "wb"); writeBin(as.vector(t(x)), con, size = 4); close(con)
  con <- file(files[2], "wb"); writeBin(as.integer(y) - 1L, con, size = 4); close(con)
  line <- suppressWarnings(system2(normalizePath(peer),  # its first line names its python
    c("--x", files[1], "--y", files[2], "--d", ncol(x), "--classes", nlevels(y),
      "--depth", depth, "--k", facets, "--batch", 1000, "--epochs", 2, "--threads", threads),
    stdout = TRUE, stderr = FALSE))
  unlink(files)
  value <- regmatches(line, regexec("seconds_per_epoch\": *([0-9.eE+-]+)", line))
  as.numeric(unlist(value)[2])
}

against_torch <- function(title, x, y, depth, facets, cases) {
  if (!nzchar(peer) || !file.exists(peer)) return(skip(title, "no torch_peer.py (--peer=)"))
  theirs <- Inf
  ours <- rep(Inf, nrow(cases))
  for (i in seq_len(repeats)) {
    theirs <- min(theirs, torch_seconds(x, y, depth, facets))
    for (k in seq_along(ours)) {
      ours[k] <- min(ours[k], epoch_seconds(x, y, depth, facets, cases$tolerance[k]))
    }
  }
  if (!is.finite(theirs)) return(skip(title, "python3 has no torch"))
  for (k in seq_along(ours)) {
    report(paste0(title, ", tolerance ", cases$tolerance[k]), ours[k], theirs, theirs / ours[k],
      cases$goal[k])
  }
}

epochs <- function() {
  if (wanted("mnist") && !is.null(d <- read("mnist.rds"))) {
    x <- rbind(d$x_train, d$x_valid)
    y <- factor(c(as.character(d$y_train), as.character(d$y_valid)))
    rows <- if (small) seq_len(5000) else seq_len(nrow(x))
    against_torch("epoch, MNIST, depth 6, K 30", x[rows, ], y[rows], 6, 30,
      data.frame(tolerance = c(3e-4, 0), goal = c(">= 8", ">= 1.5")))
  }
  if (wanted("letter") && !is.null(d <- read("letter.rds"))) {
    against_torch("epoch, Letter, depth 8, K 30", rbind(d$x_train, d$x_valid),
      factor(c(as.character(d$y_train), as.character(d$y_valid))), 8, 30,
      data.frame(tolerance = 3e-4, goal = ">= 25"))
  }
  if (wanted("hiv") && !is.null(d <- read("hiv.rds"))) {
    rows <- if (small) seq_len(4000) else seq_len(nrow(d$x_train))
    sparse <- d$x_train[rows, ]
    dense <- as.matrix(sparse)
    y <- d$y_train[rows]
    pair <- function(title, facets, batch_size) {
      ours <- theirs <- Inf
      for (i in seq_len(repeats)) {
        ours <- min(ours, epoch_seconds(sparse, y, 4, facets, refine_epochs = 40, batch_size = batch_size))
        theirs <- min(theirs, epoch_seconds(dense, y, 4, facets, batch_size = batch_size))
      }
      report(paste0("epoch, HIV, sparse against dense, ", title), ours, theirs, theirs / ours, ">= 10")
    }
    pair("K 10, batch 1000", 10, 1000)
    pair("K 12, batch 4000 as in hiv.R", 12, 4000)
  }
}

# Two threads against one: images and narrow data.
scaling <- function() {
  pair <- function(title, x, y, depth, epochs) {
    time <- c(Inf, Inf)
    for (i in seq_len(repeats))
      for (k in 1:2) time[k] <- min(time[k], epoch_seconds(x, y, depth, 30, threads = k, grow_epochs = 4,
          refine_epochs = epochs))
    report(paste0("2 threads against 1, ", title), time[2], time[1], time[1] / time[2], ">= 1.8")
  }
  if (!is.null(d <- read("mnist.rds"))) {
    rows <- seq_len(if (small) 3000 else 20000)
    pair("MNIST", d$x_train[rows, ], d$y_train[rows], 6, 3)
  }
  if (!is.null(d <- read("letter.rds"))) pair("Letter", d$x_train, d$y_train, 8, 40)
}

# Defaults against ranger ------------------------------------------------------------

against_ranger <- function() {
  if (!have("ranger")) return(skip("defaults against ranger", "ranger is not installed"))
  sets <- Sys.glob(file.path(data_folder, "suite", "*.rds"))
  if (small) sets <- utils::head(grep("concrete|german", sets, value = TRUE), 2)
  fit_ratio <- predict_ratio <- numeric()
  for (path in sets) {
    d <- readRDS(path)
    x <- as.matrix(d$x_train)
    name <- sub("[.]rds$", "", basename(path))
    ours <- theirs <- Inf
    for (i in seq_len(repeats)) {
      theirs <- min(theirs, seconds(forest <- ranger::ranger(x = x, y = d$y_train, num.trees = 500,
        num.threads = threads, seed = 1)))
      ours <- min(ours, seconds(tree <- cpt(x, d$y_train, seed = 1, threads = threads, verbose = FALSE)))
    }
    fit_ratio[name] <- ours / theirs
    report(paste("fit,", name), ours, theirs, ours / theirs, "<= 10", "times ranger's time")
    many <- x[rep_len(seq_len(nrow(x)), many_rows), , drop = FALSE]
    theirs <- seconds(predict(forest, many, num.threads = threads))
    ours <- min(replicate(repeats, seconds(predict(tree, many, threads = threads))))
    predict_ratio[name] <- theirs / ours
    report(paste("predict,", name), ours, theirs, theirs / ours, "-")
  }
  report("fit, geometric mean", NA, NA, exp(mean(log(fit_ratio))), "<= 3", "times ranger's time")
  report("predict, geometric mean", NA, NA, exp(mean(log(predict_ratio))), ">= 20")
}

# Growth and memory --------------------------------------------------------------------

teacher <- function(n, d) {
  set.seed(1)
  x <- matrix(stats::rnorm(n * d), n)
  list(x = x, y = factor(max.col(tanh(x %*% matrix(stats::rnorm(d * 8), d) / sqrt(d)) %*%
    matrix(stats::rnorm(32), 8))))
}

slope <- function(what, values, run, goal = "<= 1.05") {
  time <- vapply(values, function(v) min(replicate(repeats, run(v))), 0)
  report(paste0("growth in ", what, ", ", values[1], " to ", values[length(values)]),
    time[length(time)], time[1], unname(stats::coef(stats::lm(log(time) ~ log(values)))[2]), goal,
    "log-log slope")
  time
}

growth <- function() {
  n <- if (small) c(1e4, 4e4) else c(1e4, 1e5, 1e6)
  all <- teacher(max(n), 50)
  slope("n", n, function(m) epoch_seconds(all$x[1:m, ], all$y[1:m], 4, 20, grow_epochs = 1))
  d <- if (small) c(10, 100) else c(10, 100, 1000)
  slope("d", d, function(m) {
    t <- teacher(if (small) 5e3 else 2e4, m)
    epoch_seconds(t$x, t$y, 4, 20, grow_epochs = 2)
  })
  t <- teacher(if (small) 5e3 else 2e4, 50)
  slope("K", c(5, 20, 100), function(k) epoch_seconds(t$x, t$y, 4, k, grow_epochs = 2))
  deep <- epoch_seconds(t$x, t$y, 10, 20)
  flat <- epoch_seconds(t$x, t$y, 3, 20)
  report("epoch at depth 10 against depth 3", deep, flat, deep / flat, "<= 4", "times the time")
}

memory <- function() {
  peak <- function() {
    line <- grep("^VmHWM", readLines("/proc/self/status"), value = TRUE)
    as.numeric(gsub("[^0-9]", "", line)) * 1024
  }
  if (!file.exists("/proc/self/status")) return(skip("memory", "needs /proc"))
  n <- if (small) 1e5 else 1e6
  x <- matrix(0, n, 100)
  for (j in 1:100) x[, j] <- stats::rnorm(n)
  y <- factor(x[, 1] * x[, 2] > 0)
  invisible(gc())
  before <- peak()
  cpt(x, y, seed = 1, threads = threads, verbose = FALSE, max_depth = 2, max_facets = 5, starts = 1,
    grow_epochs = 1, refine_epochs = 1, search = FALSE)
  size <- as.numeric(utils::object.size(x))
  report(sprintf("memory above a matrix of %g x 100, GB", n), (peak() - before) / 1e9, size / 1e9,
    (peak() - before) / size, "<= 0.7", "of the matrix")
}

cat(sprintf("%-58s %10s %10s  %s\n", "work", "ours", "peer", "ratio"))
if (wanted("memory")) memory()  # first: the peak of the process must be its own
if (wanted("kernel")) kernel()
if (wanted("mnist") || wanted("letter") || wanted("hiv")) epochs()
if (wanted("threads")) scaling()
if (wanted("ranger")) against_ranger()
if (wanted("growth")) growth()

if (length(results) && have("jsonlite")) {
  cpu <- if (file.exists("/proc/cpuinfo")) sub(".*: ", "", grep("model name", readLines("/proc/cpuinfo"), value = TRUE)[1])
  jsonlite::write_json(list(machine = cpu, threads = threads, results = results),
    file.path(out, "benchmarks.json"), auto_unbox = TRUE, digits = 6, pretty = TRUE)
}
if (length(results)) {
  ratio <- vapply(results, `[[`, 0, "ratio")
  name <- paste0(vapply(results, `[[`, "", "work"), " (", vapply(results, `[[`, "", "goal"), ")")
  grDevices::png(file.path(out, "benchmarks.png"), 1000, 120 + 24 * length(ratio), res = 96)
  graphics::par(mar = c(4, 28, 1, 1), las = 1)
  at <- rev(seq_along(ratio))
  graphics::plot(ratio, at, log = "x", pch = 19, yaxt = "n", ylab = "", xlab = "ratio (log scale)")
  graphics::axis(2, at, name, cex.axis = 0.8)
  graphics::abline(v = 1, lty = 3)
  invisible(grDevices::dev.off())
}
