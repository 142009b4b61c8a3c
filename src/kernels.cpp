// kernels.cpp: which kernel twin runs. Asked once of the processor, or set by name.
#include "kernels.h"

#if defined(__x86_64__) && !defined(CPT_DOUBLE)
#define CPT_HAS_X86_TWINS 1
#endif

namespace cpt {

namespace portable { extern const Kernels table; }
#ifdef CPT_HAS_X86_TWINS
namespace avx2 { extern const Kernels table; }
namespace avx512 { extern const Kernels table; }
#endif

namespace {

// Fastest first.
std::vector<const Kernels*> usable() {
  std::vector<const Kernels*> twins;
#ifdef CPT_HAS_X86_TWINS
  __builtin_cpu_init();
  const bool fma = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (fma && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
    twins.push_back(&avx512::table);
  if (fma) twins.push_back(&avx2::table);
#endif
  twins.push_back(&portable::table);
  return twins;
}

const Kernels*& chosen() {
  static const Kernels* twin = usable().front();
  return twin;
}

}  // namespace

const Kernels& kernels() { return *chosen(); }

std::vector<std::string> kernels_available() {
  std::vector<std::string> names;
  for (const Kernels* twin : usable()) names.push_back(twin->name);
  return names;
}

void choose_kernels(const std::string& name) {
  for (const Kernels* twin : usable())
    if (name == "auto" || name == twin->name) {
      chosen() = twin;
      return;
    }
  std::string have;
  for (const std::string& n : kernels_available()) have += (have.empty() ? "" : ", ") + n;
  throw Error("kernels \"" + name + "\" cannot run on this processor; it has: " + have);
}

}  // namespace cpt
