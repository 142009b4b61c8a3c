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

// The nonzeros of two rows in the order of their columns, each column from one of them:
// visit(column, value).
template <class Visit>
void mix(const MadeRows& made, int i, const RowView& source, const RowView& donor, Visit visit) {
  int a = 0, b = 0;
  while (a < source.count || b < donor.count) {
    const bool from_a = b == donor.count || (a < source.count && source.column[a] <= donor.column[b]);
    const bool from_b = a == source.count || (b < donor.count && donor.column[b] <= source.column[a]);
    const int j = from_a ? source.column[a] : donor.column[b];
    const bool donated = made.from(i, j) != made.source[i];
    if (donated ? from_b : from_a) visit(j, donated ? donor.value[b] : source.value[a]);
    a += from_a;
    b += from_b;
  }
}

}  // namespace

Rows::Rows(const MatrixView& view, MadeRows made) : view_(view), made_(std::move(made)) {
  if (!view.is_sparse()) return;
  if (made_.are_moved()) throw Error("sparse rows can be mixed, not moved");
  sparse_ = Eigen::Map<const Eigen::SparseMatrix<double>>(
      view.rows, view.cols, view.column_start[view.cols], view.column_start, view.row_index,
      view.nonzero);
  if (made_.size() > 0) make_sparse();
}

void Rows::make_sparse() {
  const auto mixed = [&](int i, const auto& visit) {
    mix(made_, i, sparse_row(made_.source[i]), sparse_row(made_.donor[i]), visit);
  };
  Eigen::SparseMatrix<double, Eigen::RowMajor> all(size(), view_.cols);
  Eigen::Index count = sparse_.nonZeros();
  for (int i = 0; i < made_.size(); ++i) mixed(i, [&](int, double) { ++count; });
  if (count > std::numeric_limits<int>::max()) throw Error("the made rows have too many nonzeros");
  all.reserve(count);
  for (int i = 0; i < given(); ++i) {
    const RowView r = sparse_row(i);
    all.startVec(i);
    for (int e = 0; e < r.count; ++e) all.insertBack(i, r.column[e]) = r.value[e];
  }
  for (int i = 0; i < made_.size(); ++i) {
    all.startVec(given() + i);
    mixed(i, [&](int j, double value) { all.insertBack(given() + i, j) = value; });
  }
  all.finalize();
  sparse_.swap(all);
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
  const int n = view_.rows;
  buffer.resize(p * count);
  const bool all_given = std::all_of(row, row + count, [n](int r) { return r < n; });
  for (std::size_t j = 0; j < p; ++j) {
    const std::size_t offset = j * n;
    double* out = buffer.data() + j;
    if (!all_given)
      for (int i = 0; i < count; ++i) out[i * p] = row[i] < n ? cell(row[i], j) : made_cell(row[i] - n, j);
    else if (view_.dense)
      for (int i = 0; i < count; ++i) out[i * p] = view_.dense[offset + row[i]];
    else
      for (int i = 0; i < count; ++i) out[i * p] = view_.dense_int[offset + row[i]];
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
                           const Hooks& hooks, std::vector<int> donors)
    : rows_(&rows), scaling_(std::move(scaling)), d_(view.cols), ld_((view.cols + 3) / 4 * 4),
      donors_(std::move(donors)) {
  // Sparse rows want long chunks (a row has few cells in each), in whole pieces.
  chunk_width_ = view.is_sparse() ? std::max(1024, (d_ / 8 + piece_columns) / piece_columns * piece_columns) : 96;
  chunks_ = (d_ + chunk_width_ - 1) / chunk_width_;
  shift_.assign(d_, 0);
  if (!view.is_sparse()) {
    copy_dense(view, hooks);
    copy_made(hooks);
    return;
  }
  for (int j = 0; j < d_; ++j)
    shift_[j] = static_cast<Real>(scaling_.centre[j] * scaling_.inverse(j));
  cut_shift();
  copy_sparse(hooks);
}

void TrainingData::cut_shift() {
  for (int j = 0; j < d_; ++j) piece_cell_.push_back({j, shift_[j]});
  for (int j = 0; j < d_; j += piece_columns) {
    piece_number_.push_back(j / piece_columns);
    for (int at : {j, std::min(d_, j + piece_columns)}) piece_start_.push_back(at);
  }
  shift_pieces_ = {piece_start_.data(), 2, piece_cell_.data()};
}

void TrainingData::copy_dense(const MatrixView& view, const Hooks& hooks) {
  const int n = view.rows;
  dense_.assign(static_cast<std::size_t>(rows_->size()) * ld_, 0);
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
}

void TrainingData::copy_made(const Hooks& hooks) {
  const int n = rows_->given(), made = rows_->size() - n;
  hooks.run((made + block_rows - 1) / block_rows, [&](int b) {
    thread_local std::vector<double> buffer;
    const int first = n + b * block_rows, count = std::min(block_rows, rows_->size() - first);
    const std::vector<RowView> block = rows_->block(first, count, buffer);
    for (int i = 0; i < count; ++i) {
      Real* out = dense_.data() + static_cast<std::size_t>(first + i) * ld_;
      for (int j = 0; j < d_; ++j)
        out[j] = static_cast<Real>((block[i].value[j] - scaling_.centre[j]) * scaling_.inverse(j));
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
