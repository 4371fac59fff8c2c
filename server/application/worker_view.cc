// Workers as people see them, and their drains.
#include "server/application/worker_view.h"

#include <algorithm>

#include "core/base/duration.h"
#include "core/base/error.h"
#include "core/experiment/labels.h"
#include "core/limits.h"
#include "server/analysis/system_series.h"
#include "server/wire/convert.h"

namespace locus::server {
namespace {

constexpr int kAttemptsShown = 100, kAttemptsJudged = 20;
constexpr std::chrono::microseconds kForgottenAfter = std::chrono::hours(7 * 24);  // offline
constexpr std::size_t kTrialsLookedAt = 10'000;

bool bad(const AttemptRow& row) { return row.state == AttemptState::kFailed || row.state == AttemptState::kLost; }

bool forgotten(const WorkerRow& row, Microseconds now) {
  const bool long_gone = row.state == WorkerState::kOffline && now - row.seen_us > kForgottenAfter.count();
  return row.forgotten || long_gone;
}

// Fills in what is empty. The index knows the stages that were unfinished when the server started, and those
// since; older ones are looked up in the newest experiments, as far as is quick.
absl::Status look_up_titles(Store& store, std::map<StageId, std::string>* titles) {
  std::size_t missing = 0;
  for (const auto& [stage, title] : *titles) missing += title.empty() ? 1 : 0;
  if (missing == 0) return absl::OkStatus();
  std::size_t looked_at = 0;
  LOCUS_ASSIGN_OR_RETURN(const auto experiments, store.experiments(0, kPageSizeDefault));
  for (const ExperimentRow& experiment : experiments) {
    std::int64_t after = -1;
    for (bool more = true; more && missing > 0 && looked_at < kTrialsLookedAt;) {
      LOCUS_ASSIGN_OR_RETURN(const auto page, store.trials(experiment.id, after, kPageSizeMost));
      for (const TrialView& view : page) {
        after = view.trial.ordinal;
        for (const TrialStageView& stage : view.stages) {
          const auto wanted = titles->find(stage.stage.id);
          if (view.trial.retired || wanted == titles->end() || !wanted->second.empty()) continue;
          wanted->second = experiment.name + "/" + std::to_string(view.trial.ordinal);
          --missing;
        }
      }
      looked_at += page.size();
      more = page.size() == static_cast<std::size_t>(kPageSizeMost);
    }
  }
  return absl::OkStatus();
}

// What it brings, and whether the catalog goes by that code.
absl::Status fill_extensions(Store& store, const WorkerView& view, v1::Worker* out) {
  if (view.extensions.empty()) return absl::OkStatus();
  LOCUS_ASSIGN_OR_RETURN(const auto learned, store.extensions());
  for (const auto& [name, digest] : view.extensions) {
    auto* extension = out->add_extensions();
    extension->set_name(name);
    extension->set_digest(digest);
    for (const ExtensionRow& row : learned) {
      if (row.name == name) extension->set_current(row.digest == digest);
    }
  }
  return absl::OkStatus();
}

}  // namespace

struct WorkerViews::Live {
  WorkerView view;
  std::map<StageId, std::string> titles;  // of what it runs: "NAME/ORDINAL"
};

std::map<WorkerId, WorkerViews::Live> WorkerViews::live_workers() {
  return coordinator_.inspect<std::map<WorkerId, Live>>([](const Coordinator::LiveState& now) {
    std::map<WorkerId, Live> out;
    for (WorkerView& view : now.scheduler.workers(now.now)) {
      Live live;
      for (const StatedAttempt& lease : view.running) live.titles[lease.stage_id] = now.index.title_of(lease.stage_id);
      live.view = std::move(view);
      out[live.view.id] = std::move(live);
    }
    return out;
  });
}

absl::Status WorkerViews::fill(const WorkerRow& row, const std::map<WorkerId, Live>& connected, v1::Worker* out) {
  out->set_name(row.name);
  out->set_host(row.host);
  out->set_version(row.version);
  out->set_state(to_string(row.state));
  out->set_reason(row.reason);
  slots_from_json(row.slots_json, out->mutable_slots());
  *out->mutable_seen_time() = to_timestamp(row.seen_us);
  out->set_catalog_digest(row.catalog_digest);
  if (row.drains_later()) *out->mutable_drain_time() = to_timestamp(row.drain_from_us);
  if (row.since_us > 0) *out->mutable_since_time() = to_timestamp(row.since_us);
  if (!row.data_json.empty()) data_from_json(row.data_json, out->mutable_data());
  out->set_forgotten(forgotten(row, clock_.wall()));
  const WorkerLabels labels = stored_labels(row.labels_json);
  const Labels effective = labels.effective();
  for (const auto& [key, value] : effective) (*out->mutable_labels())[key] = value;
  for (const auto& [key, value] : labels.announced) {
    if (!effective.contains(key)) (*out->mutable_untrusted_labels())[key] = value;
  }
  LOCUS_ASSIGN_OR_RETURN(const auto attempts, store_.attempts_of_worker(row.id, kAttemptsJudged));
  std::map<std::pair<StageId, std::int64_t>, const AttemptRow*> by_key;
  for (const AttemptRow& attempt : attempts) {
    by_key[{attempt.stage_id, attempt.number}] = &attempt;
    if (bad(attempt)) out->set_failed(out->failed() + 1);
    if (attempt.state == AttemptState::kSucceeded || attempt.state == AttemptState::kParked)
      out->set_succeeded(out->succeeded() + 1);
  }
  const auto found = connected.find(row.id);
  if (found == connected.end()) return absl::OkStatus();
  const Live& live = found->second;
  out->set_state(live.view.state);
  LOCUS_RETURN_IF_ERROR(fill_extensions(store_, live.view, out));
  if (live.view.ends_in) *out->mutable_end_time() = to_timestamp(clock_.wall() + *live.view.ends_in);
  if (row.state != WorkerState::kOffline)
    *out->mutable_seen_time() = to_timestamp(clock_.wall() - live.view.silent_for);
  for (const StatedAttempt& lease : live.view.running) {
    auto* running = out->add_running();
    running->set_stage(lease.stage_id);
    running->set_attempt(lease.attempt);
    running->set_title(live.titles.at(lease.stage_id));
    running->set_step(lease.step);
    running->set_steps(lease.steps);
    running->set_phase(lease.phase);
    const auto attempt = by_key.find({lease.stage_id, lease.attempt});
    if (attempt == by_key.end()) continue;
    for (const int slot : attempt->second->slots) running->add_slots(slot);
    *running->mutable_start_time() = to_timestamp(attempt->second->started_us);
    out->set_slots_busy(out->slots_busy() + static_cast<int>(attempt->second->slots.size()));
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::ListWorkersResponse> WorkerViews::list(bool all) {
  LOCUS_ASSIGN_OR_RETURN(auto rows, store_.workers());
  std::stable_sort(rows.begin(), rows.end(), [](const WorkerRow& a, const WorkerRow& b) {
    const auto key = [](const WorkerRow& row) { return std::pair(row.state == WorkerState::kOffline, row.name); };
    return key(a) < key(b);
  });
  const auto connected = live_workers();
  const Microseconds now = clock_.wall();
  v1::ListWorkersResponse out;
  for (const WorkerRow& row : rows) {
    if (!all && forgotten(row, now)) {
      out.set_forgotten(out.forgotten() + 1);
    } else {
      LOCUS_RETURN_IF_ERROR(fill(row, connected, out.add_workers()));
    }
  }
  return out;
}

absl::StatusOr<v1::WorkerDetail> WorkerViews::get(const std::string& name) {
  LOCUS_ASSIGN_OR_RETURN(const auto rows, store_.workers());
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const WorkerRow& w) { return w.name == name; });
  if (row == rows.end()) {
    return make_error(absl::StatusCode::kNotFound, ErrorReason::kWorkerNotFound,
                      "no worker named \"" + name + "\" has ever registered; list the workers", "name",
                      {{"name", name}});
  }
  v1::WorkerDetail out;
  LOCUS_RETURN_IF_ERROR(fill(*row, live_workers(), out.mutable_worker()));
  LOCUS_RETURN_IF_ERROR(fill_system(store_, row->id, &out));
  LOCUS_ASSIGN_OR_RETURN(const auto attempts, store_.attempts_of_worker(row->id, kAttemptsShown));
  auto titles = coordinator_.inspect<std::map<StageId, std::string>>([&](const Coordinator::LiveState& now) {
    std::map<StageId, std::string> all;
    for (const AttemptRow& attempt : attempts) all[attempt.stage_id] = now.index.title_of(attempt.stage_id);
    return all;
  });
  LOCUS_RETURN_IF_ERROR(look_up_titles(store_, &titles));
  for (const AttemptRow& attempt : attempts) {
    auto* item = out.add_attempts();
    item->set_stage(attempt.stage_id);
    item->set_attempt(attempt.number);
    item->set_title(titles.at(attempt.stage_id));
    if (const auto stage = store_.stage(attempt.stage_id); stage.ok()) item->set_kind(stage->kind);
    item->set_state(to_string(attempt.state));
    if (attempt.failure_class != FailureClass::kNone) item->set_failure_class(to_string(attempt.failure_class));
    item->set_reason(attempt.reason);
    *item->mutable_start_time() = to_timestamp(attempt.started_us);
    if (attempt.ended_us > 0) *item->mutable_end_time() = to_timestamp(attempt.ended_us);
  }
  return out;
}

absl::StatusOr<v1::Worker> WorkerViews::set_drain(const std::string& name, Drain to, const std::string& reason,
                                                  Microseconds from, const Caller& caller) {
  const Command command =
      call(coordinator_, WorkerDrainRequested{.name = name, .to = to, .reason = reason, .from = from}, caller.deed());
  if (const auto* error = std::get_if<ReplyError>(&command)) return error->status;
  LOCUS_ASSIGN_OR_RETURN(auto detail, get(name));
  return std::move(*detail.mutable_worker());
}

absl::StatusOr<v1::Worker> WorkerViews::drain(const v1::DrainWorkerRequest& request, const Caller& caller) {
  if (request.reason().size() > static_cast<std::size_t>(kReasonLength)) {
    return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
                      "a reason has at most " + std::to_string(kReasonLength) + " bytes", "reason");
  }
  Microseconds from = 0;
  if (!request.until().empty()) {
    LOCUS_ASSIGN_OR_RETURN(from, parse_moment(request.until(), clock_.wall(), "until"));
  }
  return set_drain(request.name(), request.stop() ? Drain::kStopWork : Drain::kNoNewWork,
                   request.reason().empty() ? "drained by a person" : request.reason(), from, caller);
}

absl::StatusOr<v1::Worker> WorkerViews::forget(const v1::ForgetWorkerRequest& request, const Caller& caller) {
  const Command command = call(coordinator_, WorkerForgetRequested{.name = request.name()}, caller.deed());
  if (const auto* error = std::get_if<ReplyError>(&command)) return error->status;
  LOCUS_ASSIGN_OR_RETURN(auto detail, get(request.name()));
  return std::move(*detail.mutable_worker());
}

absl::StatusOr<v1::Worker> WorkerViews::undrain(const v1::UndrainWorkerRequest& request, const Caller& caller) {
  return set_drain(request.name(), Drain::kNone, "", 0, caller);
}

}  // namespace locus::server
