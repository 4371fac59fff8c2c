// Why a stage is in its state, in sentences.
#include "server/application/explanation.h"

#include <algorithm>

#include "core/analysis/queries.h"
#include "core/base/error.h"
#include "core/scheduling/retry.h"
#include "server/application/search_standing.h"
#include "server/application/stored_stage.h"
#include "server/wire/convert.h"

namespace locus::server {
namespace {

// What the rows alone say: of a stage that is over, or that the scheduler has just let go of.
StageSentence explain_row(const StageRow& stage) {
  const std::string because = stage.reason.empty() ? "" : ": " + stage.reason;
  switch (stage.state) {
    case StageState::kSucceeded:
      return {"succeeded in attempt " + std::to_string(stage.attempt), "", {}};
    case StageState::kFailed:
      return {"failed: it " + std::string(rule_of(stage.failure_class).words) + because,
              rule_of(stage.failure_class).remedy,
              {}};
    case StageState::kHeld:
      return {stage.reason.empty() ? "held" : stage.reason,
              "find out why, then rerun it: held stages wait for a person",
              {}};
    case StageState::kParked:
      return {stage.reason.empty() ? "parked until its search sends it on" : stage.reason, "", {}};
    case StageState::kCancelled:
      return {"cancelled" + because, "rerun it if it is needed after all", {}};
    default:
      return {std::string(to_string(stage.state)) + because, "", {}};
  }
}

void fill(const StageRow& stage, const std::string& role, const StageSentence& said, Clock& clock,
          v1::StageExplanation* out) {
  out->set_stage(stage.id);
  out->set_role(role);
  out->set_kind(stage.kind);
  out->set_state(to_string(stage.state));
  if (stage.failure_class != FailureClass::kNone) out->set_failure_class(to_string(stage.failure_class));
  out->set_sentence(said.sentence);
  out->set_remedy(said.remedy);
  if (said.after) *out->mutable_expected_time() = to_timestamp(clock.wall() + *said.after);
}

// Where its search holds a trial back, that is why, whatever its stages say.
absl::Status add_search(Store& store, SearchRunner& searches, const TrialOf& found, v1::Explanation* out) {
  const auto fold = searches.fold(found.experiment.id);
  if (absl::IsNotFound(fold.status())) return absl::OkStatus();
  LOCUS_RETURN_IF_ERROR(fold.status());
  LOCUS_ASSIGN_OR_RETURN(const auto cells, store.cells(found.experiment.id));
  const auto cell = std::find_if(cells.begin(), cells.end(),
                                 [&](const CellRow& row) { return row.ordinal == found.view.trial.cell; });
  if (cell == cells.end()) return absl::OkStatus();
  if (const auto standing = standing_of(*fold, found.view, cell->assignment_json, cell->row_key)) {
    out->set_state(standing->state);
    out->set_sentence(standing->sentence);
  }
  if (const std::string trouble = searches.trouble(found.experiment.id); !trouble.empty())
    out->set_sentence(out->sentence() + "; its search cannot go on: " + trouble);
  return absl::OkStatus();
}

absl::StatusOr<v1::Explanation> explain_trial(Store& store, Coordinator& coordinator, SearchRunner& searches,
                                              Clock& clock, const std::string& name) {
  LOCUS_ASSIGN_OR_RETURN(const TrialOf found, find_trial(store, name));
  v1::Explanation out;
  out.set_subject(name);
  const TrialStageView* least = nullptr;
  for (const TrialStageView& view : found.view.stages) {
    const StageSentence said = explain_stage(coordinator, view.stage);
    fill(view.stage, view.link.role, said, clock, out.add_stages());
    if (least != nullptr && rank_of(view.stage.state) >= rank_of(least->stage.state)) continue;
    least = &view;
    out.set_state(to_string(view.stage.state));
    out.set_sentence(said.sentence);
  }
  LOCUS_RETURN_IF_ERROR(add_search(store, searches, found, &out));
  if (found.view.trial.retired) out.set_sentence("no longer in the specification; " + out.sentence());
  return out;
}

}  // namespace

StageSentence explain_stage(Coordinator& coordinator, const StageRow& stage) {
  if (terminal(stage.state)) return explain_row(stage);
  auto said = coordinator.inspect<StageSentence>([&](const Coordinator::LiveState& live) {
    return StageSentence{live.scheduler.explain(stage.id, live.now), "",
                         live.scheduler.expected_after(stage.id, live.now)};
  });
  return said.sentence.empty() ? explain_row(stage) : said;
}

absl::StatusOr<v1::Explanation> explain(Store& store, Coordinator& coordinator, SearchRunner& searches, Clock& clock,
                                        const v1::ExplainRequest& request) {
  if (!request.trial().empty() && request.stage() != 0) {
    return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
                      "a trial and a stage are given; ask about one of them", "stage");
  }
  if (request.stage() == 0) return explain_trial(store, coordinator, searches, clock, request.trial());
  LOCUS_ASSIGN_OR_RETURN(const StageRow stage, store.stage(request.stage()));
  const StageSentence said = explain_stage(coordinator, stage);
  v1::Explanation out;
  out.set_subject("stages/" + std::to_string(stage.id));
  out.set_state(to_string(stage.state));
  out.set_sentence(said.sentence);
  fill(stage, "", said, clock, out.add_stages());
  return out;
}

}  // namespace locus::server
