// Reads the configuration file.
#include "cli/settings.h"

#include <cstdlib>
#include <map>
#include <vector>

#include "cli/text_file.h"
#include "cli/yaml.h"
#include "core/base/error.h"
#include "core/base/ids.h"
#include "core/base/nearest.h"
#include "core/catalog/catalog.h"

namespace locus {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostBytes = 1 << 16;

absl::Status invalid_settings(const std::string& message, const fs::path& path, int line) {
  return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
                    "in the configuration file, " + message, "",
                    {{"where", path.string() + (line > 0 ? ":" + std::to_string(line) : "")}});
}

fs::path from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? fs::path() : fs::path(value);
}

}  // namespace

fs::path settings_path() {
  if (const fs::path config = from_environment("XDG_CONFIG_HOME"); config.is_absolute())
    return config / "locus" / "config.yaml";
  if (const fs::path home = from_environment("HOME"); home.is_absolute())
    return home / ".config" / "locus" / "config.yaml";
  return {};
}

absl::StatusOr<fs::path> profile_folder(const std::string& name) {
  const fs::path path = settings_path();
  if (valid_name(name) && !path.empty()) return path.parent_path() / "profiles" / name;
  return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidName,
                    "\"" + name + "\" is no name of a profile: lower-case letters, digits and dashes, a letter first",
                    "profile", {{"name", name}});
}

absl::StatusOr<Settings> read_settings(const fs::path& path) {
  Settings out;
  std::error_code error;
  if (path.empty() || !fs::exists(path, error)) return out;
  if (fs::is_directory(path, error)) return invalid_settings("there is a folder where a file belongs", path, 0);
  const auto text = read_text(path.string(), "a configuration file", kMostBytes);
  if (!text.ok()) return invalid_settings("nothing can be read; check its permissions and size", path, 0);
  const auto document = parse_yaml(*text);
  if (!document.ok()) {
    const auto detail = error_detail(document.status());
    return invalid_settings(std::string(document.status().message()), path,
                            detail && detail->metadata.contains("line") ? std::stoi(detail->metadata.at("line")) : 1);
  }
  if (document->json.is_null()) return out;
  if (!document->json.is_object())
    return invalid_settings("there is no mapping; write it as in server: 127.0.0.1:7171", path, 1);
  const std::map<std::string, std::string*> keys = {
      {"owner", &out.owner}, {"profile", &out.profile}, {"server", &out.server}};
  std::vector<std::string> known;
  for (const auto& [key, target] : keys) known.push_back(key);
  for (const auto& [key, value] : document->json.items()) {
    const auto line = document->lines.find(key);
    const int at = line == document->lines.end() ? 1 : line->second;
    const auto found = keys.find(key);
    if (found == keys.end()) {
      const auto nearest = nearest_name(key, known);
      return invalid_settings(
          "the key '" + key + "' is unknown; " +
              (nearest ? "did you mean '" + *nearest + "'?" : "its keys are: owner, profile, server"),
          path, at);
    }
    if (!value.is_string()) return invalid_settings(key + " must be text, not " + value.dump(), path, at);
    *found->second = value.get<std::string>();
  }
  return out;
}

}  // namespace locus
