// A whole server in the test's process: in memory or on a folder, on free ports, with stubs and an HTTP
// client.
#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "locus/v1/admin_service.grpc.pb.h"
#include "locus/v1/analysis_service.grpc.pb.h"
#include "locus/v1/artifact_service.grpc.pb.h"
#include "locus/v1/catalog_service.grpc.pb.h"
#include "locus/v1/experiment_service.grpc.pb.h"
#include "locus/v1/metric_service.grpc.pb.h"
#include "locus/v1/search_service.grpc.pb.h"
#include "locus/v1/worker_service.grpc.pb.h"
#include "server/app/serve.h"
#include "tests/server/support/http_client.h"

namespace locus::test {

// A folder of its own, gone afterwards.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

Catalog test_catalog();
// Three priors, three seeds, two resolutions, paired with learned-absolute. Overrides are merged over it
// (JSON merge patch).
Json small_specification(const Json& overrides = Json::object());

// Arms a context with a deadline, so that a hang is a failure.
std::unique_ptr<grpc::ClientContext> deadline(int seconds = 20);

// What an error carries beside its message.
struct WireError {
  std::string reason, field;
};
WireError wire_error(const grpc::Status& status);

class ServerTest : public testing::Test {
 protected:
  // Port 0 on both sides. Without a folder the store is in memory.
  void start(ServerOptions options = {});
  void stop();
  std::string grpc_address() const { return server_->addresses().grpc; }
  HttpClient http() const { return HttpClient(server_->addresses().http); }
  v1::CreateExperimentResponse submit(const Json& specification, bool replace = false);
  v1::Experiment experiment(const std::string& name);
  v1::Table table(const std::string& name);

  std::function<absl::StatusOr<DiskRoom>()> disk_;      // given to the server when set before start()
  std::function<void(Store&)> seed_;                    // likewise: fills the store first
  std::function<std::unique_ptr<Store>()> make_store_;  // likewise: instead of one in memory
  Clock* clock_ = &system_clock();                      // likewise
  server::ConnectionLimits each_address_;               // likewise
  std::vector<PaperClaims> claims_;                     // given to a server in memory
  Store* store_ = nullptr;                              // the running server's
  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::ExperimentService::Stub> experiments_;
  std::unique_ptr<v1::AnalysisService::Stub> analysis_;
  std::unique_ptr<v1::MetricService::Stub> metrics_;
  std::unique_ptr<v1::ArtifactService::Stub> artifacts_;
  std::unique_ptr<v1::CatalogService::Stub> catalog_;
  std::unique_ptr<v1::WorkerService::Stub> workers_;
  std::unique_ptr<v1::SearchService::Stub> searches_;
};

}  // namespace locus::test
