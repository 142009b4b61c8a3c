// node_rows.cpp: see node_rows.h.
#include "node_rows.h"

namespace cpt {

namespace {

constexpr int most_strips = 64;
constexpr double strip_memory = 16e6;  // numbers in all strips together

}  // namespace

NodeRows::NodeRows(const ModelData& data, std::vector<int> row, int most, const Hooks& hooks)
    : data_(data), hooks_(hooks), row_(std::move(row)), p_(data.rows.cols()), inverse_(p_),
      offset_(p_, 0.0) {
  for (int j = 0; j < p_; ++j) {
    inverse_[j] = data.scaling.inverse(j);
    if (!data.rows.is_sparse()) offset_[j] = data.scaling.centre[j];
  }
  thin(most);
  measure();
}

void NodeRows::thin(int most) {
  if (std::min(n(), p_) <= most) return;
  std::vector<int> some(most);
  for (int i = 0; i < most; ++i)
    some[i] = row_[static_cast<std::size_t>(i) * row_.size() / most];
  row_ = some;
}

int NodeRows::strips(double numbers) const {
  const int blocks = (n() + block_rows - 1) / block_rows;
  const double room = std::floor(strip_memory / std::max(1.0, numbers));
  return std::min(blocks, static_cast<int>(std::clamp(room, 1.0, double(most_strips))));
}

// Dense rows of a block in scaled units.
RowMatrix NodeRows::dense_block(int first, int count) const {
  std::vector<double> buffer;
  const std::vector<RowView> x = data_.rows.block(row_.data() + first, count, buffer);
  RowMatrix u(count, p_);
  for (int i = 0; i < count; ++i)
    for (int j = 0; j < p_; ++j) u(i, j) = (x[i].value[j] - offset_[j]) * inverse_[j];
  return u;
}

MatrixXd NodeRows::project(int first, int count, const RowMatrix& onto,
                           const VectorXd& mean) const {
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
void NodeRows::measure() {
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

void NodeRows::add_moments(int first, int count, VectorXd& sum, VectorXd& square) const {
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

void NodeRows::make_gram(MatrixXd& gram, VectorXd& right) const {
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

void NodeRows::add_dense_gram(int first, int count, MatrixXd& gram, VectorXd& right) const {
  RowMatrix u = dense_block(first, count);
  for (int i = 0; i < count; ++i) {
    right += weight(first + i) * y(first + i) * u.row(i).transpose();
    u.row(i) *= root(first + i);
  }
  gram.selfadjointView<Eigen::Lower>().rankUpdate(u.transpose());
}

void NodeRows::add_sparse_gram(int first, int count, MatrixXd& gram, VectorXd& right) const {
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

// A task to some rows of the triangle. Keeps the centred rows for columns_from().
MatrixXd NodeRows::dense_kernel() {
  RowMatrix& a = centred_;
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

MatrixXd NodeRows::sparse_kernel() const {
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

MatrixXd NodeRows::columns_from(const MatrixXd& dual) const {
  if (!data_.rows.is_sparse()) return centred_.transpose() * dual;
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

}  // namespace cpt
