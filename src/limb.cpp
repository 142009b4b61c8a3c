// limb.cpp: see limb.h.
#include "limb.h"

#include <algorithm>

namespace cpt {

namespace {

constexpr int panel_rows = 256;  // at most; with few, the ends of the trunk see them one by one
constexpr int trunk_share = 8;   // of all work, 1 / 8 or more is at a node of it and below

}  // namespace

std::vector<RowRange> cut_into_panels(int rows) {
  const int panels = (rows + panel_rows - 1) / panel_rows;
  std::vector<RowRange> out;
  for (int p = 0, first = 0; p < panels; ++p) {
    const int last = static_cast<int>(static_cast<long long>(rows) * (p + 1) / panels);
    out.push_back({first, last - first});
    first = last;
  }
  return out;
}

std::vector<double> even_shares(const std::vector<Node>& nodes) {
  std::vector<double> share(nodes.size(), 1.0);
  for (std::size_t v = 0; v < nodes.size(); ++v)  // children come after their parents
    if (!nodes[v].is_leaf()) share[nodes[v].left] = share[nodes[v].right] = share[v] / 2;
  return share;
}

std::vector<char> trunk_ends(const std::vector<Node>& nodes, const std::vector<double>& share) {
  std::vector<double> work(nodes.size(), 0.0);  // of a node and those below
  for (std::size_t v = nodes.size(); v-- > 0;)
    if (!nodes[v].is_leaf())
      work[v] = share[v] * nodes[v].gate.theta.size() + work[nodes[v].left] + work[nodes[v].right];
  std::vector<char> out(nodes.size());
  for (std::size_t v = 0; v < nodes.size(); ++v)
    out[v] = nodes[v].is_leaf() || work[v] * trunk_share < work[0];
  return out;
}

void Limb::make_room() {
  if (pass.visits().empty()) return;
  const Visit& last = pass.visits().back();
  const std::size_t entries = last.first + last.count;
  if (below.size() >= entries) return;
  below.resize(entries);
  dg_.resize(entries);
}

// Children before parents.
void Limb::pull_back(const std::vector<double>& pull) {
  const std::vector<Visit>& visits = pass.visits();
  for (std::size_t v = visits.size(); v-- > 0;) {
    const Visit& visit = visits[v];
    if (visit.ends) continue;
    for (int e = visit.first; e < visit.first + visit.count; ++e) {
      const int l = pass.left_entry[e], r = pass.right_entry[e];
      // A child that hardly anything reaches is taken to cost what its sibling costs.
      const double left = below[l >= 0 ? l : r], right = below[r >= 0 ? r : l];
      const double q = pass.right[e];
      below[e] = q * right + (1 - q) * left;
      dg_[e] = static_cast<Real>(pull[pass.row[e]] * pass.reach[e] * (right - left) * q * (1 - q));
    }
  }
}

void Limb::make_tails(const SoftTree& tree) {
  const std::vector<Visit>& visits = pass.visits();
  if (tails_.size() < visits.size()) tails_.resize(visits.size());
  for (std::size_t v = 0; v < visits.size(); ++v) {
    const Visit& visit = visits[v];
    if (visit.ends) continue;
    const GateView& view = tree.views[visit.node];
    tails_[v].resize(3 * view.gate->width);
    gate_backward_tail(view, visit.count, dg_.data() + visit.first,
                       pass.sigmoid.data() + visit.activation,
                       pass.softplus.data() + visit.activation, tails_[v].data());
  }
}

void Limb::make_gradients(const SoftTree& tree, const Batch& batch) {
  const std::vector<Visit>& visits = pass.visits();
  if (gradients_.size() < visits.size()) gradients_.resize(visits.size());
  for (std::size_t v = 0; v < visits.size(); ++v) {
    const Visit& visit = visits[v];
    if (visit.ends) continue;
    gradients_[v].assign(tree.nodes[visit.node].gate.tail(), 0);
    gate_backward_rows(tree.data, batch, tree.views[visit.node], {0, 1}, visit.count,
                       pass.row.data() + visit.first, pass.sigmoid.data() + visit.activation,
                       gradients_[v].data());
  }
}

}  // namespace cpt
