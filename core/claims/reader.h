// How claims are read: strictly, remembering the first thing that is wrong. For the parser's own files.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/claims/claims.h"

namespace locus::claims {

// Reads members of an object; remembers the first failure, so that a parser reads as a list of fields. Keys
// nobody asked for are refused by finish(). Object and status must outlive it.
class Reader {
 public:
  Reader(const Json& object, std::string field, absl::Status* status);

  const Json* get(const char* key, bool required = false);
  std::string text(const char* key, bool required = false, bool may_be_empty = false);
  int count(const char* key);                                // 0 when absent
  const Json& list(const char* key, bool required = false);  // required: with something in it
  std::string at(const std::string& key) const { return field_.empty() ? key : field_ + "." + key; }
  std::string at(const std::string& key, std::size_t index) const {
    return at(key) + "[" + std::to_string(index) + "]";
  }
  void fail(ErrorReason reason, const std::string& what, const std::string& field);
  bool ok() const { return status_->ok(); }
  absl::Status* status() const { return status_; }
  void finish();

 private:
  const Json& object_;
  const std::string field_;
  absl::Status* status_;
  std::set<std::string> asked_;
};

// What a table, row or column says of the numbers in it.
struct Said {
  std::optional<ClaimMetric> metric;
  std::optional<ClaimPriors> priors;          // empty inside: null, no such method
  std::map<std::string, Json> loosely, code;  // options by prior: in print, in published code
  ClaimSetting setting;
  std::string against;
  int n = 0;
};
Said read_said(Reader& reader, const std::string& field, bool table);
ClaimPriors read_priors(Reader& reader, const Json& value, const std::string& field);
// {prior: {option: value}} under `key`; empty when absent.
std::map<std::string, Json> read_options(Reader& reader, const char* key);

// `code`: what the paper's published code says of options, wherever its priors stand.
ClaimTable read_table(const Json& json, const std::string& field, const std::map<std::string, Json>& code,
                      absl::Status* status);

}  // namespace locus::claims
