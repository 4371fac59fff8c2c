// Over the outputs and checkpoints that a trial's stages still have.
#include "server/application/chosen_weights.h"

#include <charconv>
#include <optional>
#include <set>

#include "core/base/error.h"

namespace locus::server {
namespace {

constexpr char kBestSlot[] = "best-checkpoint";
constexpr char kPictureSlots[] = "picture";  // what evaluations keep beside weights (docs/formats/scored-pictures.md)

absl::StatusOr<std::optional<std::int64_t>> step_of(const std::string& wish) {
  if (wish.empty() || wish == "last" || wish == "best") return std::optional<std::int64_t>();
  std::int64_t step = 0;
  const char* end = wish.data() + wish.size();
  const auto [rest, error] = std::from_chars(wish.data(), end, step);
  if (error == std::errc() && rest == end && step >= 0) return std::optional(step);
  return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
                    "checkpoint is \"" + wish.substr(0, 100) + "\"; give a step, best, last or initial", "checkpoint");
}

absl::Status nothing_of(const v1::TrialDetail& trial, const std::string& wish, const std::set<std::int64_t>& steps) {
  const std::string& name = trial.trial().name();
  if (steps.empty()) {
    return make_error(absl::StatusCode::kFailedPrecondition, ErrorReason::kWrongState,
                      "trial " + name + " has kept no checkpoint; look again when it has trained (`locus why " + name +
                          "` says what it waits for)",
                      "trial", {{"trial", name}});
  }
  std::string known;
  for (const std::int64_t one : steps) known += (known.empty() ? "" : ", ") + std::to_string(one);
  const std::string what = wish == "best"
                               ? "no model that validated best (a contract of metric.reduce: best on test keeps it)"
                               : "no checkpoint of step " + wish;
  return make_error(absl::StatusCode::kNotFound, ErrorReason::kArtifactNotFound,
                    "trial " + name + " has kept " + what + "; it has those of steps " + known, "checkpoint",
                    {{"trial", name}, {"steps", known}});
}

}  // namespace

absl::StatusOr<ChosenWeights> choose_weights(const v1::TrialDetail& trial, const std::string& wish) {
  ChosenWeights found;
  if ((wish == "initial" || wish == "0") && trial.stages_size() > 0) {
    found.stage = &trial.stages(0);
    return found;
  }
  LOCUS_ASSIGN_OR_RETURN(const std::optional<std::int64_t> step, step_of(wish));
  std::set<std::int64_t> steps;
  const auto offer = [&](const v1::StageDetail& stage, const std::string& sha256, std::int64_t at, bool best) {
    steps.insert(at);
    if ((step && at != *step) || (wish == "best" && !best)) return;
    if (found.stage == nullptr || at > found.step) found = {&stage, sha256, at};
  };
  for (const v1::StageDetail& stage : trial.stages()) {
    for (const v1::Output& output : stage.outputs()) {
      if (output.slot().starts_with(kPictureSlots)) continue;
      offer(stage, output.sha256(), output.step(), output.slot() == kBestSlot);
    }
    for (const v1::Checkpoint& checkpoint : stage.checkpoints()) {
      if (checkpoint.present()) offer(stage, checkpoint.sha256(), checkpoint.step(), checkpoint.best());
    }
  }
  if (found.stage == nullptr) return nothing_of(trial, wish, steps);
  return found;
}

}  // namespace locus::server
