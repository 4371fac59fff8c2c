// From a specification to a stored experiment.
#include "server/application/submission.h"

#include <algorithm>

#include "core/analysis/queries.h"
#include "core/base/error.h"
#include "core/base/json_document.h"
#include "core/experiment/labels.h"
#include "core/limits.h"
#include "server/application/admission.h"
#include "server/application/forecast.h"
#include "server/application/planned_search.h"
#include "server/application/stored_stage.h"
#include "server/application/submitted_search.h"
#include "server/authority/ownership.h"
#include "server/wire/convert.h"

namespace locus::server {
namespace {

constexpr int kTries = 5;           // a submission raced by the scheduler looks again
constexpr int kTriesOffStrand = 2;  // then it holds the scheduler still while it looks
constexpr int kCellsListed = 1000;

struct Tally {
  std::int64_t total = 0, done = 0, running = 0, to_run = 0;
};

void count(const std::map<std::string, StageRow>& stored, const std::string& identity, Tally* tally) {
  ++tally->total;
  const auto found = stored.find(identity);
  const bool known = found != stored.end();
  if (known && found->second.state == StageState::kSucceeded) {
    ++tally->done;
  } else if (known && found->second.state == StageState::kRunning) {
    ++tally->running;
  } else {
    ++tally->to_run;
  }
}

absl::Status exists_error(const std::string& name, const Merge& merged) {
  const std::string what = merged.removed > 0   ? "drop " + std::to_string(merged.removed) + " of its trials"
                           : merged.changed > 0 ? "change what " + std::to_string(merged.changed) + " of its trials run"
                                                : "change the rules of its search";
  return make_error(absl::StatusCode::kAlreadyExists, ErrorReason::kExperimentExists,
                    "an experiment named \"" + name + "\" is stored and this specification would " + what +
                        "; give it another name, or allow it with replace (--replace)",
                    "name",
                    {{"name", name},
                     {"trials_removed", std::to_string(merged.removed)},
                     {"trials_changed", std::to_string(merged.changed)}});
}

// True if the trial's results so far would no longer be its own. A stage more changes none of them, and one that its search
// wants no further has none that count.
bool redefined(const TrialView& before, const PlannedTrial& after) {
  return std::any_of(before.stages.begin(), before.stages.end(), [&](const TrialStageView& old) {
    return old.link.until_step != kNoFurther &&
           std::none_of(after.stages.begin(), after.stages.end(), [&](const PlannedStage& stage) {
             return stage.role == old.link.role && stage.identity == old.stage.identity;
           });
  });
}

bool retryable(const absl::Status& status) { return has_reason(status, ErrorReason::kWrongState); }

// Whose the experiment becomes: where callers are known, that of their account.
absl::Status settle_owner(const Principal& who, const Merge& merged, v1::CreateExperimentRequest* request) {
  if (unasked(who)) return absl::OkStatus();
  if (merged.exists && !may_change_of(who, merged.stored.owner))
    return not_own(who, "experiment '" + merged.stored.name + "'", merged.stored.owner);
  if (request->owner().empty() && !merged.exists) request->set_owner(who.account);
  if (request->owner().empty() || may_change_of(who, request->owner())) return absl::OkStatus();
  return not_own(who, "what is submitted with --owner '" + request->owner() + "'", request->owner());
}

}  // namespace

absl::StatusOr<PlannedExperiment> Submissions::read(const std::string& spec_json) {
  if (spec_json.empty()) {
    return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kMissingKey,
                      "spec_json is empty; send the specification as JSON", "spec_json");
  }
  if (static_cast<std::int64_t>(spec_json.size()) > kSpecBytes) {
    return make_error(absl::StatusCode::kResourceExhausted, ErrorReason::kLimitExceeded,
                      "the specification has " + std::to_string(spec_json.size()) + " bytes; at most " +
                          std::to_string(kSpecBytes) + " are taken, shorten it",
                      "spec_json", {{"bytes", std::to_string(spec_json.size())}, {"most", std::to_string(kSpecBytes)}});
  }
  LOCUS_ASSIGN_OR_RETURN(const Json spec, parse_json(spec_json, ErrorReason::kInvalidSpecification, ""));
  const std::shared_ptr<const Catalog> catalog = catalogs_.current();
  LOCUS_ASSIGN_OR_RETURN(PlannedExperiment planned, plan_whole(spec, *catalog));
  planned.catalog = catalog;
  if (!planned.searched) return planned;
  const auto row = store_.experiment(planned.whole.name);
  if (absl::IsNotFound(row.status())) return planned;
  LOCUS_RETURN_IF_ERROR(row.status());
  LOCUS_ASSIGN_OR_RETURN(const Fold fold, stored_fold(store_, row->id));
  std::vector<std::vector<ChosenCandidate>> choices(fold.phases());
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (const auto* chosen = fold.choice(i)) choices[i] = *chosen;
  }
  LOCUS_ASSIGN_OR_RETURN(const auto cells, store_.cells(row->id));
  const PhaseProposals proposed = proposed_of(planned.phases, cells);
  if (choices.empty() && proposed.empty()) return planned;
  auto with_them = plan_whole(spec, *catalog, choices, proposed);
  if (!with_them.ok()) return planned;  // what no longer fits is dropped, which needs replace
  with_them->catalog = catalog;
  return with_them;
}

// Trials are matched by their cell's key and their seed; what is stored keeps its ordinal for ever.
absl::StatusOr<Merge> Submissions::merge(const ExperimentPlan& plan) {
  Merge out;
  std::vector<TrialView> before;
  std::map<std::string, std::int64_t> cell_ordinals;
  std::int64_t next_cell = 0, next_trial = 0;
  if (auto row = store_.experiment(plan.name); row.ok()) {
    out.exists = true;
    out.stored = *std::move(row);
    LOCUS_ASSIGN_OR_RETURN(const auto cells, store_.cells(out.stored.id));
    for (const CellRow& cell : cells) {
      cell_ordinals[cell.row_key] = cell.ordinal;
      next_cell = std::max(next_cell, cell.ordinal + 1);
    }
    LOCUS_ASSIGN_OR_RETURN(before, all_trials(store_, out.stored.id));
  } else if (!absl::IsNotFound(row.status())) {
    return row.status();
  }
  for (const PlannedCell& cell : plan.cells) {
    const auto [found, fresh] = cell_ordinals.try_emplace(cell.row_key, next_cell);
    if (fresh) ++next_cell;
    out.cells.push_back({found->second, cell.row_key, cell.label, cell.assignment_json});
  }
  std::map<std::pair<std::int64_t, std::int64_t>, const TrialView*> known;  // (cell, seed)
  for (const TrialView& view : before) {
    known[{view.trial.cell, view.trial.seed}] = &view;
    next_trial = std::max(next_trial, view.trial.ordinal + 1);
  }
  std::set<std::int64_t> kept;
  for (const PlannedTrial& trial : plan.trials) {
    const std::int64_t cell = out.cells[static_cast<std::size_t>(trial.cell)].ordinal;
    const auto found = known.find({cell, trial.seed});
    const bool live = found != known.end() && !found->second->trial.retired;
    const std::int64_t ordinal = found != known.end() ? found->second->trial.ordinal : next_trial++;
    if (!live) ++out.added;
    if (live && redefined(*found->second, trial)) ++out.changed;
    kept.insert(ordinal);
    out.ordinals.push_back(ordinal);
    out.trials.push_back({ordinal, cell, trial.seed, false});
  }
  for (TrialView& view : before) {
    const std::int64_t ordinal = view.trial.ordinal;
    out.before[ordinal] = view;
    if (view.trial.retired || kept.count(ordinal) > 0) continue;
    ++out.removed;
    out.trials.push_back(view.trial);
    out.trials.back().retired = true;
  }
  return out;
}

absl::StatusOr<std::map<std::string, StageRow>> Submissions::stored_stages(const ExperimentPlan& plan) {
  std::set<std::string> identities;
  for (const PlannedTrial& trial : plan.trials) {
    for (const PlannedStage& stage : trial.stages) identities.insert(stage.identity);
  }
  const std::vector<std::string> list(identities.begin(), identities.end());
  return store_.stages_by_identity(list);
}

absl::StatusOr<v1::Plan> Submissions::plan(const v1::PlanExperimentRequest& request) {
  LOCUS_ASSIGN_OR_RETURN(const PlannedExperiment planned, read(request.spec_json()));
  const ExperimentPlan& plan = planned.whole;
  LOCUS_ASSIGN_OR_RETURN(const Merge merged, merge(plan));
  LOCUS_ASSIGN_OR_RETURN(const auto stored, stored_stages(plan));
  v1::Plan out;
  out.set_name(plan.name);
  out.set_cells(static_cast<int>(plan.cells.size()));
  out.set_trials(static_cast<int>(plan.trials.size()));
  out.set_exists(merged.exists);
  out.set_trials_added(static_cast<int>(merged.added));
  out.set_trials_removed(static_cast<int>(merged.removed));
  out.set_trials_changed(static_cast<int>(merged.changed));
  for (const auto& warning : plan.warnings) out.add_warnings(warning);
  Tally all;
  std::map<std::string, Tally> kinds;
  std::vector<Tally> cells(plan.cells.size());
  std::vector<int> trials(plan.cells.size());
  std::set<std::string> seen;
  for (const PlannedTrial& trial : plan.trials) {
    const auto cell = static_cast<std::size_t>(trial.cell);
    ++trials[cell];
    for (const PlannedStage& stage : trial.stages) {
      count(stored, stage.identity, &cells[cell]);
      if (!seen.insert(stage.identity).second) continue;
      count(stored, stage.identity, &all);
      count(stored, stage.identity, &kinds[stage.kind]);
    }
  }
  out.set_stages_total(static_cast<int>(all.total));
  out.set_stages_done(static_cast<int>(all.done));
  out.set_stages_running(static_cast<int>(all.running));
  out.set_stages_to_run(static_cast<int>(all.to_run));
  for (std::size_t i = 0; i < plan.cells.size() && i < kCellsListed; ++i) {
    auto* cell = out.add_cell_list();
    cell->set_label(plan.cells[i].label);
    cell->set_assignment_json(plan.cells[i].assignment_json);
    cell->set_trials(trials[i]);
    cell->set_stages_done(static_cast<int>(cells[i].done));
    cell->set_stages_to_run(static_cast<int>(cells[i].to_run + cells[i].running));
  }
  for (const auto& [kind, tally] : kinds) {
    auto* item = out.add_kinds();
    item->set_kind(kind);
    item->set_total(static_cast<int>(tally.total));
    item->set_done(static_cast<int>(tally.done));
    item->set_to_run(static_cast<int>(tally.to_run + tally.running));
  }
  if (plan.search) *out.mutable_search() = planned_search(plan);
  add_phases(planned, stored, &out);
  LOCUS_RETURN_IF_ERROR(warn_of_choices(planned, merged, &out));
  const Fleet fleet =
      coordinator_.inspect<Fleet>([](const Coordinator::LiveState& live) { return live.scheduler.fleet(); });
  LOCUS_RETURN_IF_ERROR(add_forecast(store_, *planned.catalog, fleet, plan, stored, &out));
  return out;
}

absl::StatusOr<Event> Submissions::draft(const PlannedExperiment& planned, const Merge& merged,
                                         const v1::CreateExperimentRequest& request, ReplyToken reply) {
  const ExperimentPlan& plan = planned.whole;
  LOCUS_ASSIGN_OR_RETURN(const auto stored, stored_stages(plan));
  ExperimentSubmitted event;
  event.reply = reply;
  event.request_id = request.request_id();
  event.expected_revision = merged.exists ? merged.stored.revision : 0;
  event.row = merged.exists ? merged.stored : ExperimentRow{};
  event.row.name = plan.name;
  if (!merged.exists || !request.owner().empty()) event.row.owner = request.owner();
  event.row.spec_json = plan.spec_json;
  event.row.revision = event.expected_revision + 1;
  event.row.priority = plan.priority;
  event.row.service_class = plan.service_class;
  event.row.placement = with_settled(plan.placement, merged.stored.placement);
  event.row.stage_seconds = plan.stage_seconds;
  event.row.catalog_digest = planned.catalog->digest();
  if (!merged.exists) event.row.created_us = clock_.wall();
  event.cells = merged.cells;
  event.trials = merged.trials;
  if (planned.searched) {  // which of its trials run, and how far, its search decides
    LOCUS_ASSIGN_OR_RETURN(SearchBegin begin, begin_of(planned, merged));
    if (!begin.rows.empty())
      event.decisions = AppendDecisions{merged.stored.id, begin.expected, std::move(begin.rows), SearchState::kRunning};
    LOCUS_RETURN_IF_ERROR(keep_links(planned, merged, begin.anew, event));
    return Event(std::move(event));
  }
  for (std::size_t i = 0; i < plan.trials.size(); ++i) {
    for (const PlannedStage& stage : plan.trials[i].stages) {
      event.links.push_back({merged.ordinals[i], stage.role, stage.identity});
      const auto [slot, fresh] = event.stages.try_emplace(stage.identity);
      if (!fresh) continue;
      ExperimentSubmitted::StageDraft& draft = slot->second;
      const auto found = stored.find(stage.identity);
      if (found != stored.end()) {
        LOCUS_ASSIGN_OR_RETURN(draft, draft_of(store_, found->second));
      }
      for (const auto& [name, identity] : stage.inputs) draft.inputs.push_back({name, identity});
      if (found != stored.end()) continue;
      draft.row.identity = stage.identity;
      draft.row.kind = stage.kind;
      draft.row.config_json = stage.config_json;
      draft.row.seed = plan.trials[i].seed;
      draft.row.requirements = stage.requirements;
    }
  }
  return Event(std::move(event));
}

// Nothing to add, nothing to drop, nothing to change, nothing to revive: a submission that would only raise the revision.
absl::StatusOr<bool> Submissions::unchanged(const PlannedExperiment& planned, const Merge& merged) {
  if (!merged.exists || merged.added > 0 || merged.removed > 0 || merged.stored.spec_json != planned.whole.spec_json)
    return false;
  if (!planned.searched && merged.changed > 0) return false;  // the catalog has changed since
  if (merged.stored.state == ExperimentState::kCancelled) return false;
  if (planned.searched) {
    LOCUS_ASSIGN_OR_RETURN(const SearchBegin begin, begin_of(planned, merged));
    return begin.rows.empty() && merged.changed == 0 && !any_revivable(merged);
  }
  LOCUS_ASSIGN_OR_RETURN(const StageCounts counts, store_.counts(merged.stored.id));
  return std::none_of(counts.by_state.begin(), counts.by_state.end(),
                      [](const auto& entry) { return entry.second > 0 && revivable(entry.first); });
}

absl::StatusOr<v1::CreateExperimentResponse> Submissions::answer_again(const std::string& name) {
  v1::CreateExperimentResponse out;
  LOCUS_ASSIGN_OR_RETURN(const ExperimentRow row, store_.experiment(name));
  LOCUS_ASSIGN_OR_RETURN(const StageCounts counts, store_.counts(row.id));
  std::int64_t done = 0, unfinished = 0;
  for (const auto& [state, number] : counts.by_state) {
    if (state == StageState::kSucceeded) done += number;
    if (!terminal(state)) unfinished += number;
  }
  out.mutable_experiment()->set_name(name);
  out.set_stages_done(static_cast<int>(done));
  out.set_stages_to_run(static_cast<int>(unfinished));
  return out;
}

absl::StatusOr<v1::CreateExperimentResponse> Submissions::create(const v1::CreateExperimentRequest& asked,
                                                                 const Caller& caller) {
  v1::CreateExperimentResponse out;
  v1::CreateExperimentRequest request = asked;
  if (!request.request_id().empty()) {
    auto name = store_.experiment_of_request(request.request_id());
    if (name.ok()) return answer_again(*name);
    if (!absl::IsNotFound(name.status())) return name.status();
  }
  absl::MutexLock lock(&creating_);
  absl::Status last = absl::OkStatus();
  for (int attempt = 0; attempt < kTries; ++attempt) {
    LOCUS_ASSIGN_OR_RETURN(const PlannedExperiment planned, read(request.spec_json()));
    const ExperimentPlan& plan = planned.whole;
    LOCUS_ASSIGN_OR_RETURN(Merge merged, merge(plan));
    caller.about("experiments/" + plan.name);
    LOCUS_RETURN_IF_ERROR(settle_owner(caller.principal, merged, &request));
    const std::string owner = merged.exists && request.owner().empty() ? merged.stored.owner : request.owner();
    LOCUS_RETURN_IF_ERROR(admit(store_, {caller.principal, owner, merged.exists ? merged.stored.id : 0, plan}));
    bool replaces = merged.removed + merged.changed > 0;
    if (planned.searched && !replaces) {
      LOCUS_ASSIGN_OR_RETURN(const SearchBegin begin, begin_of(planned, merged));
      replaces = begin.anew;
    }
    if (replaces && !request.replace()) return exists_error(plan.name, merged);
    if (request.choose_again()) {
      LOCUS_ASSIGN_OR_RETURN(const auto choices, choices_again(planned, merged));
      merged.chooses_again =
          std::any_of(choices.begin(), choices.end(), [](const ChoiceAgain& one) { return !one.now || one.differs(); });
    }
    LOCUS_ASSIGN_OR_RETURN(const bool same, unchanged(planned, merged));
    if (same) return answer_again(plan.name);
    std::promise<Command> promise;
    auto future = promise.get_future();
    const auto reply = [&](Command command) { promise.set_value(std::move(command)); };
    if (attempt < kTriesOffStrand) {
      LOCUS_ASSIGN_OR_RETURN(Event event, draft(planned, merged, request, 0));
      coordinator_.post(std::get<ExperimentSubmitted>(std::move(event)), reply, caller.deed());
    } else {
      coordinator_.post_prepared([&](ReplyToken token) { return draft(planned, merged, request, token); }, reply,
                                 caller.deed());
    }
    const Command command = future.get();
    if (const auto* error = std::get_if<ReplyError>(&command)) {
      last = error->status;
      if (!retryable(last)) return last;
      continue;
    }
    const auto& submitted = std::get<ReplySubmitted>(command);
    out.mutable_experiment()->set_name(plan.name);
    out.set_created(!merged.exists);
    out.set_trials_added(static_cast<int>(merged.added));
    out.set_trials_removed(static_cast<int>(merged.removed));
    out.set_trials_changed(static_cast<int>(merged.changed));
    out.set_stages_done(static_cast<int>(submitted.stages_done));
    out.set_stages_to_run(static_cast<int>(submitted.stages_to_run));
    return out;
  }
  return last;
}

}  // namespace locus::server
