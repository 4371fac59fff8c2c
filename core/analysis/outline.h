// What a specification says about its experiment, for views and tables. Pure.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/catalog/catalog.h"
#include "core/experiment/model.h"
#include "core/experiment/plan.h"

namespace locus {

// How charts and tables mark a cell (CellLook in proto/locus/v1/common.proto).
struct Look {
  int hue = 0, variant = 0;
  bool operator==(const Look&) const = default;
};

struct OutlineCell {
  std::string row_key, label, assignment_json;
  bool baseline = false;
  std::int64_t pair_group = 0;
  Look look = {};
  std::int64_t group = -1;  // of the search that proposed it, among OutlineSearch::groups
};

// The search that proposed the cells.
struct OutlineSearch {
  std::vector<std::string> space;   // paths
  std::vector<std::string> groups;  // canonical assignments outside the space
  std::int64_t proposals = 0;       // of the group that has most
  bool shared = true;               // the same for every group
};

// An ExperimentPlan without its trials.
struct Outline {
  std::string description, dataset, matched;
  std::vector<std::string> factors, compared, matched_except;
  std::map<std::string, std::vector<PlannedValue>> values;
  std::map<std::string, PlannedValue> settings;
  std::vector<OutlineCell> cells;
  std::map<std::string, std::size_t> places;  // of the cells, by row key
  std::vector<std::int64_t> seeds;
  MetricContract metric;
  std::string evaluation_labels = "{}";                 // canonical
  std::map<std::string, std::set<std::string>> labels;  // that are planned: name -> values, canonical
  Json metrics = Json::array();  // what the catalog says of the task's metrics: name, unit, direction
  bool has_baseline = false;
  std::string tuned;  // for people, where a search proposed the cells: what choosing the best of them means
  std::optional<OutlineSearch> search;
  // Of an experiment with phases: which one this is, and all of them.
  std::string phase;
  std::vector<std::string> phases;
  std::size_t cells_of_all = 0;  // phases
  std::string chosen_by;  // for people, of a phase that uses a choice: "phase select, by mean top1 on validation"
  bool chooses = false;   // later phases use what this one chooses
};

// What a cell and its prior are called: by the plan, as labels may be made better after a cell was stored.
// The stored label where the plan no longer has the cell.
std::string label_of(const Outline& outline, const CellRow& cell);
std::string prior_label(const Outline& outline, const std::string& assignment_json);

absl::StatusOr<Outline> make_outline(const ExperimentPlan& plan, const Catalog& catalog);

}  // namespace locus
