// The part of LibTorch the engine uses, narrower than torch/torch.h. Precompiled once (locus_torch_pch), so
// include this and no more.
#pragma once

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/json.h"

namespace locus::engine {
using at::Tensor;
}  // namespace locus::engine
