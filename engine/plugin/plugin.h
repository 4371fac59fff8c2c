// What a shared object of yours includes to bring items to the engine (docs/own.md). One of its files says what it is called,
// and each item has a line as in the engine's own lists:
//
//   LOCUS_PLUGIN("own-prior")
//   LOCUS_PRIOR(ring_bias)      // a function `PriorItem ring_bias()`
//
// Compile it with the target locus::plugin of find_package(Locus). These headers are an interface to compile against, not a
// stable binary one: a plugin runs in the build of Locus that it was compiled for, and is refused by every other.
#pragma once

#include <torch/version.h>

#include <vector>

#include "engine/backbones/backbone.h"
#include "engine/backbones/items.h"
#include "engine/data/dataset.h"
#include "engine/plugin/note.h"
#include "engine/priors/items.h"
#include "engine/tasks/task.h"
#include "engine/train/recipe.h"

#if !defined(LOCUS_VERSION) || !defined(LOCUS_INTERFACE)
#error "compile with the target locus::plugin of find_package(Locus), which says what it is compiled against"
#endif

#define LOCUS_PLUGIN_TEXT_(x) #x
#define LOCUS_PLUGIN_TEXT(x) LOCUS_PLUGIN_TEXT_(x)
#define LOCUS_PLUGIN_MAJOR LOCUS_PLUGIN_TEXT(NLOHMANN_JSON_VERSION_MAJOR)
#define LOCUS_PLUGIN_MINOR LOCUS_PLUGIN_TEXT(NLOHMANN_JSON_VERSION_MINOR)
#define LOCUS_PLUGIN_PATCH LOCUS_PLUGIN_TEXT(NLOHMANN_JSON_VERSION_PATCH)
#define LOCUS_PLUGIN_JSON LOCUS_PLUGIN_MAJOR "." LOCUS_PLUGIN_MINOR "." LOCUS_PLUGIN_PATCH
#define LOCUS_PLUGIN_TOOLCHAIN "cxx11-abi " LOCUS_PLUGIN_TEXT(_GLIBCXX_USE_CXX11_ABI) ", json " LOCUS_PLUGIN_JSON
#define LOCUS_PLUGIN_NOTE(name) \
  { LOCUS_PLUGIN_MAGIC, name, LOCUS_VERSION, LOCUS_INTERFACE, TORCH_VERSION, LOCUS_PLUGIN_TOOLCHAIN }

namespace locus::engine::plugin {

// Of one shared object: what its lines add. Hidden, so that no two of them share a list.
using Adder = void (*)(const Json& origin);
__attribute__((visibility("hidden"))) inline std::vector<Adder>& adders() {
  static std::vector<Adder> list;
  return list;
}

struct Line {
  explicit Line(Adder adder) { adders().push_back(adder); }
};

template <typename Entry>
void add(Registry<Entry>& registry, Entry entry, const Json& origin) {
  entry.item.set("origin", origin);
  registry.add(std::move(entry));
}

}  // namespace locus::engine::plugin

// Once in a plugin, outside of every namespace.
#define LOCUS_PLUGIN(name)                                                                              \
  extern "C" {                                                                                          \
  __attribute__((visibility("default"),                                                                 \
                 section(LOCUS_PLUGIN_SECTION))) extern const LocusPluginNote locus_plugin_note;        \
  __attribute__((used)) const LocusPluginNote locus_plugin_note = LOCUS_PLUGIN_NOTE(name);              \
  __attribute__((visibility("default"))) void locus_plugin_enter(const char* origin_json) {             \
    const ::locus::Json origin = ::locus::Json::parse(origin_json);                                     \
    for (const ::locus::engine::plugin::Adder adder : ::locus::engine::plugin::adders()) adder(origin); \
  }                                                                                                     \
  }

// A line for each item: the function, of this file or declared in it, returns the item.
#define LOCUS_PLUGIN_LINE(kind, function)                                                                        \
  static const ::locus::engine::plugin::Line locus_line_of_##kind##_##function([](const ::locus::Json& origin) { \
    ::locus::engine::plugin::add(::locus::engine::kind##_registry(), function(), origin);                        \
  });
#define LOCUS_PRIOR(function) LOCUS_PLUGIN_LINE(prior, function)
#define LOCUS_BACKBONE(function) LOCUS_PLUGIN_LINE(backbone, function)
#define LOCUS_DATASET(function) LOCUS_PLUGIN_LINE(dataset, function)
#define LOCUS_TASK(function) LOCUS_PLUGIN_LINE(task, function)
#define LOCUS_RECIPE(function) LOCUS_PLUGIN_LINE(recipe, function)
