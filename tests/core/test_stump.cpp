// test_stump.cpp: one split: the exact best threshold against all thresholds, the best
// single column against all columns, and a balanced start.
#include <algorithm>

#include "column_stump.h"
#include "stump.h"
#include "support.h"
#include "test.h"

using namespace support;

namespace {

struct Split {
  bool found = false;
  double loss = 0;
};

double impurity_of(const Task& task, const std::vector<int>& rows) {
  std::vector<double> s(task.statistics(), 0.0);
  task.accumulate(static_cast<int>(rows.size()), rows.data(), nullptr, s.data());
  return task.impurity(s.data());
}

// Loss of "g <= threshold goes left"; not found if a side is too light.
Split split_at(const Task& task, const std::vector<int>& rows, const std::vector<Real>& g,
               double threshold, double least) {
  std::vector<int> left, right;
  for (std::size_t i = 0; i < rows.size(); ++i) (g[i] > threshold ? right : left).push_back(rows[i]);
  Split s;
  s.found = !left.empty() && !right.empty() && total_weight(task, left) >= least &&
            total_weight(task, right) >= least;
  s.loss = impurity_of(task, left) + impurity_of(task, right);
  return s;
}

Split best_of_all(const Task& task, const std::vector<int>& rows, const std::vector<Real>& g,
                  double least) {
  Split best;
  for (Real threshold : g) {
    const Split s = split_at(task, rows, g, threshold, least);
    if (s.found && (!best.found || s.loss < best.loss)) best = s;
  }
  return best;
}

struct Made {
  std::vector<double> y, weight;
  std::vector<int> rows;
  std::vector<Real> g;
};

Made made(int n, bool regression, int values, std::uint64_t seed) {
  Made m;
  Stream s = random_numbers(seed);
  for (int i = 0; i < 2 * n; ++i) {  // the rows of the split are every other one
    m.y.push_back(regression ? s.normal() : static_cast<double>(s.below(3)));
    m.weight.push_back(1 + static_cast<double>(s.below(3)));
  }
  for (int i = 0; i < n; ++i) {
    m.rows.push_back(2 * i + 1);
    // values > 0: only so many different ones, i.e. ties
    m.g.push_back(static_cast<Real>(values > 0 ? static_cast<double>(s.below(values)) : s.uniform()));
  }
  return m;
}

// Loss of the best cut of any column, tried at every value.
double best_of_all_columns(const Matrix& m, const Task& task, const std::vector<int>& rows,
                           double least) {
  double best = HUGE_VAL;
  for (int j = 0; j < m.p; ++j) {
    std::vector<Real> column;
    for (int r : rows) column.push_back(static_cast<Real>(m.at(r, j)));
    const Split s = best_of_all(task, rows, column, least);
    if (s.found) best = std::min(best, s.loss);
  }
  return best;
}

}  // namespace

TEST(stump_best_cut_is_the_best_of_all_thresholds) {
  int found = 0, none = 0;
  for (bool regression : {false, true})
    for (int values : {0, 2, 6, 30})
      for (double least : {0.0, 1.0, 12.0, 40.0, 1000.0})
        for (std::uint64_t seed = 60; seed < 64; ++seed) {
          const Made m = made(50, regression, values, seed);
          const auto task = make_task(options_for(regression, 3), m.y, m.weight,
                                      std::vector<char>(m.y.size(), 1));
          const Cut cut = best_cut(*task, m.rows, m.g, least);
          const Split want = best_of_all(*task, m.rows, m.g, least);
          CHECK(cut.found == want.found, regression, values, least, seed, cut.found);
          ++(cut.found ? found : none);
          if (!cut.found || !want.found) continue;
          CHECK(std::fabs(cut.loss - want.loss) < 1e-9, regression, values, least, seed, cut.loss,
                want.loss);
          // the threshold, as the gate compares it, gives that very split
          const double used = static_cast<Real>(cut.threshold);
          const Split got = split_at(*task, m.rows, m.g, used, least);
          CHECK(got.found, regression, values, least, seed);
          CHECK(std::fabs(got.loss - cut.loss) < 1e-9, regression, values, least, seed, got.loss,
                cut.loss);
        }
  CHECK(found > 50 && none > 20, found, none);
}

TEST(stump_best_cut_lies_between_neighbours) {
  const std::vector<double> weight = {1, 1, 1, 1};
  const auto task = make_task(options_for(false), {0, 0, 1, 1}, weight, {1, 1, 1, 1});
  const Cut apart = best_cut(*task, {0, 1, 2, 3}, {1, 2, 4, 5}, 1);
  CHECK(apart.found && apart.threshold == 3, apart.threshold);
  // neighbours in single precision: nothing lies between
  const Real low = 1, high = std::nextafter(low, Real(2));
  const Cut close = best_cut(*task, {0, 1, 2, 3}, {low, low, high, high}, 1);
  CHECK(close.found);
  CHECK(static_cast<Real>(close.threshold) >= low && static_cast<Real>(close.threshold) < high,
        close.threshold);
  CHECK(!best_cut(*task, {0, 1, 2, 3}, {7, 7, 7, 7}, 0).found);
  CHECK(!best_cut(*task, {2}, {7}, 0).found);
  CHECK(!best_cut(*task, {0, 1, 2, 3}, {1, 2, 4, 5}, 2.5).found);
}

// A row of weight 0 that lies at the end must not make a side of no weight.
TEST(stump_best_cut_counts_weight_not_rows) {
  const std::vector<double> weight = {0, 1, 1, 1, 1, 0};
  const auto task = make_task(options_for(false), {0, 1, 1, 1, 0, 0}, weight, std::vector<char>(6, 1));
  const Cut cut = best_cut(*task, {0, 1, 2, 3, 4, 5}, {0, 1, 2, 3, 4, 5}, 1);
  CHECK(cut.found && cut.threshold == 3.5, cut.threshold);
  CHECK(!best_cut(*task, {0, 1}, {0, 1}, 0.5).found);
}

TEST(stump_some_of_is_even_and_bounded) {
  std::vector<int> rows(1000);
  std::iota(rows.begin(), rows.end(), 5);
  CHECK(some_of(rows, 1000) == rows && some_of(rows, 5000) == rows);
  const std::vector<int> some = some_of(rows, 300);
  CHECK(some.size() == 300 && some.front() == 5);
  for (std::size_t i = 1; i < some.size(); ++i)
    CHECK(some[i] - some[i - 1] >= 3 && some[i] - some[i - 1] <= 4, i, some[i] - some[i - 1]);
}

TEST(stump_random_gate_is_balanced_and_of_unit_spread) {
  Matrix m = random_matrix(500, 6, 0.4, 65);
  for (int i = 0; i < m.n; ++i) m.at(i, 2) = 4;  // constant
  const std::vector<double> y(m.n, 0.0), weight(m.n, 1.0);
  for (bool sparse : {false, true})
    for (int facets : {1, 5, 16}) {
      World w(m.view(sparse), y, weight, options_for(false));
      const Gate gate = random_gate(w.data, *w.task, w.all, facets, Stream(1, 1, Purpose::start), w.hooks);
      const std::vector<Real> g = gate_evidence(w.data, gate, w.all, w.hooks);
      double mean = 0, square = 0, right = 0;
      for (Real v : g) mean += v / m.n;
      for (Real v : g) square += (v - mean) * (v - mean) / m.n;
      for (Real v : g) right += double(v > gate.g0()) / m.n;
      CHECK(std::fabs(std::sqrt(square) - 1) < 1e-3, sparse, facets, std::sqrt(square));
      CHECK(std::fabs(gate.g0() - mean) < 1e-3, sparse, facets, gate.g0(), mean);
      CHECK(right > 0.2 && right < 0.8, sparse, facets, right);
      for (int k = 0; k < facets; ++k) CHECK(gate.B()[2 * gate.width + k] == 0, sparse, facets, k);
    }
}

TEST(stump_of_one_column_is_the_best_cut_of_any_column) {
  for (bool regression : {false, true})
    for (bool sparse : {false, true})
      for (std::uint64_t seed = 70; seed < 76; ++seed) {
        Matrix m = random_matrix(120, 7, 0.4, seed);
        for (int i = 0; i < m.n; ++i) m.at(i, 3) = -2;  // constant: cannot be cut
        const Made made_y = made(60, regression, 0, seed);
        const Options o = options_for(regression, 3);
        World w(m.view(sparse), made_y.y, made_y.weight, o);
        for (double least : {0.0, 15.0}) {
          const Stump stump = column_stump(w.data, *w.task, made_y.rows, least, w.hooks);
          CHECK(stump.cut.found && stump.gate.facets == 1, seed, least);
          const double want = best_of_all_columns(m, *w.task, made_y.rows, least);
          CHECK(std::fabs(stump.cut.loss - want) < 1e-9, seed, sparse, stump.cut.loss, want);
          // the gate itself makes that cut, and asks about no other column
          const std::vector<Real> g = gate_evidence(w.data, stump.gate, made_y.rows, w.hooks);
          const Split used = split_at(*w.task, made_y.rows, g, stump.gate.g0(), least);
          CHECK(used.found && std::fabs(used.loss - want) < 1e-9, seed, used.loss, want);
          for (int j = 0; j < m.p; ++j)
            CHECK((stump.gate.B()[static_cast<std::size_t>(j) * stump.gate.width] != 0) ==
                      (j == stump.gate.column), seed, j);
        }
        CHECK(!column_stump(w.data, *w.task, made_y.rows, 1e6, w.hooks).cut.found);
      }
}

TEST(stump_of_one_column_finds_it_among_many_rows) {
  const Sample s = rings(9000, 5, false, 77);
  std::vector<double> y(s.x.n);
  for (int i = 0; i < s.x.n; ++i) y[i] = s.x.at(i, 3) > 0.25;
  World w(s.x.dense(), y, s.weight, options_for(false));
  const Stump stump = column_stump(w.data, *w.task, w.all, 5, w.hooks);
  CHECK(stump.cut.found && stump.gate.column == 3 && stump.cut.loss < 1e-6, stump.cut.loss);
}
