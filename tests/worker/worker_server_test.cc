// The daemon with the server itself, on a data folder: a whole experiment by scripted trainers, through
// restarts of either side.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>

#include "client/client.h"
#include "server/app/serve.h"
#include "tests/client/temporary_folder.h"
#include "tests/worker/daemon.h"

namespace locus {
namespace {

using namespace std::chrono_literals;

constexpr int kSteps = 60;
constexpr int kStages = 8;  // 2 priors, 2 seeds, train and evaluate

constexpr char kSpecification[] = R"({
    "version": 1, "name": "small", "dataset": "fashion-mnist",
    "model": {"backbone": "vit", "dim": 64, "depth": 3, "heads": 4, "patch": 7, "pool": "mean"},
    "train": {"epochs": 2, "batch": 32, "lr": 0.003, "limit": 16000},
    "matrix": {"prior": ["none", "violin"]},
    "replicates": {"seed": [0, 1]},
    "stages": [{"evaluate": {"resolution": [28, 42]}}],
    "baseline": {"prior": "none"},
    "metric": {"name": "top1", "reports": "test", "selects_on": "validation", "direction": "max", "reduce": "last"}})";

class WorkerAndServer : public testing::Test {
 protected:
  WorkerAndServer() {
    gate_ = (folder_ / "gate").string();
    EXPECT_EQ(::mkfifo(gate_.c_str(), 0600), 0);
    const Json script = {
        {"steps", kSteps}, {"checkpoint_at", {10, 40}}, {"at", {{"30", {{"do", "gate"}, {"path", gate_}}}}}};
    ::setenv("FAKE_TRAINER_CATALOG", LOCUS_TEST_CATALOG, 1);
    ::setenv("FAKE_TRAINER_SCRIPT", script.dump().c_str(), 1);
    start();
    client_ = *Client::connect(address_, {.patience = 30s});
  }

  // On the data and, once it is known, the port of before.
  void start(const std::filesystem::path& catalog = LOCUS_TEST_CATALOG) {
    ServerOptions options;
    options.data = folder_ / "data";
    options.catalog = catalog;
    options.grpc_address = address_;
    options.http_address = "127.0.0.1:0";
    options.log_level = "warn";
    auto parts = make_parts(options);
    ASSERT_TRUE(parts.ok()) << parts.status();
    auto server = Server::start(options, *std::move(parts));
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    address_ = server_->addresses().grpc;
  }

  void submit() {
    v1::CreateExperimentRequest request;
    request.set_spec_json(kSpecification);
    const auto created = client_->create_experiment(request);
    ASSERT_TRUE(created.ok()) << created.status();
    EXPECT_EQ(created->stages_to_run(), kStages);
  }
  v1::Experiment experiment() {
    v1::GetExperimentRequest request;
    request.set_name("small");
    const auto found = client_->get_experiment(request);
    EXPECT_TRUE(found.ok()) << found.status();
    return found.ok() ? *found : v1::Experiment();
  }
  // Follows the events until nothing is left to run.
  std::string end_state() {
    std::string state;
    v1::WatchEventsRequest request;
    request.set_experiment("small");
    const absl::Status status = client_->watch_events(request, [&](const v1::WatchEventsResponse&) {
      state = experiment().state();
      return state == "active";
    });
    return status.ok() ? state : status.ToString();
  }
  // Blocks until a trainer waits at the gate.
  void open_gate() { ::close(::open(gate_.c_str(), O_WRONLY)); }

  void remove_gate() { std::filesystem::remove(gate_); }  // nobody waits there any more

  // Every stage has each step's point once, whatever happened in between.
  void expect_each_point_once() {
    v1::ListTrialsRequest request;
    request.set_experiment("small");
    const auto trials = client_->list_trials(request);
    ASSERT_TRUE(trials.ok()) << trials.status();
    int stages = 0;
    for (const auto& trial : trials->trials()) {
      for (const auto& stage : trial.stages()) {
        ++stages;
        v1::QuerySeriesRequest query;
        query.set_stage(stage.stage());
        query.mutable_key()->set_metric("loss");
        query.mutable_key()->set_split("train");
        query.mutable_key()->set_labels("{}");
        const auto points = client_->query_series(query);
        ASSERT_TRUE(points.ok()) << points.status();
        ASSERT_EQ(points->step_size(), kSteps) << stage.stage();
        for (int i = 0; i < kSteps; ++i) EXPECT_EQ(points->step(i), i + 1);
      }
    }
    EXPECT_EQ(stages, kStages);
  }
  std::int64_t attempts() { return client_->get_server()->attempts_started(); }

  TemporaryFolder folder_;
  std::string gate_;
  std::string address_ = "127.0.0.1:0";
  std::unique_ptr<Server> server_;
  std::unique_ptr<Client> client_;
};

TEST_F(WorkerAndServer, RunAnExperimentToItsEnd) {
  submit();
  remove_gate();
  Daemon daemon(address_, folder_ / "work", {"slots=2"});
  EXPECT_EQ(end_state(), "completed") << daemon.log();
  EXPECT_EQ(attempts(), kStages);
  expect_each_point_once();
}

TEST_F(WorkerAndServer, BringTheLogOfEveryAttemptToWhoAsks) {
  submit();
  remove_gate();
  Daemon daemon(address_, folder_ / "work", {"slots=2"});
  v1::ReadLogRequest request;
  request.set_trial("small/0");
  request.set_role("train");
  std::string text;
  v1::WatchEventsRequest watch;  // from the beginning; a notice comes with every piece
  watch.set_experiment("small");
  const absl::Status status = client_->watch_events(watch, [&](const v1::WatchEventsResponse&) {
    const auto log = client_->read_log(request);
    if (!log.ok()) return true;
    text += log->text();
    request.set_offset(log->next_offset());
    return text.find("succeeded") == std::string::npos;
  });
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_NE(text.find("begins at step 0 of 60"), std::string::npos) << text;
  EXPECT_NE(text.find("checkpoint at step 40"), std::string::npos) << text;
}

TEST_F(WorkerAndServer, TrainOnWhileTheServerIsAway) {
  submit();
  Daemon daemon(address_, folder_ / "work", {"slots=1"});
  ASSERT_TRUE(daemon.wait_log("/1 begins")) << daemon.log();
  server_.reset();
  open_gate();
  start();
  EXPECT_EQ(end_state(), "completed") << daemon.log();
  EXPECT_EQ(attempts(), kStages);  // none was lost or begun anew
  expect_each_point_once();
}

TEST_F(WorkerAndServer, GoOnAfterTheDaemonWasKilled) {
  submit();
  auto daemon = std::make_unique<Daemon>(address_, folder_ / "work", std::vector<std::string>{"slots=1"});
  ASSERT_TRUE(daemon->wait_log("/1 begins")) << daemon->log();
  open_gate();  // some way into the first attempt
  daemon->signal(SIGKILL);
  daemon->wait();
  remove_gate();
  daemon = std::make_unique<Daemon>(address_, folder_ / "work", std::vector<std::string>{"slots=2"});
  EXPECT_EQ(end_state(), "completed") << daemon->log();
  expect_each_point_once();
}

TEST_F(WorkerAndServer, StopWithinAnAttemptAndGoOnFromItsCheckpoint) {
  submit();
  auto daemon = std::make_unique<Daemon>(address_, folder_ / "work", std::vector<std::string>{"slots=1"});
  Fd held(::open(gate_.c_str(), O_WRONLY));  // a trainer waits there as long as this is open
  daemon->signal(SIGTERM);
  ASSERT_TRUE(daemon->wait_log("saving checkpoints and stopping")) << daemon->log();
  held = Fd();
  EXPECT_EQ(daemon->wait(), 0) << daemon->log();
  daemon = std::make_unique<Daemon>(address_, folder_ / "work", std::vector<std::string>{"slots=2"});
  EXPECT_EQ(end_state(), "completed") << daemon->log();
  expect_each_point_once();
}

TEST_F(WorkerAndServer, KeepTheNameOfADaemonThatLives) {
  submit();
  Daemon first(address_, folder_ / "work", {"slots=1"});
  ASSERT_TRUE(first.wait_log("/1 begins")) << first.log();
  Daemon second(address_, folder_ / "other", {"slots=1"});
  EXPECT_EQ(second.wait(), 1);
  EXPECT_NE(second.log().find("another daemon lives under the name tester"), std::string::npos) << second.log();
  EXPECT_NE(second.log().find("--take-over"), std::string::npos) << second.log();
  open_gate();
  remove_gate();
  EXPECT_EQ(end_state(), "completed") << first.log();
  EXPECT_EQ(attempts(), kStages);
}

TEST_F(WorkerAndServer, GiveTheNameOfADaemonThatLivesToOneThatTakesItOver) {
  submit();
  Daemon first(address_, folder_ / "work", {"slots=1"});
  ASSERT_TRUE(first.wait_log("/1 begins")) << first.log();
  Daemon second(address_, folder_ / "other", {"slots=2", "take_over=1"});
  ASSERT_TRUE(second.wait_log("registered as tester")) << second.log();
  open_gate();
  remove_gate();
  EXPECT_EQ(first.wait(), 1);
  EXPECT_NE(first.log().find("a newer daemon registered under the name tester"), std::string::npos) << first.log();
  EXPECT_EQ(end_state(), "completed") << second.log();
}

TEST_F(WorkerAndServer, WaitForADatasetThatTheWorkerDoesNotHoldYet) {
  server_.reset();
  Json catalog;
  std::ifstream(LOCUS_TEST_CATALOG) >> catalog;
  for (Json& item : catalog["items"]) {
    if (item["id"] == "fashion-mnist")
      item["facts"]["manifest"] = {{"images", {{"bytes", 5}, {"sha256", std::string(64, '0')}}}};
  }
  std::ofstream(folder_ / "catalog.json") << catalog;
  ::setenv("FAKE_TRAINER_CATALOG", (folder_ / "catalog.json").c_str(), 1);
  start(folder_ / "catalog.json");
  submit();
  remove_gate();
  Daemon daemon(address_, folder_ / "work",
                {"slots=2", "look_at_data=50", "data_root=" + (folder_ / "datasets").string()});
  ASSERT_TRUE(daemon.wait_log("registered as tester")) << daemon.log();
  v1::ExplainRequest request;
  request.set_trial("small/0");
  const auto why = client_->explain(request);
  ASSERT_TRUE(why.ok()) << why.status();
  EXPECT_NE(why->DebugString().find("no worker holds the dataset fashion-mnist: on tester"), std::string::npos)
      << why->DebugString();
  EXPECT_EQ(attempts(), 0);
  std::filesystem::create_directories(folder_ / "datasets/fashion-mnist");
  std::ofstream(folder_ / "datasets/fashion-mnist/images") << "hello";
  EXPECT_EQ(end_state(), "completed") << daemon.log();
}

}  // namespace
}  // namespace locus
