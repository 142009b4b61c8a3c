// node_rows.h: the rows of one node as ridge regression needs them: scaled, centred on
// the node's own means, and their cross-products by columns or by rows. All sums over
// rows run in strips whose number follows from the size of the data alone, added in
// order: the same bits for any number of threads. Sparse rows are never made dense.
// Knows nothing of penalties.
#ifndef CPT_NODE_ROWS_H
#define CPT_NODE_ROWS_H

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <vector>

#include "data.h"

namespace cpt {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// All rows; a model is fitted to some of them.
struct ModelData {
  const Rows& rows;
  const Scaling& scaling;  // the penalty is on coefficients of scaled columns
  const std::vector<double>& y;
  const std::vector<double>& weight;
};

// Columns are scaled as for training; dense rows are also centred as for training, and
// all sums are then centred on the node's own mean.
class NodeRows {
 public:
  // With more than `most` rows and columns, rows evenly apart stand for all.
  NodeRows(const ModelData& data, std::vector<int> row, int most, const Hooks& hooks);

  int n() const { return static_cast<int>(row_.size()); }
  int cols() const { return p_; }
  double weight(int i) const { return data_.weight[row_[i]]; }
  double root(int i) const { return std::sqrt(weight(i)); }
  double y(int i) const { return data_.y[row_[i]] - mean_y_; }

  double total() const { return total_; }          // weight
  double size() const { return size_; }            // weight or rows, whichever is more
  double mean_y() const { return mean_y_; }
  double squares_y() const { return squares_y_; }  // 0 if nothing but rounding
  double trace() const { return trace_; }          // squares of all columns that vary
  const VectorXd& mean() const { return mean_; }
  bool varies(int j) const { return varies_[j]; }
  double inverse(int j) const { return inverse_[j]; }
  // The mean of column j in units of its scale, as the user's numbers have it.
  double user_mean(int j) const { return mean_[j] + offset_[j] * inverse_[j]; }

  // (rows - mean) times a matrix, for a block of rows
  MatrixXd project(int first, int count, const RowMatrix& onto, const VectorXd& mean) const;
  // Lower triangle of the centred cross-products of columns, and those with the outcome.
  void make_gram(MatrixXd& gram, VectorXd& right) const;
  // Lower triangle of the centred, weighted products of rows.
  MatrixXd kernel() { return data_.rows.is_sparse() ? sparse_kernel() : dense_kernel(); }
  // Coefficients of the columns from those of the rows; after kernel().
  MatrixXd columns_from(const MatrixXd& dual) const;

  // How many strips, if each needs to keep this many `numbers`.
  int strips(double numbers) const;
  // body(strip, first, count) for blocks of rows, in order within a strip.
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

 private:
  static constexpr int block_rows = 256;

  void thin(int most);
  void measure();
  void add_moments(int first, int count, VectorXd& sum, VectorXd& square) const;
  void add_dense_gram(int first, int count, MatrixXd& gram, VectorXd& right) const;
  void add_sparse_gram(int first, int count, MatrixXd& gram, VectorXd& right) const;
  MatrixXd dense_kernel();
  MatrixXd sparse_kernel() const;
  RowMatrix dense_block(int first, int count) const;
  RowView sparse_row(int i) const { return data_.rows.sparse_row(row_[i]); }

  const ModelData& data_;
  const Hooks& hooks_;
  std::vector<int> row_;
  int p_;
  std::vector<double> inverse_, offset_;
  double total_ = 0, size_ = 0, mean_y_ = 0, squares_y_ = 0, trace_ = 0;
  VectorXd mean_;
  std::vector<char> varies_;
  RowMatrix centred_;  // dense rows, once dense_kernel() has made them
};

}  // namespace cpt

#endif
