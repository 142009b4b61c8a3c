# What the experiments share: where the data lie, how a tree is scored, the table
# that is printed. Each experiment is one script beside this file:
#   Rscript inst/experiments/letter.R DATA [--seeds=1,2,3] [--threads=1,2,3] [--validate]
# DATA is the folder with letter.rds and the like (or set CPT_DATA). With several
# thread counts every tree is fitted once for each and the predictions compared.
# --validate fits on the training part and scores the validation part: settings are
# chosen that way. Without it, the tree is fitted on both and the test part scored.

library(cptree)

arguments <- function(seeds) {
  given <- commandArgs(trailingOnly = TRUE)
  flag <- function(name, default) {
    hit <- grep(paste0("^--", name, "="), given, value = TRUE)
    if (length(hit) == 0) return(default)
    as.integer(strsplit(sub("^[^=]*=", "", hit[1]), ",")[[1]])
  }
  folder <- c(grep("^--", given, value = TRUE, invert = TRUE), Sys.getenv("CPT_DATA"))[1]
  list(folder = folder, seeds = flag("seeds", seeds), threads = flag("threads", 2L),
       validate = "--validate" %in% given)
}

read_data <- function(folder, file) {
  path <- file.path(folder, file)
  if (!nzchar(folder) || !file.exists(path)) {
    stop("`", file, "` was not found. Give the data folder as the first argument, or set CPT_DATA.",
         call. = FALSE)
  }
  if (requireNamespace("Matrix", quietly = TRUE)) readRDS(path)
}

# list(x, y) to fit on and list(x, y) to score
parts <- function(data, validate) {
  train <- list(x = data$x_train, y = data$y_train)
  if (validate) return(list(fit = train, score = list(x = data$x_valid, y = data$y_valid)))
  if (!is.null(data$x_valid)) {
    train$x <- rbind(train$x, data$x_valid)
    train$y <- if (is.factor(train$y)) {
      factor(c(as.character(train$y), as.character(data$y_valid)), levels(train$y))
    } else {
      c(train$y, data$y_valid)
    }
  }
  list(fit = train, score = list(x = data$x_test, y = data$y_test))
}

# Area under the ROC curve by ranks (ties count one half).
auc <- function(score, positive) {
  n1 <- sum(positive)
  (sum(rank(score)[positive]) - n1 * (n1 + 1) / 2) / n1 / sum(!positive)
}

# The paper's metric: AUC for two classes, accuracy for more, RMSE for numbers.
score_of <- function(fit, x, y) {
  if (is.numeric(y)) return(c(RMSE = sqrt(mean((predict(fit, x) - y)^2))))
  if (nlevels(y) == 2) return(c(AUC = auc(predict(fit, x, type = "prob")[, 2], y == levels(y)[2])))
  c(accuracy = mean(predict(fit, x) == y))
}

size_of <- function(fit) {
  nodes <- as.data.frame(fit)
  c(leaves = sum(nodes$is_leaf), depth = max(nodes$depth),
    facets = mean(nodes$facets[!nodes$is_leaf]), nonzero = sum(fit$tree$coef != 0),
    seconds = fit$time)
}

# Fits with every seed (and thread count), prints one line each and the mean.
experiment <- function(title, part, settings, given, identical_on = part$score$x) {
  cat(title, "\n")
  rows <- lapply(given$seeds, function(seed) {
    fits <- lapply(given$threads, function(threads) {
      do.call(cpt, c(list(part$fit$x, part$fit$y, seed = seed, threads = threads,
                          verbose = FALSE), settings))
    })
    nodes <- lapply(fits, predict, identical_on, type = "node")
    same <- all(vapply(nodes, identical, NA, nodes[[1]]))
    row <- c(seed = seed, score_of(fits[[1]], part$score$x, part$score$y), size_of(fits[[1]]))
    cat("  ", paste(names(row), signif(row, 4), collapse = "  "), sep = "")
    if (length(fits) > 1) {
      cat("  identical for threads ", paste(given$threads, collapse = ", "), ": ", same, sep = "")
    }
    cat("\n")
    row
  })
  table <- do.call(rbind, rows)
  score <- table[, 2]
  error <- if (length(score) > 1) paste0(" +- ", format(stats::sd(score) / sqrt(length(score)), digits = 2))
  cat("  mean ", colnames(table)[2], " ", format(mean(score), digits = 4), error,
      ", leaves ", format(mean(table[, "leaves"]), digits = 3),
      ", facets a node ", format(mean(table[, "facets"]), digits = 3), "\n", sep = "")
  invisible(table)
}
