// Arguments of the trainer's tools: "--name value" pairs and flags.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/base/json.h"

namespace locus {

class NamedArguments {
 public:
  // Throws std::invalid_argument on a name that is neither among `values` nor `flags`, on a name without its
  // value, and on a name twice unless it is among `repeated`.
  NamedArguments(std::span<const std::string> arguments, const std::set<std::string>& values,
                 const std::set<std::string>& flags, const std::set<std::string>& repeated = {});

  bool has(const std::string& name) const { return given_.contains(name); }
  // The value, or `fallback`.
  std::string text(const std::string& name, const std::string& fallback) const;
  // Throws std::invalid_argument when absent or, the next two, not of their form.
  std::string required(const std::string& name) const;
  std::int64_t integer(const std::string& name, std::int64_t fallback) const;
  std::pair<std::int64_t, std::int64_t> pair(const std::string& name, char separator,
                                             std::pair<std::int64_t, std::int64_t> fallback) const;
  const std::vector<std::string>& all(const std::string& name) const;  // empty when absent

 private:
  std::map<std::string, std::vector<std::string>> given_;
};

// Says on standard error what is wrong with the arguments of a tool and how to call it: by the program that
// handed them over (LOCUS_CALLER, "locus picture"), otherwise by hand (`usage`). Returns the exit status, 2.
int refuse_arguments(const std::string& tool, const std::string& why, const char* usage);

// "14x14" with separator 'x'; throws std::invalid_argument naming `what`.
std::pair<std::int64_t, std::int64_t> parse_pair(const std::string& text, char separator, const std::string& what);

// The JSON document in a file; throws std::invalid_argument naming the file.
Json read_json_file(const std::string& path);

}  // namespace locus
