// The outlines of stored experiments.
#include "server/analysis/outline_cache.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/invalid.h"
#include "core/base/text.h"
#include "core/experiment/plan/proposed.h"

namespace locus::server {
namespace {

constexpr std::size_t kOutlinesKept = 4096, kCellsKept = 100'000;  // some tens of MB at most

// Canonical JSON is without spaces. A description that says so costs one look at the cells.
bool of_a_client(const ExperimentRow& row) {
  return row.spec_json.find("\"propose\":\"external\"") != std::string::npos;
}

absl::StatusOr<std::size_t> place_of(const ProtocolPlan& plan, const std::string& phase) {
  if (phase.empty()) return plan.phases.size() - 1;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < plan.phases.size(); ++i) {
    if (plan.phases[i].name == phase) return i;
    if (!plan.phases[i].name.empty()) names.push_back(plan.phases[i].name);
  }
  return invalid("phase", "the experiment has no phase '" + phase + "'" +
                              (names.empty() ? "; it has no phases at all" : "; it has: " + joined(names)));
}

// Row keys as they are stored, and the values that are still to be chosen.
void tell_phase(const ProtocolPlan& plan, std::size_t place, Outline* out) {
  const PlannedPhase& phase = plan.phases[place];
  out->phase = phase.name;
  out->chooses = phase.choose.has_value();
  out->cells_of_all = 0;
  for (const PlannedPhase& one : plan.phases) out->cells_of_all += one.plan.cells.size();
  for (const PlannedPhase& one : plan.phases) {
    if (plan.phases.size() > 1) out->phases.push_back(one.name);
  }
  if (plan.phases.size() < 2) return;
  out->places.clear();
  for (std::size_t i = 0; i < out->cells.size(); ++i) {
    out->cells[i].row_key = phase_row_key(out->cells[i].row_key, phase.name);
    out->places.emplace(out->cells[i].row_key, i);
  }
  std::vector<std::string> by;
  for (const PhaseUse& use : phase.use) {
    const PlannedPhase& chooser = plan.phases[use.phase];
    const std::string value = canonical_json(Json{{"$chosen", chooser.name}});
    out->settings[use.path] = {value, value, "chosen by " + chooser.name};
    const MetricContract& contract = chooser.plan.metric;
    std::string text = "phase " + chooser.name + ", by " + to_string(chooser.choose->by) + " " + contract.name +
                       " on " + contract.selects_on;
    if (std::find(by.begin(), by.end(), text) == by.end()) by.push_back(std::move(text));
  }
  out->chosen_by = joined(by, "; ");
}

}  // namespace

absl::StatusOr<Outline> OutlineCache::make(const ExperimentRow& row, const std::string& phase,
                                           const std::vector<CellRow>& proposed) {
  LOCUS_ASSIGN_OR_RETURN(const std::string document, store_.catalog(row.catalog_digest));
  LOCUS_ASSIGN_OR_RETURN(const Catalog catalog, Catalog::parse(Json::parse(document, nullptr, false)));
  const Json specification = Json::parse(row.spec_json, nullptr, /*allow_exceptions=*/false);
  LOCUS_ASSIGN_OR_RETURN(ProtocolPlan plan, plan_protocol(specification, catalog));
  if (const PhaseProposals cells = proposed_of(plan.phases, proposed); !cells.empty()) {
    LOCUS_ASSIGN_OR_RETURN(plan, plan_protocol(specification, catalog, cells));
  }
  LOCUS_ASSIGN_OR_RETURN(const std::size_t place, place_of(plan, phase));
  LOCUS_ASSIGN_OR_RETURN(Outline out, make_outline(plan.phases[place].plan, catalog));
  tell_phase(plan, place, &out);
  return out;
}

absl::StatusOr<std::shared_ptr<const Outline>> OutlineCache::get(const ExperimentRow& row, const std::string& phase) {
  std::vector<CellRow> proposed;
  if (of_a_client(row)) {
    LOCUS_ASSIGN_OR_RETURN(proposed, store_.cells(row.id));
  }
  const Key key{row.id, row.revision, phase, proposed.size()};
  {
    absl::MutexLock lock(&mutex_);
    const auto found =
        std::find_if(recent_.begin(), recent_.end(), [&](const auto& entry) { return entry.first == key; });
    if (found != recent_.end()) {
      recent_.splice(recent_.begin(), recent_, found);
      return found->second;
    }
  }
  LOCUS_ASSIGN_OR_RETURN(Outline outline, make(row, phase, proposed));
  auto shared = std::make_shared<const Outline>(std::move(outline));
  absl::MutexLock lock(&mutex_);
  recent_.emplace_front(key, shared);
  cells_ += shared->cells.size();
  while (recent_.size() > 1 && (recent_.size() > kOutlinesKept || cells_ > kCellsKept)) {
    cells_ -= recent_.back().second->cells.size();
    recent_.pop_back();
  }
  return shared;
}

}  // namespace locus::server
