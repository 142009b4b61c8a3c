// test_tree.cpp: the finished tree: units, routing and contraction.
#include <algorithm>

#include "predict.h"
#include "support.h"
#include "test.h"

using namespace support;

namespace {

// What every tree must be: preorder, heap ids, parents, depths, facets in order.
void check_structure(const Tree& t) {
  std::vector<int> pending = {0};  // positions still to come, next on top
  int facets = 0;
  for (int v = 0; v < t.size(); ++v) {
    CHECK(!pending.empty() && pending.back() == v, v);
    if (!pending.empty()) pending.pop_back();
    CHECK(t.first[v] == facets, v, t.first[v], facets);
    facets += t.facets[v];
    if (v == 0) CHECK(t.node[0] == 1 && t.parent[0] == 0 && t.depth[0] == 0);
    if (t.is_leaf(v)) {
      CHECK(t.right[v] == -1 && t.facets[v] == 0 && std::isnan(t.threshold[v]), v);
      continue;
    }
    CHECK(t.facets[v] >= 1 && std::isfinite(t.threshold[v]), v);
    const int l = t.left[v], r = t.right[v];
    CHECK(l == v + 1 && r > l && r < t.size(), v, l, r);
    CHECK(t.node[l] == 2 * t.node[v] && t.node[r] == 2 * t.node[v] + 1, v);
    CHECK(t.parent[l] == t.node[v] && t.parent[r] == t.node[v], v);
    CHECK(t.depth[l] == t.depth[v] + 1 && t.depth[r] == t.depth[v] + 1, v);
    pending.push_back(r);
    pending.push_back(l);
  }
  CHECK(pending.empty(), pending.size());
  CHECK(static_cast<int>(t.r.size()) == facets && static_cast<int>(t.intercept.size()) == facets);
  CHECK(t.coef.size() == static_cast<std::size_t>(facets) * t.cols, t.coef.size(), facets);
}

// A tree of random shape.
std::vector<Node> random_shape(int d, int splits, Stream& s) {
  std::vector<Node> nodes(1);
  std::vector<int> leaves = {0};
  for (int i = 0; i < splits; ++i) {
    std::swap(leaves[s.below(leaves.size())], leaves.back());
    const int v = leaves.back();
    leaves.pop_back();
    nodes[v].gate = random_parameters(d, 1 + static_cast<int>(s.below(4)), s);
    nodes[v].left = static_cast<int>(nodes.size());
    nodes[v].right = nodes[v].left + 1;
    for (int side = 0; side < 2; ++side) {
      leaves.push_back(static_cast<int>(nodes.size()));
      nodes.emplace_back();
      nodes.back().id = 2 * nodes[v].id + side;
      nodes.back().depth = nodes[v].depth + 1;
    }
  }
  return nodes;
}

Scaling some_scaling(int p, Stream& s) {
  Scaling out;
  for (int j = 0; j < p; ++j) {
    out.centre.push_back(s.normal());
    out.scale.push_back(j == 1 ? 0.0 : 0.5 + s.uniform());
  }
  return out;
}

// The heap id that a row ends at, by the meaning of `become` on the old tree.
int walk(const Tree& t, const std::vector<int>& become, const RowView& x, int* leaf) {
  int v = 0, id = 1;
  for (;;) {
    while (become[v] >= 0 && become[v] != v) v = become[v];
    if (t.is_leaf(v) || become[v] < 0) {
      *leaf = v;
      return id;
    }
    const bool right = goes_right(t, v, x);
    id = 2 * id + right;
    v = right ? t.right[v] : t.left[v];
  }
}

}  // namespace

TEST(tree_user_units_route_as_training_units) {
  Stream s = random_numbers(80);
  for (int splits : {0, 1, 5, 12}) {
    Matrix m = random_matrix(200, 4, 0.2, 81);
    const Scaling scaling = some_scaling(4, s);
    const std::vector<Node> nodes = random_shape(4, splits, s);
    const Tree tree = to_user_units(nodes, scaling, 3, 2);
    CHECK(tree.size() == 2 * splits + 1 && tree.cols == 4 && tree.lambda == 3, splits);
    check_structure(tree);
    for (std::size_t f = 0; f < tree.r.size(); ++f) CHECK(tree.coef[f * 4 + 1] == 0, f);
    const Rows rows(m.dense());
    std::vector<double> buffer;
    const std::vector<RowView> x = rows.block(0, m.n, buffer);
    for (int i = 0; i < m.n; ++i) {
      int v = 0;
      double nearest = 1;  // rows on an edge may go either way
      while (!nodes[v].is_leaf()) {
        const Gate& gate = nodes[v].gate;
        double g = 0;
        for (int k = 0; k < gate.facets; ++k) {
          double z = gate.a()[k];
          for (int j = 0; j < 4; ++j)
            z += (m.at(i, j) - scaling.centre[j]) * scaling.inverse(j) * gate.B()[j * gate.width + k];
          g += gate.r(k) * std::log1p(std::exp(z));
        }
        nearest = std::min(nearest, std::fabs(g - gate.g0()));
        v = g > gate.g0() ? nodes[v].right : nodes[v].left;
      }
      const int leaf = route(tree, x[i]);
      CHECK(nearest < 1e-9 || tree.node[leaf] == static_cast<int>(nodes[v].id), splits, i,
            tree.node[leaf], nodes[v].id);
    }
  }
}

TEST(tree_dense_and_sparse_rows_route_bit_for_bit) {
  Stream s = random_numbers(82);
  for (int p : {1, 7, 8, 9, 33}) {
    Matrix m = random_matrix(300, p, 0.6, 83);
    Scaling unit;
    unit.centre.assign(p, 0.0);
    unit.scale.assign(p, 1.0);
    const Tree tree = to_user_units(random_shape(p, 6, s), unit, 2, 2);
    const Rows dense(m.dense()), sparse(m.sparse());
    CHECK(route(tree, dense, serial_hooks()) == route(tree, sparse, thread_hooks(3)), p);
    for (int v = 0; v < tree.size(); ++v)
      if (!tree.is_leaf(v))
        CHECK(same_bits(node_evidence(tree, v, dense, serial_hooks()),
                        node_evidence(tree, v, sparse, reversed_hooks())), p, v);
  }
}

TEST(tree_early_stop_gives_the_answer_of_the_full_sum) {
  Stream s = random_numbers(84);
  Matrix m = random_matrix(500, 3, 0.0, 85);
  Scaling unit;
  unit.centre.assign(3, 0.0);
  unit.scale.assign(3, 1.0);
  const Tree tree = to_user_units(random_shape(3, 5, s), unit, 2, 2);
  const Rows rows(m.dense());
  std::vector<double> buffer;
  const std::vector<RowView> x = rows.block(0, m.n, buffer);
  for (int v = 0; v < tree.size(); ++v) {
    if (tree.is_leaf(v)) continue;
    const std::vector<double> terms = node_evidence(tree, v, rows, serial_hooks());
    for (int i = 0; i < m.n; ++i) {
      double g = 0;
      for (int k = 0; k < tree.facets[v]; ++k) g += terms[i * tree.facets[v] + k];
      CHECK(goes_right(tree, v, x[i]) == (g > tree.threshold[v]), v, i, g);
    }
  }
}

// P(leaf | x) times value, by a walk over all leaves.
TEST(tree_soft_values_are_the_sum_over_leaves) {
  Stream s = random_numbers(86);
  Matrix m = random_matrix(100, 3, 0.2, 87);
  Scaling unit;
  unit.centre.assign(3, 0.0);
  unit.scale.assign(3, 1.0);
  const Tree tree = to_user_units(random_shape(3, 7, s), unit, 1.7, 2);
  std::vector<double> value(2 * tree.size());
  for (int v = 0; v < tree.size(); ++v) {
    value[2 * v] = tree.is_leaf(v) ? s.normal() : HUGE_VAL;  // inner nodes do not count
    value[2 * v + 1] = tree.is_leaf(v) ? 1 : HUGE_VAL;
  }
  const Rows rows(m.sparse());
  const std::vector<double> got = soft_values(tree, value, 2, rows, thread_hooks(3));
  std::vector<std::vector<double>> terms(tree.size());
  for (int v = 0; v < tree.size(); ++v)
    if (!tree.is_leaf(v)) terms[v] = node_evidence(tree, v, rows, serial_hooks());
  for (int i = 0; i < m.n; ++i) {
    std::vector<double> reach(tree.size(), 0.0);
    reach[0] = 1;
    double want = 0;
    for (int v = 0; v < tree.size(); ++v) {
      if (tree.is_leaf(v)) {
        want += reach[v] * value[2 * v];
        continue;
      }
      double g = 0;
      for (int k = 0; k < tree.facets[v]; ++k) g += terms[v][i * tree.facets[v] + k];
      const double q = 1 / (1 + std::exp(-1.7 * (g - tree.threshold[v])));
      reach[tree.left[v]] = reach[v] * (1 - q);
      reach[tree.right[v]] = reach[v] * q;
    }
    CHECK(std::fabs(got[2 * i] - want) < 1e-12, i, got[2 * i], want);
    CHECK(std::fabs(got[2 * i + 1] - 1) < 1e-12, i, got[2 * i + 1]);
  }
}

TEST(tree_contract_keeps_ids_preorder_and_parents_consistent) {
  Stream s = random_numbers(88);
  Matrix m = random_matrix(150, 3, 0.0, 89);
  const Rows rows(m.dense());
  std::vector<double> buffer;
  const std::vector<RowView> x = rows.block(0, m.n, buffer);
  int shrunk = 0;
  for (int trial = 0; trial < 60; ++trial) {
    const Tree tree = to_user_units(random_shape(3, 10, s), some_scaling(3, s), 2, 2);
    check_structure(tree);
    std::vector<int> become(tree.size());
    for (int v = 0; v < tree.size(); ++v) {
      become[v] = v;
      if (tree.is_leaf(v)) continue;
      const double u = s.uniform();
      if (u < 0.15) become[v] = -1;
      else if (u < 0.25) become[v] = tree.left[v];
      else if (u < 0.35) become[v] = tree.right[v];
    }
    const Tree fewer = contract(tree, become);
    check_structure(fewer);
    CHECK(fewer.cols == tree.cols && fewer.outputs == tree.outputs && fewer.lambda == tree.lambda);
    shrunk += fewer.size() < tree.size();
    for (int i = 0; i < m.n; ++i) {
      int old = 0;
      const int want = walk(tree, become, x[i], &old), got = fewer.node[route(fewer, x[i])];
      CHECK(got == want, trial, i, got, want);
    }
  }
  CHECK(shrunk > 40, shrunk);
}

TEST(tree_contract_of_nothing_and_of_everything) {
  Stream s = random_numbers(90);
  const Tree tree = to_user_units(random_shape(3, 6, s), some_scaling(3, s), 2, 2);
  std::vector<int> become(tree.size());
  std::iota(become.begin(), become.end(), 0);
  CHECK(same_bits(contract(tree, become), tree));
  become[0] = -1;
  const Tree root = contract(tree, become);
  CHECK(root.size() == 1 && root.is_leaf(0) && root.r.empty() && root.coef.empty());
  check_structure(root);
}
