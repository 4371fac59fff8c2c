// What a specification is planned to: cells, trials and stages with identities (core/experiment/plan/planner.h). Plain values.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/experiment/model.h"

namespace locus {

struct MetricContract {
  std::string name, reports = "test", selects_on = "validation", direction = "max", reduce = "last", unit;
};

struct PlannedStage {
  std::string role, kind, identity, config_json;
  std::vector<std::pair<std::string, std::string>> inputs;  // slot -> identity of the stage it comes from
  RequirementsPtr requirements;                             // never null
};
// A value of a config path: as assignments hold it, equal for values that mean the same, and as shown.
struct PlannedValue {
  std::string value, key, label;
};
struct PlannedTrial {
  std::int64_t cell = 0, seed = 0;
  std::vector<PlannedStage> stages;
};  // in dependency order
// What the model of a cell weighs, by the catalog's formulas (docs/formats/catalog.md). -1: there is no formula.
struct CellCost {
  double parameters = -1;              // that the trained model keeps, those of its priors included
  double prior_parameters = -1;        // of these, the priors' own
  double training_parameters = 0;      // more, while it trains
  std::vector<std::string> uncounted;  // priors and adapters without a formula: all of the above leaves theirs out
  double flops = -1;  // of the backbone for one image, a multiply-add counted as two; what priors compute is left out
  double memory_bytes = -1;  // of a training in float32: weights, gradients, optimizer, activations of a batch, and
  double data_bytes = 0;     // its training images, which stay in memory
};
struct PlannedCell {
  std::string row_key, label, assignment_json;
  bool baseline = false;
  std::int64_t pair_group = 0;
  int prior = 0;  // the place of its last prior, the one added to the others, among the catalog's; 0 without one
  CellCost cost = {};
};

struct ExperimentPlan {
  std::string name, owner, description, dataset, task;
  std::string spec_json;  // canonical form of what was submitted
  int priority = 0;
  std::int64_t stage_seconds = 0;  // the longest an attempt at a stage may take; 0: no limit
  std::vector<std::int64_t> seeds;
  std::vector<PlannedCell> cells;
  std::vector<PlannedTrial> trials;                         // by cell, then seed
  std::vector<std::string> factors;                         // config paths of the matrix, in order
  std::map<std::string, std::vector<PlannedValue>> values;  // of every factor
  std::map<std::string, PlannedValue> settings;  // of every other path, defaults included: what holds in the first cell
  std::vector<std::string> compared;             // paths whose values are compared: those of the baseline, or the prior
  bool has_baseline = false;
  MetricContract metric;
  Json evaluation_labels = Json::object();              // labels of the primary result: {"resolution": 28}
  std::map<std::string, std::set<std::string>> labels;  // of results that are planned: name -> values, canonical
  std::vector<std::string> matched_except;  // the factors that alone may differ; empty: nothing was declared
  std::string matched;                      // "only the prior differs", or what else differs between the cells
  std::vector<std::string> warnings;
};

}  // namespace locus
