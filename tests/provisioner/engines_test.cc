// Engines against programs of the test's in a PATH of its own, which keep their jobs in a file; good answers and bad ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "core/base/error.h"
#include "provisioner/engine.h"
#include "tests/client/temporary_folder.h"

namespace locus {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class EnginesTest : public ::testing::Test {
 protected:
  EnginesTest() {
    const char* path = std::getenv("PATH");
    before_ = path ? path : "";
    ::setenv("PATH", (folder_.path().string() + ":/usr/bin:/bin").c_str(), 1);
    ::setenv("ENGINE_STATE", folder_.path().c_str(), 1);
  }
  ~EnginesTest() override {
    ::setenv("PATH", before_.c_str(), 1);
    ::unsetenv("ENGINE_STATE");
  }

  void program(const std::string& name, const std::string& body) {
    const auto path = folder_ / name;
    std::ofstream(path) << "#!/bin/sh\ncd \"$ENGINE_STATE\"\n" << body << "\n";
    ::chmod(path.c_str(), 0755);
  }
  std::string file(const std::string& name) const {
    std::ifstream in(folder_ / name);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }
  static std::unique_ptr<Engine> make(const std::string& name, const Json& settings) {
    auto engine = make_engine(name, {"gpu", "server:7171", settings});
    EXPECT_TRUE(engine.ok()) << engine.status();
    return engine.ok() ? *std::move(engine) : nullptr;
  }
  static std::string refusal(const std::string& name, const Json& settings) {
    const auto engine = make_engine(name, {"gpu", "server:7171", settings});
    return engine.ok() ? "" : std::string(engine.status().message());
  }

  static std::vector<NewWorker> workers(int count, const std::string& token = "") {
    std::vector<NewWorker> out;
    for (int i = 1; i <= count; ++i) out.push_back({"gpu-" + std::to_string(i), token});
    return out;
  }

  TemporaryFolder folder_;
  std::string before_;
};

TEST_F(EnginesTest, AreNamedByTheirFiles) {
  EXPECT_THAT(engine_names(), ElementsAre("exec", "kubernetes", "slurm"));
  EXPECT_THAT(refusal("condor", {}), AllOf(HasSubstr("\"condor\" is no engine"), HasSubstr("exec, kubernetes, slurm")));
}

TEST_F(EnginesTest, RefuseSettingsThatTheyDoNotKnowOrLack) {
  for (const std::string& name : engine_names()) {
    EXPECT_THAT(refusal(name, {{"speed", 3}}), HasSubstr(name + ".speed is no setting")) << name;
    EXPECT_THAT(refusal(name, Json::object()), HasSubstr("is missing; give it, such as")) << name;
    EXPECT_THAT(refusal(name, "fast"), HasSubstr("no list of keys")) << name;
  }
}

TEST_F(EnginesTest, SayWhichProgramIsNotInstalled) {
  const Json kJob = Json::parse(R"({"spec": {"template": {"spec": {"containers": [{}]}}}})");
  const std::map<std::string, std::pair<Json, std::string>> cases = {
      {"slurm", {Json{{"script", "w.sh"}}, "squeue"}},
      {"kubernetes", {Json{{"job", kJob}}, "kubectl"}},
      {"exec", {Json{{"command", {"no-such-machines"}}}, "no-such-machines"}}};
  ::setenv("PATH", folder_.path().c_str(), 1);
  for (const std::string& name : engine_names()) {
    const auto& [settings, program] = cases.at(name);
    const auto count = make(name, settings)->count();
    EXPECT_TRUE(absl::IsNotFound(count.status())) << name;
    EXPECT_THAT(std::string(count.status().message()), HasSubstr("there is no program " + program)) << name;
  }
}

// ---- Slurm ----

class SlurmTest : public EnginesTest {
 protected:
  std::unique_ptr<Engine> slurm_ =
      make("slurm", {{"script", "/shared/worker.sh"}, {"arguments", {"--partition=gpu", "--gres=gpu:1"}}});
};

TEST_F(SlurmTest, CountsJobsByTheirNameButNotThoseThatComplete) {
  program("squeue", "echo \"$*\" > asked; printf '12|RUNNING\\n13|PENDING\\n14_2|CONFIGURING\\n15|COMPLETING\\n'");
  EXPECT_EQ(*slurm_->count(), 3);
  EXPECT_THAT(file("asked"), HasSubstr("--name=locus-gpu"));
  program("squeue", "");
  EXPECT_EQ(*slurm_->count(), 0);
}

TEST_F(SlurmTest, SubmitsAJobForEachWorker) {
  program("sbatch", "echo \"$LOCUS_SERVER $LOCUS_POOL $LOCUS_WORKER_NAME $*\" >> asked; echo 12");
  ASSERT_TRUE(slurm_->start(workers(2)).ok());
  const std::string words =
      " --parsable --job-name=locus-gpu --export=ALL --partition=gpu --gres=gpu:1 /shared/worker.sh\n";
  EXPECT_EQ(file("asked"), "server:7171 gpu gpu-1" + words + "server:7171 gpu gpu-2" + words);
}

TEST_F(SlurmTest, TellsATokenToTheJobAloneNotToWhoeverListsProcesses) {
  program("sbatch", "echo \"$LOCUS_ENROLL\" > enroll; echo \"$*\" > asked; echo 12");
  ASSERT_TRUE(slurm_->start(workers(1, "secret")).ok());
  EXPECT_EQ(file("enroll"), "secret\n");
  EXPECT_EQ(file("asked").find("secret"), std::string::npos);
}

TEST_F(SlurmTest, TellsAJobWhetherItsWorkerStays) {
  program("sbatch", "echo \"${LOCUS_STAYS:-no}\" >> stays; echo 12");
  ASSERT_TRUE(slurm_->start({{"gpu-1", "", true}, {"gpu-2", "", false}}).ok());
  EXPECT_EQ(file("stays"), "1\nno\n");
}

TEST_F(SlurmTest, TakesANumberWithTheNameOfItsCluster) {
  program("sbatch", "echo '12;north'");
  EXPECT_TRUE(slurm_->start(workers(1)).ok());
}

TEST_F(SlurmTest, SaysWhatAnAnswerIsThatIsNoListOfJobs) {
  for (const char* line :
       {"slurm_load_jobs error: Unable to contact slurm controller", "12", "12|", "|RUNNING", "x|y", "  "}) {
    program("squeue", std::string("printf '%s\\n' '13|RUNNING' '") + line + "'");
    const auto count = slurm_->count();
    EXPECT_TRUE(absl::IsUnavailable(count.status())) << line;
    EXPECT_THAT(std::string(count.status().message()),
                AllOf(HasSubstr("squeue answered"), HasSubstr("run it by hand")));
  }
}

TEST_F(SlurmTest, QuotesWhatItsProgramsComplainOf) {
  program("squeue", "echo 'Unable to contact slurm controller' >&2; exit 1");
  EXPECT_THAT(std::string(slurm_->count().status().message()), HasSubstr("Unable to contact slurm controller"));
  program("sbatch", "echo 'invalid partition' >&2; exit 1");
  EXPECT_THAT(std::string(slurm_->start(workers(1)).message()), HasSubstr("invalid partition"));
}

TEST_F(SlurmTest, StopsAtTheFirstJobThatWasNotTaken) {
  program("sbatch", "echo x >> asked; echo 'Submitted batch job'");
  EXPECT_THAT(std::string(slurm_->start(workers(3)).message()), HasSubstr("sbatch answered \"Submitted batch job"));
  EXPECT_EQ(file("asked"), "x\n");
}

// ---- Kubernetes ----

class KubernetesTest : public EnginesTest {
 protected:
  static Json job() {
    return Json::parse(R"({"kind": "Job", "metadata": {"name": "fixed"},
      "spec": {"template": {"spec": {"containers": [{"name": "worker", "env": [{"name": "A", "value": "1"}]}]}}}})");
  }
  std::unique_ptr<Engine> kubernetes_ =
      make("kubernetes", {{"job", job()}, {"arguments", Json::array({"--namespace=locus"})}});
};

TEST_F(KubernetesTest, CountsJobsOfTheLabelThatAreNotOver) {
  program("kubectl", R"(echo "$*" > asked; cat <<'X'
{"items": [
 {"metadata": {"name": "new"}},
 {"metadata": {}, "status": {"active": 1, "conditions": [{"type": "Suspended", "status": "True"}]}},
 {"status": {"conditions": [{"type": "Complete", "status": "False"}]}},
 {"status": {"conditions": [{"type": "Complete", "status": "True"}]}},
 {"status": {"conditions": [{"type": "Failed", "status": "True"}]}},
 {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}]}
X)");
  EXPECT_EQ(*kubernetes_->count(), 3);
  EXPECT_EQ(file("asked"), "--namespace=locus get jobs --selector=locus-pool=gpu --output=json\n");
}

TEST_F(KubernetesTest, CreatesJobsUnderTheLabelOfThePool) {
  program("kubectl", "echo \"$*\" >> asked; cat > job; echo job.batch/locus-gpu-x");
  ASSERT_TRUE(kubernetes_->start(workers(1, "secret")).ok());
  EXPECT_EQ(file("asked"), "--namespace=locus create --output=name --filename=-\n");
  const Json job = Json::parse(file("job"));
  EXPECT_EQ(job.at("metadata"), Json({{"generateName", "locus-gpu-"}, {"labels", {{"locus-pool", "gpu"}}}}));
  EXPECT_EQ(job.at("/spec/template/metadata/labels/locus-pool"_json_pointer), "gpu");
  EXPECT_EQ(job.at("kind"), "Job");
  const Json environment = job.at("/spec/template/spec/containers/0/env"_json_pointer);
  EXPECT_EQ(environment, Json::parse(R"([{"name": "A", "value": "1"}, {"name": "LOCUS_ENROLL", "value": "secret"},
    {"name": "LOCUS_POOL", "value": "gpu"}, {"name": "LOCUS_SERVER", "value": "server:7171"},
    {"name": "LOCUS_WORKER_NAME", "value": "gpu-1"}])"));
}

TEST_F(KubernetesTest, SaysWhatAnAnswerIsThatIsNoListOfJobs) {
  for (const char* answer : {"", "No resources found", "[]", "{}", R"({"items": {}})", R"({"items": [1]})",
                             R"({"items": [{"status": {"conditions": [{"type": 4}]}}]})"}) {
    program("kubectl", std::string("cat <<'X'\n") + answer + "\nX");
    const auto count = kubernetes_->count();
    EXPECT_FALSE(count.ok()) << answer;
    EXPECT_THAT(std::string(count.status().message()), HasSubstr("kubectl answered")) << answer;
  }
}

TEST_F(KubernetesTest, QuotesARefusalOfTheCluster) {
  program("kubectl", "echo 'Error from server (Forbidden): jobs.batch is forbidden' >&2; exit 1");
  EXPECT_THAT(std::string(kubernetes_->start(workers(1)).message()), HasSubstr("Forbidden"));
}

TEST_F(KubernetesTest, RefusesAManifestThatIsNone) {
  EXPECT_THAT(refusal("kubernetes", {{"job", {{"metadata", "x"}}}}), HasSubstr("kubernetes.job.spec"));
  Json odd = job();
  odd["metadata"] = "x";
  EXPECT_THAT(refusal("kubernetes", {{"job", odd}}), HasSubstr("kubernetes.job is missing"));
  EXPECT_THAT(refusal("kubernetes", {{"job", "worker.yaml"}}), HasSubstr("kubernetes.job"));
}

// ---- a command of somebody's ----

class ExecTest : public EnginesTest {
 protected:
  std::unique_ptr<Engine> exec_ = make("exec", {{"command", {"machines", "--zone", "a"}}});
};

TEST_F(ExecTest, AsksWithJsonAndReadsJson) {
  program("machines", R"(cat >> asked; echo "$*" >> words; echo '{"workers": 2}')");
  EXPECT_EQ(*exec_->count(), 2);
  ASSERT_TRUE(exec_->start(workers(2)).ok());
  EXPECT_EQ(file("words"), "--zone a\n--zone a\n");
  EXPECT_EQ(
      file("asked"),
      "{\"action\":\"count\",\"pool\":\"gpu\",\"server\":\"server:7171\"}\n"
      "{\"action\":\"start\",\"pool\":\"gpu\",\"server\":\"server:7171\",\"workers\":["
      "{\"name\":\"gpu-1\",\"stays\":false,\"token\":\"\"},{\"name\":\"gpu-2\",\"stays\":false,\"token\":\"\"}]}\n");
}

TEST_F(ExecTest, SaysWhatAnAnswerIsThatIsNoNumberOfWorkers) {
  for (const char* answer : {"", "2", "two", "{}", R"({"workers": -1})", R"({"workers": "2"})", R"({"workers": 2.5})",
                             R"({"workers": 1e9})", R"({"workers": 10000000000000000000})"}) {
    program("machines", std::string("cat > /dev/null; echo '") + answer + "'");
    const auto count = exec_->count();
    EXPECT_FALSE(count.ok()) << answer;
    EXPECT_THAT(std::string(count.status().message()), HasSubstr("machines answered")) << answer;
  }
}

TEST_F(ExecTest, SaysWhenFewerWereStartedThanAskedFor) {
  program("machines", R"(echo '{"workers": 1}')");
  EXPECT_TRUE(exec_->start(workers(1)).ok());
  EXPECT_THAT(std::string(exec_->start(workers(2)).message()), HasSubstr("a start of 2"));
}

TEST_F(ExecTest, FailsWithItsCommand) {
  program("machines", "echo 'quota exceeded' >&2; exit 3");
  EXPECT_THAT(std::string(exec_->count().status().message()),
              AllOf(HasSubstr("exit status 3"), HasSubstr("quota exceeded")));
}

}  // namespace
}  // namespace locus
