// rng.h: portable random streams. A stream is keyed by (seed, node, purpose), so
// what a node draws does not depend on threads or on other nodes. The standard
// library's distributions differ between compilers; these do not.
#ifndef CPT_RNG_H
#define CPT_RNG_H

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace cpt {

enum class Purpose : std::uint64_t {
  start = 1, shuffle = 2, dropout = 3, sample = 4, forest = 5, made = 6, tree = 7,
  jitter = 8, council = 9
};

class Stream {
 public:
  Stream(std::uint64_t seed, std::uint64_t node, Purpose purpose, std::uint64_t extra = 0)
      : state_(mix(mix(mix(seed) ^ (node * 0x9e3779b97f4a7c15ULL)) ^
                   (static_cast<std::uint64_t>(purpose) << 56) ^ extra)) {}

  // splitmix64 (Steele, Lea and Flood 2014)
  std::uint64_t bits() {
    state_ += 0x9e3779b97f4a7c15ULL;
    return mix(state_);
  }

  double uniform() { return static_cast<double>(bits() >> 11) * 0x1.0p-53; }

  double normal() {  // Box-Muller; one of the pair is enough here
    const double u = 1.0 - uniform();
    return std::sqrt(-2.0 * std::log(u)) * std::cos(6.283185307179586 * uniform());
  }

  std::uint64_t below(std::uint64_t n) {  // bias < n / 2^53
    return static_cast<std::uint64_t>(uniform() * static_cast<double>(n));
  }

  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

 private:
  static std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  std::uint64_t state_;
};

}  // namespace cpt

#endif
