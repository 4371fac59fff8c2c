// Makes a wish of a client's cells.
#include "server/application/proposed_wish.h"

#include <optional>

#include "core/base/error.h"

namespace locus::server {
namespace {

// The search's cells of this plan become the wish's, their trials its trials, by place.
void fill_wish(const ExperimentPlan& plan, ProposeDecision& propose, SearchWish& wish) {
  const bool by_trial = plan.search->search.advance.unit == SearchUnit::kTrial;
  for (std::size_t i = 0; i < plan.cells.size(); ++i) {
    const PlannedCell& cell = plan.cells[i];
    wish.cells.push_back({static_cast<std::int64_t>(i), cell.row_key, cell.label, cell.assignment_json});
  }
  std::vector<SearchUnitRow> units(plan.cells.size());
  for (std::size_t i = 0; i < plan.trials.size(); ++i) {
    const PlannedTrial& trial = plan.trials[i];
    wish.trials.push_back({static_cast<std::int64_t>(i), trial.cell, trial.seed, false});
    const SearchPlace& place = plan.cells[static_cast<std::size_t>(trial.cell)].search;
    SearchUnitRow& unit = units[static_cast<std::size_t>(trial.cell)];
    unit.group = place.group;
    unit.proposal = place.proposal;
    unit.cell = trial.cell;
    unit.trials.push_back(static_cast<std::int64_t>(i));
    if (!by_trial) continue;
    propose.added.push_back(unit);
    unit.trials.clear();
  }
  if (by_trial) return;
  for (SearchUnitRow& unit : units) propose.added.push_back(std::move(unit));
}

}  // namespace

absl::StatusOr<SearchWish> proposed_wish(Store& store, const Catalog& catalog, const ExperimentRow& row,
                                         const ProposedCells& cells, const std::string& proposer) {
  std::optional<Catalog> former;
  if (row.catalog_digest != catalog.digest()) {
    LOCUS_ASSIGN_OR_RETURN(const std::string document, store.catalog(row.catalog_digest));
    LOCUS_ASSIGN_OR_RETURN(former, Catalog::parse(Json::parse(document, nullptr, false)));
  }
  const Json spec = Json::parse(row.spec_json, nullptr, /*allow_exceptions=*/false);
  LOCUS_ASSIGN_OR_RETURN(const ExperimentPlan plan, plan_proposed(spec, former ? *former : catalog, cells));
  if (!plan.search || plan.search->search.proposer != Proposer::kExternal) {
    return make_error(absl::StatusCode::kFailedPrecondition, ErrorReason::kWrongState,
                      "the search of experiment " + row.name +
                          " draws its own proposals; write propose: external to have them come from a client",
                      "experiment");
  }
  SearchWish wish;
  ProposeDecision propose;
  propose.proposer = {{"name", proposer}};
  fill_wish(plan, propose, wish);
  wish.decision = std::move(propose);
  return wish;
}

}  // namespace locus::server
