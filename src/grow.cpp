// grow.cpp: greedy topology (Section 3.3.2). Level by level, every open node gets
// several starts of a soft stump; the best by hard gain is trained to the end and
// split at its exact best threshold.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "column_stump.h"
#include "fit.h"
#include "schedule.h"
#include "stump.h"
#include "trainer.h"

namespace cpt {

namespace {

struct OpenNode {
  int node;
  std::vector<int> rows;
  double loss;  // impurity as a leaf
};

double impurity_of(const Task& task, const std::vector<int>& rows) {
  std::vector<double> statistics(task.statistics(), 0.0);
  task.accumulate(static_cast<int>(rows.size()), rows.data(), nullptr, statistics.data());
  return task.impurity(statistics.data());
}

// A stump in training: a root with two leaves, and how far its schedule has come.
class StumpTrainer {
 public:
  StumpTrainer(const Problem& p, const OpenNode& open, std::uint64_t id, int start, Gate gate,
               const Hooks& hooks)
      : p_(p), open_(open), hooks_(hooks), nodes_(3) {
    nodes_[0].left = 1;
    nodes_[0].right = 2;
    nodes_[0].gate = std::move(gate);
    key_ = id * 131 + start;
  }

  // Epochs [from, to) of `epochs` in all.
  void run(int from, int to, int epochs) {
    Trainer trainer(p_.data, p_.task, p_.prior, nodes_, open_.rows, p_.options.seed,
                    key_ + (static_cast<std::uint64_t>(from) << 40), hooks_);
    const double nat = p_.task.nat(open_.loss / total_weight(p_.task, open_.rows));
    for (int e = from; e < to; ++e) {
      EpochSettings settings = epoch_settings(p_.options, p_.options.grow_rate, e, epochs);
      settings.nat = nat;
      trainer.epoch(settings);
    }
  }

  Stump cut() {
    Stump out{nodes_[0].gate, {}};
    out.cut_at_best(p_.data, p_.task, open_.rows, p_.options.min_leaf_obs, hooks_);
    return out;
  }

 private:
  const Problem& p_;
  const OpenNode& open_;
  const Hooks& hooks_;
  std::vector<Node> nodes_;
  std::uint64_t key_;
};

class Grower {
 public:
  explicit Grower(const Problem& p) : p_(p) {}

  std::vector<Node> run() {
    nodes_.assign(1, Node());
    std::vector<OpenNode> open;
    open.push_back({0, p_.training, p_.root_loss});
    record(0, 0.0);
    for (int depth = 0; depth < p_.options.max_depth && !open.empty(); ++depth) {
      depth_ = depth;
      const Clock clock;
      open = grow_level(std::move(open));
      if (p_.options.max_leaves > 0) {  // at once: what hangs below a weak split is not grown
        cut_to(p_.options.max_leaves);
        keep_attached(open);
      }
      record(depth + 1, clock.seconds());
    }
    return compact();
  }

 private:
  bool may_split(const OpenNode& open) const {
    const double weight = total_weight(p_.task, open.rows);
    return weight >= p_.options.min_split_obs && weight >= 2 * p_.options.min_leaf_obs &&
           open.rows.size() >= 2 && open.loss > 1e-9 * p_.root_loss && open.loss > 0;
  }

  int epochs_for(const OpenNode& open) const {
    const Options& o = p_.options;
    return epochs_at_least(passes(p_, o.grow_epochs), o.grow_min_steps, open.rows.size(), o.batch_size);
  }

  // Runs jobs side by side when there are enough of them, else one after another
  // with threads inside; both give the same bits.
  void run_jobs(int jobs, double share, const std::function<void(int, const Hooks&)>& job) {
    std::atomic<int> done(0);
    const Hooks inner = p_.hooks.serial();
    const bool side_by_side = jobs >= p_.hooks.threads;
    const auto body = [&](int j) {
      job(j, side_by_side ? inner : p_.hooks);
      report(share * (++done) / jobs);
    };
    if (side_by_side) p_.hooks.run(jobs, body);
    else Hooks::run_serially(jobs, body);
  }

  void report(double share_of_level) const {
    if (!p_.hooks.report) return;
    const double done = (depth_ + share_of_level) / p_.options.max_depth;
    p_.hooks.report({"grow", depth_ + 1, p_.options.max_depth, loss_, p_.grow_share * done});
  }

  std::vector<OpenNode> grow_level(std::vector<OpenNode> candidates) {
    std::vector<OpenNode> open;
    for (OpenNode& c : candidates)
      if (may_split(c)) open.push_back(std::move(c));
    const int starts = p_.options.starts;
    std::vector<Stump> tried(open.size() * starts);
    run_jobs(static_cast<int>(tried.size()), 0.6, [&](int j, const Hooks& hooks) {
      tried[j] = try_start(open[j / starts], j % starts, hooks);
    });
    std::vector<Stump> best(open.size());
    run_jobs(static_cast<int>(open.size()), 1.0, [&](int j, const Hooks& hooks) {
      best[j] = train_best(open[j], &tried[static_cast<std::size_t>(j) * starts], hooks);
      if (std::isfinite(p_.options.column_share)) prefer_column(open[j], best[j], hooks);
    });
    std::vector<OpenNode> next;
    for (std::size_t i = 0; i < open.size(); ++i) split(open[i], best[i], next);
    return next;
  }

  Stump try_start(const OpenNode& open, int start, const Hooks& hooks) const {
    const std::uint64_t id = nodes_[open.node].id;
    Stream stream(p_.options.seed, id, Purpose::start, start);
    const int epochs = epochs_for(open);
    StumpTrainer stump(p_, open, id, start,
                       random_gate(p_.data, p_.task, open.rows, p_.options.max_facets, stream, hooks),
                       hooks);
    stump.run(0, (epochs + 1) / 2, epochs);
    return stump.cut();
  }

  Stump train_best(const OpenNode& open, const Stump* tried, const Hooks& hooks) const {
    int best = -1;  // the first of equals: rounding must not choose
    for (int s = 0; s < p_.options.starts; ++s)
      if (tried[s].cut.found &&
          (best < 0 || tried[s].cut.loss < tried[best].cut.loss - 1e-9 * open.loss)) best = s;
    if (best < 0) return tried[0];
    const int epochs = epochs_for(open), half = (epochs + 1) / 2;
    StumpTrainer stump(p_, open, nodes_[open.node].id, best, tried[best].gate, hooks);
    stump.run(half, epochs, epochs);
    return stump.cut();
  }

  // One column instead of the polytope where that gains nearly as much: easier to read,
  // and with fewer numbers to overfit by.
  void prefer_column(const OpenNode& open, Stump& best, const Hooks& hooks) const {
    const Stump column = column_stump(p_.data, p_.task, open.rows, p_.options.min_leaf_obs, hooks);
    if (!column.cut.found) return;
    const double gain = open.loss - column.cut.loss;
    if (!best.cut.found || gain >= p_.options.column_share * (open.loss - best.cut.loss)) best = column;
  }

  void split(const OpenNode& open, const Stump& stump, std::vector<OpenNode>& next) {
    if (!stump.cut.found || open.loss - stump.cut.loss <= p_.options.min_gain * p_.root_loss) return;
    const std::vector<Real> g = gate_evidence(p_.data, stump.gate, open.rows, p_.hooks);
    OpenNode left{static_cast<int>(nodes_.size()), {}, 0};
    OpenNode right{left.node + 1, {}, 0};
    for (std::size_t i = 0; i < open.rows.size(); ++i)
      (g[i] > stump.gate.g0() ? right : left).rows.push_back(open.rows[i]);
    left.loss = impurity_of(p_.task, left.rows);
    right.loss = impurity_of(p_.task, right.rows);
    nodes_.resize(nodes_.size() + 2);
    Node& parent = nodes_[open.node];
    parent.gate = stump.gate;
    parent.left = left.node;
    parent.right = right.node;
    gain_.resize(nodes_.size(), 0.0);
    gain_[open.node] = open.loss - left.loss - right.loss;
    for (OpenNode* child : {&left, &right}) {
      nodes_[child->node].id = 2 * parent.id + (child == &right);
      nodes_[child->node].depth = parent.depth + 1;
      next.push_back(std::move(*child));
    }
  }

  // Hard and validation loss of the tree so far.
  void record(int depth, double seconds) {
    Trainer trainer(p_.data, p_.task, p_.prior, nodes_, {}, p_.options.seed, 0, p_.hooks);
    const double loss = trainer.impurity(trainer.hard_statistics(p_.training, p_.task));
    loss_ = p_.task.reported_loss(loss) / total_weight(p_.task, p_.training);
    double valid = std::numeric_limits<double>::quiet_NaN();
    if (!p_.validation.empty()) {
      const std::vector<double> statistics = trainer.hard_statistics(p_.observed, p_.truth);
      valid = p_.truth.reported_loss(trainer.hard_cost(p_.validation, p_.truth, statistics));
    }
    p_.history.push_back({"grow", depth, p_.options.lambda_end, loss_, loss_, valid, seconds});
  }

  void make_leaf(Node& node) {
    node.gate = Gate();
    node.left = node.right = -1;
  }

  // Weakest link: undo the split of least gain whose children are leaves.
  void cut_to(int leaves) {
    int have = count_leaves(0);
    while (have > leaves) {
      int weakest = -1;
      for (std::size_t v = 0; v < nodes_.size(); ++v) {
        const Node& node = nodes_[v];
        if (node.is_leaf() || !nodes_[node.left].is_leaf() || !nodes_[node.right].is_leaf()) continue;
        if (weakest < 0 || gain_[v] < gain_[weakest]) weakest = static_cast<int>(v);
      }
      make_leaf(nodes_[weakest]);
      --have;
    }
  }

  // Leaves that were cut off are open no more.
  void keep_attached(std::vector<OpenNode>& open) const {
    std::vector<char> attached(nodes_.size(), 0);
    attached[0] = 1;
    for (std::size_t v = 0; v < nodes_.size(); ++v)  // parents come first
      if (attached[v] && !nodes_[v].is_leaf()) attached[nodes_[v].left] = attached[nodes_[v].right] = 1;
    open.erase(std::remove_if(open.begin(), open.end(),
                              [&](const OpenNode& o) { return !attached[o.node]; }),
               open.end());
  }

  int count_leaves(int v) const {
    if (nodes_[v].is_leaf()) return 1;
    return count_leaves(nodes_[v].left) + count_leaves(nodes_[v].right);
  }

  // Only the nodes that can still be reached.
  std::vector<Node> compact() const {
    std::vector<Node> out(1, nodes_[0]);
    for (std::size_t v = 0; v < out.size(); ++v) {
      if (out[v].is_leaf()) continue;
      const int left = out[v].left, right = out[v].right;
      out[v].left = static_cast<int>(out.size());
      out[v].right = out[v].left + 1;
      out.push_back(nodes_[left]);
      out.push_back(nodes_[right]);
    }
    return out;
  }

  const Problem& p_;
  std::vector<Node> nodes_;
  std::vector<double> gain_;  // per node: what its split took off the loss
  double loss_ = 0;
  int depth_ = 0;
};

}  // namespace

std::vector<Node> grow(const Problem& problem) { return Grower(problem).run(); }

}  // namespace cpt
