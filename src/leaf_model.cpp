// leaf_model.cpp: see leaf_model.h. All sums over rows run in strips whose number
// follows from the size of the data alone, added in order: the same bits for any
// number of threads. Sparse rows are never made dense.
#include "leaf_model.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>

namespace cpt {

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr int block_rows = 256;
constexpr int most_strips = 64;
constexpr double strip_memory = 16e6;  // numbers in all strips together
constexpr double least_size = 10;      // smaller nodes keep the mean
constexpr double margin = 0.1;         // of the range of outcomes, on both sides
constexpr double large_work = 1e10;    // multiplications; nodes above are done one at a time
constexpr double infinity = std::numeric_limits<double>::infinity();

// Half powers of ten, relative to the sum of squares of all columns.
constexpr double first_exponent = -6, last_exponent = 1, step = 0.5;

// Eight sums by column number modulo 8, added in a fixed order: a dense row and the
// same row without its zeros give the same bits.
double dot(const RowView& x, const double* b) {
  double s[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  if (x.column)
    for (int e = 0; e < x.count; ++e) s[x.column[e] & 7] += x.value[e] * b[x.column[e]];
  else
    for (int j = 0; j < x.count; ++j) s[j & 7] += x.value[j] * b[j];
  return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

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

// The rows of one node. Columns are scaled as for training; dense rows are also
// centred as for training, and all sums are then centred on the node's own mean.
class NodeRidge {
 public:
  NodeRidge(const ModelData& data, std::vector<int> row, const RidgeLimits& limits,
            const Hooks& hooks)
      : data_(data), limits_(limits), hooks_(hooks), row_(std::move(row)),
        p_(data.rows.cols()), inverse_(p_), offset_(p_, 0.0) {
    for (int j = 0; j < p_; ++j) {
      inverse_[j] = data.scaling.inverse(j);
      if (!data.rows.is_sparse()) offset_[j] = data.scaling.centre[j];
    }
    thin();
  }

  Ridge run() {
    measure();
    Ridge out;
    out.intercept = mean_y_;
    out.coef.assign(p_, 0.0);
    out.chosen = infinity;
    if (size_ < least_size || !(trace_ > 0) || !(squares_y_ > 0)) return out;
    for (double e = first_exponent; e <= last_exponent + 1e-9; e += step)
      lambda_.push_back(trace_ * std::pow(10.0, e));
    const MatrixXd b = n() <= p_ ? solve_by_rows() : solve_by_columns();
    return choose(std::move(out), b);
  }

 private:
  int n() const { return static_cast<int>(row_.size()); }
  int lambdas() const { return static_cast<int>(lambda_.size()); }
  double weight(int i) const { return data_.weight[row_[i]]; }
  double root(int i) const { return std::sqrt(weight(i)); }
  double y(int i) const { return data_.y[row_[i]] - mean_y_; }

  // Rows evenly apart, if neither the rows nor the columns can be handled whole.
  void thin() {
    if (std::min(n(), p_) <= limits_.most) return;
    std::vector<int> some(limits_.most);
    for (int i = 0; i < limits_.most; ++i)
      some[i] = row_[static_cast<std::size_t>(i) * row_.size() / limits_.most];
    row_ = some;
  }

  // ---- passes over the rows ---------------------------------------------------

  // body(strip, first, count) for blocks of rows, in order within a strip. Returns
  // the number of strips; `numbers` is what a strip needs to keep.
  int strips(double numbers) const {
    const int blocks = (n() + block_rows - 1) / block_rows;
    const double room = std::floor(strip_memory / std::max(1.0, numbers));
    return std::min(blocks, static_cast<int>(std::clamp(room, 1.0, double(most_strips))));
  }

  template <class Body>
  void for_each_block(int strips, Body body) const {
    const int blocks = (n() + block_rows - 1) / block_rows;
    hooks_.run(strips, [&](int s) {
      const int first = static_cast<int>(static_cast<long long>(s) * blocks / strips);
      const int last = static_cast<int>(static_cast<long long>(s + 1) * blocks / strips);
      for (int b = first; b < last && !hooks_.is_cancelled(); ++b)
        body(s, b * block_rows, std::min(block_rows, n() - b * block_rows));
    });
  }

  // Dense rows of a block in scaled units.
  RowMatrix dense_block(int first, int count) const {
    std::vector<double> buffer;
    const std::vector<RowView> x = data_.rows.block(row_.data() + first, count, buffer);
    RowMatrix u(count, p_);
    for (int i = 0; i < count; ++i)
      for (int j = 0; j < p_; ++j) u(i, j) = (x[i].value[j] - offset_[j]) * inverse_[j];
    return u;
  }

  RowView sparse_row(int i) const { return data_.rows.sparse_row(row_[i]); }

  // (rows - mean) times a matrix.
  MatrixXd project(int first, int count, const RowMatrix& onto, const VectorXd& mean) const {
    MatrixXd out(count, onto.cols());
    if (!data_.rows.is_sparse()) {
      out.noalias() = dense_block(first, count) * onto;
    } else {
      Eigen::RowVectorXd sum(onto.cols());
      for (int i = 0; i < count; ++i) {
        const RowView x = sparse_row(first + i);
        sum.setZero();
        for (int e = 0; e < x.count; ++e)
          sum += x.value[e] * inverse_[x.column[e]] * onto.row(x.column[e]);
        out.row(i) = sum;
      }
    }
    out.rowwise() -= mean.transpose();
    return out;
  }

  // Weight, means and sums of squares; which columns vary among these rows.
  void measure() {
    double sum = 0;
    for (int i = 0; i < n(); ++i) {
      total_ += weight(i);
      sum += weight(i) * data_.y[row_[i]];
    }
    mean_y_ = sum / total_;
    for (int i = 0; i < n(); ++i) squares_y_ += weight(i) * y(i) * y(i);
    if (squares_y_ <= 1e-24 * total_ * mean_y_ * mean_y_) squares_y_ = 0;
    size_ = std::max(total_, static_cast<double>(n()));
    const int parts = strips(2.0 * p_);
    std::vector<VectorXd> sums(parts, VectorXd::Zero(p_)), squares(parts, VectorXd::Zero(p_));
    for_each_block(parts, [&](int s, int first, int count) {
      add_moments(first, count, sums[s], squares[s]);
    });
    for (int s = 1; s < parts; ++s) {
      sums[0] += sums[s];
      squares[0] += squares[s];
    }
    mean_ = sums[0] / total_;
    varies_.assign(p_, 0);
    for (int j = 0; j < p_; ++j) {
      const double about = squares[0][j] - total_ * mean_[j] * mean_[j];
      varies_[j] = about > 1e-10 * squares[0][j];
      if (varies_[j]) trace_ += about;
    }
  }

  void add_moments(int first, int count, VectorXd& sum, VectorXd& square) const {
    if (!data_.rows.is_sparse()) {
      const RowMatrix u = dense_block(first, count);
      for (int i = 0; i < count; ++i) {
        const double w = weight(first + i);
        sum += w * u.row(i).transpose();
        square += w * u.row(i).cwiseAbs2().transpose();
      }
      return;
    }
    for (int i = 0; i < count; ++i) {
      const RowView x = sparse_row(first + i);
      const double w = weight(first + i);
      for (int e = 0; e < x.count; ++e) {
        const double u = x.value[e] * inverse_[x.column[e]];
        sum[x.column[e]] += w * u;
        square[x.column[e]] += w * u * u;
      }
    }
  }

  // ---- more rows than columns: the matrix of columns by columns ---------------

  MatrixXd solve_by_columns() {
    MatrixXd gram;
    VectorXd right;
    make_gram(gram, right);
    MatrixXd b(p_, lambdas());
    if (p_ <= limits_.exact && n() <= limits_.tall * p_) {
      const Eigen::SelfAdjointEigenSolver<MatrixXd> eigen(gram);
      const VectorXd values = eigen.eigenvalues().cwiseMax(0.0);
      const RowMatrix vectors = eigen.eigenvectors();
      const VectorXd q = vectors.transpose() * right;
      const MatrixXd share = inverse_sums(values);
      for (int k = 0; k < lambdas(); ++k)
        b.col(k).noalias() = vectors * q.cwiseProduct(share.col(k));
      const VectorXd mean = vectors.transpose() * mean_;
      score_rows([&](int first, int count, MatrixXd& fitted, MatrixXd& leverage) {
        const MatrixXd z = project(first, count, vectors, mean);
        fitted.noalias() = z * (share.array().colwise() * q.array()).matrix();
        leverage.noalias() = z.cwiseAbs2() * share;
      });
      return b;
    }
    const VectorXd own = solve_tridiagonal(gram, right, b);
    const RowMatrix onto = b;
    const VectorXd mean = onto.transpose() * mean_;
    score_rows([&](int first, int count, MatrixXd& fitted, MatrixXd& leverage) {
      fitted = project(first, count, onto, mean);
      share_out(own, first, leverage);
    });
    return b;
  }

  // Lower triangle of the centred cross-products, and those with the outcome.
  void make_gram(MatrixXd& gram, VectorXd& right) const {
    const int parts = strips(static_cast<double>(p_) * p_);
    std::vector<MatrixXd> grams(parts, MatrixXd::Zero(p_, p_));
    std::vector<VectorXd> rights(parts, VectorXd::Zero(p_));
    for_each_block(parts, [&](int s, int first, int count) {
      if (data_.rows.is_sparse()) add_sparse_gram(first, count, grams[s], rights[s]);
      else add_dense_gram(first, count, grams[s], rights[s]);
    });
    gram = std::move(grams[0]);
    right = std::move(rights[0]);
    for (int s = 1; s < parts; ++s) {
      gram += grams[s];
      right += rights[s];
    }
    gram.selfadjointView<Eigen::Lower>().rankUpdate(mean_, -total_);
    hooks_.stop_if_cancelled();
  }

  void add_dense_gram(int first, int count, MatrixXd& gram, VectorXd& right) const {
    RowMatrix u = dense_block(first, count);
    for (int i = 0; i < count; ++i) {
      right += weight(first + i) * y(first + i) * u.row(i).transpose();
      u.row(i) *= root(first + i);
    }
    gram.selfadjointView<Eigen::Lower>().rankUpdate(u.transpose());
  }

  void add_sparse_gram(int first, int count, MatrixXd& gram, VectorXd& right) const {
    std::vector<double> u;
    for (int i = first; i < first + count; ++i) {
      const RowView x = sparse_row(i);
      u.resize(x.count);
      for (int e = 0; e < x.count; ++e) u[e] = x.value[e] * inverse_[x.column[e]];
      for (int a = 0; a < x.count; ++a) {  // columns ascend: below the diagonal
        const double w = weight(i) * u[a];
        right[x.column[a]] += w * y(i);
        double* column = &gram(0, x.column[a]);
        for (int e = a; e < x.count; ++e) column[x.column[e]] += w * u[e];
      }
    }
  }

  // ---- fewer rows than columns: the matrix of rows by rows --------------------

  MatrixXd solve_by_rows() {
    RowMatrix dense;
    const MatrixXd kernel = data_.rows.is_sparse() ? sparse_kernel() : dense_kernel(dense);
    VectorXd right(n());
    for (int i = 0; i < n(); ++i) right[i] = root(i) * y(i);
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
        for (int i = 0; i < count; ++i) leverage.row(i) = hat.row(first + i) / weight(first + i);
      });
    } else {
      const VectorXd own = solve_tridiagonal(kernel, right, dual);
      score_rows([&](int first, int count, MatrixXd& fitted, MatrixXd& leverage) {
        fit_rows(dual, first, count, fitted);
        share_out(own, first, leverage);
      });
    }
    return columns_from(dual, dense);
  }

  // What is left of the outcome is lambda times the dual solution.
  void fit_rows(const MatrixXd& dual, int first, int count, MatrixXd& fitted) const {
    for (int i = 0; i < count; ++i)
      for (int k = 0; k < lambdas(); ++k)
        fitted(i, k) = y(first + i) - lambda_[k] * dual(first + i, k) / root(first + i);
  }

  // Lower triangle, a task to some of its rows. Keeps the centred rows in `a`.
  MatrixXd dense_kernel(RowMatrix& a) const {
    a.resize(n(), p_);
    for_each_block(strips(0), [&](int, int first, int count) {
      RowMatrix u = dense_block(first, count);
      u.rowwise() -= mean_.transpose();
      for (int i = 0; i < count; ++i) a.row(first + i) = root(first + i) * u.row(i);
    });
    MatrixXd kernel = MatrixXd::Zero(n(), n());
    constexpr int tile = 64;
    hooks_.run((n() + tile - 1) / tile, [&](int t) {
      const int first = t * tile, count = std::min(tile, n() - first);
      kernel.block(first, 0, count, first + count).noalias() =
          a.middleRows(first, count) * a.topRows(first + count).transpose();
    });
    return kernel;
  }

  MatrixXd sparse_kernel() const {
    MatrixXd kernel = MatrixXd::Zero(n(), n());
    VectorXd along(n());  // of every row along the mean
    for (int i = 0; i < n(); ++i) {
      const RowView x = sparse_row(i);
      double sum = 0;
      for (int e = 0; e < x.count; ++e) sum += x.value[e] * inverse_[x.column[e]] * mean_[x.column[e]];
      along[i] = sum;
    }
    const double mean_square = mean_.squaredNorm();
    constexpr int tile = 16;
    hooks_.run((n() + tile - 1) / tile, [&](int t) {
      std::vector<double> spread(p_, 0.0);  // row i times the squared scales
      for (int i = t * tile; i < std::min(n(), (t + 1) * tile); ++i) {
        const RowView x = sparse_row(i);
        for (int e = 0; e < x.count; ++e)
          spread[x.column[e]] = x.value[e] * inverse_[x.column[e]] * inverse_[x.column[e]];
        for (int j = 0; j <= i; ++j)
          kernel(i, j) = root(i) * root(j) *
                         (dot(sparse_row(j), spread.data()) - along[i] - along[j] + mean_square);
        for (int e = 0; e < x.count; ++e) spread[x.column[e]] = 0;
      }
    });
    return kernel;
  }

  // Coefficients of the columns from those of the rows.
  MatrixXd columns_from(const MatrixXd& dual, const RowMatrix& dense) const {
    if (!data_.rows.is_sparse()) return dense.transpose() * dual;
    RowMatrix b = RowMatrix::Zero(p_, dual.cols());
    Eigen::RowVectorXd sum = Eigen::RowVectorXd::Zero(dual.cols());
    for (int i = 0; i < n(); ++i) {
      const RowView x = sparse_row(i);
      const Eigen::RowVectorXd part = root(i) * dual.row(i);
      for (int e = 0; e < x.count; ++e)
        b.row(x.column[e]) += x.value[e] * inverse_[x.column[e]] * part;
      sum += part;
    }
    b.noalias() -= mean_ * sum;
    return b;
  }

  // ---- both --------------------------------------------------------------------

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
      leverage[k] = (values.array() / (values.array() + lambda_[k])).sum() / size_;
    }
    return leverage;
  }

  // Generalised cross-validation: what is left out of any row has the mean leverage.
  void share_out(const VectorXd& own, int first, MatrixXd& leverage) const {
    for (Index i = 0; i < leverage.rows(); ++i)
      leverage.row(i) = own.transpose() / std::min(1.0, weight(first + static_cast<int>(i)));
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
    const int parts = strips(4.0 * columns);
    std::vector<Scores> scores(parts, Scores(columns));
    for_each_block(parts, [&](int s, int first, int count) {
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
    const double w = weight(i), out = std::min(1.0, w);
    const auto left_out = [&](double error, double own) {
      return error / std::max(1e-10, 1.0 - out * (own + 1.0 / total_));
    };
    const double plain = left_out(y(i), 0.0);
    scores.constant += w * plain * plain;
    for (Index k = 0; k < fitted.size(); ++k) {
      const double error = left_out(y(i) - fitted[k], leverage[k]);
      const double gain = plain * plain - error * error;
      scores.square[k] += w * error * error;
      scores.gain[k] += w * gain;
      scores.gain_square[k] += w * gain * gain;
    }
  }

  // The penalty of least error, if it beats the mean by more than a standard error.
  Ridge choose(Ridge out, const MatrixXd& b) const {
    out.lambda = lambda_;
    out.constant_score = scores_.constant / total_;
    int best = lambdas() - 1;  // of two equals the larger penalty
    for (int k = lambdas() - 1; k >= 0; --k) {
      if (scores_.square[k] < scores_.square[best]) best = k;
    }
    for (int k = 0; k < lambdas(); ++k) out.score.push_back(scores_.square[k] / total_);
    const double gain = scores_.gain[best] / total_;
    const double spread = std::max(0.0, scores_.gain_square[best] / total_ - gain * gain);
    if (!(gain > std::sqrt(spread / size_))) return out;
    out.chosen = lambda_[best];
    for (int j = 0; j < p_; ++j) {
      if (!varies_[j]) continue;
      out.coef[j] = b(j, best) * inverse_[j];
      out.intercept -= b(j, best) * (mean_[j] + offset_[j] * inverse_[j]);
    }
    return out;
  }

  const ModelData& data_;
  const RidgeLimits limits_;
  const Hooks& hooks_;
  std::vector<int> row_;
  int p_;
  std::vector<double> inverse_, offset_;
  double total_ = 0, size_ = 0, mean_y_ = 0, squares_y_ = 0, trace_ = 0;
  VectorXd mean_;
  std::vector<char> varies_;
  std::vector<double> lambda_;
  Scores scores_;
};

// The training rows that pass each node, in their order.
std::vector<std::vector<int>> rows_of_nodes(const Tree& tree, const std::vector<int>& where,
                                            const std::vector<int>& training) {
  std::vector<int> parent(tree.size(), -1);
  for (int v = 0; v < tree.size(); ++v)
    if (!tree.is_leaf(v)) parent[tree.left[v]] = parent[tree.right[v]] = v;
  std::vector<std::vector<int>> rows(tree.size());
  for (int row : training)
    for (int v = where[row]; v >= 0; v = parent[v]) rows[v].push_back(row);
  return rows;
}

}  // namespace

double LeafModels::value(int v, const RowView& x) const {
  const double z = intercept[v] + dot(x, coef.data() + static_cast<std::size_t>(v) * cols);
  return std::min(std::max(z, low[v]), high[v]);
}

Ridge fit_ridge(const ModelData& data, const std::vector<int>& row, const RidgeLimits& limits,
                const Hooks& hooks) {
  return NodeRidge(data, row, limits, hooks).run();
}

LeafModels fit_leaf_models(const Tree& tree, const std::vector<int>& where,
                           const std::vector<int>& training, const ModelData& data,
                           const Hooks& hooks) {
  const int nodes = tree.size(), p = data.rows.cols();
  const std::vector<std::vector<int>> rows = rows_of_nodes(tree, where, training);
  LeafModels models;
  models.cols = p;
  for (std::vector<double>* v : {&models.intercept, &models.low, &models.high})
    v->assign(nodes, 0.0);
  models.coef.assign(static_cast<std::size_t>(nodes) * p, 0.0);
  const auto fit_node = [&](int v, const Hooks& inner) {
    models.intercept[v] = models.low[v] = models.high[v] = tree.value[v];
    if (rows[v].empty()) return;
    const Ridge ridge = fit_ridge(data, rows[v], RidgeLimits(), inner);
    double least = infinity, most = -infinity;
    for (int row : rows[v]) {
      least = std::min(least, data.y[row]);
      most = std::max(most, data.y[row]);
    }
    models.low[v] = least - margin * (most - least);
    models.high[v] = most + margin * (most - least);
    if (!(ridge.chosen < infinity)) return;  // the mean as the tree has it, to the last bit
    models.intercept[v] = ridge.intercept;
    std::copy(ridge.coef.begin(), ridge.coef.end(),
              models.coef.begin() + static_cast<std::size_t>(v) * p);
  };
  // Large nodes share their work out, small ones are shared out.
  std::vector<int> small;
  for (int v = 0; v < nodes; ++v) {
    const double n = static_cast<double>(rows[v].size());
    if (n * p * std::min(n, double(p)) > large_work) fit_node(v, hooks);
    else small.push_back(v);
    hooks.stop_if_cancelled();
  }
  hooks.run(static_cast<int>(small.size()), [&](int t) { fit_node(small[t], hooks.serial()); });
  return models;
}

std::vector<double> linear_values(const LeafModels& models, const std::vector<int>& at,
                                  const Rows& rows, const Hooks& hooks) {
  std::vector<double> out(rows.size());
  constexpr int block = 64;
  hooks.run((rows.size() + block - 1) / block, [&](int b) {
    thread_local std::vector<double> buffer;
    const int first = b * block, count = std::min(block, rows.size() - first);
    const std::vector<RowView> x = rows.block(first, count, buffer);
    for (int i = 0; i < count; ++i) out[first + i] = models.value(at[first + i], x[i]);
  });
  return out;
}

}  // namespace cpt
