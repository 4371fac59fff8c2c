// Loads plugins: shared objects of users that bring items to the engine's registries (engine/plugin/plugin.h).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/plugin/note.h"

namespace locus::engine {

struct LoadedPlugin {
  std::string name, digest;  // of the extension; SHA-256 of the file
  std::filesystem::path file;
};

// The note in the bytes of a shared object for this kind of machine; nothing where it has none. Whatever the bytes are,
// nothing beyond them is read. Pure.
std::optional<LocusPluginNote> plugin_note(std::string_view bytes);

// What does not fit of a plugin with that note, as a sentence that names both versions; empty where it fits. Pure.
std::string plugin_misfit(const LocusPluginNote& note);

// Loads the file and registers its items, for the life of the process. Throws std::invalid_argument, naming the file, for
// what is no plugin, was compiled against another version (nothing of it has run then), cannot be loaded, or brings an item
// whose name is taken. Not thread-safe: before anything runs.
const LoadedPlugin& load_plugin(const std::filesystem::path& file);

const std::vector<LoadedPlugin>& loaded_plugins();  // in the order they were loaded

}  // namespace locus::engine
