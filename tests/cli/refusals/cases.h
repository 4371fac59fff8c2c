// Mistakes to make, enumerated from what there is to mistake: the schema, the catalog, the command tree.
#pragma once

#include <string>
#include <vector>

#include "core/base/json.h"

namespace locus {

// A command line that must be refused. `input` is its standard input.
struct Mistake {
  std::vector<std::string> arguments;
  std::string input;
};

// A specification that is right, for one thing at a time to be wrong in.
std::string right_specification();

std::vector<Mistake> wrong_keys();                        // every key of the schema, each wrong type
std::vector<Mistake> wrong_options(const Json& catalog);  // every option, each wrong type and bound
std::vector<Mistake> wrong_meanings();                    // well-formed, but it cannot be meant
std::vector<Mistake> wrong_usage(const Json& manual);     // every command and option
std::vector<Mistake> wrong_names(const Json& manual);     // every command that takes a name, hostile ones
std::vector<Mistake> wrong_files(const std::string& folder);

}  // namespace locus
