// Images as tensors.
#pragma once

#include "engine/base/torch.h"
#include "engine/images/image.h"

namespace locus::engine {

// uint8 [C, H, W], contiguous, on the CPU. Thread-safe.
Tensor tensor_of(const Image& image);
// Throws std::invalid_argument unless the tensor is uint8 [1 or 3, H, W] on the CPU.
void check_image(const Tensor& pixels);
// The other way. Throws as check_image. Thread-safe.
Image image_of(const Tensor& pixels);

}  // namespace locus::engine
