# Makes inst/extdata/mnist-small.rds, the small model in vignette("reading-a-tree"): a tree that
# tells the digits 3, 5 and 8 apart in images pooled to 14 x 14 pixels, and some test images.
#   Rscript inst/experiments/mnist-small.R DATA [FILE]
library(cptree)

given <- commandArgs(trailingOnly = TRUE)
file <- if (length(given) > 1) given[2] else "inst/extdata/mnist-small.rds"
data <- readRDS(file.path(given[1], "mnist.rds"))
digits <- c(3, 5, 8)

# Mean of each 2 x 2 block; columns are pixels, row by row.
pool <- function(x) {
  at <- as.vector(t(outer(28 * seq(0, 26, by = 2), seq(1, 27, by = 2), "+")))
  x <- round((x[, at] + x[, at + 1] + x[, at + 28] + x[, at + 29]) / 4)
  storage.mode(x) <- "integer"
  colnames(x) <- paste0("px", rep(1:14, each = 14), "_", rep(1:14, 14))
  x
}

first_of <- function(x, y, rows) {
  keep <- which(y %in% digits)
  keep <- keep[seq_len(min(rows, length(keep)))]
  list(x = pool(x[keep, ]), y = factor(as.character(y[keep]), digits))
}

train <- first_of(data$x_train, data$y_train, 6000)
test <- first_of(data$x_test, data$y_test, Inf)
fit <- cpt(train$x, train$y, max_depth = 2, max_leaves = 3, max_facets = 6, ridge = 2,
  dropout = 0.3, standardize = "matrix", search = FALSE, seed = 1, threads = 1)

some <- seq_len(300)
small <- list(model = fit, x = test$x[some, ], y = test$y[some])
saveRDS(small, file, compress = "xz")
cat("Accuracy on all", length(test$y), "test images:", mean(predict(fit, test$x) == test$y),
  "\nfacets:", fit$tree$facets, "\nkB:", file.size(file) / 1024, "\n")
