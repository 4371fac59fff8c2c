// Weights files of a machine by their digests.
#pragma once

#include <filesystem>

namespace locus::engine {

// The file below `folder`, or in it, whose SHA-256 (tensor_file_sha256) is `sha256`. Files are hashed once a process, again
// when their size or time changes, and those whose names hold the first eight digits first. Throws DataError that names
// the folder, the digest and what was found instead; std::invalid_argument where `sha256` is no digest. Not thread-safe.
std::filesystem::path find_weights(const std::filesystem::path& folder, const std::string& sha256);

// Throws DataError, naming file, expected and found, unless the file has that digest.
void check_weights_digest(const std::filesystem::path& file, const std::string& sha256);

}  // namespace locus::engine
