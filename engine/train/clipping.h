// Limits on gradients.
#pragma once

#include <span>

#include "engine/base/torch.h"

namespace locus::engine {

// Each changes the gradients of `parameters` in place; a parameter without one is passed over. No host synchronization.

// Scales all gradients by min(1, norm / (total + 1e-6)), total their joint Euclidean norm (Pascanu et al. 2013; in the
// form of PyTorch).
void clip_joint_norm(std::span<const Tensor> parameters, double norm);

// The same for every tensor by itself (DINO's clip_gradients).
void clip_each_norm(std::span<const Tensor> parameters, double norm);

// Adaptive gradient clipping (Brock et al. 2021, equation 3; in the form of timm): every unit's gradient g of weights w is
// at most factor * max(|w|, 1e-3) long. A unit is a row, all axes but the first; of a vector or a number the whole.
void clip_units(std::span<const Tensor> parameters, double factor);

}  // namespace locus::engine
