// boundary.cpp: the only file that knows R. Lists become options and trees by
// name, C++ errors become R conditions. The engine runs on a thread of its own and never
// touches R; meanwhile R's main thread looks for interrupts and passes progress on.
#include <Rcpp.h>

#include "engine_thread.h"
#include "fit.h"
#include "kernels.h"
#include "libsvm.h"
#include "median.h"
#include "predict.h"

namespace {

// ---- the engine at work ---------------------------------------------------------

bool interrupt_pending() {
  return R_ToplevelExec([](void*) { R_CheckUserInterrupt(); }, nullptr) == FALSE;
}

// work(hooks) away from R; an interrupt, or an error in on_tick, is raised when it has ended.
void run_engine(int threads, const std::function<void(const cpt::Hooks&)>& work,
                Rcpp::Nullable<Rcpp::Function> on_tick = R_NilValue) {
  cpt::EngineThread engine(threads, work);
  const bool whole = engine.wait([&](const cpt::Progress* p) {
    if (interrupt_pending()) return false;
    if (p && on_tick.isNotNull())
      Rcpp::Function(on_tick.get())(p->stage, p->epoch, p->epochs, p->loss, p->done);
    return true;
  });
  if (!whole) throw Rcpp::internal::InterruptedException();
}

// ---- R values to the engine's ---------------------------------------------------

cpt::MatrixView view_matrix(SEXP x) {
  cpt::MatrixView view;
  if (Rf_isS4(x) && Rf_inherits(x, "dgCMatrix")) {
    Rcpp::S4 s(x);
    const Rcpp::IntegerVector dim = s.slot("Dim"), p = s.slot("p"), i = s.slot("i");
    const Rcpp::NumericVector value = s.slot("x");
    view.rows = dim[0];
    view.cols = dim[1];
    view.column_start = p.begin();
    view.row_index = i.begin();
    view.nonzero = value.begin();
    return view;
  }
  if (!Rf_isMatrix(x) || !(TYPEOF(x) == REALSXP || TYPEOF(x) == INTSXP || TYPEOF(x) == LGLSXP))
    throw cpt::Error("x must be a numeric matrix or a dgCMatrix");
  view.rows = Rf_nrows(x);
  view.cols = Rf_ncols(x);
  if (TYPEOF(x) == REALSXP) view.dense = REAL(x);
  else view.dense_int = TYPEOF(x) == INTSXP ? INTEGER(x) : LOGICAL(x);
  return view;
}

template <class T>
T field(const Rcpp::List& list, const char* name) {
  if (!list.containsElementNamed(name))
    throw cpt::Error(std::string("the field \"") + name + "\" is missing");
  return Rcpp::as<T>(list[name]);
}

cpt::Options read_options(const Rcpp::List& list) {
  cpt::Options o;
  o.task = field<std::string>(list, "task");
  o.n_classes = field<int>(list, "n_classes");
  o.seed = static_cast<std::uint64_t>(field<double>(list, "seed"));
  o.max_depth = field<int>(list, "max_depth");
  o.max_leaves = field<int>(list, "max_leaves");
  o.max_facets = field<int>(list, "max_facets");
  o.min_split_obs = field<double>(list, "min_split_obs");
  o.min_leaf_obs = field<double>(list, "min_leaf_obs");
  o.min_gain = field<double>(list, "min_gain");
  o.starts = field<int>(list, "starts");
  o.tree_starts = field<int>(list, "tree_starts");
  o.column_share = field<double>(list, "column_share");
  o.choose_size = field<bool>(list, "choose_size");
  o.leaf = field<std::string>(list, "leaf");
  o.teacher_trees = field<int>(list, "teacher_trees");
  o.council_trees = field<int>(list, "council_trees");
  o.council_rows = field<int>(list, "council_rows");
  o.council_move = field<double>(list, "council_move");
  o.standardize = field<std::string>(list, "standardize");
  o.grow_epochs = field<int>(list, "grow_epochs");
  o.grow_min_steps = field<int>(list, "grow_min_steps");
  o.grow_rate = field<double>(list, "grow_rate");
  o.refine_epochs = field<int>(list, "refine_epochs");
  o.refine_min_steps = field<int>(list, "refine_min_steps");
  o.shrink_rounds = field<int>(list, "shrink_rounds");
  o.refine_rate = field<double>(list, "refine_rate");
  o.batch_size = field<int>(list, "batch_size");
  o.lambda_start = field<double>(list, "lambda_start");
  o.lambda_end = field<double>(list, "lambda_end");
  o.weight_rate = field<double>(list, "weight_rate");
  o.dropout = field<double>(list, "dropout");
  o.jitter = field<double>(list, "jitter");
  o.reach_tolerance = field<double>(list, "reach_tolerance");
  o.ridge = field<double>(list, "ridge");
  o.prior_weight = field<double>(list, "prior_weight");
  o.gamma0 = field<double>(list, "gamma0");
  o.c0 = field<double>(list, "c0");
  o.a_beta = field<double>(list, "a_beta");
  o.e0 = field<double>(list, "e0");
  o.f0 = field<double>(list, "f0");
  o.facet_tolerance = field<double>(list, "facet_tolerance");
  return o;
}

// ---- trees -------------------------------------------------------------------

Rcpp::IntegerVector shifted(const std::vector<int>& v, int by) {
  Rcpp::IntegerVector out(v.begin(), v.end());
  return out + by;
}

Rcpp::NumericMatrix by_rows(const std::vector<double>& v, int rows, int cols) {
  Rcpp::NumericMatrix out(rows, cols);
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < cols; ++j) out(i, j) = v[static_cast<std::size_t>(i) * cols + j];
  return out;
}

Rcpp::List write_tree(const cpt::Tree& t) {
  Rcpp::NumericVector threshold(t.threshold.begin(), t.threshold.end());
  Rcpp::IntegerVector first = shifted(t.first, 1);
  for (int v = 0; v < t.size(); ++v)
    if (t.is_leaf(v)) {
      threshold[v] = NA_REAL;
      first[v] = 0;
    }
  Rcpp::NumericMatrix coef(t.cols, static_cast<int>(t.r.size()));
  std::copy(t.coef.begin(), t.coef.end(), coef.begin());
  return Rcpp::List::create(
      Rcpp::_["node"] = t.node, Rcpp::_["parent"] = t.parent, Rcpp::_["depth"] = t.depth,
      Rcpp::_["left"] = shifted(t.left, 1), Rcpp::_["right"] = shifted(t.right, 1),
      Rcpp::_["n"] = t.n, Rcpp::_["weight"] = t.weight, Rcpp::_["loss"] = t.loss,
      Rcpp::_["value"] = by_rows(t.value, t.size(), t.outputs), Rcpp::_["threshold"] = threshold,
      Rcpp::_["first"] = first, Rcpp::_["facets"] = t.facets, Rcpp::_["r"] = t.r,
      Rcpp::_["intercept"] = t.intercept, Rcpp::_["coef"] = coef, Rcpp::_["lambda"] = t.lambda);
}

void check_tree(const cpt::Tree& t) {
  const std::size_t n = t.node.size(), facets = t.r.size();
  bool sound = n > 0 && t.left.size() == n && t.right.size() == n && t.threshold.size() == n &&
               t.first.size() == n && t.facets.size() == n && t.intercept.size() == facets &&
               t.coef.size() == facets * t.cols;
  for (std::size_t v = 0; sound && v < n; ++v) {
    if (t.left[v] < 0) continue;
    sound = t.left[v] > static_cast<int>(v) && t.left[v] < static_cast<int>(n) &&
            t.right[v] > static_cast<int>(v) && t.right[v] < static_cast<int>(n) &&
            t.first[v] >= 0 && t.facets[v] > 0 &&
            static_cast<std::size_t>(t.first[v]) + t.facets[v] <= facets;
  }
  if (!sound) throw cpt::Error("the tree's vectors do not fit together");
}

std::vector<int> zero_based(const std::vector<int>& v) {
  std::vector<int> out(v);
  for (int& i : out) --i;
  return out;
}

// Only what routing needs.
cpt::Tree read_tree(const Rcpp::List& list, int cols) {
  cpt::Tree t;
  const Rcpp::NumericMatrix coef = field<Rcpp::NumericMatrix>(list, "coef");
  if (coef.nrow() != cols) throw cpt::Error("x has not the tree's number of columns");
  t.cols = cols;
  t.lambda = field<double>(list, "lambda");
  t.node = field<std::vector<int>>(list, "node");
  t.left = zero_based(field<std::vector<int>>(list, "left"));
  t.right = zero_based(field<std::vector<int>>(list, "right"));
  t.threshold = field<std::vector<double>>(list, "threshold");
  t.first = zero_based(field<std::vector<int>>(list, "first"));
  t.facets = field<std::vector<int>>(list, "facets");
  t.r = field<std::vector<double>>(list, "r");
  t.intercept = field<std::vector<double>>(list, "intercept");
  t.coef.assign(coef.begin(), coef.end());
  check_tree(t);
  return t;
}

// The linear models join the vectors of the tree; constant leaves have none.
void write_models(const cpt::LeafModels& m, Rcpp::List& tree) {
  if (m.empty()) return;
  Rcpp::NumericMatrix coef(m.cols, static_cast<int>(m.intercept.size()));
  std::copy(m.coef.begin(), m.coef.end(), coef.begin());
  tree["leaf_intercept"] = m.intercept;
  tree["leaf_coef"] = coef;
  tree["leaf_low"] = m.low;
  tree["leaf_high"] = m.high;
}

cpt::LeafModels read_models(const Rcpp::List& list, int cols) {
  cpt::LeafModels m;
  const Rcpp::NumericMatrix coef = field<Rcpp::NumericMatrix>(list, "leaf_coef");
  m.cols = cols;
  m.intercept = field<std::vector<double>>(list, "leaf_intercept");
  m.low = field<std::vector<double>>(list, "leaf_low");
  m.high = field<std::vector<double>>(list, "leaf_high");
  m.coef.assign(coef.begin(), coef.end());
  const std::size_t n = m.intercept.size();
  if (coef.nrow() != cols || m.coef.size() != n * cols || m.low.size() != n || m.high.size() != n)
    throw cpt::Error("the linear models do not fit together");
  return m;
}

Rcpp::List write_history(const std::vector<cpt::Record>& history) {
  std::vector<std::string> stage;
  std::vector<int> epoch;
  std::vector<double> lambda, loss, hard, valid, seconds;
  const auto or_na = [](double v) { return std::isnan(v) ? NA_REAL : v; };
  for (const cpt::Record& r : history) {
    stage.push_back(r.stage);
    epoch.push_back(r.epoch);
    lambda.push_back(r.lambda);
    loss.push_back(or_na(r.loss));
    hard.push_back(or_na(r.hard_loss));
    valid.push_back(or_na(r.valid_loss));
    seconds.push_back(r.seconds);
  }
  return Rcpp::List::create(Rcpp::_["stage"] = stage, Rcpp::_["epoch"] = epoch,
                            Rcpp::_["lambda"] = lambda, Rcpp::_["loss"] = loss,
                            Rcpp::_["hard_loss"] = hard, Rcpp::_["valid_loss"] = valid,
                            Rcpp::_["seconds"] = seconds);
}

Rcpp::List write_columns(const cpt::Columns& c) {
  return Rcpp::List::create(Rcpp::_["mean"] = c.mean, Rcpp::_["sd"] = c.sd,
                            Rcpp::_["min"] = c.min, Rcpp::_["max"] = c.max,
                            Rcpp::_["whole"] = Rcpp::LogicalVector(c.whole.begin(), c.whole.end()));
}

Rcpp::List write_fit(const cpt::FitResult& result) {
  std::vector<int> where(result.where.size());
  for (std::size_t i = 0; i < where.size(); ++i) where[i] = result.tree.node[result.where[i]];
  Rcpp::List tree = write_tree(result.tree);
  write_models(result.models, tree);
  return Rcpp::List::create(Rcpp::_["tree"] = tree, Rcpp::_["where"] = where,
                            Rcpp::_["history"] = write_history(result.history),
                            Rcpp::_["columns"] = write_columns(result.columns));
}

}  // namespace

// One fit for each element of `valid` and `options`.
// [[Rcpp::export(rng = false)]]
Rcpp::List engine_fit_all(SEXP x, Rcpp::NumericVector y, Rcpp::List weights, Rcpp::List valid,
                          Rcpp::List options, int threads,
                          Rcpp::Nullable<Rcpp::Function> on_tick) {
  std::vector<cpt::FitInput> inputs(options.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Rcpp::LogicalVector held_out = valid[i];
    const Rcpp::NumericVector weight = weights[i];
    inputs[i].x = view_matrix(x);
    inputs[i].y.assign(y.begin(), y.end());
    inputs[i].weight.assign(weight.begin(), weight.end());
    inputs[i].valid.assign(held_out.begin(), held_out.end());
    inputs[i].options = read_options(options[i]);
    inputs[i].fill_all = field<bool>(options[i], "fill_all");
  }
  std::vector<cpt::FitResult> results;
  run_engine(threads, [&](const cpt::Hooks& hooks) { results = cpt::fit_all(inputs, hooks); },
             on_tick);
  Rcpp::List out(results.size());
  for (std::size_t i = 0; i < results.size(); ++i) out[i] = write_fit(results[i]);
  return out;
}

// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector engine_medians(SEXP x, Rcpp::NumericVector weights) {
  const cpt::MatrixView view = view_matrix(x);
  const std::vector<double> w(weights.begin(), weights.end());
  std::vector<double> median;
  run_engine(1, [&](const cpt::Hooks& hooks) { median = cpt::column_medians(view, w, hooks); });
  Rcpp::NumericVector out(median.begin(), median.end());
  for (double& m : out)
    if (ISNAN(m)) m = NA_REAL;
  return out;
}

// [[Rcpp::export(rng = false)]]
Rcpp::IntegerVector engine_route(Rcpp::List tree, SEXP x, int threads) {
  const cpt::MatrixView view = view_matrix(x);
  const cpt::Tree t = read_tree(tree, view.cols);
  std::vector<int> leaf;
  run_engine(threads, [&](const cpt::Hooks& hooks) {
    leaf = cpt::route(t, cpt::Rows(view), hooks);
  });
  return shifted(leaf, 1);
}

// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix engine_soft(Rcpp::List tree, Rcpp::NumericMatrix value, SEXP x, int threads) {
  const cpt::MatrixView view = view_matrix(x);
  const cpt::Tree t = read_tree(tree, view.cols);
  if (value.nrow() != t.size()) throw cpt::Error("value must have one row a node");
  const int width = value.ncol();
  std::vector<double> by_node(static_cast<std::size_t>(t.size()) * width), out;
  for (int v = 0; v < t.size(); ++v)
    for (int c = 0; c < width; ++c) by_node[static_cast<std::size_t>(v) * width + c] = value(v, c);
  run_engine(threads, [&](const cpt::Hooks& hooks) {
    out = cpt::soft_values(t, by_node, width, cpt::Rows(view), hooks);
  });
  return by_rows(out, view.rows, width);
}

// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector engine_linear(Rcpp::List models, Rcpp::IntegerVector at, SEXP x, int threads) {
  const cpt::MatrixView view = view_matrix(x);
  const cpt::LeafModels m = read_models(models, view.cols);
  if (at.size() != view.rows) throw cpt::Error("every row needs the position of its node");
  for (int v : at)
    if (v < 1 || v > static_cast<int>(m.intercept.size()))
      throw cpt::Error("a position is not that of a node");
  const std::vector<int> node = zero_based(Rcpp::as<std::vector<int>>(at));
  std::vector<double> out;
  run_engine(threads, [&](const cpt::Hooks& hooks) {
    out = cpt::linear_values(m, node, cpt::Rows(view), hooks);
  });
  return Rcpp::wrap(out);
}

// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector engine_soft_linear(Rcpp::List tree, Rcpp::List models, SEXP x, int threads) {
  const cpt::MatrixView view = view_matrix(x);
  const cpt::Tree t = read_tree(tree, view.cols);
  const cpt::LeafModels m = read_models(models, view.cols);
  if (static_cast<int>(m.intercept.size()) != t.size())
    throw cpt::Error("there must be one linear model a node");
  std::vector<double> out;
  run_engine(threads, [&](const cpt::Hooks& hooks) {
    out = cpt::soft_linear(t, m, cpt::Rows(view), hooks);
  });
  return Rcpp::wrap(out);
}

// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix engine_evidence(Rcpp::List tree, int position, SEXP x, int threads) {
  const cpt::MatrixView view = view_matrix(x);
  const cpt::Tree t = read_tree(tree, view.cols);
  if (position < 1 || position > t.size() || t.is_leaf(position - 1))
    throw cpt::Error("position must be that of a node with a split");
  std::vector<double> out;
  run_engine(threads, [&](const cpt::Hooks& hooks) {
    out = cpt::node_evidence(t, position - 1, cpt::Rows(view), hooks);
  });
  return by_rows(out, view.rows, t.facets[position - 1]);
}

// [[Rcpp::export(rng = false)]]
Rcpp::CharacterVector engine_kernels(std::string choose) {
  if (!choose.empty()) cpt::choose_kernels(choose);
  std::vector<std::string> names = cpt::kernels_available();
  Rcpp::CharacterVector out(names.begin(), names.end());
  out.attr("in_use") = std::string(cpt::kernels().name);
  return out;
}

// ---- LIBSVM text: open a reader, feed it bytes, close it ----------------------------

// [[Rcpp::export(rng = false)]]
SEXP libsvm_open(bool zero_based, int features) {
  return Rcpp::XPtr<cpt::LibsvmReader>(new cpt::LibsvmReader(zero_based, features));
}

// [[Rcpp::export(rng = false)]]
void libsvm_feed(SEXP reader, Rcpp::RawVector bytes) {
  Rcpp::XPtr<cpt::LibsvmReader>(reader)->feed(reinterpret_cast<const char*>(bytes.begin()),
                                              bytes.size());
}

// [[Rcpp::export(rng = false)]]
Rcpp::List libsvm_close(SEXP reader) {
  Rcpp::XPtr<cpt::LibsvmReader> r(reader);
  r->finish();
  Rcpp::IntegerVector p(static_cast<R_xlen_t>(r->columns()) + 1), i(r->nonzeros());
  Rcpp::NumericVector x(r->nonzeros());
  r->write(p.begin(), i.begin(), x.begin());
  Rcpp::List out = Rcpp::List::create(
      Rcpp::_["p"] = p, Rcpp::_["i"] = i, Rcpp::_["x"] = x, Rcpp::_["y"] = r->labels(),
      Rcpp::_["dim"] = Rcpp::IntegerVector::create(r->rows(), r->columns()),
      Rcpp::_["groups"] = static_cast<double>(r->groups()));
  r.release();
  return out;
}
