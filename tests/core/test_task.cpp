// test_task.cpp: what a leaf costs: sweep against brute force at every cut, costs
// against their formulas, weights as repeated rows.
#include <algorithm>

#include "support.h"
#include "task.h"
#include "test.h"

using namespace support;

namespace {

struct Outcome {
  std::vector<double> y, weight;
  std::vector<int> order;  // a random order of all rows
};

Outcome outcome(int n, int classes, std::uint64_t seed) {
  Outcome o;
  Stream s = random_numbers(seed);
  for (int i = 0; i < n; ++i) {
    o.y.push_back(classes > 0 ? static_cast<double>(s.below(classes)) : 100 + 20 * s.normal());
    o.weight.push_back(i % 9 == 4 ? 0.0 : 0.2 + 3 * s.uniform());
    o.order.push_back(i);
  }
  s.shuffle(o.order);
  return o;
}

std::unique_ptr<Task> task_of(const Outcome& o, int classes) {
  return make_task(options_for(classes == 0, classes), o.y, o.weight,
                   std::vector<char>(o.y.size(), 1));
}

// Weight times entropy, or weighted sum of squares, in the outcome's own units.
double brute_impurity(const Outcome& o, const int* row, int n, int classes) {
  double mass = 0, mean = 0, sum = 0;
  for (int i = 0; i < n; ++i) mass += o.weight[row[i]];
  if (mass == 0) return 0;
  if (classes == 0) {
    for (int i = 0; i < n; ++i) mean += o.weight[row[i]] * o.y[row[i]] / mass;
    for (int i = 0; i < n; ++i) sum += o.weight[row[i]] * (o.y[row[i]] - mean) * (o.y[row[i]] - mean);
    return sum;
  }
  for (int c = 0; c < classes; ++c) {
    double count = 0;
    for (int i = 0; i < n; ++i) count += o.y[row[i]] == c ? o.weight[row[i]] : 0;
    if (count > 0) sum -= count * std::log(count / mass);
  }
  return sum;
}

const std::vector<char> every_cut(1000, 1);

}  // namespace

TEST(task_sweep_is_the_brute_force_impurity_at_every_cut) {
  const int n = 90;
  for (int classes : {0, 2, 3, 7})
    for (std::uint64_t seed = 50; seed < 53; ++seed) {
      const Outcome o = outcome(n, classes, seed);
      const auto task = task_of(o, classes);
      std::vector<double> loss(n);
      task->sweep(n, o.order.data(), every_cut.data(), loss.data());
      const double all = brute_impurity(o, o.order.data(), n, classes);
      for (int i = 0; i < n; ++i) {
        const double want = brute_impurity(o, o.order.data(), i + 1, classes) +
                            brute_impurity(o, o.order.data() + i + 1, n - i - 1, classes);
        const double got = task->reported_loss(loss[i]);
        CHECK(std::fabs(got - want) < 1e-11 * all, classes, seed, i, got, want);
      }
    }
}

TEST(task_sweep_writes_the_allowed_cuts_only) {
  const int n = 90;
  std::vector<char> allowed(n);
  for (int i = 0; i < n; ++i) allowed[i] = i % 3 == 1;
  for (int classes : {0, 3}) {
    const Outcome o = outcome(n, classes, 50);
    const auto truth = task_of(o, classes);
    std::vector<float> opinion(n * std::max(1, classes), 0.25f);
    for (int i = 0; i < n; ++i) opinion[i * std::max(1, classes)] = 0.01f * i;
    const auto taught = truth->taught(opinion, truth->weights());
    for (const Task* task : {truth.get(), taught.get()}) {
      std::vector<double> all(n), some(n, -1.0);
      task->sweep(n, o.order.data(), every_cut.data(), all.data());
      task->sweep(n, o.order.data(), allowed.data(), some.data());
      for (int i = 0; i < n; ++i) CHECK(some[i] == (allowed[i] ? all[i] : -1.0), classes, i);
    }
  }
}

TEST(task_impurity_and_value_against_brute_force) {
  for (int classes : {0, 2, 5}) {
    const Outcome o = outcome(60, classes, 54);
    const auto task = task_of(o, classes);
    std::vector<double> s(task->statistics(), 0.0), value(task->outputs());
    task->accumulate(40, o.order.data(), nullptr, s.data());
    const double want = brute_impurity(o, o.order.data(), 40, classes);
    CHECK(std::fabs(task->reported_loss(task->impurity(s.data())) - want) < 1e-11 * want, classes, want);
    task->value(s.data(), value.data());
    std::vector<double> direct(task->outputs(), 0.0);
    double mass = 0;
    for (int i = 0; i < 40; ++i) {
      const int row = o.order[i];
      mass += o.weight[row];
      if (classes > 0) direct[static_cast<int>(o.y[row])] += o.weight[row];
      else direct[0] += o.weight[row] * o.y[row];
    }
    if (classes == 0) direct[0] /= mass;
    CHECK(std::fabs(s[0] - mass) < 1e-12 * mass, classes, s[0], mass);
    for (int c = 0; c < task->outputs(); ++c)
      CHECK(std::fabs(value[c] - direct[c]) < 1e-12 * (1 + direct[c]), classes, c, value[c], direct[c]);
  }
}

TEST(task_relabelled_classes_give_a_bit_identical_sweep) {
  const int n = 120, classes = 6;
  Outcome o = outcome(n, classes, 55);
  std::vector<double> before(n), after(n);
  task_of(o, classes)->sweep(n, o.order.data(), every_cut.data(), before.data());
  const int name[] = {4, 2, 5, 0, 1, 3};
  for (double& y : o.y) y = name[static_cast<int>(y)];
  task_of(o, classes)->sweep(n, o.order.data(), every_cut.data(), after.data());
  CHECK(same_bits(before, after));
}

// With the leaf's own statistics the costs of its rows add up to its impurity.
TEST(task_costs_add_up_to_the_impurity) {
  for (int classes : {0, 2, 5}) {
    const Outcome o = outcome(80, classes, 56);
    const auto task = task_of(o, classes);
    std::vector<double> s(task->statistics(), 0.0);
    std::vector<Real> share(80);
    std::vector<double> cost(80);
    Stream u = random_numbers(57);
    for (Real& v : share) v = static_cast<Real>(u.uniform());
    for (const Real* shares : {static_cast<const Real*>(nullptr), static_cast<const Real*>(share.data())}) {
      std::fill(s.begin(), s.end(), 0.0);
      task->accumulate(80, o.order.data(), shares, s.data());
      task->costs(s.data(), 0.0, 80, o.order.data(), cost.data());
      double sum = 0;
      for (int i = 0; i < 80; ++i)
        sum += task->weight(o.order[i]) * (shares ? shares[i] : Real(1)) * cost[i];
      const double want = task->impurity(s.data());
      CHECK(std::fabs(sum - want) < (is_double ? 1e-12 : 1e-6) * want, classes, sum, want);
    }
  }
}

// The trace: weight of a uniform guess (classes) or of the overall mean (numbers).
TEST(task_costs_with_a_trace) {
  Outcome o;
  o.y = {0, 0, 2, 1};
  o.weight = {1, 2, 1, 1};
  const auto classes = task_of(o, 3);
  const std::vector<int> rows = {0, 1, 2, 3};
  std::vector<double> s(4, 0.0);
  std::vector<double> cost(4);
  classes->accumulate(3, rows.data(), nullptr, s.data());  // class 1 is not in the leaf
  classes->costs(s.data(), 0.6, 4, rows.data(), cost.data());
  const double want[] = {-std::log(3.2 / 4.6), -std::log(3.2 / 4.6), -std::log(1.2 / 4.6),
                         -std::log(0.2 / 4.6)};
  for (int i = 0; i < 4; ++i) CHECK(std::fabs(cost[i] - want[i]) < 1e-6, i, cost[i], want[i]);
  std::fill(s.begin(), s.end(), 0.0);  // an empty leaf guesses
  classes->costs(s.data(), 1e-3, 4, rows.data(), cost.data());
  for (int i = 0; i < 4; ++i) CHECK(std::fabs(cost[i] - std::log(3.0)) < 1e-6, i, cost[i]);

  const auto numbers = task_of(o, 0);
  std::vector<double> t(3, 0.0);
  numbers->costs(t.data(), 1.0, 4, rows.data(), cost.data());
  double mean = 0, sd = 0;
  for (int i = 0; i < 4; ++i) mean += o.weight[i] * o.y[i] / 5;
  for (int i = 0; i < 4; ++i) sd += o.weight[i] * (o.y[i] - mean) * (o.y[i] - mean) / 5;
  for (int i = 0; i < 4; ++i) {
    const double off = (o.y[i] - mean) * (o.y[i] - mean);
    CHECK(std::fabs(numbers->reported_loss(cost[i]) - off) < 1e-6, i, cost[i] * sd, off);
  }
}

TEST(task_weight_two_is_the_row_twice) {
  for (int classes : {0, 3}) {
    const int n = 40;
    Outcome o = outcome(n, classes, 58), twice;
    std::vector<int> last;  // place of a row's last copy
    for (int i = 0; i < n; ++i) {
      o.weight[i] = 1 + i % 3;
      for (int copy = 0; copy < o.weight[i]; ++copy) {
        twice.y.push_back(o.y[i]);
        twice.weight.push_back(1);
        twice.order.push_back(static_cast<int>(twice.order.size()));
      }
      last.push_back(static_cast<int>(twice.y.size()) - 1);
      o.order[i] = i;
    }
    std::vector<double> a(n), b(twice.y.size());
    const auto one = task_of(o, classes), two = task_of(twice, classes);
    one->sweep(n, o.order.data(), every_cut.data(), a.data());
    two->sweep(static_cast<int>(b.size()), twice.order.data(), every_cut.data(), b.data());
    for (int i = 0; i < n; ++i)
      CHECK(std::fabs(one->reported_loss(a[i]) - two->reported_loss(b[last[i]])) < 1e-10 * (1 + std::fabs(one->reported_loss(a[0]))),
            classes, i, a[i], b[last[i]]);
  }
}

TEST(task_constant_outcome_costs_nothing) {
  Outcome o;
  o.y.assign(10, 1.0);
  o.weight.assign(10, 2.0);
  for (int i = 0; i < 10; ++i) o.order.push_back(i);
  for (int classes : {0, 2}) {
    const auto task = task_of(o, classes);
    std::vector<double> s(task->statistics(), 0.0), loss(10), value(task->outputs());
    task->accumulate(10, o.order.data(), nullptr, s.data());
    CHECK(task->impurity(s.data()) == 0, classes, task->impurity(s.data()));
    task->sweep(10, o.order.data(), every_cut.data(), loss.data());
    for (double l : loss) CHECK(std::fabs(l) < 1e-12, classes, l);
    task->value(s.data(), value.data());
    CHECK(value.back() == (classes ? 20 : 1), classes, value.back());
  }
}

// A small rise of the total loss, seen as minus log-likelihood: the entropy is that
// already; for squares it is n / 2 log(mean square) of a normal outcome.
TEST(task_nat_is_the_slope_of_the_loss_by_the_log_likelihood) {
  const Outcome o = outcome(10, 2, 59);
  const double n = 1000, mean = 0.37, h = 1e-3;
  const double rise = 0.5 * n * (std::log(mean + h / n) - std::log(mean - h / n)) / (2 * h);
  CHECK(std::fabs(task_of(o, 0)->nat(mean) * rise - 1) < 1e-6, task_of(o, 0)->nat(mean), rise);
  CHECK(task_of(o, 2)->nat(mean) == 1, task_of(o, 2)->nat(mean));
}

TEST(task_unknown_name_is_an_error) {
  Options o = options_for(false);
  o.task = "survival";
  bool refused = false;
  try {
    make_task(o, {0, 1}, {1, 1}, {1, 1});
  } catch (const Error&) {
    refused = true;
  }
  CHECK(refused);
}

// Opinions that name one class with certainty are outcomes.
TEST(task_taught_by_certain_opinions_is_the_task_itself) {
  const int n = 70;
  for (int classes : {0, 2, 5}) {
    const Outcome o = outcome(n, classes, 60);
    const auto truth = task_of(o, classes);
    if (classes > 0)
      for (int i = 0; i < n; ++i) CHECK(truth->outcome(i) == o.y[i], i);
    const int outputs = std::max(1, classes);
    std::vector<float> opinion(n * outputs, 0);
    for (int i = 0; i < n; ++i) {
      if (classes > 0) opinion[i * outputs + static_cast<int>(o.y[i])] = 1;
      else opinion[i] = static_cast<float>(truth->outcome(i));
    }
    const auto taught = truth->taught(opinion, o.weight);
    CHECK(taught->statistics() == truth->statistics() && taught->outputs() == truth->outputs());
    std::vector<double> a(truth->statistics(), 0.0), b(a);
    const std::vector<Real> share(n, Real(0.25));
    truth->accumulate(n, o.order.data(), share.data(), a.data());
    taught->accumulate(n, o.order.data(), share.data(), b.data());
    std::vector<double> cost_a(n), cost_b(n), loss_a(n), loss_b(n);
    truth->costs(a.data(), 0.5, n, o.order.data(), cost_a.data());
    taught->costs(b.data(), 0.5, n, o.order.data(), cost_b.data());
    truth->sweep(n, o.order.data(), every_cut.data(), loss_a.data());
    taught->sweep(n, o.order.data(), every_cut.data(), loss_b.data());
    const double close = 1e-5;  // opinions are single precision
    for (std::size_t s = 0; s < a.size(); ++s) CHECK(std::fabs(a[s] - b[s]) < close * (1 + std::fabs(a[s])), s);
    for (int i = 0; i < n; ++i) {
      CHECK(std::fabs(cost_a[i] - cost_b[i]) < close * (1 + cost_a[i]), classes, i);
      CHECK(std::fabs(loss_a[i] - loss_b[i]) < close * (1 + loss_a[i]), classes, i);
    }
    CHECK(std::fabs(truth->reported_loss(1) - taught->reported_loss(1)) == 0);
  }
}

// With shares between 0 and 1 a cost is the mean over the classes, and the impurity is the
// least total cost that any leaf value can give.
TEST(task_taught_costs_are_means_and_the_impurity_their_least_sum) {
  const int n = 40, classes = 3;
  const Outcome o = outcome(n, classes, 61);
  Stream s = random_numbers(62);
  std::vector<float> opinion(n * classes);
  for (int i = 0; i < n; ++i) {
    double sum = 0, p[classes];
    for (double& v : p) sum += v = s.uniform();
    for (int c = 0; c < classes; ++c) opinion[i * classes + c] = static_cast<float>(p[c] / sum);
  }
  const auto task = task_of(o, classes)->taught(opinion, o.weight);
  std::vector<double> statistics(task->statistics(), 0.0), cost(n);
  task->accumulate(n, o.order.data(), nullptr, statistics.data());
  task->costs(statistics.data(), 0.0, n, o.order.data(), cost.data());
  double total = 0;
  for (int i = 0; i < n; ++i) {
    double want = 0;
    for (int c = 0; c < classes; ++c)
      want -= opinion[o.order[i] * classes + c] * std::log(statistics[1 + c] / statistics[0]);
    CHECK(std::fabs(cost[i] - want) < 1e-9, i);
    total += o.weight[o.order[i]] * cost[i];
  }
  CHECK(std::fabs(total - task->impurity(statistics.data())) < 1e-4, total);
  std::vector<double> loss(n);
  task->sweep(n, o.order.data(), every_cut.data(), loss.data());
  for (int i = 0; i < n; ++i) {
    std::vector<double> left(task->statistics(), 0.0), right(left);
    task->accumulate(i + 1, o.order.data(), nullptr, left.data());
    task->accumulate(n - i - 1, o.order.data() + i + 1, nullptr, right.data());
    CHECK(std::fabs(loss[i] - task->impurity(left.data()) - task->impurity(right.data())) < 1e-6, i);
  }
}
