// How one attempt reaches the server: checkpoints as they come, then the outcome, each retried until it is
// answered.

#include "client/backoff.h"
#include "core/base/error.h"
#include "core/base/trainer_protocol.h"
#include "core/log/log.h"
#include "worker/link/link.h"

namespace locus {
namespace {

constexpr int kUploadsOfLostBlob = 3;
constexpr auto kLastWords = std::chrono::seconds(5);  // an outcome waits so long for its log, not longer

bool lacks_artifact(const absl::Status& status) { return has_reason(status, ErrorReason::kArtifactNotFound); }

// The server lacks an output, or was sent one whose bytes have changed here.
bool lost_output(const absl::Status& status) {
  return lacks_artifact(status) || has_reason(status, ErrorReason::kDigestMismatch);
}

bool parked_and_committed(const Attempt& attempt, const v1::CompleteAttemptRequest& outcome) {
  return outcome.outcome() == kOutcomeParked && attempt.committed_step() == outcome.step();
}

}  // namespace

void Link::deliver(const std::shared_ptr<Attempt>& attempt) {
  bool going = true;
  while (going) {
    const Attempt::Work work = attempt->wait_for_work();
    if (work.checkpoint) {
      going = deliver_checkpoint(*attempt, *work.checkpoint);
    } else if (work.outcome) {
      going = deliver_outcome(*attempt, *work.outcome);
    } else {
      going = false;
    }
  }
  logs_->close(attempt->key());
  if (stopping_.cancelled() && !attempt->discarded()) return;  // interrupted: the folder is for the next daemon
  stream_->remove(attempt->key());
  attempt->remove_folder();
}

// What an error means for the attempt. Waiting is up to the caller.
Link::Verdict Link::judge(Attempt& attempt, const absl::Status& status) {
  const auto detail = error_detail(status);
  if (detail && detail->reason == ErrorReason::kWorkerNotFound) {
    session_->unknown();
    return Verdict::kAgain;
  }
  // NOT_PERMITTED: by a server restored from a backup it may be another's, and who runs nothing uploads nothing.
  if (detail && (detail->reason == ErrorReason::kStaleAttempt || detail->reason == ErrorReason::kStageNotFound ||
                 detail->reason == ErrorReason::kNotPermitted)) {
    leases_->with([&](LeaseBook& book) { book.remove(attempt.key()); });
    drop(attempt.key());
    return Verdict::kDropped;
  }
  if (detail && detail->reason == ErrorReason::kSequenceGap) return Verdict::kAgain;  // the stream is sending them
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnknown:
      return Verdict::kAgain;
    default:
      return Verdict::kRefused;
  }
}

bool Link::deliver_checkpoint(Attempt& attempt, const PendingCheckpoint& checkpoint) {
  Backoff backoff(kRetryFirst, kHeartbeat * 2);
  v1::CommitCheckpointRequest request;
  request.set_session(session_->id());
  request.set_stage(attempt.key().first);
  request.set_attempt(attempt.key().second);
  request.set_step(checkpoint.step);
  request.set_sha256(checkpoint.blob->sha256);
  request.set_best(checkpoint.best);
  while (!stopping_.cancelled()) {
    absl::Status status = upload(checkpoint.blob->path, checkpoint.blob->sha256);
    if (status.ok()) {
      // An attempt that resumes from it draws no point before its step again: the server must have them all.
      if (!attempt.wait_acknowledged(checkpoint.last_seq) || !leases_->wait_may_commit(attempt.key()))
        return true;  // wait_for_work() tells why
      status = control_->commit_checkpoint(request, {.cancellation = &stopping_}).status();
    }
    if (status.ok()) {
      attempt.checkpoint_committed(checkpoint.step);
      return true;
    }
    switch (lacks_artifact(status) ? Verdict::kAgain : judge(attempt, status)) {
      case Verdict::kDropped:
        return true;
      case Verdict::kRefused:
        log_error("checkpoint of attempt {} at step {} was refused: {}", attempt.name(), checkpoint.step,
                  std::string(status.message()));
        return true;
      case Verdict::kAgain:
        stopping_.wait_for(backoff.next());
    }
  }
  return false;
}

// The server takes that many of one caller at a time.
absl::Status Link::upload(const std::filesystem::path& path, const std::string& sha256) {
  uploads_.acquire();  // given back soon: whoever uploads ends with the link
  const absl::Status status = bulk_->upload_artifact(path, "checkpoint", {.cancellation = &stopping_}, sha256).status();
  uploads_.release();
  return status;
}

absl::Status Link::upload_outputs(const v1::CompleteAttemptRequest& outcome) {
  for (const auto& output : outcome.outputs()) {
    LOCUS_ASSIGN_OR_RETURN(const auto blob, cache_->fetch(output.sha256(), *bulk_, {.cancellation = &stopping_}));
    LOCUS_RETURN_IF_ERROR(upload(blob->path, blob->sha256));
  }
  return absl::OkStatus();
}

// The checkpoint with which an attempt parked comes first: it may be a later daemon that tells of its end.
absl::Status Link::complete(Attempt& attempt, v1::CompleteAttemptRequest outcome) {
  if (outcome.outcome() == kOutcomeParked) {
    if (!parked_and_committed(attempt, outcome)) {
      v1::CommitCheckpointRequest request;
      request.set_session(outcome.session());
      request.set_stage(outcome.stage());
      request.set_attempt(outcome.attempt());
      request.set_step(outcome.step());
      if (outcome.outputs_size() > 0) {
        request.set_sha256(outcome.outputs(0).sha256());
        request.set_best(outcome.outputs(0).slot() == kBestCheckpointSlot);
      }
      LOCUS_RETURN_IF_ERROR(control_->commit_checkpoint(request, {.cancellation = &stopping_}).status());
      attempt.checkpoint_committed(outcome.step());
    }
    outcome.clear_outputs();
  }
  return control_->complete_attempt(outcome, {.cancellation = &stopping_}).status();
}

bool Link::deliver_outcome(Attempt& attempt, v1::CompleteAttemptRequest outcome) {
  Backoff backoff(kRetryFirst, kHeartbeat * 2);
  outcome.set_session(session_->id());
  int lost = 0;
  while (!stopping_.cancelled()) {
    absl::Status status = parked_and_committed(attempt, outcome) ? absl::OkStatus() : upload_outputs(outcome);
    if (status.ok()) {
      const std::int64_t last_seq = attempt.outbox().last_seq();
      if (!attempt.wait_acknowledged(last_seq)) return true;
      // First, so that who follows a log until its attempt has ended has seen its end.
      logs_->wait_sent(attempt.key(), kLastWords);
      if (!leases_->wait_may_commit(attempt.key())) return true;
      outcome.set_last_seq(last_seq);
      status = complete(attempt, outcome);
    }
    if (status.ok()) {
      log_info("attempt {} {}{}", attempt.name(), outcome.outcome(),
               outcome.reason().empty() ? "" : ": " + outcome.reason());
      leases_->with([&](LeaseBook& book) { book.remove(attempt.key()); });
      return false;
    }
    Verdict verdict = judge(attempt, status);
    if (lost_output(status) && ++lost < kUploadsOfLostBlob) verdict = Verdict::kAgain;
    if (verdict == Verdict::kDropped) return true;
    if (verdict == Verdict::kRefused && (outcome.outcome() == "succeeded" || outcome.outcome() == kOutcomeParked)) {
      // The server will not have this outcome, ever: it must learn at least that the attempt has ended, and
      // why.
      outcome.set_outcome("failed");
      outcome.set_failure_class(lost_output(status) ? "worker-lost" : "code");
      outcome.set_reason("the server refused the outcome: " + std::string(status.message()));
      outcome.clear_step();
      outcome.clear_results();
      outcome.clear_outputs();
    } else if (verdict == Verdict::kRefused) {
      log_error("the end of attempt {} was refused: {}", attempt.name(), std::string(status.message()));
      leases_->with([&](LeaseBook& book) { book.remove(attempt.key()); });
      return false;
    }
    stopping_.wait_for(backoff.next());
  }
  return false;
}

}  // namespace locus
