// Through the dynamic linker.
#include "engine/kernels/library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

namespace locus::engine {
namespace {

std::vector<std::string> library_places(const char* library, const char* variable) {
  if (const char* given = std::getenv(variable)) return {given};
  std::vector<std::string> paths;
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return paths;
  paths.push_back(self.parent_path() / library);
  paths.push_back(self.parent_path().parent_path() / "bin" / library);        // tests live beside bin/
  paths.push_back(self.parent_path().parent_path() / "lib/locus" / library);  // where it is installed
  return paths;
}

std::string library_missing(const char* library, const char* variable) {
  if (const char* given = std::getenv(variable))
    return std::string(variable) + " says " + library + " is " + given + ", where nothing is";
  return std::string(library) + " is not beside the executable: built without a CUDA toolkit";
}

}  // namespace

std::string load_library(const char* library, const char* variable, const std::function<bool(void*)>& take,
                         std::string& missing) {
  missing = library_missing(library, variable);
  for (const std::string& path : library_places(library, variable)) {
    if (!std::filesystem::exists(path)) continue;
    void* opened = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (opened == nullptr) {
      missing = dlerror();
    } else if (take(opened)) {
      missing.clear();
      return path;
    } else {
      missing = path + " speaks another version of its interface: rebuild it";
      dlclose(opened);
    }
  }
  return {};
}

bool resolve_symbol(void* library, const char* name, void** function) {
  *function = dlsym(library, name);
  return *function != nullptr;
}

}  // namespace locus::engine
