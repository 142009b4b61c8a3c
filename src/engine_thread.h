// engine_thread.h: the engine on a thread of its own, with RcppParallel's TBB for its
// tasks. Meanwhile the caller's thread waits, and is asked again and again whether to go on.
// Knows threads, not R and not what the work is.
#ifndef CPT_ENGINE_THREAD_H
#define CPT_ENGINE_THREAD_H

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "core.h"

namespace cpt {

// Progress, as the engine's thread leaves it and the main thread picks it up.
class Board {
 public:
  void put(const Progress& p) {
    std::lock_guard<std::mutex> lock(mutex_);
    progress_ = p;
    fresh_ = true;
  }
  bool take(Progress* p) {
    std::lock_guard<std::mutex> lock(mutex_);
    const bool fresh = fresh_;
    *p = progress_;
    fresh_ = false;
    return fresh;
  }

 private:
  std::mutex mutex_;
  Progress progress_;
  bool fresh_ = false;
};

class EngineThread {
 public:
  // Starts work(hooks).
  EngineThread(int threads, std::function<void(const Hooks&)> work);
  ~EngineThread();  // stops the work if it still runs

  // Returns when the work has ended; its error is raised here. On the caller's thread,
  // go_on(progress) is asked every now and then (null: no news); false stops the work.
  // False is returned if it was stopped.
  bool wait(const std::function<bool(const Progress*)>& go_on);

 private:
  bool ended_within_a_moment();

  std::atomic<bool> cancel_{false};
  Hooks hooks_;
  Board board_;
  std::mutex mutex_;
  std::condition_variable end_;
  bool ended_ = false;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace cpt

#endif
