# summary(): size, fit and importance of a tree in one list, and its text. Scores of the
# training rows come from the tree alone; new rows are asked of predict().

#' Summary of a convex polytope tree
#'
#' Data, size, scores, calibration, importance and time of a fitted tree. A tree does not keep
#' its training data: give them, or better rows that were not trained on, as
#' `newdata` to compare the soft with the hard tree and to judge calibration.
#'
#' @details
#' Scores of held-out rows follow from what the tree stores about all rows and about
#' the training rows, if no case weights were given. Their `log_loss` is the one that training
#' recorded for a tree of this training loss, with one uniform guess added to the counts of
#' every leaf; it is `NA` if there is none, as after [prune.cpt()].
#'
#' The confidence of a leaf is the share of its training rows that have its class. On
#' the training rows it therefore always equals the accuracy; `calibration` is
#' telling only on held-out or new rows.
#'
#' @param object *A `cpt` object*, as returned by [cpt()].
#' @param newdata *A data frame, matrix or sparse matrix*: rows to score, with the outcome
#'   as a column or in `y`. Without an outcome only the agreement of soft and hard tree is
#'   computed. Default `NULL`: none.
#' @param y *The outcome* of the rows of `newdata`, if it is not a column there.
#' @param threads *A whole number*: threads to use; see [predict.cpt()].
#' @param x *A `summary.cpt` object*.
#' @param digits *A whole number*: significant digits of numbers. The default is
#'   three less than the option `digits`.
#' @param ... *Not used*; anything given is an error.
#' @return `summary()` returns a list of class `summary.cpt`:
#' * `call`, `task`, `outcome`, `levels`,
#' * `nobs`, `held_out` (rows of these held out for validation), `predictors` (number
#'   of predictors), `columns` (number of coded columns), `omitted` (rows left out
#'   for missing values),
#' * `leaves`, `depth`, `facets` (named integer, per inner node), `nonzero` (number
#'   of nonzero coefficients) and `coefficients` (number of all),
#' * `loss` (training loss per unit of weight: entropy in nats, or mean squared
#'   error), `error` (share of the weight misclassified, or root mean squared
#'   error), `explained` (share of the root's loss that the tree explains); with a council
#'   these count, in leaves that few training rows reach, also the rows that it named (see
#'   [cpt_control()]),
#' * `scores`: data frame with a row for `"training"`, and where there are such rows
#'   `"held out"`, `"new, hard tree"` and `"new, soft tree"`: `of`, `rows`, then `accuracy`
#'   and `log_loss` (nats a row; probabilities below 1e-15 count as 1e-15), or `r_squared`
#'   and `rmse`; `NA` if not known,
#' * `agreement`: `NULL` without `newdata`; else the share of new rows whose class is the same by
#'   the soft and the hard tree, or the squared correlation of their predictions,
#' * `calibration`: `NULL` for regression without `newdata`; else a data frame with a row per
#'   bin: `from`, `to`, `rows`, `confidence` (mean probability of the predicted class)
#'   and `accuracy`; for regression `prediction` and `outcome` (means). Its attribute `of` says of
#'   which rows: `"training"`, `"held out"` or `"new"`,
#' * `importance`: data frame from [importance()], by share of evidence,
#' * `time` (seconds), `seed`, `version`.
#'
#'   `print()` returns its argument invisibly.
#' @examples
#' train <- seq(1, 150, by = 2)
#' fit <- cpt(Species ~ ., iris[train, ], max_depth = 2, max_facets = 2, seed = 1)
#' summary(fit)
#' summary(fit, newdata = iris[-train, ])
#' @export
summary.cpt <- function(object, newdata = NULL, y = NULL, threads = NULL, ...) {
  check_no_dots(...)
  validate_cpt(object)
  tree <- object$tree
  leaf <- tree_leaf(tree)
  loss <- training_loss(object)
  new <- if (!is.null(newdata)) score_new(object, newdata, y, resolve_threads(threads))
  held <- held_out_rows(object)
  out <- list(
    call = object$call, task = object$task, outcome = object$outcome,
    levels = object$levels, nobs = object$nobs,
    held_out = object$nobs - tree$n[1L], predictors = n_predictors(object),
    columns = nrow(tree$coef), omitted = length(object$na$omitted),
    leaves = sum(leaf), depth = tree_depth(tree),
    facets = stats::setNames(tree$facets[!leaf], tree$node[!leaf]),
    nonzero = sum(tree$coef != 0), coefficients = length(tree$coef),
    loss = loss / tree$weight[1L], error = training_error(object),
    explained = if (tree$loss[1L] > 0) 1 - loss / tree$loss[1L] else NA_real_,
    scores = rbind(training_scores(object), held_out_scores(object, held), new$scores),
    agreement = new$agreement,
    calibration = new$calibration %||% leaf_calibration(object, held),
    importance = importance.cpt(object),
    time = object$time, seed = object$seed, version = object$version
  )
  structure(out, class = "summary.cpt")
}

# Training and held-out rows ------------------------------------------------------

training_error <- function(object) {
  tree <- object$tree
  leaf <- tree_leaf(tree)
  weight <- tree$weight[1L]
  if (object$task == "regression") return(sqrt(training_loss(object) / weight))
  best <- tree$value[cbind(which(leaf), node_class(node_prob(tree))[leaf])]
  1 - sum(best) / weight
}

training_scores <- function(object) {
  tree <- object$tree
  loss <- training_loss(object) / tree$weight[1L]
  error <- training_error(object)
  if (object$task == "classification") {
    return(class_scores("training", tree$n[1L], 1 - error, loss))
  }
  mean_scores("training", tree$n[1L], 1 - loss * tree$weight[1L] / tree$loss[1L], sqrt(loss))
}

class_scores <- function(of, rows, accuracy, log_loss) {
  data.frame(of = of, rows = rows, accuracy = accuracy, log_loss = log_loss)
}

mean_scores <- function(of, rows, r_squared, rmse) {
  r_squared[!is.finite(r_squared)] <- NA_real_
  data.frame(of = of, rows = rows, r_squared = r_squared, rmse = rmse)
}

# Rows and total error of the held-out rows of every leaf: all rows less the training
# rows. NULL without such rows; `error` is NA if weights make the difference unknown.
held_out_rows <- function(object) {
  tree <- object$tree
  if (object$nobs <= tree$n[1L]) return(NULL)
  leaf <- which(tree_leaf(tree))
  at <- match(object$where, tree$node[leaf])
  rows <- tabulate(at, length(leaf)) - tree$n[leaf]
  regression <- object$task == "regression"
  each <- if (regression) object$residuals^2 else object$residuals
  all <- vapply(seq_along(leaf), function(i) sum(each[which(at == i)]), 0)
  best <- node_class(node_prob(tree))[leaf]
  trained <- if (regression) {
    node_losses(tree, object$task)[leaf]
  } else {
    tree$weight[leaf] - tree$value[cbind(leaf, best)]
  }
  unweighted <- all(rows >= 0) && isTRUE(all.equal(tree$weight[leaf], as.double(tree$n[leaf])))
  list(leaf = leaf, rows = rows, error = if (unweighted) pmax(all - trained, 0) else NA_real_)
}

held_out_scores <- function(object, held) {
  if (is.null(held)) return(NULL)
  loss <- held_out_loss(object)
  rows <- sum(held$rows)
  if (object$task == "classification") {
    return(class_scores("held out", rows, 1 - sum(held$error) / rows, loss))
  }
  mse <- if (anyNA(held$error)) loss else sum(held$error) / rows
  mean_scores("held out", rows, NA_real_, sqrt(mse))
}

# What training recorded for the state of the tree that has its training loss; NA if
# there is none, as after pruning.
held_out_loss <- function(object) {
  history <- object$history
  loss <- training_loss(object) / object$tree$weight[1L]
  same <- which(abs(history$hard_loss - loss) <= 1e-9 * loss & !is.na(history$valid_loss))
  if (length(same)) min(history$valid_loss[same]) else NA_real_
}

# Calibration of the predicted class on held-out rows if there are any, else on the
# training rows, where it is perfect by construction.
leaf_calibration <- function(object, held) {
  if (object$task == "regression") return(NULL)
  tree <- object$tree
  leaf <- which(tree_leaf(tree))
  prob <- node_prob(tree)
  best <- cbind(leaf, node_class(prob)[leaf])
  sure <- prob[best]
  if (is.null(held) || anyNA(held$error)) {
    right <- node_share(tree)[best] * tree$weight[leaf]
    return(bin_confidence(sure, tree$weight[leaf], right, "training", tree$n[leaf]))
  }
  bin_confidence(sure, held$rows, held$rows - held$error, "held out")
}

# New rows ------------------------------------------------------------------------

score_new <- function(object, newdata, y, threads) {
  check_newdata(newdata)
  has_outcome <- !is.null(y) || !is.null(find_outcome(object, newdata))
  rows <- if (has_outcome) scored_rows(object, newdata, y) else list(newdata = newdata)
  type <- if (object$task == "regression") "response" else "prob"
  hard <- predict(object, rows$newdata, type = type, threads = threads)
  soft <- predict(object, rows$newdata, type = type, soft = TRUE, threads = threads)
  out <- if (object$task == "regression") {
    score_means(hard, soft, rows$y)
  } else {
    score_classes(hard, soft, rows$y, object$levels)
  }
  if (nrow(rows$newdata) == 0L) out$agreement <- NA_real_
  out
}

score_classes <- function(hard, soft, y, levels) {
  class <- list(node_class(hard), node_class(soft))
  agreement <- mean(class[[1L]] == class[[2L]])
  if (is.null(y)) return(list(agreement = agreement))
  code <- match(y, levels)
  one <- function(of, prob, class) {
    # A class that the tree does not know has probability 0.
    given <- prob[cbind(seq_along(code), code)]
    given[is.na(code)] <- 0
    class_scores(of, length(code), mean(class == code & !is.na(code)),
      -mean(log(pmax(given, 1e-15))))
  }
  sure <- hard[cbind(seq_along(code), class[[1L]])]
  right <- as.double(class[[1L]] == code & !is.na(code))
  list(
    agreement = agreement,
    scores = rbind(one("new, hard tree", hard, class[[1L]]),
      one("new, soft tree", soft, class[[2L]])),
    calibration = bin_confidence(unname(sure), rep(1, length(sure)), right, "new")
  )
}

score_means <- function(hard, soft, y) {
  agreement <- if (all(hard == soft)) 1 else suppressWarnings(stats::cor(hard, soft)^2)
  if (is.null(y)) return(list(agreement = agreement))
  total <- mean((y - mean(y))^2)
  one <- function(of, answer) {
    mse <- mean((y - answer)^2)
    mean_scores(of, length(y), 1 - mse / total, sqrt(mse))
  }
  list(
    agreement = agreement,
    scores = rbind(one("new, hard tree", hard), one("new, soft tree", soft)),
    calibration = bin_means(unname(hard), y)
  )
}

# Confidences in ten bins from 0 to 1; empty bins are left out.
bin_confidence <- function(sure, weight, right, of, rows = weight) {
  bin <- pmin(floor(10 * sure + 1e-9), 9)
  used <- sort(unique(bin[weight > 0]))
  sum_of <- function(x) vapply(used, function(b) sum(x[bin == b]), 0)
  total <- sum_of(weight)
  out <- data.frame(from = used / 10, to = (used + 1) / 10, rows = sum_of(rows),
    confidence = sum_of(sure * weight) / total, accuracy = sum_of(right) / total)
  structure(out, of = of)
}

# Predictions in up to five bins: one a value, or of about as many rows.
bin_means <- function(answer, y) {
  edge <- unique(answer)
  if (length(edge) > 5L) edge <- unique(stats::quantile(answer, 0:4 / 5, names = FALSE, type = 1L))
  bin <- findInterval(answer, sort(edge))
  used <- sort(unique(bin))
  mean_of <- function(x, f = mean) vapply(used, function(b) f(x[bin == b]), 0)
  out <- data.frame(from = mean_of(answer, min), to = mean_of(answer, max),
    rows = tabulate(bin, max(bin))[used], prediction = mean_of(answer), outcome = mean_of(y))
  structure(out, of = "new")
}

# Text ----------------------------------------------------------------------------

#' @rdname summary.cpt
#' @export
print.summary.cpt <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  check_no_dots(...)
  check_number(digits, "digits", 1, 15, whole = TRUE)
  writeLines(c("Convex polytope tree", ""))
  print_fields(summary_fields(x, digits))
  print_table("Scores", score_table(x), digits)
  if (!is.null(x$agreement)) writeLines(wrap_line(agreement_text(x, digits)))
  print_table(calibration_title(x$calibration), x$calibration, digits)
  if (any(x$importance$importance > 0)) {
    writeLines("")
    print(x$importance, n = 10, digits = min(digits, 3L))
  }
  invisible(x)
}

summary_fields <- function(x, digits) {
  number <- function(v) format(v, digits = digits)
  regression <- x$task == "regression"
  rows <- paste0(format(x$nobs, big.mark = ","), " rows", held_text(x$held_out),
    if (x$omitted) paste0(" (", x$omitted, " more left out for missing values)"))
  encoded <- if (x$columns != x$predictors) paste0(" in ", x$columns, " columns")
  c(
    Call = paste(trimws(deparse(x$call)), collapse = " "),
    Task = paste0(x$task, if (!is.null(x$outcome)) paste0(" of ", x$outcome),
      if (!regression) paste0(", ", plural(length(x$levels), "class", "classes"))),
    Data = paste0(rows, ", ", plural(x$predictors, "predictor", "predictors"), encoded),
    Tree = paste0("leaves: ", x$leaves, ", depth: ", x$depth),
    Facets = facets_text(x$facets),
    Coefficients = paste0(x$nonzero, " of ", x$coefficients, " nonzero"),
    "Training loss" = paste0(number(x$loss),
      if (regression) " mean squared error" else " nats a row",
      if (!is.na(x$explained)) paste0(" (", number(100 * x$explained), " % explained)")),
    "Training error" = paste0(number(x$error),
      if (regression) " root mean squared" else " misclassified"),
    Fit = paste0("seed ", format(x$seed, scientific = FALSE), ", ", number(x$time),
      " seconds, cptree ", x$version)
  )
}

facets_text <- function(facets) {
  if (!length(facets)) return("none (the tree is a single leaf)")
  nodes <- plural(length(facets), "node", "nodes")
  spread <- if (min(facets) < max(facets)) {
    paste0(" (", min(facets), " to ", max(facets), " a node, mean ",
      format(mean(facets), digits = 3L), ")")
  }
  paste0(sum(facets), " in ", nodes, spread)
}

# Training scores alone are already among the fields.
score_table <- function(x) if (nrow(x$scores) > 1L) x$scores

agreement_text <- function(x, digits) {
  if (x$task == "regression") {
    return(paste("Squared correlation of soft and hard predictions of the new rows:",
      format(x$agreement, digits = digits)))
  }
  paste0("Soft and hard tree give the same class to ", format(100 * x$agreement, digits = digits),
    " % of the new rows")
}

calibration_title <- function(calibration) {
  switch(attr(calibration, "of") %||% "",
    training = "Confidence of the leaves (on training rows equal to their accuracy)",
    "held out" = "Calibration on the held-out rows",
    "Calibration on the new rows")
}

print_table <- function(title, table, digits) {
  if (!NROW(table)) return(invisible())
  writeLines(c("", wrap_line(title)))
  names(table) <- gsub("_", " ", names(table), fixed = TRUE)
  if (names(table)[1L] == "of") {
    table[[1L]] <- format(table[[1L]])
    names(table)[1L] <- ""
  }
  print.data.frame(table, digits = digits, row.names = FALSE)
}

# "name: value" with the values aligned, wrapped to the terminal.
print_fields <- function(lines) {
  label <- format(paste0(names(lines), ":"))
  width <- max(40L, getOption("width"))
  indent <- nchar(label[1L]) + 1L
  for (i in seq_along(lines)) {
    text <- strwrap(lines[[i]], width = width - indent)
    writeLines(paste0(c(label[i], rep(strrep(" ", indent - 1L), length(text) - 1L)), " ", text))
  }
}
