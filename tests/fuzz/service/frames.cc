// What a trainer sends its daemon.
#include "worker/app/frames.h"

#include "tests/fuzz/fuzz.h"

namespace locus::fuzz {
namespace {

void translate(const Json& frame) {
  (void)points_of(frame);
  (void)outputs_of(frame);
  (void)outcome_of(frame);
  if (frame.contains("environment")) (void)canonical_json(frame.at("environment"));
}

}  // namespace

void frames(std::string_view bytes) {
  FrameDecoder decoder;
  const std::size_t half = bytes.size() / 2;
  try {
    for (const std::string_view piece : {bytes.substr(0, half), bytes.substr(half)}) {
      decoder.feed(piece);
      while (const auto frame = decoder.next()) {
        try {
          translate(*frame);
        } catch (const std::exception&) {  // as the daemon takes it: the attempt fails, saying so
        }
      }
    }
  } catch (const FrameError&) {
  }
}

}  // namespace locus::fuzz
