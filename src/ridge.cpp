// ridge.cpp: see ridge.h.
#include "ridge.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cpt {

namespace {

using Eigen::Index;

constexpr double least_size = 10;  // smaller nodes keep the mean
constexpr double infinity = std::numeric_limits<double>::infinity();

// Half powers of ten, relative to the sum of squares of all columns.
constexpr double first_exponent = -6, last_exponent = 1, step = 0.5;

// Mean squares over rows, for all penalties at once: of the errors, and of what they
// are better than the mean.
struct Scores {
  VectorXd square, gain, gain_square;
  double constant = 0;
  explicit Scores(Index n = 0)
      : square(VectorXd::Zero(n)), gain(VectorXd::Zero(n)), gain_square(VectorXd::Zero(n)) {}
  void add(const Scores& other) {
    square += other.square;
    gain += other.gain;
    gain_square += other.gain_square;
    constant += other.constant;
  }
};

class NodeRidge {
 public:
  NodeRidge(const ModelData& data, std::vector<int> row, const RidgeLimits& limits,
            const Hooks& hooks)
      : limits_(limits), rows_(data, std::move(row), limits.most, hooks) {}

  Ridge run() {
    Ridge out;
    out.intercept = rows_.mean_y();
    out.coef.assign(rows_.cols(), 0.0);
    out.chosen = infinity;
    if (rows_.size() < least_size || !(rows_.trace() > 0) || !(rows_.squares_y() > 0)) return out;
    for (double e = first_exponent; e <= last_exponent + 1e-9; e += step)
      lambda_.push_back(rows_.trace() * std::pow(10.0, e));
    const MatrixXd b = n() <= rows_.cols() ? solve_by_rows() : solve_by_columns();
    return choose(std::move(out), b);
  }

 private:
  int n() const { return rows_.n(); }
  int lambdas() const { return static_cast<int>(lambda_.size()); }

  MatrixXd solve_by_columns() {
    MatrixXd gram;
    VectorXd right;
    rows_.make_gram(gram, right);
    MatrixXd b(rows_.cols(), lambdas());
    if (rows_.cols() <= limits_.exact && n() <= limits_.tall * rows_.cols()) {
      const Eigen::SelfAdjointEigenSolver<MatrixXd> eigen(gram);
      const VectorXd values = eigen.eigenvalues().cwiseMax(0.0);
      const RowMatrix vectors = eigen.eigenvectors();
      const VectorXd q = vectors.transpose() * right;
      const MatrixXd share = inverse_sums(values);
      for (int k = 0; k < lambdas(); ++k)
        b.col(k).noalias() = vectors * q.cwiseProduct(share.col(k));
      const VectorXd mean = vectors.transpose() * rows_.mean();
      score_rows([&](int first, int count, MatrixXd& fitted, MatrixXd& leverage) {
        const MatrixXd z = rows_.project(first, count, vectors, mean);
        fitted.noalias() = z * (share.array().colwise() * q.array()).matrix();
        leverage.noalias() = z.cwiseAbs2() * share;
      });
      return b;
    }
    const VectorXd own = solve_tridiagonal(gram, right, b);
    const RowMatrix onto = b;
    const VectorXd mean = onto.transpose() * rows_.mean();
    score_rows([&](int first, int count, MatrixXd& fitted, MatrixXd& leverage) {
      fitted = rows_.project(first, count, onto, mean);
      share_out(own, first, leverage);
    });
    return b;
  }

  MatrixXd solve_by_rows() {
    const MatrixXd kernel = rows_.kernel();
    VectorXd right(n());
    for (int i = 0; i < n(); ++i) right[i] = rows_.root(i) * rows_.y(i);
    MatrixXd dual(n(), lambdas());
    if (n() <= limits_.exact) {
      const Eigen::SelfAdjointEigenSolver<MatrixXd> eigen(kernel);
      const VectorXd values = eigen.eigenvalues().cwiseMax(0.0);
      const MatrixXd& vectors = eigen.eigenvectors();
      const VectorXd q = vectors.transpose() * right;
      const MatrixXd share = inverse_sums(values);
      const MatrixXd hat = vectors.cwiseAbs2() * (share.array().colwise() * values.array()).matrix();
      dual.noalias() = vectors * (share.array().colwise() * q.array()).matrix();
      score_rows([&](int first, int count, MatrixXd& fitted, MatrixXd& leverage) {
        fit_rows(dual, first, count, fitted);
        for (int i = 0; i < count; ++i) leverage.row(i) = hat.row(first + i) / rows_.weight(first + i);
      });
    } else {
      const VectorXd own = solve_tridiagonal(kernel, right, dual);
      score_rows([&](int first, int count, MatrixXd& fitted, MatrixXd& leverage) {
        fit_rows(dual, first, count, fitted);
        share_out(own, first, leverage);
      });
    }
    return rows_.columns_from(dual);
  }

  // What is left of the outcome is lambda times the dual solution.
  void fit_rows(const MatrixXd& dual, int first, int count, MatrixXd& fitted) const {
    for (int i = 0; i < count; ++i)
      for (int k = 0; k < lambdas(); ++k)
        fitted(i, k) = rows_.y(first + i) - lambda_[k] * dual(first + i, k) / rows_.root(first + i);
  }

  MatrixXd inverse_sums(const VectorXd& values) const {
    MatrixXd out(values.size(), lambdas());
    for (int k = 0; k < lambdas(); ++k) out.col(k) = (values.array() + lambda_[k]).inverse();
    return out;
  }

  // (matrix + lambda)^-1 right for every lambda, without eigenvectors. Returns the
  // mean leverage a row.
  VectorXd solve_tridiagonal(const MatrixXd& matrix, const VectorXd& right, MatrixXd& out) const {
    const Eigen::Tridiagonalization<MatrixXd> t(matrix);
    const VectorXd diagonal = t.diagonal(), below = t.subDiagonal();
    const VectorXd turned = t.matrixQ().adjoint() * right;
    Eigen::SelfAdjointEigenSolver<MatrixXd> eigen;
    eigen.computeFromTridiagonal(diagonal, below, Eigen::EigenvaluesOnly);
    const VectorXd values = eigen.eigenvalues().cwiseMax(0.0);
    VectorXd leverage(lambdas());
    for (int k = 0; k < lambdas(); ++k) {
      out.col(k) = t.matrixQ() * solve_bands(diagonal, below, lambda_[k], turned);
      leverage[k] = (values.array() / (values.array() + lambda_[k])).sum() / rows_.size();
    }
    return leverage;
  }

  // Generalised cross-validation: what is left out of any row has the mean leverage.
  void share_out(const VectorXd& own, int first, MatrixXd& leverage) const {
    for (Index i = 0; i < leverage.rows(); ++i)
      leverage.row(i) = own.transpose() / std::min(1.0, rows_.weight(first + static_cast<int>(i)));
  }

  static VectorXd solve_bands(const VectorXd& diagonal, const VectorXd& below, double lambda,
                              VectorXd x) {
    const Index m = diagonal.size();
    VectorXd pivot = diagonal.array() + lambda;
    for (Index i = 1; i < m; ++i) {
      const double ratio = below[i - 1] / pivot[i - 1];
      pivot[i] -= ratio * below[i - 1];
      x[i] -= ratio * x[i - 1];
    }
    x[m - 1] /= pivot[m - 1];
    for (Index i = m - 2; i >= 0; --i) x[i] = (x[i] - below[i] * x[i + 1]) / pivot[i];
    return x;
  }

  // fill(first, count, fitted, leverage) gives what the whole fit says of these rows
  // and how much a unit of their own weight had to say in it, the mean's part aside.
  template <class Fill>
  void score_rows(Fill fill) {
    const Index columns = lambdas();
    const int parts = rows_.strips(4.0 * columns);
    std::vector<Scores> scores(parts, Scores(columns));
    rows_.for_each_block(parts, [&](int s, int first, int count) {
      MatrixXd fitted(count, columns), leverage(count, columns);
      fill(first, count, fitted, leverage);
      for (int i = 0; i < count; ++i)
        add_score(first + i, fitted.row(i), leverage.row(i), scores[s]);
    });
    scores_ = scores[0];
    for (int s = 1; s < parts; ++s) scores_.add(scores[s]);
  }

  // One unit of weight is left out, or the row if it weighs less.
  void add_score(int i, const Eigen::RowVectorXd& fitted, const Eigen::RowVectorXd& leverage,
                 Scores& scores) const {
    const double w = rows_.weight(i), out = std::min(1.0, w);
    const auto left_out = [&](double error, double own) {
      return error / std::max(1e-10, 1.0 - out * (own + 1.0 / rows_.total()));
    };
    const double plain = left_out(rows_.y(i), 0.0);
    scores.constant += w * plain * plain;
    for (Index k = 0; k < fitted.size(); ++k) {
      const double error = left_out(rows_.y(i) - fitted[k], leverage[k]);
      const double gain = plain * plain - error * error;
      scores.square[k] += w * error * error;
      scores.gain[k] += w * gain;
      scores.gain_square[k] += w * gain * gain;
    }
  }

  // The penalty of least error, if it beats the mean by more than a standard error.
  Ridge choose(Ridge out, const MatrixXd& b) const {
    const double total = rows_.total();
    out.lambda = lambda_;
    out.constant_score = scores_.constant / total;
    int best = lambdas() - 1;  // of two equals the larger penalty
    for (int k = lambdas() - 1; k >= 0; --k) {
      if (scores_.square[k] < scores_.square[best]) best = k;
    }
    for (int k = 0; k < lambdas(); ++k) out.score.push_back(scores_.square[k] / total);
    const double gain = scores_.gain[best] / total;
    const double spread = std::max(0.0, scores_.gain_square[best] / total - gain * gain);
    if (!(gain > std::sqrt(spread / rows_.size()))) return out;
    out.chosen = lambda_[best];
    for (int j = 0; j < rows_.cols(); ++j) {
      if (!rows_.varies(j)) continue;
      out.coef[j] = b(j, best) * rows_.inverse(j);
      out.intercept -= b(j, best) * rows_.user_mean(j);
    }
    return out;
  }

  const RidgeLimits limits_;
  NodeRows rows_;
  std::vector<double> lambda_;
  Scores scores_;
};

}  // namespace

Ridge fit_ridge(const ModelData& data, const std::vector<int>& row, const RidgeLimits& limits,
                const Hooks& hooks) {
  return NodeRidge(data, row, limits, hooks).run();
}

}  // namespace cpt
