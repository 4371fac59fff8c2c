// Stored points, as they are and with the sum that they should have.
#include "storage/sqlite/point_codec.h"

#include <cstring>

#include "core/base/crc32c.h"
#include "tests/fuzz/fuzz.h"

namespace locus::fuzz {

void points(std::string_view bytes) {
  (void)sqlite::decode_points(bytes);
  if (bytes.size() < 5) return;
  std::string sound(bytes);
  sound[0] = 1;
  const std::uint32_t sum = crc32c(std::string_view(sound).substr(5));
  std::memcpy(sound.data() + 1, &sum, sizeof sum);
  const auto columns = sqlite::decode_points(sound);
  if (!columns) return;
  for (const auto* column : {&columns->step, &columns->images, &columns->time_us})
    require(column->size() == columns->size(), "columns have one length");
  const auto again = sqlite::decode_points(sqlite::encode_points(*columns));
  require(again && again->step == columns->step && again->series == columns->series, "points are read as written");
}

}  // namespace locus::fuzz
