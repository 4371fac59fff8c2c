// The loops for processors with AVX-512.
#define LOCUS_FUSED_SET set_avx512
#include "engine/fused/kernels_body.h"
#include "engine/fused/passes_body.h"
