// Pictures of priors, as documents.
#pragma once

#include <map>
#include <string>

namespace locus {

using Pictures = std::map<std::string, std::string>;  // prior -> JSON (docs/formats/picture.md)

}  // namespace locus
