// predict.cpp: see predict.h.
#include "predict.h"

#include <algorithm>
#include <cmath>

namespace cpt {

namespace {

// visit(leaf, P(leaf | x)) for the leaves below v, which is reached with probability `reach`.
template <class Visit>
void visit_below(const Tree& tree, const RowView& x, int v, double reach, const Visit& visit) {
  if (reach <= 0) return;
  if (tree.is_leaf(v)) {
    visit(v, reach);
    return;
  }
  double g = 0;
  for (int f = tree.first[v]; f < tree.first[v] + tree.facets[v]; ++f)
    g += facet_evidence(tree, f, x);
  const double right = 1.0 / (1.0 + std::exp(-tree.lambda * (g - tree.threshold[v])));
  visit_below(tree, x, tree.left[v], reach * (1 - right), visit);
  visit_below(tree, x, tree.right[v], reach * right, visit);
}

}  // namespace

std::vector<double> soft_values(const Tree& tree, const std::vector<double>& value, int width,
                                const Rows& rows, const Hooks& hooks) {
  std::vector<double> out(static_cast<std::size_t>(rows.size()) * width, 0.0);
  for_each_row(rows, hooks, [&](int i, const RowView& x) {
    double* sum = out.data() + static_cast<std::size_t>(i) * width;
    visit_below(tree, x, 0, 1.0, [&](int v, double reach) {
      for (int c = 0; c < width; ++c)
        sum[c] += reach * value[static_cast<std::size_t>(v) * width + c];
    });
  });
  return out;
}

std::vector<double> soft_linear(const Tree& tree, const LeafModels& models, const Rows& rows,
                                const Hooks& hooks) {
  std::vector<double> out(rows.size(), 0.0);
  for_each_row(rows, hooks, [&](int i, const RowView& x) {
    visit_below(tree, x, 0, 1.0, [&](int v, double reach) { out[i] += reach * models.value(v, x); });
  });
  return out;
}

std::vector<double> node_evidence(const Tree& tree, int v, const Rows& rows, const Hooks& hooks) {
  const int facets = tree.facets[v];
  std::vector<double> out(static_cast<std::size_t>(rows.size()) * facets);
  for_each_row(rows, hooks, [&](int i, const RowView& x) {
    for (int k = 0; k < facets; ++k)
      out[static_cast<std::size_t>(i) * facets + k] = facet_evidence(tree, tree.first[v] + k, x);
  });
  return out;
}

}  // namespace cpt
