# SensIT: a small part of the vehicle data (not the paper's file; do not compare with its
# 85.77 %). The full file in LIBSVM form can be given instead: --libsvm=train,test
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1]))
source(file.path(here, "common.R"))

given <- arguments(seeds = 1:3)
files <- sub("^--libsvm=", "", grep("^--libsvm=", commandArgs(TRUE), value = TRUE))
data <- if (length(files)) {
  path <- strsplit(files, ",")[[1]]
  train <- read_libsvm(path[1], y = "class")
  test <- read_libsvm(path[2], n_features = ncol(train$x), y = "class")
  list(x_train = train$x, y_train = train$y, x_test = test$x, y_test = test$y)
} else {
  read_data(given$folder, "sensit_subset.rds")
}
part <- parts(data, FALSE)
experiment(if (length(files)) "sensit" else "sensit_subset", part,
  list(max_leaves = 36, search = TRUE), given, limit = 36)
