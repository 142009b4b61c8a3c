// tree.cpp: see tree.h.
#include "tree.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cpt {

namespace {

void append_node(Tree& tree, int id, int parent, int depth, double threshold, int facets) {
  tree.node.push_back(id);
  tree.parent.push_back(parent);
  tree.depth.push_back(depth);
  tree.left.push_back(-1);
  tree.right.push_back(-1);
  tree.threshold.push_back(threshold);
  tree.first.push_back(static_cast<int>(tree.r.size()));
  tree.facets.push_back(facets);
}

void append_gate(Tree& tree, const Gate& gate, const Scaling& scaling) {
  for (int k = 0; k < gate.facets; ++k) {
    double intercept = gate.a()[k];
    for (int j = 0; j < gate.d; ++j) {
      const double b = gate.B()[static_cast<std::size_t>(j) * gate.width + k] * scaling.inverse(j);
      intercept -= b * scaling.centre[j];
      tree.coef.push_back(b);
    }
    tree.intercept.push_back(intercept);
    tree.r.push_back(gate.r(k));
  }
}

int append_soft(Tree& tree, const std::vector<Node>& nodes, int v, int id, int parent, int depth,
                const Scaling& scaling) {
  const Node& from = nodes[v];
  const double leaf = std::numeric_limits<double>::quiet_NaN();
  const int here = tree.size();
  append_node(tree, id, parent, depth, from.is_leaf() ? leaf : from.gate.g0(), from.gate.facets);
  if (from.is_leaf()) return here;
  append_gate(tree, from.gate, scaling);
  tree.left[here] = append_soft(tree, nodes, from.left, 2 * id, id, depth + 1, scaling);
  const int right = append_soft(tree, nodes, from.right, 2 * id + 1, id, depth + 1, scaling);
  tree.right[here] = right;
  return here;
}

int append_kept(Tree& tree, const Tree& from, const std::vector<int>& become, int v, int id,
                int parent, int depth) {
  while (become[v] >= 0 && become[v] != v) v = become[v];
  const bool leaf = from.is_leaf(v) || become[v] < 0;
  const int here = tree.size();
  append_node(tree, id, parent, depth,
              leaf ? std::numeric_limits<double>::quiet_NaN() : from.threshold[v],
              leaf ? 0 : from.facets[v]);
  if (leaf) return here;
  for (int f = from.first[v]; f < from.first[v] + from.facets[v]; ++f) {
    tree.r.push_back(from.r[f]);
    tree.intercept.push_back(from.intercept[f]);
    const auto coef = from.coef.begin() + static_cast<std::size_t>(f) * from.cols;
    tree.coef.insert(tree.coef.end(), coef, coef + from.cols);
  }
  tree.left[here] = append_kept(tree, from, become, from.left[v], 2 * id, id, depth + 1);
  const int right = append_kept(tree, from, become, from.right[v], 2 * id + 1, id, depth + 1);
  tree.right[here] = right;
  return here;
}

double facet_score(const Tree& tree, int facet, const RowView& x) {
  return tree.intercept[facet] +
         dot(x, tree.coef.data() + static_cast<std::size_t>(facet) * tree.cols);
}

double softplus(double z) { return std::max(z, 0.0) + std::log1p(std::exp(-std::fabs(z))); }

}  // namespace

Tree to_user_units(const std::vector<Node>& nodes, const Scaling& scaling, double lambda,
                   int outputs) {
  Tree tree;
  tree.cols = static_cast<int>(scaling.centre.size());
  tree.outputs = outputs;
  tree.lambda = lambda;
  append_soft(tree, nodes, 0, 1, 0, 0, scaling);
  return tree;
}

Tree contract(const Tree& from, const std::vector<int>& become) {
  Tree tree;
  tree.cols = from.cols;
  tree.outputs = from.outputs;
  tree.lambda = from.lambda;
  append_kept(tree, from, become, 0, 1, 0, 0);
  return tree;
}

std::vector<int> parent_positions(const Tree& tree) {
  std::vector<int> parent(tree.size(), -1);
  for (int v = 0; v < tree.size(); ++v)
    if (!tree.is_leaf(v)) parent[tree.left[v]] = parent[tree.right[v]] = v;
  return parent;
}

double facet_evidence(const Tree& tree, int facet, const RowView& x) {
  return tree.r[facet] * softplus(facet_score(tree, facet, x));
}

bool goes_right(const Tree& tree, int v, const RowView& x) {
  double g = 0;
  for (int f = tree.first[v]; f < tree.first[v] + tree.facets[v]; ++f) {
    const double z = facet_score(tree, f, x);
    // Softplus is at least its ramp, so mostly the ramp alone tells, without exp and log.
    if (g + tree.r[f] * std::max(z, 0.0) > tree.threshold[v]) return true;
    g += tree.r[f] * softplus(z);
    if (g > tree.threshold[v]) return true;
  }
  return false;
}

int route(const Tree& tree, const RowView& x) {
  int v = 0;
  while (!tree.is_leaf(v)) v = goes_right(tree, v, x) ? tree.right[v] : tree.left[v];
  return v;
}

std::vector<int> route(const Tree& tree, const Rows& rows, const Hooks& hooks) {
  std::vector<int> leaf(rows.size());
  for_each_row(rows, hooks, [&](int i, const RowView& x) { leaf[i] = route(tree, x); });
  return leaf;
}

}  // namespace cpt
