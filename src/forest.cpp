// forest.cpp: see forest.h.
#include "forest.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace cpt {

namespace {

constexpr int groups = 10;           // trees are summed up in this many parts, whatever the threads
constexpr int bag_rows = 20000;      // most rows that one tree learns from
constexpr double least_split = 10;   // rows of a node that is still split
constexpr double least_leaf = 2;

// Both outcomes in one form: a row adds `amount` to output `place`. Then the sum of
// squares within nodes, and Gini's index as well, fall by what |sum|^2 / mass rises.
struct Outcome {
  int outputs;
  std::vector<int> place;
  std::vector<double> amount, mass;
};

Outcome outcome_of(const ForestInput& in) {
  Outcome out{std::max(1, in.classes), {}, in.weight, in.weight};
  out.place.assign(in.y.size(), 0);
  if (in.classes > 0) {
    for (std::size_t i = 0; i < in.y.size(); ++i) out.place[i] = static_cast<int>(in.y[i]);
    return out;
  }
  for (std::size_t i = 0; i < in.y.size(); ++i) out.amount[i] *= in.y[i];
  return out;
}

struct Split {
  int column = -1, bin = 0;  // rows in bins 0..bin go left
  double score = 0;
};

// Rows so far on the left of a moving cut, and the rest.
class Balance {
 public:
  Balance(const std::vector<double>& sum, double mass)
      : left_(sum.size(), 0.0), right_(sum), mass_right_(mass) {
    for (double s : sum) squares_right_ += s * s;
  }
  void move(int place, double amount, double mass) {
    squares_left_ += amount * (2 * left_[place] + amount);
    squares_right_ -= amount * (2 * right_[place] - amount);
    left_[place] += amount;
    right_[place] -= amount;
    mass_left_ += mass;
    mass_right_ -= mass;
  }
  double score() const { return squares_left_ / mass_left_ + squares_right_ / mass_right_; }
  double left() const { return mass_left_; }
  double right() const { return mass_right_; }

 private:
  std::vector<double> left_, right_;
  double mass_left_ = 0, mass_right_, squares_left_ = 0, squares_right_ = 0;
};

// One tree. Its bag is what it learns from; `pupils` are asked about.
class ForestTree {
 public:
  ForestTree(const ForestInput& in, const Outcome& outcome, int tree)
      : in_(in), outcome_(outcome), draw_(in.seed, static_cast<std::uint64_t>(tree), Purpose::forest) {
    const int d = in.bins.cols();
    const double root = std::sqrt(static_cast<double>(d));
    tries_ = static_cast<int>(std::ceil(in.classes > 0 ? root : std::max(root, d / 3.0)));
    columns_.resize(d);
    std::iota(columns_.begin(), columns_.end(), 0);
    fill_bag();
  }

  // Adds what the leaves say to `sum` (rows x outputs), and one to `votes`.
  void run(std::vector<float>& sum, std::vector<float>& votes) {
    struct Part { int bag_first, bag_last, first, last; };
    std::vector<Part> open = {{0, static_cast<int>(bag_.size()), 0, static_cast<int>(pupils_.size())}};
    while (!open.empty()) {
      const Part part = open.back();
      open.pop_back();
      if (part.first == part.last) continue;  // nobody is left to be told
      measure(part.bag_first, part.bag_last);
      const Split split = best_split(part.bag_first, part.bag_last);
      if (split.column < 0) {
        for (int i = part.first; i < part.last; ++i) tell(pupils_[i], sum, votes);
        continue;
      }
      const int middle = divide(bag_, part.bag_first, part.bag_last, split);
      const int at = divide(pupils_, part.first, part.last, split);
      open.push_back({part.bag_first, middle, part.first, at});
      open.push_back({middle, part.bag_last, at, part.last});
    }
  }

 private:
  void fill_bag() {
    const std::size_t n = in_.training.size();
    std::vector<char> seen(in_.bins.rows(), 1);  // rows that are no training rows are not asked about
    for (int r : in_.training) seen[r] = 0;
    bag_.resize(std::min<std::size_t>(n, bag_rows));
    for (int& r : bag_) {
      r = in_.training[draw_.below(n)];
      seen[r] = 1;
    }
    for (int r = 0; r < in_.bins.rows(); ++r)
      if (!seen[r]) pupils_.push_back(r);
    for (int i = 0; i < in_.made.size(); ++i) pupils_.push_back(in_.bins.rows() + i);
  }

  void measure(int first, int last) {
    sum_.assign(outcome_.outputs, 0.0);
    mass_ = 0;
    for (int i = first; i < last; ++i) {
      sum_[outcome_.place[bag_[i]]] += outcome_.amount[bag_[i]];
      mass_ += outcome_.mass[bag_[i]];
    }
  }

  Split best_split(int first, int last) {
    Split best;
    if (last - first < least_split) return best;
    for (double s : sum_) best.score += s * s;
    best.score = best.score / mass_ * (1 + 1e-9) + 1e-12;
    for (int t = 0; t < tries_; ++t) {  // a part of a shuffle draws without repeats
      std::swap(columns_[t], columns_[t + draw_.below(columns_.size() - t)]);
      const int j = columns_[t];
      if (in_.bins.of(j) > 1) try_column(j, first, last, best);
    }
    return best;
  }

  void try_column(int j, int first, int last, Split& best) {
    const std::uint8_t* bin = in_.bins.column(j);
    const int n = last - first, outputs = outcome_.outputs;
    Balance balance(sum_, mass_);
    const double least = least_leaf / n * mass_;
    const auto judge = [&](int b) {
      if (balance.left() < least || balance.right() < least) return;
      const double score = balance.score();
      if (score > best.score) best = {j, b, score};
    };
    if (n < in_.bins.of(j)) {  // few rows: put them in order
      order_.clear();
      for (int i = first; i < last; ++i) order_.push_back({bin[bag_[i]], bag_[i]});
      std::sort(order_.begin(), order_.end());
      for (int i = 0; i + 1 < n; ++i) {
        const int r = order_[i].second;
        balance.move(outcome_.place[r], outcome_.amount[r], outcome_.mass[r]);
        if (order_[i].first < order_[i + 1].first) judge(order_[i].first);
      }
      return;
    }
    amounts_.assign(static_cast<std::size_t>(in_.bins.of(j)) * outputs, 0.0);
    masses_.assign(in_.bins.of(j), 0.0);
    for (int i = first; i < last; ++i) {
      const int r = bag_[i], b = bin[r];
      amounts_[b * outputs + outcome_.place[r]] += outcome_.amount[r];
      masses_[b] += outcome_.mass[r];
    }
    for (int b = 0; b + 1 < in_.bins.of(j); ++b) {
      if (masses_[b] == 0) continue;
      for (int c = 0; c < outputs; ++c)
        if (amounts_[b * outputs + c] != 0) balance.move(c, amounts_[b * outputs + c], 0);
      balance.move(0, 0, masses_[b]);
      judge(b);
    }
  }

  int bin_of(int j, int row) const {
    const int rows = in_.bins.rows();
    return in_.bins.column(j)[row < rows ? row : in_.made.from(row - rows, j)];
  }

  // Rows that go left first, in their order; returns where the others begin.
  int divide(std::vector<int>& rows, int first, int last, const Split& split) {
    if (static_cast<int>(others_.size()) < last - first) others_.resize(last - first);
    int left = first, others = 0;
    for (int i = first; i < last; ++i) {
      const int row = rows[i];
      const bool goes_left = bin_of(split.column, row) <= split.bin;
      rows[left] = others_[others] = row;  // to both: the one that counts is not written over
      left += goes_left;
      others += !goes_left;
    }
    std::copy_n(others_.begin(), others, rows.begin() + left);
    return left;
  }

  void tell(int row, std::vector<float>& sum, std::vector<float>& votes) const {
    float* out = sum.data() + static_cast<std::size_t>(row) * outcome_.outputs;
    for (int c = 0; c < outcome_.outputs; ++c) out[c] += static_cast<float>(sum_[c] / mass_);
    votes[row] += 1;
  }

  const ForestInput& in_;
  const Outcome& outcome_;
  Stream draw_;
  int tries_;
  std::vector<int> columns_, bag_, pupils_, others_;
  std::vector<double> sum_, amounts_, masses_;
  double mass_ = 0;
  std::vector<std::pair<std::uint8_t, int>> order_;
};

}  // namespace

std::vector<float> forest_opinions(const ForestInput& in, const Hooks& hooks) {
  const Outcome outcome = outcome_of(in);
  const std::size_t rows = static_cast<std::size_t>(in.bins.rows()) + in.made.size();
  const int outputs = outcome.outputs;
  std::vector<std::vector<float>> sums(groups), votes(groups);
  hooks.run(groups, [&](int g) {
    sums[g].assign(rows * outputs, 0);
    votes[g].assign(rows, 0);
    for (int t = g; t < in.trees; t += groups) {
      if (hooks.is_cancelled()) return;
      ForestTree(in, outcome, t).run(sums[g], votes[g]);
    }
  });
  std::vector<float> out(rows * outputs, 0);
  for (std::size_t i = 0; i < rows; ++i) {
    float heard = 0;
    for (int g = 0; g < groups; ++g) {
      heard += votes[g][i];
      for (int c = 0; c < outputs; ++c) out[i * outputs + c] += sums[g][i * outputs + c];
    }
    if (heard > 0)
      for (int c = 0; c < outputs; ++c)
        out[i * outputs + c] /= heard;
    else if (i < in.y.size())
      out[i * outputs + outcome.place[i]] = in.classes > 0 ? 1 : static_cast<float>(in.y[i]);
  }
  return out;
}

}  // namespace cpt
