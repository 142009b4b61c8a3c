# Makes the stored model of the version that is installed; run once per release, from
# this folder: Rscript make.R. Files of older versions are never made again.
library(cptree)

new <- data.frame(x1 = sin(1:60), x2 = cos((1:60) * 1.7))
store <- function(fit, new, type) {
  list(fit = fit, new = new, type = type, node = predict(fit, new, type = "node"),
    answer = predict(fit, new, type = type), soft = predict(fit, new, type = type, soft = TRUE))
}
fit <- cpt(class ~ ., rings, max_depth = 2, max_facets = 10, seed = 1)
r <- data.frame(rings, f = cut(rings$x1, 3, labels = c("low", "mid", "high")))
mean <- cpt(sqrt(x1^2 + x2^2) ~ x1 + x2 + f, r[1:500, ], max_depth = 3, max_facets = 5, seed = 1)
new_mean <- data.frame(new, f = factor(c("low", "mid", "high")[1:60 %% 3 + 1]))
saved <- list(class = store(fit, new, "prob"), mean = store(mean, new_mean, "response"))

file <- paste0("cptree-", packageVersion("cptree"), ".rds")
stopifnot("this version is stored already" = !file.exists(file))
saveRDS(saved, file, version = 3)
