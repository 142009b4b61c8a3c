# What each part contributes: the settings of the paper's data with one thing changed at
# a time, on the validation rows.
#   Rscript inst/experiments/ablation.R DATA [--seeds=1,2,3] [--csv=inst/extdata/ablation.csv]
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1]))
source(file.path(here, "common.R"))

given <- arguments(seeds = 1:3)

changes <- list(
  `as it is` = list(),
  `no joint training` = list(refine_epochs = 0),
  `as steep from the first epoch` = list(lambda_start = NULL),
  `one facet a split` = list(max_facets = 1),
  `one start a split` = list(starts = 1),
  `five starts a split` = list(starts = 5),
  `no dropout` = list(dropout = 0),
  `no prior on the slope` = list(ridge = 0),
  `no gamma process` = list(prior_weight = 0),
  `gamma process` = list(prior_weight = 0.2),
  `leaf values not shrunk` = list(leaf_shrinkage = 0),
  `weights trained as fast as coefficients` = list(weight_rate = 1),
  `weights trained faster` = list(weight_rate = 3)
)

changed <- function(settings, change) {
  if ("lambda_start" %in% names(change)) change <- list(lambda_start = settings$lambda_end)
  utils::modifyList(settings, change)
}

for (data in c("letter", "bace", "hiv", "pdbbind_standin")) {
  part <- parts(read_data(given$folder, paste0(data, ".rds")), validate = TRUE)
  as_is <- c(paper_settings[[data]], list(search = FALSE))
  for (change in names(changes)) {
    settings <- changed(as_is, changes[[change]])
    if (change != "as it is" && identical(settings, as_is)) next  # as it is already
    for (seed in given$seeds) {
      fit <- do.call(cpt, c(list(part$fit$x, part$fit$y, seed = seed, threads = given$threads[1],
        verbose = FALSE), settings))
      score <- score_of(fit, part$score$x, part$score$y)
      row <- data.frame(data, change, metric = names(score), seed, score = signif(score, 6),
        t(signif(size_of(fit), 4)), row.names = NULL)
      cat(unlist(lapply(row, format)), "\n")
      append_rows(row, given$csv)
    }
  }
}
