// Specification files, changes from the command line, and telling where a field stands.
#include "cli/spec_file.h"

#include <gmock/gmock.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "cli/yaml.h"
#include "core/base/error.h"
#include "core/base/sha256.h"
#include "core/catalog/catalog.h"
#include "core/experiment/plan/planner.h"

namespace locus {
namespace {

using ::testing::HasSubstr;

SpecFile parsed(const std::string& text) {
  auto spec = SpecFile::parse(text, "x.yaml");
  if (!spec.ok()) throw std::runtime_error(spec.status().ToString());
  return *std::move(spec);
}

constexpr char kSpec[] =
    "version: 1\nname: x\ntrain: {lr: 1e-3}\nmatrix:\n  prior: [none, violin]\n  train.epochs: [1, 2]\n"
    "stages:\n  - evaluate: {resolution: [28]}\n";

TEST(SpecFile, TellsWhereAFieldStands) {
  const SpecFile spec = parsed(kSpec);
  EXPECT_EQ(spec.where("train.lr"), "x.yaml:3");
  EXPECT_EQ(spec.where("matrix.prior[1]"), "x.yaml:5");
  EXPECT_EQ(spec.where("matrix.train.epochs[1]"), "x.yaml:6");
  EXPECT_EQ(spec.where("stages[0].evaluate.resolution[0]"), "x.yaml:8");
  EXPECT_EQ(spec.where("train.epochs"), "x.yaml:3");  // not there: the mapping it would stand in
  EXPECT_EQ(spec.where("dataset"), "x.yaml");
  EXPECT_EQ(spec.where(""), "");
}

TEST(SpecFile, ChangesValues) {
  SpecFile spec = parsed(kSpec);
  ASSERT_TRUE(spec.set("train.lr=3e-4").ok());
  ASSERT_TRUE(spec.set("replicates.seed=[0, 1, 2]").ok());
  ASSERT_TRUE(spec.set("matrix.prior=[rope-axial, {violin: {sigma: 0.1}}]").ok());
  ASSERT_TRUE(spec.set("matrix.train.weight_decay=[0, 0.05]").ok());
  ASSERT_TRUE(spec.set("matrix.train.epochs=null").ok());
  ASSERT_TRUE(spec.set("stages[0].evaluate.resolution=[42]").ok());
  ASSERT_TRUE(spec.set("name=\"123\"").ok());
  EXPECT_EQ(spec.json(),
            Json::parse(R"({"version": 1, "name": "123", "train": {"lr": 0.0003}, "replicates": {"seed": [0, 1, 2]},
      "matrix": {"prior": ["rope-axial", {"violin": {"sigma": 0.1}}], "train.weight_decay": [0, 0.05]},
      "stages": [{"evaluate": {"resolution": [42]}}]})"));
  EXPECT_EQ(spec.where("train.lr"), "--set train.lr=3e-4");
  EXPECT_EQ(spec.where("matrix.prior[1].violin.sigma"), "--set matrix.prior=[rope-axial, {violin: {sigma: 0.1}}]");
}

TEST(SpecFile, RefusesChangesItCannotMake) {
  SpecFile spec = parsed(kSpec);
  for (const char* bad :
       {"train.lr", "=3", "train..lr=3", "train.lr.=3", "[0]=3", "stages[x]=3", "stages[9].evaluate=3", "name.x=3",
        "train.lr=[1", "train.lr={a: 1, a: 2}", "tr\xe6in.lr=3"}) {
    const absl::Status status = spec.set(bad);
    EXPECT_TRUE(has_reason(status, ErrorReason::kInvalidSpecification)) << bad;
  }
  const std::string longest(kYamlKeyBytes, 'k');
  EXPECT_TRUE(has_reason(spec.set(longest + "k=3"), ErrorReason::kInvalidSpecification));
  EXPECT_EQ(spec.json(), parsed(kSpec).json());
  EXPECT_TRUE(spec.set(longest + "=3").ok());
}

TEST(SpecFile, RefusesWhatIsNoSpecification) {
  const std::pair<const char*, const char*> rows[] = {{"", "empty"},
                                                      {"# only a comment\n", "empty"},
                                                      {"- 1\n- 2\n", "a mapping"},
                                                      {"just text", "a mapping"},
                                                      {"a: [\n", "not readable"}};
  for (const auto& [text, says] : rows) {
    const auto spec = SpecFile::parse(text, "x.yaml");
    ASSERT_FALSE(spec.ok()) << text;
    EXPECT_THAT(std::string(spec.status().message()), HasSubstr(says));
    EXPECT_THAT(error_detail(spec.status())->metadata.at("where"), HasSubstr("x.yaml:"));
  }
}

TEST(SpecFile, NamesAFileItCannotRead) {
  const auto spec = SpecFile::read("/nonexistent/spec.yaml");
  ASSERT_FALSE(spec.ok());
  EXPECT_THAT(std::string(spec.status().message()), HasSubstr("/nonexistent/spec.yaml"));
  EXPECT_EQ(std::string(SpecFile::read("/dev").status().message()),
            "/dev is a folder, not a specification; name the file");
  const std::string examples = std::string(LOCUS_SOURCE_ROOT) + "/examples";
  EXPECT_EQ(
      std::string(SpecFile::read(examples).status().message()),
      examples + " is a folder, not a specification; name the file, as in " + examples + "/best-on-validation.yaml");
}

TEST(SpecFile, RefusesOneThatIsTooLarge) {
  const auto path = std::filesystem::temp_directory_path() / ("locus-large-" + std::to_string(::getpid()) + ".yaml");
  std::ofstream(path) << "name: " << std::string(2 << 20, 'x');
  const auto spec = SpecFile::read(path.string());
  std::filesystem::remove(path);
  EXPECT_TRUE(has_reason(spec.status(), ErrorReason::kLimitExceeded)) << spec.status();
}

// The examples with the catalog of the engine that will run them.
TEST(SpecFile, ReadsTheExamplesAndTheEngineCanRunThem) {
  const std::string root = LOCUS_SOURCE_ROOT;
  std::ifstream in(root + "/engine/catalog.json");
  const auto catalog = Catalog::parse(Json::parse(in));
  ASSERT_TRUE(catalog.ok()) << catalog.status();
  for (const char* folder : {"/examples", "/examples/dense"}) {
    for (const auto& entry : std::filesystem::directory_iterator(root + folder)) {
      if (entry.path().extension() != ".yaml") continue;
      const auto spec = SpecFile::read(entry.path().string());
      ASSERT_TRUE(spec.ok()) << entry.path() << ": " << spec.status();
      const auto plan = plan_experiment(spec->json(), *catalog);
      EXPECT_TRUE(plan.ok()) << entry.path() << ": " << plan.status();
    }
  }
}

// "task: segmentation\n" of a dataset without labels, by the first task that learns from what it has; empty of others.
std::string task_line(const Catalog& catalog, const CatalogItem& dataset) {
  const Json targets = dataset.facts.value("targets", Json::array({"label"}));
  const auto brings = [&](const Json& target) {
    return std::find(targets.begin(), targets.end(), target) != targets.end();
  };
  if (brings("label")) return "";
  for (const CatalogItem& item : catalog.items()) {
    if (item.kind == "task" && brings(item.facts.value("target", Json("label")))) return "task: " + item.id + "\n";
  }
  return "";
}

TEST(SpecFile, OfNothingButADatasetAndAPriorPlansTheDefaultModel) {
  std::ifstream in(std::string(LOCUS_SOURCE_ROOT) + "/engine/catalog.json");
  const auto catalog = Catalog::parse(Json::parse(in));
  ASSERT_TRUE(catalog.ok()) << catalog.status();
  for (const CatalogItem& item : catalog->items()) {
    if (item.kind != "dataset") continue;
    std::string demanded;  // what the dataset itself cannot know
    for (const OptionSpec& option : item.options) {
      if (option.required) demanded += ", " + option.name + (option.type == "string" ? ": x" : ": 2");
    }
    const std::string dataset = demanded.empty() ? item.id : "{" + item.id + ": {" + demanded.substr(2) + "}}";
    const SpecFile spec =
        parsed("version: 1\nname: least\nprior: none\n" + task_line(*catalog, item) + "dataset: " + dataset + "\n");
    const auto plan = plan_experiment(spec.json(), *catalog);
    EXPECT_TRUE(plan.ok()) << item.id << ": " << plan.status();
  }
}

TEST(SpecFile, OfTheDemonstrationPlansSixPriorsOverFiveSeeds) {
  const std::string root = LOCUS_SOURCE_ROOT;
  std::ifstream in(root + "/engine/catalog.json");
  const auto catalog = Catalog::parse(Json::parse(in));
  ASSERT_TRUE(catalog.ok()) << catalog.status();
  const auto spec = SpecFile::read(root + "/examples/fashion-mnist-priors.yaml");
  ASSERT_TRUE(spec.ok()) << spec.status();
  const auto plan = plan_experiment(spec->json(), *catalog);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->cells.size(), 6u);
  EXPECT_EQ(plan->trials.size(), 30u);
  EXPECT_EQ(plan->trials[0].stages.size(), 2u);
  EXPECT_EQ(plan->evaluation_labels, Json({{"resolution", 28}}));
  EXPECT_EQ(plan->matched, "only the prior differs");
  SpecFile changed = *spec;
  ASSERT_TRUE(changed.set("stages=[{evaluate: {resolution: [40]}}]").ok());
  const absl::Status untiled = plan_experiment(changed.json(), *catalog).status();
  EXPECT_TRUE(has_reason(untiled, ErrorReason::kConstraintViolated)) << untiled;
}

// `make priors` stands for the whole catalog.
TEST(SpecFile, OfEveryPriorPlansEachIdOfTheCatalogAloneUnderOneProtocol) {
  const std::string root = LOCUS_SOURCE_ROOT;
  std::ifstream in(root + "/engine/catalog.json");
  const auto catalog = Catalog::parse(Json::parse(in));
  ASSERT_TRUE(catalog.ok()) << catalog.status();
  const auto spec = SpecFile::read(root + "/examples/every-prior.yaml");
  ASSERT_TRUE(spec.ok()) << spec.status();
  const auto plan = plan_experiment(spec->json(), *catalog);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->matched, "only the prior differs");
  std::set<std::string> alone;
  for (const PlannedCell& cell : plan->cells) {
    const Json priors = Json::parse(cell.assignment_json).at("prior");
    if (priors.size() == 1) alone.insert(priors[0].begin().key());
  }
  std::set<std::string> all;
  for (const Json& item : catalog->document().at("items"))
    if (item.at("kind") == "prior") all.insert(item.at("id"));
  EXPECT_EQ(alone, all) << "examples/every-prior.yaml lists every prior";
  EXPECT_GT(plan->cells.size(), all.size()) << "and combinations";
}

std::string file_of(const std::string& name, const std::string& text) {
  const std::string path = ::testing::TempDir() + "spec-file-" + std::to_string(::getpid()) + "-" + name;
  std::ofstream(path) << text;
  return path;
}

TEST(SpecFile, NamesWeightsByTheirDigestWhereverSectionInitStands) {
  const std::string one = file_of("one.safetensors", "one"), two = file_of("two.pth", "two");
  SpecFile spec = parsed("name: x\ninit: {weights: {from: " + one +
                         ", head: keep}}\nmatrix:\n  init:\n    - scratch\n" + "    - {value: {weights: {from: " + two +
                         "}}, label: two}\n    - {weights: {from: " + one + "}}\nmodel: {weights: {from: here}}\n");
  ASSERT_TRUE(spec.name_weights().ok());
  EXPECT_EQ(spec.json()["init"], Json({{"weights", {{"sha256", sha256_hex("one")}, {"head", "keep"}}}}));
  EXPECT_EQ(spec.json()["matrix"]["init"][1]["value"]["weights"], Json({{"sha256", sha256_hex("two")}}));
  EXPECT_EQ(spec.json()["matrix"]["init"][2]["weights"], Json({{"sha256", sha256_hex("one")}}));
  EXPECT_EQ(spec.json()["model"]["weights"]["from"], "here") << "another section's is its own business";
  EXPECT_EQ(spec.where("init.weights.sha256"), "x.yaml:2");
  ASSERT_EQ(spec.weights().size(), 2u) << "each file once";
  EXPECT_EQ(spec.weights()[0].path, one);
  EXPECT_EQ(spec.weights()[1].sha256, sha256_hex("two"));
}

TEST(SpecFile, RefusesWeightsThatAreNotWhatItSays) {
  const std::string file = file_of("said.safetensors", "said");
  const auto told = [&](const std::string& options) {
    return std::string(parsed("init: {weights: {" + options + "}}\n").name_weights().message());
  };
  EXPECT_EQ(told("from: " + file + ", sha256: " + sha256_hex("said")), "");
  EXPECT_THAT(told("from: " + file + ", sha256: " + sha256_hex("other")),
              HasSubstr("has the SHA-256 " + sha256_hex("said")));
  EXPECT_THAT(told("from: " + file + ".none"), HasSubstr("cannot be read"));
  EXPECT_THAT(told("from: [a, b]"), HasSubstr("is a file of weights, written as text"));
  EXPECT_THAT(told("from: model.safetensors.index.json"), HasSubstr("`locus weights inspect` prints it"));
}

}  // namespace
}  // namespace locus
