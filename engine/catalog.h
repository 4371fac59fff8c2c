// Everything the engine can do, as data, and the ways to make it.
#pragma once

#include <memory>

#include "engine/base/item.h"

namespace locus {

// Declared here, defined where they belong.
class Dataset;        // engine/data
struct DataPlace;     // engine/data
class Task;           // engine/tasks
struct TaskContext;   // engine/tasks
struct StageContext;  // engine/train
struct PriorItem;     // engine/priors/prior.h
struct BackboneItem;  // engine/backbones/backbone.h

struct DatasetItem {
  Item item;  // kind "dataset"; facts: digest, manifest, rank, channels, extent, classes, splits
  std::shared_ptr<Dataset> (*open)(const DataPlace& place, const Options& options);
  std::string id() const { return item.json().at("id"); }
};

struct TaskItem {
  Item item;  // kind "task"; facts: metrics, default_metric
  std::shared_ptr<Task> (*make)(const TaskContext& context, const Options& options);
  std::string id() const { return item.json().at("id"); }
};

// A recipe is read by the training loop: its options are the `train:` section of a specification.
struct RecipeItem {
  Item item;  // kind "recipe"
  std::string id() const { return item.json().at("id"); }
};

struct StageItem {
  Item item;  // kind "stage"; facts: inputs, outputs
  void (*run)(StageContext& context);
  std::string id() const { return item.json().at("id"); }
};

// Every line of priors.def, backbones.def, data/datasets.def, tasks/tasks.def, train/recipes.def and
// train/stages.def, in order. Each list is defined in the folder of its .def, built once, immutable.
const std::vector<PriorItem>& prior_items();
const std::vector<BackboneItem>& backbone_items();
const std::vector<DatasetItem>& dataset_items();
const std::vector<TaskItem>& task_items();
const std::vector<RecipeItem>& recipe_items();
const std::vector<StageItem>& stage_items();

// The document of docs/formats/catalog.md. Throws std::logic_error when an id or alias appears twice within a
// kind.
Json catalog_json();

}  // namespace locus
