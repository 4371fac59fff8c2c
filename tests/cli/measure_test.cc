// Measuring with the real trainer: from the command line alone, and as a stage of an experiment.
#include <gmock/gmock.h>

#include <fstream>
#include <set>
#include <sstream>

#include "tests/cli/program.h"

namespace locus {
namespace {

using Json = nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kSpec[] =
    "version: 1\nname: costs\ndataset: fashion-mnist\n"
    "model: {backbone: vit, dim: 16, depth: 1, heads: 2, patch: 14}\n"
    "train: {epochs: 1, batch: 8, limit: 64, validation_images: 100, validate_every: 0}\n"
    "matrix: {prior: [none, learned-absolute]}\nreplicates: {seed: [0]}\nbaseline: {prior: none}\n"
    "stages: [{measure: {batch: [1, 2], resolution: [28, 42], rounds: 2, warmup: 0, round_ms: 0}}]\n"
    "metric: {reports: validation}\n";

class Measure : public ::testing::Test {
 protected:
  Measure() : spec(folder.write("spec.yaml", kSpec)) {}
  Outcome measure(std::vector<std::string> arguments) {
    const std::vector<std::string> quick = {"measure",  "--spec", spec,         "--rounds", "2",
                                            "--warmup", "0",      "--round-ms", "0"};
    arguments.insert(arguments.begin(), quick.begin(), quick.end());
    return run_locus(arguments);
  }
  TemporaryFolder folder;
  std::string spec;
};

TEST_F(Measure, PrintsATableWithRatiosToTheBaseline) {
  const Outcome done = measure({"--batch", "1,4", "--resolution", "28"});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.out, AllOf(HasSubstr("ratios to none"), HasSubstr("resolution 28, batch 1\n"),
                              HasSubstr("resolution 28, batch 4\n"), HasSubstr("spread")));
  std::istringstream lines(done.out);
  int rows = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("none ")) EXPECT_EQ(line.find("x)"), std::string::npos) << line;
    if (!line.starts_with("learned-absolute ")) continue;
    EXPECT_THAT(line, HasSubstr("(1.000x)")) << "the same products";
    ++rows;
  }
  EXPECT_EQ(rows, 2) << done.out;
}

TEST_F(Measure, AnswersWithJsonAndWritesIt) {
  const std::string out = (folder.path() / "out.json").string();
  const Outcome done = measure({"--batch", "2", "--no-training", "--json", "--out", out});
  ASSERT_EQ(done.status, 0) << done.err;
  const Json document = Json::parse(done.out);
  EXPECT_EQ(document, Json::parse(std::ifstream(out)));
  EXPECT_EQ(document["against"], "none");
  ASSERT_EQ(document["rows"].size(), 2u);
  const Json& row = document["rows"][1];
  EXPECT_EQ(row["label"], "learned-absolute");
  EXPECT_EQ(row["resolution"], 28);
  EXPECT_EQ(row["values"]["parameters_added"], 4 * 16);
  EXPECT_EQ(row["ratios"]["flops_counted"], 1.0);
  EXPECT_FALSE(row["values"].contains("train_ms_p50"));
  EXPECT_TRUE(document["environment"]["hardware"].contains("processor"));
}

TEST_F(Measure, TakesPriorsOfTheCommandLineInstead) {
  const Outcome done =
      measure({"--prior", "alibi-2d", "--prior", "[learned-absolute, violin]", "--batch", "1", "--json"});
  ASSERT_EQ(done.status, 0) << done.err;
  const Json document = Json::parse(done.out);
  EXPECT_EQ(document["against"], "none");
  ASSERT_EQ(document["rows"].size(), 3u);
  EXPECT_EQ(document["rows"][0]["label"], "none");
  EXPECT_EQ(document["rows"][2]["label"], "learned-absolute + violin");
  const Outcome other = measure({"--prior", "alibi-2d", "--against", "rope-axial", "--batch", "1", "--json"});
  ASSERT_EQ(other.status, 0) << other.err;
  EXPECT_EQ(Json::parse(other.out)["rows"][0]["label"], "rope-axial");
}

TEST_F(Measure, NamesWhatIsWrong) {
  const struct {
    std::vector<std::string> arguments;
    int status;
    std::string says;
  } mistakes[] = {
      {{"--resolution", "30"}, 1, "stages[0].measure"},
      {{"--batch", "0"}, 1, "stages[0].measure.batch"},
      {{"--batch", "many"}, 1, "stages[0].measure.batch"},
      {{"--prior", "violon"}, 1, "did you mean 'violin'"},
      {{"--set", "model.dim=15"}, 1, "does not divide"},
      {{"--against", "alibi-2d"}, 2, "is not measured; choose one of: none, learned-absolute"},
      {{"--rounds", "0"}, 2, "--rounds"},
      {{"--out", "/nowhere/at/all.json"}, 2, "cannot write /nowhere/at/all.json"},
      {{"--device", "tpu"}, 2, "--device"},
  };
  for (const auto& [arguments, status, says] : mistakes) {
    const Outcome refused = measure(arguments);
    EXPECT_EQ(refused.status, status) << arguments[0] << ": " << refused.err;
    EXPECT_THAT(refused.err, HasSubstr(says)) << arguments[0];
    EXPECT_EQ(refused.out, "");
  }
  EXPECT_EQ(run_locus({"measure"}).status, 2);
  EXPECT_THAT(run_locus({"measure", "--spec", "/no/such.yaml"}).err, HasSubstr("/no/such.yaml"));
}

// What planning estimates by the catalog's formula is what the engine builds.
TEST_F(Measure, CountsTheParametersThatPlanningEstimates) {
  for (const std::vector<std::string>& model :
       {std::vector<std::string>{},
        {"--set", "model.pool=cls", "--set", "model.registers=3"},
        {"--set", "model.qkv_bias=false", "--set", "model.mlp_ratio=2.3", "--set", "model.patch=7"},
        {"--set", "model.depth=3", "--set", "model.dim=12"}}) {
    std::vector<std::string> measured = {"--prior", "none", "--batch", "1", "--no-training", "--json"};
    measured.insert(measured.end(), model.begin(), model.end());
    const Outcome done = measure(measured);
    ASSERT_EQ(done.status, 0) << done.err;
    measured.insert(measured.end(), {"--set", "limits.memory_gib=1.0e-9"});
    const Outcome refused = measure(measured);
    EXPECT_EQ(refused.status, 1);
    const Json error = Json::parse(refused.err)["error"];
    EXPECT_EQ(error["reason"], "LIMIT_EXCEEDED");
    EXPECT_EQ(error["metadata"]["parameters"],
              std::to_string(Json::parse(done.out)["rows"][0]["values"]["parameters"].get<std::int64_t>()));
  }
}

TEST_F(Measure, AndThePictureOfAnUnknownPriorNamesTheNearestAndThisProgram) {
  const Outcome refused = run_locus({"picture", "violn"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_EQ(refused.err,
            "error: locus picture: there is no prior 'violn'; did you mean 'violin'?\n  see locus picture --help\n");
  EXPECT_EQ(Json::parse(run_locus({"picture", "violn", "--json"}).err)["error"]["message"],
            "locus picture: there is no prior 'violn'; did you mean 'violin'?");
}

TEST_F(Measure, AndAProbeReadTextOnly) {
  const std::string file = folder.write("latin-1.yaml", "model:\n  backbone: caf\xe9\n");
  const Outcome refused = run_locus({"probe", "--list", "--spec", file});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr("the byte 0xE9 at offset 22 is not UTF-8"));
  EXPECT_THAT(refused.err, HasSubstr("latin-1.yaml:2"));
}

// ---- the stage ----

class MeasureStage : public Measure {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists("/usr/share/datasets/fashion-mnist"))
      GTEST_SKIP() << "needs the package dataset-fashion-mnist";
  }
  Outcome run(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--server", server.address()});
    return run_locus(arguments);
  }
  LiveServer server{folder.path() / "data", "127.0.0.1:0", LOCUS_SOURCE_ROOT "/engine/catalog.json"};
};

TEST_F(MeasureStage, RunsInAFreshProcessAndIsNotRepeatedForAnotherRecipe) {
  RunningLocus worker({"worker", "--name", "node-1", "--slots", "2", "--work", (folder.path() / "worker").string(),
                       "--json", "--server", server.address()});
  worker.first_line();
  const Outcome submitted = run({"submit", spec, "--watch"});
  ASSERT_EQ(submitted.status, 0) << submitted.out << submitted.err;
  std::stringstream lines(run({"export", "costs"}).out);
  int measured = 0, attempts = 0;
  std::set<std::string> labels;
  for (std::string line; std::getline(lines, line);) {
    const Json record = Json::parse(line);
    if (record.dump().find("fresh_process") != std::string::npos) {
      ++attempts;
      EXPECT_EQ(record.at("environment").at("fresh_process"), true);
    }
    if (record.value("metric", "") != "forward_ms_p50") continue;
    ++measured;
    EXPECT_GT(record.at("value").get<double>(), 0);
    labels.insert(record.at("labels").dump());
  }
  EXPECT_EQ(attempts, 2);
  EXPECT_EQ(measured, 2 * 4);
  EXPECT_EQ(labels.size(), 4u);
  const Outcome again = run({"plan", spec, "--set", "name=again", "--set", "train.lr=0.01", "--json"});
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(Json::parse(again.out)["stages_done"], 2) << again.out;
}

}  // namespace
}  // namespace locus
