// team.h: threads that stay awake between one parallel loop and the next, and take the
// same share of its tasks each time. A training step has about ten short loops over the
// same data: waking a thread costs as much as the shortest of them, and what another core
// has written last comes from afar. Knows std only: where the helpers' threads come from
// is the host's matter.
#ifndef CPT_TEAM_H
#define CPT_TEAM_H

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <vector>

namespace cpt {

class Team {
 public:
  // call_helper() has another thread call serve(), soon or never: a team works with
  // whoever has come, if need be the caller of run() alone.
  Team(int helpers, std::function<void()> call_helper);

  // body(0), ..., body(tasks - 1), each once, in any order; returns when all have ended.
  // The first error of a task is raised here, tasks not yet begun are then left out.
  // From inside a task of the same team: one after another.
  void run(int tasks, const std::function<void(int)>& body);

  // A helper's work; returns when there has been nothing to do for a while.
  void serve();
  // Helpers return as soon as they are idle, and none is called any more.
  void dismiss() { dismissed_ = true; }

 private:
  // The tasks of one member that nobody has taken yet: [first, last) in one number, so
  // that its owner at the one end and others at the other take each task only once.
  struct alignas(64) Share {
    std::atomic<std::uint64_t> left{0};
    std::atomic<bool> has_owner{false};
  };
  static int take(Share& share, bool own);
  void call_helpers();
  void share_out(int tasks);
  void work(int member);
  int join();

  const std::function<void()> call_helper_;
  std::vector<Share> shares_;   // of the caller of run(), then of the helpers
  std::atomic<int> called_{0};  // helpers that are here or on their way
  std::atomic<bool> dismissed_{false}, running_{false};
  // Odd while a loop may have tasks left, one more when it is closed; body_ and the shares
  // are written before a loop opens.
  std::atomic<unsigned> loop_{0};
  const std::function<void(int)>* body_ = nullptr;
  std::atomic<int> inside_{0};  // helpers that may hold a task
  std::mutex mutex_;
  std::exception_ptr error_;
};

}  // namespace cpt

#endif
