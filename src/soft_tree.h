// soft_tree.h: the tree while it is trained: nodes with their gates, and one pass
// of a batch through it (Eqs. 6-8). A row arrives at node v with probability
// reach; only rows whose reach exceeds a tolerance go on, so that the cost of a
// pass grows with depth and not with the number of nodes.
#ifndef CPT_SOFT_TREE_H
#define CPT_SOFT_TREE_H

#include <cstdint>
#include <functional>
#include <vector>

#include "gate.h"

namespace cpt {

struct Node {
  std::uint64_t id = 1;  // root 1; inside child 2 id, outside child 2 id + 1
  int left = -1, right = -1;
  int depth = 0;
  Gate gate;  // empty: a leaf
  bool is_leaf() const { return gate.empty(); }
};

// The rows of a batch at one node; entries [first, first + count) of the pass.
struct Visit {
  int node, first, count;
  bool ends;                   // the rows are not sent on
  std::size_t activation = 0;  // where the gate's sigmoid and softplus values lie
};

enum class Routing { soft, hard };

// What a pass reads: the nodes, and a view of each one's gate, made before.
struct SoftTree {
  const TrainingData& data;
  const std::vector<Node>& nodes;
  const std::vector<GateView>& views;
};

void refresh_views(const TrainingData& data, const std::vector<Node>& nodes,
                   std::vector<GateView>& views);

// Soft: to both children, with probability sigmoid(lambda (g - g0)) to the right, as far
// as the reach exceeds the tolerance. Hard: to one.
struct Rule {
  Routing routing;
  double lambda = 1, tolerance = 0;
};

// Rows on their way down. Kept between steps, so that no step allocates.
class Pass {
 public:
  // Who starts: none, then these rows, and those that another pass has brought to a node.
  void clear();
  void add(RowRange rows);
  void add(const Pass& other, const Visit& visit);
  // Sends them down from node `top` to nodes that are an end (per node).
  void forward(const SoftTree& tree, const Batch& batch, int top, const std::vector<char>& is_end,
               const Rule& rule);

  const std::vector<Visit>& visits() const { return visits_; }  // parents before children
  const Visit* visit_of(int node) const {                       // null: no row came there
    return place_[node] < 0 ? nullptr : &visits_[place_[node]];
  }

  // per entry
  std::vector<int> row;             // row of the batch
  std::vector<Real> reach, right;   // P(arrive), P(go right)
  std::vector<int> left_entry, right_entry;  // where the row goes on, or -1
  Lines<Real> sigmoid, softplus;    // per entry and facet

 private:
  void prepare_level(const std::vector<Node>& nodes, int begin, int end);
  void evaluate(const SoftTree& tree, const Batch& batch, const Rule& rule, const Visit& visit);
  void send_on(const Node& node, const std::vector<char>& is_end, int visit, double tolerance);
  void add_visit(int node, const std::vector<char>& is_end, int first, int last);

  std::vector<Visit> visits_;
  std::vector<int> place_;  // per node: its visit, or -1
  int entries_ = 0;
  std::size_t activations_ = 0;
  std::vector<Real> g_;
};

// Runs body(0..items-1), several small items to a task, so that a task is worth its
// overhead. Items do not know with which others they share a task.
void parallel_by_work(const std::vector<double>& work, const Hooks& hooks,
                      const std::function<void(int)>& body);

}  // namespace cpt

#endif
