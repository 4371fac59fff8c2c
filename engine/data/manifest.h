// What the files of a dataset version are, and the proof that a folder holds them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "core/base/json.h"

namespace locus::engine {

struct ManifestFile {
  std::string sha256;  // empty: its content is not known, only its size
  std::int64_t bytes = 0;
};

// An archive that holds the files under the manifest's names.
struct Archive {
  std::string name, url, md5;
  Json json() const;  // {"name": "a.tar.gz", "url": "https://...", "md5": "..."}
};

struct Manifest {
  std::string dataset;                        // its id, for messages
  std::string package;                        // Debian package that installs it; empty: there is none, but `archive`
  std::map<std::string, ManifestFile> files;  // by path in the dataset's folder
  Archive archive = {};

  Json json() const;           // {"name": {"bytes": 1, "sha256": "..."}}, without "sha256" where it is not known
  std::string digest() const;  // SHA-256 of that, as RFC 8785
  // How to get the files into `folder`, as the end of a message; `again`: something is there, but not they.
  std::string remedy(const std::filesystem::path& folder, bool again) const;
};

// Checks that `folder`/`name` is the file the manifest describes, as far as it does. A file is hashed once: the proof
// is remembered in `cache` (a folder; empty: not remembered) by path, size and time of change. Throws DataError
// naming the file, what was expected, what was found and the remedy.
void verify_file(const Manifest& manifest, const std::string& name, const std::filesystem::path& folder,
                 const std::filesystem::path& cache);

}  // namespace locus::engine
