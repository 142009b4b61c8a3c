// test_team.cpp: every task of a loop runs once, whoever comes to help; errors and loops
// inside loops leave a team fit for work.
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "team.h"
#include "test.h"

using namespace cpt;

namespace {

// A team whose helpers are threads of their own.
class Crew {
 public:
  explicit Crew(int helpers)
      : team(helpers, [this] { threads_.emplace_back([this] { team.serve(); }); }) {}
  ~Crew() {
    team.dismiss();
    for (std::thread& t : threads_) t.join();
  }
  Team team;

 private:
  std::vector<std::thread> threads_;
};

bool within_ten_seconds(const std::function<bool()>& holds) {
  const auto start = std::chrono::steady_clock::now();
  while (!holds()) {
    if (std::chrono::steady_clock::now() - start > std::chrono::seconds(10)) return false;
    std::this_thread::yield();
  }
  return true;
}

// Runs `tasks` tasks and checks that each ran once.
void run_once_each(Team& team, int tasks) {
  std::vector<std::atomic<int>> runs(tasks);
  for (auto& r : runs) r = 0;
  team.run(tasks, [&](int t) { ++runs[t]; });
  for (int t = 0; t < tasks; ++t) CHECK(runs[t] == 1, tasks, t, runs[t].load());
}

}  // namespace

TEST(team_runs_every_task_once) {
  for (int helpers : {0, 1, 3}) {
    Crew crew(helpers);
    for (int round = 0; round < 200; ++round)
      for (int tasks : {0, 1, 2, 3, 17}) run_once_each(crew.team, tasks);
    run_once_each(crew.team, 5000);
  }
}

TEST(team_works_though_no_helper_comes) {
  int called = 0;
  Team team(2, [&] { ++called; });
  for (int round = 0; round < 3; ++round) run_once_each(team, 20);
  CHECK(called == 2, called);  // once each: they are on their way
}

TEST(team_works_though_helpers_cannot_be_called) {
  Team team(2, [] { throw std::runtime_error("no more threads"); });
  for (int round = 0; round < 3; ++round) run_once_each(team, 20);
}

// Two tasks that wait for each other end only if two threads have one each.
TEST(team_helpers_take_part) {
  Crew crew(1);
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> begun(0);
    std::atomic<bool> met(true);
    crew.team.run(2, [&](int) {
      ++begun;
      if (!within_ten_seconds([&] { return begun == 2; })) met = false;
    });
    CHECK(met.load(), round);
    if (!met) break;
  }
}

TEST(team_helpers_leave_when_idle_and_come_again) {
  std::atomic<int> served(0), called(0);
  std::vector<std::thread> threads;
  {
    Team* self = nullptr;
    Team team(1, [&] {
      ++called;
      threads.emplace_back([&] {
        self->serve();
        ++served;
      });
    });
    self = &team;
    run_once_each(team, 10);
    CHECK(within_ten_seconds([&] { return served == 1; }), served.load());
    run_once_each(team, 10);
    CHECK(called == 2, called.load());
    for (std::thread& t : threads) t.join();
  }
  CHECK(served == 2, served.load());
}

TEST(team_raises_the_error_of_a_task) {
  for (int helpers : {0, 2}) {
    Crew crew(helpers);
    for (int round = 0; round < 50; ++round) {
      std::string said;
      try {
        crew.team.run(40, [](int t) {
          if (t == 7) throw std::runtime_error("task seven");
        });
      } catch (const std::runtime_error& e) {
        said = e.what();
      }
      CHECK(said == "task seven", helpers, round, said);
      run_once_each(crew.team, 10);
    }
  }
}

TEST(team_loop_inside_a_loop_runs_all_tasks) {
  Crew crew(2);
  std::atomic<int> sum(0);
  crew.team.run(6, [&](int t) { crew.team.run(5, [&](int u) { sum += 10 * t + u; }); });
  CHECK(sum == 10 * 5 * 15 + 6 * 10, sum.load());
}
