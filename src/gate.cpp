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
  const int chunks = data.is_sparse() ? data.chunks() : 0;
  shifted_.resize(static_cast<std::size_t>(chunks) * g.width);
  refresh_chunks(data, {0, chunks});
  refresh_tail();
}

// shift'B: short pieces in single precision, their sum in double, for the terms are many
// and cancel.
void GateView::refresh_chunks(const TrainingData& data, ChunkRange chunks) {
  const int width = gate->width;
  thread_local std::vector<Real> own_part, own_zero;
  std::vector<Real>&part = own_part, &zero = own_zero;
  zero.assign(width, 0);
  for (int c = chunks.first; c < chunks.last; ++c) {
    const RowRange pieces = data.pieces_of(c);
    part.resize(static_cast<std::size_t>(pieces.count) * width);
    kernels().sparse_product(pieces.count, data.piece_numbers() + pieces.first, data.shift_pieces(),
                             gate->B(), zero.data(), width, part.data());
    double* const sum = shifted_.data() + static_cast<std::size_t>(c) * width;
    std::fill_n(sum, width, 0.0);
    for (std::size_t at = 0; at < part.size(); at += width)
      for (int k = 0; k < width; ++k) sum[k] += part[at + k];
  }
}

void GateView::refresh_tail() {
  const int width = gate->width;
  r.assign(width, 0);
  offset.resize(width);
  for (int k = 0; k < gate->facets; ++k) r[k] = std::exp(gate->log_r()[k]);
  for (int k = 0; k < width; ++k) {
    double sum = gate->a()[k];
    for (std::size_t at = k; at < shifted_.size(); at += width) sum -= shifted_[at];
    offset[k] = static_cast<Real>(sum);
  }
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

void gate_backward_start(const TrainingData& data, const GateView& view, ChunkRange chunks,
                         const Real* a_gradient, Real* gradient) {
  const int width = view.gate->width, j0 = data.first_column(chunks), j1 = data.end_column(chunks);
  if (!data.is_sparse())
    std::fill_n(gradient, static_cast<std::size_t>(j1 - j0) * width, Real(0));
  else  // the centring that sparse rows leave to the intercepts: minus shift times da
    fill_products(data.shift().data() + j0, j1 - j0, a_gradient, width, gradient);
}

void gate_backward_rows(const TrainingData& data, const Batch& batch, const GateView& view,
                        ChunkRange chunks, int rows, const int* row, const Real* dz, Real* gradient) {
  const int width = view.gate->width, j0 = data.first_column(chunks), j1 = data.end_column(chunks);
  if (data.is_sparse())
    kernels().sparse_product_transposed(rows, row, batch.sparse, chunks.first, chunks.last, j0, dz,
                                        width, gradient);
  else
    kernels().product_transposed(rows, row, batch.dense.data(), data.ld(), j0, j1, dz, width,
                                 gradient);
}

}  // namespace cpt
