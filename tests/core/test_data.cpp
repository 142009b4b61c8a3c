// test_data.cpp: rows and their standardisation: dense, integer and sparse views
// agree, the scaling is the weighted one, dropout keeps the mean.
#include "support.h"
#include "test.h"

using namespace support;

namespace {

std::vector<double> spread(const RowView& row, int cols) {
  std::vector<double> out(cols, 0.0);
  for (int e = 0; e < row.count; ++e) out[row.column ? row.column[e] : e] = row.value[e];
  return out;
}

// The batch as plain numbers, zeros filled in.
std::vector<double> spread(const TrainingData& data, const Batch& batch) {
  const int d = data.d();
  std::vector<double> out(static_cast<std::size_t>(batch.rows) * d, 0.0);
  for (int i = 0; i < batch.rows; ++i) {
    if (!data.is_sparse()) {
      for (int j = 0; j < d; ++j) out[i * d + j] = batch.dense[i * data.ld() + j];
      continue;
    }
    const SparseRows& x = batch.sparse;
    const std::size_t first = x.start[i * x.stride], last = x.start[(i + 1) * x.stride - 1];
    for (std::size_t e = first; e < last; ++e) out[i * d + x.cell[e].column] = x.cell[e].value;
  }
  return out;
}

struct Moments {
  long double mean, sd;
};

Moments direct(const Matrix& m, int j, const std::vector<double>& w) {
  long double total = 0, sum = 0, squares = 0;
  for (int i = 0; i < m.n; ++i) {
    total += w[i];
    sum += static_cast<long double>(w[i]) * m.at(i, j);
  }
  const long double mean = sum / total;
  for (int i = 0; i < m.n; ++i) squares += w[i] * (m.at(i, j) - mean) * (m.at(i, j) - mean);
  return {mean, std::sqrt(squares / total)};
}

}  // namespace

// Made rows follow the given ones, alone and in blocks with them, and are what they claim;
// training reads the same numbers, scaled.
TEST(data_made_rows_follow_the_given_ones) {
  Matrix m = random_matrix(90, 7, 0.6, 2);
  for (double& v : m.x) v = std::round(3 * v);
  const std::vector<int> whole(m.x.begin(), m.x.end());
  MatrixView integer = m.dense();
  integer.dense = nullptr;
  integer.dense_int = whole.data();
  MadeRows mixed, moved;
  mixed.share = moved.share = 0.25;
  mixed.key = 7;
  for (int i = 0; i < 300; ++i) {
    for (MadeRows* made : {&mixed, &moved}) {
      made->source.push_back(i % 90);
      made->donor.push_back((i * 11 + 5) % 90);
    }
    moved.other.push_back((i * 7 + 1) % 90);
  }
  const std::vector<int> pick = {389, 3, 90, 0, 201};
  for (const MadeRows* made : {&mixed, &moved})
    for (const MatrixView& view : {m.dense(), integer, m.sparse()}) {
      if (view.is_sparse() && made == &moved) continue;
      const Rows rows(view, *made);
      CHECK(rows.given() == 90 && rows.size() == 390, rows.size());
      const TrainingData data(view, rows,
                              make_scaling(measure_columns(view, std::vector<double>(90, 1.0),
                                                           serial_hooks()), "columns"),
                              thread_hooks(2));
      std::vector<double> buffer;
      const std::vector<RowView> got = rows.block(pick.data(), 5, buffer);
      Batch batch;
      batch.index = pick;
      data.gather(batch, {}, Stream(0, 0, Purpose::dropout), serial_hooks());
      const std::vector<double> scaled = spread(data, batch);
      for (std::size_t k = 0; k < pick.size(); ++k) {
        const std::vector<double> row = spread(got[k], m.p);
        const int i = pick[k] - 90;
        for (int j = 0; j < m.p; ++j) {
          double want = i < 0 ? m.at(pick[k], j) : m.at(mixed.from(i, j), j);
          if (i >= 0 && made == &moved)
            want = m.at(moved.source[i], j) + 0.25 * (m.at(moved.donor[i], j) - m.at(moved.other[i], j));
          CHECK(row[j] == want, view.is_sparse(), pick[k], j, row[j], want);
          const double centre = view.is_sparse() ? 0 : data.scaling().centre[j];
          CHECK(scaled[k * m.p + j] == static_cast<Real>((want - centre) * data.scaling().inverse(j)),
                view.is_sparse(), pick[k], j);
        }
      }
    }
}

TEST(data_sparse_rows_are_not_moved) {
  Matrix m = random_matrix(20, 3, 0.6, 2);
  MadeRows moved;
  moved.source = moved.donor = moved.other = {1};
  bool thrown = false;
  try {
    Rows(m.sparse(), moved);
  } catch (const Error&) {
    thrown = true;
  }
  CHECK(thrown, 0);
}

TEST(data_rows_dense_integer_and_sparse_are_the_same) {
  Matrix m = random_matrix(150, 9, 0.6, 1);
  for (double& v : m.x) v = std::round(3 * v);
  const std::vector<int> whole(m.x.begin(), m.x.end());
  MatrixView integer = m.dense();
  integer.dense = nullptr;
  integer.dense_int = whole.data();
  const Rows a(m.dense()), b(integer), c(m.sparse());
  CHECK(!a.is_sparse() && !b.is_sparse() && c.is_sparse());
  const std::vector<int> pick = {149, 3, 3, 0, 77};
  for (const Rows* rows : {&a, &b, &c}) {
    std::vector<double> buffer;
    const std::vector<RowView> some = rows->block(pick.data(), 5, buffer);
    for (int i = 0; i < 5; ++i)
      for (int j = 0; j < m.p; ++j) CHECK(spread(some[i], m.p)[j] == m.at(pick[i], j), i, j);
    const std::vector<RowView> run = rows->block(40, 110, buffer);
    for (int i = 0; i < 110; ++i)
      for (int j = 0; j < m.p; ++j) CHECK(spread(run[i], m.p)[j] == m.at(40 + i, j), i, j);
  }
}

TEST(data_sparse_rows_are_in_column_order_without_zeros) {
  Matrix m = random_matrix(60, 30, 0.8, 2);
  const Rows rows(m.sparse());
  for (int i = 0; i < m.n; ++i) {
    const RowView row = rows.sparse_row(i);
    for (int e = 0; e < row.count; ++e) {
      CHECK(row.value[e] != 0, i, e);
      if (e > 0) CHECK(row.column[e - 1] < row.column[e], i, e);
    }
  }
}

TEST(data_scaling_is_the_weighted_mean_and_sd) {
  Matrix m = random_matrix(200, 8, 0.4, 3);
  for (int i = 0; i < m.n; ++i) {
    m.at(i, 1) = 1e6 + 1e-3 * m.at(i, 1);  // far from zero
    m.at(i, 2) = -4.1;                     // constant
    m.at(i, 3) = 0;                        // constant zero: nothing stored
  }
  std::vector<double> w(m.n);
  Stream s = random_numbers(4);
  for (double& v : w) v = s.uniform() < 0.2 ? 0 : 3 * s.uniform();
  for (int i = 0; i < m.n; ++i) {
    if (w[i] == 0) m.at(i, 0) = 1e9;                   // rows of weight 0 do not count
    m.at(i, 4) = w[i] == 0 ? 10 + s.normal() : 2.5;    // constant where it counts
  }
  for (bool sparse : {false, true}) {
    const Scaling got = make_scaling(measure_columns(m.view(sparse), w, serial_hooks()), "columns");
    for (int j = 0; j < m.p; ++j) {
      const Moments want = direct(m, j, w);
      CHECK(std::fabs(got.centre[j] - want.mean) <= 1e-12 * std::fabs(want.mean) + 1e-13, sparse, j,
            got.centre[j], want.mean);
      if (j >= 2 && j <= 4) CHECK(got.scale[j] == 0 && got.inverse(j) == 0, sparse, j, got.scale[j]);
      else CHECK(std::fabs(got.scale[j] / want.sd - 1) < 1e-6, sparse, j, got.scale[j], want.sd);
    }
  }
}

TEST(data_scaling_weight_two_is_the_row_twice) {
  Matrix m = random_matrix(50, 4, 0.3, 5), twice(75, 4);
  std::vector<double> w(50, 1.0);
  for (int i = 0, to = 0; i < 50; ++i) {
    if (i % 2) w[i] = 2;
    for (int copy = 0; copy < w[i]; ++copy, ++to)
      for (int j = 0; j < 4; ++j) twice.at(to, j) = m.at(i, j);
  }
  const Scaling a = make_scaling(measure_columns(m.dense(), w, serial_hooks()), "columns");
  const Scaling b = make_scaling(measure_columns(twice.dense(), std::vector<double>(75, 1.0), serial_hooks()), "columns");
  for (int j = 0; j < 4; ++j) {
    CHECK(std::fabs(a.centre[j] - b.centre[j]) < 1e-14, j, a.centre[j], b.centre[j]);
    CHECK(std::fabs(a.scale[j] / b.scale[j] - 1) < 1e-14, j, a.scale[j], b.scale[j]);
  }
}

TEST(data_scaling_of_the_whole_matrix_and_none) {
  Matrix m = random_matrix(80, 5, 0.2, 6);
  for (int i = 0; i < m.n; ++i) m.at(i, 3) = 7;
  std::vector<double> w(m.n);
  for (int i = 0; i < m.n; ++i) w[i] = 0.5 + i % 3;
  long double total = 0, sum = 0, squares = 0;
  for (int j = 0; j < m.p; ++j)
    for (int i = 0; i < m.n; ++i) { total += w[i]; sum += w[i] * m.at(i, j); }
  const long double mean = sum / total;
  for (int j = 0; j < m.p; ++j)
    for (int i = 0; i < m.n; ++i) squares += w[i] * (m.at(i, j) - mean) * (m.at(i, j) - mean);
  const double sd = std::sqrt(static_cast<double>(squares / total));
  for (bool sparse : {false, true}) {
    const Scaling one = make_scaling(measure_columns(m.view(sparse), w, serial_hooks()), "matrix");
    const Scaling none = make_scaling(measure_columns(m.view(sparse), w, serial_hooks()), "none");
    for (int j = 0; j < m.p; ++j) {
      CHECK(std::fabs(one.centre[j] - mean) < 1e-12, sparse, j, one.centre[j], mean);
      CHECK(std::fabs(one.scale[j] - (j == 3 ? 0 : sd)) < 1e-12, sparse, j, one.scale[j], sd);
      CHECK(none.centre[j] == 0, sparse, j, none.centre[j]);
      CHECK(none.scale[j] == (j == 3 ? 0 : 1), sparse, j, none.scale[j]);
    }
  }
}

TEST(data_training_rows_are_standardised_dense_and_sparse) {
  Matrix m = random_matrix(300, 7, 0.5, 7);
  for (int i = 0; i < m.n; ++i) m.at(i, 5) = 3;
  const std::vector<double> w(m.n, 1.0);
  const double tolerance = is_double ? 1e-12 : 1e-5;
  for (bool sparse : {false, true}) {
    const MatrixView x = m.view(sparse);
    const Rows rows(x);
    const TrainingData data(x, rows, make_scaling(measure_columns(x, w, serial_hooks()), "columns"),
                            serial_hooks());
    Batch batch;
    for (int i = 0; i < m.n; ++i) batch.index.push_back(m.n - 1 - i);
    data.gather(batch, {}, Stream(0, 0, Purpose::dropout), serial_hooks());
    const std::vector<double> got = spread(data, batch);
    for (int i = 0; i < m.n; ++i)
      for (int j = 0; j < m.p; ++j) {
        const Moments c = direct(m, j, w);
        const double want = j == 5 ? 0 : (m.at(m.n - 1 - i, j) - c.mean) / c.sd;
        const double have = got[i * m.p + j] - data.shift()[j];
        CHECK(std::fabs(have - want) < tolerance, sparse, i, j, have, want);
      }
  }
}

TEST(data_dropout_keeps_the_mean_and_is_repeatable) {
  Matrix m(4000, 6);
  for (double& v : m.x) v = 2;
  for (int j = 0; j < m.p; ++j) m.at(0, j) = 1;  // not constant
  const std::vector<double> w(m.n, 1.0);
  const double lost = 0.3;
  for (bool sparse : {false, true}) {
    const MatrixView x = m.view(sparse);
    const Rows rows(x);
    const TrainingData data(x, rows, make_scaling(measure_columns(x, w, serial_hooks()), "none"), serial_hooks());
    Batch a, b, c, plain;
    for (int i = 0; i < m.n; ++i) a.index.push_back(i);
    b.index = c.index = plain.index = a.index;
    data.gather(a, {lost, 0}, Stream(1, 2, Purpose::dropout, 3), serial_hooks());
    data.gather(b, {lost, 0}, Stream(1, 2, Purpose::dropout, 3), reversed_hooks());
    data.gather(c, {lost, 0}, Stream(1, 2, Purpose::dropout, 4), serial_hooks());
    data.gather(plain, {}, Stream(1, 2, Purpose::dropout, 3), serial_hooks());
    const std::vector<double> one = spread(data, a), full = spread(data, plain);
    CHECK(one == spread(data, b), sparse);
    CHECK(one != spread(data, c), sparse);
    const double sd = std::sqrt(lost / (1 - lost) / m.n);  // of a column's mean ratio
    for (int j = 0; j < m.p; ++j) {
      double sum = 0, all = 0, zeros = 0;
      for (int i = 0; i < m.n; ++i) {
        sum += one[i * m.p + j];
        all += full[i * m.p + j];
        zeros += one[i * m.p + j] == 0;
        const double ratio = one[i * m.p + j] / full[i * m.p + j];
        CHECK(ratio == 0 || std::fabs(ratio * (1 - lost) - 1) < 1e-6, sparse, i, j, ratio);
      }
      CHECK(std::fabs(sum / all - 1) < 4.5 * sd, sparse, j, sum / all);
      CHECK(std::fabs(zeros / m.n - lost) < 4.5 * std::sqrt(lost * (1 - lost) / m.n), sparse, j,
            zeros / m.n);
    }
  }
}

// What a row loses depends on the row and the key, not on its batch.
TEST(data_dropout_does_not_depend_on_the_batch) {
  Matrix m = random_matrix(600, 20, 0.3, 8);
  const std::vector<double> w(m.n, 1.0);
  for (bool sparse : {false, true}) {
    const MatrixView x = m.view(sparse);
    const Rows rows(x);
    const TrainingData data(x, rows, make_scaling(measure_columns(x, w, serial_hooks()), "columns"),
                            serial_hooks());
    Batch all, some;
    for (int i = 0; i < m.n; ++i) all.index.push_back(i);
    some.index = {599, 5, 300};
    const Stream key(1, 2, Purpose::dropout, 3);
    data.gather(all, {0.5, 0}, key, serial_hooks());
    data.gather(some, {0.5, 0}, key, serial_hooks());
    const std::vector<double> a = spread(data, all), b = spread(data, some);
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < m.p; ++j)
        CHECK(a[some.index[i] * m.p + j] == b[i * m.p + j], sparse, i, j);
  }
}

// A row moves by a share of the difference of two donors: which two can be told from a
// column that numbers the rows. Rows that are no donors lend nothing.
TEST(data_jitter_moves_rows_by_differences_of_donors) {
  Matrix m = random_matrix(200, 6, 1.0, 9);
  for (int i = 0; i < m.n; ++i) m.at(i, 0) = i;
  const std::vector<double> w(m.n, 1.0);
  const MatrixView x = m.view(false);
  const Rows rows(x);
  std::vector<int> donors;
  for (int i = 0; i < m.n; i += 10) donors.push_back(i);
  const TrainingData data(x, rows, make_scaling(measure_columns(x, w, serial_hooks()), "none"),
                          serial_hooks(), donors);
  Batch plain, moved, again, other, few;
  for (int i = 0; i < m.n; ++i) plain.index.push_back(i);
  moved.index = again.index = other.index = plain.index;
  few.index = {150, 3};
  const double share = 0.125;
  data.gather(plain, {}, Stream(1, 2, Purpose::dropout, 3), serial_hooks());
  data.gather(moved, {0, share}, Stream(1, 2, Purpose::dropout, 3), serial_hooks());
  data.gather(again, {0, share}, Stream(1, 2, Purpose::dropout, 3), reversed_hooks());
  data.gather(few, {0, share}, Stream(1, 2, Purpose::dropout, 3), serial_hooks());
  data.gather(other, {0, share}, Stream(1, 2, Purpose::dropout, 4), serial_hooks());
  const std::vector<double> from = spread(data, plain), to = spread(data, moved);
  CHECK(to == spread(data, again), 0);
  CHECK(to != spread(data, other), 0);
  const std::vector<double> part = spread(data, few);
  for (int j = 0; j < m.p; ++j) {
    CHECK(part[j] == to[150 * m.p + j], j);
    CHECK(part[m.p + j] == to[3 * m.p + j], j);
  }
  const double tolerance = is_double ? 1e-9 : 1e-3;
  double mean = 0, apart = 0;
  for (int i = 0; i < m.n; ++i) {
    const double step = (to[i * m.p] - from[i * m.p]) / share;  // number of one donor less the other's
    mean += step / m.n;
    apart += step != 0;
    CHECK(std::fabs(step / 10 - std::round(step / 10)) < tolerance, i, step);
    bool found = false;
    for (int a : donors) {
      const int b = a - static_cast<int>(std::lround(step));
      if (b < 0 || b >= m.n || b % 10 != 0) continue;
      bool fits = true;
      for (int j = 1; j < m.p; ++j)
        fits = fits && std::fabs(to[i * m.p + j] - from[i * m.p + j] -
                                 share * (m.at(a, j) - m.at(b, j))) < tolerance;
      found = found || fits;
    }
    CHECK(found, i, step);
  }
  CHECK(apart > 0.8 * m.n, apart);
  CHECK(std::fabs(mean) < 4.5 * 82 / std::sqrt(m.n), mean);  // 82: sd of a difference
}

TEST(data_chunks_cover_all_columns_once) {
  for (int d : {1, 95, 96, 97, 256, 257, 600, 2049})
    for (bool sparse : {false, true}) {
      Matrix m(2, d);
      m.at(0, 0) = 1;
      const MatrixView x = m.view(sparse);
      const Rows rows(x);
      const TrainingData data(x, rows, make_scaling(measure_columns(x, {1, 1}, serial_hooks()), "columns"),
                              serial_hooks());
      int next = 0;
      for (int c = 0; c < data.chunks(); ++c) {
        CHECK(data.chunk_begin(c) == next && data.chunk_end(c) > next, d, sparse, c);
        next = data.chunk_end(c);
      }
      CHECK(next == d, d, sparse, next);
      CHECK(data.ld() >= d, d, data.ld());
    }
}
