# predict(): every type against routing in plain R, names, sizes, gaps, refusals.

test_that("leaves are those of the hard rule, for one and many facets", {
  fit <- hand_square()
  data <- square_data(17L)
  at <- route(fit$tree, data[c("u", "v")])
  expect_identical(predict(fit, data, type = "node"), fit$tree$node[at])
  # Every leaf is reached, so the test can fail in each of them.
  expect_setequal(unique(at), which(fit$tree$left == 0L))
})

test_that("class, prob, response, node and path agree with the tree", {
  fit <- hand_iris()
  at <- route(fit$tree, iris[1:4])
  prob <- fit$tree$value / rowSums(fit$tree$value)
  expect_identical(
    predict(fit, iris, type = "prob"),
    structure(prob[at, ], dimnames = list(NULL, levels(iris$Species)))
  )
  class <- factor(levels(iris$Species)[max.col(prob, "first")[at]], levels(iris$Species))
  expect_identical(predict(fit, iris), class)
  expect_identical(predict(fit, iris, type = "class"), class)
  expect_identical(predict(fit, iris, type = "response"), class)
  path <- predict(fit, iris, type = "path")
  expect_identical(dim(path), c(150L, 3L))
  expect_identical(unname(path[1L, ]), c(1L, 2L, NA))
  expect_identical(unname(path[51L, ]), c(1L, 3L, 6L))
  last <- apply(path, 1L, function(p) max(p, na.rm = TRUE))
  expect_identical(last, predict(fit, iris, type = "node"))
})

test_that("the default type follows the task", {
  fit <- hand_cars()
  mean <- stats::setNames(fit$tree$value[route(fit$tree, mtcars[c("wt", "hp")]), 1L], rownames(mtcars))
  expect_identical(predict(fit, mtcars), mean)
  expect_identical(predict(fit, mtcars, type = "response"), mean)
  expect_s3_class(predict(hand_iris(), iris), "factor")
})

test_that("ties go to the first level", {
  fit <- root_iris()
  expect_identical(as.character(predict(fit, iris[51, ])), "setosa")
})

test_that("training rows are predicted from `where`", {
  for (fit in list(hand_iris(), root_iris())) {
    for (type in c("class", "prob", "response", "node", "path")) {
      expect_identical(predict(fit, type = type), predict(fit, iris, type = type))
    }
  }
  for (fit in list(hand_cars(), root_cars())) {
    for (type in c("response", "node", "path")) {
      expect_identical(predict(fit, type = type), predict(fit, mtcars, type = type))
    }
  }
})

test_that("soft prediction averages the leaves", {
  fit <- hand_iris()
  gates <- c(1, 3)
  q <- vapply(gates, function(i) {
    g <- softplus(as.matrix(iris[1:4]) %*% fit$tree$coef[, fit$tree$first[i]] +
      fit$tree$intercept[fit$tree$first[i]])
    stats::plogis(fit$tree$lambda * (g - fit$tree$threshold[i]))
  }, double(150))
  reach <- cbind(1 - q[, 1], q[, 1] * (1 - q[, 2]), q[, 1] * q[, 2])
  prob <- fit$tree$value / rowSums(fit$tree$value)
  want <- reach %*% prob[c(2, 4, 5), ]
  soft <- predict(fit, iris, type = "prob", soft = TRUE)
  expect_equal(unname(soft), want, tolerance = 1e-12)
  expect_identical(colnames(soft), levels(iris$Species))
  expect_identical(
    as.integer(predict(fit, iris, soft = TRUE)), max.col(soft, "first")
  )
  cars <- predict(hand_cars(), mtcars, soft = TRUE)
  expect_named(cars, rownames(mtcars))
  expect_true(all(cars > min(hand_cars()$tree$value) & cars < max(hand_cars()$tree$value)))
  expect_equal(predict(root_cars(), mtcars, soft = TRUE), predict(root_cars(), mtcars))
})

test_that("one row equals its row among many, and order does not matter", {
  fit <- hand_square()
  data <- square_data(9L)
  all <- predict(fit, data, type = "prob", soft = TRUE)
  one <- do.call(rbind, lapply(seq_len(nrow(data)), function(i) {
    predict(fit, data[i, ], type = "prob", soft = TRUE)
  }))
  expect_identical(unname(one), unname(all))
  node <- predict(fit, data, type = "node")
  expect_identical(predict(fit, data[nrow(data):1, ], type = "node"), stats::setNames(rev(node), nrow(data):1))
})

test_that("columns are found by name, extra ones ignored, the outcome not needed", {
  fit <- hand_iris()
  want <- predict(fit, iris)
  expect_identical(predict(fit, cbind(zzz = "a", iris[c(4, 2, 1, 3)])), want)
  expect_identical(predict(fit, as.matrix(iris[4:1])), want)
  expect_identical(predict(fit, new_data = iris), want)
})

test_that("a sparse matrix predicts like the dense one", {
  fit <- hand_iris()
  dense <- as.matrix(iris[1:4])
  rownames(dense) <- paste0("r", 1:150)
  sparse <- methods::as(dense, "CsparseMatrix")
  for (soft in c(FALSE, TRUE)) {
    expect_identical(
      predict(fit, sparse, type = "prob", soft = soft), predict(fit, dense, type = "prob", soft = soft)
    )
  }
  expect_named(predict(fit, sparse, type = "node"), rownames(dense))
})

test_that("a saved model predicts the same bits", {
  file <- tempfile(fileext = ".rds")
  on.exit(unlink(file))
  fit <- hand_square()
  saveRDS(fit, file)
  again <- readRDS(file)
  expect_identical(again, fit)
  data <- square_data(13L)
  expect_identical(
    predict(again, data, type = "prob", soft = TRUE), predict(fit, data, type = "prob", soft = TRUE)
  )
})

test_that("row names are kept unless automatic", {
  fit <- hand_iris()
  expect_null(names(predict(fit, iris)))
  expect_null(rownames(predict(fit, iris, type = "prob")))
  some <- iris[c(3, 77, 140), ]
  expect_named(predict(fit, some), c("3", "77", "140"))
  expect_named(predict(fit, some, type = "node"), c("3", "77", "140"))
  expect_identical(rownames(predict(fit, some, type = "path")), c("3", "77", "140"))
  expect_identical(rownames(predict(fit, some, type = "prob", soft = TRUE)), c("3", "77", "140"))
  expect_named(fitted(hand_cars()), rownames(mtcars))
})

test_that("zero rows give zero rows of the right type", {
  none <- iris[0L, ]
  for (fit in list(hand_iris(), root_iris())) {
    for (soft in c(FALSE, TRUE)) {
      class <- predict(fit, none, soft = soft)
      expect_identical(unname(class), factor(character(), levels(iris$Species)))
      prob <- predict(fit, none, type = "prob", soft = soft)
      expect_identical(dim(prob), c(0L, 3L))
      expect_identical(colnames(prob), levels(iris$Species))
    }
    expect_identical(unname(predict(fit, none, type = "node")), integer())
    path <- predict(fit, none, type = "path")
    expect_identical(dim(path), c(0L, max(fit$tree$depth) + 1L))
    expect_type(path, "integer")
  }
  expect_identical(unname(predict(hand_cars(), mtcars[0L, ])), double())
  expect_identical(unname(predict(hand_cars(), mtcars[0L, ], soft = TRUE)), double())
})

test_that("na_action decides about rows with gaps", {
  fit <- hand_iris()
  new <- iris[c(1, 51, 101), ]
  new$Petal.Length[2] <- NA
  full <- predict(fit, iris[c(1, 51, 101), ])
  expect_error(predict(fit, new), class = "cpt_error_newdata")
  expect_identical(predict(fit, new, na_action = "omit"), full[c(1, 3)])
  pass <- predict(fit, new, na_action = "pass")
  expect_identical(is.na(pass), c(`1` = FALSE, `51` = TRUE, `101` = FALSE))
  expect_identical(pass[c(1, 3)], full[c(1, 3)])
  for (soft in c(FALSE, TRUE)) {
    prob <- predict(fit, new, type = "prob", na_action = "pass", soft = soft)
    expect_identical(unname(is.na(prob[, 1])), c(FALSE, TRUE, FALSE))
  }
  expect_identical(unname(predict(fit, new, na_action = "pass", soft = TRUE))[2], factor(NA, levels(iris$Species)))
  expect_true(all(is.na(predict(fit, new, type = "path", na_action = "pass")[2, ])))
  expect_identical(unname(predict(fit, new, type = "node", na_action = "pass"))[2], NA_integer_)
  filled <- transform(new, Petal.Length = ifelse(is.na(Petal.Length), stats::median(iris$Petal.Length), Petal.Length))
  expect_identical(predict(fit, new, na_action = "impute"), predict(fit, filled))
  # A gap in a column that the tree does not know is no gap.
  expect_identical(predict(fit, transform(iris, Species = NA)), predict(fit, iris))
})

test_that("threads do not change the result", {
  fit <- big_tree(4L)
  new <- data.frame(a = steady(500, 0.1), b = steady(500, 0.5), c = steady(500, 0.9))
  one <- predict(fit, new, type = "prob", soft = TRUE, threads = 1)
  for (threads in 2:3) {
    expect_identical(predict(fit, new, type = "prob", soft = TRUE, threads = threads), one)
    expect_identical(
      predict(fit, new, type = "node", threads = threads), predict(fit, new, type = "node", threads = 1)
    )
  }
})

test_that("a leaf that only rows of weight zero reach predicts as its parent", {
  w <- ifelse(iris$Species == "setosa", 0, 1)
  fit <- hand_cpt(
    gate(c(0, 0, 1, 0), -2.5, outside = gate(c(0, 0, 0.2, 1), -2.7)), Species ~ ., iris, weights = w
  )
  prob <- predict(fit, iris[1, ], type = "prob")
  expect_equal(unname(prob[1, ]), c(0, 0.5, 0.5))
})

test_that("what cannot be predicted is refused", {
  fit <- hand_iris()
  cars <- hand_cars()
  expect_error(predict(fit, NULL), class = "cpt_error_newdata")
  expect_error(predict(fit, as.list(iris)), class = "cpt_error_newdata")
  expect_error(predict(fit, 1:4), class = "cpt_error_newdata")
  expect_error(predict(fit, iris[1:3]), class = "cpt_error_newdata")
  expect_error(predict(cars, mtcars, type = "prob"), class = "cpt_error_argument")
  expect_error(predict(fit, iris, types = "prob"), class = "cpt_error_argument")
  expect_snapshot({
    refusal(predict(fit, NULL))
    refusal(predict(fit, as.list(iris)))
    refusal(predict(fit, c(5, 3, 2, 1)))
    refusal(predict(cars, type = "class"))
    refusal(predict(cars, mtcars, type = "prob"))
    refusal(predict(fit, iris, type = "probs"))
    refusal(predict(fit, iris, type = 1))
    refusal(predict(fit, iris, type = "node", soft = TRUE))
    refusal(predict(fit, iris, type = "path", soft = TRUE))
    refusal(predict(fit, soft = TRUE))
    refusal(predict(fit, iris, soft = NA))
    refusal(predict(fit, iris, na_action = "drop"))
    refusal(predict(fit, iris, threads = 0))
    refusal(predict(fit, iris, nthreads = 2))
    refusal(predict(fit, iris, "class", FALSE, "fail", 1, 7))
    refusal(predict(fit, iris, new_data = iris))
  })
})
