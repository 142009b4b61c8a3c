// panel.cpp: see panel.h.
#include "panel.h"

#include <algorithm>

namespace cpt {

namespace {

constexpr int panel_rows = 512;           // with fewer, deep nodes see rows one by one
constexpr std::size_t small_gate = 8192;  // numbers that stay in a core's own cache

}  // namespace

std::vector<RowRange> cut_into_panels(int rows, const std::vector<Node>& nodes) {
  std::size_t largest = 0;
  for (const Node& node : nodes) largest = std::max(largest, node.gate.theta.size());
  const int panels = largest > small_gate ? 1 : std::max(1, (rows + panel_rows / 2) / panel_rows);
  std::vector<RowRange> out;
  for (int p = 0, first = 0; p < panels; ++p) {
    const int last = static_cast<int>(static_cast<long long>(rows) * (p + 1) / panels);
    out.push_back({first, last - first});
    first = last;
  }
  return out;
}

void Panel::make_room() {
  const Visit& last = pass.visits().back();
  const std::size_t entries = last.first + last.count;
  if (below.size() >= entries) return;
  below.resize(entries);
  dg_.resize(entries);
}

// Children before parents.
void Panel::pull_back(const SoftTree& tree, const Batch& batch, const Task& task, double lambda,
                      double scale) {
  const std::vector<Visit>& visits = pass.visits();
  for (std::size_t v = visits.size(); v-- > 0;) {
    const Visit& visit = visits[v];
    if (tree.nodes[visit.node].is_leaf()) continue;
    for (int e = visit.first; e < visit.first + visit.count; ++e) {
      const int l = pass.left_entry[e], r = pass.right_entry[e];
      // A child that hardly anything reaches is taken to cost what its sibling costs.
      const double left = l >= 0 ? below[l] : below[r];
      const double right = r >= 0 ? below[r] : below[l];
      const double q = pass.right[e];
      below[e] = q * right + (1 - q) * left;
      const double w = task.weight(batch.index[pass.row[e]]) * scale;
      dg_[e] = static_cast<Real>(w * lambda * pass.reach[e] * (right - left) * q * (1 - q));
    }
  }
}

void Panel::make_tails(const SoftTree& tree, const Hooks& hooks) {
  const std::vector<Visit>& visits = pass.visits();
  if (tails_.size() < visits.size()) tails_.resize(visits.size());
  std::vector<double> work(visits.size(), 0.0);
  for (std::size_t v = 0; v < visits.size(); ++v)
    work[v] = 4.0 * visits[v].count * tree.nodes[visits[v].node].gate.width;
  parallel_by_work(work, hooks, [&](int v) {
    const Visit& visit = visits[v];
    if (tree.nodes[visit.node].is_leaf()) return;
    const GateView& view = tree.views[visit.node];
    tails_[v].resize(3 * view.gate->width);
    gate_backward_tail(view, visit.count, dg_.data() + visit.first,
                       pass.sigmoid.data() + visit.activation,
                       pass.softplus.data() + visit.activation, tails_[v].data());
  });
}

}  // namespace cpt
