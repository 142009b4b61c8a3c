// core.h: the words every file of the engine shares: the number type, errors,
// and the three things the engine asks of its host (parallel_for, cancelled,
// report). The engine knows std only; it must not know R.
#ifndef CPT_CORE_H
#define CPT_CORE_H

#include <functional>
#include <stdexcept>
#include <string>

namespace cpt {

// Training runs in single precision (twice the SIMD lanes). The tests build the
// same code in double to compare gradients with finite differences.
#ifdef CPT_DOUBLE
using Real = double;
#else
using Real = float;
#endif

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Thrown from inside the engine when the host asked it to stop.
struct Cancelled {};

struct Progress {
  std::string stage;  // "grow", "refine", "finish"
  int epoch = 0;
  int epochs = 0;
  double loss = 0;
  double done = 0;  // share of the whole fit, 0 to 1
};

struct Hooks {
  int threads = 1;
  // Runs body(0), ..., body(tasks - 1) in any order, possibly in parallel. Every
  // task writes to its own place, so results do not depend on the order.
  std::function<void(int tasks, const std::function<void(int)>& body)> parallel_for;
  std::function<bool()> cancelled;
  std::function<void(const Progress&)> report;

  bool is_cancelled() const { return cancelled && cancelled(); }
  void stop_if_cancelled() const {
    if (is_cancelled()) throw Cancelled();
  }

  // parallel_for whose tasks are skipped once the host has asked to stop.
  void run(int tasks, const std::function<void(int)>& body) const {
    parallel_for(tasks, [&](int t) {
      if (!is_cancelled()) body(t);
    });
    stop_if_cancelled();
  }

  // The same hooks for work that already runs inside a task.
  Hooks serial() const {
    Hooks inner;
    inner.cancelled = cancelled;
    inner.parallel_for = run_serially;
    return inner;
  }

  static void run_serially(int tasks, const std::function<void(int)>& body) {
    for (int t = 0; t < tasks; ++t) body(t);
  }
};

}  // namespace cpt

#endif
