// Running again what failed, is held or was cancelled.
#include "server/application/rerun.h"

#include <algorithm>
#include <future>

#include "core/analysis/queries.h"
#include "core/base/error.h"
#include "core/conduct/stage_draft.h"
#include "server/application/search_standing.h"
#include "server/application/stored_stage.h"

namespace locus::server {
namespace {

constexpr int kRerunTries = 3, kTrialsListed = 1000;

// Gathers trials and, of each stage, everything it takes inputs from.
class Draft {
 public:
  explicit Draft(Store& store) : store_(store) {}

  absl::Status add(const TrialView& view) {
    const auto wanted = [](const TrialStageView& stage) { return stage.link.until_step != kNoFurther; };
    const bool any = std::any_of(view.stages.begin(), view.stages.end(), [&](const TrialStageView& stage) {
      return wanted(stage) && revivable(stage.stage.state);
    });
    if (view.trial.retired || !any) return absl::OkStatus();
    event.trials.push_back(view.trial);
    for (const TrialStageView& stage : view.stages) {
      if (!wanted(stage)) continue;  // its search has settled it
      LOCUS_RETURN_IF_ERROR(add_stored_stage(store_, stage.stage, event.stages));
      event.links.push_back({view.trial.ordinal, stage.link.role, stage.stage.identity, stage.link.until_step});
    }
    return absl::OkStatus();
  }

  StagesRerun event;

 private:
  Store& store_;
};

absl::StatusOr<StagesRerun> look_up(Store& store, const std::string& name) {
  Draft draft(store);
  std::vector<TrialView> views;
  if (name.find('/') == std::string::npos) {
    LOCUS_ASSIGN_OR_RETURN(draft.event.row, store.experiment(name));
    LOCUS_ASSIGN_OR_RETURN(views, all_trials(store, draft.event.row.id));
  } else {
    LOCUS_ASSIGN_OR_RETURN(TrialOf found, find_trial(store, name));
    draft.event.row = std::move(found.experiment);
    views.push_back(std::move(found.view));
  }
  LOCUS_ASSIGN_OR_RETURN(const auto cells, store.cells(draft.event.row.id));
  draft.event.cells = static_cast<std::int64_t>(cells.size());
  for (const TrialView& view : views) LOCUS_RETURN_IF_ERROR(draft.add(view));
  draft.event.search_running = search_runs(store, draft.event.row.id);
  return std::move(draft.event);
}

}  // namespace

absl::StatusOr<v1::RerunExperimentResponse> rerun(Store& store, Coordinator& coordinator,
                                                  const v1::RerunExperimentRequest& request, const Caller& caller) {
  absl::Status last;
  for (int attempt = 0; attempt < kRerunTries; ++attempt) {
    std::vector<TrialRow> trials;
    std::string experiment;
    std::promise<Command> promise;
    auto future = promise.get_future();
    // On the strand, where nothing changes between the look-up and the step.
    coordinator.post_prepared(
        [&](ReplyToken token) -> absl::StatusOr<Event> {
          LOCUS_ASSIGN_OR_RETURN(StagesRerun event, look_up(store, request.name()));
          event.reply = token;
          trials = event.trials;
          experiment = event.row.name;
          return Event(std::move(event));
        },
        [&](Command command) { promise.set_value(std::move(command)); }, caller.deed());
    const Command command = future.get();
    if (const auto* error = std::get_if<ReplyError>(&command)) {
      last = error->status;
      if (!has_reason(last, ErrorReason::kWrongState)) return last;
      continue;  // another event of the same batch came first
    }
    v1::RerunExperimentResponse out;
    out.set_stages(static_cast<int>(std::get<ReplySubmitted>(command).stages_to_run));
    for (const TrialRow& trial : trials) {
      if (out.trials_size() == kTrialsListed) break;
      out.add_trials(experiment + "/" + std::to_string(trial.ordinal));
    }
    return out;
  }
  return last;
}

}  // namespace locus::server
