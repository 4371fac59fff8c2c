// Reads text files.
#include "cli/text_file.h"

#include <cctype>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>

#include "core/base/error.h"

namespace locus {
namespace {

namespace fs = std::filesystem;

// The first file of a folder that a specification could be in, by name.
std::optional<std::string> file_within(const fs::path& folder) {
  std::optional<std::string> out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string extension = entry.path().extension().string();
    if (extension != ".yaml" && extension != ".yml" && extension != ".json") continue;
    if (!out || entry.path().string() < *out) out = entry.path().string();
  }
  return out;
}

absl::Status refused(const std::string& message) {
  return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidSpecification, message);
}

}  // namespace

absl::StatusOr<std::string> read_text(const std::string& path, const std::string& what, std::size_t most) {
  const bool standard_input = path == "-";
  std::ifstream file;
  if (!standard_input) {
    std::error_code error;
    if (fs::is_directory(path, error)) {
      const auto within = file_within(path);
      return refused(path + " is a folder, not " + what + "; name the file" + (within ? ", as in " + *within : ""));
    }
    file.open(path, std::ios::binary);
    if (!file)
      return refused("cannot read " + what + " from " + path + "; check the path, or give - for standard input");
  }
  std::istream& in = standard_input ? std::cin : file;
  std::string text;
  char block[1 << 14];
  while (in.read(block, sizeof block), in.gcount() > 0) {
    text.append(block, static_cast<std::size_t>(in.gcount()));
    if (text.size() > most) {
      return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kLimitExceeded,
                        path + " is larger than " + what + " may be (" + std::to_string(most) + " bytes); split it");
    }
  }
  return text;
}

absl::StatusOr<std::string> read_token(const std::string& given, const std::string& field) {
  const bool standard_input = given == "-";
  if (!standard_input && !given.starts_with('@')) return given;
  std::ifstream file;
  if (!standard_input) file.open(given.substr(1));
  std::istream& in = standard_input ? std::cin : file;
  std::string line;
  std::getline(in, line);
  while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back()))) line.pop_back();
  if (!line.empty()) return line;
  return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
                    "no token stands " + (standard_input ? "on standard input" : "in " + given.substr(1)) +
                        "; give one on its first line",
                    field);
}

}  // namespace locus
