// The private folder that gRPC watches: checked files alone get there, and so that it never reads halves of two sets.
#pragma once

#include <filesystem>
#include <string>

#include "absl/status/statusor.h"
#include "core/certificates/check.h"

namespace locus::server {

struct PublishedFiles {
  std::filesystem::path key, chain, anchors;
};
PublishedFiles published_files(const std::filesystem::path& folder);

// Puts the set there: each file appears whole, the key first, each with a time of change a second or more after that of
// the file before it (gRPC compares seconds, before and after it reads). The folder is made, for its owner alone.
absl::Status publish(const CertificateSet& set, const std::filesystem::path& folder);

// A file of at most 1 MiB. NOT_FOUND (CERTIFICATE_INVALID) naming it when it is not there.
absl::StatusOr<std::string> read_small_file(const std::filesystem::path& path);

}  // namespace locus::server
