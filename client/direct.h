// Blobs from where a URL says, beside the server.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "client/call.h"

namespace locus {

// Reads what `url` (http or https, of a LocateArtifactResponse) holds from `offset` on and gives it to `sink` in pieces, whose
// refusal ends it and is returned. UNAVAILABLE when the place cannot be reached, breaks off, or answers anything but the bytes
// asked for; CANCELLED by `cancellation`, which may be null. No message holds the URL: who has it may read the blob. Blocks.
absl::Status read_url(const std::string& url, std::int64_t offset,
                      const std::function<absl::Status(std::string_view)>& sink, Cancellation* cancellation);

}  // namespace locus
