// Bad specifications with several mistakes: each is named once, and nothing that only follows from another.
#include "core/base/mistakes.h"

#include <gmock/gmock.h>

#include "core/base/error.h"
#include "core/experiment/plan/planner.h"
#include "tests/core/testdata.h"

namespace locus {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

absl::Status refused(const Json& specification) { return plan_experiment(specification, test_catalog()).status(); }

std::vector<std::string> fields_of(const absl::Status& status) {
  std::vector<std::string> out;
  for (const absl::Status& one : violations_of(status).list) out.push_back(error_detail(one)->field);
  return out;
}

Json changed(const char* changes) {
  Json spec = demo_specification();
  spec.merge_patch(Json::parse(changes));
  return spec;
}

TEST(Mistakes, NamesEveryMistakeAtOnce) {
  const absl::Status status = refused(changed(R"({
    "owner": 7,
    "model": {"dims": 64, "depth": "three"},
    "train": {"epohcs": 2, "lr": "0,001"},
    "matrix": {"prior": ["none", "violn", ["learned-absolute", {"violin": {"curve": 1, "sigma": -1}}]],
               "train.batch": [8, "many"]},
    "replicates": {"seed": [0, -1, "x"]},
    "stages": [{"evaluat": {}}, {"evaluate": {"resolution": ["big", 28, 28]}}],
    "metric": {"name": "top5", "reports": "nowhere"}})"));
  EXPECT_THAT(fields_of(status),
              UnorderedElementsAre("owner", "model.dims", "model.depth", "train.epohcs", "train.lr", "matrix.prior[1]",
                                   "matrix.prior[2][1].violin.curve", "matrix.prior[2][1].violin.sigma",
                                   "matrix.train.batch[1]", "replicates.seed[1]", "replicates.seed[2]", "metric.name",
                                   "metric.reports", "stages[0].evaluat", "stages[1].evaluate.resolution[0]",
                                   "stages[1].evaluate.resolution[2]"));
  EXPECT_THAT(
      fields_of(refused(changed(R"({"baseline": {"prior": "rope-mixed"}, "exclude": [{"train.lr": 1}], "owner": 7})"))),
      UnorderedElementsAre("baseline.prior", "exclude[0].train.lr", "owner"));
}

TEST(Mistakes, NamesConstraintsOfWhatIsFixedBesideOtherMistakes) {
  EXPECT_THAT(fields_of(refused(changed(R"({"model": {"heads": 5}, "train": {"epohcs": 2}})"))),
              UnorderedElementsAre("model.heads", "train.epohcs"));
}

TEST(Mistakes, NamesNothingThatOnlyFollowsFromAMistake) {
  const struct {
    const char *changes, *field;
  } rows[] = {
      {R"({"dataset": null, "datset": "fashion-mnist"})", "datset"},
      {R"({"matrix": null, "matrx": {"prior": ["none"]}})", "matrx"},
      {R"({"name": null, "nmae": "x"})", "nmae"},
      {R"({"matrix": {"prior": ["none", "leanred-absolute"]}})", "matrix.prior[1]"},  // the baseline's value
      {R"({"matrix": {"prior": "learned-absolute"}})", "matrix.prior"},
      {R"({"matrix": {"trian.lr": [0.1, 0.2]}, "baseline": {"train.lr": 0.1}})", "matrix.trian.lr"},
      {R"({"matrix": 7})", "matrix"},
      {R"({"model": "vit", "matrix": {"model.dim": [100]}})", "model"},
      {R"({"train": {"epochs": "two", "warmup_epochs": 12}})", "train.epochs"},
      {R"({"model": {"dim": "wide"}, "matrix": {"model.heads": [3, 5]}})", "model.dim"},
      {R"({"model": {"backbone": "vti", "dim": 3}})", "model.backbone"},
      {R"({"task": "segmentation", "metric": {"name": "iou"}})", "task"},
      {R"({"stages": [{"evaluat": {}}], "metric": {"reports": "validation"}})", "stages[0].evaluat"},
      {R"({"version": 2, "nmae": "x"})", "version"},
  };
  for (const auto& [changes, field] : rows) {
    Json spec = demo_specification();
    const Json patch = Json::parse(changes);
    for (const auto& [key, value] : patch.items()) {
      if (value.is_null()) spec.erase(key);
    }
    spec.merge_patch(patch);
    EXPECT_THAT(fields_of(refused(spec)), ElementsAre(field)) << changes;
  }
}

// Excluded cells and overrides shape what meets what: a survey of the values must not bring together what never
// meets.
TEST(Mistakes, BlamesNoCellThatIsNotThere) {
  const Json spec = changed(R"({"matrix": {"model.heads": [4, 3], "model.dim": [64, 48]},
                                "exclude": [{"model.heads": 3, "model.dim": 64}]})");
  EXPECT_TRUE(refused(spec).ok()) << refused(spec);
  Json wrong = spec;
  wrong["owner"] = 7;
  EXPECT_THAT(fields_of(refused(wrong)), ElementsAre("owner"));
  wrong["exclude"] = Json::array();
  EXPECT_THAT(fields_of(refused(wrong)), ElementsAre("owner"));
}

TEST(Mistakes, OfAHundredThousandWrongValuesIsQuick) {
  Json spec = demo_specification();
  Json values = Json::array();
  for (int i = 0; i < 20'000; ++i) values.push_back(-i - 1);
  spec["matrix"]["train.lr"] = values;
  spec["replicates"]["seed"] = {0};
  EXPECT_GE(violations_of(refused(spec)).list.size(), 100u);
}

}  // namespace
}  // namespace locus
