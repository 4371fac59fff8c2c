// A server's life: start, refusals at start, restart on the same data, drain.
#include <signal.h>

#include <fstream>
#include <future>
#include <thread>

#include "core/base/error.h"
#include "tests/server/support/fake_worker.h"
#include "tests/server/support/server_fixture.h"

namespace locus::test {
namespace {

double score(const std::string& prior, std::int64_t seed, int) {
  return 80.0 + static_cast<double>(prior.size()) / 10 + static_cast<double>(seed);
}

class ServerLife : public ServerTest {
 protected:
  ServerOptions on_folder() const {
    ServerOptions options;
    options.data = folder_.path() / "data";
    options.catalog = LOCUS_TEST_CATALOG;
    options.grpc_address = options.http_address = "127.0.0.1:0";
    return options;
  }
  TemporaryFolder folder_;
};

TEST_F(ServerLife, LosesNothingByARestart) {
  start(on_folder());
  submit(small_specification());
  FakeWorker worker(channel_, "one");
  ASSERT_TRUE(worker.register_with().ok());
  for (int i = 0; i < 5; ++i) worker.run(*worker.acquire(), score);
  const auto under_way = worker.acquire();
  ASSERT_TRUE(under_way.has_value());
  worker.report(*under_way, "accuracy", "train", {0.25});
  const v1::Table before = table("small");
  stop();

  start(on_folder());
  EXPECT_EQ(table("small").SerializeAsString(), before.SerializeAsString());
  FakeWorker back(channel_, "one");
  back.session = worker.session;  // the same daemon, which has gone on training
  ASSERT_TRUE(back.register_with([&](v1::RegisterWorkerRequest& request) {
                    auto* held = request.add_held();
                    held->set_stage(under_way->grant.stage());
                    held->set_attempt(under_way->grant.attempt());
                  })
                  .ok());
  EXPECT_EQ(back.report(*under_way, "accuracy", "train", {0.25, 0.5}).acked_seq(), 2);
  EXPECT_EQ(back.complete(*under_way,
                          [](v1::CompleteAttemptRequest& request) {
                            request.set_outcome("failed");
                            request.set_failure_class("data");
                          })
                .error_message(),
            "");
  back.run_all(score);
  v1::Server server;
  ASSERT_TRUE(catalog_->GetServer(deadline().get(), {}, &server).ok());
  EXPECT_GE(server.attempts_started(), 16);
}

TEST_F(ServerLife, ShowsAStageRevivedAfterARestartToEverybodyWhoWantedIt) {
  const Json one = {{"matrix", {{"prior", {"learned-absolute"}}}}, {"replicates", {{"seed", {0}}}}};
  start(on_folder());
  submit(small_specification(one));
  FakeWorker worker(channel_, "one");
  ASSERT_TRUE(worker.register_with().ok());
  EXPECT_TRUE(worker.fail(*worker.acquire(), "diverged", "the loss is not a number").ok());
  stop();

  start(on_folder());
  Json other = one;
  other["name"] = "other";
  submit(small_specification(other));
  FakeWorker back(channel_, "one");
  ASSERT_TRUE(back.register_with().ok());
  ASSERT_TRUE(back.acquire().has_value());
  EXPECT_EQ(experiment("small").running_size(), 1);
  EXPECT_EQ(experiment("other").running_size(), 1);
}

TEST_F(ServerLife, RefusesASecondServerOnTheSameData) {
  start(on_folder());
  const auto second = make_parts(on_folder());
  EXPECT_TRUE(has_reason(second.status(), ErrorReason::kDataFolderInUse)) << second.status();
}

TEST_F(ServerLife, NamesThePortInUseAndTheOption) {
  start();
  for (const bool on_grpc : {true, false}) {
    ServerOptions options = on_folder();
    (on_grpc ? options.grpc_address : options.http_address) = on_grpc ? grpc_address() : http().address();
    auto parts = make_parts(options);
    ASSERT_TRUE(parts.ok()) << parts.status();
    const auto second = Server::start(options, *std::move(parts));
    ASSERT_TRUE(has_reason(second.status(), ErrorReason::kPortInUse)) << second.status();
    const std::string message(second.status().message());
    const std::string address = on_grpc ? options.grpc_address : options.http_address;
    EXPECT_NE(message.find(address.substr(address.rfind(':') + 1)), std::string::npos) << message;
    EXPECT_NE(message.find(on_grpc ? "--grpc-address" : "--http-address"), std::string::npos) << message;
  }
}

TEST_F(ServerLife, RefusesAddressesOthersCanReach) {
  for (const char* address : {"0.0.0.0:0", "[::]:0", "192.0.2.1:0", "example.org:0"}) {
    for (const bool on_grpc : {true, false}) {
      ServerOptions options = on_folder();
      (on_grpc ? options.grpc_address : options.http_address) = address;
      auto parts = make_parts(options);
      ASSERT_TRUE(parts.ok()) << parts.status();
      const auto refused = Server::start(options, *std::move(parts));
      EXPECT_TRUE(has_reason(refused.status(), ErrorReason::kAddressRefused)) << address << ": " << refused.status();
    }
  }
}

TEST_F(ServerLife, AnswersLongPollsAndWatchersWhenItStops) {
  start();
  FakeWorker worker(channel_, "patient");
  ASSERT_TRUE(worker.register_with().ok());
  grpc::Status polled;
  auto waiting = std::async(std::launch::async, [&] { return worker.acquire(std::chrono::seconds(20), &polled); });
  const auto context = deadline(30);
  v1::WatchEventsRequest request;
  auto stream = experiments_->WatchEvents(context.get(), request);
  v1::WatchEventsResponse first;
  ASSERT_TRUE(stream->Read(&first));  // the worker's registration
  server_->stop();
  EXPECT_FALSE(waiting.get().has_value());
  EXPECT_NE(polled.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  while (stream->Read(&first)) {
  }
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

using ServerProcess = ServerLife;

TEST_F(ServerProcess, ExitsWithOneSentenceWhenItCannotStart) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  ServerOptions taken = on_folder();
  std::filesystem::create_directories(folder_.path());
  std::ofstream(folder_.path() / "file") << "in the way";
  taken.data = folder_.path() / "file" / "data";
  EXPECT_EXIT(std::exit(server_main(taken)), testing::ExitedWithCode(1), "locus serve: .*file");
  ServerOptions open = on_folder();
  open.grpc_address = "0.0.0.0:0";
  EXPECT_EXIT(std::exit(server_main(open)), testing::ExitedWithCode(1), "locus serve: .*loopback");
  ServerOptions bare = on_folder();
  bare.catalog = folder_.path() / "nowhere.json";
  EXPECT_EXIT(std::exit(server_main(bare)), testing::ExitedWithCode(1), "locus serve: .*nowhere.json");
}

TEST_F(ServerProcess, DrainsOnSigtermAndExitsWithZero) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const ServerOptions options = on_folder();
  const auto run = [&] {
    std::thread ender([&] {  // server.json is written once the server serves
      while (!std::filesystem::exists(options.data / "server.json")) std::this_thread::yield();
      const Json written = Json::parse(std::ifstream(options.data / "server.json"));
      if (HttpClient(written["http"].get<std::string>()).get("/readyz").status == 200) kill(getpid(), SIGTERM);
    });
    const int status = server_main(options);
    ender.join();
    std::exit(std::filesystem::exists(options.data / "server.json") ? 99 : status);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace locus::test
