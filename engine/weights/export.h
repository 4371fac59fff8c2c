// Our models under other programs' names.
#pragma once

#include "engine/weights/layout.h"

namespace locus::engine {

// The tensors of an exported model or checkpoint of ours under the names and shapes of a layout (WeightsLayout::writes): what
// the published code of that network loads, but for buffers that follow from its settings. `channels` of its images; 0:
// three, or one where three do not divide. Throws DataError, without the file's name, where it is no model of ours, where
// nothing is written by that layout, and naming what the layout has no place for, as parameters of most priors; with
// `drop_priors` those are left out.
std::map<std::string, Tensor> layout_tensors(const std::map<std::string, Tensor>& model, const std::string& layout,
                                             std::int64_t channels, bool drop_priors);

}  // namespace locus::engine
