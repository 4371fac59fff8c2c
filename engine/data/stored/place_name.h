// Names of folders that a specification gives.
#pragma once

#include <stdexcept>
#include <string>

namespace locus::engine {

// `name` where it is a path below a folder that cannot lead out of it; throws std::invalid_argument naming `option` otherwise.
inline std::string place_name(const std::string& name, const std::string& option) {
  const bool out = name.empty() || name.front() == '/' || name.find('\0') != std::string::npos ||
                   ("/" + name + "/").find("/../") != std::string::npos;
  if (!out) return name;
  throw std::invalid_argument("option '" + option + "' is a path below the folder of the dataset, without ..; not '" +
                              name + "'");
}

}  // namespace locus::engine
