// leaf_model.h: a linear model of the outcome in every node of a finished regression
// tree: ridge regression on the node's own rows, or the mean where that is as good.
// Every node has one, so that a pruned tree has them too and a leaf can lean on its
// ancestors. Knows the rows and the tree's shape, nothing of how it was trained.
#ifndef CPT_LEAF_MODEL_H
#define CPT_LEAF_MODEL_H

#include <vector>

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

// All rows; a model is fitted to some of them.
struct ModelData {
  const Rows& rows;
  const Scaling& scaling;  // the penalty is on coefficients of scaled columns
  const std::vector<double>& y;
  const std::vector<double>& weight;
};

// Where the arithmetic changes. Penalties are chosen by exact leave-one-out; where that
// is slow, or no different, by generalised cross-validation (every row's leverage is
// taken to be the mean one).
struct RidgeLimits {
  int exact = 600;    // most rows or columns, whichever are fewer, for exact leave-one-out
  double tall = 100;  // most rows a column for it
  int most = 3000;    // with more of both, rows evenly apart stand for all
};

// Penalties tried on one node's rows and what came of it. A score is the weighted mean
// of squared errors of outcomes left out of the fit.
struct Ridge {
  std::vector<double> lambda, score;
  double constant_score = 0;
  double chosen = 0;  // a lambda; infinity: the mean is as good
  double intercept = 0;
  std::vector<double> coef;  // user's units
};

Ridge fit_ridge(const ModelData& data, const std::vector<int>& row, const RidgeLimits& limits,
                const Hooks& hooks);

// `where`: position of the leaf of every row; `training`: the rows that count.
LeafModels fit_leaf_models(const Tree& tree, const std::vector<int>& where,
                           const std::vector<int>& training, const ModelData& data,
                           const Hooks& hooks);

// What the model at position at[i] says of row i.
std::vector<double> linear_values(const LeafModels& models, const std::vector<int>& at,
                                  const Rows& rows, const Hooks& hooks);

}  // namespace cpt

#endif
