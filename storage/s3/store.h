// Artifacts in an object store that speaks Amazon's S3: PREFIX/sha256/ab/abcdef..., each in one object.
#pragma once

#include <filesystem>
#include <memory>

#include "absl/status/statusor.h"
#include "core/base/clock.h"
#include "core/ports/artifacts.h"
#include "storage/s3/request.h"

namespace locus {

struct S3Options {
  S3Place place;
  S3Keys keys;
  std::filesystem::path folder;  // for uploads until they are whole, and for copies of what is read
  std::int64_t copies_bytes = std::int64_t{10} << 30;  // of copies kept, the longest unused leave first
  std::int64_t part_bytes = std::int64_t{16} << 20;    // of an upload in parts; S3 takes none below 5 MiB but the last
  std::int64_t whole_bytes = std::int64_t{64} << 20;   // larger blobs go up in parts
  S3Patience patience;
};

// Asks the bucket for a listing first, so that wrong keys, regions and names are known at once: STORAGE_FAILED with what the store
// said, DATA_FOLDER_UNUSABLE for the folder. One process at a time may use a prefix. Bytes are hashed here before they are
// uploaded and after they came down, whatever the store says of them: DIGEST_MISMATCH (DATA_LOSS) where they are others.
absl::StatusOr<std::unique_ptr<ArtifactStore>> open_s3_artifacts(S3Options options, Clock& clock);

}  // namespace locus
