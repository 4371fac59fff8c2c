// The simulated worker's deliveries: points from the outbox, checkpoints in order, the outcome last.
#include <algorithm>

#include "core/base/error.h"
#include "tests/simulation/worker.h"

namespace locus::simulation {
namespace {

constexpr Microseconds kDeadline = 10 * kSecond;
constexpr std::size_t kPointsPerCall = 8;

PointAppend batch(StageId stage, std::int64_t attempt, const std::vector<double>& losses,
                  const std::vector<std::int64_t>& steps, std::int64_t after, Microseconds wall) {
  PointAppend append{.stage_id = stage, .attempt = attempt, .first_seq = after + 1, .points = {}};
  PointBatch& points = append.points;
  points.series = {kLoss};
  const std::size_t end = std::min(steps.size(), static_cast<std::size_t>(after) + kPointsPerCall);
  for (auto i = static_cast<std::size_t>(after); i < end; ++i) {
    points.series_index.push_back(0);
    points.step.push_back(steps[i]);
    points.epoch.push_back(static_cast<double>(steps[i]) / 10);
    points.images.push_back(point_tag(attempt, static_cast<std::int64_t>(i) + 1));
    points.time_us.push_back(wall);
    points.value.push_back(losses[i]);
  }
  return append;
}

}  // namespace

void WorkerProcess::send_points(Key key) {
  auto found = trainers_.find(key);
  if (found == trainers_.end() || found->second.sending) return;
  const Outbox& outbox = outboxes_.at(key);
  if (outbox.acked >= static_cast<std::int64_t>(outbox.steps.size())) return;
  found->second.sending = true;
  const PointAppend append = batch(key.first, key.second, outbox.losses, outbox.steps, outbox.acked, wall());
  const std::int64_t life = found->second.life;
  call([this, append](Respond respond) { server_.report_points(append, std::move(respond)); }, kDeadline,
       [this, key, life](const Answer& answer) {
         auto trainer = trainers_.find(key);
         if (trainer == trainers_.end()) return;
         trainer->second.sending = false;
         if (has_reason(answer.status, ErrorReason::kStaleAttempt)) return discard(key);
         if (!answer.status.ok()) return;  // sent again by the next pump
         ledger_.acknowledged(key.first, key.second, answer.acked);
         Outbox& box = outboxes_.at(key);
         box.acked = std::clamp(answer.acked, box.acked, static_cast<std::int64_t>(box.steps.size()));
         if (box.acked > 0) {
           trainer->second.points_up_to_step = box.steps[static_cast<std::size_t>(box.acked) - 1];
         }
         if (life == trainer->second.life) pump();
       });
}

// After a crash the outbox is still on disk: what is in it is offered once more, and refused unless its
// attempt is current.
void WorkerProcess::send_leftovers() {
  const auto leftovers = std::exchange(outboxes_, {});
  for (const auto& [key, outbox] : leftovers) {
    if (outbox.acked >= static_cast<std::int64_t>(outbox.steps.size())) continue;
    const PointAppend append = batch(key.first, key.second, outbox.losses, outbox.steps, outbox.acked, wall());
    call([this, append](Respond respond) { server_.report_points(append, std::move(respond)); }, kDeadline,
         [this, k = key](const Answer& answer) {
           if (answer.status.ok()) ledger_.acknowledged(k.first, k.second, answer.acked);
         });
  }
}

// A checkpoint waits until the points before it are stored, so that whoever resumes from it continues a whole
// curve.
void WorkerProcess::deliver_next(Key key) {
  auto found = trainers_.find(key);
  if (found == trainers_.end() || found->second.delivering || !may_commit(key)) return;
  const Trainer& trainer = found->second;
  if (!trainer.checkpoints.empty()) {
    const bool whole = trainer.points_up_to_step >= trainer.checkpoints.front();
    if (whole || mutant_ == Mutant::kCheckpointOutrunsPoints) commit(key, trainer.checkpoints.front());
  } else if (trainer.phase == Phase::kFinished) {
    complete(key);
  }
}

void WorkerProcess::commit(Key key, std::int64_t step) {
  trainers_.at(key).delivering = true;
  const std::string sha = checkpoint_sha(key.first, step);
  call([this, sha](Respond respond) { server_.upload(sha, std::move(respond)); }, kDeadline,
       [this, key, step, sha](const Answer& uploaded) {
         auto trainer = trainers_.find(key);
         if (trainer == trainers_.end()) return;
         // Uploading took its time: ask the book again right before the commit leaves.
         if (!uploaded.status.ok() || !may_commit(key)) {
           trainer->second.delivering = false;
           return;
         }
         const CheckpointCommitted event{0, session_, key.first, key.second, step, sha, false};
         call([this, event](Respond respond) { server_.commit_checkpoint(event, std::move(respond)); }, kDeadline,
              [this, key, step](const Answer& answer) {
                auto found = trainers_.find(key);
                if (found == trainers_.end()) return;
                auto& waiting = found->second.checkpoints;
                if (answer.status.ok() && !waiting.empty() && waiting.front() == step) waiting.pop_front();
                delivered(key, answer.status, /*ended=*/false);
              });
       });
}

void WorkerProcess::complete(Key key) {
  Trainer& trainer = trainers_.at(key);
  trainer.delivering = true;
  AttemptCompleted event;
  event.session = session_;
  event.stage_id = key.first;
  event.attempt = key.second;
  event.outcome = trainer.outcome;
  event.failure_class = trainer.failure_class;
  event.reason = trainer.outcome == AttemptState::kFailed ? "the trainer said so" : "";
  if (trainer.outcome == AttemptState::kSucceeded) {
    event.outputs = {{"checkpoint", checkpoint_sha(key.first, trainer.step), trainer.step}};
    event.results = {{{"top1", "test", "{}"}, "last", 80.0, trainer.step}};
    if (trainer.grant.kind == "train")
      event.results.push_back({kLoss, "last", loss_at(trainer.grant.config_json, trainer.step), trainer.step});
  }
  if (trainer.outcome == AttemptState::kParked) event.step = trainer.step;
  const auto last_seq = static_cast<std::int64_t>(outboxes_.at(key).steps.size());
  call([this, event, last_seq](Respond respond) { server_.complete(event, last_seq, std::move(respond)); }, kDeadline,
       [this, key](const Answer& answer) { delivered(key, answer.status, /*ended=*/answer.status.ok()); });
}

void WorkerProcess::delivered(Key key, const absl::Status& status, bool ended) {
  auto found = trainers_.find(key);
  if (found == trainers_.end()) return;
  found->second.delivering = false;
  if (noticed(status)) return;
  if (ended || has_reason(status, ErrorReason::kStaleAttempt)) discard(key);
}

}  // namespace locus::simulation
