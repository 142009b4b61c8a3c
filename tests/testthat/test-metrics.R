# Probabilities that look random, with ties if `digits` is small.
some_prob <- function(n, k, digits = 15) {
  p <- vapply(seq_len(k), function(j) exp(steady(n, 0.377 * j)[order(sin(seq_len(n) * j))]), double(n))
  p <- round(p / rowSums(p), digits)
  p[, k] <- 1 - rowSums(p[, -k, drop = FALSE])
  p[, k] <- pmax(p[, k], 0)
  p <- p / rowSums(p)
  colnames(p) <- letters[seq_len(k)]
  p
}

# AUC by its definition: all pairs of rows.
pairs_auc <- function(score, event, w = rep(1, length(score))) {
  one <- outer(score[event], score[!event], function(a, b) (a > b) + (a == b) / 2)
  sum(one * outer(w[event], w[!event])) / sum(outer(w[event], w[!event]))
}

test_that("classification, by hand", {
  truth <- factor(c("no", "yes", "no", "yes"))
  p <- c(0.2, 0.9, 0.4, 0.3)
  value <- cpt_metrics(truth, prob = p)
  expect_named(value, c("accuracy", "balanced_accuracy", "auc", "log_loss", "brier"))
  expect_equal(value[["accuracy"]], 3 / 4)
  expect_equal(value[["balanced_accuracy"]], (1 + 1 / 2) / 2)
  # of the pairs (0.9, 0.2), (0.9, 0.4), (0.3, 0.2), (0.3, 0.4) three are in order
  expect_equal(value[["auc"]], 3 / 4)
  expect_equal(value[["log_loss"]], -mean(log(c(0.8, 0.9, 0.6, 0.3))))
  expect_equal(value[["brier"]], mean((p - c(0, 1, 0, 1))^2))
})

test_that("three classes, by hand", {
  truth <- factor(c("a", "a", "b", "c"))
  p <- rbind(c(0.5, 0.3, 0.2), c(0.2, 0.5, 0.3), c(0.1, 0.8, 0.1), c(0.4, 0.3, 0.3))
  value <- cpt_metrics(truth, prob = p)
  expect_equal(value[["accuracy"]], 2 / 4)
  expect_equal(value[["balanced_accuracy"]], (1 / 2 + 1 + 0) / 3)
  y <- rbind(c(1, 0, 0), c(1, 0, 0), c(0, 1, 0), c(0, 0, 1))
  expect_equal(value[["brier"]], mean(rowSums((p - y)^2)) / 2)
  expect_equal(value[["log_loss"]], -mean(log(c(0.5, 0.2, 0.8, 0.3))))
  # pairs ab: 1 and 1, ac: 1/2 and 3/4, bc: 1 and 1
  expect_equal(value[["auc"]], mean(c(1, (1 / 2 + 3 / 4) / 2, 1)))
})

test_that("regression, by hand", {
  value <- cpt_metrics(c(1, 2, 4), estimate = c(1, 3, 3), weights = c(1, 1, 2))
  mean <- (1 + 2 + 8) / 4
  expect_equal(value, c(rmse = sqrt(3 / 4), mae = 3 / 4,
    r2 = 1 - 3 / ((1 - mean)^2 + (2 - mean)^2 + 2 * (4 - mean)^2)))
  expect_equal(cpt_metrics(1:4, rep(2.5, 4))[["r2"]], 0)
  expect_lt(cpt_metrics(1:4, 4:1)[["r2"]], 0)
  fit <- lm(dist ~ speed, cars)
  expect_equal(cpt_metrics(cars$dist, fitted(fit))[["r2"]], summary(fit)$r.squared)
})

test_that("the AUC agrees with pROC, with and without ties", {
  skip_if_not_installed("pROC")
  for (digits in c(15, 1)) {
    p <- some_prob(200, 2, digits)[, 2]
    truth <- factor(ifelse(steady(200, 0.3) + 2 * p > 1, "yes", "no"))
    known <- as.numeric(pROC::auc(truth, p, levels = c("no", "yes"), direction = "<"))
    expect_equal(cpt_metrics(truth, prob = p)[["auc"]], known, tolerance = 1e-12)
  }
})

test_that("the AUC of several classes agrees with pROC, with and without ties", {
  skip_if_not_installed("pROC")
  for (digits in c(15, 1)) {
    for (k in c(3, 7)) {
      p <- some_prob(300, k, digits)
      truth <- factor(letters[max.col(p + some_prob(600, k)[301:600, ])], letters[seq_len(k)])
      known <- as.numeric(pROC::multiclass.roc(truth, p)$auc)
      expect_equal(cpt_metrics(truth, prob = p)[["auc"]], known, tolerance = 1e-12)
    }
  }
  # a level without rows is left out
  wide <- factor(truth, c(levels(truth), "empty"))
  more <- cbind(p, empty = 0)
  expect_equal(cpt_metrics(wide, prob = more)[["auc"]], known, tolerance = 1e-12)
  expect_equal(cpt_metrics(wide, prob = p)[["auc"]], known, tolerance = 1e-12)
  known <- as.numeric(pROC::multiclass.roc(droplevels(truth[truth != "b"]), p[truth != "b", -2])$auc)
  expect_equal(cpt_metrics(truth[truth != "b"], prob = p[truth != "b", ])[["auc"]], known,
    tolerance = 1e-12)
})

test_that("a whole weight is a row repeated, and weight 0 a row that is not there", {
  w <- rep(c(2, 0, 1, 3), 25)
  again <- rep(seq_along(w), w)
  p <- some_prob(100, 3, 1)
  truth <- factor(letters[1 + seq_along(w) %% 3])
  expect_equal(cpt_metrics(truth, prob = p, weights = w), cpt_metrics(truth[again], prob = p[again, ]))
  two <- factor(truth == "a")
  expect_equal(cpt_metrics(two, prob = p[, 1], weights = w),
    cpt_metrics(two[again], prob = p[again, 1]))
  y <- steady(100)
  expect_equal(cpt_metrics(y, estimate = p[, 1], weights = w),
    cpt_metrics(y[again], estimate = p[again, 1]))
})

test_that("a weighted AUC is the share of the weight of pairs", {
  score <- round(some_prob(80, 2)[, 1], 1)
  event <- steady(80, 0.2) + score > 0.5
  w <- 0.5 + abs(steady(80, 0.7))
  expect_equal(cpt_metrics(event, prob = score, weights = w)[["auc"]], pairs_auc(score, event, w))
})

test_that("the event is the second level unless named", {
  truth <- factor(c("no", "yes", "no", "yes"))
  p <- c(0.2, 0.9, 0.4, 0.3)
  expect_equal(cpt_metrics(truth, prob = 1 - p, event = "no"), cpt_metrics(truth, prob = p))
  expect_equal(cpt_metrics(truth, prob = cbind(no = 1 - p, yes = p), event = "no"),
    cpt_metrics(truth, prob = p))
  expect_equal(cpt_metrics(truth == "yes", prob = p), cpt_metrics(truth, prob = p))
  expect_equal(cpt_metrics(as.character(truth), prob = p), cpt_metrics(truth, prob = p))
  # columns are found by name, in any order
  expect_equal(cpt_metrics(truth, prob = cbind(yes = p, no = 1 - p)), cpt_metrics(truth, prob = p))
  expect_equal(cpt_metrics(truth, prob = data.frame(yes = p, no = 1 - p)), cpt_metrics(truth, prob = p))
})

test_that("probabilities of 0 are raised to 1e-15", {
  value <- cpt_metrics(factor(c("a", "b")), prob = c(0, 0))
  expect_equal(value[["log_loss"]], -log(1e-15) / 2)
  expect_equal(value[["brier"]], 1 / 2)
})

test_that("predicted classes alone give what follows from them", {
  truth <- factor(c("a", "b", "b", "c"))
  expect_equal(cpt_metrics(truth, estimate = c("a", "b", "c", "z")),
    c(accuracy = 1 / 2, balanced_accuracy = (1 + 1 / 2 + 0) / 3))
  p <- some_prob(4, 3)
  both <- cpt_metrics(truth, estimate = truth, prob = p)
  expect_equal(both[["accuracy"]], 1)
  expect_equal(both[["log_loss"]], cpt_metrics(truth, prob = p)[["log_loss"]])
})

test_that("one class only gives NA and a classed warning", {
  truth <- factor(c("a", "a"), c("a", "b"))
  expect_warning(value <- cpt_metrics(truth, prob = c(0.1, 0.6)), class = "cpt_warning_metric")
  expect_identical(value[["auc"]], NA_real_)
  expect_equal(value[["accuracy"]], 1 / 2)
  expect_equal(value[["balanced_accuracy"]], 1 / 2)
  expect_warning(cpt_metrics(factor(rep("a", 5), letters[1:3]), prob = some_prob(5, 3)),
    class = "cpt_warning_metric")
  # a second class of weight 0 is not there
  expect_warning(cpt_metrics(factor(c("a", "b")), prob = c(0.1, 0.6), weights = 1:0),
    class = "cpt_warning_metric")
  expect_warning(value <- cpt_metrics(c(2, 2), estimate = c(2, 3)), class = "cpt_warning_metric")
  expect_equal(value, c(rmse = sqrt(1 / 2), mae = 1 / 2, r2 = NA))
})

test_that("a fitted tree is judged by its own answer", {
  fit <- hand_iris()
  new <- iris[seq(1, 150, 3), ]
  prob <- predict(fit, new, type = "prob")
  expect_equal(cpt_metrics(fit, new), cpt_metrics(new$Species, prob = prob))
  expect_equal(cpt_metrics(fit, new)[["accuracy"]], mean(predict(fit, new) == new$Species))
  w <- seq_len(nrow(new))
  expect_equal(cpt_metrics(fit, new, weights = w), cpt_metrics(new$Species, prob = prob, weights = w))
  soft <- predict(fit, new, type = "prob", soft = TRUE)
  expect_equal(cpt_metrics(fit, new, soft = TRUE), cpt_metrics(new$Species, prob = soft))
  cars <- hand_cars()
  expect_equal(cpt_metrics(cars, mtcars), cpt_metrics(mtcars$mpg, predict(cars, mtcars)))
  expect_equal(cpt_metrics(cars, mtcars)[["rmse"]], summary(cars)$error)
  root <- cpt_metrics(root_cars(), mtcars)
  expect_equal(root[["r2"]], 0)
  expect_equal(cpt_metrics(root_iris(), iris)[["auc"]], 1 / 2)
})

test_that("the outcome is computed as the formula says, or given", {
  fit <- cpt(log(dist) ~ speed, cars, control = quick(), seed = 1)
  expect_equal(cpt_metrics(fit, cars), cpt_metrics(log(cars$dist), predict(fit, cars)))
  x <- as.matrix(iris[1:4])
  fit <- cpt(x, iris$Species, control = quick(), seed = 1)
  expect_equal(cpt_metrics(fit, x, truth = iris$Species),
    cpt_metrics(iris$Species, prob = predict(fit, x, type = "prob")))
  sparse <- methods::as(x, "CsparseMatrix")
  expect_equal(cpt_metrics(fit, sparse, truth = iris$Species), cpt_metrics(fit, x, truth = iris$Species))
})

test_that("a class that the tree does not know has probability 0", {
  fit <- hand_iris(data = droplevels(iris[iris$Species != "virginica", ]))
  value <- cpt_metrics(fit, iris)
  expect_equal(value[["accuracy"]], mean(predict(fit, iris) == as.character(iris$Species)))
  # the other two classes are told apart without an error
  expect_equal(value[["log_loss"]], -log(1e-15) / 3)
})

test_that("rows with gaps fail, are left out or filled in", {
  fit <- hand_iris()
  new <- iris
  new$Petal.Width[c(1, 60)] <- NA
  new$Species[c(2, 60)] <- NA
  expect_error(cpt_metrics(fit, new), class = "cpt_error_newdata")
  expect_equal(cpt_metrics(fit, new, na_action = "omit"), cpt_metrics(fit, iris[-c(1, 2, 60), ]))
  filled <- predict(fit, new[-c(2, 60), ], type = "prob", na_action = "impute")
  expect_equal(cpt_metrics(fit, new, na_action = "impute"),
    cpt_metrics(iris$Species[-c(2, 60)], prob = filled))
})

test_that("100 classes", {
  k <- 100
  truth <- factor(rep(sprintf("class %03d", seq_len(k)), 3))
  prob <- matrix(1 / k, 3 * k, k)
  value <- cpt_metrics(truth, prob = prob)
  expect_equal(unname(value), c(1 / k, 1 / k, 1 / 2, log(k), (1 - 1 / k) / 2))
})

test_that("wrong calls say what to do", {
  truth <- factor(c("a", "b", "b"))
  expect_snapshot(error = TRUE, {
    cpt_metrics(truth)
    cpt_metrics(list(1), 1)
    cpt_metrics(truth, c(0.1, 0.2, 0.3))
    cpt_metrics(truth, prob = c(0.1, 0.2))
    cpt_metrics(truth, prob = c(0.1, 0.2, 1.3))
    cpt_metrics(truth, prob = c(0.1, NA, 0.3))
    cpt_metrics(truth, prob = cbind(a = c(1, 0, 0), c = c(0, 1, 1)))
    cpt_metrics(truth, prob = matrix(1 / 3, 3, 3))
    cpt_metrics(truth, prob = c(0.1, 0.2, 0.3), event = "B")
    cpt_metrics(truth, prob = c(0.1, 0.2, 0.3), weights = 1:2)
    cpt_metrics(truth, prob = c(0.1, 0.2, 0.3), wieghts = 1:3)
    cpt_metrics(factor(letters[1:3]), prob = c(0.1, 0.2, 0.3))
    cpt_metrics(factor(letters[1:3]), prob = diag(3), event = "a")
    cpt_metrics(c(1, 2, NA), c(1, 2, 3))
    cpt_metrics(c(1, 2, 3), c("1", "2", "3"))
    cpt_metrics(c(1, 2, 3), prob = c(1, 1, 1))
    cpt_metrics(numeric(), numeric())
    cpt_metrics(hand_iris())
    cpt_metrics(hand_iris(), iris[-5])
    cpt_metrics(hand_iris(), iris, truth = iris$Petal.Width)
    cpt_metrics(hand_iris(), as.matrix(iris[1:4]))
    cpt_metrics(hand_cars(), transform(mtcars, mpg = c(NA, mpg[-1])))
  })
})
