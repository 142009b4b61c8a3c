# The suite: ten tabular data sets, all with the defaults of cpt(), against pruned rpart,
# ctree and a forest of 500 trees.
#   Rscript inst/experiments/suite.R DATA [--seeds=1,2,3] [--validate] [--only=NAME,...]
#     [--methods=NAME,...] [--csv=FILE]
# DATA holds suite/*.rds. --validate holds a quarter of the training rows out and scores
# those: that is how the recipes of cpt() were chosen. Without it the test rows are scored.
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1]))
source(file.path(here, "common.R"))

given <- arguments(seeds = 1:3)
only <- chosen("only")
files <- Sys.glob(file.path(given$folder, "suite", "*.rds"))
if (!is.null(only)) files <- files[sub("[.]rds$", "", basename(files)) %in% only]

# Accuracy, or the share of the variance explained.
suite_score <- function(y, estimate) {
  if (is.factor(y)) return(mean(as.character(estimate) == as.character(y)))
  1 - sum((y - estimate)^2) / sum((y - mean(y))^2)
}

# A tree with the defaults but for what is given.
polytope_tree <- function(...) function(train, test, seed) {
  fit <- cpt(train$x, train$y, ..., seed = seed, threads = given$threads[1], verbose = FALSE)
  size <- as.data.frame(fit)
  list(estimate = predict(fit, test$x), leaves = sum(size$is_leaf),
    facets = if (any(!size$is_leaf)) stats::median(size$facets[!size$is_leaf]) else 0)
}

methods <- list(
  cpt = polytope_tree(),
  `cpt with a council` = polytope_tree(council_trees = 10),
  rpart = function(train, test, seed) {
    set.seed(seed)
    tree <- rpart::rpart(y ~ ., data.frame(as_frame(train$x), y = train$y),
      control = rpart::rpart.control(cp = 1e-4, xval = 10))
    tree <- rpart::prune(tree, cp = tree$cptable[which.min(tree$cptable[, "xerror"]), "CP"])
    list(estimate = predict(tree, as_frame(test$x), type = if (is.factor(train$y)) "class" else "vector"),
      leaves = sum(tree$frame$var == "<leaf>"), facets = 1)
  },
  ctree = function(train, test, seed) {
    tree <- partykit::ctree(y ~ ., data.frame(as_frame(train$x), y = train$y))
    list(estimate = predict(tree, as_frame(test$x)), leaves = partykit::width(tree), facets = 1)
  },
  ranger = function(train, test, seed) {
    forest <- ranger::ranger(x = as_frame(train$x), y = train$y, num.trees = 500, seed = seed,
      num.threads = given$threads[1])
    list(estimate = predict(forest, as_frame(test$x))$predictions, leaves = NA, facets = NA)
  }
)

if (!is.null(chosen("methods"))) methods <- methods[chosen("methods")]

for (file in files) {
  data <- readRDS(file)
  train <- list(x = data$x_train, y = data$y_train)
  test <- list(x = data$x_test, y = data$y_test)
  if (given$validate) {
    rows <- split_rows(train$y)
    test <- list(x = train$x[rows, , drop = FALSE], y = train$y[rows])
    train <- list(x = train$x[-rows, , drop = FALSE], y = train$y[-rows])
  }
  name <- sub("[.]rds$", "", basename(file))
  for (method in names(methods)) {
    for (seed in if (method == "ctree") 1 else given$seeds) {
      start <- proc.time()[["elapsed"]]
      got <- methods[[method]](train, test, seed)
      seconds <- proc.time()[["elapsed"]] - start
      row <- data.frame(data = name, method = method,
        metric = if (is.factor(train$y)) "accuracy" else "R2", seed = seed,
        score = signif(suite_score(test$y, got$estimate), 5), leaves = got$leaves, facets = got$facets,
        seconds = signif(seconds, 3))
      cat(unlist(lapply(row, format)), "\n")
      append_rows(row, given$csv)
    }
  }
}
