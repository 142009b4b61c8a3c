// gate.h: one split. With experts k = 1..K ("facets"), paper Eq. (1)-(2):
//   g(x) = sum_k r_k log(1 + exp(x'b_k + a_k)),   f(x) = 1 - exp(-g(x))
// and the annealed gate of the appendix, which with g0 = -log(1 - p0) is
//   f_lambda(x) = 1 / (1 + ((1 - f) / (1 - p0))^lambda) = sigmoid(lambda (g(x) - g0)).
// The hard rule is "right (outside) iff g > g0"; {g <= g0} is convex (Theorem 1).
// Here: parameters in training units, forward and backward over rows of a batch.
#ifndef CPT_GATE_H
#define CPT_GATE_H

#include <cmath>
#include <vector>

#include "data.h"
#include "kernels.h"
#include "lines.h"

namespace cpt {

// All parameters in one vector: [ B (d x width) | a | log_r | g0 ], each of the
// last three `width` long (g0 uses one place), so that an optimiser sees numbers only.
// Facets beyond `facets` are padding with weight zero.
struct Gate {
  int d = 0, facets = 0, width = 0;
  int column = -1;  // the one column that training may use; -1: all
  Lines<Real> theta;  // whole lines: a row of B is read and moved at a time

  Gate() = default;
  Gate(int d_, int facets_);
  bool empty() const { return facets == 0; }
  std::size_t tail() const { return static_cast<std::size_t>(d) * width; }

  Real* B() { return theta.data(); }
  Real* a() { return theta.data() + tail(); }
  Real* log_r() { return a() + width; }
  Real& g0() { return *(a() + 2 * width); }
  const Real* B() const { return theta.data(); }
  const Real* a() const { return theta.data() + tail(); }
  const Real* log_r() const { return a() + width; }
  Real g0() const { return *(a() + 2 * width); }

  double r(int k) const { return std::exp(static_cast<double>(log_r()[k])); }
  Gate without(const std::vector<char>& dropped) const;  // the other facets, in order
};

// What a step needs of a gate and would otherwise compute again for every block.
struct alignas(cache_line) GateView {
  const Gate* gate = nullptr;
  Lines<Real> r;       // exp(log_r), zero for padding
  Lines<Real> offset;  // intercepts; for sparse rows minus shift'B
  void refresh(const Gate& g, const TrainingData& data);
  // The same in parts, after the gate has moved: chunks of B, of sparse data only, best
  // while they are in cache; then the rest.
  void refresh_chunks(const TrainingData& data, ChunkRange chunks);
  void refresh_tail();

 private:
  Lines<double> shifted_;  // chunks x width: each chunk's part of shift'B; dense: empty
};

// For `rows` rows of the batch: sigmoid(z), softplus(z) (rows x width each) and g.
void gate_forward(const TrainingData& data, const Batch& batch, const GateView& view, int rows,
                  const int* row, Real* sigmoid, Real* softplus, Real* g);

// Given dLoss/dg: turns `sigmoid` into dLoss/dz and writes the gradient of
// [ a | log_r | g0 ] (3 x width).
void gate_backward_tail(const GateView& view, int rows, const Real* dg, Real* sigmoid,
                        const Real* softplus, Real* tail_gradient);

// Gradient of B's rows in some chunks, from dLoss/dz: what it is without any row of the
// batch (`a_gradient` is that of the intercepts, of all rows), and what some rows add.
void gate_backward_start(const TrainingData& data, const GateView& view, ChunkRange chunks,
                         const Real* a_gradient, Real* gradient);
void gate_backward_rows(const TrainingData& data, const Batch& batch, const GateView& view,
                        ChunkRange chunks, int rows, const int* row, const Real* dz, Real* gradient);

}  // namespace cpt

#endif
