// data.h: the rows. A view of the caller's matrix (dense double, dense integer
// or sparse by columns), its rows one after another (for routing, in double),
// and the standardised single-precision copy that training reads.
// Knows nothing of gates or trees.
#ifndef CPT_DATA_H
#define CPT_DATA_H

#include <Eigen/SparseCore>
#include <functional>
#include <string>
#include <vector>

#include "core.h"
#include "kernels.h"
#include "rng.h"

namespace cpt {

// Read-only, does not own. Exactly one of the three kinds is set.
struct MatrixView {
  int rows = 0, cols = 0;
  const double* dense = nullptr;     // column-major
  const int* dense_int = nullptr;    // column-major
  const int* column_start = nullptr;  // sparse by columns: cols + 1 offsets
  const int* row_index = nullptr;
  const double* nonzero = nullptr;
  bool is_sparse() const { return column_start != nullptr; }
};

// visit(row, value) for the stored values of column j.
template <class Visit>
void visit_column(const MatrixView& x, int j, Visit visit) {
  const std::size_t offset = static_cast<std::size_t>(j) * x.rows;
  if (x.dense)
    for (int i = 0; i < x.rows; ++i) visit(i, x.dense[offset + i]);
  else if (x.dense_int)
    for (int i = 0; i < x.rows; ++i) visit(i, static_cast<double>(x.dense_int[offset + i]));
  else
    for (int e = x.column_start[j]; e < x.column_start[j + 1]; ++e)
      visit(x.row_index[e], x.nonzero[e]);
}

// One row as the router sees it: all columns, or its nonzeros in column order.
struct RowView {
  int count;
  const int* column;  // null: dense, columns 0 .. count - 1
  const double* value;
};

// Rows made of given ones, known by what they are made of. A mixed row is row source[i], some
// of whose columns are those of row donor[i]; which ones is drawn column by column. A moved
// row (dense data only) is row source[i] plus a share of the difference of donor[i] and other[i].
struct MadeRows {
  std::vector<int> source, donor;
  std::vector<int> other;  // empty: the rows are mixed
  double share = 0;        // of the columns that the donor gives, or of the difference
  std::uint64_t key = 0;
  int size() const { return static_cast<int>(source.size()); }
  bool are_moved() const { return !other.empty(); }
  int from(int i, int j) const {  // mixed: the row that column j of made row i comes from
    Stream draw(key, static_cast<std::uint64_t>(i), Purpose::made, static_cast<std::uint64_t>(j));
    return draw.uniform() < share ? donor[i] : source[i];
  }
};

// The rows of a view, in double, and after them made rows. Dense rows are copied out, or
// made, block by block; sparse ones are turned round once.
class Rows {
 public:
  explicit Rows(const MatrixView& view, MadeRows made = {});
  int size() const { return view_.rows + made_.size(); }
  int given() const { return view_.rows; }
  int cols() const { return view_.cols; }
  bool is_sparse() const { return view_.is_sparse(); }
  // The given rows, or rows [first, first + count). Dense rows lie in `buffer`.
  std::vector<RowView> block(const int* row, int count, std::vector<double>& buffer) const;
  std::vector<RowView> block(int first, int count, std::vector<double>& buffer) const;
  RowView sparse_row(int row) const;

 private:
  void make_sparse();
  double cell(int row, int j) const {
    const std::size_t at = static_cast<std::size_t>(j) * view_.rows + row;
    return view_.dense ? view_.dense[at] : view_.dense_int[at];
  }
  double made_cell(int i, int j) const {
    if (!made_.are_moved()) return cell(made_.from(i, j), j);
    return cell(made_.source[i], j) + made_.share * (cell(made_.donor[i], j) - cell(made_.other[i], j));
  }

  MatrixView view_;
  MadeRows made_;
  Eigen::SparseMatrix<double, Eigen::RowMajor> sparse_;  // the same by rows
};

// x'b. Dense rows and the same rows without their zeros give the same bits.
double dot(const RowView& x, const double* b);

// body(row, its view) for all rows, in parallel.
void for_each_row(const Rows& rows, const Hooks& hooks,
                  const std::function<void(int, const RowView&)>& body);

// x_standardised = (x - centre) / scale; scale 0 marks a constant column, which
// takes no part in training and gets coefficient 0.
struct Scaling {
  std::vector<double> centre, scale;
  double inverse(int j) const { return scale[j] > 0 ? 1.0 / scale[j] : 0.0; }
};

// What the rows of positive weight hold, column by column, in the user's units.
struct Columns {
  std::vector<double> mean, sd, min, max;
  std::vector<char> whole;  // 1: whole numbers only
};

Columns measure_columns(const MatrixView& x, const std::vector<double>& weight,
                        const Hooks& hooks);
Scaling make_scaling(const Columns& columns, const std::string& standardize);

// How rows are changed when a step reads them, so that none can be learnt by heart.
struct Distortion {
  double dropout = 0;  // entries are lost with this probability, the rest scaled up
  double jitter = 0;   // dense rows move by this share of the difference of two donors
};

// A mini-batch: its rows one after another, ready for the kernels.
struct Batch {
  int rows = 0;
  std::vector<int> index;          // which training rows
  std::vector<Real> dense;         // rows x ld
  SparseRows sparse;               // the nonzeros that dropout left
  std::vector<std::size_t> start;  // behind `sparse`, as are the next two
  std::vector<Cell> cell;
  std::vector<std::size_t> place;  // per row: where its cells begin
};

// Some rows, one after another.
struct RowRange {
  int first, count;
};

// Some chunks of columns, one after another: [first, last).
struct ChunkRange {
  int first, last;
};

// What training reads: one single-precision copy of the rows, given and made, scaled. Sparse
// rows are never centred in memory: the trainer subtracts `shift` (centre / scale) through the
// intercepts instead.
class TrainingData {
 public:
  TrainingData(const MatrixView& view, const Rows& rows, Scaling scaling, const Hooks& hooks,
               std::vector<int> donors = {});

  int d() const { return d_; }
  int ld() const { return ld_; }
  bool is_sparse() const { return rows_->is_sparse(); }
  const Scaling& scaling() const { return scaling_; }
  const std::vector<Real>& shift() const { return shift_; }
  // Of sparse data: `shift` as rows of its own, each a piece of this many columns and zero
  // elsewhere. A piece is short enough to be summed in single precision.
  static constexpr int piece_columns = 32;
  const SparseRows& shift_pieces() const { return shift_pieces_; }
  const int* piece_numbers() const { return piece_number_.data(); }  // 0, 1, ...
  RowRange pieces_of(int chunk) const {
    const int first = chunk_begin(chunk) / piece_columns;
    return {first, (chunk_end(chunk) + piece_columns - 1) / piece_columns - first};
  }

  // Columns are handled in fixed chunks, so that gradients can be shared out.
  int chunks() const { return chunks_; }
  int chunk_begin(int c) const { return c * chunk_width_; }
  int chunk_end(int c) const { return std::min(d_, (c + 1) * chunk_width_); }
  int first_column(ChunkRange r) const { return chunk_begin(r.first); }
  int end_column(ChunkRange r) const { return chunk_end(r.last - 1); }

  // Fills `batch` with the rows it indexes, changed as asked. `key` makes the changes
  // repeatable: those of a row depend on the key and the row alone.
  void gather(Batch& batch, const Distortion& distortion, const Stream& key,
              const Hooks& hooks) const;
  // The same in two parts: room for all of them, then rows [first, last) of the batch.
  void make_room(Batch& batch) const;
  void gather_rows(Batch& batch, const Distortion& distortion, Stream key, int first,
                   int last) const;

 private:
  void copy_dense(const MatrixView& view, const Hooks& hooks);
  void copy_made(const Hooks& hooks);
  void copy_sparse(const Hooks& hooks);
  void cut_shift();
  std::size_t stored(int row) const {  // nonzeros of a sparse row
    const std::size_t* cell = start_.data() + static_cast<std::size_t>(row) * chunks_;
    return cell[chunks_] - cell[0];
  }
  void copy_dense_row(Batch& batch, int i) const;
  void jitter_dense_row(Batch& batch, double jitter, std::uint64_t key, int i) const;
  void drop_dense_row(Batch& batch, double dropout, std::uint64_t key, int i) const;
  void copy_sparse_row(Batch& batch, int i, std::size_t place) const;
  void drop_sparse_row(Batch& batch, double dropout, std::uint64_t key, int i,
                       std::size_t place) const;

  const Rows* rows_;
  Scaling scaling_;
  int d_, ld_, chunks_, chunk_width_;
  std::vector<Real> dense_;
  std::vector<Real> shift_;
  SparseRows shift_pieces_ = {};
  std::vector<std::size_t> piece_start_;  // behind `shift_pieces_`, as is the next
  std::vector<Cell> piece_cell_;
  std::vector<int> piece_number_;
  std::vector<std::size_t> start_;  // sparse: where the cells of (row, chunk) start
  std::vector<Cell> cell_;
  std::vector<int> donors_;  // training rows whose differences jitter takes
};

}  // namespace cpt

#endif
