// kernels_avx2.cpp: the AVX2 twin. The pragma raises the target of this file's own
// functions only; nothing here runs unless the processor was asked first.
#include <cmath>
#include <cstring>

#include "kernels.h"

#if defined(__x86_64__) && !defined(CPT_DOUBLE)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif

#define CPT_TWIN avx2
#define CPT_TILE 6
#define CPT_LANES 8
#include "kernels_body.h"

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
