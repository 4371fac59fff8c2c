// Our denoising networks under other programs' names.
#pragma once

#include "engine/weights/layout.h"

namespace locus::engine {

// The tensors of a denoising network of ours (engine/tasks/denoiser.h) under the names and shapes of `layout`, "dit" or
// "dit-diffusers", copies included; the frozen table of positions, which depends on the grid, is left to the program
// that reads them. `channels` of its images. Throws DataError, without a file's name, where it is no model of ours, and
// naming what the layout has no place for, as parameters of priors.
std::map<std::string, Tensor> denoiser_tensors(const std::map<std::string, Tensor>& model, const std::string& layout,
                                               std::int64_t channels);

}  // namespace locus::engine
