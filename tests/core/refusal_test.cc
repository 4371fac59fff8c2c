// Bad specifications: each is refused with a code, a reason, the field and a sentence that says what to do.
#include <gmock/gmock.h>

#include <limits>

#include "core/base/error.h"
#include "core/experiment/plan/planner.h"
#include "tests/core/bad_specification.h"
#include "tests/core/testdata.h"

namespace locus {
namespace {

using ::testing::HasSubstr;

// Changes of the demonstration's specification.
const BadSpecification kRefusals[] = {
    {"NoVersion", R"({"version": null})", ErrorReason::kUnsupportedVersion, "version", "version must be 1"},
    {"OtherVersion", R"({"version": 2})", ErrorReason::kUnsupportedVersion, "version", "not 2"},
    {"TextVersion", R"({"version": "1"})", ErrorReason::kUnsupportedVersion, "version", "\"1\""},
    {"BadName", R"({"name": "Fashion MNIST"})", ErrorReason::kInvalidName, "name", "'Fashion MNIST'"},
    {"NameOfAnotherType", R"({"name": 7})", ErrorReason::kWrongType, "name", "a string, not the number 7"},
    {"UnknownKey", R"({"matirx": {}})", ErrorReason::kUnknownKey, "matirx", "did you mean 'matrix'"},
    {"UnknownModelOption", R"({"model": {"dims": 64}})", ErrorReason::kUnknownKey, "model.dims", "did you mean 'dim'"},
    {"UnknownTrainOption", R"({"train": {"epoch": 2}})", ErrorReason::kUnknownKey, "train.epoch",
     "did you mean 'epochs'"},
    {"UnknownPrior", R"({"matrix": {"prior": ["none", "violn"]}})", ErrorReason::kUnknownPrior, "matrix.prior[1]",
     "did you mean 'violin'"},
    {"UnknownPriorInCombination", R"({"matrix": {"prior": [["learned-absolute", "violn"]]}})",
     ErrorReason::kUnknownPrior, "matrix.prior[0][1]", "did you mean 'violin'"},
    {"UnknownPriorOption", R"({"matrix": {"prior": [{"violin": {"curve": ["snake"]}}]}})", ErrorReason::kUnknownKey,
     "matrix.prior[0].violin.curve", "did you mean 'curves'"},
    {"UnknownCurve", R"({"matrix": {"prior": [["learned-absolute", {"violin": {"curves": ["hilbret"]}}]]}})",
     ErrorReason::kOptionOutOfRange, "matrix.prior[0][1].violin.curves[0]", "did you mean 'hilbert'"},
    {"UnknownDataset", R"({"dataset": "fashion-mnits"})", ErrorReason::kUnknownItem, "dataset",
     "did you mean 'fashion-mnist'"},
    {"UnknownDatasetOption", R"({"dataset": {"mnist": {"binarise": true}}})", ErrorReason::kUnknownKey,
     "dataset.binarise", "did you mean 'binarize'"},
    {"UnknownBackbone", R"({"model": {"backbone": "vti"}})", ErrorReason::kUnknownItem, "model.backbone",
     "did you mean 'vit'"},
    {"UnknownTask", R"({"task": "segmentation"})", ErrorReason::kUnknownItem, "task", "choose one of: classification"},
    {"UnknownRecipe", R"({"train": {"recipe": "supervise"}})", ErrorReason::kUnknownItem, "train.recipe",
     "did you mean 'supervised'"},
    {"UnknownStage", R"({"stages": [{"evaluat": {}}]})", ErrorReason::kUnknownItem, "stages[0].evaluat",
     "did you mean 'evaluate'"},
    {"UnknownMetric", R"({"metric": {"name": "top5"}})", ErrorReason::kUnknownItem, "metric.name",
     "did you mean 'top1'"},
    {"UnknownFactor", R"({"matrix": {"trian.lr": [0.1]}})", ErrorReason::kUnknownKey, "matrix.trian.lr",
     "did you mean 'train.lr'"},
    {"SectionAsFactor", R"({"matrix": {"model": ["vit"]}})", ErrorReason::kUnknownKey, "matrix.model",
     "model.backbone"},
    {"UnknownFactorOption", R"({"matrix": {"train.lrr": [0.1]}})", ErrorReason::kUnknownKey, "matrix.train.lrr[0]",
     "did you mean 'lr'"},
    {"NoDataset", R"({"dataset": null, "matrix": {"dataset": ["mnits"]}})", ErrorReason::kUnknownItem,
     "matrix.dataset[0]", "'mnist'"},
    {"NoBackbone", R"({"model": {"backbone": null}})", ErrorReason::kWrongType, "model.backbone",
     "the id of a backbone"},
    {"HeadsDoNotDivideWidth", R"({"model": {"heads": 5}})", ErrorReason::kConstraintViolated, "model.heads",
     "heads = 5 does not divide dim = 64"},
    {"HeadsDoNotDivideWidthInTheMatrix", R"({"matrix": {"model.heads": [4, 3]}})", ErrorReason::kConstraintViolated,
     "matrix.model.heads[1]", "heads = 3 does not divide dim = 64"},
    {"HeadWidthDoesNotSuitThePrior", R"({"model": {"heads": 32}})", ErrorReason::kConstraintViolated, "matrix.prior[2]",
     "head_width = 2 is not a multiple of 4"},
    {"PatchDoesNotTileTheImage", R"({"model": {"patch": 5}})", ErrorReason::kConstraintViolated, "model.patch",
     "patch = 5 does not divide extent = 28: patches tile the image; patch can be 1, 2, 4, 7, 14, 28"},
    {"PatchInTheMatrixDoesNotTileTheImage", R"({"matrix": {"model.patch": [7, 5]}})", ErrorReason::kConstraintViolated,
     "matrix.model.patch[1]", "patch can be 1, 2"},
    {"BareOptionAsFactor", R"({"matrix": {"lr": [0.1]}})", ErrorReason::kUnknownKey, "matrix.lr",
     "there is no config path 'lr'; did you mean 'train.lr'?"},
    {"SeedAsFactor", R"({"matrix": {"seed": [1]}})", ErrorReason::kUnknownKey, "matrix.seed",
     "replicates: {seed: [0, 1, 2]}"},
    {"BackboneAsFactor", R"({"matrix": {"backbone": ["vit"]}})", ErrorReason::kUnknownKey, "matrix.backbone",
     "did you mean 'model.backbone'?"},
    {"OptionOfAPriorAsFactor", R"({"matrix": {"sigma": [1]}})", ErrorReason::kUnknownKey, "matrix.sigma",
     "written {violin: {sigma: ...}}"},
    {"OptionAtTheTop", R"({"epochs": 3})", ErrorReason::kUnknownKey, "epochs", "did you mean 'train.epochs'?"},
    {"DecimalComma", R"({"train": {"lr": 1, "001": ""}})", ErrorReason::kUnknownKey, "train.001",
     "write a decimal number with a point, as in 0.001"},
    {"DecimalCommaInText", R"({"train": {"lr": "0,001"}})", ErrorReason::kWrongType, "train.lr",
     "write it with a point, 0.001"},
    {"PatchDoesNotTileAResolution", R"({"stages": [{"evaluate": {"resolution": [28, 40]}}]})",
     ErrorReason::kConstraintViolated, "stages[0].evaluate.resolution", "patch = 7 does not divide resolution = 40"},
    {"WrongTypeOfAnOption", R"({"train": {"epochs": "two"}})", ErrorReason::kWrongType, "train.epochs",
     "the string \"two\""},
    {"FractionalEpochs", R"({"train": {"epochs": 1.5}})", ErrorReason::kWrongType, "train.epochs", "an integer"},
    {"WrongTypeInTheMatrix", R"({"matrix": {"train.lr": [0.001, "fast"]}})", ErrorReason::kWrongType,
     "matrix.train.lr[1]", "a number"},
    {"ModelAsText", R"({"model": "vit"})", ErrorReason::kWrongType, "model", "a mapping"},
    {"MatrixAsList", R"({"matrix": ["none"]})", ErrorReason::kWrongType, "matrix", "a mapping"},
    {"FactorAsScalar", R"({"matrix": {"prior": "none"}})", ErrorReason::kWrongType, "matrix.prior", "a list"},
    {"PriorAsNumber", R"({"matrix": {"prior": [3]}})", ErrorReason::kWrongType, "matrix.prior[0]", "the number 3"},
    {"TwoPriorsInOneMapping", R"({"matrix": {"prior": [{"none": {}, "violin": {}}]}})",
     ErrorReason::kInvalidSpecification, "matrix.prior[0]", "write a combination as a list"},
    {"NegativeLearningRate", R"({"train": {"lr": -0.1}})", ErrorReason::kOptionOutOfRange, "train.lr",
     "greater than 0"},
    {"NotANumberLearningRate", R"({"train": {"lr": "NaN"}})", ErrorReason::kOptionOutOfRange, "train.lr",
     "finite number"},
    {"NotANumberInTheMatrix", R"({"matrix": {"train.lr": [0.001, "NaN"]}})", ErrorReason::kOptionOutOfRange,
     "matrix.train.lr[1]", "finite number"},
    {"EmptyFactor", R"({"matrix": {"prior": []}})", ErrorReason::kEmptyMatrix, "matrix.prior", "no value"},
    {"EmptyCombination", R"({"matrix": {"prior": [[]]}})", ErrorReason::kEmptyMatrix, "matrix.prior[0]",
     "empty combination"},
    {"NoSeed", R"({"replicates": {"seed": []}})", ErrorReason::kEmptyMatrix, "replicates.seed", "at least one"},
    {"RepeatedSeed", R"({"replicates": {"seed": [1, 2, 1]}})", ErrorReason::kInvalidSpecification, "replicates.seed[2]",
     "the seed 1"},
    {"NegativeSeed", R"({"replicates": {"seed": [-1]}})", ErrorReason::kOptionOutOfRange, "replicates.seed[0]",
     "at least 0"},
    {"OtherReplicate", R"({"replicates": {"seeds": [1]}})", ErrorReason::kUnknownKey, "replicates.seeds",
     "did you mean 'seed'"},
    {"RepeatedValue", R"({"matrix": {"prior": ["none", "violin", {"violin": {"sigma": 0.02}}]}})",
     ErrorReason::kInvalidSpecification, "matrix.prior[2]", "twice"},
    {"SamePriorTwice", R"({"matrix": {"prior": [["violin", "violin"]]}})", ErrorReason::kConflictingPriors,
     "matrix.prior[0]", "stands twice"},
    {"ExcludedPriors", R"({"matrix": {"prior": [["rope-axial", "rope-mixed"]]}})", ErrorReason::kConflictingPriors,
     "matrix.prior[0]", "provides 'rotation'"},
    {"TwoPatterns", R"({"matrix": {"prior": [["window-a", "window-b"]]}})", ErrorReason::kConflictingPriors,
     "matrix.prior[0]", "pattern"},
    {"NoneInACombination", R"({"matrix": {"prior": [["none", "violin"]]}})", ErrorReason::kConflictingPriors,
     "matrix.prior[0]", "leave it out"},
    {"LayoutNotSupported", R"({"matrix": {"prior": ["sequence-only"]}, "baseline": null})",
     ErrorReason::kConflictingPriors, "matrix.prior[0]", "rank 2"},
    {"UnevenZip", R"({"zip": [{"train.lr": [0.1, 0.2], "train.epochs": [1]}]})", ErrorReason::kInvalidSpecification,
     "zip[0].train.lr", "equally many"},
    {"FactorInMatrixAndZip", R"({"zip": [{"prior": ["none"]}]})", ErrorReason::kInvalidSpecification, "zip[0].prior",
     "keep one"},
    {"ExcludeOfAnAbsentValue", R"({"exclude": [{"prior": "rope-mixed"}]})", ErrorReason::kInvalidSpecification,
     "exclude[0].prior", "its values are: none, learned-absolute"},
    {"ExcludeOfAnAbsentFactor", R"({"exclude": [{"train.lr": 0.1}]})", ErrorReason::kUnknownKey, "exclude[0].train.lr",
     "its factors are: prior"},
    {"EverythingExcluded",
     R"({"matrix": {"prior": ["none"]}, "exclude": [{"prior": "none"}], "baseline": {"prior": "none"}})",
     ErrorReason::kEmptyMatrix, "exclude", "no cell"},
    {"OverrideOfAFactor", R"({"overrides": [{"where": {"prior": "none"}, "set": {"prior": "violin"}}]})",
     ErrorReason::kInvalidSpecification, "overrides[0].set.prior", "cannot be overridden"},
    {"OverrideWithoutSet", R"({"overrides": [{"where": {"prior": "none"}}]})", ErrorReason::kMissingKey,
     "overrides[0].set", "needs set"},
    {"BadOverride", R"({"overrides": [{"where": {"prior": "none"}, "set": {"train.lr": "x"}}]})",
     ErrorReason::kWrongType, "overrides[0].set.train.lr", "a number"},
    {"BaselineNotInTheMatrix", R"({"baseline": {"prior": "rope-mixed"}})", ErrorReason::kInvalidSpecification,
     "baseline.prior", "its values are"},
    {"BaselineExcluded", R"({"exclude": [{"prior": "learned-absolute"}]})", ErrorReason::kInvalidSpecification,
     "baseline", "exclusions"},
    {"AmbiguousBaseline",
     R"({"matrix": {"prior": [{"violin": {"sigma": 1}}, {"violin": {"sigma": 2}}]}, "baseline": {"prior": "violin"}})",
     ErrorReason::kInvalidSpecification, "baseline.prior", "2 values"},
    {"EmptyBaseline", R"({"baseline": {"prior": null}})", ErrorReason::kInvalidSpecification, "baseline",
     "names no factor"},
    {"SelectionOnTest", R"({"metric": {"selects_on": "test"}})", ErrorReason::kOptionOutOfRange, "metric.selects_on",
     "use validation"},
    {"UnknownSplit", R"({"metric": {"reports": "tset"}})", ErrorReason::kOptionOutOfRange, "metric.reports",
     "did you mean 'test'"},
    {"ContradictedDirection", R"({"metric": {"direction": "min"}})", ErrorReason::kInvalidSpecification,
     "metric.direction", "must be max"},
    {"UnknownMetricKey", R"({"metric": {"report": "test"}})", ErrorReason::kUnknownKey, "metric.report",
     "did you mean 'reports'"},
    {"TrainListedAsAStage", R"({"stages": [{"train": {}}]})", ErrorReason::kInvalidSpecification, "stages[0].train",
     "always the first"},
    {"TwoStagesInOneMapping", R"({"stages": [{"evaluate": {}, "measure": {}}]})", ErrorReason::kInvalidSpecification,
     "stages[0]", "exactly one"},
    {"UnknownStageOption", R"({"stages": [{"evaluate": {"resolutions": [28]}}]})", ErrorReason::kUnknownKey,
     "stages[0].evaluate.resolutions", "did you mean 'resolution'"},
    {"ZeroResolution", R"({"stages": [{"evaluate": {"resolution": [0]}}]})", ErrorReason::kOptionOutOfRange,
     "stages[0].evaluate.resolution[0]", "at least 1"},
    {"BestOnTestChosenOnTrain", R"({"metric": {"reduce": "best", "selects_on": "train"}})",
     ErrorReason::kOptionOutOfRange, "metric.selects_on", "write selects_on: validation"},
    {"BestChosenOnTest", R"({"metric": {"reduce": "best", "selects_on": "test"}})", ErrorReason::kOptionOutOfRange,
     "metric.selects_on", "choosing by the test split"},
    {"BestWithoutValidationDuringTraining", R"({"metric": {"reduce": "best"}, "train": {"validate_every": 0}})",
     ErrorReason::kConstraintViolated, "metric.reduce", "set train.validate_every to a part of an epoch"},
    {"BestOfOneValidation", R"({"metric": {"reduce": "best"}, "train": {"validate_every": 2}})",
     ErrorReason::kConstraintViolated, "metric.reduce", "only the last model is validated"},
    {"BestAskedForByAStageAlone",
     R"({"stages": [{"evaluate": {"checkpoint": "best"}}], "train": {"validate_every": 0}})",
     ErrorReason::kConstraintViolated, "stages[0].evaluate", "ask for the last model"},
    {"AtStepOnTest", R"({"metric": {"reduce": {"at_step": 300}}})", ErrorReason::kOptionOutOfRange, "metric.reduce",
     "the test split is scored once, on one model"},
    {"TopOnTest", R"({"metric": {"reduce": {"top": 3}}})", ErrorReason::kOptionOutOfRange, "metric.reduce", "'top-3'"},
    {"UnknownReducer", R"({"metric": {"reduce": {"bottom": 3}}})", ErrorReason::kWrongType, "metric.reduce",
     "{top: COUNT} or {at_step: STEP}"},
    {"NoTop", R"({"metric": {"reports": "validation", "reduce": {"top": 0}}})", ErrorReason::kOptionOutOfRange,
     "metric.reduce", "'top-0'"},
    {"MatchedWithoutExcept", R"({"matched": {"except": []}})", ErrorReason::kMissingKey, "matched.except",
     "what alone may differ"},
    {"MatchedByAnotherKey", R"({"matched": {"only": ["prior"]}})", ErrorReason::kUnknownKey, "matched.only", "except"},
    {"UnmatchedOverride",
     R"({"matched": "prior", "overrides": [{"where": {"prior": "none"}, "set": {"train.lr": 0.01}}]})",
     ErrorReason::kConstraintViolated, "matched", "train.lr"},
    {"UnknownLimit", R"({"limits": {"stage_second": 60}})", ErrorReason::kUnknownKey, "limits.stage_second",
     "did you mean 'stage_seconds'"},
    {"EmptyLimits", R"({"limits": {}})", ErrorReason::kMissingKey, "limits", "limits names no limit"},
    {"LimitsOfAnotherType", R"({"limits": 60})", ErrorReason::kWrongType, "limits", "a mapping"},
    {"LimitOfNothing", R"({"limits": {"stage_seconds": 0}})", ErrorReason::kOptionOutOfRange, "limits.stage_seconds",
     "at least 1"},
    {"LimitOfTwoYears", R"({"limits": {"stage_seconds": 63072000}})", ErrorReason::kOptionOutOfRange,
     "limits.stage_seconds", "at most 31536000"},
    {"LimitAsText", R"({"limits": {"stage_seconds": "1 h"}})", ErrorReason::kWrongType, "limits.stage_seconds",
     "an integer"},
    {"PlacementOfNoLabel", R"({"placement": {"require": {"Pool": "a"}}})", ErrorReason::kInvalidSpecification,
     "placement.require.Pool", "cannot be a label"},
    {"PlacementOfNoText", R"({"placement": {"require": {"pool": 1}}})", ErrorReason::kInvalidSpecification,
     "placement.require.pool", "must be a text"},
    {"PlacementOnNoDevice", R"({"placement": {"devices": 0}})", ErrorReason::kInvalidSpecification, "placement.devices",
     "a whole number from 1 to 64, not 0"},
    {"PlacementOnTooManyDevices", R"({"placement": {"devices": 65}})", ErrorReason::kInvalidSpecification,
     "placement.devices", "a whole number from 1 to 64, not 65"},
    {"PlacementOnHalfADevice", R"({"placement": {"devices": 1.5}})", ErrorReason::kInvalidSpecification,
     "placement.devices", "a whole number from 1 to 64, not 1.5"},
    {"PlacementInNoMemory", R"({"placement": {"memory_gib": 0}})", ErrorReason::kInvalidSpecification,
     "placement.memory_gib", "a number of GiB above 0, at most 65536, not 0"},
    {"PlacementInMoreMemoryThanThereIs", R"({"placement": {"memory_gib": 65537}})", ErrorReason::kInvalidSpecification,
     "placement.memory_gib", "not 65537"},
    {"PlacementInMemoryAsText", R"({"placement": {"memory_gib": "12 GiB"}})", ErrorReason::kInvalidSpecification,
     "placement.memory_gib", "a number of GiB above 0, at most 65536, not \"12 GiB\""},
    {"PlacementAlikeInOneWord", R"({"placement": {"alike": "node/gpu-name"}})", ErrorReason::kInvalidSpecification,
     "placement.alike", "a list of at most 64 labels, as in [node/gpu-name]"},
    {"PlacementAlikeOfNoLabel", R"({"placement": {"alike": ["GPU"]}})", ErrorReason::kInvalidSpecification,
     "placement.alike", "\"GPU\" in placement.alike cannot be a label"},
    {"PlacementSettledByHand", R"({"placement": {"settled": {"pool": "a"}}})", ErrorReason::kUnknownKey,
     "placement.settled", "known: alike, devices, memory_gib, prefer, require"},
    {"PlacementOfAnotherKey", R"({"placement": {"must": {}}})", ErrorReason::kUnknownKey, "placement.must",
     "known: alike, devices, memory_gib, prefer, require"},
    {"ClassUnknown", R"({"class": "asap"})", ErrorReason::kOptionOutOfRange, "class", "urgent, normal or scavenge"},
    {"PriorityOutOfRange", R"({"priority": 100000})", ErrorReason::kOptionOutOfRange, "priority", "at most 1000"},
};

class Refused : public ::testing::TestWithParam<BadSpecification> {};

TEST_P(Refused, WithReasonFieldAndRemedy) {
  const BadSpecification& row = GetParam();
  // A merge patch, but null stays a value where the table means one: only absent keys are taken out by hand
  // below.
  Json spec = demo_specification();
  const Json patch = Json::parse(row.changes);
  const bool null_version = patch.contains("version") && patch["version"].is_null();
  const bool null_backbone = patch.contains("model") && patch["model"].is_object() &&
                             patch["model"].contains("backbone") && patch["model"]["backbone"].is_null();
  spec.merge_patch(patch);
  if (null_version) spec["version"] = nullptr;
  if (null_backbone) spec["model"]["backbone"] = nullptr;
  const absl::Status status = plan_experiment(spec, test_catalog()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  expect_refused(status, row);
}

INSTANTIATE_TEST_SUITE_P(Specification, Refused, ::testing::ValuesIn(kRefusals),
                         [](const auto& row) { return std::string(row.param.name); });

absl::Status status_of(Json spec) { return plan_experiment(spec, test_catalog()).status(); }

TEST(Refusal, OfAMissingKeyNamesIt) {
  for (const char* key : {"version", "name", "dataset"}) {
    Json spec = demo_specification();
    spec.erase(key);
    const absl::Status status = status_of(spec);
    EXPECT_TRUE(has_reason(status, ErrorReason::kMissingKey)) << key << ": " << status;
    EXPECT_EQ(error_detail(status)->field, key);
  }
  Json spec = demo_specification();
  spec.erase("matrix"), spec.erase("baseline");
  EXPECT_TRUE(has_reason(status_of(spec), ErrorReason::kMissingKey));
  EXPECT_EQ(error_detail(status_of(spec))->field, "prior");
}

TEST(Refusal, OfTheBestModelWhereNothingValidatesIt) {
  Json document = test_catalog_document();
  for (Json& item : document["items"]) {
    if (item["kind"] == "dataset") item["facts"]["splits"].erase("validation");
  }
  Json spec = demo_specification();
  EXPECT_TRUE(plan_experiment(spec, catalog_of(document)).ok());
  spec["metric"]["reduce"] = "best";
  const absl::Status status = plan_experiment(spec, catalog_of(document)).status();
  EXPECT_TRUE(has_reason(status, ErrorReason::kConstraintViolated)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("'fashion-mnist' has no validation split"));
}

// A network whose blocks follow what a task gives beside the image, in a task that gives nothing.
TEST(Refusal, OfANetworkThatFollowsAConditionInATaskThatGivesNone) {
  Json document = test_catalog_document();
  Json follower;
  for (Json& item : document["items"]) {
    if (item["id"] == "classification")
      item["requires"] = Json::array({{{"rule", "none"}, {"value", "condition"}, {"help", "the task gives none"}}});
    if (item["id"] == "vit" && item["kind"] == "backbone") follower = item;
  }
  follower["id"] = "follower";
  follower["facts"]["condition"] = true;
  document["items"].push_back(follower);
  const Catalog catalog = catalog_of(document);
  Json spec = demo_specification();
  EXPECT_TRUE(plan_experiment(spec, catalog).ok()) << plan_experiment(spec, catalog).status();
  spec["model"]["backbone"] = "follower";
  const absl::Status status = plan_experiment(spec, catalog).status();
  EXPECT_TRUE(has_reason(status, ErrorReason::kConstraintViolated)) << status;
  EXPECT_THAT(
      std::string(status.message()),
      HasSubstr(
          "the task 'classification' cannot be used: condition = 1 where there may be none: the task gives none"));
}

TEST(Refusal, OfAnEmptyMatrix) {
  Json spec = demo_specification();
  spec["matrix"] = Json::object();
  EXPECT_TRUE(has_reason(status_of(spec), ErrorReason::kEmptyMatrix));
  EXPECT_EQ(error_detail(status_of(spec))->field, "matrix");
}

TEST(Refusal, OfADocumentThatIsNoMapping) {
  for (const char* text : {"[]", "3", "\"x\"", "null"}) {
    EXPECT_TRUE(has_reason(status_of(Json::parse(text)), ErrorReason::kWrongType)) << text;
  }
}

TEST(Refusal, OfNotANumberAsADouble) {
  Json spec = demo_specification();
  spec["train"]["lr"] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(has_reason(status_of(spec), ErrorReason::kOptionOutOfRange));
  EXPECT_EQ(error_detail(status_of(spec))->field, "train.lr");
  spec = demo_specification();
  spec["matrix"]["train.lr"] = {0.001, -std::numeric_limits<double>::infinity()};
  EXPECT_EQ(error_detail(status_of(spec))->field, "matrix.train.lr[1]");
}

TEST(Refusal, OfAnUnbalancedMatchedProtocol) {
  Json spec = demo_specification();
  spec["matched"] = "prior";
  spec["matrix"]["train.lr"] = {0.001, 0.003};
  spec["exclude"] = Json::parse(R"([{"prior": "none", "train.lr": 0.003}])");
  const absl::Status status = status_of(spec);
  EXPECT_TRUE(has_reason(status, ErrorReason::kConstraintViolated)) << status;
  EXPECT_EQ(error_detail(status)->field, "matched");
  EXPECT_THAT(std::string(status.message()), HasSubstr("train.lr"));
}

TEST(Refusal, OfTooManyTrialsComesBeforeExpansion) {
  Json spec = demo_specification();
  // 2^80 cells: counting them one by one would never end, multiplying them carelessly would wrap round to
  // zero.
  const char* paths[] = {"lr", "epochs", "batch", "weight_decay", "warmup_epochs", "limit"};
  for (const char* path : paths) {
    Json values = Json::array();
    for (int i = 1; i <= 16384; ++i) values.push_back(i);
    spec["matrix"][std::string("train.") + path] = values;
  }
  const absl::Status status = status_of(spec);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(has_reason(status, ErrorReason::kTooManyTrials)) << status;
  EXPECT_EQ(error_detail(status)->field, "matrix");
  EXPECT_EQ(error_detail(status)->metadata.at("limit"), "100000");
}

TEST(Refusal, OfOneTrialTooMany) {
  Json spec = demo_specification();
  spec["matrix"] = {{"prior", {"none"}}, {"train.limit", Json::array()}};
  spec.erase("baseline");
  spec["replicates"]["seed"] = {0};
  for (int i = 1; i <= 100001; ++i) spec["matrix"]["train.limit"].push_back(i);
  EXPECT_TRUE(has_reason(status_of(spec), ErrorReason::kTooManyTrials));
  EXPECT_THAT(std::string(status_of(spec).message()), HasSubstr("100001 trials"));
}

}  // namespace
}  // namespace locus
