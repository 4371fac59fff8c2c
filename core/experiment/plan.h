// What a specification is planned to: cells, trials and stages with identities (core/experiment/plan/planner.h). Plain values.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/experiment/model.h"
#include "core/search/figures.h"

namespace locus {

struct MetricContract {
  std::string name, reports = "test", selects_on = "validation", direction = "max", reduce = "last", unit;
  std::int64_t top_seeds = 0;  // the mean is over so many best seeds by the reported metric; 0: over all
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
  double parameters = -1;          // that the trained model keeps, those of its priors included
  double prior_parameters = -1;    // of these, the priors' own
  double training_parameters = 0;  // more, while it trains
  std::vector<std::string>
      uncounted;  // priors, adapters and decoders without a formula: all of the above leaves theirs out
  double flops =
      -1;  // of backbone and decoder for one image, a multiply-add counted as two; what priors compute is left out
  double memory_bytes = -1;  // of a training in float32: weights, gradients, optimizer, activations of a batch, and
  double data_bytes = 0;     // its training images, which stay in memory
};
// Where a cell stands in the search that proposed it; -1 without one.
struct SearchPlace {
  std::int64_t group = -1;     // among SearchPlan::groups
  std::int64_t proposal = -1;  // by index; the first of those with equal values
  std::int64_t rung = -1;      // of a search whose rungs train anew, the rung this cell is for; otherwise 0
};
struct PlannedCell {
  std::string row_key, label, assignment_json;
  bool baseline = false;
  std::int64_t pair_group = 0;
  int prior = 0;  // the place of its last prior, the one added to the others, among the catalog's; 0 without one
  CellCost cost = {};
  SearchPlace search = {};
};
// What a specification searches. The cells of the plan are all that may ever run; the rules of core/search/ say which do, and how
// far.
struct SearchPlan {
  Search search;
  std::vector<std::string>
      groups;  // assignments outside the space, canonical; one, "{}", where the matrix alone competes
  // Of each group, proposals that repeat the values of an earlier one: they share its cells, are no units of their own and
  // cost nothing.
  std::vector<std::map<std::int64_t, std::int64_t>> repeats;
  std::int64_t proposals = 0;  // of the group that has most, repeated ones included
  SearchFigures figures;
  double checkpoint_bytes = -1;  // of the largest training that may be parked; -1: unknown
  PlannedStage training;         // of the first cell; before a client has proposed, of the middle of the space
};

struct ExperimentPlan {
  std::string name, owner, description, dataset, task;
  std::string spec_json;  // canonical form of what was submitted
  int priority = 0;
  ServiceClass service_class = ServiceClass::kNormal;
  std::string placement;           // core/experiment/labels.h, placement_text; empty: anywhere
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
  std::optional<SearchPlan> search;
  std::vector<std::string> warnings;
};

}  // namespace locus
