// Image files, of any kind, by every way of decoding them.
#include "engine/images/decode.h"

#include "tests/fuzz/fuzz.h"

namespace locus::fuzz {
namespace {

constexpr engine::DecodeLimits kSmall{1 << 18, 20};

template <typename Step>
void attempted(const Step& step) {
  try {
    step();
  } catch (const engine::ImageError&) {
  }
}

}  // namespace

void image(std::string_view bytes) {
  const auto file = std::as_bytes(std::span(bytes.data(), bytes.size()));
  engine::ImageHeader header;
  attempted([&] { header = engine::read_header(file); });
  attempted([&] { (void)engine::decode_values(file, engine::StoredValues::kGrayOrPalette, kSmall); });
  attempted([&] {
    const engine::Image whole = engine::decode(file, kSmall);
    require(whole.height == header.height && whole.width == header.width, "an image has the size that its header says");
    const engine::Box part{whole.height / 3, whole.width / 3, whole.height - whole.height / 3,
                           whole.width - whole.width / 3};
    const engine::Image cut = engine::decode_part(file, part, kSmall);
    require(cut.pixels == engine::crop(whole, part).pixels, "a part is decoded as the whole is");
  });
}

}  // namespace locus::fuzz
