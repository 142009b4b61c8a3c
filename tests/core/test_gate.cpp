// test_gate.cpp: the function of one gate: g is convex and so is {g <= g0} (the
// paper's Theorem 1), for the gate in training and for the finished tree; the soft
// gate is the paper's f_lambda.
#include <algorithm>

#include "predict.h"
#include "stump.h"
#include "support.h"
#include "test.h"

using namespace support;

namespace {

// Triples of rows: two random points and one on the segment between them.
Matrix segments(int count, int p, std::uint64_t seed, std::vector<double>* share) {
  Matrix m(3 * count, p);
  Stream s = random_numbers(seed);
  for (int i = 0; i < count; ++i) {
    share->push_back(s.uniform());
    for (int j = 0; j < p; ++j) {
      m.at(3 * i, j) = 2 * s.normal();
      m.at(3 * i + 1, j) = 2 * s.normal();
      m.at(3 * i + 2, j) =
          share->back() * m.at(3 * i, j) + (1 - share->back()) * m.at(3 * i + 1, j);
    }
  }
  return m;
}

std::vector<Real> evidence(World& w, const Gate& gate) {
  return gate_evidence(w.data, gate, w.all, w.hooks);
}

Tree stump_tree(const Gate& gate, const Scaling& scaling, double lambda) {
  std::vector<Node> nodes(3);
  nodes[0].left = 1;
  nodes[0].right = 2;
  nodes[0].gate = gate;
  return to_user_units(nodes, scaling, lambda, 2);
}

// The same numbers by plain loops.
double plain_evidence(const Gate& gate, const Matrix& m, int i, const Scaling& scaling) {
  double g = 0;
  for (int k = 0; k < gate.facets; ++k) {
    double z = gate.a()[k];
    for (int j = 0; j < m.p; ++j)
      z += (m.at(i, j) - scaling.centre[j]) * scaling.inverse(j) * gate.B()[j * gate.width + k];
    g += gate.r(k) * (std::max(z, 0.0) + std::log1p(std::exp(-std::fabs(z))));
  }
  return g;
}

}  // namespace

TEST(gate_evidence_is_the_formula_dense_and_sparse) {
  Matrix m = random_matrix(120, 7, 0.5, 20);
  const std::vector<double> y(m.n, 0.0), weight(m.n, 1.0);
  Stream s = random_numbers(21);
  for (int facets : {1, 3, 8, 9, 20})
    for (bool sparse : {false, true}) {
      World w(m.view(sparse), y, weight, options_for(false));
      const Gate gate = random_parameters(m.p, facets, s);
      std::vector<Real> terms;
      const std::vector<Real> g = gate_evidence(w.data, gate, w.all, w.hooks, &terms);
      for (int i = 0; i < m.n; ++i) {
        const double want = plain_evidence(gate, m, i, w.data.scaling());
        const double tolerance = (is_double ? 1e-13 : 3e-6) * (1 + want);
        CHECK(std::fabs(g[i] - want) < tolerance, facets, sparse, i, g[i], want);
        double sum = 0;
        for (int k = 0; k < gate.width; ++k) sum += terms[i * gate.width + k];
        CHECK(std::fabs(sum - want) < tolerance, facets, sparse, i, sum, want);
      }
    }
}

TEST(gate_inside_is_convex_on_random_segments) {
  std::vector<double> share;
  Matrix m = segments(1500, 4, 22, &share);
  const std::vector<double> y(m.n, 0.0), weight(m.n, 1.0);
  World w(m.dense(), y, weight, options_for(false));
  Stream s = random_numbers(23);
  const double rounding = is_double ? 1e-13 : 5e-6;
  for (int facets : {1, 4, 11}) {
    const Gate gate = random_parameters(m.p, facets, s);
    const std::vector<Real> g = evidence(w, gate);
    std::vector<Real> sorted = g;
    std::sort(sorted.begin(), sorted.end());
    const double g0 = sorted[sorted.size() / 2];
    int inside = 0;
    for (std::size_t i = 0; i < share.size(); ++i) {
      const double a = g[3 * i], b = g[3 * i + 1], between = g[3 * i + 2];
      const double chord = share[i] * a + (1 - share[i]) * b;
      CHECK(between <= chord + rounding * (1 + chord), facets, i, between, chord);
      if (a > g0 || b > g0) continue;
      ++inside;
      CHECK(between <= g0 + rounding * (1 + g0), facets, i, between, g0);
    }
    CHECK(inside > 200, facets, inside);
  }
}

TEST(gate_tree_inside_is_convex_on_random_segments) {
  std::vector<double> share;
  Matrix m = segments(1500, 4, 24, &share);
  const std::vector<double> y(m.n, 0.0), weight(m.n, 1.0);
  World w(m.dense(), y, weight, options_for(false));
  Stream s = random_numbers(25);
  for (int facets : {1, 4, 11}) {
    Gate gate = random_parameters(m.p, facets, s);
    std::vector<Real> g = evidence(w, gate);
    std::sort(g.begin(), g.end());
    gate.g0() = g[g.size() / 2];
    const Tree tree = stump_tree(gate, w.data.scaling(), 1);
    int inside = 0, both = 0;
    std::vector<double> buffer;
    for (std::size_t i = 0; i < share.size(); ++i) {
      const std::vector<RowView> x = w.rows.block(static_cast<int>(3 * i), 3, buffer);
      const bool a = goes_right(tree, 0, x[0]), b = goes_right(tree, 0, x[1]);
      both += a && b && !goes_right(tree, 0, x[2]);
      if (a || b) continue;
      ++inside;
      CHECK(!goes_right(tree, 0, x[2]), facets, i);
    }
    CHECK(inside > 200, facets, inside);
    CHECK(facets == 1 || both > 0, facets, both);  // the outside is not convex
    CHECK(facets > 1 || both == 0, facets, both);  // one facet: two half spaces
  }
}

// All rows of the batch from the root to the leaves.
void send_all(const World& w, const std::vector<Node>& nodes, const Batch& batch, const Rule& rule,
              Pass& pass) {
  std::vector<char> is_leaf;
  for (const Node& node : nodes) is_leaf.push_back(node.is_leaf());
  pass.clear();
  pass.add({0, batch.rows});
  std::vector<GateView> views;
  refresh_views(w.data, nodes, views);
  pass.forward({w.data, nodes, views}, batch, 0, is_leaf, rule);
}

// Appendix of the paper: f = 1 - exp(-g), f_lambda = 1 / (1 + ((1 - f) / (1 - p0))^lambda).
TEST(gate_soft_rule_is_the_papers_f_lambda) {
  Matrix m = random_matrix(200, 5, 0.3, 26);
  const std::vector<double> y(m.n, 0.0), weight(m.n, 1.0);
  World w(m.dense(), y, weight, options_for(false));
  Stream s = random_numbers(27);
  for (int facets : {1, 6})
    for (double lambda : {0.5, 1.0, 4.0, 10.0}) {
      std::vector<Node> nodes(3);
      nodes[0].left = 1;
      nodes[0].right = 2;
      nodes[0].gate = random_parameters(m.p, facets, s);
      const double p0 = 1 - std::exp(-double(nodes[0].gate.g0()));
      Batch batch;
      batch.index = w.all;
      w.data.gather(batch, {}, Stream(0, 0, Purpose::dropout), w.hooks);
      Pass pass;
      send_all(w, nodes, batch, {Routing::soft, lambda}, pass);
      const Tree tree = to_user_units(nodes, w.data.scaling(), lambda, 2);
      const std::vector<double> value = {9, 9, 1, 0, 0, 1};  // rows: root, left, right
      const std::vector<double> soft = soft_values(tree, value, 2, w.rows, w.hooks);
      for (int i = 0; i < m.n; ++i) {
        const double f = 1 - std::exp(-plain_evidence(nodes[0].gate, m, i, w.data.scaling()));
        const double want = 1 / (1 + std::pow((1 - f) / (1 - p0), lambda));
        CHECK(std::fabs(pass.right[i] - want) < (is_double ? 1e-11 : 2e-5), lambda, i,
              pass.right[i], want);
        CHECK(std::fabs(soft[2 * i + 1] - want) < 1e-11, lambda, i, soft[2 * i + 1], want);
        CHECK(std::fabs(soft[2 * i] + soft[2 * i + 1] - 1) < 1e-14, lambda, i);
      }
    }
}

// The hard rule is f_lambda > 1/2 for every lambda; reaches add up to one.
TEST(gate_hard_rule_and_reach) {
  Matrix m = random_matrix(300, 4, 0.2, 28);
  const std::vector<double> y(m.n, 0.0), weight(m.n, 1.0);
  World w(m.dense(), y, weight, options_for(false));
  Stream s = random_numbers(29);
  const std::vector<Node> nodes = random_nodes(m.p, 3, {3, 1, 9}, s);
  Batch batch;
  batch.index = w.all;
  w.data.gather(batch, {}, Stream(0, 0, Purpose::dropout), w.hooks);
  for (double lambda : {0.5, 5.0}) {
    Pass soft, hard;
    send_all(w, nodes, batch, {Routing::soft, lambda}, soft);
    send_all(w, nodes, batch, {Routing::hard}, hard);
    for (int i = 0; i < m.n; ++i)
      CHECK((soft.right[i] > Real(0.5)) == (hard.right[i] == 1), lambda, i, soft.right[i]);
    for (const Pass* pass : {&soft, &hard}) {
      std::vector<double> arrived(m.n, 0.0);
      int entries = 0;
      for (const Visit& visit : pass->visits())
        if (nodes[visit.node].is_leaf())
          for (int e = visit.first; e < visit.first + visit.count; ++e, ++entries)
            arrived[pass->row[e]] += pass->reach[e];
      for (int i = 0; i < m.n; ++i) CHECK(std::fabs(arrived[i] - 1) < 1e-6, lambda, i, arrived[i]);
      if (pass == &hard) CHECK(entries == m.n, lambda, entries);
    }
  }
}

TEST(gate_without_keeps_the_other_facets) {
  Stream s = random_numbers(30);
  const Gate gate = random_parameters(3, 10, s);
  std::vector<char> dropped(10, 0);
  dropped[0] = dropped[4] = dropped[9] = 1;
  const Gate fewer = gate.without(dropped);
  const std::vector<int> kept = {1, 2, 3, 5, 6, 7, 8};
  CHECK(fewer.facets == 7 && fewer.width == 8, fewer.facets, fewer.width);
  CHECK(fewer.g0() == gate.g0());
  for (int k = 0; k < 7; ++k) {
    for (int j = 0; j < 3; ++j)
      CHECK(fewer.B()[j * fewer.width + k] == gate.B()[j * gate.width + kept[k]], j, k);
    CHECK(fewer.a()[k] == gate.a()[kept[k]] && fewer.log_r()[k] == gate.log_r()[kept[k]], k);
  }
}
