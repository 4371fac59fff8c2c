// The sentences with which a store refuses.
#include "storage/rules/refusals.h"

#include <utility>

namespace locus::refusal {
namespace {

absl::Status not_found(ErrorReason reason, std::string message, const std::string& name, const std::string& value) {
  return make_error(absl::StatusCode::kNotFound, reason, std::move(message), {}, {{name, value}});
}

}  // namespace

absl::Status experiment_not_found(ExperimentId id) {
  return not_found(ErrorReason::kExperimentNotFound, "no experiment with id " + std::to_string(id) + " is stored",
                   "experiment", std::to_string(id));
}

absl::Status experiment_not_found(const std::string& name) {
  return not_found(ErrorReason::kExperimentNotFound,
                   "no experiment named '" + name + "' is stored: list the experiments to see which are", "experiment",
                   name);
}

absl::Status experiment_exists(const std::string& name) {
  return make_error(absl::StatusCode::kAlreadyExists, ErrorReason::kExperimentExists,
                    "an experiment named '" + name + "' is stored already: choose another name, or extend that one",
                    "name", {{"experiment", name}});
}

absl::Status trial_not_found(ExperimentId experiment, std::int64_t ordinal) {
  return not_found(ErrorReason::kTrialNotFound,
                   "experiment " + std::to_string(experiment) + " has no trial " + std::to_string(ordinal), "trial",
                   std::to_string(ordinal));
}

absl::Status stage_not_found(StageId id) {
  return not_found(ErrorReason::kStageNotFound, "no stage with id " + std::to_string(id) + " is stored", "stage",
                   std::to_string(id));
}

absl::Status attempt_not_found(StageId id, std::int64_t attempt) {
  return make_error(absl::StatusCode::kNotFound, ErrorReason::kAttemptNotFound,
                    "stage " + std::to_string(id) + " has no attempt " + std::to_string(attempt), {},
                    {{"stage", std::to_string(id)}, {"attempt", std::to_string(attempt)}});
}

absl::Status series_not_found(StageId id, const SeriesKey& key) {
  return make_error(
      absl::StatusCode::kNotFound, ErrorReason::kSeriesNotFound,
      "stage " + std::to_string(id) + " has no series '" + key.metric + "' of split '" + key.split + "' with labels " +
          key.labels + ": list its series to see which it has",
      {}, {{"stage", std::to_string(id)}, {"metric", key.metric}, {"split", key.split}, {"labels", key.labels}});
}

absl::Status artifact_not_found(const std::string& sha256) {
  return not_found(ErrorReason::kArtifactNotFound, "no artifact " + sha256 + " is stored: upload it first", "sha256",
                   sha256);
}

absl::Status import_not_found(const std::string& digest) {
  return not_found(ErrorReason::kSeriesNotFound, "the experiment has no import " + digest + ": list those that it has",
                   "digest", digest);
}

absl::Status worker_not_found(WorkerId id) {
  return not_found(ErrorReason::kWorkerNotFound,
                   "no worker with id " + std::to_string(id) + " is stored: register it first", "worker",
                   std::to_string(id));
}

absl::Status catalog_not_found(const std::string& digest) {
  return not_found(ErrorReason::kUnknownItem, "no catalog of digest " + digest + " is stored", "digest", digest);
}

absl::Status request_not_found(const std::string& request_id) {
  return not_found(ErrorReason::kExperimentNotFound, "no request '" + request_id + "' is remembered", "request_id",
                   request_id);
}

absl::Status search_not_found(ExperimentId id) {
  return not_found(ErrorReason::kSearchNotFound,
                   "experiment " + std::to_string(id) + " has no search that has decided anything", "experiment",
                   std::to_string(id));
}

absl::Status credential_not_found(const std::string& noun, const std::string& name) {
  return not_found(ErrorReason::kCredentialNotFound,
                   "no " + noun + " '" + name + "' is stored: list them to see which are", noun, name);
}

absl::Status account_not_found(const std::string& name) {
  return not_found(ErrorReason::kAccountNotFound,
                   "no account '" + name + "' has a share of its own: list the accounts to see which have", "account",
                   name);
}

absl::Status invitation_refused(const std::string& why) {
  return make_error(absl::StatusCode::kPermissionDenied, ErrorReason::kInvitationRefused,
                    "the invitation " + why + ": ask for a new one");
}

absl::Status wrong_state(std::string message, std::map<std::string, std::string> metadata) {
  return make_error(absl::StatusCode::kFailedPrecondition, ErrorReason::kWrongState, std::move(message), {},
                    std::move(metadata));
}

absl::Status invalid(std::string message, std::string field) {
  return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument, std::move(message),
                    std::move(field));
}

absl::Status limit_exceeded(std::string message) {
  return make_error(absl::StatusCode::kResourceExhausted, ErrorReason::kLimitExceeded, std::move(message));
}

absl::Status stale_attempt(const StageRow& stage, std::int64_t asked, const std::string& verb) {
  return make_error(absl::StatusCode::kAborted, ErrorReason::kStaleAttempt,
                    "cannot " + verb + " attempt " + std::to_string(asked) + " of stage " + std::to_string(stage.id) +
                        ": the stage is " + to_string(stage.state) + " at attempt " + std::to_string(stage.attempt) +
                        "; drop the work",
                    {},
                    {{"stage", std::to_string(stage.id)},
                     {"attempt", std::to_string(asked)},
                     {"current_attempt", std::to_string(stage.attempt)},
                     {"state", to_string(stage.state)}});
}

absl::Status log_has_grown(const std::string& experiment, std::int64_t expected, std::int64_t decided) {
  return wrong_state("the search of '" + experiment + "' has decided up to number " + std::to_string(decided) +
                         ", not " + std::to_string(expected) + ": read its log and judge again",
                     {{"experiment", experiment}, {"decided", std::to_string(decided)}});
}

absl::Status log_gap(const AttemptRow& attempt, std::int64_t offset) {
  return make_error(absl::StatusCode::kOutOfRange, ErrorReason::kSequenceGap,
                    "log text from byte " + std::to_string(offset) + " of stage " + std::to_string(attempt.stage_id) +
                        ", attempt " + std::to_string(attempt.number) + " leaves a gap: resend from byte " +
                        std::to_string(attempt.log_bytes),
                    "offset", {{"expected_sequence", std::to_string(attempt.log_bytes)}});
}

absl::Status sequence_gap(StageId id, std::int64_t attempt, std::int64_t first_seq, std::int64_t expected) {
  return make_error(absl::StatusCode::kOutOfRange, ErrorReason::kSequenceGap,
                    "points from sequence " + std::to_string(first_seq) + " of stage " + std::to_string(id) +
                        ", attempt " + std::to_string(attempt) + " leave a gap: resend from sequence " +
                        std::to_string(expected),
                    {},
                    {{"stage", std::to_string(id)},
                     {"attempt", std::to_string(attempt)},
                     {"first_sequence", std::to_string(first_seq)},
                     {"expected_sequence", std::to_string(expected)}});
}

}  // namespace locus::refusal
