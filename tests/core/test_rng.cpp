// test_rng.cpp: the random streams: known values, independence of keys, moments.
#include <algorithm>
#include <set>

#include "rng.h"
#include "test.h"

using cpt::Purpose;
using cpt::Stream;

namespace {

std::uint64_t unshift(std::uint64_t z, int by) {  // undoes z ^= z >> by
  std::uint64_t x = z;
  for (int i = by; i < 64; i += by) x = z ^ (x >> by);
  return x;
}

std::uint64_t inverse_of(std::uint64_t odd) {  // modulo 2^64, by Newton's method
  std::uint64_t x = odd;
  for (int i = 0; i < 6; ++i) x *= 2 - odd * x;
  return x;
}

std::uint64_t unmix(std::uint64_t z) {
  z = unshift(z, 31) * inverse_of(0x94d049bb133111ebULL);
  z = unshift(z, 27) * inverse_of(0xbf58476d1ce4e5b9ULL);
  return unshift(z, 30);
}

// The stream whose state is the given one: seed 0 and node 0 leave only the last
// mixing step, and `extra` cancels the purpose.
Stream with_state(std::uint64_t state) {
  return Stream(0, 0, Purpose::start, unmix(state) ^ (std::uint64_t{1} << 56));
}

}  // namespace

// Values of the authors' reference program (Vigna's splitmix64.c).
TEST(rng_gives_the_known_splitmix64_values) {
  Stream zero = with_state(0);
  for (std::uint64_t known : {0xe220a8397b1dcdafULL, 0x6e789e6aa1b965f4ULL, 0x06c45d188009454fULL}) {
    const std::uint64_t got = zero.bits();
    CHECK(got == known, got, known);
  }
  Stream other = with_state(1234567);
  for (std::uint64_t known : {6457827717110365317ULL, 3203168211198807973ULL,
                              9817491932198370423ULL, 4593380528125082431ULL,
                              16408922859458223821ULL}) {
    const std::uint64_t got = other.bits();
    CHECK(got == known, got, known);
  }
}

TEST(rng_streams_differ_by_seed_node_purpose_and_extra) {
  std::set<std::uint64_t> first;
  int streams = 0;
  for (std::uint64_t seed = 0; seed < 4; ++seed)
    for (std::uint64_t node = 1; node < 40; ++node)
      for (Purpose purpose : {Purpose::start, Purpose::shuffle, Purpose::dropout, Purpose::sample})
        for (std::uint64_t extra = 0; extra < 10; ++extra) {
          first.insert(Stream(seed, node, purpose, extra).bits());
          ++streams;
        }
  CHECK(static_cast<int>(first.size()) == streams, first.size(), streams);
  Stream a(3, 5, Purpose::shuffle, 2), b(3, 5, Purpose::shuffle, 2);
  for (int i = 0; i < 100; ++i) CHECK(a.bits() == b.bits(), i);
}

TEST(rng_neighbouring_streams_are_uncorrelated) {
  const int n = 20000;
  for (std::uint64_t node = 1; node < 5; ++node) {
    Stream a(1, node, Purpose::start), b(1, node + 1, Purpose::start);
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += (a.uniform() - 0.5) * (b.uniform() - 0.5);
    CHECK(std::fabs(sum / n * 12) < 4 / std::sqrt(n), node, sum / n * 12);
  }
}

TEST(rng_shuffle_is_a_permutation_and_fair) {
  Stream s(9, 1, Purpose::shuffle);
  std::vector<int> items(101);
  for (int i = 0; i < 101; ++i) items[i] = i;
  const std::vector<int> before = items;
  s.shuffle(items);
  CHECK(items != before);
  std::sort(items.begin(), items.end());
  CHECK(items == before);
  const int trials = 20000;
  int count[4][4] = {};  // item, place
  for (int t = 0; t < trials; ++t) {
    std::vector<int> four = {0, 1, 2, 3};
    s.shuffle(four);
    for (int place = 0; place < 4; ++place) ++count[four[place]][place];
  }
  const double sd = std::sqrt(trials * 0.25 * 0.75);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j)
      CHECK(std::fabs(count[i][j] - trials / 4) < 4.5 * sd, i, j, count[i][j]);
  std::vector<int> none, one = {7};
  s.shuffle(none);
  s.shuffle(one);
  CHECK(none.empty() && one == std::vector<int>{7});
}

TEST(rng_uniform_and_normal_moments) {
  Stream s(2, 3, Purpose::sample);
  const int n = 200000;
  double u1 = 0, u2 = 0, low = 1, high = 0, n1 = 0, n2 = 0, n3 = 0, n4 = 0, beyond = 0;
  for (int i = 0; i < n; ++i) {
    const double u = s.uniform(), z = s.normal();
    low = std::min(low, u);
    high = std::max(high, u);
    u1 += u;
    u2 += u * u;
    n1 += z;
    n2 += z * z;
    n3 += z * z * z;
    n4 += z * z * z * z;
    beyond += std::fabs(z) > 1.959964;
  }
  const double unit = 1 / std::sqrt(n);
  CHECK(low >= 0 && high < 1, low, high);
  CHECK(std::fabs(u1 / n - 0.5) < 4.5 * unit * std::sqrt(1 / 12.0), u1 / n);
  CHECK(std::fabs(u2 / n - 1 / 3.0) < 4.5 * unit * std::sqrt(4 / 45.0), u2 / n);
  CHECK(std::fabs(n1 / n) < 4.5 * unit, n1 / n);
  CHECK(std::fabs(n2 / n - 1) < 4.5 * unit * std::sqrt(2.0), n2 / n);
  CHECK(std::fabs(n3 / n) < 4.5 * unit * std::sqrt(15.0), n3 / n);
  CHECK(std::fabs(n4 / n - 3) < 4.5 * unit * std::sqrt(96.0), n4 / n);
  CHECK(std::fabs(beyond / n - 0.05) < 4.5 * unit * std::sqrt(0.05 * 0.95), beyond / n);
}

TEST(rng_below_stays_below_and_reaches_all) {
  Stream s(4, 4, Purpose::sample);
  for (std::uint64_t n : {1, 2, 3, 7, 10}) {
    std::vector<int> seen(n, 0);
    for (int i = 0; i < 1000; ++i) {
      const std::uint64_t got = s.below(n);
      CHECK(got < n, got, n);
      if (got < n) ++seen[got];
    }
    CHECK(*std::min_element(seen.begin(), seen.end()) > 0, n);
  }
}
