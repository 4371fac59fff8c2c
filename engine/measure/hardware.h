// The machine a measurement was made on, as far as it can be read.
#pragma once

#include <ATen/core/Tensor.h>

#include "core/base/json.h"

namespace locus::engine {

// "processor", "cores" this process may use, "governor" of the first of them, "load" (1-minute average: other
// work on the machine) and, for a CUDA device, "gpu", "clock_mhz", "memory_clock_mhz", "power_limit_w" as the
// driver's management library gives them. What cannot be read is left out.
Json describe_hardware(at::Device device);

}  // namespace locus::engine
