// The worker's side of leases as a pure state machine: which attempts it runs, whether committing is allowed
// now, when to stop.
//
// No threads, clock, network or gRPC of its own: time is an argument, so the daemon and the simulation run
// the same code. All times are readings of one steady clock of this process. The owner sends heartbeats and
// registrations, tells the book when each was *sent* and how it was answered, and carries out the orders the
// book gives.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/experiment/lease.h"
#include "core/experiment/model.h"
#include "core/limits.h"
#include "core/search/rows.h"

namespace locus {

struct LeasePolicy {
  Microseconds heartbeat = kHeartbeat.count();
  Microseconds fence = kWorkerFence.count();    // since the last sent heartbeat that was answered: no more commits
  Microseconds grace = kReattachGrace.count();  // since then: the work is given up
};

// What the owner must do with an attempt; each is given once.
enum class LeaseOrder {
  kCheckpointAndStop,  // save, then complete with "stopped"; the attempt stays there until its outcome is
                       // stored
  kDiscard,            // kill the trainer, delete its outbox, report nothing; the book has forgotten the attempt
                       // already
};

// Thread-compatible.
class LeaseBook {
 public:
  using Key = std::pair<StageId, std::int64_t>;  // stage, attempt number

  explicit LeaseBook(LeasePolicy policy = {}) : policy_(policy) {}

  // ---- the session ----
  // The server does not know the session (never registered, or a call was answered WORKER_NOT_FOUND):
  // register with claims().
  bool must_register() const { return !registered_; }
  void registration_answered() { registered_ = true; }
  void session_unknown() { registered_ = false; }

  // ---- heartbeats ----
  // When the next heartbeat should be sent: one interval after the last one was, at once after a grant.
  // Sending earlier is fine.
  Microseconds heartbeat_due() const { return heartbeat_due_; }
  // A heartbeat leaves now; state exactly the claims returned. Several may be under way at once.
  std::vector<StatedAttempt> heartbeat_sent(Microseconds now);
  // The heartbeat sent at `sent` was answered. Attempts it did not state are ignored, answers may come in any
  // order. `until`: the stop points of those that have one; of the others that it states there is none now.
  void heartbeat_answered(Microseconds sent, const std::vector<std::pair<Key, LeaseWish>>& wishes,
                          const std::map<Key, std::int64_t>& until = {});

  // ---- attempts ----
  // A grant has arrived, answering a request sent at `request_sent`. False: it is there already, or was
  // discarded before.
  bool add(Key key, Microseconds request_sent, Microseconds now, std::int64_t until_step = kToTheEnd);
  void set_progress(Key key, std::int64_t step, std::int64_t steps, std::string phase);
  // The outcome is stored, or the server called the token stale: it is there no longer.
  void remove(Key key);
  bool runs(Key key) const { return entries_.contains(key); }
  std::size_t size() const { return entries_.size(); }
  // What to declare on registration: every attempt it runs, trainers that have finished but whose outcome is not
  // stored included.
  std::vector<StatedAttempt> claims() const;

  // Whether a checkpoint or an outcome of this attempt may be committed now: it is there, and its newest answered
  // heartbeat (or the request that brought it) was sent at most one fence ago. The store checks the token
  // again; this keeps two workers from believing in one stage at once.
  bool may_commit(Key key, Microseconds now) const;

  // Where the attempt is to park (core/search/rows.h), as of the newest that the server said; kToTheEnd when it is not
  // there.
  std::int64_t until_step(Key key) const;
  // The stop points that have moved since they were granted or this was last called.
  std::vector<std::pair<Key, std::int64_t>> take_stop_points();

  // What has become due by `now`. Attempts out of grace and dropped or cancelled ones are forgotten by this
  // call.
  std::vector<std::pair<Key, LeaseOrder>> take_orders(Microseconds now);
  // When take_orders() or heartbeat_due() has something to do at the latest.
  Microseconds next_wake() const;

 private:
  struct Entry {
    StatedAttempt claim;
    Microseconds confirmed = 0;  // sent time of the newest answered heartbeat that stated it
    bool stop = false, stop_ordered = false, discard = false;
    std::int64_t until = kToTheEnd, until_told = kToTheEnd;
    Microseconds until_said = 0;  // sent time of what was answered with `until`
  };

  LeasePolicy policy_;
  bool registered_ = false;
  Microseconds heartbeat_due_ = 0;
  std::map<Key, Entry> entries_;
  std::map<StageId, std::int64_t> discarded_;  // newest number given up: a late copy of its grant is not taken up again
};

}  // namespace locus
