// The loops for processors with AVX2.
#define LOCUS_FUSED_SET set_avx2
#include "engine/fused/kernels_body.h"
#include "engine/fused/passes_body.h"
