// A whole server in the test's process.
#include "tests/server/support/server_fixture.h"

#include <fstream>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "storage/artifacts/memory.h"
#include "storage/memory/store.h"

namespace locus::test {

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "locus-server-XXXXXX").string();
  path_ = mkdtemp(pattern.data());
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Catalog test_catalog() {
  std::ifstream in(LOCUS_TEST_CATALOG);
  auto catalog = Catalog::parse(Json::parse(in));
  if (!catalog.ok()) throw std::runtime_error(catalog.status().ToString());
  return *std::move(catalog);
}

Json small_specification(const Json& overrides) {
  Json out = Json::parse(R"({
    "version": 1, "name": "small", "dataset": "fashion-mnist",
    "model": {"backbone": "vit", "dim": 64, "depth": 3, "heads": 4, "patch": 7, "pool": "mean"},
    "train": {"epochs": 2, "batch": 32, "lr": 0.003, "limit": 16000},
    "matrix": {"prior": ["none", "learned-absolute", "violin"]},
    "replicates": {"seed": [0, 1, 2]},
    "stages": [{"evaluate": {"resolution": [28, 42]}}],
    "baseline": {"prior": "learned-absolute"},
    "metric": {"name": "top1", "reports": "test", "selects_on": "validation", "direction": "max",
               "reduce": "last"}})");
  out.merge_patch(overrides);
  return out;
}

std::unique_ptr<grpc::ClientContext> deadline(int seconds) {
  auto context = std::make_unique<grpc::ClientContext>();
  context->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(seconds));
  return context;
}

WireError wire_error(const grpc::Status& status) {
  google::rpc::Status wire;
  WireError out;
  if (!wire.ParseFromString(status.error_details())) return out;
  for (const auto& detail : wire.details()) {
    google::rpc::ErrorInfo info;
    google::rpc::BadRequest bad;
    if (detail.UnpackTo(&info)) out.reason = info.reason();
    if (detail.UnpackTo(&bad) && bad.field_violations_size() > 0) out.field = bad.field_violations(0).field();
  }
  return out;
}

void ServerTest::start(ServerOptions options) {
  options.grpc_address = "127.0.0.1:0";
  options.http_address = "127.0.0.1:0";
  absl::StatusOr<ServerParts> parts = ServerParts{};
  if (options.data.empty()) {
    parts->store = make_store_ ? make_store_() : make_memory_store();
    parts->artifacts = make_memory_artifacts();
    parts->catalog = test_catalog();
    parts->pictures = {{"violin", R"({"version":1,"prior":"violin","revision":1,"views":[]})"}};
    parts->claims = claims_;
  } else {
    options.catalog = LOCUS_TEST_CATALOG;
    parts = make_parts(options);
  }
  ASSERT_TRUE(parts.ok()) << parts.status();
  parts->disk = disk_;
  parts->clock = clock_;
  parts->each_address = each_address_;
  if (seed_) seed_(*parts->store);
  store_ = parts->store.get();
  auto server = Server::start(options, *std::move(parts));
  ASSERT_TRUE(server.ok()) << server.status();
  server_ = *std::move(server);
  channel_ = grpc::CreateChannel(grpc_address(), grpc::InsecureChannelCredentials());
  experiments_ = v1::ExperimentService::NewStub(channel_);
  analysis_ = v1::AnalysisService::NewStub(channel_);
  metrics_ = v1::MetricService::NewStub(channel_);
  artifacts_ = v1::ArtifactService::NewStub(channel_);
  catalog_ = v1::CatalogService::NewStub(channel_);
  workers_ = v1::WorkerService::NewStub(channel_);
  searches_ = v1::SearchService::NewStub(channel_);
}

void ServerTest::stop() { server_.reset(); }

v1::CreateExperimentResponse ServerTest::submit(const Json& specification, bool replace) {
  v1::CreateExperimentRequest request;
  request.set_spec_json(specification.dump());
  request.set_replace(replace);
  v1::CreateExperimentResponse response;
  const grpc::Status status = experiments_->CreateExperiment(deadline().get(), request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response;
}

v1::Experiment ServerTest::experiment(const std::string& name) {
  v1::GetExperimentRequest request;
  request.set_name(name);
  v1::Experiment response;
  const grpc::Status status = experiments_->GetExperiment(deadline().get(), request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response;
}

v1::Table ServerTest::table(const std::string& name) {
  v1::GetTableRequest request;
  request.set_experiment(name);
  v1::Table response;
  const grpc::Status status = experiments_->GetTable(deadline().get(), request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response;
}

}  // namespace locus::test
