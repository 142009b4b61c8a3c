// team.cpp: see team.h.
#include "team.h"

#include <chrono>
#include <thread>

namespace cpt {

namespace {

constexpr std::chrono::microseconds patience(1000);  // longer than the serial parts of a step
constexpr int looks_before_yield = 64, looks_before_clock = 256;

inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

bool is_open(unsigned loop) { return loop % 2 == 1; }

// Lets go of the core now and then: there may be more threads than cores.
inline void look_again(int looks) {
  if (looks % looks_before_yield == 0) std::this_thread::yield();
  else pause();
}

std::uint64_t pack(std::uint32_t first, std::uint32_t last) {
  return (static_cast<std::uint64_t>(last) << 32) | first;
}

}  // namespace

Team::Team(int helpers, std::function<void()> call_helper)
    : call_helper_(std::move(call_helper)), shares_(helpers + 1) {
  shares_[0].has_owner = true;
}

void Team::run(int tasks, const std::function<void(int)>& body) {
  if (tasks <= 1 || running_.exchange(true)) {
    for (int t = 0; t < tasks; ++t) body(t);
    return;
  }
  body_ = &body;
  share_out(tasks);
  ++loop_;
  call_helpers();
  work(0);
  // A helper says that it is inside before it looks whether the loop is open; so either
  // it sees it closed, or it is seen and waited for here.
  ++loop_;
  for (int looks = 1; inside_ > 0; ++looks) look_again(looks);
  std::exception_ptr error;
  std::swap(error, error_);
  running_ = false;
  if (error) std::rethrow_exception(error);
}

// A call that fails, as for want of memory, leaves the work to those who are here.
void Team::call_helpers() {
  const int helpers = static_cast<int>(shares_.size()) - 1;
  while (called_ < helpers && !dismissed_) {
    ++called_;
    try {
      call_helper_();
    } catch (...) {
      --called_;
      return;
    }
  }
}

void Team::serve() {
  using Clock = std::chrono::steady_clock;
  Clock::time_point idle_since = Clock::now();
  const int member = join();
  unsigned done = 0;  // the last loop that this helper has had a part in
  for (int looks = 1; member > 0 && !dismissed_; ++looks) {
    if (is_open(loop_) && loop_ != done) {
      ++inside_;
      const unsigned loop = loop_;
      if (is_open(loop)) work(member);
      --inside_;
      done = loop;
      idle_since = Clock::now();
    } else if (looks % looks_before_clock == 0 && Clock::now() - idle_since > patience) {
      break;
    } else {
      look_again(looks);
    }
  }
  if (member > 0) shares_[member].has_owner = false;
  --called_;
}

// The place of a helper that has come; 0 if all are taken.
int Team::join() {
  for (std::size_t m = 1; m < shares_.size(); ++m)
    if (!shares_[m].has_owner.exchange(true)) return static_cast<int>(m);
  return 0;
}

void Team::share_out(int tasks) {
  const std::int64_t members = static_cast<std::int64_t>(shares_.size());
  for (std::int64_t m = 0; m < members; ++m)
    shares_[m].left = pack(static_cast<std::uint32_t>(tasks * m / members),
                           static_cast<std::uint32_t>(tasks * (m + 1) / members));
}

// -1 if there is none left.
int Team::take(Share& share, bool own) {
  std::uint64_t left = share.left;
  for (;;) {
    const std::uint32_t first = static_cast<std::uint32_t>(left), last = left >> 32;
    if (first >= last) return -1;
    const std::uint64_t rest = own ? pack(first + 1, last) : pack(first, last - 1);
    if (share.left.compare_exchange_weak(left, rest)) return own ? first : last - 1;
  }
}

// First the member's own tasks, then those that others have not come to yet.
void Team::work(int member) {
  const std::size_t members = shares_.size();
  try {
    for (std::size_t m = 0; m < members; ++m) {
      Share& share = shares_[(member + m) % members];
      for (int t; (t = take(share, m == 0)) >= 0;) (*body_)(t);
    }
  } catch (...) {
    for (Share& share : shares_) share.left = 0;
    std::lock_guard<std::mutex> lock(mutex_);
    if (!error_) error_ = std::current_exception();
  }
}

}  // namespace cpt
