// median.cpp: see median.h. One column at a time is copied; equal weights need no sort.
#include "median.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace cpt {

namespace {

struct Weighed {
  double value, weight;
};

bool lower(const Weighed& a, const Weighed& b) { return a.value < b.value; }

double missing() { return std::numeric_limits<double>::quiet_NaN(); }

// All rows of column j, those that a sparse matrix leaves out as zeros.
std::vector<double> column(const MatrixView& x, int j) {
  std::vector<double> out(x.rows, 0.0);
  const std::size_t from = static_cast<std::size_t>(j) * x.rows;
  if (x.is_sparse()) {
    for (int at = x.column_start[j]; at < x.column_start[j + 1]; ++at)
      out[x.row_index[at]] = x.nonzero[at];
  } else if (x.dense) {
    std::copy_n(x.dense + from, x.rows, out.begin());
  } else {
    std::transform(x.dense_int + from, x.dense_int + from + x.rows, out.begin(), [](int v) {
      return v == std::numeric_limits<int>::min() ? missing() : v;
    });
  }
  return out;
}

double median(std::vector<Weighed>& v) {
  const auto middle = v.begin() + v.size() / 2;
  std::nth_element(v.begin(), middle, v.end(), lower);
  if (v.size() % 2 == 1) return middle->value;
  return (std::max_element(v.begin(), middle, lower)->value + middle->value) / 2;
}

// The value where half of the weight is reached; between two where it is hit exactly.
double weighted_median(std::vector<Weighed>& v) {
  std::stable_sort(v.begin(), v.end(), lower);
  const double half = std::accumulate(v.begin(), v.end(), 0.0, [](double sum, const Weighed& one) {
    return sum + one.weight;
  }) / 2;
  double reached = 0;
  for (std::size_t i = 0; i + 1 < v.size(); ++i) {
    reached += v[i].weight;
    if (reached == half) return (v[i].value + v[i + 1].value) / 2;
    if (reached > half) return v[i].value;
  }
  return v.back().value;
}

// More than half of the weight on the zeros that are not stored.
bool is_mostly_zero(const MatrixView& x, int j, const std::vector<double>& weights, double all) {
  if (!x.is_sparse()) return false;
  double stored = 0;
  for (int at = x.column_start[j]; at < x.column_start[j + 1]; ++at)
    stored += weights[x.row_index[at]];
  return all - stored > stored;
}

double column_median(const MatrixView& x, int j, const std::vector<double>& weights) {
  const std::vector<double> value = column(x, j);
  std::vector<Weighed> seen;
  for (int i = 0; i < x.rows; ++i)
    if (!std::isnan(value[i]) && weights[i] > 0) seen.push_back({value[i], weights[i]});
  if (seen.empty())
    for (double v : value)
      if (!std::isnan(v)) seen.push_back({v, 1});
  if (seen.empty()) return missing();
  const bool equal = std::all_of(seen.begin(), seen.end(), [&](const Weighed& one) {
    return one.weight == seen[0].weight;
  });
  return equal ? median(seen) : weighted_median(seen);
}

}  // namespace

std::vector<double> column_medians(const MatrixView& x, const std::vector<double>& weights,
                                   const Hooks& hooks) {
  if (static_cast<int>(weights.size()) != x.rows) throw Error("every row needs a weight");
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<double> out(x.cols);
  hooks.run(x.cols, [&](int j) {
    out[j] = is_mostly_zero(x, j, weights, all) ? 0 : column_median(x, j, weights);
  });
  return out;
}

}  // namespace cpt
