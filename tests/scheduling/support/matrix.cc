// Submissions of small matrices: see matrix.h.
#include "tests/scheduling/support/matrix.h"

#include <algorithm>
#include <map>

#include "core/base/json.h"
#include "core/base/sha256.h"

namespace locus::testing {
namespace {

using Draft = ExperimentSubmitted::StageDraft;

std::string config(const std::string& kind, const std::string& cell, std::int64_t seed, const std::string& dataset) {
  Json out = {{"kind", kind}, {"prior", cell}, {"seed", seed}};
  if (!dataset.empty()) out["dataset"] = dataset;
  return canonical_json(out);
}

RequirementsPtr requirements(const std::string& kind, const std::string& cell, const std::string& dataset) {
  StageRequirements out{.revisions = {{"prior/" + cell, 1}, {"stage/" + kind, 1}}, .exclusive = kind == "measure"};
  if (!dataset.empty()) out.revisions["dataset/" + dataset] = 1;
  return std::make_shared<const StageRequirements>(std::move(out));
}

void look_up(std::map<std::string, Draft>& stages, Store& store) {
  std::vector<std::string> identities;
  for (const auto& [identity, unused] : stages) identities.push_back(identity);
  const auto known = store.stages_by_identity(identities).value();
  for (const auto& [identity, row] : known) {
    Draft& found = stages[identity];
    found.row = row;
    const auto checkpoints = store.checkpoints(row.id).value();
    if (!checkpoints.empty()) found.resume = checkpoints.back();
    if (terminal(row.state)) found.references = store.references(row.id).value();
  }
}

DecisionRow row_of(std::int64_t number, const std::string& kind) {
  DecisionRow row;
  row.number = number;
  row.kind = kind;
  return row;
}

// Links of trials that stay are kept as they are stored.
void keep_links(ExperimentSubmitted& event, const Matrix& matrix, Store& store) {
  if (event.row.id == 0) {
    event.decisions = AppendDecisions{.rows = {row_of(1, "begin")}};
    return;
  }
  const std::vector<TrialView> views = store.trials(event.row.id, -1, 1000).value();
  for (const TrialView& view : views) {
    const bool retired = std::any_of(event.trials.begin(), event.trials.end(), [&](const TrialRow& row) {
      return row.ordinal == view.trial.ordinal && row.retired;
    });
    if (retired) continue;
    for (const TrialStageView& stage : view.stages) {
      event.links.push_back({view.trial.ordinal, stage.link.role, stage.stage.identity, stage.link.until_step});
      const auto cell = Json::parse(stage.stage.config_json).at("prior").get<std::string>();
      event.stages[stage.stage.identity] = stage_draft(stage.stage.kind, cell, view.trial.seed, matrix.dataset);
    }
  }
}

}  // namespace

std::string train_identity(const std::string& cell, std::int64_t seed) {
  return sha256_hex("train/" + cell + "/" + std::to_string(seed));
}

std::string evaluate_identity(const std::string& cell, std::int64_t seed) {
  return sha256_hex("evaluate/" + cell + "/" + std::to_string(seed));
}

std::string measure_identity(const std::string& cell, std::int64_t seed) {
  return sha256_hex("measure/" + cell + "/" + std::to_string(seed));
}

ExperimentSubmitted::StageDraft stage_draft(const std::string& kind, const std::string& cell, std::int64_t seed,
                                            const std::string& dataset) {
  Draft result;
  result.row.identity = kind == "train"      ? train_identity(cell, seed)
                        : kind == "evaluate" ? evaluate_identity(cell, seed)
                                             : measure_identity(cell, seed);
  result.row.kind = kind;
  result.row.config_json = config(kind, cell, seed, dataset);
  result.row.seed = seed;
  result.row.requirements = requirements(kind, cell, dataset);
  if (kind == "evaluate") result.inputs.push_back({"checkpoint", train_identity(cell, seed)});
  return result;
}

ExperimentSubmitted submission(const Matrix& matrix, Store& store) {
  ExperimentSubmitted event;
  event.row.name = matrix.name;
  event.row.priority = matrix.priority;
  const std::string spec =
      matrix.stage_seconds == 0 ? "{}" : canonical_json({{"limits", {{"stage_seconds", matrix.stage_seconds}}}});
  std::map<std::string, std::int64_t> cells;                               // row key -> ordinal
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> ordinals;  // (cell, seed) -> ordinal
  if (auto stored = store.experiment(matrix.name); stored.ok()) {
    event.row = *stored;
    event.row.priority = matrix.priority;
    event.expected_revision = stored->revision;
    const std::vector<CellRow> stored_cells = store.cells(stored->id).value();
    const std::vector<TrialView> stored_trials = store.trials(stored->id, -1, 1000).value();
    for (const CellRow& cell : stored_cells) {
      cells[cell.row_key] = cell.ordinal;
      event.cells.push_back(cell);
    }
    for (const TrialView& view : stored_trials) {
      ordinals[{view.trial.cell, view.trial.seed}] = view.trial.ordinal;
      event.trials.push_back(view.trial);
      event.trials.back().retired = true;
    }
  }
  event.row.revision = event.expected_revision + 1;
  for (const std::string& cell : matrix.cells) {
    auto [place, added] = cells.try_emplace(cell, static_cast<std::int64_t>(cells.size()));
    if (added) event.cells.push_back({place->second, cell, cell, "{}"});
    for (std::int64_t seed : matrix.seeds) {
      const auto next = static_cast<std::int64_t>(ordinals.size());
      auto [trial, fresh] = ordinals.try_emplace({place->second, seed}, next);
      if (fresh) event.trials.push_back({trial->second, place->second, seed, false});
      for (TrialRow& row : event.trials) {
        if (row.ordinal == trial->second) row.retired = false;
      }
      if (matrix.searched) continue;
      const auto add = [&, ordinal = trial->second](const std::string& kind, const std::string& identity) {
        event.stages[identity] = stage_draft(kind, cell, seed, matrix.dataset);
        event.links.push_back({ordinal, kind, identity});
      };
      if (matrix.train) add("train", train_identity(cell, seed));
      if (matrix.train && matrix.evaluate) add("evaluate", evaluate_identity(cell, seed));
      if (matrix.measure) add("measure", measure_identity(cell, seed));
    }
  }
  event.row.spec_json = spec;
  event.row.stage_seconds = matrix.stage_seconds;
  event.row.owner = matrix.owner;
  event.row.service_class = matrix.service_class;
  event.row.placement = matrix.placement;
  if (matrix.searched) keep_links(event, matrix, store);
  look_up(event.stages, store);
  return event;
}

SearchDecided decided(const Matrix& matrix, const std::map<std::int64_t, std::int64_t>& wants, Store& store) {
  SearchDecided event;
  event.row = store.experiment(matrix.name).value();
  event.decisions.expected = store.search(event.row.id).value().decided;
  event.decisions.rows = {row_of(event.decisions.expected + 1, "advance")};
  std::map<std::int64_t, std::string> labels;
  const std::vector<CellRow> cells = store.cells(event.row.id).value();
  for (const CellRow& cell : cells) labels[cell.ordinal] = cell.label;
  const std::vector<TrialView> views = store.trials(event.row.id, -1, 1000).value();
  for (const TrialView& view : views) {
    const auto want = wants.find(view.trial.ordinal);
    if (want == wants.end()) continue;
    event.trials.push_back(view.trial);
    const std::string& cell = labels.at(view.trial.cell);
    const std::int64_t seed = view.trial.seed;
    const auto add = [&](const std::string& kind, const std::string& identity, std::int64_t until) {
      event.stages[identity] = stage_draft(kind, cell, seed, matrix.dataset);
      event.links.push_back({view.trial.ordinal, kind, identity, until});
    };
    add("train", train_identity(cell, seed), want->second);
    const bool linked = view.stages.size() > 1;
    if (!matrix.evaluate || (want->second != kToTheEnd && !linked)) continue;
    add("evaluate", evaluate_identity(cell, seed), want->second == kToTheEnd ? kToTheEnd : kNoFurther);
  }
  look_up(event.stages, store);
  return event;
}

StagesRerun rerun_of(const std::string& experiment, std::int64_t trial, Store& store) {
  StagesRerun event;
  event.row = store.experiment(experiment).value();
  event.cells = static_cast<std::int64_t>(store.cells(event.row.id).value().size());
  const std::vector<TrialView> views = store.trials(event.row.id, -1, 1000).value();
  for (const TrialView& view : views) {
    if (view.trial.retired || (trial >= 0 && view.trial.ordinal != trial)) continue;
    event.trials.push_back(view.trial);
    for (const TrialStageView& stage : view.stages) {
      Draft& draft = event.stages[stage.stage.identity];
      draft.row = stage.stage;
      draft.inputs.clear();
      for (const StageInput& input : stage.stage.inputs)
        draft.inputs.push_back({input.slot, store.stage(input.from_stage).value().identity});
      const auto checkpoints = store.checkpoints(stage.stage.id).value();
      if (!checkpoints.empty()) draft.resume = checkpoints.back();
      event.links.push_back({view.trial.ordinal, stage.link.role, stage.stage.identity, stage.link.until_step});
      if (terminal(stage.stage.state)) draft.references = store.references(stage.stage.id).value();
    }
  }
  const auto search = store.search(event.row.id);
  event.search_running = search.ok() && search->state == SearchState::kRunning;
  return event;
}

}  // namespace locus::testing
