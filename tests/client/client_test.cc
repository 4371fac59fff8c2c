// The typed client against a service in this process that fails, breaks off and lies on demand.
#include "client/client.h"

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <sstream>
#include <thread>

#include "core/base/error.h"
#include "core/base/sha256.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "locus/v1/artifact_service.grpc.pb.h"
#include "locus/v1/experiment_service.grpc.pb.h"
#include "locus/v1/worker_service.grpc.pb.h"
#include "tests/client/temporary_folder.h"

namespace locus {
namespace {

using namespace std::chrono_literals;

grpc::Status wire_error(grpc::StatusCode code, const std::string& reason, const std::string& message,
                        const std::string& field) {
  google::rpc::Status status;
  status.set_code(code);
  status.set_message(message);
  google::rpc::ErrorInfo info;
  info.set_reason(reason);
  info.set_domain("locus.v1");
  (*info.mutable_metadata())["given"] = "violin";
  status.add_details()->PackFrom(info);
  google::rpc::BadRequest bad;
  bad.add_field_violations()->set_field(field);
  status.add_details()->PackFrom(bad);
  return {code, message, status.SerializeAsString()};
}

grpc::Status too_many() {
  google::rpc::Status status;
  google::rpc::RetryInfo soon;
  soon.mutable_retry_delay()->set_nanos(1'000'000);
  status.add_details()->PackFrom(soon);
  return {grpc::StatusCode::RESOURCE_EXHAUSTED, "8 are under way", status.SerializeAsString()};
}

class Experiments final : public v1::ExperimentService::Service {
 public:
  grpc::Status PlanExperiment(grpc::ServerContext*, const v1::PlanExperimentRequest* request, v1::Plan* plan) override {
    if (request->spec_json() == "bad") {
      return wire_error(grpc::StatusCode::INVALID_ARGUMENT, "UNKNOWN_PRIOR", "no prior \"violn\"", "matrix.prior[0]");
    }
    if (request->spec_json() == "newer")
      return wire_error(grpc::StatusCode::INVALID_ARGUMENT, "NOT_YET_INVENTED", "text", "");
    plan->set_cells(3);
    return grpc::Status::OK;
  }
  grpc::Status CreateExperiment(grpc::ServerContext*, const v1::CreateExperimentRequest* request,
                                v1::CreateExperimentResponse* response) override {
    std::lock_guard lock(mutex);
    request_ids.push_back(request->request_id());
    if (failures_left > 0) {
      --failures_left;
      return {grpc::StatusCode::UNAVAILABLE, "away"};
    }
    response->set_created(true);
    return grpc::Status::OK;
  }
  grpc::Status GetExperiment(grpc::ServerContext*, const v1::GetExperimentRequest*, v1::Experiment*) override {
    ++gets;
    return wire_error(grpc::StatusCode::NOT_FOUND, "EXPERIMENT_NOT_FOUND", "none of that name", "");
  }
  grpc::Status ListTrials(grpc::ServerContext* context, const v1::ListTrialsRequest*,
                          v1::ListTrialsResponse*) override {
    std::unique_lock lock(mutex);
    while (!context->IsCancelled()) changed.wait_for(lock, 5ms);  // never answers by itself
    return grpc::Status::CANCELLED;
  }
  // Sends events one by one after the cursor, `per_stream` of them, then breaks off.
  grpc::Status WatchEvents(grpc::ServerContext*, const v1::WatchEventsRequest* request,
                           grpc::ServerWriter<v1::WatchEventsResponse>* writer) override {
    std::lock_guard lock(mutex);
    cursors.push_back(request->cursor());
    for (int i = 1; i <= per_stream; ++i) {
      v1::WatchEventsResponse response;
      response.set_cursor(request->cursor() + i);
      response.add_events()->set_id(request->cursor() + i);
      writer->Write(response);
    }
    return {grpc::StatusCode::UNAVAILABLE, "going away"};
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> request_ids;
  std::vector<std::int64_t> cursors;
  int failures_left = 0, per_stream = 3;
  std::atomic<int> gets = 0;
};

class Artifacts final : public v1::ArtifactService::Service {
 public:
  grpc::Status UploadArtifact(grpc::ServerContext*, grpc::ServerReader<v1::UploadArtifactRequest>* reader,
                              v1::UploadArtifactResponse* response) override {
    v1::UploadArtifactRequest part;
    if (!reader->Read(&part) || !part.has_header()) return {grpc::StatusCode::INVALID_ARGUMENT, "no header"};
    header = part.header();
    if (blobs.contains(header.sha256())) {
      response->set_existed(true);
      return grpc::Status::OK;
    }
    std::string bytes;
    while (reader->Read(&part)) {
      largest_chunk = std::max(largest_chunk, part.chunk().size());
      bytes += part.chunk();
      if (break_upload_after > 0 && static_cast<int>(bytes.size()) >= break_upload_after) {
        break_upload_after = 0;
        return {grpc::StatusCode::UNAVAILABLE, "going away"};
      }
    }
    if (sha256_hex(bytes) != header.sha256()) {
      return wire_error(grpc::StatusCode::DATA_LOSS, "DIGEST_MISMATCH", "bytes hash to another digest", "");
    }
    blobs[header.sha256()] = bytes;
    ++uploads;
    return grpc::Status::OK;
  }
  grpc::Status DownloadArtifact(grpc::ServerContext*, const v1::DownloadArtifactRequest* request,
                                grpc::ServerWriter<v1::DownloadArtifactResponse>* writer) override {
    if (busy > 0) {
      --busy;
      return too_many();
    }
    offsets.push_back(request->offset());
    const auto blob = blobs.find(request->sha256());
    if (blob == blobs.end())
      return wire_error(grpc::StatusCode::NOT_FOUND, "ARTIFACT_NOT_FOUND", "no such artifact", "");
    if (request->offset() > static_cast<std::int64_t>(blob->second.size())) {
      return {grpc::StatusCode::OUT_OF_RANGE, "past the end"};
    }
    std::string_view left = std::string_view(blob->second).substr(static_cast<std::size_t>(request->offset()));
    for (int chunks = 0; !left.empty(); ++chunks) {
      if (chunks == break_download_after) return {grpc::StatusCode::UNAVAILABLE, "going away"};
      v1::DownloadArtifactResponse part;
      part.set_chunk(std::string(left.substr(0, 1000)));
      left.remove_prefix(part.chunk().size());
      writer->Write(part);
    }
    return grpc::Status::OK;
  }

  std::map<std::string, std::string> blobs;
  std::vector<std::int64_t> offsets;
  int busy = 0;  // so many downloads are refused first, since the caller has others
  v1::UploadArtifactRequest::Header header;
  std::size_t largest_chunk = 0;
  int uploads = 0, break_upload_after = 0, break_download_after = -1;
};

std::string noise(std::size_t size) {
  std::string bytes(size, '\0');
  std::uint32_t state = 1;
  for (char& c : bytes) c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  return bytes;
}

std::string content(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << in.rdbuf();
  return bytes.str();
}

class ClientTest : public testing::Test {
 protected:
  ClientTest() {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&experiments_);
    builder.RegisterService(&artifacts_);
    server_ = builder.BuildAndStart();
    address_ = "127.0.0.1:" + std::to_string(port);
    client_ = *Client::connect(address_, {.patience = 20s});
  }
  std::filesystem::path file(const std::string& bytes) {
    std::ofstream(folder_ / "blob", std::ios::binary) << bytes;
    return folder_ / "blob";
  }

  TemporaryFolder folder_;
  Experiments experiments_;
  Artifacts artifacts_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
  std::unique_ptr<Client> client_;
};

TEST_F(ClientTest, AnswersUnaryCalls) {
  const auto plan = client_->plan_experiment({});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->cells(), 3);
}

TEST_F(ClientTest, RestoresReasonFieldAndMetadataOfErrors) {
  v1::PlanExperimentRequest request;
  request.set_spec_json("bad");
  const absl::Status status = client_->plan_experiment(request).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "no prior \"violn\"");
  const auto detail = error_detail(status);
  ASSERT_TRUE(detail);
  EXPECT_EQ(detail->reason, ErrorReason::kUnknownPrior);
  EXPECT_EQ(detail->field, "matrix.prior[0]");
  EXPECT_EQ(detail->metadata.at("given"), "violin");
}

TEST_F(ClientTest, KeepsCodeAndMessageOfReasonsItDoesNotKnow) {
  v1::PlanExperimentRequest request;
  request.set_spec_json("newer");
  const absl::Status status = client_->plan_experiment(request).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(error_detail(status));
}

TEST_F(ClientTest, RepeatsUnavailableCallsUnderTheSameRequestId) {
  experiments_.failures_left = 2;
  const auto created = client_->create_experiment({});
  ASSERT_TRUE(created.ok()) << created.status();
  ASSERT_EQ(experiments_.request_ids.size(), 3U);
  EXPECT_FALSE(experiments_.request_ids[0].empty());
  EXPECT_EQ(experiments_.request_ids[0], experiments_.request_ids[2]);
}

TEST_F(ClientTest, DoesNotRepeatCallsThatWereRefused) {
  EXPECT_TRUE(has_reason(client_->get_experiment({}).status(), ErrorReason::kExperimentNotFound));
  EXPECT_EQ(experiments_.gets, 1);
}

TEST_F(ClientTest, EndsACallAtItsDeadline) {
  const absl::Status status = client_->list_trials({}, {.deadline = 50ms}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_NE(status.message().find(address_), std::string::npos);
}

TEST_F(ClientTest, CancellationEndsARunningCall) {
  Cancellation cancellation;
  std::thread canceller([&] { cancellation.cancel(); });
  EXPECT_EQ(client_->list_trials({}, {.deadline = 60s, .cancellation = &cancellation}).status().code(),
            absl::StatusCode::kCancelled);
  canceller.join();
}

TEST_F(ClientTest, TakesABrokenEventStreamUpAtItsCursor) {
  std::vector<std::int64_t> seen;
  const absl::Status status = client_->watch_events({}, [&](const v1::WatchEventsResponse& response) {
    for (const auto& event : response.events()) seen.push_back(event.id());
    return seen.size() < 7;
  });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(seen, (std::vector<std::int64_t>{1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(experiments_.cursors, (std::vector<std::int64_t>{0, 3, 6}));
}

TEST_F(ClientTest, GivesAnEventStreamUpWhenItsPatienceEnds) {
  experiments_.per_stream = 0;
  const auto each = [](const v1::WatchEventsResponse&) { return true; };
  EXPECT_EQ(client_->watch_events({}, each, {.patience = 1ms}).code(), absl::StatusCode::kUnavailable);
}

TEST_F(ClientTest, UploadsAFileInChunksUnderItsDigest) {
  const std::string bytes = noise(3'000'000);
  const auto sha256 = client_->upload_artifact(file(bytes), "checkpoint");
  ASSERT_TRUE(sha256.ok()) << sha256.status();
  EXPECT_EQ(*sha256, sha256_hex(bytes));
  EXPECT_TRUE(artifacts_.blobs.at(*sha256) == bytes);
  EXPECT_EQ(artifacts_.header.kind(), "checkpoint");
  EXPECT_EQ(artifacts_.header.bytes(), 3'000'000);
  EXPECT_LE(artifacts_.largest_chunk, static_cast<std::size_t>(kChunkBytes));
}

TEST_F(ClientTest, UploadsAnEmptyFile) {
  const auto sha256 = client_->upload_artifact(file(""), "checkpoint");
  ASSERT_TRUE(sha256.ok()) << sha256.status();
  EXPECT_EQ(artifacts_.blobs.at(*sha256), "");
}

TEST_F(ClientTest, DoesNotSendBytesTheServerHas) {
  const std::string bytes = noise(2'000'000);
  artifacts_.blobs[sha256_hex(bytes)] = bytes;
  EXPECT_TRUE(client_->upload_artifact(file(bytes), "checkpoint").ok());
  EXPECT_EQ(artifacts_.uploads, 0);
}

TEST_F(ClientTest, BeginsABrokenUploadAnew) {
  artifacts_.break_upload_after = 1'500'000;
  const std::string bytes = noise(3'000'000);
  const auto sha256 = client_->upload_artifact(file(bytes), "checkpoint");
  ASSERT_TRUE(sha256.ok()) << sha256.status();
  EXPECT_TRUE(artifacts_.blobs.at(*sha256) == bytes);
}

TEST_F(ClientTest, NamesAFileThatCannotBeRead) {
  const absl::Status status = client_->upload_artifact(folder_ / "absent", "checkpoint").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(status.message().find("absent"), std::string::npos);
}

TEST_F(ClientTest, ResumesABrokenDownloadWhereItEnded) {
  const std::string bytes = noise(10'500);
  artifacts_.blobs[sha256_hex(bytes)] = bytes;
  artifacts_.break_download_after = 4;
  const absl::Status status = client_->download_artifact(sha256_hex(bytes), folder_ / "copy");
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_TRUE(content(folder_ / "copy") == bytes);
  EXPECT_EQ(artifacts_.offsets, (std::vector<std::int64_t>{0, 4000, 8000}));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "copy.part"));
}

TEST_F(ClientTest, WaitsForItsTurnToDownload) {
  const std::string bytes = noise(1'000);
  artifacts_.blobs[sha256_hex(bytes)] = bytes;
  artifacts_.busy = 2;
  const absl::Status status = client_->download_artifact(sha256_hex(bytes), folder_ / "copy");
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_TRUE(content(folder_ / "copy") == bytes);
  EXPECT_EQ(artifacts_.busy, 0);
}

TEST_F(ClientTest, StopsWaitingForItsTurnWhenItsPatienceEnds) {
  artifacts_.busy = 1'000'000;
  const absl::Status status =
      client_->download_artifact(sha256_hex("anything"), folder_ / "copy", {.patience = std::chrono::milliseconds(1)});
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
}

TEST_F(ClientTest, ResumesADownloadOfAnEarlierProcess) {
  const std::string bytes = noise(10'500);
  artifacts_.blobs[sha256_hex(bytes)] = bytes;
  std::ofstream(folder_ / "copy.part", std::ios::binary) << bytes.substr(0, 777);
  ASSERT_TRUE(client_->download_artifact(sha256_hex(bytes), folder_ / "copy").ok());
  EXPECT_TRUE(content(folder_ / "copy") == bytes);
  EXPECT_EQ(artifacts_.offsets, (std::vector<std::int64_t>{777}));
}

TEST_F(ClientTest, RefusesADownloadWithOtherBytes) {
  const std::string digest = sha256_hex("what was asked for");
  artifacts_.blobs[digest] = "what came";
  const absl::Status status = client_->download_artifact(digest, folder_ / "copy");
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_TRUE(has_reason(status, ErrorReason::kDigestMismatch));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "copy"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "copy.part"));
}

TEST_F(ClientTest, LeavesNoFileForAnArtifactThatIsNotThere) {
  const absl::Status status = client_->download_artifact(sha256_hex("nothing"), folder_ / "copy");
  EXPECT_TRUE(has_reason(status, ErrorReason::kArtifactNotFound));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "copy"));
}

TEST_F(ClientTest, SaysWhichAddressDoesNotAnswerAndWhatToDo) {
  server_->Shutdown();
  const absl::Status status = client_->plan_experiment({}, {.patience = 0us}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(has_reason(status, ErrorReason::kServerUnavailable));
  EXPECT_NE(status.message().find(address_), std::string::npos);
  EXPECT_NE(status.message().find("locus serve"), std::string::npos);
}

TEST_F(ClientTest, FindsAServerThatCameBack) {
  server_->Shutdown();
  server_.reset();
  std::thread restart([this] {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address_, grpc::InsecureServerCredentials());
    builder.RegisterService(&experiments_);
    server_ = builder.BuildAndStart();
  });
  EXPECT_TRUE(client_->plan_experiment({}, {.patience = 60s}).ok());
  restart.join();
}

TEST(ClientAddress, MustNameHostAndPort) {
  for (const std::string bad :
       {"", "7171", "localhost", "localhost:", ":7171", "localhost:99999", "local host:7171", "a:7x"}) {
    EXPECT_TRUE(has_reason(Client::connect(bad).status(), ErrorReason::kInvalidArgument)) << bad;
  }
  for (const std::string good : {"localhost:7171", "127.0.0.1:1", "[::1]:65535"})
    EXPECT_TRUE(Client::connect(good).ok()) << good;
}

}  // namespace
}  // namespace locus
