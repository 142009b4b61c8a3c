# What the experiments share: where the data lie, how a tree is scored, the table
# that is printed. Each experiment is one script beside this file:
#   Rscript inst/experiments/letter.R DATA [--seeds=1,2,3] [--threads=1,2,3] [--validate]
#     [--peers | --only-peers=WORD,...] [--csv=FILE]
# DATA is the folder with letter.rds and the like (or set CPT_DATA). With several
# thread counts every tree is fitted once for each and the predictions compared. `seconds` are
# those of the processor: with one thread (the default) they are what a quiet machine takes, also
# when other work runs beside.
# --validate fits on the training part and scores the validation part, for trials by hand
# (choose.R chooses by other rows). Without it, the tree is fitted on both and the test part scored.
# --peers also fits rpart (grown out, and pruned by cross-validation), an oblique tree
# (max_facets = 1), a forest of 500 trees and a ridge regression; --only-peers nothing but
# those of them whose names hold one of the words. --csv adds the rows to
# a file, such as inst/extdata/experiments.csv, which the vignette shows.

library(cptree)
source(file.path(here, "settings.R"))

`%||%` <- function(a, b) if (is.null(a)) b else a  # R has it from 4.4 on

arguments <- function(seeds) {
  given <- commandArgs(trailingOnly = TRUE)
  flag <- function(name, default) {
    hit <- grep(paste0("^--", name, "="), given, value = TRUE)
    if (length(hit) == 0) return(default)
    as.integer(strsplit(sub("^[^=]*=", "", hit[1]), ",")[[1]])
  }
  folder <- c(grep("^--", given, value = TRUE, invert = TRUE), Sys.getenv("CPT_DATA"))[1]
  list(folder = folder, seeds = flag("seeds", seeds), threads = flag("threads", 1L),
       validate = "--validate" %in% given, peers = "--peers" %in% given,
       only_peers = chosen("only-peers"),
       csv = sub("^--csv=", "", c(grep("^--csv=", given, value = TRUE), "")[1]))
}

# The names given by --name=A,B; NULL if there are none.
chosen <- function(name) {
  hit <- grep(paste0("^--", name, "="), commandArgs(TRUE), value = TRUE)
  if (length(hit)) strsplit(sub("^[^=]*=", "", hit[1]), ",")[[1]]
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

# The rings can be made anew: 20,000 points to try or to choose by, others to report.
rings_parts <- function(validate = FALSE, seed = if (validate) 21 else 20) {
  set.seed(seed)
  fresh <- make_rings(20000)
  list(fit = list(x = rings[1:2], y = rings$class), score = list(x = fresh[1:2], y = fresh$class))
}

# Rows of `all` that train, and the others, which judge.
cut_parts <- function(all, judges) {
  list(fit = list(x = all$x[!judges, , drop = FALSE], y = all$y[!judges]),
    score = list(x = all$x[judges, , drop = FALSE], y = all$y[judges]))
}

# What trials are judged by: a list of parts. Bace has few validation rows, which say
# little: there it is five folds of training and validation rows.
validation_parts <- function(name, folder) {
  if (name == "rings") return(list(rings_parts(validate = TRUE)))
  data <- read_data(folder, paste0(name, ".rds"))
  if (name != "bace") return(list(parts(data, validate = TRUE)))
  all <- parts(data, validate = FALSE)$fit
  fold <- rep(1:5, length.out = nrow(all$x))
  lapply(1:5, function(k) cut_parts(all, fold == k))
}

# What settings are chosen by. Trials by hand, from which the lists of settings.R come, were
# judged by the validation rows. The lists are judged by others: the last training rows, as many
# as there are validation rows, which train instead. Not so Bace, where every row has judged trials.
choosing_parts <- function(name, folder) {
  if (name == "rings") return(list(rings_parts(seed = 22)))
  if (name == "bace") return(validation_parts(name, folder))
  data <- read_data(folder, paste0(sub("_150$", "", name), ".rds"))
  all <- parts(data, validate = FALSE)$fit
  valid <- nrow(data$x_valid)
  row <- seq_len(nrow(all$x))
  list(cut_parts(all, row > nrow(all$x) - 2 * valid & row <= nrow(all$x) - valid))
}

# A quarter of the training rows, of each class, to choose by.
split_rows <- function(y) {
  set.seed(7)
  groups <- if (is.factor(y)) split(seq_along(y), y) else list(seq_along(y))
  unlist(lapply(groups, function(i) sample(i, round(length(i) / 4))))
}

# Area under the ROC curve by ranks (ties count one half).
auc <- function(score, positive) {
  n1 <- sum(positive)
  (sum(rank(score)[positive]) - n1 * (n1 + 1) / 2) / n1 / sum(!positive)
}

metric_name <- function(y) if (is.numeric(y)) "RMSE" else if (nlevels(y) == 2) "AUC" else "accuracy"

# The paper's metric: AUC for two classes, accuracy for more, RMSE for numbers.
score_of <- function(fit, x, y) {
  if (is.numeric(y)) return(c(RMSE = sqrt(mean((predict(fit, x) - y)^2))))
  if (nlevels(y) == 2) return(c(AUC = auc(predict(fit, x, type = "prob")[, 2], y == levels(y)[2])))
  c(accuracy = mean(predict(fit, x) == y))
}

size_of <- function(fit) {
  nodes <- as.data.frame(fit)
  c(leaves = sum(nodes$is_leaf), depth = max(nodes$depth),
    facets = mean(nodes$facets[!nodes$is_leaf]), nonzero = sum(fit$tree$coef != 0))
}

# What `work` gives, and the seconds of the processor that it takes.
timed <- function(work) {
  start <- proc.time()
  value <- work  # is computed here
  spent <- proc.time() - start
  list(value = value, seconds = spent[["user.self"]] + spent[["sys.self"]])
}

fit_part <- function(part, settings, seed, threads) {
  do.call(cpt, c(list(part$fit$x, part$fit$y, seed = seed, threads = threads, verbose = FALSE), settings))
}

# Fits with every seed (and thread count), prints one line each and the mean.
experiment <- function(title, part, settings, given, limit = NA, method = "cpt",
                       identical_on = part$score$x) {
  settings <- c(settings, list(search = FALSE))  # what is not given is as in the first recipe
  settings <- settings[!duplicated(names(settings))]
  if (!is.null(given$only_peers)) return(run_peers(title, part, settings, given, limit))
  cat(title, ", ", method, if (!is.na(limit)) paste(", at most", limit, "leaves"), "\n", sep = "")
  rows <- lapply(given$seeds, function(seed) {
    timings <- lapply(given$threads, function(threads) timed(fit_part(part, settings, seed, threads)))
    fits <- lapply(timings, `[[`, "value")
    nodes <- lapply(fits, predict, identical_on, type = "node")
    same <- all(vapply(nodes, identical, NA, nodes[[1]]))
    row <- c(seed = seed, score_of(fits[[1]], part$score$x, part$score$y), size_of(fits[[1]]),
      seconds = timings[[1]]$seconds)
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
  save_rows(table, title, limit, method, given$csv)
  if (given$peers) run_peers(title, part, settings, given, limit)
  invisible(table)
}

run_peers <- function(title, part, settings, given, limit) {
  words <- given$only_peers %||% ""
  wanted <- vapply(names(peers), function(name) any(vapply(words, grepl, NA, name, fixed = TRUE)), NA)
  for (method in names(peers)[wanted]) {
    peer <- tryCatch(peers[[method]](part, settings, given), error = function(e) {
      cat("  ", method, "left out:", conditionMessage(e), "\n")
    })
    if (is.null(peer)) next
    cat("  ", method, paste(colnames(peer), signif(colMeans(peer), 4), collapse = "  "), "\n")
    save_rows(peer, title, limit, method, given$csv)
  }
}

save_rows <- function(table, data, limit, method, file) {
  rows <- data.frame(data = data, limit = limit, method = method, metric = colnames(table)[2],
    seed = table[, 1], score = signif(table[, 2], 6), leaves = table[, "leaves"],
    depth = table[, "depth"], facets = signif(table[, "facets"], 4), nonzero = table[, "nonzero"],
    seconds = signif(table[, "seconds"], 3))
  append_rows(rows, file)
}

append_rows <- function(rows, file) {
  if (!nzchar(file)) return(invisible())
  new <- !file.exists(file)
  utils::write.table(rows, file, append = !new, sep = ",", row.names = FALSE, col.names = new,
    quote = which(vapply(rows, is.character, NA)))
}

# Peers -------------------------------------------------------------------------------

# One row per seed (those without chance have one): seed, score, sizes, seconds.
peer_row <- function(seed, score, leaves = NA, depth = NA, facets = NA, nonzero = NA, seconds) {
  c(seed = seed, score, leaves = leaves, depth = depth, facets = facets, nonzero = nonzero,
    seconds = seconds)
}

metric_of <- function(y, class, prob) {
  if (is.numeric(y)) return(c(RMSE = sqrt(mean((class - y)^2))))
  if (nlevels(y) == 2) return(c(AUC = auc(prob, y == levels(y)[2])))
  c(accuracy = mean(as.character(class) == as.character(y)))
}

as_frame <- function(x) {
  x <- as.data.frame(as.matrix(x))
  names(x) <- paste0("x", seq_along(x))
  x
}

rpart_peer <- function(pruned) function(part, settings, given) {
  x <- as_frame(part$fit$x)
  timing <- timed({
    grown <- rpart::rpart(y ~ ., data.frame(x, y = part$fit$y), control = rpart::rpart.control(
      cp = if (pruned) 1e-4 else 0, xval = if (pruned) 10 else 0, maxsurrogate = 0,
      minsplit = if (pruned) 20 else 2))
    if (pruned) rpart::prune(grown, cp = grown$cptable[which.min(grown$cptable[, "xerror"]), "CP"]) else grown
  })
  tree <- timing$value
  new <- as_frame(part$score$x)
  p <- predict(tree, new)
  y <- part$score$y
  score <- if (is.numeric(y)) metric_of(y, p) else metric_of(y, colnames(p)[max.col(p, "first")], p[, 2])
  leaf <- tree$frame$var == "<leaf>"
  rbind(peer_row(1, score, sum(leaf), max(floor(log2(as.integer(row.names(tree$frame))))), 1,
    sum(!leaf), timing$seconds))
}

# Where a multinomial model of five folds would take hours: a ridge regression on indicators of
# the classes. One fifth of the rows chooses among five penalties.
ridge_on_indicators <- function(part) {
  lambda <- c(1, 0.3, 0.1, 0.03, 0.01)
  x <- part$fit$x + 0
  y <- part$fit$y
  set.seed(1)
  held <- sample(nrow(x), nrow(x) %/% 5)
  ridge <- function(rows, lambda) {
    glmnet::glmnet(x[rows, ], stats::model.matrix(~ y - 1)[rows, ], family = "mgaussian", alpha = 0,
      lambda = lambda)
  }
  right <- function(fit, x, y) {
    apply(predict(fit, x + 0), 3, function(p) mean(levels(y)[max.col(p)] == y))
  }
  timing <- timed({
    tried <- right(ridge(-held, lambda), x[held, ], y[held])
    ridge(seq_along(y), lambda[seq_len(which.max(tried))])
  })
  score <- right(timing$value, part$score$x, part$score$y)
  rbind(peer_row(1, c(accuracy = unname(score[length(score)])), seconds = timing$seconds))
}

peers <- list(
  `rpart, pruned` = rpart_peer(TRUE),
  `rpart, grown out` = rpart_peer(FALSE),
  `cpt, 1 facet` = function(part, settings, given) {
    settings$max_facets <- 1
    do.call(rbind, lapply(given$seeds, function(seed) {
      timing <- timed(fit_part(part, settings, seed, given$threads[1]))
      fit <- timing$value
      c(seed = seed, score_of(fit, part$score$x, part$score$y), size_of(fit), seconds = timing$seconds)
    }))
  },
  `ranger, 500 trees` = function(part, settings, given) {
    do.call(rbind, lapply(given$seeds, function(seed) {
      y <- part$fit$y
      timing <- timed(ranger::ranger(x = as_frame(part$fit$x), y = y, num.trees = 500, seed = seed,
        probability = is.factor(y) && nlevels(y) == 2, num.threads = given$threads[1]))
      p <- predict(timing$value, as_frame(part$score$x), num.threads = given$threads[1])$predictions
      score <- if (is.matrix(p)) metric_of(part$score$y, NULL, p[, levels(y)[2]]) else metric_of(part$score$y, p)
      peer_row(seed, score, seconds = timing$seconds)
    }))
  },
  `ridge` = function(part, settings, given) {
    y <- part$fit$y
    family <- if (is.numeric(y)) "gaussian" else if (nlevels(y) == 2) "binomial" else "multinomial"
    if (family == "multinomial" && is.matrix(part$fit$x) && length(part$fit$x) > 2e7) {
      return(ridge_on_indicators(part))
    }
    numbers <- function(x) if (is.data.frame(x)) as.matrix(x) else x
    part$score$x <- numbers(part$score$x)
    set.seed(1)
    timing <- timed(glmnet::cv.glmnet(numbers(part$fit$x), y, family = family, alpha = 0, nfolds = 5))
    fit <- timing$value
    score <- if (is.numeric(y)) {
      metric_of(part$score$y, as.vector(predict(fit, part$score$x, s = "lambda.min")))
    } else if (family == "binomial") {
      metric_of(part$score$y, NULL, as.vector(predict(fit, part$score$x, s = "lambda.min")))
    } else {
      metric_of(part$score$y, as.vector(predict(fit, part$score$x, s = "lambda.min", type = "class")))
    }
    rbind(peer_row(1, score, seconds = timing$seconds))
  }
)
