// bins.cpp: see bins.h.
#include "bins.h"

#include <algorithm>

namespace cpt {

namespace {

constexpr int judging_rows = 4000;  // rows that place the cuts

// Upper ends of all bins but the last: some of the values that occur, ascending.
std::vector<double> cut_points(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  std::vector<double> distinct = values;
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  if (distinct.size() > Bins::most) {
    std::vector<double> quantiles;
    for (int b = 1; b < Bins::most; ++b) quantiles.push_back(values[values.size() * b / Bins::most]);
    quantiles.erase(std::unique(quantiles.begin(), quantiles.end()), quantiles.end());
    return quantiles;
  }
  distinct.pop_back();
  return distinct;
}

}  // namespace

Bins::Bins(const MatrixView& x, const std::vector<int>& training, const Hooks& hooks)
    : rows_(x.rows), cols_(x.cols), count_(x.cols, 1),
      bin_(static_cast<std::size_t>(x.rows) * x.cols, 0) {
  const std::size_t judges = std::min<std::size_t>(judging_rows, training.size());
  hooks.run(cols_, [&](int j) {
    thread_local std::vector<double> value;
    value.assign(rows_, 0.0);
    visit_column(x, j, [&](int i, double v) { value[i] = v; });
    std::vector<double> sample(judges);
    for (std::size_t i = 0; i < judges; ++i) sample[i] = value[training[i * training.size() / judges]];
    const std::vector<double> cuts = cut_points(std::move(sample));
    count_[j] = static_cast<int>(cuts.size()) + 1;
    std::uint8_t* out = bin_.data() + static_cast<std::size_t>(j) * rows_;
    for (int i = 0; i < rows_; ++i)
      out[i] = static_cast<std::uint8_t>(std::lower_bound(cuts.begin(), cuts.end(), value[i]) -
                                         cuts.begin());
  });
}

}  // namespace cpt
