// leaf_model.h: a linear model of the outcome in every node of a finished regression
// tree: ridge regression on the node's own rows, or the mean where that is as good.
// Every node has one, so that a pruned tree has them too and a leaf can lean on its
// ancestors. Knows the rows and the tree's shape, nothing of how it was trained.
#ifndef CPT_LEAF_MODEL_H
#define CPT_LEAF_MODEL_H

#include <vector>

#include "node_rows.h"
#include "tree.h"

namespace cpt {

// One model a node, in the user's units: intercept + x'coef, kept within [low, high].
struct LeafModels {
  int cols = 0;
  std::vector<double> intercept, low, high;  // per node
  std::vector<double> coef;                  // per node, cols numbers each
  bool empty() const { return intercept.empty(); }
  double value(int v, const RowView& x) const;
};

// `where`: position of the leaf of every row; `training`: the rows that count.
LeafModels fit_leaf_models(const Tree& tree, const std::vector<int>& where,
                           const std::vector<int>& training, const ModelData& data,
                           const Hooks& hooks);

// What the model at position at[i] says of row i.
std::vector<double> linear_values(const LeafModels& models, const std::vector<int>& at,
                                  const Rows& rows, const Hooks& hooks);

}  // namespace cpt

#endif
