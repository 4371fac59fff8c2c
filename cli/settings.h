// The configuration file of the command line.
#pragma once

#include <filesystem>
#include <string>

#include "absl/status/statusor.h"

namespace locus {

// What a person sets once: docs/command-line.md. A flag wins over an environment variable, that over the
// file.
struct Settings {
  std::string server;   // HOST:PORT
  std::string owner;    // of the experiments they submit
  std::string profile;  // whose server and certificate to use where no server is named
};

// $XDG_CONFIG_HOME/locus/config.yaml, else ~/.config/locus/config.yaml; empty without either variable.
std::filesystem::path settings_path();

// Where `locus login` keeps the certificate of that profile. INVALID_ARGUMENT for a name that is no name.
absl::StatusOr<std::filesystem::path> profile_folder(const std::string& name);

// A file that is not there is empty. INVALID_ARGUMENT with metadata "where" (FILE:LINE) for one that cannot
// be read, an unknown key or a value that is no string.
absl::StatusOr<Settings> read_settings(const std::filesystem::path& path);

}  // namespace locus
