// test_order.cpp: both ways to sort against a stable sort of the standard library.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "order.h"
#include "rng.h"
#include "test.h"

using namespace cpt;

namespace {

std::vector<int> plain_order(const std::vector<float>& value) {
  std::vector<int> out(value.size());
  std::iota(out.begin(), out.end(), 0);
  std::stable_sort(out.begin(), out.end(), [&](int a, int b) { return value[a] < value[b]; });
  return out;
}

}  // namespace

TEST(order_is_stable_for_any_numbers) {
  Stream s(1, 2, Purpose::shuffle);
  for (int n : {0, 1, 2, 255, 256, 257, 3000}) {
    std::vector<float> plain(n), ties(n), extreme(n), equal(n, -3.5f);
    for (int i = 0; i < n; ++i) {
      plain[i] = static_cast<float>(s.normal());
      ties[i] = static_cast<float>(static_cast<int>(s.below(7)) - 3);
      extreme[i] = static_cast<float>(s.normal() * std::pow(10.0, static_cast<int>(s.below(70)) - 35));
      if (s.below(5) == 0) extreme[i] = s.below(2) ? 0.0f : -0.0f;
      if (s.below(50) == 0) extreme[i] = s.below(2) ? HUGE_VALF : -HUGE_VALF;
    }
    for (const auto& value : {plain, ties, extreme, equal}) {
      const std::vector<int> want = plain_order(value);
      CHECK(order_by_digits(value) == want, n);
      CHECK(order_by_comparing(value) == want, n);
      CHECK(order_of(value) == want, n);
      const std::vector<double> twice(value.begin(), value.end());
      CHECK(order_of(twice) == want, n);
    }
  }
}
