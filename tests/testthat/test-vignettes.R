# What the vignettes and the list of help topics rely on: files in extdata, _pkgdown.yml.

extdata <- function(name) system.file("extdata", name, package = "cptree")

test_that("the small model of digits is small, sound and predicts unseen images", {
  file <- extdata("mnist-small.rds")
  expect_lt(file.size(file), 150 * 1024)
  small <- readRDS(file)
  expect_s3_class(small$model, "cpt")
  expect_equal(dim(small$x), c(length(small$y), 14 * 14))
  expect_equal(nrow(small$model$tree$coef), 14 * 14)
  expect_gt(mean(predict(small$model, small$x, threads = 1) == small$y), 0.9)
  expect_equal(levels(small$y), small$model$levels)
})

test_that("the facets of the small model are drawn as images of 14 x 14 pixels", {
  small <- readRDS(extdata("mnist-small.rds"))
  grDevices::pdf(NULL)
  withr::defer(grDevices::dev.off())
  drawn <- plot(small$model, type = "facets", node = 1, image_dim = c(14, 14))
  expect_equal(sort(unique(drawn$row)), 1:14)
  expect_equal(nrow(drawn), 14 * 14 * nrow(coef(small$model)[["1"]]))
  expect_equal(as.character(drawn$column), paste0("px", drawn$row, "_", drawn$col))
})

test_that("the paper's numbers are shares, with one row per data set for its own method", {
  paper <- utils::read.csv(extdata("paper.csv"))
  expect_setequal(paper$metric, c("accuracy", "AUC", "RMSE"))
  share <- paper$score[paper$metric != "RMSE"]
  expect_true(all(share >= 0.5 & share <= 1))
  own <- paper[paper$method == "CPT", ]
  expect_setequal(own$data,
    c("mnist", "sensit", "connect4", "letter", "pdbbind", "bace", "hiv", "rings"))
  expect_equal(anyDuplicated(own$data), 0L)
})

# A method such as "rpart, pruned" that is not quoted would shift the columns.
test_that("results that are shipped have the columns that the vignette reads", {
  wanted <- list(
    experiments.csv = c("data", "limit", "method", "metric", "seed", "score", "leaves", "facets"),
    suite.csv = c("data", "method", "metric", "seed", "score", "leaves"),
    choices.csv = c("data", "change", "metric", "seed", "score", "leaves"),
    ablation.csv = c("data", "change", "metric", "score", "leaves", "facets")
  )
  there <- names(wanted)[nzchar(vapply(names(wanted), extdata, ""))]
  skip_if(length(there) == 0, "no results are shipped")
  for (name in there) {
    rows <- utils::read.csv(extdata(name), row.names = NULL)
    expect_true(all(wanted[[name]] %in% names(rows)), label = paste("columns of", name))
    expect_true(all(rows$metric %in% c("accuracy", "AUC", "RMSE", "R2")), label = name)
    expect_type(rows$score, "double")
  }
})

test_that("the settings of the paper's data are the best of fewer than 25 on validation rows", {
  settings <- new.env()
  sys.source(system.file("experiments", "settings.R", package = "cptree"), settings)
  choices <- utils::read.csv(extdata("choices.csv"))
  expect_setequal(choices$data, names(settings$paper_choice))
  expect_setequal(names(settings$paper_base), names(settings$paper_choice))
  for (name in names(settings$paper_choice)) {
    of <- choices[choices$data == name, ]
    changes <- settings$paper_changes[[name]]
    expect_setequal(of$change, names(changes))
    expect_lt(length(changes), 25)
    # the same seeds for all
    expect_equal(nrow(of), length(changes) * length(unique(of$seed)))
    mean_of <- tapply(of$score, of$change, mean) * if (of$metric[1] == "RMSE") -1 else 1
    expect_identical(names(which.max(mean_of)), settings$paper_choice[[name]])
    best <- utils::modifyList(settings$paper_base[[name]], changes[[settings$paper_choice[[name]]]])
    expect_identical(settings$paper_settings[[name]], best)
  }
})

test_that("every help topic has a place in _pkgdown.yml, and every place a topic", {
  root <- test_path("..", "..")
  skip_if_not(file.exists(file.path(root, "_pkgdown.yml")), "not in a checkout")
  lines <- trimws(readLines(file.path(root, "_pkgdown.yml")))
  from <- match("reference:", lines)
  to <- match("articles:", lines)
  entries <- function(part) sub("^- ", "", grep("^- [A-Za-z._-]+$", part, value = TRUE))
  topics <- sub("[.]Rd$", "", list.files(file.path(root, "man"), "[.]Rd$"))
  expect_setequal(setdiff(entries(lines[from:to]), "contents"), topics)
  vignettes <- sub("[.]Rmd$", "", list.files(file.path(root, "vignettes"), "[.]Rmd$"))
  expect_setequal(entries(lines[to:length(lines)]), vignettes)
})
