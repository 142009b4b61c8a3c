// trainer.cpp: see trainer.h.
#include "trainer.h"

#include <algorithm>
#include <cmath>

namespace cpt {

namespace {

constexpr double beta1 = 0.9, beta2 = 0.99, epsilon = 1e-8;
constexpr double training_trace = 1e-3;    // weight of the uniform guess in a leaf, see Task::costs
constexpr int scoring_rows = 2048;         // rows of a block in hard scoring
constexpr int scale_steps = 25;            // steps between two fits of the prior's scales

}  // namespace

Trainer::Trainer(const TrainingData& data, const Task& task, const Prior& prior,
                 std::vector<Node>& nodes, std::vector<int> rows, std::uint64_t seed,
                 std::uint64_t key, const Hooks& hooks)
    : data_(data), task_(task), prior_(prior), nodes_(nodes), rows_(std::move(rows)), seed_(seed),
      key_(key), hooks_(hooks), moments_(nodes.size()), scales_(nodes.size()),
      statistics_(nodes.size() * task.statistics(), 0.0) {
  for (int r : rows_) total_weight_ += task_.weight(r);
  for (std::size_t v = 0; v < nodes_.size(); ++v) {
    moments_[v].first.assign(nodes_[v].gate.theta.size(), 0);
    moments_[v].second.assign(nodes_[v].gate.theta.size(), 0);
  }
}

double Trainer::epoch(const EpochSettings& settings) {
  Stream(seed_, key_, Purpose::shuffle, epochs_++).shuffle(rows_);
  const int n = static_cast<int>(rows_.size()), steps = steps_in_epoch(rows_.size(), settings.batch_size);
  double loss = 0;
  for (int s = 0; s < steps; ++s) {
    hooks_.stop_if_cancelled();
    if (uses_prior(settings) && steps_ >= next_scales_) refresh_scales();
    const std::size_t first = static_cast<std::size_t>(n) * s / steps;
    const std::size_t last = static_cast<std::size_t>(n) * (s + 1) / steps;
    batch_.index.assign(rows_.begin() + first, rows_.begin() + last);
    // Statistics remember about half an epoch; with one batch an epoch, none.
    const double memory = std::max(0.0, 1.0 - 2.0 / steps);
    loss += step(settings, memory, nullptr);
  }
  return loss / total_weight_;
}

void Trainer::refresh_scales() {
  hooks_.run(static_cast<int>(nodes_.size()), [&](int v) {
    if (!nodes_[v].is_leaf()) scales_[v] = prior_.fit_scales(nodes_[v].gate);
  });
  next_scales_ = steps_ + scale_steps;
}

std::vector<std::vector<Real>> Trainer::gradient(const EpochSettings& settings, double* loss) {
  std::vector<std::vector<Real>> sink(nodes_.size());
  for (std::size_t v = 0; v < nodes_.size(); ++v) {
    sink[v].assign(nodes_[v].gate.theta.size(), 0);
  }
  refresh_scales();
  batch_.index = rows_;
  *loss = step(settings, 0.0, &sink);
  for (std::size_t v = 0; v < nodes_.size(); ++v)
    if (!nodes_[v].is_leaf())
      *loss += settings.nat * (settings.prior * prior_.penalty(nodes_[v].gate, scales_[v]) +
                               prior_.slope_penalty(nodes_[v].gate, settings.lambda));
  *loss /= total_weight_;
  return sink;
}

// One step on batch_.index; returns the batch's total loss (weight times cost).
double Trainer::step(const EpochSettings& settings, double memory,
                     std::vector<std::vector<Real>>* sink) {
  data_.gather(batch_, settings.dropout, Stream(seed_, key_, Purpose::dropout, steps_++), hooks_);
  pass_.forward(data_, nodes_, batch_, Routing::soft, settings.lambda, settings.reach_tolerance,
                hooks_);
  const double loss = visit_leaves(memory);
  // Every batch stands for the whole data set, whatever its rows weigh.
  const double scale = static_cast<double>(rows_.size()) / (total_weight_ * batch_.rows);
  pull_back(settings.lambda, scale);
  update(settings, sink);
  return loss;
}

// Leaf statistics (Eq. 11, with memory), then V of every row in every leaf.
double Trainer::visit_leaves(double memory) {
  const std::vector<Visit>& visits = pass_.visits();
  std::vector<int> leaves;
  std::vector<double> work;
  for (std::size_t v = 0; v < visits.size(); ++v)
    if (nodes_[visits[v].node].is_leaf()) {
      leaves.push_back(static_cast<int>(v));
      work.push_back(50.0 * (visits[v].count + 3 * task_.statistics()));
    }
  const std::size_t entries = visits.back().first + visits.back().count;
  below_.resize(std::max(below_.size(), entries));
  dg_.resize(below_.size());
  std::vector<double> loss(leaves.size(), 0.0);
  const int width = task_.statistics();
  parallel_by_work(work, hooks_, [&](int l) {
    const Visit& visit = visits[leaves[l]];
    double* statistics = statistics_.data() + static_cast<std::size_t>(visit.node) * width;
    for (int s = 0; s < width; ++s) statistics[s] *= memory;
    thread_local std::vector<int> rows;
    rows.resize(visit.count);
    for (int i = 0; i < visit.count; ++i) rows[i] = batch_.index[pass_.row[visit.first + i]];
    const Real* reach = pass_.reach.data() + visit.first;
    double* cost = below_.data() + visit.first;
    task_.accumulate(visit.count, rows.data(), reach, statistics);
    task_.costs(statistics, training_trace, visit.count, rows.data(), cost);
    for (int i = 0; i < visit.count; ++i) loss[l] += task_.weight(rows[i]) * reach[i] * cost[i];
  });
  double sum = 0;
  for (double l : loss) sum += l;
  return sum;
}

// Children before parents: V of a node from its children, and dLoss/dg.
void Trainer::pull_back(double lambda, double scale) {
  const std::vector<Visit>& visits = pass_.visits();
  for (std::size_t v = visits.size(); v-- > 0;) {
    const Visit& visit = visits[v];
    if (nodes_[visit.node].is_leaf()) continue;
    for (int e = visit.first; e < visit.first + visit.count; ++e) {
      const int l = pass_.left_entry[e], r = pass_.right_entry[e];
      // A child that hardly anything reaches is taken to cost what its sibling costs.
      const double left = l >= 0 ? below_[l] : below_[r];
      const double right = r >= 0 ? below_[r] : below_[l];
      const double q = pass_.right[e];
      below_[e] = q * right + (1 - q) * left;
      const double w = task_.weight(batch_.index[pass_.row[e]]) * scale;
      dg_[e] = static_cast<Real>(w * lambda * pass_.reach[e] * (right - left) * q * (1 - q));
    }
  }
}

void Trainer::update(const EpochSettings& settings, std::vector<std::vector<Real>>* sink) {
  const std::vector<Visit>& visits = pass_.visits();
  std::vector<int> gates;
  std::vector<double> work;
  for (std::size_t v = 0; v < visits.size(); ++v)
    if (!nodes_[visits[v].node].is_leaf()) {
      gates.push_back(static_cast<int>(v));
      work.push_back(4.0 * visits[v].count * nodes_[visits[v].node].gate.width);
    }
  if (tails_.size() < visits.size()) tails_.resize(visits.size());
  parallel_by_work(work, hooks_, [&](int i) {
    const Visit& visit = visits[gates[i]];
    const Gate& gate = nodes_[visit.node].gate;
    tails_[gates[i]].resize(3 * gate.width);
    gate_backward_tail(pass_.view(gates[i]), visit.count, dg_.data() + visit.first,
                       pass_.sigmoid.data() + visit.activation,
                       pass_.softplus.data() + visit.activation, tails_[gates[i]].data());
  });
  const int chunks = data_.chunks();
  work.clear();
  for (int v : gates)
    for (int c = 0; c < chunks; ++c)
      work.push_back(static_cast<double>(visits[v].count + 8) * nodes_[visits[v].node].gate.width *
                     (data_.chunk_end(c) - data_.chunk_begin(c)));
  for (int v : gates)
    if (!sink) ++moments_[visits[v].node].steps;
  parallel_by_work(work, hooks_, [&](int i) {
    update_chunk(settings, gates[i / chunks], i % chunks, sink);
  });
  for (int v : gates) {  // last: the chunks still read the old intercept gradients
    const Gate& gate = nodes_[visits[v].node].gate;
    const double share = settings.nat / total_weight_;
    if (uses_prior(settings))
      prior_.add_tail(gate, scales_[visits[v].node], settings.prior * share, tails_[v].data());
    if (prior_.bounds_slope())
      prior_.add_slope_tail(gate, settings.lambda, share, tails_[v].data());
    if (sink)
      std::copy(tails_[v].begin(), tails_[v].end(), (*sink)[visits[v].node].begin() + gate.tail());
    else
      update_tail(settings, v);
  }
}

bool Trainer::uses_prior(const EpochSettings& settings) const {
  return prior_.active() && settings.prior > 0;
}

AdamStep Trainer::adam_step(double rate, int steps) const {
  const double first = 1 - std::pow(beta1, steps), second = std::sqrt(1 - std::pow(beta2, steps));
  return {static_cast<Real>(rate * second / first), static_cast<Real>(beta1),
          static_cast<Real>(beta2), static_cast<Real>(epsilon * second * epsilon * second)};
}

void Trainer::update_chunk(const EpochSettings& settings, int v, int chunk,
                           std::vector<std::vector<Real>>* sink) {
  const Visit& visit = pass_.visits()[v];
  Gate& gate = nodes_[visit.node].gate;
  const int j0 = data_.chunk_begin(chunk), j1 = data_.chunk_end(chunk);
  thread_local std::vector<Real> gradient;
  const std::size_t size = static_cast<std::size_t>(j1 - j0) * gate.width;
  if (gradient.size() < size) gradient.resize(size);
  gate_backward_chunk(data_, batch_, pass_.view(v), chunk, visit.count,
                      pass_.row.data() + visit.first, pass_.sigmoid.data() + visit.activation,
                      tails_[v].data(), gradient.data());
  const double share = settings.nat / total_weight_;
  if (uses_prior(settings))
    prior_.add_chunk(gate, scales_[visit.node], settings.prior * share, j0, j1, gradient.data());
  if (prior_.bounds_slope())
    prior_.add_slope_chunk(gate, settings.lambda, share, j0, j1, gradient.data());
  if (gate.column >= 0)
    for (int j = j0; j < j1; ++j)
      if (j != gate.column) std::fill_n(gradient.begin() + (j - j0) * gate.width, gate.width, Real(0));
  const std::size_t place = static_cast<std::size_t>(j0) * gate.width;
  if (sink) {
    std::copy(gradient.begin(), gradient.begin() + size, (*sink)[visit.node].begin() + place);
    return;
  }
  Moments& m = moments_[visit.node];
  kernels().adam(static_cast<int>(size), adam_step(settings.rate, m.steps), gradient.data(),
                 m.first.data() + place, m.second.data() + place, gate.theta.data() + place);
}

void Trainer::update_tail(const EpochSettings& settings, int v) {
  const int node = pass_.visits()[v].node;
  Gate& gate = nodes_[node].gate;
  Moments& m = moments_[node];
  for (int part = 0; part < 3; ++part) {  // a, log_r, g0
    const std::size_t place = gate.tail() + static_cast<std::size_t>(part) * gate.width;
    const double rate = settings.rate * (part == 1 ? settings.weight_rate : 1.0);
    kernels().adam(gate.width, adam_step(rate, m.steps), tails_[v].data() + part * gate.width,
                   m.first.data() + place, m.second.data() + place, gate.theta.data() + place);
  }
}

void Trainer::for_hard_leaves(int top, const std::vector<int>& rows, const LeafBody& body) {
  std::vector<int> here, place;
  const int n = static_cast<int>(rows.size());
  for (int first = 0; first < n; first += scoring_rows) {
    hooks_.stop_if_cancelled();
    batch_.index.assign(rows.begin() + first, rows.begin() + std::min(n, first + scoring_rows));
    data_.gather(batch_, 0.0, Stream(0, 0, Purpose::dropout), hooks_);
    pass_.forward(data_, nodes_, batch_, Routing::hard, 1.0, 0.0, hooks_, top);
    for (const Visit& visit : pass_.visits()) {
      if (!nodes_[visit.node].is_leaf()) continue;
      here.resize(visit.count);
      place.resize(visit.count);
      for (int i = 0; i < visit.count; ++i) {
        place[i] = first + pass_.row[visit.first + i];
        here[i] = rows[place[i]];
      }
      body(visit.node, here, place);
    }
  }
}

std::vector<double> Trainer::hard_statistics(const std::vector<int>& rows, const Task& task) {
  const int width = task.statistics();
  std::vector<double> statistics(nodes_.size() * width, 0.0);
  for_hard_leaves(0, rows, [&](int node, const std::vector<int>& here, const std::vector<int>&) {
    task.accumulate(static_cast<int>(here.size()), here.data(), nullptr,
                    statistics.data() + static_cast<std::size_t>(node) * width);
  });
  return statistics;
}

std::vector<double> Trainer::costs_below(int top, const std::vector<int>& rows, const Task& task,
                                         const std::vector<double>& statistics) {
  std::vector<double> out(rows.size()), cost;
  for_hard_leaves(top, rows,
                  [&](int node, const std::vector<int>& here, const std::vector<int>& place) {
    cost.resize(here.size());
    task.costs(statistics.data() + static_cast<std::size_t>(node) * task.statistics(),
               validation_trace, static_cast<int>(here.size()), here.data(), cost.data());
    for (std::size_t i = 0; i < here.size(); ++i) out[place[i]] = cost[i];
  });
  return out;
}

double Trainer::hard_cost(const std::vector<int>& rows, const Task& task,
                          const std::vector<double>& statistics) {
  const std::vector<double> cost = costs_below(0, rows, task, statistics);
  double sum = 0, weight = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    sum += task.weight(rows[i]) * cost[i];
    weight += task.weight(rows[i]);
  }
  return weight > 0 ? sum / weight : 0.0;
}

double Trainer::impurity(const std::vector<double>& statistics) const {
  double sum = 0;
  for (std::size_t v = 0; v < nodes_.size(); ++v)
    if (nodes_[v].is_leaf()) sum += task_.impurity(statistics.data() + v * task_.statistics());
  return sum;
}

void Trainer::warm_statistics() {
  statistics_ = hard_statistics(rows_, task_);
  for (double& s : statistics_) s *= 0.5;
}

}  // namespace cpt
