// kernels_body.h: the source of all kernel twins, included once per twin with
//   CPT_TWIN   its namespace and name
//   CPT_LANES  how many Reals its widest vector holds
//   CPT_TILE   rows of a register tile (24 or 12 accumulators stay in registers)
// Vectors are the compiler's own (GCC and clang), so there is one text for all.
// No include guard, no includes: the including file sets the compiler's target.

namespace cpt {
namespace CPT_TWIN {

#define CPT_INLINE inline __attribute__((always_inline))

// A width: its vector V, the same unaligned in memory U, its integers I. (Passed
// as a tag, because a vector type loses its alignment as a template argument.)
template <int N>
struct Width {
  static constexpr int lanes = N;
  typedef Real V __attribute__((vector_size(N * sizeof(Real))));
  typedef Real U __attribute__((vector_size(N * sizeof(Real)), aligned(sizeof(Real)), may_alias));
  typedef int I __attribute__((vector_size(N * sizeof(Real))));
};
using Wide = Width<CPT_LANES>;
using Narrow = Width<(CPT_LANES > 8 ? 8 : CPT_LANES)>;

template <class W>
CPT_INLINE typename W::V load(const Real* p) { return *reinterpret_cast<const typename W::U*>(p); }
template <class W>
CPT_INLINE void store(Real* p, typename W::V v) { *reinterpret_cast<typename W::U*>(p) = v; }
template <class W>
CPT_INLINE typename W::V fill(Real s) { return typename W::V{} + s; }

// ---- products -------------------------------------------------------------

// M rows times NV vectors of facets, accumulated in registers.
template <class W, int NV, int M>
CPT_INLINE void product_tile(const int* row, const Real* x, int ld, int d, const Real* B,
                             const Real* a, int facets, Real* z) {
  using V = typename W::V;
  V sum[M][NV];
  const Real* xr[M];
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i) {
    xr[i] = x + static_cast<long>(row[i]) * ld;
#pragma GCC unroll 2
    for (int v = 0; v < NV; ++v) sum[i][v] = load<W>(a + v * W::lanes);
  }
  for (int j = 0; j < d; ++j, B += facets) {
    V b[NV];
#pragma GCC unroll 2
    for (int v = 0; v < NV; ++v) b[v] = load<W>(B + v * W::lanes);
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i) {
      const V s = fill<W>(xr[i][j]);
#pragma GCC unroll 2
      for (int v = 0; v < NV; ++v) sum[i][v] += s * b[v];
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 2
    for (int v = 0; v < NV; ++v) store<W>(z + i * facets + v * W::lanes, sum[i][v]);
}

template <class W, int NV>
CPT_INLINE void product_columns(int rows, const int* row, const Real* x, int ld, int d,
                                const Real* B, const Real* a, int facets, Real* z) {
  int i = 0;
  for (; i + CPT_TILE <= rows; i += CPT_TILE)
    product_tile<W, NV, CPT_TILE>(row + i, x, ld, d, B, a, facets, z + static_cast<long>(i) * facets);
  for (; i + 4 <= rows; i += 4)
    product_tile<W, NV, 4>(row + i, x, ld, d, B, a, facets, z + static_cast<long>(i) * facets);
  for (; i < rows; ++i)
    product_tile<W, NV, 1>(row + i, x, ld, d, B, a, facets, z + static_cast<long>(i) * facets);
}

void product(int rows, const int* row, const Real* x, int ld, int d, const Real* B, const Real* a,
             int facets, Real* z) {
  int k = 0;
  for (; k + 2 * CPT_LANES <= facets; k += 2 * CPT_LANES)
    product_columns<Wide, 2>(rows, row, x, ld, d, B + k, a + k, facets, z + k);
  for (; k + CPT_LANES <= facets; k += CPT_LANES)
    product_columns<Wide, 1>(rows, row, x, ld, d, B + k, a + k, facets, z + k);
  for (; k < facets; k += Narrow::lanes)
    product_columns<Narrow, 1>(rows, row, x, ld, d, B + k, a + k, facets, z + k);
}

// M columns of x times NV vectors of facets, summed over rows in their order.
template <class W, int NV, int M>
CPT_INLINE void transposed_tile(int rows, const int* row, const Real* x, int ld, const Real* dz,
                                int facets, Real* dB) {
  using V = typename W::V;
  V sum[M][NV];
#pragma GCC unroll 16
  for (int j = 0; j < M; ++j)
#pragma GCC unroll 2
    for (int v = 0; v < NV; ++v) sum[j][v] = load<W>(dB + j * facets + v * W::lanes);
  for (int i = 0; i < rows; ++i, dz += facets) {
    const Real* xi = x + static_cast<long>(row[i]) * ld;
    V t[NV];
#pragma GCC unroll 2
    for (int v = 0; v < NV; ++v) t[v] = load<W>(dz + v * W::lanes);
#pragma GCC unroll 16
    for (int j = 0; j < M; ++j) {
      const V s = fill<W>(xi[j]);
#pragma GCC unroll 2
      for (int v = 0; v < NV; ++v) sum[j][v] += s * t[v];
    }
  }
#pragma GCC unroll 16
  for (int j = 0; j < M; ++j)
#pragma GCC unroll 2
    for (int v = 0; v < NV; ++v) store<W>(dB + j * facets + v * W::lanes, sum[j][v]);
}

template <class W, int NV>
CPT_INLINE void transposed_columns(int rows, const int* row, const Real* x, int ld, int width,
                                   const Real* dz, int facets, Real* dB) {
  int j = 0;
  for (; j + CPT_TILE <= width; j += CPT_TILE)
    transposed_tile<W, NV, CPT_TILE>(rows, row, x + j, ld, dz, facets, dB + static_cast<long>(j) * facets);
  for (; j + 4 <= width; j += 4)
    transposed_tile<W, NV, 4>(rows, row, x + j, ld, dz, facets, dB + static_cast<long>(j) * facets);
  for (; j < width; ++j)
    transposed_tile<W, NV, 1>(rows, row, x + j, ld, dz, facets, dB + static_cast<long>(j) * facets);
}

void product_transposed(int rows, const int* row, const Real* x, int ld, int j0, int j1,
                        const Real* dz, int facets, Real* dB) {
  constexpr int block = 128;  // rows of x that stay in the second-level cache
  for (int i = 0; i < rows; i += block) {
    const int some = rows - i < block ? rows - i : block;
    const Real* dzi = dz + static_cast<long>(i) * facets;
    int k = 0;
    for (; k + 2 * CPT_LANES <= facets; k += 2 * CPT_LANES)
      transposed_columns<Wide, 2>(some, row + i, x + j0, ld, j1 - j0, dzi + k, facets, dB + k);
    for (; k + CPT_LANES <= facets; k += CPT_LANES)
      transposed_columns<Wide, 1>(some, row + i, x + j0, ld, j1 - j0, dzi + k, facets, dB + k);
    for (; k < facets; k += Narrow::lanes)
      transposed_columns<Narrow, 1>(some, row + i, x + j0, ld, j1 - j0, dzi + k, facets, dB + k);
  }
}

template <class W>
CPT_INLINE void sparse_columns(int nonzeros, const int* column, const Real* value, const Real* B,
                               int facets, Real* z) {
  typename W::V sum = load<W>(z);
  for (int e = 0; e < nonzeros; ++e)
    sum += value[e] * load<W>(B + static_cast<long>(column[e]) * facets);
  store<W>(z, sum);
}

void sparse_product(int nonzeros, const int* column, const Real* value, const Real* B, int facets,
                    Real* z) {
  int k = 0;
  for (; k + CPT_LANES <= facets; k += CPT_LANES)
    sparse_columns<Wide>(nonzeros, column, value, B + k, facets, z + k);
  for (; k < facets; k += Narrow::lanes)
    sparse_columns<Narrow>(nonzeros, column, value, B + k, facets, z + k);
}

void sparse_product_transposed(int nonzeros, const int* column, const Real* value, int j0,
                               const Real* dz, int facets, Real* dB) {
  for (int e = 0; e < nonzeros; ++e) {
    Real* out = dB + static_cast<long>(column[e] - j0) * facets;
    for (int k = 0; k < facets; k += Narrow::lanes)
      store<Narrow>(out + k, load<Narrow>(out + k) + value[e] * load<Narrow>(dz + k));
  }
}

// ---- softplus and sigmoid -------------------------------------------------

#ifdef CPT_DOUBLE
template <class W>
CPT_INLINE void softplus_sigmoid(typename W::V z, typename W::V* softplus, typename W::V* sigmoid) {
  for (int l = 0; l < W::lanes; ++l) {
    const double e = std::exp(-std::fabs(z[l]));
    (*softplus)[l] = (z[l] > 0 ? z[l] : 0) + std::log1p(e);
    (*sigmoid)[l] = (z[l] > 0 ? 1 : e) / (1 + e);
  }
}
template <class W>
CPT_INLINE typename W::V root(typename W::V v) {
  for (int l = 0; l < W::lanes; ++l) v[l] = std::sqrt(v[l]);
  return v;
}
#else
// exp(x) for x <= 0: 2^n times a polynomial on [-ln2/2, ln2/2]. The sum with
// 1.5 * 2^23 rounds to a whole number and leaves that number in the low bits.
template <class W>
CPT_INLINE typename W::V exp_negative(typename W::V x) {
  using V = typename W::V;
  using I = typename W::I;
  const V floor = fill<W>(-87.0f);
  x = x > floor ? x : floor;
  const V shifted = x * 1.44269504f + 12582912.0f;
  const V n = shifted - 12582912.0f;
  const V f = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  V p = fill<W>(1.9875691e-4f);
  p = p * f + 1.3981999e-3f;
  p = p * f + 8.3334519e-3f;
  p = p * f + 4.1665795e-2f;
  p = p * f + 1.6666665e-1f;
  p = p * f + 5.0000001e-1f;
  p = p * (f * f) + f + 1.0f;
  return reinterpret_cast<V>(reinterpret_cast<I>(p) + (reinterpret_cast<I>(shifted) << 23));
}

// With e = exp(-|z|): softplus = max(z, 0) + log(1 + e), and
// log(1 + e) = 2 atanh(s), s = e / (2 + e) <= 1/3, a short odd series.
template <class W>
CPT_INLINE void softplus_sigmoid(typename W::V z, typename W::V* softplus, typename W::V* sigmoid) {
  using V = typename W::V;
  const V zero = fill<W>(0.0f);
  const V positive = z > zero ? z : zero;
  const V e = exp_negative<W>(z > zero ? -z : z);
  const V inverse = 1.0f / ((1.0f + e) * (2.0f + e));
  const V s = e * (1.0f + e) * inverse;
  const V s2 = s * s;
  V p = fill<W>(2.0f / 13);
  p = p * s2 + 2.0f / 11;
  p = p * s2 + 2.0f / 9;
  p = p * s2 + 2.0f / 7;
  p = p * s2 + 2.0f / 5;
  p = p * s2 + 2.0f / 3;
  p = p * s2 + 2.0f;
  *softplus = positive + s * p;
  const V one = fill<W>(1.0f);
  *sigmoid = (z > zero ? one : e) * (2.0f + e) * inverse;
}

// sqrt(v) = v / sqrt(v) by Newton steps from a bit guess: plain multiplications.
template <class W>
CPT_INLINE typename W::V root(typename W::V v) {
  using V = typename W::V;
  using I = typename W::I;
  const I half = reinterpret_cast<I>(v) >> 1;
  V y = reinterpret_cast<V>(0x5f375a86 - half);
  const V h = 0.5f * v;
  y = y * (1.5f - h * y * y);
  y = y * (1.5f - h * y * y);
  y = y * (1.5f - h * y * y);
  return v * y;
}
#endif

template <class W>
CPT_INLINE Real total(typename W::V v) {
  Real s = 0;
  for (int l = 0; l < W::lanes; ++l) s += v[l];
  return s;
}

template <class W>
CPT_INLINE typename W::V activate_group(const Real* r, Real* z, Real* softplus) {
  typename W::V soft, sig;
  softplus_sigmoid<W>(load<W>(z), &soft, &sig);
  store<W>(z, sig);
  store<W>(softplus, soft);
  return load<W>(r) * soft;
}

void activate(int rows, int facets, const Real* r, Real* z, Real* softplus, Real* g) {
  for (int i = 0; i < rows; ++i, z += facets, softplus += facets) {
    Wide::V wide = {};
    int k = 0;
    for (; k + CPT_LANES <= facets; k += CPT_LANES)
      wide += activate_group<Wide>(r + k, z + k, softplus + k);
    Real sum = total<Wide>(wide);
    for (; k < facets; k += Narrow::lanes)
      sum += total<Narrow>(activate_group<Narrow>(r + k, z + k, softplus + k));
    g[i] = sum;
  }
}

void pull_back(int rows, int facets, const Real* r, const Real* dg, Real* sigmoid) {
  for (int i = 0; i < rows; ++i, sigmoid += facets) {
    const Narrow::V s = fill<Narrow>(dg[i]);
    for (int k = 0; k < facets; k += Narrow::lanes)
      store<Narrow>(sigmoid + k, s * load<Narrow>(r + k) * load<Narrow>(sigmoid + k));
  }
}

void adam(int n, const AdamStep& step, const Real* gradient, Real* first, Real* second,
          Real* parameter) {
  for (int i = 0; i < n; i += Narrow::lanes) {
    const Narrow::V g = load<Narrow>(gradient + i);
    const Narrow::V m = step.beta1 * load<Narrow>(first + i) + (1 - step.beta1) * g;
    const Narrow::V v = step.beta2 * load<Narrow>(second + i) + (1 - step.beta2) * g * g;
    store<Narrow>(first + i, m);
    store<Narrow>(second + i, v);
    store<Narrow>(parameter + i,
                  load<Narrow>(parameter + i) - step.rate * m / (root<Narrow>(v) + step.epsilon));
  }
}

#define CPT_QUOTE_(name) #name
#define CPT_QUOTE(name) CPT_QUOTE_(name)

extern const Kernels table;
const Kernels table = {CPT_QUOTE(CPT_TWIN), product, product_transposed, sparse_product,
                       sparse_product_transposed, activate, pull_back, adam};

#undef CPT_QUOTE
#undef CPT_QUOTE_
#undef CPT_INLINE

}  // namespace CPT_TWIN
}  // namespace cpt
