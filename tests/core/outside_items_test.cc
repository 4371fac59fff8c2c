// Items from outside the tree: how they enter a catalog, what they change in identities and requirements, and what not.
#include <gmock/gmock.h>

#include "core/base/error.h"
#include "core/catalog/extension.h"
#include "core/experiment/required_code.h"
#include "tests/core/plans.h"

namespace locus {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kDigest(64, 'a'), kOther(64, 'b');

Json bare_prior(const std::string& id) {
  return {{"kind", "prior"},
          {"id", id},
          {"revision", 1},
          {"layouts", {{"ranks", {2}}}},
          {"options", {{{"name", "slope"}, {"type", "number"}, {"default", 0.5}, {"minimum", 0}}}}};
}

Extension own_prior_items(const std::string& digest = kDigest, const std::string& id = "mine") {
  return {"own-prior", kPluginOrigin, digest, Json::array({bare_prior(id)})};
}

// A training with everything of its own but the data.
Extension own_training() {
  const Json bare = {{"revision", 1}, {"options", Json::array()}};
  Extension out{"own-training", kTrainingOrigin, kDigest, Json::array({bare_prior("theirs")})};
  for (const auto& [kind, id] : {std::pair("backbone", "own-vit"), std::pair("recipe", "own-recipe")}) {
    Json item = bare;
    item["kind"] = kind, item["id"] = id;
    if (item["kind"] == "backbone")
      item["options"] = {{{"name", "dim"}, {"type", "integer"}, {"default", 32}},
                         {{"name", "patch"}, {"type", "integer"}, {"default", 7}}};
    if (item["kind"] == "recipe") item["options"] = {{{"name", "epochs"}, {"type", "integer"}, {"default", 1}}};
    out.items.push_back(item);
  }
  return out;
}

Catalog merged_with(const std::vector<Extension>& newest_first) {
  auto out = with_extensions(test_catalog(), newest_first);
  EXPECT_TRUE(out.ok()) << out.status();
  return *std::move(out);
}

std::vector<std::string> identities_of_plan(const ExperimentPlan& plan) {
  std::vector<std::string> out;
  for (const PlannedTrial& trial : plan.trials) {
    for (const PlannedStage& stage : trial.stages) out.push_back(stage.identity);
  }
  return out;
}

TEST(Extensions, AreTheBaseItselfWhereThereAreNone) {
  EXPECT_EQ(merged_with({}).digest(), test_catalog().digest());
  EXPECT_TRUE(extensions_of(test_catalog().document()).empty());
}

TEST(Extensions, ComeOutOfACatalogAsTheyWentIn) {
  const Catalog catalog = merged_with({own_training(), own_prior_items()});
  EXPECT_THAT(extensions_of(catalog.document()), ElementsAre(own_prior_items(), own_training()));
  ASSERT_NE(catalog.find("prior", "mine"), nullptr);
  EXPECT_EQ(catalog.find("prior", "mine")->origin.name, "own-prior");
  EXPECT_EQ(catalog.find("prior", "mine")->origin.digest, kDigest);
  EXPECT_FALSE(catalog.find("prior", "none")->origin.outside());
}

TEST(Extensions, MakeOneCatalogInWhateverOrderTheyCame) {
  EXPECT_EQ(merged_with({own_training(), own_prior_items()}).digest(),
            merged_with({own_prior_items(), own_training()}).digest());
  EXPECT_NE(merged_with({own_prior_items()}).digest(), merged_with({own_prior_items(kOther)}).digest());
}

TEST(Extensions, OfTwoWithOneItemTheNewerOneCounts) {
  Extension newer = own_prior_items(kOther);
  newer.name = "another";
  EXPECT_EQ(merged_with({newer, own_prior_items()}).find("prior", "mine")->origin.name, "another");
  EXPECT_EQ(merged_with({own_prior_items(), newer}).find("prior", "mine")->origin.name, "own-prior");
}

TEST(Extensions, AreRefusedWithTheirNameWhereTheyAreNone) {
  const auto refusal = [](Extension wrong) {
    const absl::Status status = with_extensions(test_catalog(), std::vector{std::move(wrong)}).status();
    EXPECT_FALSE(status.ok());
    return std::string(status.message());
  };
  Extension one = own_prior_items();
  one.name = "Own Prior";
  EXPECT_THAT(refusal(one), HasSubstr("'Own Prior' cannot be taken: its name is to be lower-case"));
  one = own_prior_items("ABC");
  EXPECT_THAT(refusal(one), HasSubstr("its digest is no SHA-256"));
  one = own_prior_items();
  one.by = "magic";
  EXPECT_THAT(refusal(one), HasSubstr("it is run by 'magic'; known are plugin and training"));
  one = own_prior_items();
  one.items = Json::array();
  EXPECT_THAT(refusal(one), HasSubstr("it brings no items"));
  one = own_prior_items();
  one.items.push_back("mine");
  EXPECT_THAT(refusal(one), HasSubstr("no kind or no id"));
  one = own_prior_items();
  one.items[0]["options"][0].erase("default");
  EXPECT_THAT(refusal(one), HasSubstr("the extension 'own-prior' cannot be taken: the catalog is malformed"));
}

TEST(Extensions, LeaveTheNamesOfTheTreeAlone) {
  const std::string id = test_catalog().find("prior", "ape")->id;  // by its alias
  for (const std::string& taken : {id, std::string("ape")}) {
    const auto status = with_extensions(test_catalog(), std::vector{own_prior_items(kDigest, taken)}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_TRUE(has_reason(status, ErrorReason::kCatalogMismatch));
    EXPECT_THAT(std::string(status.message()), HasSubstr("give yours another id"));
  }
}

TEST(Extensions, ChangeNoIdentityThatDoesNotUseThem) {
  EXPECT_EQ(identities_of_plan(plan_of(demo_specification(), merged_with({own_prior_items(), own_training()}))),
            identities_of_plan(plan_of(demo_specification())));
}

TEST(Extensions, PutTheDigestOfTheirCodeIntoTheIdentitiesThatUseThem) {
  const Json spec = small(R"({"matrix": {"prior": ["none", {"mine": {"slope": 2}}]}})");
  const ExperimentPlan one = plan_of(spec, merged_with({own_prior_items()})),
                       two = plan_of(spec, merged_with({own_prior_items(kOther)}));
  ASSERT_EQ(one.trials.size(), two.trials.size());
  int touched = 0;
  for (std::size_t i = 0; i < one.trials.size(); ++i) {
    for (std::size_t s = 0; s < one.trials[i].stages.size(); ++s) {
      const PlannedStage &a = one.trials[i].stages[s], &b = two.trials[i].stages[s];
      const Json config = Json::parse(a.config_json);
      EXPECT_EQ(canonical_json(config), a.config_json);
      const bool uses = config.at("priors").at(0).at("id") == "mine";
      EXPECT_EQ(a.identity != b.identity, uses);
      EXPECT_EQ(config.contains("extensions"), uses);
      EXPECT_EQ(a.requirements->revisions.contains(extension_requirement("own-prior", kDigest)), uses);
      if (!uses) continue;
      ++touched;
      EXPECT_EQ(config.at("extensions"), Json({{"own-prior", kDigest}}));
      EXPECT_EQ(config.at("revisions").at("prior/mine"), 1);
      EXPECT_TRUE(config.at("revisions").contains("stage/" + a.kind));
    }
  }
  EXPECT_GT(touched, 0);
}

TEST(Extensions, HaveTheirOptionsCheckedLikeAnyOther) {
  const auto plan =
      plan_experiment(small(R"({"matrix": {"prior": [{"mine": {"slope": -1}}]}})"), merged_with({own_prior_items()}));
  EXPECT_THAT(std::string(plan.status().message()), HasSubstr("slope"));
}

TEST(Extensions, OfATrainingAskOfTheTreeForNothingButTheData) {
  const Json spec = small(R"({"model": {"backbone": "own-vit"}, "train": {"recipe": "own-recipe"},
                              "matrix": {"prior": ["theirs"]}})");
  const auto planned = plan_experiment(spec, merged_with({own_training()}));
  ASSERT_TRUE(planned.ok()) << planned.status();
  for (const PlannedTrial& trial : planned->trials) {
    for (const PlannedStage& stage : trial.stages) {
      for (const auto& [item, revision] : stage.requirements->revisions) {
        EXPECT_TRUE(item.starts_with("dataset/") || item.starts_with("extension/") || item == "backbone/own-vit" ||
                    item == "recipe/own-recipe" || item == "prior/theirs")
            << item;
      }
      EXPECT_EQ(Json::parse(stage.config_json).at("extensions"), Json({{"own-training", kDigest}}));
    }
  }
}

TEST(Extensions, OfATrainingBesideThisTreesOwnAreSaidInThePlan) {
  const auto warnings = [](const char* changes) {
    return plan_of(small(changes), merged_with({own_training(), own_prior_items()})).warnings;
  };
  EXPECT_THAT(warnings(R"({"matrix": null, "zip": [{"model.backbone": ["vit", "own-vit"],
                           "train.recipe": ["supervised", "own-recipe"], "prior": ["none", "theirs"]}]})"),
              Contains(HasSubstr("different programs (locus, own-training)")));
  const char* programs = "different programs";
  EXPECT_THAT(warnings(R"({"model": {"backbone": "own-vit"}, "train": {"recipe": "own-recipe"},
                           "matrix": {"prior": ["theirs"]}})"),
              Not(Contains(HasSubstr(programs))));
  // The engine runs plugins itself.
  EXPECT_THAT(warnings(R"({"matrix": {"prior": ["none", "mine"]}})"), Not(Contains(HasSubstr(programs))));
}

TEST(Extensions, AreReadBackFromTheRequirement) {
  const std::string text = extension_requirement("own-prior", kDigest);
  EXPECT_EQ(extension_of_requirement(text), std::pair(std::string_view("own-prior"), std::string_view(kDigest)));
  for (const char* other : {"prior/mine", "dataset/photos@f00d", "extension/own-prior", ""})
    EXPECT_TRUE(extension_of_requirement(other).first.empty()) << other;
}

}  // namespace
}  // namespace locus
