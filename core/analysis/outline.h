// What a specification says about its experiment, for views and tables. Pure.
#pragma once

#include <map>
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
};

// What a cell and its prior are called: by the plan, as labels may be made better after a cell was stored.
// The stored label where the plan no longer has the cell.
std::string label_of(const Outline& outline, const CellRow& cell);
std::string prior_label(const Outline& outline, const std::string& assignment_json);

absl::StatusOr<Outline> make_outline(const ExperimentPlan& plan, const Catalog& catalog);

}  // namespace locus
