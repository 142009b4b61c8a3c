// kernels_portable.cpp: the twin that every processor can run (SSE2 or NEON, as
// the compiler has it by default), and the only one in the double build.
#include <cmath>
#include <cstring>

#include "kernels.h"

#define CPT_TWIN portable
#define CPT_TILE 6
#ifdef CPT_DOUBLE
#define CPT_LANES 2
#else
#define CPT_LANES 4
#endif
#include "kernels_body.h"
