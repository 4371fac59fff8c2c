// What the contract of data sets, hosts, tasks and recipes works on: the items under test, and a small training of each.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine/data/dataset.h"
#include "engine/tasks/task.h"
#include "engine/train/recipe.h"

namespace locus::engine::contract {

// The ids of a kind's items that are tested: without a plugin the first of the engine's, with one those that it brings.
std::vector<std::string> tested(const std::string& kind);
// From now on those that plugins brought. Before anything runs, as the next.
void test_plugins_alone();
void read_data_at(const std::filesystem::path& root);  // /usr/share/datasets unless told
const std::filesystem::path& data_root();

// The data set that other kinds are tested with: 160 images of 3 x 16 x 16 in three classes that a network can tell apart,
// in memory. Adds it to the registry.
void add_made_images();
inline constexpr const char* kMadeImages = "contract-images";

// A training stage of some 24 small steps of these parts, the engine's own for every empty id. `task`: with its defaults.
struct Parts {
  std::string dataset = {}, backbone = {}, task = {}, recipe = {}, prior = {};
};
Json training_of(const Parts& parts);
Json options_of_host(const BackboneItem& item, const Extent& extent);  // its smallest sensible ones

// Expects that such a training succeeds, and that one which goes on from a checkpoint of its middle ends with the same bits
// of models and curves.
void expect_to_go_on_from_a_checkpoint(const Json& configuration);

}  // namespace locus::engine::contract
