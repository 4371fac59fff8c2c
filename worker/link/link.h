// The daemon's link to the server: takes grants in, delivers points, checkpoints and outcomes, whatever
// happens in between.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "client/client.h"
#include "core/limits.h"
#include "worker/link/artifact_cache.h"
#include "worker/link/attempt.h"
#include "worker/link/leases.h"
#include "worker/link/log_stream.h"
#include "worker/link/point_stream.h"
#include "worker/link/session.h"

namespace locus {

struct LinkOptions {
  std::string server;
  ClientTls tls = {};                      // plain without
  std::filesystem::path work;              // attempts/ and artifacts/ live here
  v1::RegisterWorkerRequest announcement;  // session and attempts are filled in
  OutboxOptions outbox;
  LeasePolicy leases;
  std::int64_t cache_bytes = std::int64_t{4} << 30;
};

// What the daemon must do. Called from the link's threads; must not block for long nor call stop().
class LinkListener {
 public:
  virtual ~LinkListener() = default;
  virtual void registered() {}  // the server knows this worker
  virtual void granted(std::shared_ptr<Attempt> attempt) = 0;
  virtual void stop_wished(LeaseBook::Key key) = 0;  // checkpoint and end as stopped
  // It is to park elsewhere than it was told to before.
  virtual void stop_point_moved(LeaseBook::Key key, std::int64_t until_step) = 0;
  virtual void discarded(LeaseBook::Key key) = 0;  // end the trainer's work, report nothing
  virtual void refused(const absl::Status& status) = 0;
  virtual SystemSamples take_samples() { return {}; }  // for the next heartbeat
  virtual std::optional<RemainingLife> remaining_life() { return std::nullopt; }
};

// Thread-safe.
class Link : private SessionListener {
 public:
  // Takes up what an earlier daemon left under `work`. `listener` must outlive the link.
  static absl::StatusOr<std::unique_ptr<Link>> open(LinkOptions options, LinkListener& listener);
  ~Link() override;

  void start();                               // returns at once; registers as soon as the server answers
  void offer(const std::vector<int>& slots);  // these slots are free
  void take_no_more();                        // a drain has begun
  void announce(const v1::HeldData& data);    // which datasets are held from now on
  void keep_certificate();                    // has it renewed when that is due; blocks for one call then
  void stop();                                // what is not delivered stays on disk

  // ---- for the slot that runs an attempt ----
  // RESOURCE_EXHAUSTED: full, try again later. ABORTED: the attempt was discarded.
  absl::Status append(Attempt& attempt, const v1::PointColumns& points);
  // What the trainer printed, or the daemon has to say beside it; sent in the background.
  void append_log(Attempt& attempt, const std::string& text);
  void set_progress(Attempt& attempt, std::int64_t step, std::int64_t steps, const std::string& phase);
  // Takes the file over.
  absl::Status add_checkpoint(Attempt& attempt, const std::filesystem::path& file, std::int64_t step, bool best);
  // Where the attempt is to park, as of the newest that the server said.
  std::int64_t until_step(const Attempt& attempt);
  // The blob with that digest, from here or from the server; waits for a server that is away.
  absl::StatusOr<ArtifactCache::Pin> fetch(const std::string& sha256);
  struct ProducedFile {
    std::string slot;
    std::filesystem::path path;
    std::int64_t step = 0;
  };
  // The attempt has ended; delivered in the background, retried until the server has it. Output files are
  // taken over. One that parked must have added its checkpoint before, which is committed first whatever happens to
  // this daemon; what lost it, or an output, ends as failed instead.
  void finish(Attempt& attempt, v1::CompleteAttemptRequest outcome, const std::vector<ProducedFile>& outputs = {});

  bool delivered();  // nothing is left to deliver, logs apart
  // Waits until nothing is left to deliver; false when `time` was up.
  bool wait_delivered(std::chrono::microseconds time);

 private:
  struct Delivery {
    std::shared_ptr<Attempt> attempt;
    std::thread thread;
    bool done = false;
  };

  Link(LinkOptions options, LinkListener& listener) : options_(std::move(options)), listener_(listener) {}
  absl::Status recover_attempts();
  void deliver(const std::shared_ptr<Attempt>& attempt);
  bool deliver_checkpoint(Attempt& attempt, const PendingCheckpoint& checkpoint);
  bool deliver_outcome(Attempt& attempt, v1::CompleteAttemptRequest outcome);
  absl::Status upload(const std::filesystem::path& path, const std::string& sha256);
  absl::Status upload_outputs(const v1::CompleteAttemptRequest& outcome);
  absl::Status complete(Attempt& attempt, v1::CompleteAttemptRequest outcome);
  // How the stored outcome of an attempt that parked lists its checkpoint.
  static constexpr char kCheckpointSlot[] = "checkpoint", kBestCheckpointSlot[] = "best-checkpoint";
  enum class Verdict { kAgain, kDropped, kRefused };
  Verdict judge(Attempt& attempt, const absl::Status& status);
  void begin(const std::shared_ptr<Attempt>& attempt);
  void drop(LeaseBook::Key key);
  void reap();
  bool all_delivered() const;  // under mutex_
  void settle_attempts();

  void registered() override { listener_.registered(); }
  void granted(const v1::StageGrant& grant, Microseconds request_sent) override;
  void ordered(LeaseBook::Key key, LeaseOrder order) override;
  void stop_point_moved(LeaseBook::Key key, std::int64_t until_step) override {
    listener_.stop_point_moved(key, until_step);
  }
  void refused(const absl::Status& status) override { listener_.refused(status); }
  SystemSamples take_samples() override { return listener_.take_samples(); }
  std::optional<RemainingLife> remaining_life() override { return listener_.remaining_life(); }

  const LinkOptions options_;
  LinkListener& listener_;
  std::unique_ptr<Leases> leases_;
  std::unique_ptr<Client> control_, bulk_;  // two connections: heartbeats never wait behind points and blobs
  std::unique_ptr<ArtifactCache> cache_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<PointStream> stream_;
  std::unique_ptr<LogStream> logs_;
  Cancellation stopping_;
  Cancellation draining_;  // downloads of inputs
  std::counting_semaphore<kUploadsAtATime> uploads_{kUploadsAtATime};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<LeaseBook::Key, Delivery> deliveries_;
  std::thread settler_;
};

}  // namespace locus
