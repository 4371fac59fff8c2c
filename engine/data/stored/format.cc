// Images and labels.
#include "engine/data/stored/format.h"

namespace locus::engine {

ImageHeader StoredFormat::header(const StoredFiles& files) const {
  return naming_file<ImageError>(files.image.path, [&] { return read_header(files.image.bytes); });
}

Image StoredFormat::image(const StoredFiles& files) const {
  return naming_file<ImageError>(files.image.path, [&] { return decode(files.image.bytes); });
}

Image StoredFormat::part(const StoredFiles& files, const Box& box) const {
  return naming_file<ImageError>(files.image.path, [&] { return decode_part(files.image.bytes, box); });
}

Sample StoredFormat::targets(const StoredFiles& files, const ImageSize&) const {
  return {{kLabel, at::scalar_tensor(files.label, at::kLong)}};
}

const StoredFormat& image_format() {
  static const StoredFormat format;
  return format;
}

}  // namespace locus::engine
