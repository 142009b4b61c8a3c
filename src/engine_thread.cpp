// engine_thread.cpp: see engine_thread.h.
#include "engine_thread.h"

// RcppParallel's TBB, without its vector classes (their iterators are deprecated in C++17)
#include <RcppParallel/TBB.h>

#include <chrono>
#include <csignal>
#include <memory>

#include "team.h"

namespace cpt {

namespace {

constexpr std::chrono::milliseconds moment(50);

// A team whose helpers are TBB's workers, for one call. The control lifts TBB's own
// limit (one worker a core), so that any number asked for is what runs.
class Pool {
 public:
  explicit Pool(int threads)
      : control_(tbb::global_control::max_allowed_parallelism, threads), arena_(threads),
        team_(threads - 1, [this] {
          arena_.execute([this] { helpers_.run([this] { team_.serve(); }); });
        }) {}
  ~Pool() {
    team_.dismiss();
    arena_.execute([this] { helpers_.wait(); });
  }
  void run(int tasks, const std::function<void(int)>& body) { team_.run(tasks, body); }

 private:
  tbb::global_control control_;
  tbb::task_arena arena_;
  tbb::task_group helpers_;
  Team team_;
};

Hooks make_hooks(int threads, const std::atomic<bool>& cancel) {
  Hooks hooks;
  hooks.threads = threads;
  hooks.cancelled = [&cancel] { return cancel.load(std::memory_order_relaxed); };
  hooks.parallel_for = Hooks::run_serially;
  if (threads <= 1) return hooks;
  const std::shared_ptr<Pool> pool = std::make_shared<Pool>(threads);
  hooks.parallel_for = [pool](int tasks, const std::function<void(int)>& body) {
    pool->run(tasks, body);
  };
  return hooks;
}

void block_signals() {  // they belong to the host's main thread
#ifndef _WIN32
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
#endif
}

}  // namespace

EngineThread::EngineThread(int threads, std::function<void(const Hooks&)> work)
    : hooks_(make_hooks(threads, cancel_)) {
  hooks_.report = [this](const Progress& p) { board_.put(p); };
  thread_ = std::thread([this, work] {
    block_signals();
    try {
      work(hooks_);
    } catch (const Cancelled&) {
    } catch (...) {
      error_ = std::current_exception();
    }
    std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
    end_.notify_one();
  });
}

EngineThread::~EngineThread() {
  cancel_ = true;
  if (thread_.joinable()) thread_.join();
}

bool EngineThread::wait(const std::function<bool(const Progress*)>& go_on) {
  bool stopped = false;
  while (!ended_within_a_moment()) {
    if (stopped) continue;
    Progress progress;
    const bool fresh = board_.take(&progress);
    if (!go_on(fresh ? &progress : nullptr)) stopped = cancel_ = true;
  }
  thread_.join();
  if (stopped) return false;
  if (error_) std::rethrow_exception(error_);
  return true;
}

bool EngineThread::ended_within_a_moment() {
  std::unique_lock<std::mutex> lock(mutex_);
  return end_.wait_for(lock, moment, [this] { return ended_; });
}

}  // namespace cpt
