// The calls of a worker, made by hand.
#include "bench/synthetic_worker.h"

#include "core/base/json.h"
#include "core/limits.h"

namespace locus::bench {

SyntheticWorker::SyntheticWorker(const std::string& server, const Catalog& catalog, const std::string& name, int slots)
    : client_(must(Client::connect(server))), session_("session-of-" + name), slots_(slots) {
  v1::RegisterWorkerRequest request;
  request.set_name(name);
  request.set_session(session_);
  request.set_protocol_version(kProtocolVersion);
  request.set_catalog_digest(catalog.digest());
  for (const auto& [item, revision] : catalog.revisions()) (*request.mutable_revisions())[item] = revision;
  for (int i = 0; i < slots; ++i) {
    v1::Slot& slot = *request.add_slots();
    slot.set_device("cpu");
    slot.set_index(i);
    slot.set_threads(1);
  }
  must(client_->register_worker(request));
}

v1::AcquireStageResponse SyntheticWorker::acquire(int slot, std::chrono::milliseconds wait) {
  v1::AcquireStageRequest request;
  request.set_session(session_);
  request.add_free_slots(slot);
  const auto seconds = std::chrono::floor<std::chrono::seconds>(wait);
  request.mutable_wait_duration()->set_seconds(seconds.count());
  request.mutable_wait_duration()->set_nanos(static_cast<int>((wait - seconds).count()) * 1'000'000);
  return must(client_->acquire_stage(request));
}

void SyntheticWorker::complete(const v1::StageGrant& grant, std::int64_t last_seq, const std::string& outcome,
                               std::int64_t step) {
  v1::CompleteAttemptRequest request;
  request.set_session(session_);
  request.set_stage(grant.stage());
  request.set_attempt(grant.attempt());
  request.set_outcome(outcome);
  request.set_step(step);
  request.set_last_seq(last_seq);
  must(client_->complete_attempt(request));
}

void SyntheticWorker::checkpoint(const v1::StageGrant& grant, std::int64_t step, const std::string& sha256) {
  v1::CommitCheckpointRequest request;
  request.set_session(session_);
  request.set_stage(grant.stage());
  request.set_attempt(grant.attempt());
  request.set_step(step);
  request.set_sha256(sha256);
  must(client_->commit_checkpoint(request));
}

void submit_empty(Client& client, const std::string& name, int trials, int first) {
  constexpr int kSeeds = 100;
  Json rates = Json::array(), seeds = Json::array();
  for (int r = 0; r < trials / kSeeds; ++r) rates.push_back(1e-5 * (first / kSeeds + r + 1));
  for (int s = 0; s < kSeeds; ++s) seeds.push_back(s);
  const Json spec = {{"version", 1},
                     {"name", name},
                     {"dataset", "fashion-mnist"},
                     {"model", {{"backbone", "vit"}, {"dim", 16}, {"depth", 1}, {"heads", 1}, {"patch", 7}}},
                     {"train", {{"epochs", 1}, {"batch", 32}, {"limit", 64}}},
                     {"matrix", {{"prior", {"none"}}, {"train.lr", rates}}},
                     {"replicates", {{"seed", seeds}}}};
  v1::CreateExperimentRequest request;
  request.set_spec_json(spec.dump());
  must(client.create_experiment(request));
}

std::vector<std::unique_ptr<SyntheticWorker>> workers_of(Server& server, int count, int slots) {
  const Catalog catalog = must(server::load_catalog({}));
  std::vector<std::unique_ptr<SyntheticWorker>> out;
  for (int w = 0; w < count; ++w) {
    out.push_back(
        std::make_unique<SyntheticWorker>(server.addresses().grpc, catalog, "synthetic-" + std::to_string(w), slots));
  }
  return out;
}

}  // namespace locus::bench
