// finish.cpp: from the trained splits to the tree that is used: in double and the
// user's units, filled by hard routing of all observed training rows, without dead or
// useless leaves and without facets that decide nothing. Rows that a council has named have
// a say in what is dead, useless and decided, and help to fill leaves that too few others reach.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "fit.h"

namespace cpt {

namespace {

class Finisher {
 public:
  Finisher(const Problem& p, const Rows& rows, Tree tree)
      : p_(p), rows_(rows), tree_(std::move(tree)) {}

  Tree run(std::vector<int>& where) {
    fill();
    while (merge()) fill();
    if (p_.options.choose_size && prune()) fill();
    remove_idle_facets();
    fill();
    while (merge()) fill();  // a tolerance above 0 may have moved rows
    settle();
    where = where_;
    return tree_;
  }

  Tree filled() {
    fill(false);
    return tree_;
  }

 private:
  // The leaves as they stay: borders that only named rows asked for go.
  void settle() {
    if (p_.named.empty()) return;
    fill(false);
    while (merge()) fill(false);
  }

  void change(Tree tree) {
    tree_ = std::move(tree);
    where_.clear();
  }

  // Routes all rows; statistics, n, weight, loss and value of every node. Named rows count
  // everywhere, or only in leaves where the others are fewer than a leaf must have.
  void fill(bool with_named = true) {
    if (where_.empty()) where_ = route(tree_, rows_, p_.hooks);
    const int nodes = tree_.size(), width = p_.truth.statistics();
    statistics_.assign(static_cast<std::size_t>(nodes) * width, 0.0);
    tree_.n.assign(nodes, 0);
    for (int row : p_.observed) {
      p_.truth.accumulate(1, &row, nullptr, statistics(where_[row]));
      ++tree_.n[where_[row]];
    }
    std::vector<char> counts(nodes);
    for (int v = 0; v < nodes; ++v) counts[v] = with_named || statistics(v)[0] < least();
    for (int row : p_.named)
      if (counts[where_[row]]) p_.truth.accumulate(1, &row, nullptr, statistics(where_[row]));
    sum_up();
  }

  // From the leaves to the root; preorder: children come after their parent.
  void sum_up() {
    const int nodes = tree_.size(), width = p_.truth.statistics();
    tree_.weight.assign(nodes, 0.0);
    tree_.loss.assign(nodes, 0.0);
    tree_.value.assign(static_cast<std::size_t>(nodes) * tree_.outputs, 0.0);
    for (int v = nodes - 1; v >= 0; --v) {
      double* s = statistics(v);
      if (!tree_.is_leaf(v)) {
        for (int child : {tree_.left[v], tree_.right[v]}) {
          for (int i = 0; i < width; ++i) s[i] += statistics(child)[i];
          tree_.n[v] += tree_.n[child];
        }
      }
      tree_.weight[v] = s[0];
      tree_.loss[v] = p_.truth.reported_loss(p_.truth.impurity(s));
      p_.truth.value(s, &tree_.value[static_cast<std::size_t>(v) * tree_.outputs]);
    }
  }

  double* statistics(int v) {
    return &statistics_[static_cast<std::size_t>(v) * p_.truth.statistics()];
  }

  double least() const { return std::max(p_.options.min_leaf_obs, 1e-12); }

  // A child with too few rows gives its place to its sibling; two leaves that
  // gain nothing become one. True if anything changed.
  bool merge() {
    const double useful = std::max(p_.options.min_gain, 1e-12) * tree_.loss[0];
    std::vector<int> become(tree_.size());
    std::iota(become.begin(), become.end(), 0);
    bool changed = false;
    for (int v = tree_.size() - 1; v >= 0; --v) {
      if (tree_.is_leaf(v)) continue;
      const int l = tree_.left[v], r = tree_.right[v];
      const bool small_l = tree_.weight[l] < least(), small_r = tree_.weight[r] < least();
      const bool leaves = tree_.is_leaf(l) && tree_.is_leaf(r);
      if ((small_l && small_r) || tree_.weight[v] < p_.options.min_split_obs) become[v] = -1;
      else if (small_l) become[v] = r;
      else if (small_r) become[v] = l;
      else if (leaves && tree_.loss[v] - tree_.loss[l] - tree_.loss[r] <= useful) become[v] = -1;
      changed = changed || become[v] != v;
    }
    if (changed) change(contract(tree_, become));
    return changed;
  }

  // A split whose two sides do not predict the validation rows better than the node
  // itself goes, from the bottom up. True if anything changed.
  bool prune() {
    const int nodes = tree_.size();
    const std::vector<int> parent = parent_positions(tree_);
    std::vector<int> become(nodes);
    std::iota(become.begin(), become.end(), 0);
    std::vector<double> alone(nodes, 0.0);  // cost of the validation rows, the node a leaf
    for (int row : p_.validation)
      for (int v = where_[row]; v >= 0; v = parent[v]) {
        double cost = 0;
        p_.truth.costs(statistics(v), validation_trace, 1, &row, &cost);
        alone[v] += p_.truth.weight(row) * cost;
      }
    std::vector<double> below = alone;
    bool changed = false;
    for (int v = nodes - 1; v >= 0; --v) {
      if (tree_.is_leaf(v)) continue;
      below[v] = below[tree_.left[v]] + below[tree_.right[v]];
      if (alone[v] > below[v]) continue;
      below[v] = alone[v];
      become[v] = -1;
      changed = true;
    }
    if (changed) change(contract(tree_, become));
    return changed;
  }

  // Top down, because a removal with a tolerance changes what arrives below.
  void remove_idle_facets() {
    std::vector<std::vector<int>> arriving(tree_.size());
    arriving[0] = p_.observed;
    arriving[0].insert(arriving[0].end(), p_.named.begin(), p_.named.end());
    std::vector<std::vector<int>> kept(tree_.size());
    for (int v = 0; v < tree_.size(); ++v) {
      if (tree_.is_leaf(v)) continue;
      p_.hooks.stop_if_cancelled();
      const std::vector<double> terms = evidence(v, arriving[v]);
      kept[v] = needed_facets(v, arriving[v], terms);
      put_deciding_first(v, arriving[v], terms, kept[v]);
      for (std::size_t i = 0; i < arriving[v].size(); ++i)
        arriving[outside(v, terms, kept[v], i) ? tree_.right[v] : tree_.left[v]].push_back(
            arriving[v][i]);
      arriving[v].clear();
    }
    keep_facets(kept);
  }

  std::vector<double> evidence(int v, const std::vector<int>& arriving) const {
    const int facets = tree_.facets[v], n = static_cast<int>(arriving.size());
    std::vector<double> terms(static_cast<std::size_t>(n) * facets);
    constexpr int block = 64;
    p_.hooks.run((n + block - 1) / block, [&](int b) {
      thread_local std::vector<double> buffer;
      const int first = b * block, count = std::min(block, n - first);
      const std::vector<RowView> x = rows_.block(arriving.data() + first, count, buffer);
      for (int i = 0; i < count; ++i)
        for (int k = 0; k < facets; ++k)
          terms[static_cast<std::size_t>(first + i) * facets + k] =
              facet_evidence(tree_, tree_.first[v] + k, x[i]);
    });
    return terms;
  }

  double sum_of(const std::vector<double>& terms, const std::vector<int>& kept, int facets,
                std::size_t i) const {
    double g = 0;  // in the router's order
    for (int k : kept) g += terms[i * facets + k];
    return g;
  }

  bool outside(int v, const std::vector<double>& terms, const std::vector<int>& kept,
               std::size_t i) const {
    return sum_of(terms, kept, tree_.facets[v], i) > tree_.threshold[v];
  }

  // Tries to do without each facet, the one with least evidence first. A facet goes
  // if some threshold leaves every row (or all but the tolerated weight) on its side.
  std::vector<int> needed_facets(int v, const std::vector<int>& arriving,
                                 const std::vector<double>& terms) {
    const int facets = tree_.facets[v];
    std::vector<int> kept(facets);
    std::iota(kept.begin(), kept.end(), 0);
    const std::size_t n = arriving.size();
    std::vector<char> side(n);
    std::vector<double> evidence(facets, 0.0);
    double weight = 0;
    for (std::size_t i = 0; i < n; ++i) {
      side[i] = outside(v, terms, kept, i);
      weight += p_.truth.weight(arriving[i]);
      for (int k = 0; k < facets; ++k) evidence[k] += terms[i * facets + k];
    }
    std::vector<int> order = kept;
    std::sort(order.begin(), order.end(), [&](int a, int b) { return evidence[a] < evidence[b]; });
    double allowed = p_.options.facet_tolerance * weight;
    for (int k : order) {
      if (kept.size() == 1) break;
      p_.hooks.stop_if_cancelled();
      std::vector<int> fewer = kept;
      fewer.erase(std::find(fewer.begin(), fewer.end(), k));
      double threshold = 0;
      if (!still_separates(terms, fewer, facets, side, arriving, allowed, &threshold)) continue;
      kept = fewer;
      tree_.threshold[v] = threshold;
    }
    return kept;
  }

  // Facets that most often decide come first: the router stops at the first that does,
  // and a reader meets them first. A row outside is decided by its largest evidence.
  void put_deciding_first(int v, const std::vector<int>& arriving, const std::vector<double>& terms,
                          std::vector<int>& kept) const {
    const int facets = tree_.facets[v];
    std::vector<double> decided(facets, 0.0);
    for (std::size_t i = 0; i < arriving.size(); ++i) {
      if (!outside(v, terms, kept, i)) continue;
      const double* here = &terms[i * facets];
      const int most = *std::max_element(kept.begin(), kept.end(),
                                         [&](int a, int b) { return here[a] < here[b]; });
      decided[most] += p_.truth.weight(arriving[i]);
    }
    std::stable_sort(kept.begin(), kept.end(), [&](int a, int b) { return decided[a] > decided[b]; });
  }

  // The threshold that keeps most weight on its side; false if more than `allowed` changes.
  bool still_separates(const std::vector<double>& terms, const std::vector<int>& kept, int facets,
                       const std::vector<char>& side, const std::vector<int>& arriving,
                       double allowed, double* threshold) const {
    const std::size_t n = side.size();
    std::vector<std::pair<double, int>> g(n);
    double inside_top = -1, outside_bottom = HUGE_VAL, changed = 0;
    for (std::size_t i = 0; i < n; ++i) {
      g[i] = {sum_of(terms, kept, facets, i), static_cast<int>(i)};
      if (side[i]) outside_bottom = std::min(outside_bottom, g[i].first);
      else {
        inside_top = std::max(inside_top, g[i].first);
        changed += p_.truth.weight(arriving[i]);
      }
    }
    if (inside_top < outside_bottom) {
      *threshold = between(inside_top, outside_bottom);
      return true;
    }
    if (allowed <= 0) return false;
    std::sort(g.begin(), g.end());
    double best = HUGE_VAL;  // `changed`: all rows called outside, then one by one inside
    for (std::size_t i = 0; i + 1 < n; ++i) {
      const double w = p_.truth.weight(arriving[g[i].second]);
      changed += side[g[i].second] ? w : -w;
      if (changed < best && g[i].first < g[i + 1].first) {
        best = changed;
        *threshold = between(g[i].first, g[i + 1].first);
      }
    }
    return best <= allowed;
  }

  static double between(double low, double high) {
    const double middle = 0.5 * (low + high);
    return middle < high ? std::max(middle, low) : low;
  }

  void keep_facets(const std::vector<std::vector<int>>& kept) {
    const Tree old = tree_;
    where_.clear();
    tree_.r.clear();
    tree_.intercept.clear();
    tree_.coef.clear();
    for (int v = 0; v < tree_.size(); ++v) {
      tree_.first[v] = static_cast<int>(tree_.r.size());
      if (old.is_leaf(v)) continue;
      tree_.facets[v] = static_cast<int>(kept[v].size());
      for (int k : kept[v]) {
        const int f = old.first[v] + k;
        tree_.r.push_back(old.r[f]);
        tree_.intercept.push_back(old.intercept[f]);
        const auto coef = old.coef.begin() + static_cast<std::size_t>(f) * old.cols;
        tree_.coef.insert(tree_.coef.end(), coef, coef + old.cols);
      }
    }
  }

  const Problem& p_;
  const Rows& rows_;
  Tree tree_;
  std::vector<int> where_;
  std::vector<double> statistics_;  // nodes x statistics of the task
};

}  // namespace

Tree finish(const Problem& p, const std::vector<Node>& nodes, const Rows& rows,
            std::vector<int>& where) {
  if (p.hooks.report) p.hooks.report({"finish", 1, 1, 0.0, 1.0});
  Tree tree = to_user_units(nodes, p.data.scaling(), p.options.lambda_end, p.truth.outputs());
  return Finisher(p, rows, std::move(tree)).run(where);
}

void fill_leaves(const Problem& p, const Rows& rows, Tree& tree) {
  tree = Finisher(p, rows, std::move(tree)).filled();
}

}  // namespace cpt
