// One attempt as the daemon holds it: its folder, its outbox, and what is still to be delivered to the
// server.
#pragma once

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "core/base/clock.h"
#include "locus/v1/worker_service.pb.h"
#include "worker/link/artifact_cache.h"
#include "worker/link/lease_book.h"
#include "worker/link/outbox.h"

namespace locus {

struct PendingCheckpoint {
  ArtifactCache::Pin blob;
  std::int64_t step = 0;
  bool best = false;
  std::int64_t last_seq = 0;  // of the points that came before it
};

// The folder holds `grant`, `outbox` and, once ended, `outcome`, and is closed to the trainer; it outlives the
// daemon, so that points and outcome reach the server after a crash. It outlives the machine, too, once settle() has
// put it on the medium: not at once, because most of what is short is delivered before that would have mattered.
// Thread-safe; shared by the slot that runs it and the link that delivers it.
class Attempt {
 public:
  // A new folder under `root`; one left by an earlier life of the same token is emptied first.
  static absl::StatusOr<std::shared_ptr<Attempt>> create(const std::filesystem::path& root, const v1::StageGrant& grant,
                                                         OutboxOptions options);
  // A folder that an earlier daemon left. Without an outcome its trainer died with that daemon: it ends as
  // failed, worker-lost. So does one whose outcome is of more points than the outbox has: the machine lost them.
  static absl::StatusOr<std::shared_ptr<Attempt>> recover(const std::filesystem::path& folder, OutboxOptions options);

  LeaseBook::Key key() const { return {grant_.stage(), grant_.attempt()}; }
  std::string name() const;  // "7/2": stage and attempt, as frames and logs write it
  const v1::StageGrant& grant() const { return grant_; }
  Outbox& outbox() { return *outbox_; }

  // ---- the slot's side ----
  // Queues a checkpoint; of those that wait, only the newest and the best ones are worth an upload.
  void add_checkpoint(PendingCheckpoint checkpoint);
  // The one queued last, whatever has become of it; nothing before the first.
  std::optional<PendingCheckpoint> newest_checkpoint() const;
  // Sets and stores the outcome (session and last_seq are filled in on delivery). The first one counts.
  // `kept` are the blobs of its outputs.
  absl::Status finish(v1::CompleteAttemptRequest outcome, std::vector<ArtifactCache::Pin> kept);
  // Puts what has changed since the last time on the medium: grant, points, outcome. Changes younger than `age` may
  // wait. What could not be flushed is tried again by the next call.
  absl::Status settle(Microseconds age = 0);

  // ---- the link's side ----
  struct Work {
    std::optional<PendingCheckpoint> checkpoint;        // deliver this first,
    std::optional<v1::CompleteAttemptRequest> outcome;  // or else this; neither: discarded or interrupted
  };
  Work wait_for_work();
  void checkpoint_committed(std::int64_t step);
  std::int64_t committed_step() const;  // of the checkpoint committed last by this daemon; -1: none
  // The server holds the points up to `seq`.
  absl::Status acknowledge(std::int64_t seq);
  bool wait_acknowledged(std::int64_t seq);  // until the server holds them; false: discarded or interrupted
  bool finished() const;
  // The work is of no use any more: wait_for_work() returns nothing from now on, remove_folder() may follow.
  void discard();
  void interrupt();  // the daemon ends: likewise, but the folder stays
  bool discarded() const;
  void remove_folder();
  bool removed() const;

 private:
  Attempt(std::filesystem::path folder, v1::StageGrant grant) : folder_(std::move(folder)), grant_(std::move(grant)) {}

  const std::filesystem::path folder_;
  const v1::StageGrant grant_;
  std::unique_ptr<Outbox> outbox_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<PendingCheckpoint> checkpoints_;
  std::optional<PendingCheckpoint> newest_;
  std::int64_t committed_step_ = -1;
  std::optional<v1::CompleteAttemptRequest> outcome_;
  std::vector<ArtifactCache::Pin> kept_;
  bool discarded_ = false, interrupted_ = false, removed_ = false;
  std::mutex settling_;  // taken before mutex_
  // By the steady clock, of the files grant and outcome; nothing: on the medium.
  std::optional<Microseconds> grant_written_, outcome_written_;
};

}  // namespace locus
