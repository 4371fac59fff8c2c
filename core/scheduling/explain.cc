// What people may see of the living state: workers, progress, and why a stage is where it is.
#include <algorithm>

#include "core/scheduling/state.h"

namespace locus {
namespace {

constexpr int kCountedAhead = 1000;

// "4 s", "3 min", "2 h": rounded up, for sentences.
std::string duration_text(Microseconds us) {
  const std::int64_t seconds = std::max<std::int64_t>(0, (us + 999'999) / 1'000'000);
  if (seconds < 120) return std::to_string(seconds) + " s";
  if (seconds < 7200) return std::to_string((seconds + 59) / 60) + " min";
  return std::to_string((seconds + 3599) / 3600) + " h";
}

std::string progress_text(const HeldLease& progress) {
  if (progress.steps <= 0) return "";
  return ", step " + std::to_string(progress.step) + " of " + std::to_string(progress.steps);
}

}  // namespace

std::vector<WorkerView> Scheduler::State::workers(Now now) const {
  std::vector<WorkerView> views;
  for (const auto& [id, worker] : workers_) {
    WorkerView view{.id = id,
                    .name = worker.row.name,
                    .state = to_string(worker.row.state),
                    .silent_for = std::max<Microseconds>(0, now.steady - worker.heard),
                    .running = {}};
    if (worker.row.state != WorkerState::kOffline && (!worker.connected || view.silent_for > policy_.lease)) {
      view.state = "silent";
    }
    for (StageId stage : worker.running) view.running.push_back(stages_.at(stage).running->progress);
    views.push_back(std::move(view));
  }
  return views;
}

std::optional<HeldLease> Scheduler::State::progress(StageId id) const {
  const Stage* stage = find_stage(id);
  if (stage == nullptr || !stage->running) return std::nullopt;
  return stage->running->progress;
}

std::optional<StageState> Scheduler::State::stage_state(StageId id) const {
  const Stage* stage = find_stage(id);
  if (stage == nullptr) return std::nullopt;
  return stage->row.state;
}

std::string Scheduler::State::explain(StageId id, Now now) const {
  const Stage* stage = find_stage(id);
  if (stage == nullptr) return "";
  switch (stage->row.state) {
    case StageState::kBlocked:
      return explain_blocked(*stage);
    case StageState::kQueued:
      return explain_queued(*stage, now);
    case StageState::kRunning:
      return explain_running(*stage, now);
    default:
      return "";
  }
}

std::string Scheduler::State::explain_blocked(const Stage& stage) const {
  std::string text;
  for (const StageInput& input : stage.row.inputs) {
    const Stage* source = input.artifact_sha256.empty() ? find_stage(input.from_stage) : nullptr;
    if (source == nullptr) continue;
    text += (text.empty() ? "waits for the " : " and the ") + input.slot + " of stage " +
            std::to_string(input.from_stage) + " (" + source->row.kind + ", " + to_string(source->row.state);
    if (source->running) text += progress_text(source->running->progress);
    text += ")";
  }
  return text;
}

std::string Scheduler::State::explain_queued(const Stage& stage, Now now) const {
  if (!ready_key(stage)) return "every experiment that wants it is paused: resume one of them";
  if (stage.not_before > now.steady) {
    std::string text = "tries again in " + duration_text(stage.not_before - now.steady) + " (" +
                       std::to_string(stage.row.failures) + " of " + std::to_string(policy_.failures) +
                       " failures, " + std::to_string(stage.row.faults) + " of " +
                       std::to_string(policy_.faults) + " infrastructure faults)";
    if (!stage.row.reason.empty()) text += ": " + stage.row.reason;
    return text;
  }
  std::string why;
  int present = 0;
  for (const auto& [id, worker] : workers_) {
    if (!worker.connected || worker.row.state != WorkerState::kActive) continue;
    ++present;
    const auto missing = first_missing(requirements_[stage.requirement], worker.revisions);
    if (!missing) {
      const int ahead = stage.ready ? ready_.ahead_of(*stage.ready, kCountedAhead) : 0;
      if (ahead == 0) return "waits for a free slot: it is next";
      return "waits for a free slot: " + std::to_string(ahead) + (ahead == kCountedAhead ? " or more" : "") +
             (ahead == 1 ? " stage is" : " stages are") + " before it";
    }
    if (why.empty()) why = worker.row.name + " lacks " + *missing;
  }
  if (present == 0)
    return "waits for a worker: none is connected; start one with `locus worker --server ADDRESS`";
  return "waits for a worker that can run it: " + why;
}

std::string Scheduler::State::explain_running(const Stage& stage, Now now) const {
  const Worker& worker = workers_.at(stage.running->worker);
  std::string text = "runs as attempt " + std::to_string(stage.row.attempt) + " on " + worker.row.name +
                     progress_text(stage.running->progress);
  const Microseconds silent = now.steady - worker.heard;
  if (silent > policy_.lease) {
    text += "; the worker has been silent for " + duration_text(silent) + " and is given " +
            duration_text(worker.heard + policy_.grace - now.steady) + " to come back";
  }
  return text;
}

}  // namespace locus
