// Weights on their way: from a file that a specification names, through the server, to a worker that never saw the file.
#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "core/base/sha256.h"
#include "tests/cli/program.h"

namespace locus {
namespace {

using Json = nlohmann::json;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kWeights[] = "what a model starts from";
constexpr char kWeightsSpec[] =
    "version: 1\nname: day\ndataset: fashion-mnist\nmodel: {backbone: vit, dim: 64, heads: 4}\n"
    "prior: none\nmetric: {reports: validation}\n";

Json read(const std::string& path) {
  std::ifstream in(path);
  return Json::parse(in);
}

// The test catalog with the engine's section init.
Json catalog_with_init() {
  Json out = read(LOCUS_TEST_CATALOG);
  const Json engine = read(std::string(LOCUS_SOURCE_ROOT) + "/engine/catalog.json");
  for (const Json& item : engine.at("items")) {
    if (item.at("kind") == "init") out["items"].push_back(item);
  }
  if (!out.contains("sections")) out["sections"] = Json::array();
  for (const Json& section : engine.at("sections")) {
    if (section.at("key") == "init") out["sections"].push_back(section);
  }
  return out;
}

class WeightsFiles : public ::testing::Test {
 protected:
  Outcome run(std::vector<std::string> arguments, const std::string& input = "") {
    arguments.insert(arguments.end(), {"--server", server.address()});
    return run_locus(arguments, input);
  }
  // Standard output of a submission whose models start from `init`.
  Outcome submit(const std::string& init, const std::string& change = "name=day") {
    return run({"submit", "-", "--set", "init=" + init, "--set", change}, kWeightsSpec);
  }
  std::vector<Json> exported(const std::string& type) {
    std::vector<Json> out;
    std::stringstream lines(run({"export", "day", "--without-points"}).out);
    for (std::string line; std::getline(lines, line);) {
      Json one = Json::parse(line);
      if (one.value("type", "") == type) out.push_back(std::move(one));
    }
    return out;
  }
  bool server_has(const std::string& sha256) {
    return run({"artifacts", sha256, "--output", (folder.path() / "copy").string()}).status == 0;
  }

  TemporaryFolder folder;
  const std::string weights = folder.write("pretrained.safetensors", kWeights), digest = sha256_hex(kWeights);
  const std::string catalog = folder.write("catalog.json", catalog_with_init().dump());
  LiveServer server{folder.path() / "data", "127.0.0.1:0", catalog};
};

TEST_F(WeightsFiles, NamedInASpecificationReachAWorkerThatHasNoneOfThem) {
  const RunningLocus worker(
      {"worker", "--name", "elsewhere", "--slots", "1", "--isolate", "off", "--trainer", LOCUS_FAKE_TRAINER, "--work",
       (folder.path() / "worker").string(), "--json", "--server", server.address()},
      Environment{{"FAKE_TRAINER_CATALOG", catalog}, {"FAKE_TRAINER_SCRIPT", R"({"steps": 2})"}});
  const Outcome submitted = submit("{weights: {from: " + weights + "}}");
  ASSERT_EQ(submitted.status, 0) << submitted.err;
  ASSERT_EQ(run({"watch", "day"}).status, 0);
  int trainings = 0;
  for (const Json& attempt : exported("attempt")) {
    const Json inputs = attempt.at("environment").value("inputs", Json::object());
    if (!inputs.contains("weights")) continue;
    ++trainings;
    EXPECT_THAT(inputs.at("weights").get<std::string>(), EndsWith("/" + digest)) << "the worker's own copy";
    EXPECT_THAT(inputs.at("weights").get<std::string>(), HasSubstr((folder.path() / "worker").string()));
  }
  EXPECT_EQ(trainings, 1);
}

TEST_F(WeightsFiles, AreKnownByTheirDigestAlone) {
  ASSERT_EQ(submit("{weights: {from: " + weights + "}}").status, 0);
  for (const Json& stage : exported("stage")) {
    EXPECT_EQ(stage.at("config").at("init").at("options").at("sha256"), digest);
    EXPECT_THAT(stage.dump(), Not(HasSubstr("pretrained.safetensors")));
  }
  const std::string moved = folder.write("moved.bin", kWeights);
  EXPECT_THAT(submit("{weights: {from: " + moved + "}}").out, HasSubstr("day")) << "the same file elsewhere";
  EXPECT_THAT(submit("{weights: {sha256: \"" + digest + "\"}}").out, HasSubstr("day"));
  EXPECT_EQ(exported("trial").size(), 1u) << "neither is another experiment";
}

TEST_F(WeightsFiles, AreNotSentForASpecificationThatIsRefused) {
  const Outcome refused = submit("{weights: {from: " + weights + "}}", "model.no_such=1");
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr("model.no_such"));
  EXPECT_FALSE(server_has(digest));
  ASSERT_EQ(submit("{weights: {from: " + weights + "}}").status, 0);
  EXPECT_TRUE(server_has(digest));
}

TEST_F(WeightsFiles, AreUploadedByHandAndKept) {
  const Outcome said = run({"weights", "upload", weights});
  ASSERT_EQ(said.status, 0) << said.err;
  EXPECT_THAT(said.out, HasSubstr("{weights: {sha256: " + digest + "}}"));
  const Json again = Json::parse(run({"weights", "upload", weights, "--json"}).out);
  EXPECT_EQ(again["sha256"], digest);
  EXPECT_EQ(again["bytes"], sizeof kWeights - 1);
  EXPECT_TRUE(server_has(digest));
  EXPECT_EQ(Json::parse(run({"artifacts", digest, "--unpin", "--json"}).out)["kind"], "weights");
}

TEST_F(WeightsFiles, ThatAreMissingOrSeveralAreRefusedWithWhatToDo) {
  const std::string none = (folder.path() / "none.safetensors").string();
  EXPECT_THAT(submit("{weights: {from: " + none + "}}").err, HasSubstr(none + ", which cannot be read"));
  EXPECT_EQ(run({"weights", "upload", none}).status, 1);
  const Outcome shards = run({"weights", "upload", folder.write("model.safetensors.index.json", "{}")});
  EXPECT_EQ(shards.status, 1);
  EXPECT_THAT(shards.err, HasSubstr("below the folder weights of each worker's data"));
}

}  // namespace
}  // namespace locus
