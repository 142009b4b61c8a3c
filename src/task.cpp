// task.cpp: classification and regression, see task.h.
#include "task.h"

#include <algorithm>
#include <cmath>

namespace cpt {

namespace {

double x_log_x(double x) { return x > 0 ? x * std::log(x) : 0.0; }

// Statistics: [ weight, count of class 0, ..., count of class C-1 ].
class Classification : public Task {
 public:
  Classification(int classes, const std::vector<double>& y, const std::vector<double>& weight)
      : classes_(classes), y_(y.begin(), y.end()) {
    weight_ = weight;
  }

  int statistics() const override { return classes_ + 1; }
  int outputs() const override { return classes_; }

  void accumulate(int rows, const int* row, const Real* share, double* s) const override {
    for (int i = 0; i < rows; ++i) {
      const double w = weight_[row[i]] * (share ? static_cast<double>(share[i]) : 1.0);
      s[0] += w;
      s[1 + y_[row[i]]] += w;
    }
  }

  void costs(const double* s, double trace, int rows, const int* row,
             double* cost) const override {
    const std::vector<double>& table = class_costs(s, trace);
    for (int i = 0; i < rows; ++i) cost[i] = table[y_[row[i]]];
  }

  double impurity(const double* s) const override {
    double sum = x_log_x(s[0]);
    for (int c = 0; c < classes_; ++c) sum -= x_log_x(s[1 + c]);
    return std::max(0.0, sum);
  }

  // Moving a row of class c changes only c's terms: no sum over classes, so that
  // relabelled classes give the same numbers to the last bit.
  void sweep(int rows, const int* row, const char* may_end, double* loss) const override {
    std::vector<double> left(classes_, 0.0), right(classes_, 0.0);
    double mass = 0, moved = 0, classes_left = 0, classes_right = 0;
    for (int i = 0; i < rows; ++i) {
      double& count = right[y_[row[i]]];
      classes_right -= x_log_x(count);
      count += weight_[row[i]];
      classes_right += x_log_x(count);
      mass += weight_[row[i]];
    }
    for (int i = 0; i < rows; ++i) {
      const double w = weight_[row[i]];
      double &from = right[y_[row[i]]], &to = left[y_[row[i]]];
      classes_right -= x_log_x(from);
      classes_left -= x_log_x(to);
      from = std::max(0.0, from - w);
      to += w;
      moved += w;
      classes_right += x_log_x(from);
      classes_left += x_log_x(to);
      if (may_end[i])
        loss[i] = x_log_x(moved) - classes_left + x_log_x(std::max(0.0, mass - moved)) - classes_right;
    }
  }

  double nat(double) const override { return 1.0; }

  void value(const double* s, double* out) const override {
    std::copy(s + 1, s + 1 + classes_, out);
  }

  double outcome(int row) const override { return y_[row]; }
  std::unique_ptr<Task> taught(const std::vector<float>& opinion,
                               const std::vector<double>& weight) const override;

 protected:
  // What a row of each class costs in a leaf; valid until this thread asks again.
  const std::vector<double>& class_costs(const double* s, double trace) const {
    thread_local std::vector<double> table;
    table.resize(classes_);
    for (int c = 0; c < classes_; ++c)
      table[c] = -std::log((s[1 + c] + trace / classes_) / (s[0] + trace));
    return table;
  }

  int classes_;

 private:
  std::vector<int> y_;
};

// Every row has a share of each class. A cost is then a mean over the classes.
class SharedClassification : public Classification {
 public:
  SharedClassification(int classes, const std::vector<float>& share,
                       const std::vector<double>& weight)
      : Classification(classes, {}, weight), share_(share) {}

  void accumulate(int rows, const int* row, const Real* share, double* s) const override {
    for (int i = 0; i < rows; ++i)
      add(row[i], share ? static_cast<double>(share[i]) : 1.0, s);
  }

  void costs(const double* s, double trace, int rows, const int* row,
             double* cost) const override {
    const std::vector<double>& table = class_costs(s, trace);
    for (int i = 0; i < rows; ++i) {
      const float* p = shares(row[i]);
      cost[i] = 0;
      for (int c = 0; c < classes_; ++c) cost[i] += p[c] * table[c];
    }
  }

  void sweep(int rows, const int* row, const char* may_end, double* loss) const override {
    std::vector<double> left(statistics(), 0.0), right(statistics(), 0.0);
    accumulate(rows, row, nullptr, right.data());
    for (int i = 0; i < rows; ++i) {
      add(row[i], 1.0, left.data());
      add(row[i], -1.0, right.data());
      for (double& r : right) r = std::max(0.0, r);
      if (may_end[i]) loss[i] = impurity(left.data()) + impurity(right.data());
    }
  }

 private:
  const float* shares(int row) const {
    return share_.data() + static_cast<std::size_t>(row) * classes_;
  }
  void add(int row, double times, double* s) const {
    const double w = weight_[row] * times;
    const float* p = shares(row);
    s[0] += w;
    for (int c = 0; c < classes_; ++c) s[1 + c] += w * p[c];
  }

  std::vector<float> share_;
};

std::unique_ptr<Task> Classification::taught(const std::vector<float>& opinion,
                                             const std::vector<double>& weight) const {
  return std::unique_ptr<Task>(new SharedClassification(classes_, opinion, weight));
}

// Statistics: [ weight, weighted sum, weighted sum of squares ] of the outcome
// standardised on the training rows, so that step sizes mean the same everywhere.
class Regression : public Task {
 public:
  Regression(const std::vector<double>& y, const std::vector<double>& weight,
             const std::vector<char>& training) {
    weight_ = weight;
    double mass = 0, sum = 0, squares = 0;
    for (std::size_t i = 0; i < y.size(); ++i)
      if (training[i]) { mass += weight[i]; sum += weight[i] * y[i]; }
    mean_ = sum / mass;
    for (std::size_t i = 0; i < y.size(); ++i)
      if (training[i]) squares += weight[i] * (y[i] - mean_) * (y[i] - mean_);
    scale_ = std::sqrt(squares / mass);
    if (!(scale_ > 1e-14 * std::fabs(mean_))) scale_ = 0;  // constant outcome
    y_.resize(y.size());
    for (std::size_t i = 0; i < y.size(); ++i) y_[i] = scale_ > 0 ? (y[i] - mean_) / scale_ : 0.0;
  }

  int statistics() const override { return 3; }
  int outputs() const override { return 1; }

  void accumulate(int rows, const int* row, const Real* share, double* s) const override {
    for (int i = 0; i < rows; ++i) {
      const double w = weight_[row[i]] * (share ? static_cast<double>(share[i]) : 1.0);
      const double y = y_[row[i]];
      s[0] += w;
      s[1] += w * y;
      s[2] += w * y * y;
    }
  }

  void costs(const double* s, double trace, int rows, const int* row,
             double* cost) const override {
    const double mu = s[0] + trace > 0 ? s[1] / (s[0] + trace) : 0.0;
    for (int i = 0; i < rows; ++i) {
      const double off = y_[row[i]] - mu;
      cost[i] = off * off;
    }
  }

  double impurity(const double* s) const override {
    return s[0] > 0 ? std::max(0.0, s[2] - s[1] * s[1] / s[0]) : 0.0;
  }

  void sweep(int rows, const int* row, const char* may_end, double* loss) const override {
    double all[3] = {0, 0, 0}, left[3] = {0, 0, 0};
    accumulate(rows, row, nullptr, all);
    for (int i = 0; i < rows; ++i) {
      accumulate(1, row + i, nullptr, left);
      if (!may_end[i]) continue;
      const double right[3] = {all[0] - left[0], all[1] - left[1], all[2] - left[2]};
      loss[i] = impurity(left) + impurity(right);
    }
  }

  double nat(double mean) const override { return 2.0 * mean; }

  void value(const double* s, double* out) const override {
    out[0] = mean_ + (s[0] > 0 ? scale_ * s[1] / s[0] : 0.0);
  }
  double reported_loss(double loss) const override { return loss * scale_ * scale_; }

  double outcome(int row) const override { return y_[row]; }
  std::unique_ptr<Task> taught(const std::vector<float>& opinion,
                               const std::vector<double>& weight) const override {
    std::unique_ptr<Regression> out(new Regression(*this));
    out->weight_ = weight;
    out->y_.assign(opinion.begin(), opinion.end());
    return out;
  }

 private:
  double mean_, scale_;
  std::vector<double> y_;
};

}  // namespace

std::unique_ptr<Task> make_task(const Options& options, const std::vector<double>& y,
                                const std::vector<double>& weight,
                                const std::vector<char>& training) {
  if (options.task == "classification")
    return std::unique_ptr<Task>(new Classification(options.n_classes, y, weight));
  if (options.task == "regression")
    return std::unique_ptr<Task>(new Regression(y, weight, training));
  throw Error("unknown task \"" + options.task + "\"");
}

}  // namespace cpt
