// Noticing, noting, telling.
#include "server/app/alerts.h"

#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <set>

#include "core/base/error.h"
#include "core/log/log.h"
#include "server/wire/convert.h"

namespace locus::server {
namespace {

constexpr int kEventsAtOnce = 1000, kRowsAtOnce = 500;
constexpr ExperimentId kSince = 0;  // the row that says since when
constexpr const char* kStalled = "stalled";

bool is_told(const std::string& state) {
  return state == "completed" || state == "failed" || state == "cancelled" || state == kStalled;
}

int count_of(const v1::Experiment& experiment, const std::string& state) {
  const auto found = experiment.stages().find(state);
  return found == experiment.stages().end() ? 0 : found->second;
}

// Changes whenever something of it moves.
std::string movement_of(const v1::Experiment& experiment) {
  std::string out = std::to_string(experiment.revision());
  for (const char* state : {"blocked", "queued", "running", "succeeded", "failed", "held", "cancelled", "parked"})
    out += " " + std::to_string(count_of(experiment, state));
  for (const auto& one : experiment.running())
    out += " " + std::to_string(one.stage()) + "/" + std::to_string(one.attempt()) + "@" + std::to_string(one.step()) +
           one.phase();
  return out;
}

// The experiments that an event is about.
void add_names(const EventRow& event, std::set<std::string>* out) {
  constexpr std::string_view kExperiment = "experiments/";
  if (event.subject.starts_with(kExperiment)) out->insert(event.subject.substr(kExperiment.size()));
  const Json json = Json::parse(event.json, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("experiments") || !json["experiments"].is_array()) return;
  for (const Json& name : json["experiments"]) {
    if (name.is_string()) out->insert(name.get<std::string>());
  }
}

}  // namespace

Json alert_document(const AlertRow& row, const v1::Experiment& experiment) {
  const std::string done =
      std::to_string(experiment.trials_done()) + " of " + std::to_string(experiment.trials()) + " trials done";
  const std::string what = row.state == kStalled ? "stands still" : row.state;
  std::string sentence = experiment.name() + " " + what + ": " + done;
  Json stages = Json::object();
  for (const auto& [state, count] : experiment.stages()) stages[state] = count;
  for (const char* state : {"failed", "held"}) {
    if (const int count = count_of(experiment, state); count > 0)
      sentence += ", " + std::to_string(count) + " stages " + state;
  }
  if (row.state == kStalled) {
    const int waiting = count_of(experiment, "queued") + count_of(experiment, "blocked");
    sentence += ", " + std::to_string(waiting) + " stages wait, " + std::to_string(experiment.running_size()) + " run";
  }
  return {{"kind", row.state},
          {"experiment", experiment.name()},
          {"sentence", sentence},
          {"owner", experiment.owner()},
          {"trials", experiment.trials()},
          {"trials_done", experiment.trials_done()},
          {"stages", std::move(stages)},
          {"elapsed_seconds", experiment.elapsed_seconds()},
          {"time", google::protobuf::util::TimeUtil::ToString(to_timestamp(row.time_us))}};
}

absl::Status Alerts::look() {
  if (!begun_) LOCUS_RETURN_IF_ERROR(begin());
  LOCUS_RETURN_IF_ERROR(judge_changed());
  return tell_pending();
}

absl::Status Alerts::begin() {
  known_.clear();
  pending_.clear();
  LOCUS_ASSIGN_OR_RETURN(cursor_, store_.last_event());
  LOCUS_ASSIGN_OR_RETURN(const auto rows, store_.alerts());
  for (const AlertRow& row : rows) {
    known_[row.experiment] = row;
    if (row.outcome == AlertOutcome::kPending) pending_[row.experiment];
  }
  if (!known_.contains(kSince)) LOCUS_RETURN_IF_ERROR(note({kSince, "", AlertOutcome::kNone, "", clock_.wall()}));
  since_ = known_[kSince].time_us;
  for (ExperimentId before = 0;;) {
    LOCUS_ASSIGN_OR_RETURN(const auto page, store_.experiments(before, kRowsAtOnce));
    for (const ExperimentRow& row : page) {
      LOCUS_RETURN_IF_ERROR(judge(row));
      before = row.id;
    }
    if (static_cast<int>(page.size()) < kRowsAtOnce) break;
  }
  begun_ = true;
  return absl::OkStatus();
}

absl::Status Alerts::judge_changed() {
  std::set<std::string> names;
  while (true) {
    LOCUS_ASSIGN_OR_RETURN(const auto events, store_.events(cursor_, kEventsAtOnce));
    for (const EventRow& event : events) {
      add_names(event, &names);
      cursor_ = event.id;
    }
    if (static_cast<int>(events.size()) < kEventsAtOnce) break;
  }
  for (const std::string& name : names) {
    const auto row = store_.experiment(name);
    if (absl::IsNotFound(row.status())) continue;  // deleted meanwhile
    if (!row.ok()) return row.status();
    LOCUS_RETURN_IF_ERROR(judge(*row));
  }
  if (setup_.stalled_after <= 0) return absl::OkStatus();
  for (const auto& [id, movement] : std::map<ExperimentId, Movement>(movements_)) {
    const auto row = store_.experiment(id);
    if (absl::IsNotFound(row.status())) {
      movements_.erase(id);
      known_.erase(id);
      pending_.erase(id);
      continue;
    }
    if (!row.ok()) return row.status();
    LOCUS_RETURN_IF_ERROR(judge(*row));
  }
  return absl::OkStatus();
}

std::string Alerts::state_of(const ExperimentRow& row, const v1::Experiment& experiment) {
  if (experiment.state() != "active") {
    movements_.erase(row.id);
    return experiment.state();
  }
  const std::string seen = movement_of(experiment);
  const auto [found, fresh] = movements_.try_emplace(row.id, Movement{seen, clock_.steady(), false});
  Movement& movement = found->second;
  if (movement.seen != seen) movement = {seen, clock_.steady(), true};
  const bool stood = setup_.stalled_after > 0 && clock_.steady() - movement.since >= setup_.stalled_after;
  // A server that has just started has not seen it move: it still stands where it stood.
  const auto known = known_.find(row.id);
  const bool still = !movement.moved && known != known_.end() && known->second.state == kStalled;
  return stood || still ? kStalled : "active";
}

absl::Status Alerts::judge(const ExperimentRow& row) {
  const auto experiment = setup_.view(row.name);
  if (absl::IsNotFound(experiment.status())) return absl::OkStatus();
  if (!experiment.ok()) return experiment.status();
  const std::string state = state_of(row, *experiment);
  const auto known = known_.find(row.id);
  const bool older = known == known_.end() && row.created_us < since_;
  if (known != known_.end() && known->second.state == state) return absl::OkStatus();
  const bool tell = is_told(state) && !older;
  LOCUS_RETURN_IF_ERROR(note({row.id, state, tell ? AlertOutcome::kPending : AlertOutcome::kNone, "", clock_.wall()}));
  pending_.erase(row.id);
  if (tell) pending_[row.id];
  return absl::OkStatus();
}

absl::Status Alerts::note(const AlertRow& row) {
  const Mutation put = PutAlert{row};
  const absl::Status status = store_.apply({&put, 1}, clock_.wall());
  if (status.ok()) known_[row.experiment] = row;
  return absl::IsNotFound(status) ? absl::OkStatus() : status;  // deleted meanwhile
}

absl::Status Alerts::tell_pending() {
  const auto pending = pending_;
  for (const auto& [id, had] : pending) {
    if (clock_.steady() < had.not_before) continue;
    AlertRow row = known_[id];
    const auto stored = store_.experiment(id);
    const auto experiment = stored.ok() ? setup_.view(stored->name) : absl::StatusOr<v1::Experiment>(stored.status());
    if (absl::IsNotFound(experiment.status())) {
      pending_.erase(id);
      continue;
    }
    if (!experiment.ok()) return experiment.status();
    const Json alert = alert_document(row, *experiment);
    const absl::Status told = setup_.tell(alert);
    const int tries = had.tries + 1;
    if (told.ok()) {
      log_info("alert: {}; delivered", alert.at("sentence").get<std::string>());
    } else {
      log_warning("alert: {}; try {} of {} failed: {}", alert.at("sentence").get<std::string>(), tries, kTries,
                  std::string(told.message()));
    }
    pending_.erase(id);
    if (!told.ok() && tries < kTries) {
      pending_[id] = {tries, clock_.steady() + kTryAgain};
      continue;
    }
    row.outcome = told.ok() ? AlertOutcome::kSent : AlertOutcome::kFailed;
    row.detail = std::string(told.message());
    LOCUS_RETURN_IF_ERROR(note(row));
  }
  return absl::OkStatus();
}

}  // namespace locus::server
