// kernels.h: the arithmetic of one gate over many rows, as a table of functions.
// Three twins of the same source (kernels_body.h) exist: AVX-512, AVX2 + FMA and
// portable; one is chosen at load. Nothing here knows what a tree is.
#ifndef CPT_KERNELS_H
#define CPT_KERNELS_H

#include <string>
#include <vector>

#include "core.h"

namespace cpt {

// Facets are stored in groups of 8, so that a row of coefficients is whole vectors.
constexpr int facet_group = 8;
inline int padded(int facets) { return (facets + facet_group - 1) / facet_group * facet_group; }

struct AdamStep {
  Real rate;    // learning rate, bias corrections included
  Real beta1, beta2;
  Real epsilon2;  // square of epsilon, added to the second moment; bias-corrected
};

// A nonzero of a sparse row.
struct Cell {
  int column;
  Real value;
};

// Sparse rows, each cut into chunks of columns: the nonzeros of row i's chunk c are
// [start[i * stride + c], start[i * stride + c + 1]); stride is chunks + 1.
struct SparseRows {
  const std::size_t* start;
  int stride;
  const Cell* cell;
};

struct Kernels {
  const char* name;

  // z[i, k] = a[k] + sum_j x[row[i], j] B[j, k]
  void (*product)(int rows, const int* row, const Real* x, int ld, int d, const Real* B,
                  const Real* a, int facets, Real* z);

  // dB[j, k] += sum_i x[row[i], j] dz[i, k] for j in [j0, j1); dB starts at row j0
  void (*product_transposed)(int rows, const int* row, const Real* x, int ld, int j0, int j1,
                             const Real* dz, int facets, Real* dB);

  // the same two products for sparse rows; the second for columns of chunks [first, last)
  void (*sparse_product)(int rows, const int* row, const SparseRows& x, const Real* B,
                         const Real* a, int facets, Real* z);
  void (*sparse_product_transposed)(int rows, const int* row, const SparseRows& x, int first,
                                    int last, int j0, const Real* dz, int facets, Real* dB);

  // z -> sigmoid(z) in place, softplus(z) beside it, g[i] = sum_k r[k] softplus(z[i, k])
  void (*activate)(int rows, int facets, const Real* r, Real* z, Real* softplus, Real* g);

  // dz[i, k] = dg[i] r[k] sigmoid[i, k] in place of sigmoid; da[k] = sum_i dz[i, k] and
  // dlog_r[k] = sum_i dg[i] r[k] softplus[i, k]
  void (*pull_back)(int rows, int facets, const Real* r, const Real* dg, Real* sigmoid,
                    const Real* softplus, Real* da, Real* dlog_r);

  // right[i] = 1 / (1 + exp(-lambda (g[i] - g0)))
  void (*logistic)(int rows, const Real* g, Real g0, Real lambda, Real* right);

  // one Adam step over n numbers (n a multiple of facet_group)
  void (*adam)(int n, const AdamStep& step, const Real* gradient, Real* first, Real* second,
               Real* parameter);
};

// The twin in use: the fastest that this processor has, unless chosen by name.
const Kernels& kernels();
std::vector<std::string> kernels_available();
void choose_kernels(const std::string& name);  // "auto" or one of the available names

}  // namespace cpt

#endif
