// The table of decoders.
#include "engine/decoders/decoder.h"

#include "engine/decoders/items.h"

namespace locus::engine {

Registry<DecoderItem>& decoder_registry() {
  static Registry<DecoderItem> entries("decoder", {
#define LOCUS_DECODER(name) decoders::name(),
#include "engine/decoders/decoders.def"
#undef LOCUS_DECODER
                                                  });
  return entries;
}

}  // namespace locus::engine
