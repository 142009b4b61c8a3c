// trainer.cpp: see trainer.h.
#include "trainer.h"

#include <algorithm>
#include <cmath>

namespace cpt {

namespace {

constexpr double beta1 = 0.9, beta2 = 0.99, epsilon = 1e-8;
constexpr double training_trace = 1e-3;    // weight of the uniform guess in a leaf, see Task::costs
constexpr int scoring_rows = 2048;         // rows of a block in hard scoring
constexpr int narrow = 64;                 // columns, see Trainer::is_narrow
constexpr int scale_steps = 25;            // steps between two fits of the prior's scales

}  // namespace

Trainer::Trainer(const TrainingData& data, const Task& task, const Prior& prior,
                 std::vector<Node>& nodes, std::vector<int> rows, std::uint64_t seed,
                 std::uint64_t key, const Hooks& hooks)
    : data_(data), task_(task), prior_(prior), nodes_(nodes), rows_(std::move(rows)), seed_(seed),
      key_(key), hooks_(hooks), share_(even_shares(nodes)), is_trunk_end_(trunk_ends(nodes, share_)),
      state_(nodes.size()), work_a_row_(nodes.size(), 50.0), work_(nodes.size(), 150.0 * task.statistics()) {
  for (int r : rows_) total_weight_ += task_.weight(r);
  for (const Node& node : nodes_) is_leaf_.push_back(node.is_leaf());
  for (std::size_t v = nodes_.size(); v-- > 0;) {  // children come after their parents
    const Node& node = nodes_[v];
    state_[v].statistics.assign(task.statistics(), 0.0);
    if (node.is_leaf()) continue;
    state_[v].first.assign(node.gate.theta.size(), 0);
    state_[v].second.assign(node.gate.theta.size(), 0);
    // A row goes on to about one of the children.
    work_a_row_[v] = 3.0 * node.gate.width * (node.gate.d + 16) +
                     0.5 * (work_a_row_[node.left] + work_a_row_[node.right]);
    work_[v] = 8.0 * node.gate.theta.size() + work_[node.left] + work_[node.right];
  }
}

double Trainer::epoch(const EpochSettings& settings) {
  const int n = static_cast<int>(rows_.size()), steps = steps_in_epoch(rows_.size(), settings.batch_size);
  if (steps > 1) Stream(seed_, key_, Purpose::shuffle, epochs_++).shuffle(rows_);
  double loss = 0;
  refresh_views(data_, nodes_, views_);
  is_trunk_end_ = trunk_ends(nodes_, share_);
  for (int s = 0; s < steps; ++s) {
    hooks_.stop_if_cancelled();
    if (uses_prior(settings) && steps_ >= next_scales_) refresh_scales();
    const std::size_t first = static_cast<std::size_t>(n) * s / steps;
    const std::size_t last = static_cast<std::size_t>(n) * (s + 1) / steps;
    batch_.index.assign(rows_.begin() + first, rows_.begin() + last);
    // Statistics remember about half an epoch; with one batch an epoch, none.
    const double memory = std::max(0.0, 1.0 - 2.0 / steps);
    loss += step({settings, memory, nullptr});
  }
  learn_shares();
  return loss / total_weight_;
}

void Trainer::refresh_scales() {
  hooks_.run(static_cast<int>(nodes_.size()), [&](int v) {
    if (!nodes_[v].is_leaf()) state_[v].scales = prior_.fit_scales(nodes_[v].gate);
  });
  next_scales_ = steps_ + scale_steps;
}

std::vector<std::vector<Real>> Trainer::gradient(const EpochSettings& settings, double* loss) {
  std::vector<std::vector<Real>> sink(nodes_.size());
  for (std::size_t v = 0; v < nodes_.size(); ++v) {
    sink[v].assign(nodes_[v].gate.theta.size(), 0);
  }
  refresh_scales();
  refresh_views(data_, nodes_, views_);
  batch_.index = rows_;
  *loss = step({settings, 0.0, &sink});
  for (std::size_t v = 0; v < nodes_.size(); ++v)
    if (!nodes_[v].is_leaf())
      *loss += settings.nat * (settings.prior * prior_.penalty(nodes_[v].gate, state_[v].scales) +
                               prior_.slope_penalty(nodes_[v].gate, settings.lambda));
  *loss /= total_weight_;
  return sink;
}

// One step on batch_.index; returns the batch's total loss (weight times cost).
double Trainer::step(const Step& step) {
  const EpochSettings& settings = step.settings;
  const Stream key(seed_, key_, Purpose::dropout, steps_++);
  // Every batch stands for the whole data set, whatever its rows weigh.
  const double scale = static_cast<double>(rows_.size()) / (total_weight_ * batch_.index.size());
  pull_.resize(batch_.index.size());
  for (State& state : state_) state.loss = 0;
  const auto fill = [&](RowRange rows) {
    data_.gather_rows(batch_, settings.distortion, key, rows.first, rows.first + rows.count);
    for (int i = rows.first; i < rows.first + rows.count; ++i)
      pull_[i] = task_.weight(batch_.index[i]) * scale * settings.lambda;
  };
  send_down({Routing::soft, settings.lambda, settings.reach_tolerance}, 0, fill,
            [&](Limb& branch) { train_branch(step, branch); });
  return_to_trunk();
  update_trunk(step);
  double loss = 0;
  for (const State& state : state_) loss += state.loss;
  return loss;
}

void Trainer::send_down(const Rule& rule, int top, const std::function<void(RowRange)>& fill,
                        const std::function<void(Limb&)>& body) {
  find_trunk(top);
  data_.make_room(batch_);
  cuts_ = cut_into_panels(batch_.rows);
  if (panels_.size() < cuts_.size()) panels_.resize(cuts_.size());
  std::vector<double> work;
  for (const RowRange& rows : cuts_) work.push_back(work_a_row_[top] * rows.count);
  parallel_by_work(work, hooks_, [&](int p) {
    fill(cuts_[p]);
    panels_[p].pass.clear();
    panels_[p].pass.add(cuts_[p]);
    panels_[p].pass.forward(tree(), batch_, top, is_trunk_end_, rule);
    panels_[p].make_room();
  });
  const Limbs panels = {panels_.data(), static_cast<int>(cuts_.size()), false};
  work.clear();
  for (int v : ends_) work.push_back(work_a_row_[v] * arrived(panels, v) + work_[v]);
  parallel_by_work(work, hooks_, [&](int b) {
    Limb& branch = branches_[b];
    branch.pass.clear();
    for (const Limb& panel : panels)
      if (const Visit* visit = panel.pass.visit_of(ends_[b])) branch.pass.add(panel.pass, *visit);
    branch.pass.forward(tree(), batch_, ends_[b], is_leaf_, rule);
    branch.make_room();
    body(branch);
  });
}

// The nodes of the trunk below `top`, and where it ends from left to right.
void Trainer::find_trunk(int top) {
  trunk_.clear();
  ends_.clear();
  std::vector<int> open(1, top);
  while (!open.empty()) {
    const int v = open.back();
    open.pop_back();
    (is_trunk_end_[v] ? ends_ : trunk_).push_back(v);
    if (is_trunk_end_[v]) continue;
    open.push_back(nodes_[v].right);
    open.push_back(nodes_[v].left);
  }
  if (branches_.size() < ends_.size()) branches_.resize(ends_.size());
}

// What came where in the last step.
void Trainer::learn_shares() {
  std::fill(share_.begin(), share_.end(), 0.0);
  const auto add = [&](const Limb& limb, bool with_ends) {
    for (const Visit& visit : limb.pass.visits())
      if (with_ends || !visit.ends) share_[visit.node] += visit.count / double(batch_.rows);
  };
  for (std::size_t p = 0; p < cuts_.size(); ++p) add(panels_[p], false);
  for (std::size_t b = 0; b < ends_.size(); ++b) add(branches_[b], true);
}

int Trainer::arrived(const Limbs& limbs, int node) {
  int count = 0;
  for (const Limb& limb : limbs)
    if (const Visit* visit = limb.pass.visit_of(node)) count += visit->count;
  return count;
}

// The panels take V of their rows from the branches, and the gradient to the root.
void Trainer::return_to_trunk() {
  std::vector<double> work;  // about a third of the whole, and enough to guess by
  for (const RowRange& rows : cuts_) work.push_back(0.3 * work_a_row_[0] * rows.count);
  parallel_by_work(work, hooks_, [&](int p) {
    Limb& panel = panels_[p];
    for (std::size_t b = 0; b < ends_.size(); ++b) {
      const Visit* own = panel.pass.visit_of(ends_[b]);
      if (!own) continue;
      auto from = branches_[b].below.begin();  // rows of earlier panels come first
      for (int q = 0; q < p; ++q)
        if (const Visit* visit = panels_[q].pass.visit_of(ends_[b])) from += visit->count;
      std::copy_n(from, own->count, panel.below.begin() + own->first);
    }
    panel.pull_back(pull_);
    panel.make_tails(tree());
    if (is_narrow()) panel.make_gradients(tree(), batch_);
  });
}

// The gradient of a gate is smaller than the values of its facets for a panel's rows: it
// is made where those are, and the panels' are summed.
bool Trainer::is_narrow() const { return !data_.is_sparse() && data_.d() <= narrow; }

// From its leaves back to where it begins; no other limb has a part in its nodes.
void Trainer::train_branch(const Step& step, Limb& branch) {
  for (const Visit& visit : branch.pass.visits())
    if (visit.ends) visit_leaf(step, branch, visit);
  branch.pull_back(pull_);
  branch.make_tails(tree());
  for (const Visit& visit : branch.pass.visits())
    if (!visit.ends) update_gate(step, {&branch, 1, false}, visit.node);
}

// Leaf statistics (Eq. 11, with memory), then V of every row in the leaf.
void Trainer::visit_leaf(const Step& step, Limb& branch, const Visit& visit) {
  thread_local std::vector<int> own;
  std::vector<int>& rows = own;  // looked up once: every use of a thread's own would do it again
  rows.resize(visit.count);
  for (int i = 0; i < visit.count; ++i)
    rows[i] = batch_.index[branch.pass.row[visit.first + i]];
  const Real* const reach = branch.pass.reach.data() + visit.first;
  double* const cost = branch.below.data() + visit.first;
  State& state = state_[visit.node];
  for (double& s : state.statistics) s *= step.memory;
  task_.accumulate(visit.count, rows.data(), reach, state.statistics.data());
  task_.costs(state.statistics.data(), training_trace, visit.count, rows.data(), cost);
  double loss = 0;
  for (int i = 0; i < visit.count; ++i) loss += task_.weight(rows[i]) * reach[i] * cost[i];
  state.loss = loss;
}

// A gate that rows came to moves: B by chunks of columns, then [ a | log_r | g0 ].
void Trainer::update_gate(const Step& step, const Limbs& limbs, int node) {
  begin_update(step, limbs, node);
  // Dense: a chunk at a time, which stays in cache. Sparse: all at once, for a row's cells
  // lie one after another.
  const int chunks = data_.chunks(), piece = data_.is_sparse() ? chunks : 1;
  for (int c = 0; c < chunks; c += piece) update_chunks(step, limbs, node, {c, c + piece});
  update_tail(step, node);
}

// All gates of the trunk, several threads at one if it has many columns.
void Trainer::update_trunk(const Step& step) {
  const Limbs limbs = {panels_.data(), static_cast<int>(cuts_.size()), is_narrow()};
  const int chunks = data_.chunks();
  std::vector<int> moving;
  std::vector<double> work, work_tail;
  for (int v : trunk_) {
    const int count = arrived(limbs, v);
    if (count == 0) continue;
    moving.push_back(v);
    work_tail.push_back(200.0 * nodes_[v].gate.width);
    for (int c = 0; c < chunks; ++c)
      work.push_back(static_cast<double>(count + 8) * nodes_[v].gate.width *
                     (data_.chunk_end(c) - data_.chunk_begin(c)));
  }
  if (chunks == 1) {
    parallel_by_work(work, hooks_, [&](int i) { update_gate(step, limbs, moving[i]); });
    return;
  }
  for (int v : moving) begin_update(step, limbs, v);
  parallel_by_work(work, hooks_, [&](int i) {
    update_chunks(step, limbs, moving[i / chunks], {i % chunks, i % chunks + 1});
  });
  parallel_by_work(work_tail, hooks_, [&](int i) { update_tail(step, moving[i]); });
}

// Before any chunk: the size of the step, and the gradient of the tail.
void Trainer::begin_update(const Step& step, const Limbs& limbs, int node) {
  if (!step.sink) state_[node].adam = adam_step(step.settings.rate, ++state_[node].steps);
  Lines<Real>& sum = state_[node].tail;
  sum.assign(3 * nodes_[node].gate.width, 0);
  for (const Limb& limb : limbs)
    if (const Real* tail = limb.tail(node))
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

void Trainer::update_chunks(const Step& step, const Limbs& limbs, int node, ChunkRange chunks) {
  const EpochSettings& settings = step.settings;
  Gate& gate = nodes_[node].gate;
  State& state = state_[node];
  const int j0 = data_.first_column(chunks), j1 = data_.end_column(chunks);
  thread_local Lines<Real> own;
  Lines<Real>& gradient = own;
  const std::size_t size = static_cast<std::size_t>(j1 - j0) * gate.width;
  if (gradient.size() < size) gradient.resize(size);
  gate_backward_start(data_, views_[node], chunks, state_[node].tail.data(), gradient.data());
  for (const Limb& limb : limbs) {
    const Visit* visit = limb.pass.visit_of(node);
    if (!visit) continue;
    if (limbs.have_gradients)
      for (std::size_t i = 0; i < size; ++i) gradient[i] += limb.gradient(node)[i];
    else
      gate_backward_rows(data_, batch_, views_[node], chunks, visit->count,
                         limb.pass.row.data() + visit->first,
                         limb.pass.sigmoid.data() + visit->activation, gradient.data());
  }
  const double share = settings.nat / total_weight_;
  if (uses_prior(settings))
    prior_.add_chunk(gate, state.scales, settings.prior * share, j0, j1, gradient.data());
  if (prior_.bounds_slope())
    prior_.add_slope_chunk(gate, settings.lambda, share, j0, j1, gradient.data());
  if (gate.column >= 0)
    for (int j = j0; j < j1; ++j)
      if (j != gate.column) std::fill_n(gradient.begin() + (j - j0) * gate.width, gate.width, Real(0));
  const std::size_t place = static_cast<std::size_t>(j0) * gate.width;
  if (step.sink) {
    std::copy(gradient.begin(), gradient.begin() + size, (*step.sink)[node].begin() + place);
    return;
  }
  kernels().adam(static_cast<int>(size), state.adam, gradient.data(), state.first.data() + place,
                 state.second.data() + place, gate.theta.data() + place);
  if (data_.is_sparse()) views_[node].refresh_chunks(data_, chunks);
}

// After the chunks: they need the gradient of the intercepts as the rows gave it.
void Trainer::update_tail(const Step& step, int node) {
  const EpochSettings& settings = step.settings;
  Gate& gate = nodes_[node].gate;
  State& state = state_[node];
  Lines<Real>& tail = state.tail;
  const double share = settings.nat / total_weight_;
  if (uses_prior(settings)) prior_.add_tail(gate, state.scales, settings.prior * share, tail.data());
  if (prior_.bounds_slope()) prior_.add_slope_tail(gate, settings.lambda, share, tail.data());
  if (step.sink) {
    std::copy(tail.begin(), tail.end(), (*step.sink)[node].begin() + gate.tail());
    return;
  }
  AdamStep of_weights = state.adam;
  of_weights.rate *= static_cast<Real>(settings.weight_rate);
  for (int part = 0; part < 3; ++part) {  // a, log_r, g0
    const std::size_t place = gate.tail() + static_cast<std::size_t>(part) * gate.width;
    kernels().adam(gate.width, part == 1 ? of_weights : state.adam, tail.data() + part * gate.width,
                   state.first.data() + place, state.second.data() + place,
                   gate.theta.data() + place);
  }
  views_[node].refresh_tail();
}

void Trainer::for_hard_leaves(int top, const std::vector<int>& rows, const Distortion& distortion,
                              const LeafBody& body) {
  std::vector<int> here, place;
  const int n = static_cast<int>(rows.size());
  refresh_views(data_, nodes_, views_);
  for (int first = 0; first < n; first += scoring_rows) {
    hooks_.stop_if_cancelled();
    batch_.index.assign(rows.begin() + first, rows.begin() + std::min(n, first + scoring_rows));
    const auto fill = [&](RowRange r) {
      data_.gather_rows(batch_, distortion, Stream(seed_, 0, Purpose::jitter), r.first, r.first + r.count);
    };
    send_down({Routing::hard}, top, fill, [](Limb&) {});
    for (std::size_t b = 0; b < ends_.size(); ++b) {
      const Pass& pass = branches_[b].pass;
      for (const Visit& visit : pass.visits()) {
        if (!visit.ends) continue;
        here.resize(visit.count);
        place.resize(visit.count);
        for (int i = 0; i < visit.count; ++i) {
          place[i] = first + pass.row[visit.first + i];
          here[i] = rows[place[i]];
        }
        body(visit.node, here, place);
      }
    }
  }
}

std::vector<double> Trainer::hard_statistics(const std::vector<int>& rows, const Task& task,
                                             const Distortion& distortion) {
  const int width = task.statistics();
  std::vector<double> statistics(nodes_.size() * width, 0.0);
  for_hard_leaves(0, rows, distortion,
                  [&](int node, const std::vector<int>& here, const std::vector<int>&) {
    task.accumulate(static_cast<int>(here.size()), here.data(), nullptr,
                    statistics.data() + static_cast<std::size_t>(node) * width);
  });
  return statistics;
}

std::vector<double> Trainer::costs_below(int top, const std::vector<int>& rows, const Task& task,
                                         const std::vector<double>& statistics) {
  std::vector<double> out(rows.size()), cost;
  for_hard_leaves(top, rows, {},
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
  const std::vector<double> all = hard_statistics(rows_, task_);
  auto from = all.begin();
  for (State& state : state_)
    for (double& s : state.statistics) s = 0.5 * *from++;
}

}  // namespace cpt
