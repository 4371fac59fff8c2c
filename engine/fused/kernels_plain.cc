// The loops for processors of any kind.
#define LOCUS_FUSED_SET set_plain
#include "engine/fused/kernels_body.h"
#include "engine/fused/passes_body.h"
