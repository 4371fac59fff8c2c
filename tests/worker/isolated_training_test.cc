// The real trainer, isolated as a worker isolates it: a training comes out the same, to the bit.
#include <poll.h>
#include <unistd.h>

#include "tests/worker/worker_fixture.h"
#include "worker/app/devices.h"
#include "worker/app/trainer_command.h"
#include "worker/app/trainer_isolation.h"
#include "worker/app/trainer_process.h"
#include "worker/link/artifact_cache.h"

namespace locus {
namespace {

const Json kStage = {
    {"kind", "train"},
    {"dataset", {{"id", "fashion-mnist"}}},
    {"task", {{"id", "classification"}}},
    {"model", {{"id", "vit"}, {"options", {{"dim", 16}, {"depth", 1}, {"heads", 2}, {"patch", 14}}}}},
    {"priors", {{{"id", "violin"}}}},
    {"recipe",
     {{"id", "supervised"}, {"options", {{"epochs", 1}, {"batch", 8}, {"limit", 64}, {"validation_images", 100}}}}},
    {"seed", 7}};

// Waits for what it says first: from then on it is at its daemon's service.
bool says_hello(TrainerProcess& trainer) {
  for (bool open = true; open;) {
    pollfd readable{trainer.socket(), POLLIN, 0};
    ::poll(&readable, 1, -1);
    open = trainer.receive();
    if (const auto frame = trainer.next_frame()) return frame->at("type") == "hello";
  }
  return false;
}

// The digest of the weights it ends with; what it said when it fails.
std::string train(TrainerProcess& trainer, const Json& start) {
  trainer.send(start);
  while (true) {
    pollfd readable{trainer.socket(), POLLIN, 0};
    ::poll(&readable, 1, -1);
    const bool open = trainer.receive();
    while (const auto frame = trainer.next_frame()) {
      if (frame->at("type") == "done")
        return file_sha256(frame->at("outputs").at(0).at("path").get<std::string>()).value_or("no file");
      if (frame->at("type") == "failed") return frame->dump();
    }
    trainer.read_output();
    if (!open) return trainer.last_line();
  }
}

TEST(IsolatedTraining, ComesOutTheSame) {
  WorkerOptions options;
  if (::access((options.data_root / "fashion-mnist").c_str(), R_OK) != 0) GTEST_SKIP() << "no Fashion-MNIST here";
  const TemporaryFolder folder;
  options.trainer = LOCUS_TRAINER;
  options.work = folder.path();
  std::filesystem::create_directory(folder / "artifacts");
  const auto devices = ask_trainer({{options.trainer.string()}, {}}, "devices");
  ASSERT_TRUE(devices.ok()) << devices.status();
  std::vector<std::string> weights;
  for (const bool isolated : {false, true}) {
    const auto scratch = folder / (isolated ? "isolated" : "open");
    std::filesystem::create_directory(scratch);
    TrainerSetup setup{LOCUS_TRAINER, current_environment()};
    if (isolated) {
      setup.environment = trainer_environment(setup.environment, options, scratch);
      setup.isolation = [&] { return trainer_rules(options, *devices, scratch); };
    }
    set_variable(setup.environment, "OMP_NUM_THREADS", "1");
    auto trainer = TrainerProcess::start(setup);
    ASSERT_TRUE(trainer.ok()) << trainer.status();
    EXPECT_EQ((*trainer)->isolation() == kNoIsolation, !isolated);
    const Json execution = {{"device", "cpu"},
                            {"index", 0},
                            {"threads", 1},
                            {"data_root", options.data_root.string()},
                            {"work", (scratch / "1-1").string()},
                            {"checkpoint_seconds", 60}};
    weights.push_back(train(**trainer, {{"type", "start"},
                                        {"attempt", "1/1"},
                                        {"stage", kStage},
                                        {"inputs", Json::object()},
                                        {"resume", nullptr},
                                        {"execution", execution}}));
  }
  EXPECT_EQ(weights[0].size(), 64u) << weights[0];
  EXPECT_EQ(weights[0], weights[1]);
}

// A batch system sends SIGTERM to every process of a job.
TEST(Trainer, EndsWhenItsDaemonSaysSoAndForNobodyElse) {
  auto trainer = TrainerProcess::start({LOCUS_TRAINER, current_environment()});
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  ASSERT_TRUE(says_hello(**trainer));
  const std::string others = "kill -TERM " + std::to_string((*trainer)->pid());
  ASSERT_TRUE(run_and_capture({"/bin/sh", "-c", others}, std::chrono::seconds(60)).ok());
  (*trainer)->send({{"type", "shutdown"}});
  EXPECT_THAT((*trainer)->wait_end(std::chrono::seconds(60)).reason, testing::HasSubstr("status 0"))
      << "it was there to be told";
  trainer = TrainerProcess::start({LOCUS_TRAINER, current_environment()});
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  ASSERT_TRUE(says_hello(**trainer));
  (*trainer)->signal(SIGTERM);
  EXPECT_THAT((*trainer)->wait_end(std::chrono::seconds(60)).reason, testing::HasSubstr("SIGTERM"));
}

}  // namespace
}  // namespace locus
