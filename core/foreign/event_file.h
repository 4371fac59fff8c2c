// TensorBoard's event files: records (TFRecord) of events, each a protocol buffer. Read without either library.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "core/foreign/gathered.h"

namespace locus {

// Of one file, the most that is read: it is held in memory.
inline constexpr std::int64_t kEventFileBytes = std::int64_t{256} << 20;

struct EventFileEnd {
  bool cut_off = false;  // the last record is not whole: the file is still being written, or its writer was killed
};

// Adds the scalars of a file, in the order of its records: simple values, and tensors with one float or double that the
// plugin "scalars" shows. What else is in it is counted as left out. A scalar whose display name TensorBoard would write as
// its tag goes by the display name, which may hold what tags may not. INVALID_ARGUMENT, with the offset, for a record
// whose check sum is wrong or that is no event, the first one's included: the file is none; errors of Gathered::add().
absl::Status read_event_file(std::string_view bytes, Gathered* out, EventFileEnd* end);

}  // namespace locus
