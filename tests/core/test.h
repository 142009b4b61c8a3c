// test.h: a small test harness. TEST(name) { ... } registers a test; CHECK(condition,
// values...) prints the condition and the values when it fails; run_all() prints
// 'N passed, N failed' (tests, not checks). Knows nothing of what is tested.
#ifndef CPT_TEST_H
#define CPT_TEST_H

#include <chrono>
#include <exception>
#include <initializer_list>
#include <iomanip>
#include <iostream>
#include <string>
#include <type_traits>
#include <vector>

namespace test {

struct Case {
  const char* name;
  void (*body)();
};

inline std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}

struct Registrar {
  Registrar(const char* name, void (*body)()) { cases().push_back({name, body}); }
};

struct State {
  long checks = 0, failures = 0;  // of the running test
};

inline State& state() {
  static State s;
  return s;
}

constexpr long most_shown = 5;  // failed checks of a test that are printed

// Anything a check may show. One type for all keeps the tests quick to compile.
struct Value {
  long double number = 0;
  const char* text = nullptr;
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
  Value(T v) : number(v) {}
  Value(const char* t) : text(t) {}
  Value(const std::string& t) : text(t.c_str()) {}
};

// The first value is the condition.
inline void check(const char* file, int line, const char* text, std::initializer_list<Value> values) {
  ++state().checks;
  const Value* v = values.begin();
  if (v->number != 0 || ++state().failures > most_shown) return;
  std::cout << "  " << file << ":" << line << ": CHECK(" << text << ")" << std::setprecision(10);
  for (++v; v != values.end(); ++v) {
    std::cout << "  ";
    if (v->text) std::cout << v->text;
    else std::cout << v->number;
  }
  std::cout << "\n";
}

inline bool run(const Case& c) {
  state() = State();
  const auto begin = std::chrono::steady_clock::now();
  try {
    c.body();
    // A test that checks nothing proves nothing.
    if (state().checks == 0) check(c.name, 0, "at least one check", {false});
  } catch (const std::exception& e) {
    check(c.name, 0, "no exception", {false, e.what()});
  } catch (...) {
    check(c.name, 0, "no exception", {false, "of unknown type"});
  }
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  const bool ok = state().failures == 0;
  std::cout << (ok ? "ok    " : "FAIL  ") << c.name << "  (" << state().checks << " checks, "
            << std::setprecision(2) << time.count() << " s";
  if (!ok) std::cout << ", " << state().failures << " failed";
  std::cout << ")" << std::endl;
  return ok;
}

// Runs the tests whose name contains `only`; the exit code of the program.
inline int run_all(const std::string& only) {
  int passed = 0, failed = 0;
  for (const Case& c : cases())
    if (std::string(c.name).find(only) != std::string::npos) ++(run(c) ? passed : failed);
  std::cout << passed << " passed, " << failed << " failed" << std::endl;
  return failed > 0 || passed == 0;
}

}  // namespace test

#define TEST(name)                                              \
  static void test_##name();                                    \
  static const test::Registrar register_##name(#name, test_##name); \
  static void test_##name()

// CHECK(condition) or CHECK(condition, value, ...)
#define CHECK(...) test::check(__FILE__, __LINE__, #__VA_ARGS__, {__VA_ARGS__})

#endif
