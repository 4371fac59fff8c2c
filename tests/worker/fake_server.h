// A server in this process with a store that outlives its restarts: just enough of the worker, artifact and
// catalog services to judge a daemon by.
#pragma once

#include <grpcpp/server.h>

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "locus/v1/artifact_service.grpc.pb.h"
#include "locus/v1/catalog_service.grpc.pb.h"
#include "locus/v1/worker_service.grpc.pb.h"

namespace locus {

struct FakePoint {
  std::int64_t step = 0;
  double value = 0;
};

struct FakeAttempt {
  std::vector<FakePoint> points;  // by sequence, from 1
  std::int64_t resume_step = 0;
  std::int64_t parked_above = 0;  // the newest checkpoint's step when it ended as parked
  std::optional<v1::CompleteAttemptRequest> outcome;
  std::string log, log_at_completion;
};

struct FakeStage {
  std::string config;
  std::string state = "queued";  // queued running succeeded failed parked
  std::map<std::string, std::string> inputs;
  std::int64_t limit_seconds = 0;  // 0: none
  std::set<std::string> phases;    // that it was said to be in
  std::int64_t attempt = 0;
  std::string session;  // that holds the newest attempt
  v1::Wish wish = v1::WISH_CONTINUE;
  std::int64_t until_step = 0;
  std::int64_t checkpoint_step = 0;
  std::string checkpoint;
  std::map<std::int64_t, FakeAttempt> attempts;
  std::size_t devices = 1;  // granted together, to a request that names as many slots
  bool exclusive = false;   // granted to a request that names every slot
};

// What a disk would keep. Use under `mutex`; notify `changed` after changes.
struct FakeStore {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::int64_t, FakeStage> stages;
  std::map<std::string, std::string> artifacts;
  std::vector<std::string> downloads;
  std::map<std::string, v1::AcquireStageResponse> grants;  // by request
  std::size_t slots = 1;                                   // of the worker, at least
  std::set<std::size_t> named;                             // how many slots requests have named
  std::set<std::string> sessions;                          // forgotten on restart
  std::map<std::string, std::int64_t> workers;             // name -> registrations
  std::int64_t memory_bytes = 0;                           // that the like of all took elsewhere; 0: not known
  bool memory_given = false;                               // it is what their specification says
  double seconds_left = -1;  // until the worker ends by itself, as last announced; -1: it stays
  int registrations = 0, stale_writes = 0, attempts_at_most = 3;
  int early_checkpoints = 0;                      // committed before the points up to their step were stored
  bool take_uploads = true;                       // false: they are refused as of a worker that runs nothing
  bool commit_checkpoints = true;                 // false: they are refused as something that may pass
  std::vector<std::int64_t> refused_checkpoints;  // their steps
  std::map<std::int64_t, std::map<std::string, double>> samples;  // newest by stage; 0: the machine's
  // A stage whose stop point is above 0; it is parked when it ends so.
  std::int64_t add_stage_until(const Json& script, std::int64_t until_step);
  void move_stop_point(std::int64_t stage, std::int64_t until_step);
  bool acknowledge = true;  // false: takes points, commits none, says nothing

  std::int64_t add_stage(const Json& script, std::map<std::string, std::string> inputs = {},
                         std::int64_t limit_seconds = 0, bool exclusive = false);
  std::int64_t add_gang(Json config, std::size_t devices);  // a whole stage configuration
  // Waits until `ready` holds; false after a minute.
  bool wait(const std::function<bool()>& ready);
  bool wait_state(std::int64_t stage, const std::string& state) {
    return wait([&] { return stages.at(stage).state == state; });
  }
};

class FakeServer {
 public:
  explicit FakeServer(FakeStore& store);
  ~FakeServer();
  void start();  // on the same port as before, if there was one
  void stop();   // hard: streams break, sessions are forgotten
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  class Workers;
  class Artifacts;
  class Catalogs;
  FakeStore& store_;
  int port_ = 0;
  std::unique_ptr<Workers> workers_;
  std::unique_ptr<Artifacts> artifacts_;
  std::unique_ptr<Catalogs> catalogs_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace locus
