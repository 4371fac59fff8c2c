// The functions that decoders.def lists, and what their catalog entries share.
#pragma once

#include "engine/decoders/decoder.h"

namespace locus::engine::decoders {

#define LOCUS_DECODER(file) DecoderItem file();
#include "engine/decoders/decoders.def"
#undef LOCUS_DECODER

// The options width, of the levels of a Pyramid, and dropout.
void add_levels(Item& item, std::int64_t width);
// The option taps, which HostMaps reads.
void add_pyramid(Item& item);
// What a decoder asks of its host: four blocks or stages unless some are named, and that those named are there.
Json pyramid_rules();
// The tasks that decoders of maps serve (facts.tasks).
Json dense_tasks();

}  // namespace locus::engine::decoders
