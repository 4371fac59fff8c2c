// Event files of TensorBoard, as they are and with the check sums that they should have.
#include "core/foreign/event_file.h"

#include <bit>
#include <cstring>
#include <string>

#include "core/base/crc32c.h"
#include "tests/fuzz/fuzz.h"

namespace locus::fuzz {
namespace {

std::string sum_of(std::string_view bytes) {
  const std::uint32_t masked = std::rotr(crc32c(bytes), 15) + 0xa282ead8u;
  return std::string(reinterpret_cast<const char*>(&masked), sizeof masked);
}

void read_events(std::string_view bytes) {
  Gathered gathered;
  EventFileEnd end;
  if (!read_event_file(bytes, &gathered, &end).ok()) return;
  const auto series = gathered.series();
  if (!series.ok()) return;
  for (const ForeignSeries& one : *series) {
    require(one.step.size() == one.value.size() && one.step.size() == one.time_us.size(), "columns have one length");
    require(one.points == static_cast<std::int64_t>(one.step.size()), "points are counted");
    for (std::size_t i = 1; i < one.step.size(); ++i) require(one.step[i - 1] < one.step[i], "steps rise");
  }
}

}  // namespace

// The bytes as a file, then each line of them as the data of a record behind a sound first one.
void event_file(std::string_view bytes) {
  read_events(bytes);
  std::string sound;
  const auto record = [&](std::string_view data) {
    const std::uint64_t length = data.size();
    const std::string head(reinterpret_cast<const char*>(&length), sizeof length);
    sound += head + sum_of(head) + std::string(data) + sum_of(data);
  };
  record(
      std::string_view("\x1a\x0d"
                       "brain.Event:2"));
  record(bytes);
  read_events(sound);
}

}  // namespace locus::fuzz
