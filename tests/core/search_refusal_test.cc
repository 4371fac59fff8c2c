// Bad searches: each is refused with a reason, the field and a sentence that says what to do.
#include <gmock/gmock.h>

#include "core/base/error.h"
#include "core/base/mistakes.h"
#include "core/experiment/plan/planner.h"
#include "tests/core/bad_specification.h"
#include "tests/core/plans.h"

namespace locus {
namespace {

// Changes of a search that is right.
const BadSpecification kBadSearches[] = {
    {"Nothing", R"({"search": {"propose": null, "space": null, "proposals": null, "advance": null}})",
     ErrorReason::kMissingKey, "search", "says nothing"},
    {"NoMapping", R"({"search": 7})", ErrorReason::kWrongType, "search", "a mapping, not the number 7"},
    {"UnknownKey", R"({"search": {"porpose": "sobol"}})", ErrorReason::kUnknownKey, "search.porpose",
     "did you mean 'propose'"},
    {"UnknownProposer", R"({"search": {"propose": "tpe"}})", ErrorReason::kOptionOutOfRange, "search.propose", "sobol"},
    {"EmptySpace", R"({"search": {"space": {"train.lr": null}}})", ErrorReason::kEmptyMatrix, "search.space",
     "names no path"},
    {"NoSpace", R"({"search": {"space": null}})", ErrorReason::kMissingKey, "search.space", "to draw from"},
    {"UnknownPath", R"({"search": {"space": {"trian.lr": {"log": [1, 2]}}}})", ErrorReason::kUnknownKey,
     "search.space.trian.lr", "did you mean 'train.lr'"},
    {"UnknownOption", R"({"search": {"space": {"train.lrr": {"linear": [1, 2]}}}})", ErrorReason::kUnknownKey,
     "search.space.train.lrr", "did you mean 'lr'"},
    {"SectionInTheSpace", R"({"search": {"space": {"model": {"choice": ["vit"]}}}})", ErrorReason::kUnknownKey,
     "search.space.model", "model.backbone"},
    {"NoScale", R"({"search": {"space": {"train.lr": {"log": null, "digits": 3}}}})",
     ErrorReason::kInvalidSpecification, "search.space.train.lr", "says no scale"},
    {"TwoScales", R"({"search": {"space": {"train.lr": {"linear": [0, 1]}}}})", ErrorReason::kInvalidSpecification,
     "search.space.train.lr", "linear and log"},
    {"BoundsReversed", R"({"search": {"space": {"train.lr": {"log": [0.01, 0.001]}}}})", ErrorReason::kOptionOutOfRange,
     "search.space.train.lr.log", "not below"},
    {"OneBound", R"({"search": {"space": {"train.lr": {"log": [0.01]}}}})", ErrorReason::kWrongType,
     "search.space.train.lr.log", "[lowest, highest]"},
    {"LogOfZero", R"({"search": {"space": {"train.lr": {"log": [0, 0.1]}}}})", ErrorReason::kOptionOutOfRange,
     "search.space.train.lr.log[0]", "write linear"},
    {"IntegersWithAFraction", R"({"search": {"space": {"train.lr": null, "train.batch": {"int": [1.5, 8]}}}})",
     ErrorReason::kWrongType, "search.space.train.batch.int[0]", "an integer"},
    {"FractionsOfAnInteger", R"({"search": {"space": {"train.batch": {"linear": [8, 64]}}}})", ErrorReason::kWrongType,
     "search.space.train.batch", "an integer"},
    {"OutsideTheOption", R"({"search": {"space": {"train.lr": {"log": [20, 100]}}}})", ErrorReason::kOptionOutOfRange,
     "search.space.train.lr", "10"},
    {"NoChoice", R"({"search": {"space": {"train.batch": {"choice": []}}}})", ErrorReason::kEmptyMatrix,
     "search.space.train.batch.choice", "lists no value"},
    {"ChoiceTwice", R"({"search": {"space": {"train.batch": {"choice": [8, 16, 8]}}}})",
     ErrorReason::kInvalidSpecification, "search.space.train.batch.choice[2]", "8 twice"},
    {"DigitsOfAChoice", R"({"search": {"space": {"train.batch": {"choice": [8], "digits": 2}}}})",
     ErrorReason::kInvalidSpecification, "search.space.train.batch.digits", "needs no rounding"},
    {"TooManyDigits", R"({"search": {"space": {"train.lr": {"digits": 17}}}})", ErrorReason::kOptionOutOfRange,
     "search.space.train.lr.digits", "15"},
    {"FactorInTheSpace", R"({"matrix": {"train.lr": [0.1]}})", ErrorReason::kInvalidSpecification,
     "search.space.train.lr", "matrix.train.lr"},
    {"IncludedPathOfTheSpace", R"({"include": [{"prior": "violin", "train.lr": 0.1}]})",
     ErrorReason::kInvalidSpecification, "include[0].train.lr", "every proposal"},
    {"NoProposals", R"({"search": {"proposals": null}})", ErrorReason::kMissingKey, "search.proposals",
     "proposals: 32"},
    {"ZeroProposals", R"({"search": {"proposals": 0}})", ErrorReason::kOptionOutOfRange, "search.proposals", "1"},
    {"TooManyProposals", R"({"search": {"proposals": 90000}})", ErrorReason::kTooManyTrials, "search.proposals",
     "360000 trials"},
    {"GridBetweenBounds", R"({"search": {"propose": "grid", "proposals": null}})", ErrorReason::kInvalidSpecification,
     "search.space.train.lr", "propose: sobol"},
    {"GridOfSoMany", R"({"search": {"propose": "grid", "space": {"train.lr": {"log": null, "choice": [0.1]}}}})",
     ErrorReason::kInvalidSpecification, "search.proposals", "all of its points"},
    {"MatchedButNotShared", R"({"matched": ["prior"], "search": {"shared": false}})",
     ErrorReason::kInvalidSpecification, "search.shared", "settings of its own"},
    {"NoRule", R"({"search": {"advance": {"rule": null}}})", ErrorReason::kMissingKey, "search.advance.rule",
     "rule: halve"},
    {"UnknownRule", R"({"search": {"advance": {"rule": "halving"}}})", ErrorReason::kOptionOutOfRange,
     "search.advance.rule", "halve"},
    {"KeyOfAnotherRule", R"({"search": {"advance": {"eta": 3}}})", ErrorReason::kUnknownKey, "search.advance.eta",
     "the rule halve"},
    {"NoRungs", R"({"search": {"advance": {"rungs": null}}})", ErrorReason::kMissingKey, "search.advance.rungs",
     "needs the rungs"},
    {"RungsFall", R"({"search": {"advance": {"rungs": [3, 1, 9]}}})", ErrorReason::kInvalidSpecification,
     "search.advance.rungs[1]", "must increase"},
    {"OneRung", R"({"search": {"advance": {"rungs": [9]}}})", ErrorReason::kInvalidSpecification,
     "search.advance.rungs", "judges nobody"},
    {"RungsEndEarly", R"({"search": {"advance": {"rungs": [1, 3]}}})", ErrorReason::kInvalidSpecification,
     "search.advance.rungs", "train.epochs is 9"},
    {"RungBetweenValidations", R"({"train": {"validate_every": 3}, "search": {"advance": {"rungs": [4, 9]}}})",
     ErrorReason::kInvalidSpecification, "search.advance.rungs[0]", "3 or 6"},
    {"ValidatedWithinEpochs", R"({"train": {"validate_every": 0.25}})", ErrorReason::kInvalidSpecification,
     "search.advance.rungs[0]", "validate_every: 1"},
    {"NeverValidated", R"({"train": {"validate_every": 0}})", ErrorReason::kInvalidSpecification,
     "search.advance.rungs[0]", "no validation"},
    {"TrainingsOfSeveralLengths", R"({"matrix": {"train.epochs": [9, 18]}})", ErrorReason::kInvalidSpecification,
     "search.advance.rungs", "give them one train.epochs"},
    {"EpochsInTheSpace", R"({"search": {"space": {"train.epochs": {"int": [1, 9]}}}})",
     ErrorReason::kInvalidSpecification, "search.space.train.epochs", "cannot be searched"},
    {"ShareAsADecimal", R"({"search": {"advance": {"keep": 0.3333}}})", ErrorReason::kWrongType, "search.advance.keep",
     "1/3"},
    {"ShareOfAll", R"({"search": {"advance": {"keep": "3/3"}}})", ErrorReason::kOptionOutOfRange, "search.advance.keep",
     "below 1"},
    {"SeedsOfATrial", R"({"search": {"advance": {"resource": "seeds", "unit": "trial"}}})",
     ErrorReason::kInvalidSpecification, "search.advance.unit", "unit: cell"},
    {"RungsBeyondTheSeeds", R"({"search": {"advance": {"resource": "seeds"}}})", ErrorReason::kInvalidSpecification,
     "search.advance.rungs", "lists 2, not 9"},
    {"AshaThatWaits", R"({"search": {"advance": {"rule": "asha", "wait": true}}})", ErrorReason::kInvalidSpecification,
     "search.advance.wait", "rule: halve"},
    {"HyperbandOfSoMany", R"({"search": {"proposals": 10, "advance": {"rule": "hyperband", "rungs": null}}})",
     ErrorReason::kInvalidSpecification, "search.proposals", "17 proposals in 3 brackets"},
    {"HyperbandOfUnknownLength",
     R"({"train": {"epochs": null}, "search": {"proposals": null, "advance": {"rule": "hyperband", "rungs": null}}})",
     ErrorReason::kMissingKey, "train.epochs", "end at train.epochs"},
    {"RaceWithoutSeeds", R"({"search": {"advance": {"rule": "race", "rungs": null, "race": {"most": 20}}}})",
     ErrorReason::kInvalidSpecification, "search.advance.race.most", "lists 2"},
    {"RaceThatNeverDecides", R"({"search": {"advance": {"rule": "race", "rungs": null}}})",
     ErrorReason::kInvalidSpecification, "search.advance.race.first", "5 seeds"},
    {"RaceOfOne", R"({"search": {"proposals": 1, "advance": {"rule": "race", "rungs": null, "race": {"first": 2}}}})",
     ErrorReason::kInvalidSpecification, "search.advance", "two candidates"},
    {"RaceWithoutABudget", R"({"search": {"advance": {"rule": "race", "rungs": null, "race": {"rule": "halving"}}}})",
     ErrorReason::kMissingKey, "search.advance.race.budget", "budget: 64"},
    {"RaceOfTooFewRuns",
     R"({"search": {"advance": {"rule": "race", "rungs": null, "race": {"rule": "halving", "budget": 11}}}})",
     ErrorReason::kInvalidSpecification, "search.advance.race.budget", "needs 24 runs"},
    {"RaceOfMoreSeedsThanThereAre",
     R"({"search": {"advance": {"rule": "race", "rungs": null, "race": {"rule": "halving", "budget": 64}}}})",
     ErrorReason::kInvalidSpecification, "search.advance.race.budget", "lists 2"},
    {"RaceWithoutErrors",
     R"({"search": {"advance": {"rule": "race", "rungs": null, "race": {"first": 2, "alpha": 0.5}}}})",
     ErrorReason::kOptionOutOfRange, "search.advance.race.alpha", "below 0.5"},
    {"StopByNothing", R"({"search": {"stop": [{}]}})", ErrorReason::kInvalidSpecification, "search.stop[0]",
     "names one rule"},
    {"StopByBoth", R"({"search": {"stop": [{"threshold": {"above": 1, "below": 2, "at": 3}}]}})",
     ErrorReason::kInvalidSpecification, "search.stop[0].threshold", "one of the two"},
    {"StopByAnUnknownMetric", R"({"search": {"stop": [{"threshold": {"metric": "top5", "below": 15, "at": 3}}]}})",
     ErrorReason::kUnknownItem, "search.stop[0].threshold.metric", "did you mean 'top1'"},
    {"StopAfterTheEnd", R"({"search": {"stop": [{"threshold": {"below": 15, "at": 9}}]}})",
     ErrorReason::kInvalidSpecification, "search.stop[0].threshold.at", "nothing to stop"},
    {"StopBetweenValidations",
     R"({"train": {"validate_every": 3}, "search": {"advance": {"rungs": [3, 9]}, "stop": [{"median": {"from": 2}}]}})",
     ErrorReason::kInvalidSpecification, "search.stop[0].median.from", "is validated is 3"},
    {"PatienceBeyondTheEnd", R"({"search": {"stop": [{"patience": {"validations": 8}}]}})",
     ErrorReason::kInvalidSpecification, "search.stop[0].patience.validations", "a training has 9"},
    {"BudgetOfNothing", R"({"search": {"budget": {}}})", ErrorReason::kMissingKey, "search.budget", "limits nothing"},
    {"BudgetOfZeroHours", R"({"search": {"budget": {"slot_hours": 0}}})", ErrorReason::kOptionOutOfRange,
     "search.budget.slot_hours", "0"},
    {"BudgetBelowTheFirstRung", R"({"search": {"budget": {"epochs": 1}}})", ErrorReason::kInvalidSpecification,
     "search.budget.epochs", "after 2 epochs"},
    {"BudgetBelowOneCell", R"({"search": {"budget": {"stages": 1}}})", ErrorReason::kInvalidSpecification,
     "search.budget.stages", "2 trainings"},
    {"TargetWithoutASide", R"({"search": {"budget": {"target": {"metric": "top1"}}}})",
     ErrorReason::kInvalidSpecification, "search.budget.target", "at_least or at_most"},
    {"TargetOfAnUnknownMetric", R"({"search": {"budget": {"target": {"metric": "top2", "at_least": 80}}}})",
     ErrorReason::kUnknownItem, "search.budget.target.metric", "top1"},
    {"SelectionOnTest", R"({"metric": {"selects_on": "test"}})", ErrorReason::kOptionOutOfRange, "metric.selects_on",
     "must not be test"},
    {"HorizonOfNoRung", R"({"search": {"advance": null, "horizon": "rung"}})", ErrorReason::kInvalidSpecification,
     "search.horizon", "take it out"},
    {"NothingInParallel", R"({"search": {"parallel": 0}})", ErrorReason::kOptionOutOfRange, "search.parallel", "1"},
    {"NegativeSeed", R"({"search": {"seed": -1}})", ErrorReason::kOptionOutOfRange, "search.seed", "0"},
};

class SearchRefusal : public testing::TestWithParam<BadSpecification> {};

TEST_P(SearchRefusal, SaysWhatIsWrongWhereAndWhatToDo) {
  const BadSpecification& bad = GetParam();
  Json spec = small(R"({
    "train": {"epochs": 9, "validate_every": 1}, "replicates": {"seed": [0, 1]},
    "search": {"propose": "sobol", "proposals": 8, "space": {"train.lr": {"log": [1.0e-4, 1.0e-2]}},
               "advance": {"rule": "halve", "rungs": [1, 3, 9]}}})");
  ASSERT_TRUE(plan_experiment(spec, test_catalog()).ok()) << plan_experiment(spec, test_catalog()).status();
  spec.merge_patch(Json::parse(bad.changes));
  expect_refused(plan_experiment(spec, test_catalog()).status(), bad);
}

INSTANTIATE_TEST_SUITE_P(All, SearchRefusal, testing::ValuesIn(kBadSearches),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(SearchRefusals, NameEveryMistakeAtOnce) {
  const Json spec = small(R"({
    "train": {"epochs": 9, "validate_every": 1},
    "search": {"propose": "sobol", "proposals": "many", "space": {"train.lr": {"log": [0, 1]}},
               "advance": {"rule": "halve", "rungs": [1, 1], "keep": "2/1"}, "stop": [{"never": {}}], "budget": {}}})");
  std::set<std::string> fields;
  const absl::Status status = plan_experiment(spec, test_catalog()).status();
  for (const absl::Status& one : violations_of(status).list) fields.insert(error_detail(one)->field);
  EXPECT_THAT(fields, testing::ElementsAre("search.advance.keep", "search.advance.rungs[1]", "search.budget",
                                           "search.proposals", "search.space.train.lr.log[0]", "search.stop[0]"));
}

}  // namespace
}  // namespace locus
