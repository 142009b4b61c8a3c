// soft_tree.cpp: see soft_tree.h.
#include "soft_tree.h"

#include <algorithm>
#include <cmath>

namespace cpt {

namespace {

constexpr int block_rows = 96;     // rows of one forward task
constexpr double task_work = 2e5;  // multiply-adds that are worth a task

template <class T>
void at_least(std::vector<T>& v, std::size_t size) {
  if (v.size() < size) v.resize(std::max(size, v.size() + v.size() / 2));
}

}  // namespace

void parallel_by_work(const std::vector<double>& work, const Hooks& hooks,
                      const std::function<void(int)>& body) {
  std::vector<int> bounds(1, 0);
  double sum = 0;
  const int items = static_cast<int>(work.size());
  for (int i = 0; i < items; ++i) {
    sum += work[i];
    if (sum >= task_work || i + 1 == items) {
      bounds.push_back(i + 1);
      sum = 0;
    }
  }
  const int tasks = static_cast<int>(bounds.size()) - 1;
  const auto group = [&](int t) {
    for (int i = bounds[t]; i < bounds[t + 1]; ++i) body(i);
  };
  if (tasks > 1) hooks.run(tasks, group);
  else if (tasks == 1) group(0);
}

std::vector<GateView> views_of(const TrainingData& data, const std::vector<Node>& nodes) {
  std::vector<GateView> views(nodes.size());
  for (std::size_t v = 0; v < nodes.size(); ++v)
    if (!nodes[v].is_leaf()) views[v].refresh(nodes[v].gate, data);
  return views;
}

void Pass::add_visit(int node, int first, int count) {
  place_[node] = static_cast<int>(visits_.size());
  visits_.push_back({node, first, count, 0});
}

void Pass::forward(const SoftTree& tree, const Batch& batch, RowRange rows, Routing routing,
                   double lambda, double tolerance, const Hooks& hooks, int top) {
  const std::vector<Node>& nodes = tree.nodes;
  visits_.clear();
  place_.assign(nodes.size(), -1);
  activations_ = 0;
  entries_ = rows.count;
  at_least(row, entries_);
  at_least(reach, entries_);
  for (int i = 0; i < rows.count; ++i) {
    row[i] = rows.first + i;
    reach[i] = 1;
  }
  add_visit(top, 0, rows.count);
  int begin = 0, end = 1;
  while (begin < end) {  // one level of the tree at a time
    prepare_level(nodes, begin, end);
    evaluate_level(tree, batch, routing, lambda, begin, end, hooks);
    for (int v = begin; v < end; ++v)
      if (!nodes[visits_[v].node].is_leaf()) send_on(nodes, v, tolerance);
    begin = end;
    end = static_cast<int>(visits_.size());
  }
}

void Pass::prepare_level(const std::vector<Node>& nodes, int begin, int end) {
  int below = 0;
  for (int v = begin; v < end; ++v) {
    const Gate& gate = nodes[visits_[v].node].gate;
    if (gate.empty()) continue;
    visits_[v].activation = activations_;
    activations_ += static_cast<std::size_t>(visits_[v].count) * gate.width;
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

void Pass::evaluate_level(const SoftTree& tree, const Batch& batch, Routing routing, double lambda,
                          int begin, int end, const Hooks& hooks) {
  const std::vector<Node>& nodes = tree.nodes;
  struct Block { int visit, first, count; };
  std::vector<Block> blocks;
  std::vector<double> work;
  for (int v = begin; v < end; ++v) {
    const Visit& visit = visits_[v];
    const Gate& gate = nodes[visit.node].gate;
    if (gate.empty()) continue;
    for (int i = 0; i < visit.count; i += block_rows) {
      const int count = std::min(block_rows, visit.count - i);
      blocks.push_back({v, i, count});
      work.push_back(static_cast<double>(count) * gate.width * (gate.d + 16));
    }
  }
  parallel_by_work(work, hooks, [&](int b) {
    const Visit& visit = visits_[blocks[b].visit];
    const Gate& gate = nodes[visit.node].gate;
    const int first = visit.first + blocks[b].first, count = blocks[b].count;
    const std::size_t place =
        visit.activation + static_cast<std::size_t>(blocks[b].first) * gate.width;
    gate_forward(tree.data, batch, tree.views[visit.node], count, row.data() + first,
                 sigmoid.data() + place, softplus.data() + place, g_.data() + first);
    if (routing == Routing::soft)
      kernels().logistic(count, g_.data() + first, gate.g0(), static_cast<Real>(lambda),
                         right.data() + first);
    else
      for (int e = first; e < first + count; ++e) right[e] = g_[e] > gate.g0() ? 1 : 0;
  });
}

// The rows of a node go on to its children: first all that go left, then right.
void Pass::send_on(const std::vector<Node>& nodes, int v, double tolerance) {
  const Visit visit = visits_[v];
  const Real least = static_cast<Real>(tolerance);
  const int last = visit.first + visit.count;
  int next = entries_;
  for (int e = visit.first; e < last; ++e) {
    const Real share = reach[e] * (1 - right[e]);
    // The larger part always goes on, so that no row is lost on its way.
    const bool goes = (share > least) | ((right[e] <= Real(0.5)) & (share > 0));
    left_entry[e] = goes ? next : -1;
    row[next] = row[e];  // also if it does not go: written over by the next that does
    reach[next] = share;
    next += goes;
  }
  const int middle = next;
  for (int e = visit.first; e < last; ++e) {
    const Real share = reach[e] * right[e];
    const bool goes = (share > least) | ((right[e] > Real(0.5)) & (share > 0));
    right_entry[e] = goes ? next : -1;
    row[next] = row[e];
    reach[next] = share;
    next += goes;
  }
  const Node& node = nodes[visit.node];
  if (middle > entries_) add_visit(node.left, entries_, middle - entries_);
  if (next > middle) add_visit(node.right, middle, next - middle);
  entries_ = next;
}

}  // namespace cpt
