# Chooses among the changes that settings.R lists: each is fitted and scored on parts of the
# training and validation rows (choosing_parts()), with several seeds; the best mean is the choice.
#   Rscript inst/experiments/choose.R DATA [--only=NAME,...] [--change=NAME;...] [--seeds=1,2,3]
#     [--threads=1] [--csv=FILE]
# Rings need no data folder. --csv adds a row per change and seed to a file, such as inst/extdata/choices.csv.
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1]))
source(file.path(here, "common.R"))

given <- arguments(seeds = 1:3)
changes <- paper_changes[chosen("only") %||% names(paper_changes)]

for (name in names(changes)) {
  judges <- choosing_parts(name, given$folder)
  tried <- changes[[name]]
  wanted <- grep("^--change=", commandArgs(TRUE), value = TRUE)
  if (length(wanted)) tried <- tried[strsplit(sub("^[^=]*=", "", wanted), ";")[[1]]]
  best <- vapply(names(tried), function(change) {
    settings <- utils::modifyList(paper_base[[name]], c(tried[[change]], list(search = FALSE)))
    rows <- do.call(rbind, lapply(given$seeds, function(seed) {
      got <- rowMeans(vapply(judges, function(part) {
        fit <- fit_part(part, settings, seed, given$threads[1])
        c(score_of(fit, part$score$x, part$score$y), size_of(fit)["leaves"])
      }, c(score = 0, leaves = 0)))
      data.frame(data = name, change = change, metric = metric_name(judges[[1]]$fit$y), seed = seed,
        score = signif(got[["score"]], 6), leaves = got[["leaves"]])
    }))
    append_rows(rows, given$csv)
    cat(sprintf("%-12s %-28s %.4f (%.4f), %d seeds, %.0f leaves\n", name, change, mean(rows$score),
      stats::sd(rows$score) / sqrt(nrow(rows)), nrow(rows), mean(rows$leaves)))
    mean(rows$score) * if (rows$metric[1] == "RMSE") -1 else 1
  }, 0)
  cat(name, "best:", names(best)[which.max(best)], "\n")
}
