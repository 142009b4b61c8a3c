// gate.cpp: see gate.h. The products and the transcendental part are kernels.
#include "gate.h"

#include <algorithm>

namespace cpt {

Gate::Gate(int d_, int facets_) : d(d_), facets(facets_), width(padded(facets_)) {
  theta.assign(static_cast<std::size_t>(d + 3) * width, 0);
}

Gate Gate::without(const std::vector<char>& dropped) const {
  int kept = 0;
  for (int k = 0; k < facets; ++k) kept += !dropped[k];
  Gate out(d, kept);
  for (int k = 0, to = 0; k < facets; ++k) {
    if (dropped[k]) continue;
    for (int j = 0; j < d + 2; ++j)  // B, then a and log_r
      out.theta[static_cast<std::size_t>(j) * out.width + to] =
          theta[static_cast<std::size_t>(j) * width + k];
    ++to;
  }
  out.g0() = g0();
  out.column = column;
  return out;
}

void GateView::refresh(const Gate& g, const TrainingData& data) {
  gate = &g;
  r.assign(g.width, 0);
  offset.assign(g.a(), g.a() + g.width);
  for (int k = 0; k < g.facets; ++k) r[k] = std::exp(g.log_r()[k]);
  if (!data.is_sparse()) return;
  // shift'B is the product of one row. Short pieces in single precision, their sum in
  // double: the terms are many and cancel.
  constexpr int piece = 32;
  const int first = 0;
  std::vector<Real> part(g.width), zero(g.width, 0);
  std::vector<double> sum(offset.begin(), offset.end());
  for (int j = 0; j < g.d; j += piece) {
    kernels().product(1, &first, data.shift().data() + j, 0, std::min(piece, g.d - j),
                      g.B() + static_cast<std::size_t>(j) * g.width, zero.data(), g.width,
                      part.data());
    for (int k = 0; k < g.width; ++k) sum[k] -= part[k];
  }
  offset.assign(sum.begin(), sum.end());
}

void gate_forward(const TrainingData& data, const Batch& batch, const GateView& view, int rows,
                  const int* row, Real* sigmoid, Real* softplus, Real* g) {
  const Gate& gate = *view.gate;
  const int width = gate.width;
  if (data.is_sparse()) {
    kernels().sparse_product(rows, row, batch.sparse, gate.B(), view.offset.data(), width, sigmoid);
  } else {
    kernels().product(rows, row, batch.dense.data(), data.ld(), gate.d, gate.B(),
                      view.offset.data(), width, sigmoid);
  }
  kernels().activate(rows, width, view.r.data(), sigmoid, softplus, g);
}

void gate_backward_tail(const GateView& view, int rows, const Real* dg, Real* sigmoid,
                        const Real* softplus, Real* tail_gradient) {
  const int width = view.gate->width;
  std::fill(tail_gradient + 2 * width, tail_gradient + 3 * width, Real(0));
  kernels().pull_back(rows, width, view.r.data(), dg, sigmoid, softplus, tail_gradient,
                      tail_gradient + width);
  double dg0 = 0;  // its terms cancel
  for (int i = 0; i < rows; ++i) dg0 -= dg[i];
  tail_gradient[2 * width] = static_cast<Real>(dg0);
}

namespace {

// out[j, k] = -x[j] y[k], a group of facets at a time: a loop of known length over arrays
// that are known to be apart becomes vector instructions.
void fill_products(const Real* __restrict x, int rows, const Real* __restrict y, int width,
                   Real* __restrict out) {
  for (int j = 0; j < rows; ++j, out += width) {
    const Real factor = -x[j];
    for (int k = 0; k < width; k += facet_group)
      for (int l = 0; l < facet_group; ++l) out[k + l] = factor * y[k + l];
  }
}

}  // namespace

void gate_backward_start(const TrainingData& data, const GateView& view, int chunk,
                         const Real* a_gradient, Real* chunk_gradient) {
  const int width = view.gate->width, j0 = data.chunk_begin(chunk), j1 = data.chunk_end(chunk);
  if (!data.is_sparse())
    std::fill_n(chunk_gradient, static_cast<std::size_t>(j1 - j0) * width, Real(0));
  else  // the centring that sparse rows leave to the intercepts: minus shift times da
    fill_products(data.shift().data() + j0, j1 - j0, a_gradient, width, chunk_gradient);
}

void gate_backward_chunk(const TrainingData& data, const Batch& batch, const GateView& view,
                         int chunk, int rows, const int* row, const Real* dz,
                         Real* chunk_gradient) {
  const int width = view.gate->width, j0 = data.chunk_begin(chunk), j1 = data.chunk_end(chunk);
  if (data.is_sparse())
    kernels().sparse_product_transposed(rows, row, batch.sparse, chunk, j0, dz, width,
                                        chunk_gradient);
  else
    kernels().product_transposed(rows, row, batch.dense.data(), data.ld(), j0, j1, dz, width,
                                 chunk_gradient);
}

}  // namespace cpt
