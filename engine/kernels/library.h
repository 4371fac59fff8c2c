// Libraries of ours that are found at run time.
#pragma once

#include <functional>
#include <string>

namespace locus::engine {

// Opens `library` where it is first found and `take` says that it fits, and keeps it for the life of the process: beside the
// executable, in a build folder or an installation, or, where `variable` of the environment says a place, there alone. Returns
// where that is; empty where there is none, and `missing` says why, for people.
std::string load_library(const char* library, const char* variable, const std::function<bool(void* opened)>& take,
                         std::string& missing);

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
