// Trouble beyond one stage: an experiment whose first cells all fail alike is paused, a worker that fails
// whatever it is given is drained. Both happen
// after failures of `policy.strikes` distinct stages. Failures on one of several workers count against that worker,
// failures on two, or on the only one, against the work.
#include <algorithm>
#include <cctype>

#include "core/scheduling/state.h"

namespace locus {
namespace {

constexpr std::size_t kSignatureLength = 80;

// What makes failures alike: the class, and the reason without its numbers.
std::string signature(const Ending& ending) {
  std::string out = to_string(ending.failure_class);
  out += ": ";
  for (const char c : ending.reason) {
    const char mark = std::isdigit(static_cast<unsigned char>(c)) ? '#' : c;
    if (mark == '#' && out.back() == '#') continue;
    out += mark;
    if (out.size() >= kSignatureLength) break;
  }
  return out;
}

// Whether the worker itself may be why. Diverging is arithmetic.
bool may_be_the_workers(FailureClass failure_class) { return failure_class != FailureClass::kDiverged; }

}  // namespace

int Scheduler::State::working_workers() const {
  return static_cast<int>(std::count_if(workers_.begin(), workers_.end(), [](const auto& entry) {
    return entry.second.connected && entry.second.row.state == WorkerState::kActive;
  }));
}

void Scheduler::State::note_success(const Stage& stage, Worker& worker) {
  worker.failed_in_row.clear();
  for (const auto& [reference, until] : stage.references) {
    const auto experiment = experiments_.find(reference.first);
    if (experiment == experiments_.end()) continue;
    experiment->second.proven = true;
    experiment->second.failures.clear();
  }
}

void Scheduler::State::note_failure(StageId id, const Wants& references, WorkerId worker_id, const Ending& ending) {
  Worker& worker = workers_.at(worker_id);
  if (may_be_the_workers(ending.failure_class)) worker.failed_in_row.insert(id);
  bool paused = false;
  for (const auto& [reference, until] : references) {
    const auto [experiment_id, trial] = reference;
    const auto found = experiments_.find(experiment_id);
    if (found == experiments_.end() || found->second.proven) continue;
    Experiment& experiment = found->second;
    Alike& alike = experiment.failures[signature(ending)];
    alike.stages.insert(id);
    alike.workers.insert(worker_id);
    if (const auto cell = experiment.cell_of.find(trial); cell != experiment.cell_of.end())
      alike.cells.insert(cell->second);
    paused = pause_if_all_fail(experiment, alike, ending) || paused;
  }
  if (paused) {
    worker.failed_in_row.clear();  // it was the work
  } else {
    drain_if_all_fails(worker, ending);
  }
}

bool Scheduler::State::pause_if_all_fail(Experiment& experiment, const Alike& alike, const Ending& ending) {
  const auto strikes = static_cast<std::int64_t>(policy_.strikes);
  if (experiment.row.state != ExperimentState::kActive) return false;
  if (static_cast<std::int64_t>(alike.stages.size()) < strikes) return false;
  if (static_cast<std::int64_t>(alike.cells.size()) < std::min(strikes, experiment.cells)) return false;
  if (alike.workers.size() < 2 && working_workers() > 1) return false;
  experiment.row.reason = "paused: its first " + std::to_string(alike.stages.size()) + " stages, of " +
                          std::to_string(alike.cells.size()) + (alike.cells.size() == 1 ? " cell" : " cells") +
                          ", all failed alike and none has succeeded: " + rule_of(ending.failure_class).words;
  if (!ending.reason.empty()) experiment.row.reason += ": " + ending.reason;
  mutate(
      SetExperimentState{experiment.row.id, ExperimentState::kActive, ExperimentState::kPaused, experiment.row.reason});
  experiment.row.state = ExperimentState::kPaused;
  announce_experiment(experiment, "experiment-state");
  for (const auto& [reference, until] : experiment.references) refresh_ready(stages_.at(reference.first));
  experiment.failures.clear();
  return true;
}

void Scheduler::State::drain_if_all_fails(Worker& worker, const Ending& ending) {
  if (worker.failed_in_row.size() < static_cast<std::size_t>(policy_.strikes)) return;
  if (worker.row.drained() || working_workers() < 2) return;
  set_drain(worker, Drain::kNoNewWork,
            std::to_string(worker.failed_in_row.size()) +
                " stages in a row failed on it, while other workers are there; the last one " +
                rule_of(ending.failure_class).words + (ending.reason.empty() ? "" : ": " + ending.reason),
            0);
}

}  // namespace locus
