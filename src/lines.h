// lines.h: memory in whole cache lines. What threads write next to each other on one line
// travels between their cores at every write.
#ifndef CPT_LINES_H
#define CPT_LINES_H

#include <cstddef>
#include <new>
#include <vector>

namespace cpt {

constexpr std::size_t cache_line = 64;

template <class T>
struct WholeLines {
  using value_type = T;
  WholeLines() = default;
  template <class U>
  WholeLines(const WholeLines<U>&) {}
  T* allocate(std::size_t n) {
    const std::size_t lines = (n * sizeof(T) + cache_line - 1) / cache_line;
    return static_cast<T*>(::operator new(lines * cache_line, std::align_val_t(cache_line)));
  }
  void deallocate(T* p, std::size_t) { ::operator delete(p, std::align_val_t(cache_line)); }
  bool operator==(const WholeLines&) const { return true; }
  bool operator!=(const WholeLines&) const { return false; }
};

template <class T>
using Lines = std::vector<T, WholeLines<T>>;

}  // namespace cpt

#endif
