// Reads the keys of one mapping of a specification: each checked by itself, every mistake noted at its field.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/base/mistakes.h"
#include "core/catalog/catalog.h"

namespace locus {

// Notes keys that nobody knows on construction, and that the mapping is none. Values that are absent or wrong read as
// nothing. Refers to the mapping and the mistakes: both outlive it. Thread-compatible.
class KeyReader {
 public:
  // `owner` as in "search": what an unknown key is said to be no part of.
  KeyReader(const Json& mapping, std::string field, const std::string& owner, const std::vector<std::string>& known,
            Mistakes& mistakes);

  bool has(const char* key) const { return mapping_.is_object() && mapping_.contains(key); }
  const Json& operator[](const char* key) const { return mapping_.at(key); }
  std::string at(const std::string& key) const { return field_ + "." + key; }
  const std::string& field() const { return field_; }

  std::optional<std::int64_t> integer(const char* key, double least, std::optional<double> most = {});
  std::optional<double> number(const char* key, const OptionSpec& rule);
  std::optional<double> above(const char* key, double bound);  // a number above it
  std::optional<bool> boolean(const char* key);
  std::optional<std::string> text(const char* key);
  std::optional<std::string> word(const char* key, std::vector<std::string> choices);
  // MISSING_KEY with the sentence `what`, where it is absent.
  bool require(const char* key, const std::string& what);

 private:
  std::optional<Json> value(const char* key, OptionSpec rule);

  const Json& mapping_;
  std::string field_;
  Mistakes& mistakes_;
};

}  // namespace locus
