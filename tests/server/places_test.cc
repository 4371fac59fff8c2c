// How much of what takes long one caller may have under way.
#include "server/authority/places.h"

#include <gmock/gmock.h>

#include <future>
#include <mutex>
#include <thread>

#include "core/base/error.h"
#include "core/base/sha256.h"
#include "server/authority/answer.h"
#include "storage/memory/store.h"
#include "tests/server/support/callers.h"

namespace locus::test {
namespace {

using server::HeldPlace;
using server::Lasting;
using server::most_at_a_time;
using server::most_of_an_address;

class UnderWay : public CallersTest {
 protected:
  void SetUp() override { start_asking(); }

  std::unique_ptr<EventReader> watch_as(const std::string& caller) const {
    return std::make_unique<EventReader>(http().address(), "/api/v1/events", bearer(caller));
  }
  // Until it is refused, or let in; what is under way begins and ends a moment after it was asked to.
  template <class Ask>
  static bool soon(Ask ask) {
    for (int i = 0; i < 10'000; ++i) {
      if (ask()) return true;
    }
    return false;
  }
};

TEST_F(UnderWay, OneCallerHasSixteenStreamsAndOthersHaveTheirs) {
  std::vector<std::unique_ptr<EventReader>> open;
  for (int i = 0; i < kStreamsAtATime; ++i) {
    open.push_back(watch_as("viewer"));
    ASSERT_THAT(open.back()->head(), ::testing::HasSubstr(" 200 ")) << i;
  }
  const HttpAnswer refused = get_as("viewer", "/api/v1/events");
  EXPECT_EQ(refused.status, 429) << refused.body;
  EXPECT_EQ(reason(refused), "RATE_LIMITED");
  EXPECT_EQ(refused.headers.at("retry-after"), "5");
  const auto context = as("viewer");
  v1::WatchEventsResponse event;
  const auto stream = v1::ExperimentService::NewStub(connection_of("viewer"))->WatchEvents(context.get(), {});
  EXPECT_FALSE(stream->Read(&event));
  const grpc::Status status = stream->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << "both doors count together";
  EXPECT_THAT(status.error_details(), ::testing::HasSubstr("RetryInfo"));
  EXPECT_THAT(watch_as("ada")->head(), ::testing::HasSubstr(" 200 "));
  EXPECT_EQ(get_as("viewer", "/api/v1/server").status, 200) << "and answers other questions";
  open.pop_back();
  EXPECT_TRUE(soon([&] { return watch_as("viewer")->head().find(" 200 ") != std::string::npos; }));
}

// An upload that has said what it brings, and brings nothing.
struct OpenUpload {
  explicit OpenUpload(const std::shared_ptr<grpc::Channel>& channel, std::unique_ptr<grpc::ClientContext> of,
                      const std::string& bytes)
      : context(std::move(of)),
        stream(v1::ArtifactService::NewStub(channel)->UploadArtifact(context.get(), &response)) {
    v1::UploadArtifactRequest request;
    request.mutable_header()->set_sha256(sha256_hex(bytes));
    request.mutable_header()->set_bytes(static_cast<std::int64_t>(bytes.size()));
    request.mutable_header()->set_kind("weights");
    stream->Write(request);
  }
  grpc::Status end() {
    stream->WritesDone();
    return stream->Finish();
  }
  std::unique_ptr<grpc::ClientContext> context;
  v1::UploadArtifactResponse response;
  std::unique_ptr<grpc::ClientWriter<v1::UploadArtifactRequest>> stream;
};

TEST_F(UnderWay, OneCallerUploadsTwoAtATime) {
  // Which two of three come in is the server's affair; the third is ended by it, the others wait for what they bring.
  std::vector<std::unique_ptr<OpenUpload>> three;
  for (const char* bytes : {"one", "two", "three"})
    three.push_back(std::make_unique<OpenUpload>(connection_of("operator"), as("operator"), bytes));
  std::promise<grpc::Status> first;
  std::once_flag ended;
  std::vector<std::thread> readers;
  for (auto& upload : three)
    readers.emplace_back([&] {
      const grpc::Status status = upload->stream->Finish();
      std::call_once(ended, [&] { first.set_value(status); });
    });
  const grpc::Status refused = first.get_future().get();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << refused.error_message();
  EXPECT_THAT(refused.error_message(), ::testing::HasSubstr("under way"));
  EXPECT_EQ(wire_error(refused).reason, "RATE_LIMITED");
  const auto again = [&] { return OpenUpload(connection_of("operator"), as("operator"), "").end(); };
  EXPECT_EQ(again().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << "as long as the two last";
  EXPECT_TRUE(OpenUpload(connection_of("admin"), as("admin"), "").end().ok());
  for (auto& upload : three) upload->context->TryCancel();
  for (std::thread& reader : readers) reader.join();
  EXPECT_TRUE(soon([&] { return again().ok(); }));
  EXPECT_EQ(OpenUpload(connection_of("admin"), as("admin"), "one").end().error_code(), grpc::StatusCode::DATA_LOSS)
      << "it brought nothing";
}

TEST_F(UnderWay, OneCallerDownloadsEightAtATimeOverBothDoors) {
  const std::string bytes(std::size_t{16} << 20,
                          'x');  // more than lies in the buffers of a connection that nobody reads
  OpenUpload upload(connection_of("operator"), as("operator"), bytes);
  for (std::size_t at = 0; at < bytes.size(); at += kChunkBytes) {
    v1::UploadArtifactRequest request;
    request.set_chunk(bytes.substr(at, kChunkBytes));
    ASSERT_TRUE(upload.stream->Write(request));
  }
  ASSERT_TRUE(upload.end().ok());
  const std::string target = "/api/v1/artifacts/" + sha256_hex(bytes);
  const auto download_as = [&](const std::string& caller) {
    return std::make_unique<EventReader>(http().address(), target, bearer(caller));
  };
  std::vector<std::unique_ptr<EventReader>> open;
  for (int i = 0; i < most_at_a_time(Lasting::kDownload); ++i) {
    open.push_back(download_as("operator"));
    ASSERT_THAT(open.back()->head(), ::testing::HasSubstr(" 200 ")) << i;
  }
  const HttpAnswer refused = get_as("operator", target);
  EXPECT_EQ(refused.status, 429) << refused.body.substr(0, 200);
  EXPECT_EQ(reason(refused), "RATE_LIMITED");
  EXPECT_EQ(refused.headers.at("retry-after"), "5");
  EXPECT_THAT(refused.body, ::testing::HasSubstr("'operator' has 8 downloads under way"));
  const auto context = as("operator");
  v1::DownloadArtifactRequest request;
  request.set_sha256(sha256_hex(bytes));
  v1::DownloadArtifactResponse chunk;
  const auto stream = v1::ArtifactService::NewStub(connection_of("operator"))->DownloadArtifact(context.get(), request);
  EXPECT_FALSE(stream->Read(&chunk));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << "both doors count together";
  EXPECT_THAT(download_as("admin")->head(), ::testing::HasSubstr(" 200 "));
  EXPECT_EQ(get_as("operator", "/api/v1/server").status, 200) << "and answers other questions";
  open.pop_back();
  EXPECT_TRUE(soon([&] { return download_as("operator")->head().find(" 200 ") != std::string::npos; }));
}

TEST(PlacesOfAnAddress, ManyCallersOfOneAddressShareItsDownloads) {
  const server::RpcRule& download = *server::find_rule("ArtifactService/DownloadArtifact");
  server::Places places;
  std::vector<HeldPlace> held;
  const int most = most_of_an_address(Lasting::kDownload);
  const auto caller = [](int i) { return "caller-" + std::to_string(i / 4); };  // none has as many as a caller may
  for (int i = 0; i < most; ++i)
    held.push_back(places.take(caller(i), "2001:db8::" + std::to_string(i), download).value());
  const absl::Status refused = places.take("another", "2001:db8::ffff", download).status();
  EXPECT_TRUE(has_reason(refused, ErrorReason::kRateLimited)) << refused;
  EXPECT_THAT(std::string(refused.message()), ::testing::HasSubstr("'2001:db8::ffff' has 32 downloads under way"));
  EXPECT_TRUE(places.take("another", "2001:db8:0:1::", download).ok()) << "another household";
  EXPECT_TRUE(places.take("another", "192.0.2.1", download).ok());
  held.pop_back();
  EXPECT_TRUE(places.take("another", "2001:db8::ffff", download).ok());
  for (const char* local : {"127.0.0.1", "::1", "::ffff:127.0.0.1"}) {
    std::vector<HeldPlace> kept;
    for (int i = 0; i <= most; ++i) kept.push_back(places.take(caller(i), local, download).value());
  }
}

TEST(PlacesOfAnAddress, ARefusedCallTakesNothingOfItsCaller) {
  const server::RpcRule& download = *server::find_rule("ArtifactService/DownloadArtifact");
  server::Places places;
  std::vector<HeldPlace> held;
  for (int i = 0; i < most_of_an_address(Lasting::kDownload); ++i)
    held.push_back(places.take("caller-" + std::to_string(i), "192.0.2.1", download).value());
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(places.take("ada", "192.0.2.1", download).ok());
  for (int i = 0; i < most_at_a_time(Lasting::kDownload); ++i)
    held.push_back(places.take("ada", "192.0.2.2", download).value());
  EXPECT_FALSE(places.take("ada", "192.0.2.2", download).ok()) << "her own eight";
}

// An answer in pieces that nobody reads.
using Pieces = std::function<absl::StatusOr<std::optional<int>>()>;

class CountedAnswers : public ::testing::Test {
 protected:
  absl::StatusOr<Pieces> answer(const char* rpc, const std::string& caller) {
    const Principal who = {.name = caller, .account = caller, .role = Role::kAdmin, .via = Via::kToken};
    return server::answer_pieces(gate_, *server::find_rule(rpc), who, v1::ExportExperimentRequest(),
                                 [](const server::Caller& asking) -> absl::StatusOr<Pieces> {
                                   asking.looked();
                                   return Pieces([] { return std::optional<int>(); });
                                 });
  }

  std::unique_ptr<Store> store_ = make_memory_store();
  server::Gate gate_{*store_, system_clock(), /*asks=*/true};
};

TEST_F(CountedAnswers, ExportsAndBackupsAreFourTogetherUntilTheyAreLetGoOf) {
  std::vector<Pieces> open;
  for (const char* rpc : {"ExperimentService/ExportExperiment", "AdminService/Backup", "AdminService/Backup",
                          "ExperimentService/ExportExperiment"})
    open.push_back(answer(rpc, "ada").value());
  ASSERT_EQ(static_cast<int>(open.size()), kCopiesAtATime);
  const absl::Status refused = answer("AdminService/Backup", "ada").status();
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_TRUE(has_reason(refused, ErrorReason::kRateLimited));
  EXPECT_EQ(error_detail(refused)->metadata.at("retry_seconds"), "5");
  EXPECT_TRUE(answer("AdminService/Backup", "eve").ok()) << "another caller has her own";
  EXPECT_TRUE(store_->identity().audit(0, 10)->empty()) << "nothing was done, and nobody lacked a role";
  open.pop_back();
  EXPECT_TRUE(answer("AdminService/Backup", "ada").ok());
}

TEST_F(CountedAnswers, AnAnswerThatOutlivesTheGateGivesItsPlaceBackAllTheSame) {
  auto gate = std::make_unique<server::Gate>(*store_, system_clock(), /*asks=*/true);
  const Principal who = {.name = "ada", .account = "ada", .role = Role::kAdmin, .via = Via::kToken};
  HeldPlace place = gate->hold(who, *server::find_rule("AdminService/Backup")).value();
  EXPECT_EQ(place.use_count(), 1);
  gate.reset();
  place.reset();
}

TEST_F(CountedAnswers, NobodyIsCountedWhereNobodyIsAsked) {
  for (int i = 0; i < 3 * kStreamsAtATime; ++i) {
    const auto place = gate_.hold(local_principal(), *server::find_rule("ExperimentService/WatchEvents"));
    ASSERT_TRUE(place.ok() && place->use_count() == 0);
  }
}

}  // namespace
}  // namespace locus::test
