// stump.cpp: see stump.h.
#include "stump.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "order.h"

namespace cpt {

namespace {

constexpr int block_rows = 1024;        // rows evaluated at a time
constexpr int start_rows = 1000;        // rows that a start looks at

}  // namespace

MeanSpread moments(const std::vector<double>& weight, const std::vector<Real>& a, int width, int k) {
  const std::size_t n = weight.size();
  double mass = 0, sum = 0, squares = 0;
  for (std::size_t i = 0; i < n; ++i) {
    mass += weight[i];
    sum += weight[i] * a[i * width + k];
  }
  const double mean = sum / mass;
  for (std::size_t i = 0; i < n; ++i) {
    const double off = a[i * width + k] - mean;
    squares += weight[i] * off * off;
  }
  return {mean, std::sqrt(squares / mass)};
}

std::vector<int> some_of(const std::vector<int>& rows, int most) {
  const int n = static_cast<int>(rows.size());
  if (n <= most) return rows;
  std::vector<int> out(most);
  for (int i = 0; i < most; ++i) out[i] = rows[static_cast<long>(i) * n / most];
  return out;
}

double total_weight(const Task& task, const std::vector<int>& rows) {
  double sum = 0;
  for (int r : rows) sum += task.weight(r);
  return sum;
}

std::vector<Real> gate_evidence(const TrainingData& data, const Gate& gate,
                                const std::vector<int>& rows, const Hooks& hooks,
                                std::vector<Real>* terms) {
  const int n = static_cast<int>(rows.size()), width = gate.width;
  std::vector<Real> g(n);
  if (terms) terms->resize(static_cast<std::size_t>(n) * width);
  GateView view;
  view.refresh(gate, data);
  hooks.run((n + block_rows - 1) / block_rows, [&](int b) {
    const int first = b * block_rows, count = std::min(block_rows, n - first);
    Batch batch;
    batch.index.assign(rows.begin() + first, rows.begin() + first + count);
    data.gather(batch, {}, Stream(0, 0, Purpose::dropout), hooks.serial());
    std::vector<int> row(count);
    std::iota(row.begin(), row.end(), 0);
    std::vector<Real> sigmoid(static_cast<std::size_t>(count) * width), softplus(sigmoid.size());
    gate_forward(data, batch, view, count, row.data(), sigmoid.data(), softplus.data(),
                 g.data() + first);
    if (!terms) return;
    Real* out = terms->data() + static_cast<std::size_t>(first) * width;
    for (std::size_t e = 0; e < softplus.size(); ++e) out[e] = view.r[e % width] * softplus[e];
  });
  return g;
}

Cut best_cut(const std::vector<double>& weight, const std::vector<Real>& g, double least,
             const Judge& judge) {
  const int n = static_cast<int>(g.size());
  const std::vector<int> order = order_of(g);
  double all = 0, left = 0;
  for (double w : weight) all += w;
  std::vector<char> may_end(n, 0);
  bool any = false;
  for (int i = 0; i + 1 < n; ++i) {
    left += weight[order[i]];
    may_end[i] = g[order[i]] < g[order[i + 1]] && left >= least && all - left >= least;
    any = any || may_end[i];
  }
  Cut best;
  if (!any) return best;
  std::vector<double> loss(n);
  judge(order, may_end, loss);
  for (int i = 0; i + 1 < n; ++i) {
    if (!may_end[i] || (best.found && loss[i] >= best.loss)) continue;
    // The gate compares in single precision: the threshold must lie below `high` there.
    const double low = g[order[i]], high = g[order[i + 1]];
    const Real middle = static_cast<Real>(0.5 * (low + high));
    best = {true, middle < high ? static_cast<double>(middle) : low, loss[i]};
  }
  return best;
}

Cut best_cut(const Task& task, const std::vector<int>& rows, const std::vector<Real>& g,
             double least) {
  std::vector<double> weight(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) weight[i] = task.weight(rows[i]);
  return best_cut(weight, g, least, [&](const std::vector<int>& order,
                                        const std::vector<char>& may_end, std::vector<double>& loss) {
    std::vector<int> sorted(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) sorted[i] = rows[order[i]];
    task.sweep(static_cast<int>(rows.size()), sorted.data(), may_end.data(), loss.data());
  });
}

void Stump::cut_at_best(const TrainingData& data, const Task& task, const std::vector<int>& rows,
                        double least, const Hooks& hooks) {
  cut = best_cut(task, rows, gate_evidence(data, gate, rows, hooks), least);
  if (cut.found) gate.g0() = static_cast<Real>(cut.threshold);
}

Gate random_gate(const TrainingData& data, const Task& task, const std::vector<int>& rows,
                 int facets, Stream stream, const Hooks& hooks) {
  Gate gate(data.d(), facets);
  for (int j = 0; j < data.d(); ++j)
    for (int k = 0; k < facets; ++k) {
      const double v = stream.normal();  // drawn also for constant columns: same stream
      if (data.scaling().scale[j] > 0)
        gate.B()[static_cast<std::size_t>(j) * gate.width + k] = static_cast<Real>(v);
    }
  const std::vector<int> sample = some_of(rows, start_rows);
  std::vector<double> weight;
  for (int r : sample) weight.push_back(task.weight(r));
  std::vector<Real> terms;
  // At weight 1 and far out, softplus(z) is z itself: the spread of z can be read off.
  for (int k = 0; k < facets; ++k) gate.a()[k] = 1e3;
  gate_evidence(data, gate, sample, hooks, &terms);
  for (int k = 0; k < facets; ++k) {
    const MeanSpread z = moments(weight, terms, gate.width, k);
    const double shrink = z.spread > 0 ? 1.0 / z.spread : 1.0;
    for (int j = 0; j < data.d(); ++j)
      gate.B()[static_cast<std::size_t>(j) * gate.width + k] *= static_cast<Real>(shrink);
    gate.a()[k] = static_cast<Real>(0.5 * stream.normal() - (z.mean - 1e3) * shrink);
  }
  const std::vector<Real> g = gate_evidence(data, gate, sample, hooks);
  const MeanSpread all = moments(weight, g, 1, 0);
  const double scale = all.spread > 0 ? 1.0 / all.spread : 1.0;
  for (int k = 0; k < facets; ++k) gate.log_r()[k] = static_cast<Real>(std::log(scale));
  gate.g0() = static_cast<Real>(all.mean * scale);
  return gate;
}

}  // namespace cpt
