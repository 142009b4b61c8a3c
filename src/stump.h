// stump.h: one split on its own: a data-driven start, the evidence of rows at a
// gate, and the exact best threshold by sorting g (Section 3.3.2).
#ifndef CPT_STUMP_H
#define CPT_STUMP_H

#include <functional>
#include <vector>

#include "options.h"
#include "gate.h"
#include "task.h"

namespace cpt {

// A hard split of some rows at threshold g0: its total loss, or none was allowed.
struct Cut {
  bool found = false;
  double threshold = 0, loss = 0;
};

// g of the given rows at this gate, and its terms r_k softplus(z_k) if asked for
// (rows x width).
std::vector<Real> gate_evidence(const TrainingData& data, const Gate& gate,
                                const std::vector<int>& rows, const Hooks& hooks,
                                std::vector<Real>* terms = nullptr);

// Given places 0..n-1 sorted by g: loss[i] when the first i + 1 go left, for all i with
// may_end[i]. Others lie between equal values, or leave too little on one side.
using Judge = std::function<void(const std::vector<int>& order, const std::vector<char>& may_end,
                                 std::vector<double>& loss)>;

// The threshold between two neighbouring values of g that minimises the judge's
// loss, with at least `least` weight on either side.
Cut best_cut(const std::vector<double>& weight, const std::vector<Real>& g, double least,
             const Judge& judge);

// The judge of a stump: information gain or variance reduction.
Cut best_cut(const Task& task, const std::vector<int>& rows, const std::vector<Real>& g,
             double least);

// A gate and the cut its g0 stands for.
struct Stump {
  Gate gate;
  Cut cut;
  // Puts g0 where the loss of these rows is least.
  void cut_at_best(const TrainingData& data, const Task& task, const std::vector<int>& rows,
                   double least, const Hooks& hooks);
};

// Weighted mean and spread of column k of a rows x width array.
struct MeanSpread {
  double mean, spread;
};
MeanSpread moments(const std::vector<double>& weight, const std::vector<Real>& a, int width, int k);

// At most `most` of the rows, evenly spread.
std::vector<int> some_of(const std::vector<int>& rows, int most);
double total_weight(const Task& task, const std::vector<int>& rows);

// Random facets, each of unit spread on the rows; weights such that g has spread 1;
// g0 in the middle, so that the first gate is balanced and not saturated.
Gate random_gate(const TrainingData& data, const Task& task, const std::vector<int>& rows,
                 int facets, Stream stream, const Hooks& hooks);

}  // namespace cpt

#endif
