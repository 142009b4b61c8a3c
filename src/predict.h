// predict.h: what a finished tree says of new rows, besides the leaf they reach
// (route() in tree.h): the probabilistic tree (Eqs. 6-8) and the evidence of the
// facets of one node.
#ifndef CPT_PREDICT_H
#define CPT_PREDICT_H

#include <vector>

#include "leaf_model.h"
#include "tree.h"

namespace cpt {

// rows x width: sum over leaves of P(leaf | x) value[leaf, ], with the gate
// sigmoid(lambda (g - g0)). `value` is nodes x width.
std::vector<double> soft_values(const Tree& tree, const std::vector<double>& value, int width,
                                const Rows& rows, const Hooks& hooks);

// The same for one linear model a leaf: sum over leaves of P(leaf | x) model[leaf](x).
std::vector<double> soft_linear(const Tree& tree, const LeafModels& models, const Rows& rows,
                                const Hooks& hooks);

// rows x facets of node v: r_k softplus(x'b_k + a_k)
std::vector<double> node_evidence(const Tree& tree, int v, const Rows& rows, const Hooks& hooks);

}  // namespace cpt

#endif
