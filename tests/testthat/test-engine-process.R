# Models that leave the process that made them, and Ctrl-C in a child process.

process_answers <- function(fit, new) {
  list(
    class = predict(fit, new), prob = predict(fit, new, type = "prob"),
    node = predict(fit, new, type = "node"),
    soft = predict(fit, new, type = "prob", soft = TRUE)
  )
}

test_that("a saved model predicts the same bits in a fresh process", {
  skip_if_not_installed("callr")
  d <- noisy_disc(200)
  new <- noisy_disc(150, from = 0.2)[1:4]
  fit <- cpt(y ~ ., d, control = brisk(), seed = 1)
  r <- d
  r$y <- d$x1 * d$x2
  mean <- cpt(y ~ ., r, control = brisk(), seed = 1)
  file <- withr::local_tempfile(fileext = ".rds")
  saveRDS(list(fit = fit, mean = mean, new = new), file)
  there <- callr::r(function(file, answers) {
    loadNamespace("cptree")
    saved <- readRDS(file)
    list(class = answers(saved$fit, saved$new), mean = predict(saved$mean, saved$new),
      soft = predict(saved$mean, saved$new, soft = TRUE), pid = Sys.getpid())
  }, list(file, rlang::set_env(process_answers, globalenv())), libpath = .libPaths())
  expect_false(there$pid == Sys.getpid())
  expect_identical(there$class, process_answers(fit, new))
  expect_identical(there$mean, predict(mean, new))
  expect_identical(there$soft, predict(mean, new, soft = TRUE))
})

test_that("models of released versions are still read", {
  files <- list.files(test_path("models"), "[.]rds$", full.names = TRUE)
  expect_gte(length(files), 1)
  for (file in files) {
    saved <- readRDS(file)
    for (one in saved) {
      expect_identical(paste0("cptree-", one$fit$version, ".rds"), basename(file))
      expect_identical(predict(one$fit, one$new, type = "node"), one$node)
      expect_equal(predict(one$fit, one$new, type = one$type), one$answer, tolerance = 1e-12)
      expect_equal(predict(one$fit, one$new, type = one$type, soft = TRUE), one$soft,
        tolerance = 1e-12)
      expect_output(print(one$fit))
      expect_identical(nrow(as.data.frame(one$fit)), length(one$fit$tree$node))
    }
  }
})

# Interrupts ---------------------------------------------------------------------

# Fits until interrupted; then says when that was seen and fits a small tree.
interrupted_fit <- function(ready, control, verbose) {
  cptree <- asNamespace("cptree")
  n <- 20000
  x <- matrix(sin(seq_len(20 * n) * 1.7), n)
  y <- factor(x[, 1] * x[, 2] > 0)
  control <- do.call(cptree$cpt_control, control)
  file.create(ready)
  seen <- tryCatch({
    cptree$cpt(x, y, control = control, seed = 1, threads = 2, verbose = verbose)
    NA_real_
  }, interrupt = function(e) as.double(Sys.time()))
  after <- cptree$cpt(Species ~ ., datasets::iris, max_depth = 2, max_facets = 2, seed = 1)
  list(seen = seen, tree = after$tree)
}

# Seconds from the signal to the child's handler, and the tree it fitted then.
interrupt_child <- function(control, wait, verbose = FALSE) {
  ready <- withr::local_tempfile()
  child <- callr::r_bg(rlang::set_env(interrupted_fit, globalenv()), list(ready, control, verbose),
    libpath = .libPaths())
  on.exit(child$kill())
  limit <- Sys.time() + 60
  while (!file.exists(ready) && Sys.time() < limit) Sys.sleep(0.05)
  Sys.sleep(wait)
  sent <- as.double(Sys.time())
  child$interrupt()
  child$wait(60000)
  answer <- child$get_result()
  list(delay = answer$seen - sent, tree = answer$tree)
}

test_that("Ctrl-C ends a fit within half a second, and the next fit works", {
  skip_on_os("windows")
  skip_on_cran()
  skip_if_not_installed("callr")
  expected <- cpt(Species ~ ., iris, max_depth = 2, max_facets = 2, seed = 1)$tree
  stages <- list(
    grow = list(max_depth = 3, grow_epochs = 100000),
    refine = list(max_depth = 2, max_facets = 2, starts = 1, grow_epochs = 1, grow_min_steps = 1,
      refine_epochs = 100000)
  )
  for (stage in names(stages)) {
    got <- interrupt_child(stages[[stage]], wait = 1.5, verbose = stage == "refine")
    cat(sprintf("\ninterrupt in %s: %.3f s\n", stage, got$delay))
    # half a second on a machine that is free; a busy one may be late
    expect_lt(got$delay, 2)
    expect_gt(got$delay, 0)
    expect_identical(got$tree, expected)
  }
})
