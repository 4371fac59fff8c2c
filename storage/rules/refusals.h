// The sentences with which a store refuses: one place, so that every implementation says the same.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "core/base/error.h"
#include "core/experiment/model.h"

namespace locus::refusal {

absl::Status experiment_not_found(ExperimentId id);
absl::Status experiment_not_found(const std::string& name);
absl::Status experiment_exists(const std::string& name);
absl::Status trial_not_found(ExperimentId experiment, std::int64_t ordinal);
absl::Status stage_not_found(StageId id);
absl::Status attempt_not_found(StageId id, std::int64_t attempt);
absl::Status series_not_found(StageId id, const SeriesKey& key);
absl::Status artifact_not_found(const std::string& sha256);
absl::Status import_not_found(const std::string& digest);
absl::Status worker_not_found(WorkerId id);
absl::Status catalog_not_found(const std::string& digest);
absl::Status request_not_found(const std::string& request_id);
absl::Status search_not_found(ExperimentId id);
absl::Status credential_not_found(const std::string& noun, const std::string& name);
absl::Status account_not_found(const std::string& name);
absl::Status invitation_refused(const std::string& why);

absl::Status wrong_state(std::string message, std::map<std::string, std::string> metadata = {});
absl::Status invalid(std::string message, std::string field);
absl::Status limit_exceeded(std::string message);

// `asked`: the token the caller holds; `stage`: what is stored.
absl::Status stale_attempt(const StageRow& stage, std::int64_t asked, const std::string& verb);
// Of a search: judged by a log up to `expected`, which ends at `decided`.
absl::Status log_has_grown(const std::string& experiment, std::int64_t expected, std::int64_t decided);
absl::Status log_gap(const AttemptRow& attempt, std::int64_t offset);
absl::Status sequence_gap(StageId id, std::int64_t attempt, std::int64_t first_seq, std::int64_t expected);

}  // namespace locus::refusal
