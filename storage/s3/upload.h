// Objects on their way up.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "storage/s3/request.h"

namespace locus {

// The first `bytes` of a file as one object, unless there is one under that key: its name says its bytes, so both are success.
absl::Status s3_put_whole(S3Connection& connection, const std::string& key, int file, std::int64_t bytes,
                          const std::string& sha256);

// The same in parts of `part_bytes`. What went up is taken away again when one part does not.
absl::Status s3_put_in_parts(S3Connection& connection, const std::string& key, int file, std::int64_t bytes,
                             std::int64_t part_bytes);

}  // namespace locus
