// tree.h: the finished tree: flat arrays in double and in the user's units, and
// THE routing function. Fit and predict both use it, so a training row can never
// change its leaf. Field names are those of the R object.
#ifndef CPT_TREE_H
#define CPT_TREE_H

#include <vector>

#include "data.h"
#include "soft_tree.h"

namespace cpt {

// Nodes in preorder: a node, its left (inside) subtree, its right (outside) one.
struct Tree {
  int cols = 0, outputs = 0;
  double lambda = 1;  // last steepness of training, used by soft prediction
  std::vector<int> node, parent, depth;  // heap ids: children of v are 2v and 2v + 1
  std::vector<int> left, right;          // positions; -1 for a leaf
  std::vector<int> n;                    // training rows with weight that arrive
  std::vector<double> weight, loss, threshold;
  std::vector<double> value;             // nodes x outputs
  std::vector<int> first, facets;        // the node's facets: [first, first + facets)
  std::vector<double> r, intercept;      // per facet
  std::vector<double> coef;              // per facet, cols numbers each

  int size() const { return static_cast<int>(node.size()); }
  bool is_leaf(int v) const { return left[v] < 0; }
};

// From training units to the user's: b / scale, a - sum b centre / scale.
Tree to_user_units(const std::vector<Node>& nodes, const Scaling& scaling, double lambda,
                   int outputs);

// become[v]: v itself (kept), -1 (turned into a leaf) or one of its children
// (which takes v's place with all below it).
Tree contract(const Tree& tree, const std::vector<int>& become);

std::vector<int> parent_positions(const Tree& tree);  // -1 for the root

// r_k log(1 + exp(x'b_k + a_k)), the evidence of facet k
double facet_evidence(const Tree& tree, int facet, const RowView& x);

// g(x) > g0? Stops adding evidence as soon as the sum has passed g0: all terms are
// >= 0 and rounding is monotone, so the answer is that of the full sum.
bool goes_right(const Tree& tree, int v, const RowView& x);

int route(const Tree& tree, const RowView& x);  // position of the leaf
std::vector<int> route(const Tree& tree, const Rows& rows, const Hooks& hooks);

}  // namespace cpt

#endif
