// column_stump.cpp: see column_stump.h.
#include "column_stump.h"

#include <algorithm>
#include <cmath>

namespace cpt {

namespace {

constexpr int judging_rows = 2048;  // rows that choose the column
constexpr double steepness = 2;     // of the gate at its threshold, in spreads of the column

// Columns [first, last) of the batch, one after another; centred also where sparse.
std::vector<Real> columns_of(const TrainingData& data, const Batch& batch, int chunk) {
  const int first = data.chunk_begin(chunk), last = data.chunk_end(chunk);
  const std::size_t n = batch.rows;
  std::vector<Real> out(n * (last - first));
  if (!data.is_sparse()) {
    for (int j = first; j < last; ++j)
      for (std::size_t i = 0; i < n; ++i)
        out[(j - first) * n + i] = batch.dense[i * data.ld() + j];
    return out;
  }
  for (int j = first; j < last; ++j)
    std::fill_n(out.begin() + (j - first) * n, n, -data.shift()[j]);
  const SparseRows& x = batch.sparse;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t* start = x.start + i * x.stride + chunk;
    for (const Cell* at = x.cell + start[0]; at < x.cell + start[1]; ++at)
      out[(at->column - first) * n + i] += at->value;
  }
  return out;
}

// The best cut of each column.
std::vector<Cut> cut_columns(const TrainingData& data, const Task& task,
                             const std::vector<int>& rows, double least, const Hooks& hooks) {
  Batch batch;
  batch.index = rows;
  data.gather(batch, {}, Stream(0, 0, Purpose::dropout), hooks);
  std::vector<Cut> cuts(data.d());
  hooks.run(data.chunks(), [&](int chunk) {
    const std::vector<Real> values = columns_of(data, batch, chunk);
    auto from = values.begin();
    for (int j = data.chunk_begin(chunk); j < data.chunk_end(chunk); ++j, from += rows.size()) {
      hooks.stop_if_cancelled();
      if (!(data.scaling().scale[j] > 0)) continue;
      cuts[j] = best_cut(task, rows, std::vector<Real>(from, from + rows.size()), least);
    }
  });
  return cuts;
}

// Column j of all the rows, block by block.
std::vector<Real> column_values(const TrainingData& data, const std::vector<int>& rows, int j,
                                const Hooks& hooks) {
  int chunk = 0;
  while (j >= data.chunk_end(chunk)) ++chunk;
  std::vector<Real> out;
  Batch batch;
  for (std::size_t first = 0; first < rows.size(); first += judging_rows) {
    const std::size_t last = std::min(rows.size(), first + judging_rows);
    batch.index.assign(rows.begin() + first, rows.begin() + last);
    data.gather(batch, {}, Stream(0, 0, Purpose::dropout), hooks);
    const std::vector<Real> values = columns_of(data, batch, chunk);
    const auto from = values.begin() + (j - data.chunk_begin(chunk)) * (last - first);
    out.insert(out.end(), from, from + (last - first));
  }
  return out;
}

// z = 0 at the threshold: there softplus is log 2. Rounding may put a row that lies next
// to the threshold on the other side; then g0 moves between the rows instead.
Gate gate_of_column(const TrainingData& data, int j, double threshold, double spread) {
  Gate gate(data.d(), 1);
  const double slope = steepness / spread;
  gate.column = j;
  gate.B()[static_cast<std::size_t>(j) * gate.width] = static_cast<Real>(slope);
  gate.a()[0] = static_cast<Real>(-slope * threshold);
  gate.g0() = static_cast<Real>(std::log(2.0));
  return gate;
}

}  // namespace

Stump column_stump(const TrainingData& data, const Task& task, const std::vector<int>& rows,
                   double least, const Hooks& hooks) {
  const std::vector<int> sample = some_of(rows, judging_rows);
  const double share = total_weight(task, sample) / total_weight(task, rows);
  const std::vector<Cut> cuts = cut_columns(data, task, sample, least * share, hooks);
  int best = -1;  // the first of equals
  for (int j = 0; j < data.d(); ++j)
    if (cuts[j].found && (best < 0 || cuts[j].loss < cuts[best].loss)) best = j;
  if (best < 0) return {};
  const std::vector<Real> x = column_values(data, rows, best, hooks);
  const Cut cut = best_cut(task, rows, x, least);
  if (!cut.found) return {};
  std::vector<double> weight;
  for (int r : rows) weight.push_back(task.weight(r));
  Stump out{gate_of_column(data, best, cut.threshold, moments(weight, x, 1, 0).spread), cut};
  const std::vector<Real> g = gate_evidence(data, out.gate, rows, hooks);
  for (std::size_t i = 0; i < rows.size(); ++i)
    if ((g[i] > out.gate.g0()) != (x[i] > cut.threshold)) {
      out.cut_at_best(data, task, rows, least, hooks);
      break;
    }
  return out;
}

}  // namespace cpt
