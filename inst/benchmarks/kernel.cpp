// kernel.cpp: the two products of a gate (x B and x' dZ) against a BLAS's sgemm, one
// thread each, alternately, best of several. Prints: rows d facets ours peer (GFLOP/s).
//   c++ -std=c++17 -O2 -I src inst/benchmarks/kernel.cpp src/kernels*.cpp -lopenblas
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "kernels.h"

extern "C" {
void cblas_sgemm(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                 const float* a, int lda, const float* b, int ldb, float beta, float* c, int ldc);
void openblas_set_num_threads(int threads);
}

namespace {

constexpr int row_major = 101, plain = 111, transposed = 112;

template <class Body>
double seconds(Body body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void compare(int n, int d, int facets, int repeats) {
  const int width = cpt::padded(facets), ld = (d + 15) / 16 * 16;
  std::vector<float> x(static_cast<std::size_t>(n) * ld), b(d * width), a(width), z(n * width),
      gradient(d * width);
  for (float& v : x) v = std::rand() / static_cast<float>(RAND_MAX) - 0.5f;
  for (float& v : b) v = std::rand() / static_cast<float>(RAND_MAX) - 0.5f;
  std::vector<int> row(n);
  std::iota(row.begin(), row.end(), 0);
  const cpt::Kernels& kernels = cpt::kernels();
  double ours = 1e9, peer = 1e9;
  for (int r = 0; r < repeats; ++r) {
    ours = std::min(ours, seconds([&] {
      kernels.product(n, row.data(), x.data(), ld, d, b.data(), a.data(), width, z.data());
      std::fill(gradient.begin(), gradient.end(), 0.0f);
      kernels.product_transposed(n, row.data(), x.data(), ld, 0, d, z.data(), width,
                                 gradient.data());
    }));
    peer = std::min(peer, seconds([&] {
      cblas_sgemm(row_major, plain, plain, n, facets, d, 1, x.data(), ld, b.data(), width, 0,
                  z.data(), width);
      cblas_sgemm(row_major, transposed, plain, d, facets, n, 1, x.data(), ld, z.data(), width, 0,
                  gradient.data(), width);
    }));
  }
  const double work = 4e-9 * n * d * facets;
  std::printf("%d %d %d %.2f %.2f\n", n, d, facets, work / ours, work / peer);
}

}  // namespace

int main(int argc, char** argv) {
  const int repeats = argc > 1 ? std::atoi(argv[1]) : 200;
  openblas_set_num_threads(1);
  compare(1000, 784, 30, repeats);
  compare(1000, 784, 60, repeats);
  compare(1000, 126, 100, repeats);
  compare(1000, 100, 20, repeats);
  compare(1000, 16, 30, repeats);
}
