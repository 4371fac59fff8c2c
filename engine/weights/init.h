// Section `init`: what the weights of a model are before it learns.
#pragma once

#include <filesystem>

#include "engine/weights/load.h"

namespace locus::engine {

// What an item works with.
struct InitContext {
  LoadInput input;
  std::filesystem::path file;    // the weights, where somebody brought them; empty: they are in `folder`
  std::filesystem::path folder;  // where this machine keeps weights
};

struct InitItem {
  Item item;  // kind "init"
  // Gives the model, a task on the CPU as it was initialized, its weights; returns lines for people.
  std::vector<std::string> (*start)(Module& model, const InitContext& context, const Options& options);
  std::string id() const { return item.json().at("id"); }
};
Registry<InitItem>& init_registry();  // first, every line of inits.def
inline const std::deque<InitItem>& init_items() { return init_registry().all(); }
inline const InitItem& init_item(std::string_view id) { return init_registry().find(id); }

// Of the options of item `weights`.
LoadOptions load_options(const Options& options);

// Does what the stage configuration's "init" says; nothing where it has none. Call on a new model, before adapters start
// and never on one that a checkpoint fills. Throws DataError on files, std::invalid_argument on options, naming what is
// wrong.
std::vector<std::string> start_weights(const Json& configuration, Module& model, const InitContext& context);

}  // namespace locus::engine
