// Libraries of ours that are found at run time.
#pragma once

#include <string>
#include <vector>

namespace locus::engine {

// Where `library` may lie, the first first: beside the executable, in a build folder or an installation, or, where `variable`
// of the environment says a place, there alone.
std::vector<std::string> library_places(const char* library, const char* variable);
// That it lies in none of them, for people.
std::string library_missing(const char* library, const char* variable);

// The library's function of that name into `function`; false where it has none.
bool resolve_symbol(void* library, const char* name, void** function);
template <typename Function>
bool resolve(void* library, const char* name, Function& function) {
  void* found = nullptr;
  const bool there = resolve_symbol(library, name, &found);
  function = reinterpret_cast<Function>(found);
  return there;
}

}  // namespace locus::engine
