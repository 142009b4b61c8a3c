// test_forest.cpp: the teacher: bins keep the order of values, opinions are honest (a row's
// own outcome has no say), right where the answer is known, and the same in any order of
// tasks.
#include <algorithm>

#include "forest.h"
#include "support.h"
#include "test.h"

using namespace support;

namespace {

struct Class {
  Matrix x;
  std::vector<double> y, weight;
  std::vector<int> training;
  MadeRows made;

  Class(int n, int p, double zeros, std::uint64_t seed)
      : x(random_matrix(n, p, zeros, seed)), y(n), weight(n, 1.0), training(n) {
    std::iota(training.begin(), training.end(), 0);
  }

  std::vector<float> ask(int classes, const Hooks& hooks = serial_hooks(), bool sparse = false) {
    const Bins bins(x.view(sparse), training, hooks);
    return forest_opinions({bins, made, training, y, weight, classes, 60, 9}, hooks);
  }
};

double correlation(const std::vector<double>& a, const std::vector<float>& b) {
  const double n = static_cast<double>(a.size());
  double ma = 0, mb = 0, ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ma += a[i] / n;
    mb += b[i] / n;
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - ma) * (b[i] - mb);
    aa += (a[i] - ma) * (a[i] - ma);
    bb += (b[i] - mb) * (b[i] - mb);
  }
  return ab / std::sqrt(aa * bb);
}

}  // namespace

TEST(bins_keep_the_order_of_values_dense_and_sparse) {
  Matrix x = random_matrix(500, 4, 0.4, 30);
  for (int i = 0; i < 500; ++i) x.at(i, 3) = i % 3 - 1;  // three values, some negative
  std::vector<int> training(400);
  std::iota(training.begin(), training.end(), 50);
  const Bins dense(x.dense(), training, serial_hooks()), sparse(x.sparse(), training, reversed_hooks());
  CHECK(dense.of(3) == 3, dense.of(3));
  for (int j = 0; j < 4; ++j) {
    CHECK(dense.of(j) == sparse.of(j) && dense.of(j) <= Bins::most, j);
    for (int i = 0; i < 500; ++i) {
      CHECK(dense.column(j)[i] == sparse.column(j)[i], i, j);
      CHECK(dense.column(j)[i] < dense.of(j), i, j);
      for (int k = 0; k < 500; k += 7)
        if (x.at(i, j) <= x.at(k, j)) CHECK(dense.column(j)[i] <= dense.column(j)[k], i, k, j);
    }
  }
}

TEST(forest_knows_a_border_it_can_see) {
  Class c(600, 5, 0.0, 31);
  for (int i = 0; i < 600; ++i) c.y[i] = c.x.at(i, 1) > 0.3;
  const std::vector<float> share = c.ask(2);
  int right = 0;
  for (int i = 0; i < 600; ++i) {
    CHECK(std::fabs(share[2 * i] + share[2 * i + 1] - 1) < 1e-5, i);
    right += (share[2 * i + 1] > 0.5) == (c.y[i] == 1);
  }
  CHECK(right > 585, right);
  for (int i = 0; i < 600; ++i) c.y[i] = 3 * c.x.at(i, 1);
  CHECK(correlation(c.y, c.ask(0)) > 0.97, correlation(c.y, c.ask(0)));
}

// Of noise there is nothing to know: seen from outside its own bag, a row's outcome only
// tells that the others have a little less of it.
TEST(forest_opinion_of_a_row_does_not_use_its_own_outcome) {
  Class c(400, 6, 0.0, 32);
  Stream s = random_numbers(33);
  for (double& y : c.y) y = s.normal();
  CHECK(correlation(c.y, c.ask(0)) < 0.15, correlation(c.y, c.ask(0)));
}

TEST(forest_learns_from_training_rows_only) {
  Class c(300, 4, 0.2, 34);
  for (int i = 0; i < 300; ++i) c.y[i] = c.x.at(i, 0) + c.x.at(i, 2);
  c.training.resize(200);
  const std::vector<float> before = c.ask(0);
  for (int i = 200; i < 300; ++i) c.y[i] = 1e6;
  const std::vector<float> after = c.ask(0);
  CHECK(std::equal(before.begin(), before.begin() + 200, after.begin()));
}

TEST(forest_gives_a_made_row_the_opinion_its_columns_deserve) {
  Class c(500, 2, 0.0, 35);
  for (int i = 0; i < 500; ++i) c.y[i] = 10 * (c.x.at(i, 0) > 0) + c.x.at(i, 1);
  c.made.share = 0.5;
  c.made.key = 3;
  for (int i = 0; i < 500; ++i) {
    c.made.source.push_back(i);
    c.made.donor.push_back((i * 7 + 3) % 500);
  }
  const std::vector<float> opinion = c.ask(0);
  std::vector<double> truth;
  for (int i = 0; i < 500; ++i)
    truth.push_back(10 * (c.x.at(c.made.from(i, 0), 0) > 0) + c.x.at(c.made.from(i, 1), 1));
  const std::vector<float> made(opinion.begin() + 500, opinion.end());
  CHECK(correlation(truth, made) > 0.97, correlation(truth, made));
}

TEST(forest_is_the_same_in_any_order_of_tasks_dense_and_sparse) {
  Class c(300, 7, 0.5, 36);
  for (int i = 0; i < 300; ++i) c.y[i] = (c.x.at(i, 0) > 0) + 2 * (c.x.at(i, 1) * c.x.at(i, 2) > 0);
  const std::vector<float> first = c.ask(4);
  for (const Hooks& hooks : {reversed_hooks(), thread_hooks(3)})
    for (bool sparse : {false, true}) CHECK(same_bits(c.ask(4, hooks, sparse), first), sparse);
}

// Twice the weight of some rows pulls the opinions their way.
TEST(forest_hears_weights) {
  Class c(400, 3, 0.0, 37);
  Stream s = random_numbers(38);
  for (double& y : c.y) y = s.uniform() < 0.5;
  const auto mean = [&] {
    const std::vector<float> share = c.ask(2);
    double sum = 0;
    for (int i = 0; i < 400; ++i) sum += share[2 * i + 1] / 400;
    return sum;
  };
  const double even = mean();
  for (int i = 0; i < 400; ++i) c.weight[i] = c.y[i] == 1 ? 3.0 : 1.0;
  CHECK(even > 0.4 && even < 0.6 && mean() > even + 0.08 && mean() < 0.8, even, mean());
}
