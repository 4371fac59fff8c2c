// Makes a wish of a client's cells.
#include "server/application/proposed_wish.h"

#include <optional>

#include "core/base/error.h"
#include "server/application/planned_phases.h"

namespace locus::server {
namespace {

// The cells of the phase become the wish's, their trials its trials, by place.
void fill_wish(const PlannedExperiment& planned, std::size_t phase, const Catalog& catalog, ProposeDecision& propose,
               SearchWish& wish) {
  const ExperimentPlan& whole = planned.whole;
  const bool last = phase + 1 == planned.phases.size();
  const std::size_t cells_end = last ? whole.cells.size() : planned.first_cell[phase + 1];
  const std::size_t trials_end = last ? whole.trials.size() : planned.first_trial[phase + 1];
  const auto first = static_cast<std::int64_t>(planned.first_cell[phase]);
  StoredPlaces places;
  for (std::size_t i = planned.first_cell[phase]; i < cells_end; ++i) {
    const PlannedCell& cell = whole.cells[i];
    wish.cells.push_back({static_cast<std::int64_t>(i) - first, cell.row_key, cell.label, cell.assignment_json});
    places.cells[cell.row_key] = wish.cells.back().ordinal;
  }
  for (std::size_t i = planned.first_trial[phase]; i < trials_end; ++i) {
    const PlannedTrial& trial = whole.trials[i];
    const auto place = std::ssize(wish.trials);
    wish.trials.push_back({place, trial.cell - first, trial.seed, false});
    places.trials[{trial.cell - first, trial.seed}] = place;
  }
  SearchSetup setup = phase_setup(planned, phase, places, catalog);
  propose.added = std::move(setup.units);
  if (setup.choose) propose.choices = std::move(setup.choose->groups);
}

}  // namespace

absl::StatusOr<SearchWish> proposed_wish(Store& store, const Catalog& catalog, const ExperimentRow& row,
                                         const Fold& fold, const ProposedCells& cells, const std::string& proposer) {
  std::optional<Catalog> former;
  if (row.catalog_digest != catalog.digest()) {
    LOCUS_ASSIGN_OR_RETURN(const std::string document, store.catalog(row.catalog_digest));
    LOCUS_ASSIGN_OR_RETURN(former, Catalog::parse(Json::parse(document, nullptr, false)));
  }
  const Catalog& of_row = former ? *former : catalog;
  const std::size_t phase = fold.present().value_or(0);
  if (fold.phases() == 0 || fold.setup(phase).search.proposer != Proposer::kExternal) {
    const std::string name = fold.phases() == 0 ? "" : fold.setup(phase).phase;
    return make_error(absl::StatusCode::kFailedPrecondition, ErrorReason::kWrongState,
                      (name.empty() ? "the search of experiment " + row.name
                                    : "the phase '" + name + "' of experiment " + row.name + ", which is under way,") +
                          " draws its own proposals; write propose: external to have them come from a client",
                      "experiment");
  }
  std::vector<std::vector<ChosenCandidate>> choices(phase);
  for (std::size_t i = 0; i < phase; ++i) {
    if (const auto* chosen = fold.choice(i)) choices[i] = *chosen;
  }
  const Json spec = Json::parse(row.spec_json, nullptr, /*allow_exceptions=*/false);
  LOCUS_ASSIGN_OR_RETURN(const PlannedExperiment planned,
                         plan_whole(spec, of_row, choices, {{fold.setup(phase).phase, cells}}));
  SearchWish wish;
  ProposeDecision propose;
  propose.proposer = {{"name", proposer}};
  fill_wish(planned, phase, of_row, propose, wish);
  wish.decision = std::move(propose);
  return wish;
}

}  // namespace locus::server
