// Settings of a provisioner, read from JSON: what is not known is refused by its name.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/json.h"

namespace locus {

// One object of settings. Every getter takes note of its key, and end() refuses the keys that nobody asked for; what a getter
// finds of another type is refused by end(), too, and read as absent until then. Thread-compatible.
class SettingsSection {
 public:
  // `path` is what messages call it: "slurm"; empty: the whole document. Null reads as an empty object.
  SettingsSection(Json object, std::string path);

  std::optional<std::string> text(const std::string& key);
  std::optional<std::vector<std::string>> texts(const std::string& key);
  std::optional<std::map<std::string, std::string>> named_texts(const std::string& key);
  std::optional<std::int64_t> number(const std::string& key);  // 0 or more
  std::optional<Json> object(const std::string& key);
  void ignore(const std::string& key) { known_.insert(key); }  // somebody else reads it

  absl::Status end() const;  // INVALID_ARGUMENT with the first key that is wrong
  absl::Status missing(const std::string& key, const std::string& example) const;  // the refusal of what must be there

 private:
  const Json* find(const std::string& key);
  std::string field(const std::string& key) const { return path_.empty() ? key : path_ + "." + key; }
  void refuse(const std::string& key, const std::string& wanted);

  const Json object_;
  const std::string path_;
  std::set<std::string> known_;
  absl::Status wrong_;
};

}  // namespace locus
