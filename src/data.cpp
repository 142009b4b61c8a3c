// data.cpp: see data.h.
#include "data.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace cpt {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int block_rows = 256;  // rows handled by one task when data are copied

}  // namespace

Rows::Rows(const MatrixView& view) : view_(view) {
  if (!view.is_sparse()) return;
  sparse_ = Eigen::Map<const Eigen::SparseMatrix<double>>(
      view.rows, view.cols, view.column_start[view.cols], view.column_start, view.row_index,
      view.nonzero);
}

RowView Rows::sparse_row(int row) const {
  const int first = sparse_.outerIndexPtr()[row];
  return {sparse_.outerIndexPtr()[row + 1] - first, sparse_.innerIndexPtr() + first,
          sparse_.valuePtr() + first};
}

std::vector<RowView> Rows::block(int first, int count, std::vector<double>& buffer) const {
  std::vector<int> row(count);
  std::iota(row.begin(), row.end(), first);
  return block(row.data(), count, buffer);
}

std::vector<RowView> Rows::block(const int* row, int count, std::vector<double>& buffer) const {
  std::vector<RowView> out(count);
  if (is_sparse()) {
    for (int i = 0; i < count; ++i) out[i] = sparse_row(row[i]);
    return out;
  }
  const std::size_t p = view_.cols;
  buffer.resize(p * count);
  for (std::size_t j = 0; j < p; ++j) {
    const std::size_t offset = j * view_.rows;
    if (view_.dense)
      for (int i = 0; i < count; ++i) buffer[i * p + j] = view_.dense[offset + row[i]];
    else
      for (int i = 0; i < count; ++i) buffer[i * p + j] = view_.dense_int[offset + row[i]];
  }
  for (int i = 0; i < count; ++i) out[i] = {view_.cols, nullptr, buffer.data() + i * p};
  return out;
}

// Eight sums by column number modulo 8, added in a fixed order.
double dot(const RowView& x, const double* b) {
  double s[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  if (x.column) {
    for (int e = 0; e < x.count; ++e) s[x.column[e] & 7] += x.value[e] * b[x.column[e]];
  } else {
    int j = 0;
    for (; j + 8 <= x.count; j += 8)
      for (int l = 0; l < 8; ++l) s[l] += x.value[j + l] * b[j + l];
    for (int l = 0; j < x.count; ++j, ++l) s[l] += x.value[j] * b[j];
  }
  return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

void for_each_row(const Rows& rows, const Hooks& hooks,
                  const std::function<void(int, const RowView&)>& body) {
  constexpr int block = 64;  // rows copied out by one task
  hooks.run((rows.size() + block - 1) / block, [&](int b) {
    thread_local std::vector<double> buffer;
    const int first = b * block, count = std::min(block, rows.size() - first);
    const std::vector<RowView> x = rows.block(first, count, buffer);
    for (int i = 0; i < count; ++i) body(first + i, x[i]);
  });
}

Columns measure_columns(const MatrixView& x, const std::vector<double>& weight,
                        const Hooks& hooks) {
  Columns c;
  for (std::vector<double>* v : {&c.mean, &c.sd, &c.min, &c.max}) v->assign(x.cols, 0.0);
  c.whole.assign(x.cols, 1);
  double total = 0;
  int present = 0;  // rows of positive weight
  for (double w : weight) {
    total += w;
    present += w > 0;
  }
  hooks.run(x.cols, [&](int j) {
    double sum = 0, seen = 0, least = infinity, most = -infinity;
    int stored = 0;
    bool whole = true;
    visit_column(x, j, [&](int i, double v) {
      if (!(weight[i] > 0)) return;
      ++stored;
      sum += weight[i] * v;
      seen += weight[i];
      least = std::min(least, v);
      most = std::max(most, v);
      whole = whole && v == std::floor(v);
    });
    if (stored < present) {  // the zeros not stored
      least = std::min(least, 0.0);
      most = std::max(most, 0.0);
    }
    const double mean = sum / total;
    double squares = stored < present ? (total - seen) * mean * mean : 0;
    visit_column(x, j, [&](int i, double v) { squares += weight[i] * (v - mean) * (v - mean); });
    c.mean[j] = mean;
    c.sd[j] = std::sqrt(std::max(0.0, squares) / total);
    c.min[j] = least;
    c.max[j] = most;
    c.whole[j] = whole;
  });
  return c;
}

Scaling make_scaling(const Columns& columns, const std::string& standardize) {
  const int d = static_cast<int>(columns.mean.size());
  Scaling s;
  s.centre = columns.mean;
  s.scale.assign(d, 0.0);
  // A spread below the rounding of the values themselves is a constant column.
  for (int j = 0; j < d; ++j)
    if (columns.sd[j] > 1e-12 * std::fabs(columns.mean[j])) s.scale[j] = columns.sd[j];
  if (standardize == "columns") {
    // Divided by its own spread, a rare 0/1 column would be huge where it is 1, and a
    // handful of rows could be learnt by heart through it.
    constexpr double least = 0.1;  // the spread of one row in a hundred
    for (int j = 0; j < d; ++j)
      if (s.scale[j] > 0 && columns.whole[j] && columns.min[j] == 0 && columns.max[j] == 1)
        s.scale[j] = std::max(s.scale[j], least);
    return s;
  }
  double mean = 0, squares = 0;
  for (int j = 0; j < d; ++j) mean += s.centre[j] / d;
  for (int j = 0; j < d; ++j) {
    const double off = s.centre[j] - mean;
    squares += (s.scale[j] * s.scale[j] + off * off) / d;
  }
  const bool one_scale = standardize == "matrix";
  for (int j = 0; j < d; ++j) {
    s.centre[j] = one_scale ? mean : 0.0;
    if (s.scale[j] > 0) s.scale[j] = one_scale ? std::sqrt(squares) : 1.0;
  }
  return s;
}

TrainingData::TrainingData(const MatrixView& view, const Rows& rows, Scaling scaling,
                           const Hooks& hooks, const MadeRows& made, std::vector<int> donors)
    : rows_(&rows), scaling_(std::move(scaling)), d_(view.cols), ld_((view.cols + 3) / 4 * 4),
      donors_(std::move(donors)) {
  // Sparse rows want long chunks (a row has few cells in each), in whole pieces.
  chunk_width_ = view.is_sparse() ? std::max(1024, (d_ / 8 + piece_columns) / piece_columns * piece_columns) : 96;
  chunks_ = (d_ + chunk_width_ - 1) / chunk_width_;
  shift_.assign(d_, 0);
  if (!view.is_sparse()) {
    copy_dense(view, made, hooks);
    return;
  }
  for (int j = 0; j < d_; ++j)
    shift_[j] = static_cast<Real>(scaling_.centre[j] * scaling_.inverse(j));
  cut_shift();
  copy_sparse(hooks);
  make_sparse(made);
}

void TrainingData::cut_shift() {
  for (int j = 0; j < d_; ++j) piece_cell_.push_back({j, shift_[j]});
  for (int j = 0; j < d_; j += piece_columns) {
    piece_number_.push_back(j / piece_columns);
    for (int at : {j, std::min(d_, j + piece_columns)}) piece_start_.push_back(at);
  }
  shift_pieces_ = {piece_start_.data(), 2, piece_cell_.data()};
}

void TrainingData::copy_dense(const MatrixView& view, const MadeRows& made, const Hooks& hooks) {
  const int n = view.rows;
  dense_.assign((static_cast<std::size_t>(n) + made.size()) * ld_, 0);
  hooks.run((n + block_rows - 1) / block_rows, [&](int b) {
    const int last = std::min(n, (b + 1) * block_rows);
    for (int j = 0; j < d_; ++j) {
      const double centre = scaling_.centre[j], inverse = scaling_.inverse(j);
      const std::size_t offset = static_cast<std::size_t>(j) * n;
      for (int i = b * block_rows; i < last; ++i) {
        const double v = view.dense ? view.dense[offset + i] : view.dense_int[offset + i];
        dense_[static_cast<std::size_t>(i) * ld_ + j] = static_cast<Real>((v - centre) * inverse);
      }
    }
  });
  hooks.run((made.size() + block_rows - 1) / block_rows, [&](int b) {
    for (int i = b * block_rows; i < std::min(made.size(), (b + 1) * block_rows); ++i) {
      Real* out = dense_.data() + static_cast<std::size_t>(n + i) * ld_;
      for (int j = 0; j < d_; ++j) out[j] = dense_[static_cast<std::size_t>(made.from(i, j)) * ld_ + j];
    }
  });
}

void TrainingData::copy_sparse(const Hooks& hooks) {
  const int n = rows_->size();
  start_.assign(static_cast<std::size_t>(n) * chunks_ + 1, 0);
  std::size_t place = 0;
  for (int i = 0; i < n; ++i) {
    start_[static_cast<std::size_t>(i) * chunks_] = place;
    place += rows_->sparse_row(i).count;
  }
  start_.back() = place;
  cell_.resize(place);
  hooks.run((n + block_rows - 1) / block_rows, [&](int b) {
    for (int i = b * block_rows; i < std::min(n, (b + 1) * block_rows); ++i) {
      const RowView r = rows_->sparse_row(i);
      std::size_t* start = start_.data() + static_cast<std::size_t>(i) * chunks_;
      const std::size_t first = start[0];
      for (int c = 0, e = 0; c < chunks_; ++c) {
        if (c > 0) start[c] = first + e;
        for (; e < r.count && r.column[e] < chunk_end(c); ++e)
          cell_[first + e] = {r.column[e],
                              static_cast<Real>(r.value[e] * scaling_.inverse(r.column[e]))};
      }
    }
  });
}

// The nonzeros of both rows in the order of their columns, each column from one of them.
void TrainingData::make_sparse(const MadeRows& made) {
  const std::size_t n = rows_->size();
  for (int i = 0; i < made.size(); ++i) {
    const std::size_t* cells[2] = {start_.data() + made.source[i] * std::size_t(chunks_),
                                   start_.data() + made.donor[i] * std::size_t(chunks_)};
    std::size_t at[2] = {cells[0][0], cells[1][0]};
    const std::size_t last[2] = {cells[0][chunks_], cells[1][chunks_]};
    start_.resize((n + i + 1) * chunks_ + 1);
    std::size_t* start = start_.data() + (n + i) * chunks_;
    for (int c = 0; c < chunks_; ++c) {
      start[c] = cell_.size();
      while (true) {
        const int a = at[0] < last[0] ? cell_[at[0]].column : d_;
        const int b = at[1] < last[1] ? cell_[at[1]].column : d_;
        const int j = std::min(a, b);
        if (j >= chunk_end(c)) break;
        const bool from_donor = made.from(i, j) != made.source[i];
        if (from_donor ? b == j : a == j) cell_.push_back(Cell(cell_[at[from_donor]]));
        at[0] += a == j;
        at[1] += b == j;
      }
    }
    start[chunks_] = cell_.size();
  }
}

void TrainingData::gather(Batch& batch, const Distortion& distortion, const Stream& key,
                          const Hooks& hooks) const {
  make_room(batch);
  hooks.run((batch.rows + block_rows - 1) / block_rows, [&](int b) {
    gather_rows(batch, distortion, key, b * block_rows, std::min(batch.rows, (b + 1) * block_rows));
  });
}

// A batch has its nonzeros one after another: every node and chunk reads them again, and
// where they are in the data no cache would keep them. Every row gets room for all of its
// own; what dropout takes away stays unused.
void TrainingData::make_room(Batch& batch) const {
  batch.rows = static_cast<int>(batch.index.size());
  if (!is_sparse()) {
    batch.dense.resize(static_cast<std::size_t>(batch.rows) * ld_);
    return;
  }
  const int stride = chunks_ + 1;
  batch.start.resize(static_cast<std::size_t>(batch.rows) * stride);
  batch.place.assign(batch.rows + 1, 0);
  for (int i = 0; i < batch.rows; ++i)
    batch.place[i + 1] = batch.place[i] + stored(batch.index[i]);
  if (batch.cell.size() < batch.place.back()) batch.cell.resize(batch.place.back());
  batch.sparse = {batch.start.data(), stride, batch.cell.data()};
}

void TrainingData::gather_rows(Batch& batch, const Distortion& distortion, Stream key, int first,
                               int last) const {
  const std::uint64_t base = key.bits();
  const double dropout = distortion.dropout, jitter = distortion.jitter;
  for (int i = first; i < last; ++i) {
    if (!is_sparse()) {
      copy_dense_row(batch, i);
      if (jitter > 0) jitter_dense_row(batch, jitter, base, i);
      if (dropout > 0) drop_dense_row(batch, dropout, base, i);
    } else if (dropout > 0) {
      drop_sparse_row(batch, dropout, base, i, batch.place[i]);
    } else {
      copy_sparse_row(batch, i, batch.place[i]);
    }
  }
}

void TrainingData::copy_dense_row(Batch& batch, int i) const {
  const Real* from = dense_.data() + static_cast<std::size_t>(batch.index[i]) * ld_;
  std::copy(from, from + ld_, batch.dense.data() + static_cast<std::size_t>(i) * ld_);
}

// The difference of two rows has the covariance of the data (twice it): columns that go
// together move together.
void TrainingData::jitter_dense_row(Batch& batch, double jitter, std::uint64_t key, int i) const {
  Stream draw(key, static_cast<std::uint64_t>(batch.index[i]), Purpose::jitter);
  const Real* plus = dense_.data() + static_cast<std::size_t>(donors_[draw.below(donors_.size())]) * ld_;
  const Real* minus = dense_.data() + static_cast<std::size_t>(donors_[draw.below(donors_.size())]) * ld_;
  Real* row = batch.dense.data() + static_cast<std::size_t>(i) * ld_;
  for (int j = 0; j < ld_; ++j) row[j] += static_cast<Real>(jitter) * (plus[j] - minus[j]);
}

void TrainingData::drop_dense_row(Batch& batch, double dropout, std::uint64_t key, int i) const {
  const std::uint64_t cut = static_cast<std::uint64_t>(dropout * 65536.0);
  const Real keep = static_cast<Real>(1.0 / (1.0 - dropout));
  Real* row = batch.dense.data() + static_cast<std::size_t>(i) * ld_;
  Stream draw(key, static_cast<std::uint64_t>(batch.index[i]), Purpose::dropout);
  for (int j = 0; j < ld_; j += 4) {  // ld is a multiple of 4
    const std::uint64_t bits = draw.bits();
    for (int l = 0; l < 4; ++l)
      row[j + l] = ((bits >> (16 * l)) & 0xffff) < cut ? Real(0) : row[j + l] * keep;
  }
}

void TrainingData::copy_sparse_row(Batch& batch, int i, std::size_t place) const {
  const std::size_t* from = start_.data() + static_cast<std::size_t>(batch.index[i]) * chunks_;
  std::size_t* start = batch.start.data() + static_cast<std::size_t>(i) * (chunks_ + 1);
  for (int c = 0; c <= chunks_; ++c) start[c] = place + from[c] - from[0];
  std::copy(cell_.begin() + from[0], cell_.begin() + from[chunks_], batch.cell.begin() + place);
}

void TrainingData::drop_sparse_row(Batch& batch, double dropout, std::uint64_t key, int i,
                                   std::size_t place) const {
  const std::uint64_t cut = static_cast<std::uint64_t>(dropout * 65536.0);
  const Real keep = static_cast<Real>(1.0 / (1.0 - dropout));
  const std::size_t* from = start_.data() + static_cast<std::size_t>(batch.index[i]) * chunks_;
  std::size_t* start = batch.start.data() + static_cast<std::size_t>(i) * (chunks_ + 1);
  Stream row(key, static_cast<std::uint64_t>(batch.index[i]), Purpose::dropout);
  for (int c = 0; c < chunks_; ++c) {
    start[c] = place;
    for (std::size_t e = from[c]; e < from[c + 1]; ++e) {
      if ((row.bits() & 0xffff) < cut) continue;
      batch.cell[place++] = {cell_[e].column, cell_[e].value * keep};
    }
  }
  start[chunks_] = place;
}

}  // namespace cpt
