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
// s - 0 is s for every s, -0 too, so this is a broadcast; 0 + s would be an addition.
template <class W>
CPT_INLINE typename W::V fill(Real s) { return s - typename W::V{}; }

// ---- products -------------------------------------------------------------

// A register tile: M sums of NV wide vectors of facets and, if T, a narrow one
// behind them (facets come in groups of 8, wide vectors may hold 16).
template <int NV, bool T, int M>
struct Tile {
  typename Wide::V wide[M][NV > 0 ? NV : 1];
  typename Narrow::V narrow[T ? M : 1];

  CPT_INLINE void load_at(int i, const Real* p) {
#pragma GCC unroll 2
    for (int v = 0; v < NV; ++v) wide[i][v] = load<Wide>(p + v * CPT_LANES);
    if (T) narrow[T ? i : 0] = load<Narrow>(p + NV * CPT_LANES);
  }
  CPT_INLINE void store_at(int i, Real* p) const {
#pragma GCC unroll 2
    for (int v = 0; v < NV; ++v) store<Wide>(p + v * CPT_LANES, wide[i][v]);
    if (T) store<Narrow>(p + NV * CPT_LANES, narrow[T ? i : 0]);
  }
  CPT_INLINE void clear() {
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i) {
#pragma GCC unroll 2
      for (int v = 0; v < NV; ++v) wide[i][v] = fill<Wide>(0);
      if (T) narrow[T ? i : 0] = fill<Narrow>(0);
    }
  }
  CPT_INLINE void add_tile(const Tile& other) {
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i) {
#pragma GCC unroll 2
      for (int v = 0; v < NV; ++v) wide[i][v] += other.wide[i][v];
      if (T) narrow[T ? i : 0] += other.narrow[T ? i : 0];
    }
  }
  // sum i += s[i] * (the facets at p), for all i
  template <class Scalars>
  CPT_INLINE void add(const Scalars& s, const Real* p) {
    Tile<NV, T, 1> other;
    other.load_at(0, p);
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i) add_times(i, s(i), other);
  }
  // sum i += s * (the one sum of other)
  CPT_INLINE void add_times(int i, Real s, const Tile<NV, T, 1>& other) {
    const typename Wide::V x = fill<Wide>(s);
#pragma GCC unroll 2
    for (int v = 0; v < NV; ++v) wide[i][v] += x * other.wide[0][v];
    if (T) narrow[T ? i : 0] += fill<Narrow>(s) * other.narrow[0];
  }
};

// M rows of x times a tile's facets.
template <int NV, bool T, int M>
CPT_INLINE void product_tile(const int* row, const Real* x, int ld, int d, const Real* B,
                             const Real* a, int facets, Real* z) {
  Tile<NV, T, M> sum;
  const Real* xr[M];
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i) {
    xr[i] = x + static_cast<long>(row[i]) * ld;
    sum.load_at(i, a);
  }
  for (int j = 0; j < d; ++j, B += facets) sum.add([&](int i) { return xr[i][j]; }, B);
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i) sum.store_at(i, z + i * facets);
}

template <int NV, bool T>
CPT_INLINE void product_columns(int rows, const int* row, const Real* x, int ld, int d,
                                const Real* B, const Real* a, int facets, Real* z) {
  int i = 0;
  for (; i + CPT_TILE <= rows; i += CPT_TILE)
    product_tile<NV, T, CPT_TILE>(row + i, x, ld, d, B, a, facets, z + static_cast<long>(i) * facets);
  for (; i + 4 <= rows; i += 4)
    product_tile<NV, T, 4>(row + i, x, ld, d, B, a, facets, z + static_cast<long>(i) * facets);
  for (; i < rows; ++i)
    product_tile<NV, T, 1>(row + i, x, ld, d, B, a, facets, z + static_cast<long>(i) * facets);
}

// M columns of x times a tile's facets, summed over rows in their order.
template <int NV, bool T, int M>
CPT_INLINE void transposed_tile(int rows, const int* row, const Real* x, int ld, const Real* dz,
                                int facets, Real* dB) {
  Tile<NV, T, M> sum;
#pragma GCC unroll 16
  for (int j = 0; j < M; ++j) sum.load_at(j, dB + j * facets);
  for (int i = 0; i < rows; ++i, dz += facets) {
    const Real* xi = x + static_cast<long>(row[i]) * ld;
    sum.add([&](int j) { return xi[j]; }, dz);
  }
#pragma GCC unroll 16
  for (int j = 0; j < M; ++j) sum.store_at(j, dB + j * facets);
}

template <int NV, bool T>
CPT_INLINE void transposed_columns(int rows, const int* row, const Real* x, int ld, int width,
                                   const Real* dz, int facets, Real* dB) {
  int j = 0;
  for (; j + CPT_TILE <= width; j += CPT_TILE)
    transposed_tile<NV, T, CPT_TILE>(rows, row, x + j, ld, dz, facets, dB + static_cast<long>(j) * facets);
  for (; j + 4 <= width; j += 4)
    transposed_tile<NV, T, 4>(rows, row, x + j, ld, dz, facets, dB + static_cast<long>(j) * facets);
  for (; j < width; ++j)
    transposed_tile<NV, T, 1>(rows, row, x + j, ld, dz, facets, dB + static_cast<long>(j) * facets);
}

// Cuts `facets` into tiles: pairs of wide vectors, then what is left over.
template <class Columns>
CPT_INLINE void for_tiles(int facets, const Columns& columns) {
  int k = 0;
  for (; k + 2 * CPT_LANES <= facets; k += 2 * CPT_LANES) columns.template run<2, false>(k);
  const int left = facets - k;
  if (left >= CPT_LANES + Narrow::lanes) columns.template run<1, (CPT_LANES > 8)>(k);
  else if (left >= CPT_LANES) columns.template run<1, false>(k);
  else if (left > 0) columns.template run<0, true>(k);
}

struct Product {
  int rows;
  const int* row;
  const Real* x;
  int ld, d;
  const Real *B, *a;
  int facets;
  Real* z;
  template <int NV, bool T>
  CPT_INLINE void run(int k) const {
    product_columns<NV, T>(rows, row, x, ld, d, B + k, a + k, facets, z + k);
  }
};

void product(int rows, const int* row, const Real* x, int ld, int d, const Real* B, const Real* a,
             int facets, Real* z) {
  for_tiles(facets, Product{rows, row, x, ld, d, B, a, facets, z});
}

struct Transposed {
  int rows;
  const int* row;
  const Real* x;
  int ld, width;
  const Real* dz;
  int facets;
  Real* dB;
  template <int NV, bool T>
  CPT_INLINE void run(int k) const {
    transposed_columns<NV, T>(rows, row, x, ld, width, dz + k, facets, dB + k);
  }
};

void product_transposed(int rows, const int* row, const Real* x, int ld, int j0, int j1,
                        const Real* dz, int facets, Real* dB) {
  constexpr int block = 128;  // rows of x that stay in the second-level cache
  for (int i = 0; i < rows; i += block) {
    const int some = rows - i < block ? rows - i : block;
    for_tiles(facets, Transposed{some, row + i, x + j0, ld, j1 - j0,
                                 dz + static_cast<long>(i) * facets, facets, dB});
  }
}

// Even and odd nonzeros have sums of their own: one sum would wait for itself.
template <int NV, bool T>
CPT_INLINE void sparse_row(const Cell* at, const Cell* last, const Real* B, const Real* a, int facets,
                           Real* z) {
  Tile<NV, T, 1> even, odd;
  even.load_at(0, a);
  odd.clear();
  for (; at + 2 <= last; at += 2) {
    even.add([&](int) { return at[0].value; }, B + static_cast<long>(at[0].column) * facets);
    odd.add([&](int) { return at[1].value; }, B + static_cast<long>(at[1].column) * facets);
  }
  if (at < last) even.add([&](int) { return at->value; }, B + static_cast<long>(at->column) * facets);
  even.add_tile(odd);
  even.store_at(0, z);
}

struct SparseProduct {
  int rows;
  const int* row;
  const SparseRows& x;
  const Real *B, *a;
  int facets;
  Real* z;
  template <int NV, bool T>
  CPT_INLINE void run(int k) const {
    for (int i = 0; i < rows; ++i) {
      const std::size_t* start = x.start + static_cast<long>(row[i]) * x.stride;
      sparse_row<NV, T>(x.cell + start[0], x.cell + start[x.stride - 1], B + k, a + k, facets,
                        z + static_cast<long>(i) * facets + k);
    }
  }
};

void sparse_product(int rows, const int* row, const SparseRows& x, const Real* B, const Real* a,
                    int facets, Real* z) {
  for_tiles(facets, SparseProduct{rows, row, x, B, a, facets, z});
}

struct SparseTransposed {
  int rows;
  const int* row;
  const SparseRows& x;
  int first, last, j0;  // chunks, and the column that the first begins with
  const Real* dz;
  int facets;
  Real* dB;
  template <int NV, bool T>
  CPT_INLINE void run(int k) const {
    for (int i = 0; i < rows; ++i) {
      const std::size_t* start = x.start + static_cast<long>(row[i]) * x.stride;
      Tile<NV, T, 1> own;  // in registers: the stores below might change what dz points to
      own.load_at(0, dz + static_cast<long>(i) * facets + k);
      for (const Cell *at = x.cell + start[first], *end = x.cell + start[last]; at < end; ++at) {
        Real* out = dB + static_cast<long>(at->column - j0) * facets + k;
        Tile<NV, T, 1> sum;
        sum.load_at(0, out);
        sum.add_times(0, at->value, own);
        sum.store_at(0, out);
      }
    }
  }
};

void sparse_product_transposed(int rows, const int* row, const SparseRows& x, int first, int last,
                               int j0, const Real* dz, int facets, Real* dB) {
  for_tiles(facets, SparseTransposed{rows, row, x, first, last, j0, dz, facets, dB});
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
CPT_INLINE typename W::V inverse_root(typename W::V v) {
  for (int l = 0; l < W::lanes; ++l) v[l] = 1 / std::sqrt(v[l]);
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
  V p = fill<W>(1.39261836e-3f);  // f^2 p + f + 1: relative error 1e-8
  p = p * f + 8.36317905e-3f;
  p = p * f + 4.16665546e-2f;
  p = p * f + 1.6666577e-1f;
  p = p * f + 0.5f;
  p = p * (f * f) + f + 1.0f;
  return reinterpret_cast<V>(reinterpret_cast<I>(p) + (reinterpret_cast<I>(shifted) << 23));
}

// With e = exp(-|z|): softplus = max(z, 0) + log(1 + e), where log(1 + e) / e on [0, 1] is
// near a polynomial (relative error 2e-7), and sigmoid = 1 / (1 + e) or e / (1 + e).
template <class W>
CPT_INLINE void softplus_sigmoid(typename W::V z, typename W::V* softplus, typename W::V* sigmoid) {
  using V = typename W::V;
  const V zero = fill<W>(0.0f), one = fill<W>(1.0f);
  const V positive = z > zero ? z : zero;
  const V e = exp_negative<W>(z > zero ? -z : z);
  V p = fill<W>(-8.37115255e-3f);
  p = p * e + 4.34938998e-2f;
  p = p * e - 0.106850029f;
  p = p * e + 0.176874767f;
  p = p * e - 0.244747742f;
  p = p * e + 0.332719284f;
  p = p * e - 0.499971745f;
  p = p * e + 0.999999781f;
  *softplus = positive + e * p;
  *sigmoid = (z > zero ? one : e) * (1.0f / (1.0f + e));
}

// 1 / sqrt(v) by two Newton steps from a bit guess: plain multiplications, relative
// error below 5e-6, more than a step size needs.
template <class W>
CPT_INLINE typename W::V inverse_root(typename W::V v) {
  using V = typename W::V;
  using I = typename W::I;
  V y = reinterpret_cast<V>(0x5f375a86 - (reinterpret_cast<I>(v) >> 1));
  const V h = 0.5f * v;
  y = y * (1.5f - h * y * y);
  return y * (1.5f - h * y * y);
}
#endif

// The sum of the lanes, halving the vector until four are left.
template <class W>
CPT_INLINE Real total(typename W::V v) {
  if constexpr (W::lanes > 4) {
    using Half = Width<W::lanes / 2>;
    typename Half::V low, high;
    std::memcpy(&low, &v, sizeof(low));
    std::memcpy(&high, reinterpret_cast<const char*>(&v) + sizeof(low), sizeof(high));
    return total<Half>(low + high);
  } else {
    Real s = 0;
    for (int l = 0; l < W::lanes; ++l) s += v[l];
    return s;
  }
}

template <class W>
CPT_INLINE void activate_group(Real* z, Real* softplus) {
  typename W::V soft, sig;
  softplus_sigmoid<W>(load<W>(z), &soft, &sig);
  store<W>(z, sig);
  store<W>(softplus, soft);
}

CPT_INLINE Real weighted_sum(int facets, const Real* r, const Real* softplus) {
  Wide::V wide = {};
  int k = 0;
  for (; k + CPT_LANES <= facets; k += CPT_LANES) wide += load<Wide>(r + k) * load<Wide>(softplus + k);
  Real sum = k > 0 ? total<Wide>(wide) : 0;
  for (; k < facets; k += Narrow::lanes)
    sum += total<Narrow>(load<Narrow>(r + k) * load<Narrow>(softplus + k));
  return sum;
}

// The rows of a block lie one after another, so vectors may reach across rows: none is
// half empty where facets are fewer than lanes.
void activate(int rows, int facets, const Real* r, Real* z, Real* softplus, Real* g) {
  constexpr int block = 64;  // rows that stay in the first-level cache
  for (int first = 0; first < rows; first += block) {
    const int count = rows - first < block ? rows - first : block, cells = count * facets;
    int at = 0;
    for (; at + CPT_LANES <= cells; at += CPT_LANES) activate_group<Wide>(z + at, softplus + at);
    for (; at < cells; at += Narrow::lanes) activate_group<Narrow>(z + at, softplus + at);
    for (int i = 0; i < count; ++i) g[first + i] = weighted_sum(facets, r, softplus + i * facets);
    z += cells;
    softplus += cells;
  }
}

template <class W>
CPT_INLINE void pull_back_group(int rows, int facets, const Real* r, const Real* dg, Real* sigmoid,
                                const Real* softplus, Real* da, Real* dlog_r) {
  const typename W::V weight = load<W>(r);
  typename W::V sum = fill<W>(0), sum_r = fill<W>(0);
  for (int i = 0; i < rows; ++i) {
    const long at = static_cast<long>(i) * facets;
    const typename W::V dz = dg[i] * weight * load<W>(sigmoid + at);
    store<W>(sigmoid + at, dz);
    sum += dz;
    sum_r += dg[i] * load<W>(softplus + at);
  }
  store<W>(da, sum);
  store<W>(dlog_r, weight * sum_r);
}

void pull_back(int rows, int facets, const Real* r, const Real* dg, Real* sigmoid,
               const Real* softplus, Real* da, Real* dlog_r) {
  int k = 0;
  for (; k + CPT_LANES <= facets; k += CPT_LANES)
    pull_back_group<Wide>(rows, facets, r + k, dg, sigmoid + k, softplus + k, da + k, dlog_r + k);
  for (; k < facets; k += Narrow::lanes)
    pull_back_group<Narrow>(rows, facets, r + k, dg, sigmoid + k, softplus + k, da + k, dlog_r + k);
}

template <class W>
CPT_INLINE void logistic_group(const Real* g, Real g0, Real lambda, Real* right) {
  typename W::V soft, sig;
  softplus_sigmoid<W>(lambda * (load<W>(g) - g0), &soft, &sig);
  store<W>(right, sig);
}

void logistic(int rows, const Real* g, Real g0, Real lambda, Real* right) {
  int i = 0;
  for (; i + Narrow::lanes <= rows; i += Narrow::lanes)
    logistic_group<Narrow>(g + i, g0, lambda, right + i);
  if (i == rows) return;
  Real last[Narrow::lanes] = {}, out[Narrow::lanes];
  for (int l = 0; i + l < rows; ++l) last[l] = g[i + l];
  logistic_group<Narrow>(last, g0, lambda, out);
  for (int l = 0; i + l < rows; ++l) right[i + l] = out[l];
}

template <class W>
CPT_INLINE void adam_group(const AdamStep& step, const Real* gradient, Real* first, Real* second,
                           Real* parameter) {
  const typename W::V g = load<W>(gradient);
  const typename W::V m = step.beta1 * load<W>(first) + (1 - step.beta1) * g;
  const typename W::V v = step.beta2 * load<W>(second) + (1 - step.beta2) * g * g;
  store<W>(first, m);
  store<W>(second, v);
  store<W>(parameter, load<W>(parameter) - step.rate * m * inverse_root<W>(v + step.epsilon2));
}

void adam(int n, const AdamStep& step, const Real* gradient, Real* first, Real* second,
          Real* parameter) {
  int i = 0;
  for (; i + CPT_LANES <= n; i += CPT_LANES)
    adam_group<Wide>(step, gradient + i, first + i, second + i, parameter + i);
  for (; i < n; i += Narrow::lanes)
    adam_group<Narrow>(step, gradient + i, first + i, second + i, parameter + i);
}

#define CPT_QUOTE_(name) #name
#define CPT_QUOTE(name) CPT_QUOTE_(name)

extern const Kernels table;
const Kernels table = {CPT_QUOTE(CPT_TWIN), product, product_transposed, sparse_product,
                       sparse_product_transposed, activate, pull_back, logistic, adam};

#undef CPT_QUOTE
#undef CPT_QUOTE_
#undef CPT_INLINE

}  // namespace CPT_TWIN
}  // namespace cpt
