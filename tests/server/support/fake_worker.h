// A worker that speaks the protocol and trains nothing: what it reports is computed by the test.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/base/json.h"
#include "tests/server/support/server_fixture.h"

namespace locus::test {

// What a stage's configuration says, for those who make up its results.
struct Assigned {
  v1::StageGrant grant;
  Json config;
  std::string prior;  // ids joined with "+"
  std::int64_t seed = 0;
};

// Thread-compatible.
class FakeWorker {
 public:
  FakeWorker(std::shared_ptr<grpc::Channel> channel, std::string name);

  grpc::Status register_with(const std::function<void(v1::RegisterWorkerRequest&)>& change = {});
  // One request for work; nothing when none is granted.
  std::optional<Assigned> acquire(std::chrono::milliseconds wait = std::chrono::milliseconds(0),
                                  grpc::Status* status = nullptr);
  grpc::Status sync(const std::vector<v1::HeldAttempt>& held, v1::SyncLeasesResponse* response);
  // Reports values of one series at steps 10, 20, ... and returns what was acknowledged.
  v1::ReportPointsResponse report(const Assigned& work, const std::string& metric, const std::string& split,
                                  const std::vector<double>& values, std::int64_t first_seq = 1,
                                  const std::string& labels = "");
  std::string upload(const std::string& bytes, grpc::Status* status = nullptr);  // the digest
  grpc::Status commit_checkpoint(const Assigned& work, std::int64_t step, const std::string& sha256, bool best = false);
  v1::ReportPointsRequest batch(const Assigned& work, const std::string& metric, const std::string& split,
                                const std::vector<double>& values, std::int64_t first_seq) const;
  // One batch of losses on a stream of its own: how the stream ends.
  grpc::Status try_report(const Assigned& work, const std::vector<double>& values, std::int64_t first_seq);
  grpc::Status report_log(const Assigned& work, std::int64_t offset, const std::string& text,
                          std::int64_t* next = nullptr);
  grpc::Status fail(const Assigned& work, const std::string& failure_class, const std::string& reason);
  grpc::Status complete(const Assigned& work, const std::function<void(v1::CompleteAttemptRequest&)>& change = {});

  // Runs everything there is to run. `score`: top1 of a prior and seed at a resolution (0: on validation).
  using Score = std::function<double(const std::string& prior, std::int64_t seed, int resolution)>;
  int run_all(const Score& score);
  void run(const Assigned& work, const Score& score);

  double best_gain = 0;  // by how much the best model, of step 50, scores higher than the last
  std::string environment = R"({"device":"cpu","dtype":"float32","threads":1,"path":"explicit"})";
  std::string session;
  std::vector<int> free_slots = {0};   // that it asks for work with
  std::int64_t peak_memory_bytes = 0;  // that its stages took

 private:
  std::string name_;
  std::unique_ptr<v1::WorkerService::Stub> workers_;
  std::unique_ptr<v1::ArtifactService::Stub> artifacts_;
  int requests_ = 0;
};

v1::Result result(const std::string& metric, const std::string& split, const std::string& labels, double value);

}  // namespace locus::test
