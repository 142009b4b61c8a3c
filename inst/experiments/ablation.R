# What each part contributes: the settings of the experiments with one thing changed at
# a time, on validation rows (Letter), by five folds of training and validation rows (Bace),
# on fresh points (rings), on a quarter of the training rows (tables of the suite, with the
# settings of cpt() without a teacher and at most 24 leaves).
#   Rscript inst/experiments/ablation.R DATA [--seeds=1,2,3] [--csv=inst/extdata/ablation.csv]
#     [--only=DATA SET,...] [--change=TEXT,...]
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1]))
source(file.path(here, "common.R"))

given <- arguments(seeds = 1:3)

changes <- list(
  `as it is` = list(),
  `no joint training` = list(refine_epochs = 0),
  `as steep from the first epoch` = list(lambda_start = NA),  # that of the end
  `one facet a split` = list(max_facets = 1),
  `one start a split` = list(starts = 1),
  `five starts a split` = list(starts = 5),
  `no dropout` = list(dropout = 0),
  `no jitter` = list(jitter = 0),
  `jitter` = list(jitter = 0.1),
  `no prior on the slope` = list(ridge = 0),
  `no gamma process` = list(prior_weight = 0),
  `gamma process` = list(prior_weight = 0.2),
  `leaf values not shrunk` = list(leaf_shrinkage = 0),
  `weights trained as fast as coefficients` = list(weight_rate = 1),
  `weights trained faster` = list(weight_rate = 3),
  `one tree` = list(tree_starts = 1),
  `the best of four trees` = list(tree_starts = 4),
  `no teacher` = list(teacher_trees = 0),
  `a teacher` = list(teacher_trees = 100),  # tables of the suite then follow the recipe with one
  `a council` = list(council_trees = 10, council_rows = 24)
)
of_suite_changes <- c("as it is", "jitter", "a teacher")
if (!is.null(chosen("change"))) changes <- changes[chosen("change")]

changed <- function(settings, change) {
  if ("lambda_start" %in% names(change)) change$lambda_start <- settings$lambda_end %||% 6
  utils::modifyList(settings, change)
}

tables <- lapply(stats::setNames(nm = c("letter", "bace", "rings")), validation_parts, given$folder)
paper_settings$letter$council_trees <- 0  # it is one of the changes
paper_settings$rings <- paper_base$rings  # one tree: a choice of several hides what a part does

quarter <- function(data) {
  rows <- split_rows(data$y_train)
  list(list(fit = list(x = data$x_train[-rows, ], y = data$y_train[-rows]),
    score = list(x = data$x_train[rows, ], y = data$y_train[rows])))
}
of_suite <- c("abalone", "german_credit", "kin8nm", "magic", "segment")
for (data in of_suite) {
  tables[[data]] <- quarter(read_data(given$folder, file.path("suite", paste0(data, ".rds"))))
  paper_settings[[data]] <- list(max_leaves = 24)
}
if (!is.null(chosen("only"))) tables <- tables[chosen("only")]

for (data in names(tables)) {
  as_is <- c(paper_settings[[data]], list(search = FALSE))
  usual <- NULL
  for (change in if (data %in% of_suite) intersect(of_suite_changes, names(changes)) else names(changes)) {
    if (change == "jitter" && !is.matrix(tables[[data]][[1]]$fit$x)) next  # it needs dense rows
    settings <- changed(as_is, changes[[change]])
    for (seed in given$seeds) {
      timings <- lapply(tables[[data]], function(part) timed(fit_part(part, settings, seed, given$threads[1])))
      fits <- lapply(timings, `[[`, "value")
      if (change == "as it is") usual <- fits[[1]]$control
      else if (identical(fits[[1]]$control, usual)) break  # it is so already
      mean <- rowMeans(mapply(function(fit, part) {
        c(score_of(fit, part$score$x, part$score$y), size_of(fit))
      }, fits, tables[[data]]))
      mean[["seconds"]] <- mean(vapply(timings, `[[`, 0, "seconds"))
      row <- data.frame(data, change, metric = names(mean)[1], seed, score = signif(mean[[1]], 6),
        t(signif(mean[-1], 4)), row.names = NULL)
      cat(unlist(lapply(row, format)), "\n")
      append_rows(row, given$csv)
    }
  }
}
