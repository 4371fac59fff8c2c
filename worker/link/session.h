// The worker's standing with the server: registration, heartbeats and the search for work, each loop on a
// thread of its own.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "client/client.h"
#include "worker/link/leases.h"
#include "worker/link/samples.h"

namespace locus {

// Of a daemon that ends by itself: how long until then, and how long that was when it started.
struct RemainingLife {
  Microseconds left = 0, whole = 0;
};

// What the session tells. Called from its threads; must not block for long.
class SessionListener {
 public:
  virtual ~SessionListener() = default;
  virtual void registered() {}  // the server knows this worker; again after each new session there
  virtual void granted(const v1::StageGrant& grant, Microseconds request_sent) = 0;
  virtual void ordered(LeaseBook::Key key, LeaseOrder order) = 0;
  virtual void stop_point_moved(LeaseBook::Key key, std::int64_t until_step) = 0;
  virtual void refused(
      const absl::Status& status) = 0;  // the server will not have this worker; asking again is of no use
  virtual SystemSamples take_samples() { return {}; }                             // new since the last heartbeat
  virtual std::optional<RemainingLife> remaining_life() { return std::nullopt; }  // nothing: it stays
};

// Thread-safe. `client`, `leases` and `listener` must outlive it.
class Session {
 public:
  // `announcement` says who the worker is; session id and the attempts it runs are filled in.
  Session(Client& client, Leases& leases, v1::RegisterWorkerRequest announcement, SessionListener& listener);
  ~Session();

  const std::string& id() const { return announcement_.session(); }
  void start();
  void stop();  // ends both loops and their calls

  // Offers slots (indexes into those announced) to the server, but not before `pause` has passed; a request that waits there
  // for other slots is sent anew with these. A grant takes its slots away.
  void offer(const std::vector<int>& slots, Microseconds pause = 0);
  void take_no_more();  // ask for no more work, for good
  // Which datasets this machine holds from now on; if that is news, the server is told at the next heartbeat.
  void announce(const v1::HeldData& data);
  // The server answered WORKER_NOT_FOUND to some call: register again.
  void unknown();

 private:
  void keep_leases();
  void look_for_work();
  absl::Status register_worker();
  absl::Status send_heartbeat();
  void report_trouble(const absl::Status& status);
  bool may_be_our_past(const absl::Status& refusal);
  // Until there are slots to ask for, with a call that offer() may cancel; false at the end.
  bool wait_until_wanting(std::vector<int>& slots, Cancellation& call);
  void end_search();  // under mutex_

  Client& client_;
  Leases& leases_;
  v1::RegisterWorkerRequest announcement_;
  SessionListener& listener_;
  Cancellation stopping_;        // everything
  Cancellation stop_acquiring_;  // the search for work
  std::mutex mutex_;
  std::condition_variable changed_;
  Cancellation* asking_ = nullptr;  // the call that waits for a grant
  std::set<int> free_;
  Microseconds not_before_ = 0;
  bool registered_ = false, draining_ = false, stopped_ = false;
  Microseconds name_wanted_since_ = 0;  // heartbeat thread only: while the name's holder may be our past
  bool troubled_ = false;               // heartbeat thread only: the trouble was told
  std::thread heartbeats_, search_;
};

}  // namespace locus
