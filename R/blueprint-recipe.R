# Recipes: the only file that calls the suggested package recipes.
# A prepared recipe is stored without its training rows.
# This file must not know how columns are coded.

blueprint_mold_recipe <- function(recipe, data, weights = NULL, na_action = "fail") {
  prepared <- recipe_prepare(recipe, data)
  baked <- recipes::bake(prepared, new_data = NULL)
  roles <- prepared$term_info$role[match(names(baked), prepared$term_info$variable)]
  outcome <- names(baked)[roles %in% "outcome"]
  if (length(outcome) != 1L) {
    text <- if (length(outcome) == 0L) "none" else name_text(outcome)
    cpt_abort(c(
      "The recipe must have one outcome; it has {text}.",
      i = "Give it in the formula of `recipes::recipe()` or by `recipes::update_role()`."
    ), "cpt_error_data")
  }
  case <- names(baked)[roles %in% "case_weights"]
  if (is.null(weights) && length(case) == 1L) weights <- baked[[case]]
  x <- as.data.frame(baked[roles %in% "predictor"])
  mold <- blueprint_mold_frame(x, baked[[outcome]], weights, na_action, outcome, "recipe")
  mold$blueprint$recipe <- recipe_strip(prepared)
  mold
}

recipe_prepare <- function(recipe, data) {
  rlang::check_installed("recipes", "to fit a tree from a recipe.")
  if (!is.null(data) && !is.data.frame(data)) {
    got <- describe(data)
    cpt_abort("{.arg data} must be a data frame, not {got}.", "cpt_error_data")
  }
  if (is.null(data) && recipes::fully_trained(recipe)) return(recipe)
  tryCatch(
    recipes::prep(recipe, training = data, retain = TRUE, fresh = !is.null(data)),
    error = function(e) {
      cpt_abort("The recipe could not be prepared.", "cpt_error_data", parent = e)
    }
  )
}

# Without the training rows and the places where its steps were written.
recipe_strip <- function(recipe) {
  recipe$template <- recipe$template[0L, , drop = FALSE]
  recipe$steps <- lapply(recipe$steps, strip_environments)
  recipe
}

strip_environments <- function(x) {
  if (rlang::is_quosure(x)) return(rlang::quo_set_env(x, globalenv()))
  if (inherits(x, "formula")) {
    environment(x) <- globalenv()
    return(x)
  }
  if (is.list(x) && !is.data.frame(x)) {
    for (i in seq_along(x)) {
      if (!is.null(.subset2(x, i))) x[[i]] <- strip_environments(.subset2(x, i))
    }
  }
  x
}

recipe_bake <- function(blueprint, newdata) {
  rlang::check_installed("recipes", "to predict with a tree fitted from a recipe.")
  baked <- tryCatch(
    recipes::bake(blueprint$recipe, newdata, recipes::all_predictors()),
    error = function(e) {
      cpt_abort("The recipe could not be applied to {.arg newdata}.",
        "cpt_error_newdata", parent = e)
    }
  )
  if (nrow(baked) != nrow(newdata)) {
    cpt_abort(c(
      "The recipe must keep every row of {.arg newdata}.",
      x = "{nrow(newdata)} rows went in and {nrow(baked)} came out.",
      i = "Steps that remove rows need `skip = TRUE`."
    ), "cpt_error_newdata")
  }
  baked
}
