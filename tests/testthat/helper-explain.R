# Fits and data for the tests of explain() and counterfactual().

# A column of every kind, three classes, and reasons that need more than one split.
credit_data <- function(n = 500) {
  u <- function(k) ((seq_len(n) + 17 * k) * c(0.6180339887, 0.7548776662, 0.5698402910)[k %% 3 + 1] * (k + 1)) %% 1
  data <- data.frame(
    age = 18 + floor(62 * u(1)), amount = exp(stats::qnorm(0.005 + 0.99 * u(2)) + 8), rate = 10 * u(3),
    job = factor(c("clerk", "boss", "none", "self")[1 + floor(4 * u(4))]),
    home = c("own", "rent", "free")[1 + floor(3 * u(5))],
    save = factor(c("low", "mid", "high")[1 + floor(3 * u(6))], c("low", "mid", "high"), ordered = TRUE),
    phone = u(7) < 0.5, day = as.Date("2021-01-01") + floor(700 * u(8))
  )
  score <- with(data, (age - 45)^2 / 300 + log(amount) - 8 + rate / 5 * (job != "boss") -
    as.integer(save) / 2 + (home == "rent") - phone * (age < 40))
  data$ok <- cut(score, c(-Inf, stats::quantile(score, c(0.4, 0.75)), Inf), c("good", "fair", "bad"))
  data
}

# Five trees of different kinds with rows to ask about.
five_fits <- function() {
  cars <- transform(mtcars, am = am == 1, gear = factor(gear))
  list(
    rings = list(fit = cpt(class ~ ., rings, control = brisk(max_depth = 2), seed = 1), data = rings),
    iris = list(fit = cpt(Species ~ ., iris, control = brisk(), seed = 1), data = iris),
    cars = list(fit = cpt(mpg ~ ., cars, control = brisk(min_split_obs = 8, min_leaf_obs = 4), seed = 1), data = cars),
    credit = list(fit = cpt(ok ~ ., credit_data(), control = brisk(), seed = 1), data = credit_data()),
    disc = list(fit = cpt(y ~ ., noisy_disc(), control = brisk(), seed = 1), data = noisy_disc())
  )
}

# Rows that are mixtures of rows: every column has a value that it has somewhere.
mixed_rows <- function(data, n, from = 0) {
  out <- data[rep_len(seq_len(nrow(data)), n), , drop = FALSE]
  for (j in seq_along(out)) {
    pick <- 1 + floor(nrow(data) * ((seq_len(n) + from) * 0.7548776662466927 * (j + 1)) %% 1)
    out[[j]] <- data[[j]][pmin(pick, nrow(data))]
  }
  rownames(out) <- NULL
  out
}
