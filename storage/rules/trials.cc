// The rows of an experiment.
#include "storage/rules/trials.h"

#include <map>
#include <set>
#include <string>
#include <utility>

#include "storage/rules/refusals.h"

namespace locus {

absl::Status put_trials(Rows& rows, ExperimentId experiment, std::span<const CellRow> cells,
                        std::span<const TrialRow> trials) {
  for (const CellRow& cell : cells) rows.put_cell(experiment, cell);
  for (const TrialRow& trial : trials) {
    if (!rows.has_cell(experiment, trial.cell)) {
      return refusal::invalid("trial " + std::to_string(trial.ordinal) + " names cell " + std::to_string(trial.cell) +
                                  ", which is not stored",
                              "trials.cell");
    }
    rows.put_trial(experiment, trial);
  }
  return absl::OkStatus();
}

absl::Status insert_stages(Rows& rows, std::span<const StageRow> stages) {
  for (const StageRow& stage : stages) {
    if (stage.state == StageState::kRunning || stage.state == StageState::kSucceeded ||
        stage.state == StageState::kParked || stage.attempt != 0 || !stage.outputs.empty()) {
      return refusal::wrong_state("stage " + std::to_string(stage.id) + " cannot be inserted " +
                                  to_string(stage.state) + " at attempt " + std::to_string(stage.attempt) +
                                  ": a new stage has not run");
    }
    if (rows.stage(stage.id) || rows.has_identity(stage.identity)) {
      return refusal::wrong_state("stage " + std::to_string(stage.id) + " of identity " + stage.identity +
                                      " is stored already: look it up and link it",
                                  {{"stage", std::to_string(stage.id)}, {"identity", stage.identity}});
    }
    rows.insert_stage(stage);
  }
  for (const StageRow& stage : stages) {  // a source may stand behind its user in the list
    for (const StageInput& input : stage.inputs) {
      if (input.from_stage != 0 && !rows.stage(input.from_stage)) return refusal::stage_not_found(input.from_stage);
      rows.put_input(stage.id, input);
    }
  }
  return absl::OkStatus();
}

absl::Status put_links(Rows& rows, ExperimentId experiment, std::span<const TrialStageRow> links) {
  std::map<std::int64_t, std::int64_t> position;  // within each trial
  for (const TrialStageRow& link : links) {
    if (!rows.has_trial(experiment, link.trial)) return refusal::trial_not_found(experiment, link.trial);
    if (!rows.stage(link.stage_id)) return refusal::stage_not_found(link.stage_id);
    LOCUS_RETURN_IF_ERROR(check_stop_point(link));
    rows.put_trial_stage(experiment, link, position[link.trial]++);
  }
  return absl::OkStatus();
}

void drop_other_links(Rows& rows, ExperimentId experiment, std::span<const TrialRow> trials,
                      std::span<const TrialStageRow> links) {
  std::set<std::pair<std::int64_t, std::string>> given;
  for (const TrialStageRow& link : links) given.emplace(link.trial, link.role);
  for (const TrialRow& trial : trials) {
    if (trial.retired) continue;
    for (const auto& [role, position] : rows.positions(experiment, trial.ordinal)) {
      if (!given.contains({trial.ordinal, role})) rows.erase_trial_stage(experiment, trial.ordinal, role);
    }
  }
}

absl::Status check_stop_point(const TrialStageRow& link) {
  if (link.until_step >= kNoFurther) return absl::OkStatus();
  return refusal::invalid("trial " + std::to_string(link.trial) + " wants its " + link.role + " up to step " +
                              std::to_string(link.until_step) + ": give a step, 0 for the end or -1 for no further",
                          "trial_stages.until_step");
}

}  // namespace locus
