// What the simulation's searches are: see search_script.h.
#include "tests/simulation/search_script.h"

#include "core/base/json.h"

namespace locus::simulation {
namespace {

Search search_of(const Json& spec, std::int64_t seeds) {
  const std::string rule = spec.at("rule").get<std::string>();
  Search search;
  search.proposer = rule == "external" ? Proposer::kExternal : Proposer::kGrid;
  search.parallel = spec.at("parallel").get<std::int64_t>();
  if (const auto budget = spec.at("budget").get<std::int64_t>(); budget > 0)
    search.budget.epochs = static_cast<double>(budget);
  Advance& advance = search.advance;
  advance.unit = spec.at("by_trial").get<bool>() ? SearchUnit::kTrial : SearchUnit::kCell;
  advance.rungs = {2, 6, kTrainingSteps};
  if (rule == "halve") advance.rule = AdvanceRule::kHalve;
  if (rule == "asha") advance.rule = AdvanceRule::kAsha;
  if (rule == "hyperband") {
    advance.rule = AdvanceRule::kHyperband;
    advance.brackets = hyperband(kTrainingSteps, 3, 2);
    advance.rungs.clear();
  }
  if (rule == "race") {
    advance.rule = AdvanceRule::kRace;
    advance.resource = SearchResource::kSeeds;
    advance.rungs.clear();
    advance.race.terms = {.delta = 0.3, .alpha = 0.1, .first = 2};
    advance.race.most = seeds;
  }
  if (rule == "median") search.stops.push_back({MedianRule{.after = 1, .from = 3}, "", "search.stop[0].median"});
  return search;
}

}  // namespace

bool waits(const std::string& rule) { return rule == "halve" || rule == "hyperband" || rule == "race"; }

std::string specification(const SearchPlan& plan) {
  Json spec = {{"search",
                {{"rule", plan.rule},
                 {"by_trial", plan.by_trial},
                 {"parallel", plan.parallel},
                 {"budget", plan.budget},
                 {"retrains", plan.retrains},
                 {"evaluate", plan.matrix.evaluate}}}};
  if (plan.matrix.stage_seconds > 0) spec["limits"]["stage_seconds"] = plan.matrix.stage_seconds;
  return canonical_json(spec);
}

std::string retrained(const std::string& cell) { return cell + "-again"; }

bool searched(const ExperimentRow& row) { return Json::parse(row.spec_json).contains("search"); }

absl::StatusOr<std::size_t> SimulatedScript::phases(const ExperimentRow& experiment) {
  return Json::parse(experiment.spec_json).at("search").at("retrains").get<bool>() ? 2 : 1;
}

absl::StatusOr<SearchSetup> SimulatedScript::setup(const ExperimentRow& experiment, std::size_t phase,
                                                   std::span<const std::vector<ChosenCandidate>> choices) {
  const Json spec = Json::parse(experiment.spec_json).at("search");
  const std::vector<TrialView> views = store_.trials(experiment.id, -1, 1000).value();
  const std::vector<CellRow> rows = store_.cells(experiment.id).value();
  std::map<std::int64_t, std::string> labels;
  for (const CellRow& row : rows) labels[row.ordinal] = row.label;
  std::map<std::int64_t, std::vector<std::int64_t>> cells;
  for (const TrialView& view : views) {
    const bool of_phase = (labels.at(view.trial.cell) == kChosenCell) == (phase == 1);
    if (!view.trial.retired && of_phase) cells[view.trial.cell].push_back(view.trial.ordinal);
  }
  if (phase == 1 && choices[0].front().candidate.empty()) cells.clear();  // nobody was left
  SearchSetup setup;
  setup.phases = spec.at("retrains").get<bool>() ? 2 : 1;
  setup.groups = {"{}"};
  SearchChoiceGroup group{"{}", {}};
  std::size_t seeds = 0;
  for (const auto& [cell, trials] : cells) {
    seeds = std::max(seeds, trials.size());
    const std::int64_t proposal = setup.units.empty() ? 0 : setup.units.back().proposal + 1;
    SearchCandidate candidate{labels.at(cell), {}};
    const auto add = [&, &cell = cell](const std::vector<std::int64_t>& unit) {
      candidate.units.push_back(std::ssize(setup.units));
      setup.units.push_back({0, proposal, cell, unit});
    };
    if (spec.at("by_trial").get<bool>()) {
      for (const std::int64_t trial : trials) add({trial});
    } else {
      add(trials);
    }
    group.candidates.push_back(std::move(candidate));
  }
  if (setup.phases > 1) setup.phase = phase == 0 ? "select" : "final";
  if (setup.phases > 1 && phase == 0) setup.choose = SearchChoiceTerms{"mean", std::nullopt, {group}};
  if (phase == 0) setup.search = search_of(spec, static_cast<std::int64_t>(seeds));
  if (forgets_budget_) setup.search.budget = {};
  setup.metric = "loss";
  setup.split = "train";
  setup.maximize = false;
  setup.steps_per_epoch = 1;
  setup.last_step = kTrainingSteps;
  setup.validate_every = 1;
  return setup;
}

absl::StatusOr<std::map<std::int64_t, TrialStages>> SimulatedScript::stages(
    const ExperimentRow& experiment, std::span<const std::int64_t> trials,
    std::span<const std::vector<ChosenCandidate>> choices) {
  const bool evaluate = Json::parse(experiment.spec_json).at("search").at("evaluate").get<bool>();
  std::map<std::int64_t, std::string> labels;
  const std::vector<CellRow> cells = store_.cells(experiment.id).value();
  for (const CellRow& cell : cells) labels[cell.ordinal] = cell.label;
  std::map<std::int64_t, TrialRow> rows;
  const std::vector<TrialView> views = store_.trials(experiment.id, -1, 1000).value();
  for (const TrialView& view : views) rows[view.trial.ordinal] = view.trial;
  std::map<std::int64_t, TrialStages> out;
  for (const std::int64_t trial : trials) {
    const auto row = rows.find(trial);
    if (row == rows.end()) continue;  // proposed in the same event: nothing of it is stored
    std::string cell = labels.at(row->second.cell);
    if (cell == kChosenCell) {
      if (choices.empty() || choices[0].empty() || choices[0].front().candidate.empty()) continue;
      cell = retrained(choices[0].front().candidate) + (uses_another_ ? "-or-not" : "");
    }
    const std::vector<std::string> kinds =
        evaluate ? std::vector<std::string>{"train", "evaluate"} : std::vector<std::string>{"train"};
    for (const std::string& kind : kinds) {
      const std::string identity = kind == "train" ? testing::train_identity(cell, row->second.seed)
                                                   : testing::evaluate_identity(cell, row->second.seed);
      const ExperimentSubmitted::StageDraft draft = testing::stage_draft(kind, cell, row->second.seed);
      out[trial].stages.push_back(
          {kind, kind, identity, draft.row.config_json, draft.row.seed, draft.inputs, draft.row.requirements});
    }
  }
  return out;
}

}  // namespace locus::simulation
