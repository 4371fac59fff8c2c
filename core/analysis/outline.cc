// What a specification says about its experiment.
#include "core/analysis/outline.h"

#include <algorithm>

#include "core/base/error.h"

namespace locus {
namespace {

// What the task scores by, then what the kinds of stages report beside: each name once, the task's first.
Json declared_metrics(const ExperimentPlan& plan, const Catalog& catalog) {
  Json out = Json::array();
  const auto add = [&](const CatalogItem* item) {
    if (item == nullptr || !item->facts.contains("metrics")) return;
    for (const Json& metric : item->facts["metrics"]) {
      const auto same = [&](const Json& one) { return one.value("name", "") == metric.value("name", ""); };
      if (std::none_of(out.begin(), out.end(), same)) out.push_back(metric);
    }
  };
  add(catalog.find("task", plan.task));
  for (const CatalogItem& item : catalog.items()) {
    if (item.kind == "stage") add(&item);
  }
  return out;
}

// By prior; where all cells have the same, by cell.
void give_looks(const std::vector<PlannedCell>& planned, std::vector<OutlineCell>* cells) {
  std::map<int, int> counts;  // cells so far, by hue
  const bool alike = std::all_of(planned.begin(), planned.end(),
                                 [&](const PlannedCell& cell) { return cell.prior == planned.front().prior; });
  for (std::size_t i = 0; i < planned.size(); ++i) {
    const int prior = planned[i].prior;
    (*cells)[i].look = alike ? Look{prior + static_cast<int>(i), 0} : Look{prior, counts[prior]++};
  }
}

// The best of several reads high even where all are equal, and the more so the more there are.
std::string tuning_text(const ExperimentPlan& plan) {
  if (!plan.search || plan.search->proposals < 2) return "";
  const std::string number = std::to_string(plan.search->proposals);
  const std::size_t groups = plan.search->groups.size();
  const std::string best = "best of " + number + " proposals";
  if (groups < 2) return "the first row is the " + best + ", which by itself reads high";
  const bool shared = plan.search->search.shared || plan.search->search.space.empty();
  return "the best row of each of " + std::to_string(groups) + " groups is the " + best +
         (shared ? ", the same " + number + " for all" : ", drawn for each of them") + ", and by itself reads high";
}

}  // namespace

absl::StatusOr<Outline> make_outline(const ExperimentPlan& plan, const Catalog& catalog) {
  Outline out;
  out.description = plan.description;
  out.dataset = plan.dataset;
  out.matched = plan.matched;
  out.factors = plan.factors;
  out.compared = plan.compared;
  out.matched_except = plan.matched_except;
  out.values = plan.values;
  out.settings = plan.settings;
  out.seeds = plan.seeds;
  out.metric = plan.metric;
  out.has_baseline = plan.has_baseline;
  out.tuned = tuning_text(plan);
  if (plan.search) {
    out.search = OutlineSearch{{}, plan.search->groups, plan.search->proposals, plan.search->search.shared};
    for (const Dimension& one : plan.search->search.space) out.search->space.push_back(one.path);
  }
  out.evaluation_labels = canonical_json(plan.evaluation_labels);
  out.labels = plan.labels;
  out.metrics = declared_metrics(plan, catalog);
  for (const PlannedCell& cell : plan.cells) {
    out.places.emplace(cell.row_key, out.cells.size());
    out.cells.push_back(
        {cell.row_key, cell.label, cell.assignment_json, cell.baseline, cell.pair_group, {}, cell.search.group});
  }
  out.cells_of_all = out.cells.size();
  give_looks(plan.cells, &out.cells);
  return out;
}

std::string label_of(const Outline& outline, const CellRow& cell) {
  const auto place = outline.places.find(cell.row_key);
  return place == outline.places.end() ? cell.label : outline.cells[place->second].label;
}

std::string prior_label(const Outline& outline, const std::string& assignment_json) {
  if (const auto fixed = outline.settings.find("prior"); fixed != outline.settings.end()) return fixed->second.label;
  const Json assignment = Json::parse(assignment_json, nullptr, /*allow_exceptions=*/false);
  const auto known = outline.values.find("prior");
  if (!assignment.is_object() || !assignment.contains("prior") || known == outline.values.end()) return "";
  const std::string key = canonical_json(assignment["prior"]);
  for (const PlannedValue& value : known->second) {
    if (value.value == key) return value.label;
  }
  return "";
}

}  // namespace locus
