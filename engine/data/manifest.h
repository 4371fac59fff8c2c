// What the files of a dataset version are, and the proof that a folder holds them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "core/base/json.h"

namespace locus::engine {

struct ManifestFile {
  std::string sha256;
  std::int64_t bytes = 0;
};

struct Manifest {
  std::string dataset;  // its id, for messages
  std::string package;  // Debian package that installs it
  std::map<std::string, ManifestFile> files;

  Json json() const;           // {"name": {"bytes": 1, "sha256": "..."}}
  std::string digest() const;  // SHA-256 of that, as RFC 8785
};

// Checks that `folder`/`name` is the file the manifest describes. A file is hashed once: the proof is
// remembered in `cache` (a folder; empty: not remembered) by path, size and time of change. Throws DataError
// naming the file, what was expected, what was found and the remedy.
void verify_file(const Manifest& manifest, const std::string& name, const std::filesystem::path& folder,
                 const std::filesystem::path& cache);

}  // namespace locus::engine
