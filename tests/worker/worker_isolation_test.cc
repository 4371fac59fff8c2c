// How far the daemon keeps its trainers in.
#include <cerrno>

#include "tests/worker/worker_fixture.h"
#include "worker/app/trainer_isolation.h"

namespace locus {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST_F(WorkerTest, SaysOfEveryAttemptWhatHeld) {
  if (isolation_support().landlock < 6) GTEST_SKIP() << "this kernel has no Landlock, or an older one";
  const auto secret = (folder_ / "secret").string(), image = (folder_ / "data" / "image").string();
  std::filesystem::create_directory(folder_ / "data");
  for (const auto& file : {secret, image}) std::ofstream(file) << "bytes";
  Daemon daemon(server_.address(), work(), {"isolate=required", "data_root=" + (folder_ / "data").string()});
  const auto id = store_.add_stage(
      {{"steps", 3}, {"checkpoint_at", {1}}, {"read", {image, secret, (work() / "instance").string(), "/etc/passwd"}}});
  ASSERT_TRUE(store_.wait_state(id, "succeeded")) << daemon.log();
  const Json environment = Json::parse(stage(id).attempts.at(1).outcome->environment_json());
  EXPECT_EQ(environment.at("isolation"), "files, network, signals, system-calls");
  EXPECT_EQ(environment.at("read"), Json({0, EACCES, EACCES, EACCES}));
}

TEST_F(WorkerTest, AnIsolatedTrainerReadsWhatAnotherStageMade) {
  Daemon daemon(server_.address(), work(), {"isolate=auto"});
  const auto first = store_.add_stage({{"steps", 2}});
  ASSERT_TRUE(store_.wait_state(first, "succeeded")) << daemon.log();
  const std::string made = stage(first).attempts.at(1).outcome->outputs(0).sha256();
  const auto second = store_.add_stage({{"steps", 1}, {"read", {(work() / "artifacts" / made).string()}}});
  ASSERT_TRUE(store_.wait_state(second, "succeeded")) << daemon.log();
  EXPECT_EQ(Json::parse(stage(second).attempts.at(1).outcome->environment_json()).at("read"), Json::array({0}));
}

TEST_F(WorkerTest, SaysSoWhenNothingHeld) {
  Daemon daemon(server_.address(), work(), {"isolate=off"});
  const auto id = store_.add_stage({{"steps", 1}, {"read", {"/etc/passwd"}}});
  ASSERT_TRUE(store_.wait_state(id, "succeeded")) << daemon.log();
  const Json environment = Json::parse(stage(id).attempts.at(1).outcome->environment_json());
  EXPECT_EQ(environment.at("isolation"), "none");
  EXPECT_EQ(environment.at("read"), Json::array({0}));
}

TEST_F(WorkerTest, HandsOverNoFileThatATrainerNamesElsewhere) {
  store_.attempts_at_most = 1;
  const auto secret = (folder_ / "secret").string();
  std::ofstream(secret) << "bytes";
  Daemon daemon(server_.address(), work());
  const auto id = store_.add_stage({{"steps", 1}, {"hand_over", secret}});
  ASSERT_TRUE(store_.wait_state(id, "failed")) << daemon.log();
  EXPECT_THAT(stage(id).attempts.at(1).outcome->reason(), HasSubstr("outside its folder"));
  EXPECT_TRUE(std::filesystem::exists(secret));
  std::lock_guard lock(store_.mutex);
  EXPECT_TRUE(store_.artifacts.empty());
}

TEST_F(WorkerTest, LeavesNothingOfAnAttemptsFilesBehind) {
  Daemon daemon(server_.address(), work(), {"isolate=auto"});
  const auto id = store_.add_stage({{"steps", 3}, {"checkpoint_at", {1, 2}}});
  const auto next = store_.add_stage({{"steps", 1}});
  ASSERT_TRUE(store_.wait_state(id, "succeeded") && store_.wait_state(next, "succeeded")) << daemon.log();
  EXPECT_FALSE(std::filesystem::exists(work() / "scratch" / "0" / (std::to_string(id) + "-1")));
}

TEST(TrainerIsolation, IsAskedForByDeviceAndKernel) {
  WorkerOptions options;
  const auto isolates = [&](const std::string& mode, const std::string& device, IsolationSupport support) {
    options.isolate = mode, options.device = device;
    const auto answer = isolates_trainers(options, support);
    return answer.ok() ? (*answer ? "yes" : "no") : std::string(answer.status().message());
  };
  const IsolationSupport whole{6, true}, calls{0, true}, files{1, false}, none;
  EXPECT_EQ(isolates("auto", "cpu", whole), "yes");
  EXPECT_EQ(isolates("auto", "cpu", calls), "yes");
  EXPECT_EQ(isolates("auto", "cpu", none), "no");
  EXPECT_EQ(isolates("auto", "cuda", whole), "no") << "what drivers need was not tried";
  EXPECT_EQ(isolates("off", "cpu", whole), "no");
  EXPECT_EQ(isolates("required", "cpu", whole), "yes");
  EXPECT_EQ(isolates("required", "cuda", whole), "yes");
  EXPECT_THAT(isolates("required", "cpu", calls), HasSubstr("no Landlock"));
  EXPECT_THAT(isolates("required", "cpu", files), HasSubstr("no filters"));
  EXPECT_THAT(isolates("always", "cpu", whole), HasSubstr("auto, off or required"));
}

TEST(TrainerIsolation, AGpusTrainerReachesItsDriverAsWell) {
  WorkerOptions options;
  options.trainer = "/opt/locus/bin/locus-trainer";
  const auto reads = [&] {
    std::vector<std::string> out;
    for (const auto& path : trainer_rules(options, {{"libraries", {"/opt/torch/lib"}}}, "/work/scratch/0").read)
      out.push_back(path.string());
    return out;
  };
  EXPECT_THAT(reads(), testing::IsSupersetOf({"/opt/locus/bin", "/opt/torch/lib", "/usr", "/usr/share/datasets"}));
  EXPECT_THAT(reads(), Not(testing::Contains("/sys")));
  options.device = "cuda";
  EXPECT_THAT(reads(), testing::Contains("/sys"));
  const std::vector<std::string> ours = {"LD_LIBRARY_PATH=/usr/local/nvidia/lib64", "HOME=/home/someone"};
  EXPECT_THAT(trainer_environment(ours, options, "/work/scratch/0"),
              testing::IsSupersetOf(
                  {"LD_LIBRARY_PATH=/usr/local/nvidia/lib64", "HOME=/work/scratch/0", "TMPDIR=/work/scratch/0"}));
}

TEST(WorkerIsolation, LeavesATrainingInPythonThePackagesThatItWasAskedWith) {
  const WorkerOptions options;
  const std::vector<std::string> ours = {"PYTHONPATH=/opt/mine", "HOME=/home/someone", "PYTHONSTARTUP=/home/someone/x"};
  const auto given = trainer_environment(ours, options, "/work/scratch/0");
  EXPECT_THAT(given, testing::IsSupersetOf({"PYTHONPATH=/opt/mine", "PYTHONUSERBASE=/home/someone/.local"}));
  EXPECT_THAT(given, Not(testing::Contains(testing::StartsWith("PYTHONSTARTUP"))));
  const auto elsewhere =
      trainer_environment({"PYTHONUSERBASE=/opt/base", "HOME=/home/someone"}, options, "/work/scratch/0");
  EXPECT_THAT(elsewhere, testing::Contains("PYTHONUSERBASE=/opt/base"));
}

}  // namespace
}  // namespace locus
