// A day with the program: a worker trains (by script, without an engine), and every command has something to
// say about it.
#include <gmock/gmock.h>

#include <fstream>
#include <set>
#include <sstream>

#include "tests/cli/program.h"

namespace locus {
namespace {

using Json = nlohmann::json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kDaySpec[] =
    "version: 1\nname: day\ndataset: fashion-mnist\nmodel: {backbone: vit, dim: 64, heads: 4}\n"
    "matrix: {prior: [none, learned-absolute]}\nreplicates: {seed: [0]}\nbaseline: {prior: none}\n"
    "metric: {reports: validation}\n";

class Life : public ::testing::Test {
 protected:
  Outcome run(std::vector<std::string> arguments, const std::string& input = "") {
    arguments.insert(arguments.end(), {"--server", server.address()});
    return run_locus(arguments, input);
  }
  Json json(std::vector<std::string> arguments) {
    arguments.push_back("--json");
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.status, 0) << arguments[0] << ": " << outcome.err;
    return Json::parse(outcome.out, nullptr, false);
  }
  std::unique_ptr<RunningLocus> start_worker(const std::string& script) {
    auto worker = std::make_unique<RunningLocus>(
        std::vector<std::string>{"worker", "--name", "node-1", "--slots", "2", "--isolate", "off", "--trainer",
                                 LOCUS_FAKE_TRAINER, "--work", (folder.path() / "worker").string(), "--json",
                                 "--server", server.address()},
        Environment{{"FAKE_TRAINER_CATALOG", LOCUS_TEST_CATALOG}, {"FAKE_TRAINER_SCRIPT", script}});
    const Json ready = Json::parse(worker->first_line(), nullptr, false);
    EXPECT_TRUE(ready.is_object());
    EXPECT_EQ(ready.value("name", ""), "node-1");
    EXPECT_EQ(ready.value("slots", 0), 2);
    EXPECT_EQ(ready.value("server", ""), server.address());
    return worker;
  }
  TemporaryFolder folder;
  LiveServer server{folder.path() / "data"};
};

constexpr char kTrains[] =
    R"({"steps": 12, "checkpoint_at": [6], "at": {"5": {"do": "print", "text": "hello from step 5"}}})";

TEST_F(Life, OfAnExperimentThatCompletes) {
  const auto worker = start_worker(kTrains);
  const Outcome submitted = run({"submit", "-", "--watch"}, kDaySpec);
  ASSERT_EQ(submitted.status, 0) << submitted.out << submitted.err;
  EXPECT_THAT(submitted.out,
              AllOf(HasSubstr("day submitted: 2 cells, 2 trials"), HasSubstr("day completed: 2/2 trials")));

  EXPECT_THAT(run({"logs", "day/0", "--follow"}).out, HasSubstr("hello from step 5\n"));
  EXPECT_THAT(run({"logs", "day/1", "--follow"}).out, HasSubstr("hello from step 5\n"));
  const std::string whole = run({"logs", "day/0"}).out;
  EXPECT_EQ(run({"logs", "day/0", "--tail", "7"}).out, whole.substr(whole.size() - 7));
  EXPECT_THAT(run({"why", "day/0"}).out, HasSubstr("day/0  succeeded\n"));
  EXPECT_EQ(json({"why", "day/1"})["state"], "succeeded");

  const Json compared = json({"compare", "day/0", "day/1"});
  EXPECT_EQ(compared["items"].size(), 2u);
  ASSERT_FALSE(compared["differing"].empty());
  EXPECT_THAT(run({"compare", "day/0", "day/1"}).out, AllOf(HasSubstr("prior"), HasSubstr("learned-absolute")));

  std::stringstream lines(run({"export", "day"}).out);
  int objects = 0;
  for (std::string line; std::getline(lines, line); ++objects) EXPECT_TRUE(Json::parse(line).is_object()) << line;
  EXPECT_GT(objects, 4);
  const std::string file = (folder.path() / "day.jsonl").string();
  const Json exported = json({"export", "day", "--output", file});
  EXPECT_EQ(exported["bytes"], std::filesystem::file_size(file));
  EXPECT_FALSE(std::filesystem::exists(file + ".part"));

  EXPECT_THAT(run({"workers", "node-1"}).out, HasSubstr("day/0"));
  EXPECT_EQ(json({"workers", "node-1"})["worker"]["name"], "node-1");
  EXPECT_EQ(json({"rerun", "day"})["stages"], 0);
  const Outcome late = run({"cancel", "day"});
  EXPECT_EQ(late.status, 1);
  EXPECT_THAT(late.err, HasSubstr("every stage of experiment day has ended: there is nothing to cancel"));
  EXPECT_THAT(run({"resume", "day"}).out, HasSubstr("nothing changed: it was completed already"));
  EXPECT_EQ(json({"show", "day"})["state"], "completed");
}

TEST_F(Life, OfArtifacts) {
  const auto worker = start_worker(kTrains);
  ASSERT_EQ(run({"submit", "-", "--watch"}, kDaySpec).status, 0);
  const Json listed = json({"artifacts", "day/0"})["artifacts"];
  ASSERT_FALSE(listed.empty());
  const std::string digest = listed[0]["sha256"];
  EXPECT_THAT(run({"artifacts", "day"}).out, AllOf(HasSubstr(digest), HasSubstr("day/1")));

  const std::string out = (folder.path() / "out").string();
  const Json files = json({"artifacts", "day/0", "--output", out})["files"];
  ASSERT_FALSE(files.empty());
  for (const Json& one : files)
    EXPECT_EQ(std::filesystem::file_size(one["path"].get<std::string>()), std::stoul(one["bytes"].dump()));
  EXPECT_EQ(run({"artifacts", digest, "--output", out + "/one"}).status, 0);
  EXPECT_TRUE(std::filesystem::exists(out + "/one"));

  EXPECT_EQ(json({"artifacts", digest, "--pin"})["pinned"], true);
  EXPECT_EQ(json({"artifacts", digest, "--unpin"})["pinned"], false);
}

TEST_F(Life, OfPicturesOfScoredImages) {
  const auto worker = start_worker(R"({"steps": 2, "pictures": 2})");
  ASSERT_EQ(run({"submit", "-", "--watch"}, kDaySpec).status, 0);
  const std::string out = (folder.path() / "seen").string();
  const Json files = json({"export", "day", "--pictures", out})["files"];
  std::set<std::string> names;
  for (const Json& one : files) names.insert(std::filesystem::path(one["path"].get<std::string>()).filename());
  EXPECT_THAT(names,
              ElementsAre("trial-0-train-picture-1.png", "trial-0-train-picture-2.png", "trial-0-train-pictures.json",
                          "trial-1-train-picture-1.png", "trial-1-train-picture-2.png", "trial-1-train-pictures.json"));
  const Outcome one = run({"export", "day/1", "--pictures", out + "/one"});
  EXPECT_EQ(one.out, out + "/one/trial-1-train-picture-1.png\n" + out + "/one/trial-1-train-picture-2.png\n" + out +
                         "/one/trial-1-train-pictures.json\n");
  std::ifstream bytes(out + "/one/trial-1-train-picture-2.png");
  EXPECT_THAT(std::string(std::istreambuf_iterator<char>(bytes), {}), HasSubstr(" 2"));

  const Json all = json({"artifacts", "day/0", "--output", out + "/all"})["files"];
  names.clear();
  for (const Json& each : all) names.insert(std::filesystem::path(each["path"].get<std::string>()).filename());
  EXPECT_THAT(names, AllOf(Contains("trial-0-train-picture-1.png"), Contains("trial-0-train-pictures.json"),
                           Contains("trial-0-train-checkpoint-step-2.safetensors")));
}

TEST_F(Life, OfPicturesWhereNoneWereKept) {
  const auto worker = start_worker(kTrains);
  ASSERT_EQ(run({"submit", "-", "--watch"}, kDaySpec).status, 0);
  EXPECT_THAT(run({"export", "day", "--pictures", (folder.path() / "seen").string()}).out,
              HasSubstr("there are no pictures"));
}

TEST_F(Life, OfDataThatIsCheckedCopiedAndServedAgain) {
  const auto worker = start_worker(kTrains);
  ASSERT_EQ(run({"submit", "-", "--watch"}, kDaySpec).status, 0);
  EXPECT_EQ(json({"check", "--deep"})["ok"], true);
  const std::string copy = (folder.path() / "copy").string();
  const Json made = json({"backup", copy});
  EXPECT_GT(made["artifacts"], 0);
  const Outcome again = run({"backup", copy});
  EXPECT_EQ(again.status, 1);
  EXPECT_THAT(again.err, HasSubstr("holds a database already"));

  EXPECT_EQ(server.stop(), 0);
  const LiveServer restored(copy);
  const auto ask = [&](const std::vector<std::string>& words) {
    std::vector<std::string> all = words;
    all.insert(all.end(), {"--json", "--server", restored.address()});
    return Json::parse(run_locus(all).out, nullptr, false);
  };
  EXPECT_EQ(ask({"show", "day"})["state"], "completed");
  EXPECT_EQ(ask({"check", "--deep"})["ok"], true);
  EXPECT_FALSE(ask({"artifacts", "day/0"})["artifacts"].empty());
}

TEST_F(Life, OfAnExperimentThatIsCancelledTakenUpAgainAndDeleted) {
  ASSERT_EQ(run({"submit", "-"}, kDaySpec).status, 0);
  EXPECT_THAT(run({"why", "day/0"}).out, HasSubstr("day/0  queued\n"));
  const Outcome early = run({"delete", "day", "--yes"});
  EXPECT_EQ(early.status, 1);
  EXPECT_EQ(run({"cancel", "day"}).status, 0);
  EXPECT_THAT(run({"cancel", "day"}).out, HasSubstr("nothing changed: it was cancelled already"));
  EXPECT_EQ(json({"rerun", "day/1"})["experiment"]["state"], "active");
  const auto worker = start_worker(kTrains);
  EXPECT_THAT(run({"logs", "day/1", "--follow"}).out, HasSubstr("hello from step 5\n"));
  EXPECT_THAT(run({"list", "day", "--state", "succeeded", "--quiet"}).out, "day/1\n");

  const Outcome unsure = run({"delete", "day"});
  EXPECT_EQ(unsure.status, 1);
  EXPECT_THAT(unsure.err, HasSubstr("--yes"));
  EXPECT_EQ(json({"delete", "day", "--dry-run"})["deleted"], false);
  EXPECT_THAT(run({"delete", "day", "--yes"}).out, HasSubstr("day is deleted: 2 trials"));
  EXPECT_EQ(run({"list", "--quiet"}).out, "");
}

TEST_F(Life, OfAWorkerThatIsDrained) {
  const auto worker = start_worker(kTrains);
  EXPECT_THAT(run({"drain", "node-1", "--reason", "new driver"}).out, HasSubstr("draining"));
  EXPECT_THAT(run({"workers", "node-1"}).out, HasSubstr("new driver"));
  ASSERT_EQ(run({"submit", "-"}, kDaySpec).status, 0);
  EXPECT_THAT(json({"why", "day/0"})["sentence"].get<std::string>(), HasSubstr("drain"));
  EXPECT_THAT(run({"drain", "node-1", "--undo"}).out, Not(HasSubstr("draining")));
  EXPECT_THAT(run({"drain", "node-1", "--until", "2h"}).out, AllOf(HasSubstr("active"), HasSubstr("works until")));
  EXPECT_EQ(run({"drain", "node-1", "--until", "2h", "--undo"}).status, 2);
  EXPECT_THAT(run({"drain", "node-1", "--until", "08:00"}).err, HasSubstr("2026-12-01T08:00Z"));
  EXPECT_EQ(run({"watch", "day"}).status, 0);
}

}  // namespace
}  // namespace locus
