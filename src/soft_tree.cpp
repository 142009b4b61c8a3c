// soft_tree.cpp: see soft_tree.h.
#include "soft_tree.h"

#include <algorithm>
#include <cmath>

namespace cpt {

namespace {

constexpr int block_rows = 96;     // rows of one product, whose result stays in cache
constexpr double task_work = 1e5;  // multiply-adds that are worth a task
constexpr int tasks_a_thread = 16;  // enough to even out what `work` does not know

template <class Vector>
void at_least(Vector& v, std::size_t size) {
  if (v.size() < size) v.resize(std::max(size, v.size() + v.size() / 2));
}

}  // namespace

void parallel_by_work(const std::vector<double>& work, const Hooks& hooks,
                      const std::function<void(int)>& body) {
  const int items = static_cast<int>(work.size());
  double all = 0;
  for (double w : work) all += w;
  if (hooks.threads == 1 || all < 2 * task_work) {
    for (int i = 0; i < items; ++i) body(i);
    return;
  }
  // Tasks of about the same size, so that a thread's share of them is its share of the work.
  const double enough = std::max(task_work, all / (tasks_a_thread * hooks.threads));
  std::vector<int> bounds(1, 0);
  double sum = 0;
  for (int i = 0; i < items; ++i) {
    sum += work[i];
    if (sum < enough && i + 1 < items) continue;
    bounds.push_back(i + 1);
    sum = 0;
  }
  hooks.run(static_cast<int>(bounds.size()) - 1, [&](int t) {
    for (int i = bounds[t]; i < bounds[t + 1]; ++i) body(i);
  });
}

void refresh_views(const TrainingData& data, const std::vector<Node>& nodes,
                   std::vector<GateView>& views) {
  views.resize(nodes.size());
  for (std::size_t v = 0; v < nodes.size(); ++v)
    if (!nodes[v].is_leaf()) views[v].refresh(nodes[v].gate, data);
}

void Pass::clear() {
  for (const Visit& visit : visits_) place_[visit.node] = -1;
  visits_.clear();
  activations_ = 0;
  entries_ = 0;
}

void Pass::add(RowRange rows) {
  at_least(row, entries_ + rows.count);
  at_least(reach, entries_ + rows.count);
  for (int i = 0; i < rows.count; ++i, ++entries_) {
    row[entries_] = rows.first + i;
    reach[entries_] = 1;
  }
}

void Pass::add(const Pass& other, const Visit& visit) {
  at_least(row, entries_ + visit.count);
  at_least(reach, entries_ + visit.count);
  std::copy_n(other.row.begin() + visit.first, visit.count, row.begin() + entries_);
  std::copy_n(other.reach.begin() + visit.first, visit.count, reach.begin() + entries_);
  entries_ += visit.count;
}

void Pass::forward(const SoftTree& tree, const Batch& batch, int top,
                   const std::vector<char>& is_end, const Rule& rule) {
  if (place_.size() < tree.nodes.size()) place_.resize(tree.nodes.size(), -1);
  add_visit(top, is_end, 0, entries_);
  int begin = 0, end = static_cast<int>(visits_.size());
  while (begin < end) {  // one level of the tree at a time
    prepare_level(tree.nodes, begin, end);
    for (int v = begin; v < end; ++v) {
      if (visits_[v].ends) continue;
      evaluate(tree, batch, rule, visits_[v]);
      send_on(tree.nodes[visits_[v].node], is_end, v, rule.tolerance);
    }
    begin = end;
    end = static_cast<int>(visits_.size());
  }
}

void Pass::add_visit(int node, const std::vector<char>& is_end, int first, int last) {
  if (last == first) return;
  place_[node] = static_cast<int>(visits_.size());
  visits_.push_back({node, first, last - first, is_end[node] != 0});
}

void Pass::prepare_level(const std::vector<Node>& nodes, int begin, int end) {
  int below = 0;
  for (int v = begin; v < end; ++v) {
    if (visits_[v].ends) continue;
    visits_[v].activation = activations_;
    activations_ += static_cast<std::size_t>(visits_[v].count) * nodes[visits_[v].node].gate.width;
    below += 2 * visits_[v].count;
  }
  at_least(sigmoid, activations_);
  at_least(softplus, activations_);
  const std::size_t room = entries_ + below;
  at_least(row, room);
  at_least(reach, room);
  at_least(right, room);
  at_least(g_, room);
  at_least(left_entry, room);
  at_least(right_entry, room);
}

// P(go right) of the visit's rows.
void Pass::evaluate(const SoftTree& tree, const Batch& batch, const Rule& rule,
                    const Visit& visit) {
  const Gate& gate = tree.nodes[visit.node].gate;
  for (int from = 0; from < visit.count; from += block_rows) {
    const int first = visit.first + from, count = std::min(block_rows, visit.count - from);
    const std::size_t place = visit.activation + static_cast<std::size_t>(from) * gate.width;
    gate_forward(tree.data, batch, tree.views[visit.node], count, row.data() + first,
                 sigmoid.data() + place, softplus.data() + place, g_.data() + first);
  }
  const int last = visit.first + visit.count;
  if (rule.routing == Routing::soft)
    kernels().logistic(visit.count, g_.data() + visit.first, gate.g0(),
                       static_cast<Real>(rule.lambda), right.data() + visit.first);
  else
    for (int e = visit.first; e < last; ++e) right[e] = g_[e] > gate.g0() ? 1 : 0;
}

namespace {

// Entries of one node to one child, from place `next` on; returns the place after the last.
int send_side(int count, const int* row, const Real* reach, const Real* share_of, bool right,
              Real least, int next, int* entry, int* rows_out, Real* reach_out) {
  for (int e = 0; e < count; ++e) {
    const Real q = right ? share_of[e] : 1 - share_of[e];
    const Real share = reach[e] * q;
    // The larger part always goes on, so that no row is lost on its way.
    const bool larger = right ? share_of[e] > Real(0.5) : share_of[e] <= Real(0.5);
    const bool goes = (share > least) | (larger & (share > 0));
    entry[e] = goes ? next : -1;
    rows_out[next] = row[e];  // also if it does not go: written over by the next that does
    reach_out[next] = share;
    next += goes;
  }
  return next;
}

}  // namespace

// The rows of a node go on to its children: first all that go left, then right.
void Pass::send_on(const Node& node, const std::vector<char>& is_end, int v, double tolerance) {
  const int first = visits_[v].first, count = visits_[v].count;
  const auto send = [&](bool to_right, int next, std::vector<int>& entry) {
    return send_side(count, row.data() + first, reach.data() + first, right.data() + first, to_right,
                     static_cast<Real>(tolerance), next, entry.data() + first, row.data(),
                     reach.data());
  };
  const int middle = send(false, entries_, left_entry);
  const int last = send(true, middle, right_entry);
  add_visit(node.left, is_end, entries_, middle);
  add_visit(node.right, is_end, middle, last);
  entries_ = last;
}

}  // namespace cpt
