// Searches among submissions.
#include "server/application/submitted_search.h"

#include <algorithm>
#include <set>

#include "core/analysis/search_story.h"
#include "core/base/error.h"
#include "core/conduct/conduct.h"
#include "core/conduct/stage_draft.h"
#include "server/application/merged_script.h"
#include "server/application/planned_search.h"
#include "server/application/stored_stage.h"

namespace locus::server {
namespace {

using Drafts = std::map<std::string, ExperimentSubmitted::StageDraft>;

// A planned stage of a trial with those it takes inputs from, all of which the trial has.
absl::Status add_planned_stage(Store& store, const PlannedTrial& trial, const PlannedStage& stage,
                               const std::map<std::string, StageRow>& stored, Drafts& drafts) {
  if (drafts.contains(stage.identity)) return absl::OkStatus();
  ExperimentSubmitted::StageDraft draft;
  if (const auto known = stored.find(stage.identity); known != stored.end()) {
    LOCUS_ASSIGN_OR_RETURN(draft, stage_draft(store, known->second));
  } else {
    draft.row.identity = stage.identity;
    draft.row.kind = stage.kind;
    draft.row.config_json = stage.config_json;
    draft.row.seed = trial.seed;
    draft.row.requirements = stage.requirements;
  }
  for (const auto& [slot, identity] : stage.inputs) draft.inputs.push_back({slot, identity});
  drafts.emplace(stage.identity, std::move(draft));
  for (const auto& [slot, identity] : stage.inputs) {
    for (const PlannedStage& source : trial.stages) {
      if (source.identity == identity) LOCUS_RETURN_IF_ERROR(add_planned_stage(store, trial, source, stored, drafts));
    }
  }
  return absl::OkStatus();
}

const PlannedStage* stage_of_role(const PlannedTrial& trial, const std::string& role) {
  const auto found = std::find_if(trial.stages.begin(), trial.stages.end(),
                                  [&](const PlannedStage& stage) { return stage.role == role; });
  return found == trial.stages.end() ? nullptr : &*found;
}

bool uses_a_choice(const PlannedExperiment& planned, std::size_t trial) {
  std::size_t phase = planned.phases.size() - 1;
  while (phase > 0 && planned.first_trial[phase] > trial) --phase;
  return !planned.phases[phase].use.empty();
}

std::string chosen_text(const std::string& candidate) {
  return candidate.empty() ? "nobody" : assignment_text(candidate);
}

bool any_linked(const Merge& merged) {
  return std::any_of(merged.before.begin(), merged.before.end(), [](const auto& entry) {
    return std::any_of(entry.second.stages.begin(), entry.second.stages.end(),
                       [](const TrialStageView& stage) { return stage.link.until_step != kNoFurther; });
  });
}

}  // namespace

absl::StatusOr<Fold> stored_fold(Store& store, ExperimentId experiment) {
  const auto search = store.search(experiment);
  if (absl::IsNotFound(search.status())) return Fold();
  LOCUS_RETURN_IF_ERROR(search.status());
  LOCUS_ASSIGN_OR_RETURN(const auto rows, store.decisions(experiment, 0, 0));
  return Fold::of(rows);
}

bool any_revivable(const Merge& merged) {
  return std::any_of(merged.before.begin(), merged.before.end(), [](const auto& entry) {
    return !entry.second.trial.retired &&
           std::any_of(entry.second.stages.begin(), entry.second.stages.end(), [](const TrialStageView& stage) {
             return stage.link.until_step != kNoFurther && revivable(stage.stage.state);
           });
  });
}

absl::StatusOr<SearchBegin> Submissions::begin_of(const PlannedExperiment& planned, const Merge& merged) {
  SearchBegin out;
  Fold fold;
  if (merged.exists) {
    LOCUS_ASSIGN_OR_RETURN(fold, stored_fold(store_, merged.stored.id));
  }
  const StoredPlaces places = merged_places(merged);
  std::vector<SearchSetup> setups;
  for (std::size_t i = 0; i < std::max<std::size_t>(1, fold.phases()) && i < planned.phases.size(); ++i) {
    if (planned.phases[i].deferred) break;
    setups.push_back(phase_setup(planned, i, places, *planned.catalog));
  }
  out.expected = fold.decided();
  out.rows = begins(fold, setups, /*anew=*/(merged.changed > 0 || merged.chooses_again) && fold.phases() > 0);
  for (std::size_t i = 0; i < out.rows.size(); ++i)
    out.rows[i].number = out.expected + 1 + static_cast<std::int64_t>(i);
  if (fold.phases() == 0) {
    out.anew = any_linked(merged);  // it has run without a search so far
  } else {
    out.anew = std::any_of(out.rows.begin(), out.rows.end(),
                           [&](const DecisionRow& row) { return row.generation > fold.generation(); });
  }
  return out;
}

// What trials are linked to stays, with its stop point; what they no longer run is wanted no further, and where the search begins anew,
// nothing of what was run by choices that are to be made again. Stages that the specification adds are linked where the search has
// sent a trial to its end.
absl::Status Submissions::keep_links(const PlannedExperiment& planned, const Merge& merged, bool anew,
                                     ExperimentSubmitted& event) {
  const ExperimentPlan& plan = planned.whole;
  LOCUS_ASSIGN_OR_RETURN(const auto stored, stored_stages(plan));
  for (std::size_t i = 0; i < plan.trials.size(); ++i) {
    const PlannedTrial& trial = plan.trials[i];
    const std::int64_t ordinal = merged.ordinals[i];
    const auto before = merged.before.find(ordinal);
    if (before == merged.before.end() || before->second.stages.empty()) continue;
    std::set<std::string> roles;
    const bool to_end = before->second.stages.front().link.until_step == kToTheEnd;
    bool all_kept = true;
    const bool chosen = anew && uses_a_choice(planned, i);
    for (const TrialStageView& old : before->second.stages) {
      roles.insert(old.link.role);
      const PlannedStage* now = stage_of_role(trial, old.link.role);
      const bool kept = now != nullptr && now->identity == old.stage.identity;
      all_kept = all_kept && kept;
      if (kept) {
        LOCUS_RETURN_IF_ERROR(add_planned_stage(store_, trial, *now, stored, event.stages));
      } else {
        LOCUS_RETURN_IF_ERROR(add_stored_stage(store_, old.stage, event.stages));
      }
      event.links.push_back(
          {ordinal, old.link.role, old.stage.identity, kept && !chosen ? old.link.until_step : kNoFurther});
    }
    for (const PlannedStage& stage : trial.stages) {
      if (!to_end || !all_kept || chosen || roles.contains(stage.role)) continue;
      LOCUS_RETURN_IF_ERROR(add_planned_stage(store_, trial, stage, stored, event.stages));
      event.links.push_back({ordinal, stage.role, stage.identity, kToTheEnd});
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ChoiceAgain>> Submissions::choices_again(const PlannedExperiment& planned,
                                                                    const Merge& merged) {
  const bool chooses = std::any_of(planned.phases.begin(), planned.phases.end(),
                                   [](const PlannedPhase& phase) { return phase.choose.has_value(); });
  if (!merged.exists || !chooses) return std::vector<ChoiceAgain>();
  const Json specification = Json::parse(planned.whole.spec_json);
  MergedScript script(specification, *planned.catalog, merged);
  Conductor conductor(store_, script);
  return conductor.choices_again(merged.stored, merged.trials);
}

absl::Status Submissions::warn_of_choices(const PlannedExperiment& planned, const Merge& merged, v1::Plan* out) {
  LOCUS_ASSIGN_OR_RETURN(const auto choices, choices_again(planned, merged));
  std::set<std::string> open;  // phases
  for (const ChoiceAgain& one : choices) {
    if (one.phase >= planned.phases.size()) continue;
    const std::string& phase = planned.phases[one.phase].name;
    const std::string group = assignment_text(one.stands.group);
    if (!one.now && merged.added > 0 && open.insert(phase).second) {
      out->add_warnings("what the phase '" + phase +
                        "' has chosen stays; once what is added has run, `locus plan` says whether it would choose "
                        "otherwise");
    }
    if (!one.differs()) continue;
    out->add_warnings("with what is stored now the phase '" + phase + "' would choose " +
                      chosen_text(one.now->candidate) + " instead of " + chosen_text(one.stands.candidate) +
                      (group.empty() ? "" : " for " + group) +
                      "; the choice stays as it is unless it is submitted with --choose-again");
  }
  return absl::OkStatus();
}

void add_phases(const PlannedExperiment& planned, const std::map<std::string, StageRow>& stored, v1::Plan* out) {
  if (planned.phases.front().name.empty()) return;
  int deferred = 0;
  for (const PlannedPhase& phase : planned.phases) {
    v1::PlanPhase* one = out->add_phases();
    one->set_name(phase.name);
    one->set_cells(static_cast<int>(phase.plan.cells.size()));
    one->set_trials(static_cast<int>(phase.plan.trials.size()));
    one->set_deferred(phase.deferred);
    if (phase.deferred) deferred += one->trials();
    std::set<std::string> to_run;
    for (const PlannedTrial& trial : phase.plan.trials) {
      for (const PlannedStage& stage : trial.stages) {
        const auto known = stored.find(stage.identity);
        if (known == stored.end() || known->second.state != StageState::kSucceeded) to_run.insert(stage.identity);
      }
    }
    one->set_stages_to_run(static_cast<int>(to_run.size()));
    for (const PhaseUse& use : phase.use) one->add_uses(use.path + " of " + planned.phases[use.phase].name);
    if (phase.choose) {
      for (const std::string& path : phase.choose->factors) one->add_chooses(path);
      one->set_groups(static_cast<int>(phase.groups.size()));
      one->set_candidates(static_cast<int>(phase.candidates.size()));
    }
    if (phase.plan.search) *one->mutable_search() = planned_search(phase.plan);
  }
  out->set_trials_deferred(deferred);
}

}  // namespace locus::server
