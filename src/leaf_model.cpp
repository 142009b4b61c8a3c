// leaf_model.cpp: see leaf_model.h.
#include "leaf_model.h"

#include <algorithm>
#include <limits>

#include "ridge.h"

namespace cpt {

namespace {

constexpr double margin = 0.1;       // of the range of outcomes, on both sides
constexpr double large_work = 1e10;  // multiplications; nodes above are done one at a time
constexpr double infinity = std::numeric_limits<double>::infinity();

// The training rows that pass each node, in their order.
std::vector<std::vector<int>> rows_of_nodes(const Tree& tree, const std::vector<int>& where,
                                            const std::vector<int>& training) {
  const std::vector<int> parent = parent_positions(tree);
  std::vector<std::vector<int>> rows(tree.size());
  for (int row : training)
    for (int v = where[row]; v >= 0; v = parent[v]) rows[v].push_back(row);
  return rows;
}

}  // namespace

double LeafModels::value(int v, const RowView& x) const {
  const double z = intercept[v] + dot(x, coef.data() + static_cast<std::size_t>(v) * cols);
  return std::min(std::max(z, low[v]), high[v]);
}

LeafModels fit_leaf_models(const Tree& tree, const std::vector<int>& where,
                           const std::vector<int>& training, const ModelData& data,
                           const Hooks& hooks) {
  const int nodes = tree.size(), p = data.rows.cols();
  const std::vector<std::vector<int>> rows = rows_of_nodes(tree, where, training);
  LeafModels models;
  models.cols = p;
  for (std::vector<double>* v : {&models.intercept, &models.low, &models.high})
    v->assign(nodes, 0.0);
  models.coef.assign(static_cast<std::size_t>(nodes) * p, 0.0);
  const auto fit_node = [&](int v, const Hooks& inner) {
    models.intercept[v] = models.low[v] = models.high[v] = tree.value[v];
    if (rows[v].empty()) return;
    const Ridge ridge = fit_ridge(data, rows[v], RidgeLimits(), inner);
    double least = tree.value[v], most = least;  // a council may have moved it out of their range
    for (int row : rows[v]) {
      least = std::min(least, data.y[row]);
      most = std::max(most, data.y[row]);
    }
    models.low[v] = least - margin * (most - least);
    models.high[v] = most + margin * (most - least);
    if (!(ridge.chosen < infinity)) return;  // the mean as the tree has it, to the last bit
    models.intercept[v] = ridge.intercept;
    std::copy(ridge.coef.begin(), ridge.coef.end(),
              models.coef.begin() + static_cast<std::size_t>(v) * p);
  };
  // Large nodes share their work out, small ones are shared out.
  std::vector<int> small;
  for (int v = 0; v < nodes; ++v) {
    const double n = static_cast<double>(rows[v].size());
    if (n * p * std::min(n, double(p)) > large_work) fit_node(v, hooks);
    else small.push_back(v);
    hooks.stop_if_cancelled();
  }
  hooks.run(static_cast<int>(small.size()), [&](int t) { fit_node(small[t], hooks.serial()); });
  return models;
}

std::vector<double> linear_values(const LeafModels& models, const std::vector<int>& at,
                                  const Rows& rows, const Hooks& hooks) {
  std::vector<double> out(rows.size());
  for_each_row(rows, hooks, [&](int i, const RowView& x) { out[i] = models.value(at[i], x); });
  return out;
}

}  // namespace cpt
