// Checks a plugin by its note, then loads it.
#include "engine/plugin/load.h"

#include <dlfcn.h>

#include <fstream>
#include <iterator>
#include <stdexcept>

#include "core/base/sha256.h"
#include "engine/plugin/plugin.h"

namespace locus::engine {
namespace {

std::vector<LoadedPlugin>& all_loaded() {
  static std::vector<LoadedPlugin> list;
  return list;
}

std::string read_plugin(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw std::invalid_argument("the plugin " + file.string() + " cannot be read: is it there?");
  return std::string(std::istreambuf_iterator<char>(in), {});
}

std::string differs(const char* what, const char* theirs, const char* ours) {
  return "it was compiled against " + std::string(what) + " " + theirs + ", and this build has " + what + " " + ours;
}

}  // namespace

std::string plugin_misfit(const LocusPluginNote& note) {
  static constexpr LocusPluginNote kOurs = LOCUS_PLUGIN_NOTE("");
  const auto same = [](const char* a, const char* b) { return std::string_view(a) == b; };
  if (!same(note.version, kOurs.version)) return differs("Locus", note.version, kOurs.version);
  if (!same(note.torch, kOurs.torch)) return differs("torch", note.torch, kOurs.torch);
  if (!same(note.toolchain, kOurs.toolchain)) return differs("a library with", note.toolchain, kOurs.toolchain);
  // Of one version, but headers have changed since.
  if (!same(note.interface, kOurs.interface)) return differs("headers of digest", note.interface, kOurs.interface);
  return "";
}

const LoadedPlugin& load_plugin(const std::filesystem::path& file) {
  const std::string bytes = read_plugin(file), named = "the plugin " + file.string() + " ";
  const auto note = plugin_note(bytes);
  if (!note) {
    throw std::invalid_argument(named +
                                "is none: no shared object that says LOCUS_PLUGIN(\"its-name\") in one of its "
                                "files (engine/plugin/plugin.h)");
  }
  if (const std::string why = plugin_misfit(*note); !why.empty())
    throw std::invalid_argument(named + "does not fit: " + why +
                                "; compile it again with this one's find_package(Locus)");
  const LoadedPlugin plugin{note->name, sha256_hex(bytes), file};
  for (const LoadedPlugin& other : all_loaded()) {
    if (other.name == plugin.name)
      throw std::invalid_argument(named + "is called " + plugin.name + " as " + other.file.string() +
                                  " is; load one of them");
  }
  void* library = ::dlopen(std::filesystem::absolute(file).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::invalid_argument(named + "cannot be loaded: " + ::dlerror());
  const auto enter = reinterpret_cast<locus_plugin_enter_fn>(::dlsym(library, "locus_plugin_enter"));
  if (enter == nullptr) throw std::invalid_argument(named + "lacks what LOCUS_PLUGIN defines");
  try {
    enter(Json{{"name", plugin.name}, {"by", "plugin"}, {"digest", plugin.digest}}.dump().c_str());
  } catch (const std::exception& error) {
    throw std::invalid_argument(named + "cannot be taken: " + error.what());
  }
  all_loaded().push_back(plugin);
  return all_loaded().back();
}

const std::vector<LoadedPlugin>& loaded_plugins() { return all_loaded(); }

}  // namespace locus::engine
