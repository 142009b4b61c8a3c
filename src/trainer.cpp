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
      tails_(nodes.size()), statistics_(nodes.size() * task.statistics(), 0.0) {
  for (int r : rows_) total_weight_ += task_.weight(r);
  for (std::size_t v = 0; v < nodes_.size(); ++v) {
    moments_[v].first.assign(nodes_[v].gate.theta.size(), 0);
    moments_[v].second.assign(nodes_[v].gate.theta.size(), 0);
    work_a_row_ += 2.0 * nodes_[v].gate.width * (nodes_[v].gate.d + 16);
  }
  // A row comes to about one node a level of a balanced tree.
  work_a_row_ *= std::log2(nodes_.size() + 1.0) / nodes_.size();
}

double Trainer::epoch(const EpochSettings& settings) {
  Stream(seed_, key_, Purpose::shuffle, epochs_++).shuffle(rows_);
  const int n = static_cast<int>(rows_.size()), steps = steps_in_epoch(rows_.size(), settings.batch_size);
  double loss = 0;
  views_ = views_of(data_, nodes_);
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
  views_ = views_of(data_, nodes_);
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
  send_down(Routing::soft, settings.lambda, settings.reach_tolerance, 0);
  const double loss = visit_leaves(memory);
  // Every batch stands for the whole data set, whatever its rows weigh.
  const double scale = static_cast<double>(rows_.size()) / (total_weight_ * batch_.rows);
  for_panels([&](Panel& panel, const Hooks& hooks) {
    panel.pull_back(tree(), batch_, task_, settings.lambda, scale);
    panel.make_tails(tree(), hooks);
  });
  update(settings, sink);
  return loss;
}

void Trainer::for_panels(const std::function<void(Panel&, const Hooks&)>& body) {
  if (cuts_.size() == 1) {
    body(panels_[0], hooks_);
    return;
  }
  std::vector<double> work;
  for (const RowRange& rows : cuts_) work.push_back(work_a_row_ * rows.count);
  const Hooks inside = hooks_.serial();
  parallel_by_work(work, hooks_, [&](int p) { body(panels_[p], inside); });
}

void Trainer::send_down(Routing routing, double lambda, double tolerance, int top) {
  cuts_ = cut_into_panels(batch_.rows, nodes_);
  if (panels_.size() < cuts_.size()) panels_.resize(cuts_.size());
  for_panels([&](Panel& panel, const Hooks& hooks) {
    const RowRange rows = cuts_[&panel - panels_.data()];
    panel.pass.forward(tree(), batch_, rows, routing, lambda, tolerance, hooks, top);
    panel.make_room();
  });
}

int Trainer::arrived(int node) const {
  int count = 0;
  for (std::size_t p = 0; p < cuts_.size(); ++p)
    if (const Visit* visit = panels_[p].pass.visit_of(node)) count += visit->count;
  return count;
}

// Leaf statistics (Eq. 11, with memory), then V of every row in every leaf.
double Trainer::visit_leaves(double memory) {
  std::vector<int> leaves;
  std::vector<double> work;
  for (std::size_t v = 0; v < nodes_.size(); ++v) {
    const int count = nodes_[v].is_leaf() ? arrived(static_cast<int>(v)) : 0;
    if (count == 0) continue;
    leaves.push_back(static_cast<int>(v));
    work.push_back(50.0 * (count + 3 * task_.statistics()));
  }
  std::vector<double> loss(leaves.size(), 0.0);
  parallel_by_work(work, hooks_, [&](int l) { loss[l] = visit_leaf(leaves[l], memory); });
  double sum = 0;
  for (double l : loss) sum += l;
  return sum;
}

double Trainer::visit_leaf(int leaf, double memory) {
  struct Scratch {
    std::vector<int> rows;
    std::vector<Real> reach;
    std::vector<double> cost;
  };
  thread_local Scratch own;
  Scratch& scratch = own;  // looked up once: every use of a thread's own would do it again
  const int count = arrived(leaf), width = task_.statistics();
  scratch.rows.resize(count);
  scratch.reach.resize(count);
  scratch.cost.resize(count);
  int* const rows = scratch.rows.data();
  Real* const reach = scratch.reach.data();
  double* const cost = scratch.cost.data();
  int at = 0;
  for (std::size_t p = 0; p < cuts_.size(); ++p) {
    const Pass& pass = panels_[p].pass;
    const Visit* visit = pass.visit_of(leaf);
    for (int e = visit ? visit->first : 0; visit && e < visit->first + visit->count; ++e, ++at) {
      rows[at] = batch_.index[pass.row[e]];
      reach[at] = pass.reach[e];
    }
  }
  double* statistics = statistics_.data() + static_cast<std::size_t>(leaf) * width;
  for (int s = 0; s < width; ++s) statistics[s] *= memory;
  task_.accumulate(count, rows, reach, statistics);
  task_.costs(statistics, training_trace, count, rows, cost);
  double loss = 0;
  for (int i = 0; i < count; ++i) loss += task_.weight(rows[i]) * reach[i] * cost[i];
  const double* from = cost;
  for (std::size_t p = 0; p < cuts_.size(); ++p)
    if (const Visit* visit = panels_[p].pass.visit_of(leaf)) {
      std::copy_n(from, visit->count, panels_[p].below.begin() + visit->first);
      from += visit->count;
    }
  return loss;
}

// Every gate that rows came to moves: B by chunks of columns, then [ a | log_r | g0 ].
void Trainer::update(const EpochSettings& settings, std::vector<std::vector<Real>>* sink) {
  const int chunks = data_.chunks();
  std::vector<int> gates;
  std::vector<double> work, work_tail;
  for (std::size_t v = 0; v < nodes_.size(); ++v) {
    const int count = nodes_[v].is_leaf() ? 0 : arrived(static_cast<int>(v));
    if (count == 0) continue;
    gates.push_back(static_cast<int>(v));
    work_tail.push_back(200.0 * nodes_[v].gate.width);
    for (int c = 0; c < chunks; ++c)
      work.push_back(static_cast<double>(count + 8) * nodes_[v].gate.width *
                     (data_.chunk_end(c) - data_.chunk_begin(c)));
    if (!sink) ++moments_[v].steps;
  }
  if (chunks == 1) {
    parallel_by_work(work, hooks_, [&](int i) {
      sum_tails(gates[i]);
      update_chunk(settings, gates[i], 0, sink);
      update_tail(settings, gates[i], sink);
    });
    return;
  }
  for (int v : gates) sum_tails(v);
  parallel_by_work(work, hooks_, [&](int i) {
    update_chunk(settings, gates[i / chunks], i % chunks, sink);
  });
  parallel_by_work(work_tail, hooks_, [&](int i) { update_tail(settings, gates[i], sink); });
}

void Trainer::sum_tails(int node) {
  std::vector<Real>& sum = tails_[node];
  sum.assign(3 * nodes_[node].gate.width, 0);
  for (std::size_t p = 0; p < cuts_.size(); ++p)
    if (const Real* tail = panels_[p].tail(node))
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += tail[i];
}

bool Trainer::uses_prior(const EpochSettings& settings) const {
  return prior_.active() && settings.prior > 0;
}

AdamStep Trainer::adam_step(double rate, int steps) const {
  const double first = 1 - std::pow(beta1, steps), second = std::sqrt(1 - std::pow(beta2, steps));
  return {static_cast<Real>(rate * second / first), static_cast<Real>(beta1),
          static_cast<Real>(beta2), static_cast<Real>(epsilon * second * epsilon * second)};
}

void Trainer::update_chunk(const EpochSettings& settings, int node, int chunk,
                           std::vector<std::vector<Real>>* sink) {
  Gate& gate = nodes_[node].gate;
  const int j0 = data_.chunk_begin(chunk), j1 = data_.chunk_end(chunk);
  thread_local std::vector<Real> gradient;
  const std::size_t size = static_cast<std::size_t>(j1 - j0) * gate.width;
  if (gradient.size() < size) gradient.resize(size);
  gate_backward_start(data_, views_[node], chunk, tails_[node].data(), gradient.data());
  for (std::size_t p = 0; p < cuts_.size(); ++p) {
    const Pass& pass = panels_[p].pass;
    if (const Visit* visit = pass.visit_of(node))
      gate_backward_chunk(data_, batch_, views_[node], chunk, visit->count,
                          pass.row.data() + visit->first, pass.sigmoid.data() + visit->activation,
                          gradient.data());
  }
  const double share = settings.nat / total_weight_;
  if (uses_prior(settings))
    prior_.add_chunk(gate, scales_[node], settings.prior * share, j0, j1, gradient.data());
  if (prior_.bounds_slope())
    prior_.add_slope_chunk(gate, settings.lambda, share, j0, j1, gradient.data());
  if (gate.column >= 0)
    for (int j = j0; j < j1; ++j)
      if (j != gate.column) std::fill_n(gradient.begin() + (j - j0) * gate.width, gate.width, Real(0));
  const std::size_t place = static_cast<std::size_t>(j0) * gate.width;
  if (sink) {
    std::copy(gradient.begin(), gradient.begin() + size, (*sink)[node].begin() + place);
    return;
  }
  Moments& m = moments_[node];
  kernels().adam(static_cast<int>(size), adam_step(settings.rate, m.steps), gradient.data(),
                 m.first.data() + place, m.second.data() + place, gate.theta.data() + place);
}

// After the chunks: they need the gradient of the intercepts as the rows gave it.
void Trainer::update_tail(const EpochSettings& settings, int node,
                          std::vector<std::vector<Real>>* sink) {
  Gate& gate = nodes_[node].gate;
  std::vector<Real>& tail = tails_[node];
  const double share = settings.nat / total_weight_;
  if (uses_prior(settings)) prior_.add_tail(gate, scales_[node], settings.prior * share, tail.data());
  if (prior_.bounds_slope()) prior_.add_slope_tail(gate, settings.lambda, share, tail.data());
  if (sink) {
    std::copy(tail.begin(), tail.end(), (*sink)[node].begin() + gate.tail());
    return;
  }
  Moments& m = moments_[node];
  const AdamStep usual = adam_step(settings.rate, m.steps);
  AdamStep of_weights = usual;
  of_weights.rate *= static_cast<Real>(settings.weight_rate);
  for (int part = 0; part < 3; ++part) {  // a, log_r, g0
    const std::size_t place = gate.tail() + static_cast<std::size_t>(part) * gate.width;
    kernels().adam(gate.width, part == 1 ? of_weights : usual, tail.data() + part * gate.width,
                   m.first.data() + place, m.second.data() + place, gate.theta.data() + place);
  }
  views_[node].refresh(gate, data_);
}

void Trainer::for_hard_leaves(int top, const std::vector<int>& rows, const LeafBody& body) {
  std::vector<int> here, place;
  const int n = static_cast<int>(rows.size());
  views_ = views_of(data_, nodes_);
  for (int first = 0; first < n; first += scoring_rows) {
    hooks_.stop_if_cancelled();
    batch_.index.assign(rows.begin() + first, rows.begin() + std::min(n, first + scoring_rows));
    data_.gather(batch_, 0.0, Stream(0, 0, Purpose::dropout), hooks_);
    send_down(Routing::hard, 1.0, 0.0, top);
    for (std::size_t p = 0; p < cuts_.size(); ++p)
      for (const Visit& visit : panels_[p].pass.visits()) {
        if (!nodes_[visit.node].is_leaf()) continue;
        here.resize(visit.count);
        place.resize(visit.count);
        for (int i = 0; i < visit.count; ++i) {
          place[i] = first + panels_[p].pass.row[visit.first + i];
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
