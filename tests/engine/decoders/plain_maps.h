// Maps by definition: scalar loops over numbers that remember their derivatives. Shapes [B, C, H, W].
#pragma once

#include <map>

#include "tests/engine/priors/reference/real.h"

namespace locus::engine::test {

using Weights = std::map<std::string, Array>;  // by parameter name

// sum over c, i, j of weight[o, c, i, j] x[stride y + i - padding, ...], zeros outside; `bias` may be empty.
Array plain_conv(const Array& x, const Array& weight, const Array& bias, std::int64_t stride, std::int64_t padding);
// Each place times weight [in, out, f, f] becomes f x f places.
Array plain_enlargement(const Array& x, const Array& weight, const Array& bias);
Array plain_relu(const Array& x);
Array plain_sum(const Array& a, const Array& b);
Array plain_joined(const std::vector<Array>& parts);  // along the channels
// Bilinear: every place of the source weighs max(0, 1 - distance), after the sampled place was cut to the source.
Array plain_interpolated(const Array& x, std::int64_t rows, std::int64_t columns, bool corners);
// Means over floor(i H / cells) .. ceil((i + 1) H / cells) - 1.
Array plain_pooled(const Array& x, std::int64_t cells);
// Over groups of channels of a sample, eps 1e-5.
Array plain_group_norm(const Array& x, const Array& weight, const Array& bias, std::int64_t groups);
// Over the batch, eps 1e-5.
Array plain_batch_norm(const Array& x, const Array& weight, const Array& bias);

}  // namespace locus::engine::test
