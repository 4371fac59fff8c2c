// Printed numbers beside results as the store has them: which evaluation and which cost is meant, and the verdicts.
#include "server/analysis/claims_query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>

#include "core/experiment/plan/planner.h"
#include "storage/memory/store.h"
#include "tests/storage/world.h"

namespace locus::server {
namespace {

using namespace locus::testing;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Result result(const std::string& metric, const std::string& split, const Json& labels, double value) {
  return {{metric, split, canonical_json(labels)}, "last", value, 30};
}

// An experiment of three seeds whose every stage succeeded with the results made up for it.
class ClaimsQuery : public ::testing::Test {
 protected:
  using Results = std::function<std::vector<Result>(const Json& config, std::int64_t seed)>;

  void store(const Json& priors, const Json& evaluate, const Results& results) {
    const auto plan =
        plan_experiment({{"version", 1},
                         {"name", "mine"},
                         {"dataset", "fashion-mnist"},
                         {"model", {{"backbone", "vit"}, {"dim", 64}, {"depth", 3}, {"heads", 4}, {"patch", 7}}},
                         {"matrix", {{"prior", priors}}},
                         {"replicates", {{"seed", {0, 1, 2}}}},
                         {"stages", Json::array({{{"evaluate", evaluate}}})}},
                        catalog_);
    ASSERT_TRUE(plan.ok()) << plan.status();
    WorkerRow worker;
    worker.id = 1;
    worker.name = "node-a";
    worker.session = "session-a";
    SaveExperiment save;
    save.row.id = 1;
    save.row.name = "mine";
    save.row.spec_json = plan->spec_json;
    save.row.catalog_digest = catalog_.digest();
    std::vector<Mutation> ends;
    std::map<std::string, StageId> ids;
    for (std::size_t i = 0; i < plan->cells.size(); ++i)
      save.cells.push_back(
          {static_cast<std::int64_t>(i), plan->cells[i].row_key, plan->cells[i].label, plan->cells[i].assignment_json});
    for (std::size_t i = 0; i < plan->trials.size(); ++i) {
      const PlannedTrial& trial = plan->trials[i];
      const auto ordinal = static_cast<std::int64_t>(i);
      save.trials.push_back({ordinal, trial.cell, trial.seed, false});
      for (const PlannedStage& stage : trial.stages) {
        const auto [id, fresh] = ids.try_emplace(stage.identity, static_cast<StageId>(ids.size() + 1));
        save.trial_stages.push_back({ordinal, stage.role, id->second});
        if (!fresh) continue;
        StageRow row;
        row.id = id->second;
        row.identity = stage.identity;
        row.kind = stage.kind;
        row.config_json = stage.config_json;
        row.seed = trial.seed;
        row.state = StageState::kQueued;
        save.stages.push_back(row);
        ends.push_back(grant(row.id, 1));
        EndAttempt done = end(row.id, 1, AttemptState::kSucceeded, StageState::kSucceeded);
        done.results = results(Json::parse(row.config_json), trial.seed);
        ends.push_back(done);
      }
    }
    std::vector<Mutation> all = {PutCatalog{catalog_.digest(), canonical_json(catalog_.document())}, PutWorker{worker},
                                 save};
    all.insert(all.end(), ends.begin(), ends.end());
    const absl::Status stored = apply(*store_, all);
    ASSERT_TRUE(stored.ok()) << stored;
  }

  v1::ListClaimsResponse claims(const std::string& tables, bool summary = false) {
    Json paper = {{"version", 1}, {"paper", {{"id", "test"}, {"title", "A test"}}}, {"tables", Json::parse(tables)}};
    const auto parsed = parse_paper(paper);
    EXPECT_TRUE(parsed.ok()) << parsed.status();
    v1::ListClaimsRequest request;
    request.set_experiment("mine");
    request.set_summary(summary);
    OutlineCache outlines(*store_);
    const auto out = list_claims(*store_, outlines, catalog_, {*parsed}, request);
    EXPECT_TRUE(out.ok()) << out.status();
    return *out;
  }

  static Catalog engine_catalog() {
    std::ifstream in(LOCUS_ENGINE_CATALOG);
    return *Catalog::parse(Json::parse(in));
  }

  const Catalog catalog_ = engine_catalog();
  std::unique_ptr<Store> store_ = make_memory_store();
};

// top1 of an evaluation: 60 and the seed; five more where positions were interpolated.
std::vector<Result> scores(const Json& config, std::int64_t seed) {
  std::vector<Result> out;
  if (config["kind"] != "evaluate") return out;
  const Json& options = config["stage"]["options"];
  const double base = 60.0 + static_cast<double>(seed);
  for (const Json& side : options["resolution"]) {
    out.push_back(result("top1", "test", {{"resolution", side}}, base));
    for (const Json& positions : options.value("positions", Json::array())) {
      if (positions == "interpolated")
        out.push_back(result("top1", "test", {{"resolution", side}, {"positions", positions}}, base + 5));
    }
  }
  return out;
}

constexpr const char* kOnAnotherGrid = R"([
  {"table": "Table 1", "caption": "Native.", "metric": {"name": "top1", "unit": "%", "direction": "max"},
   "setting": {"task": "classification", "resolution": 28, "evaluated-at": 42, "interpolation": "native"},
   "columns": ["A"], "rows": [{"row": "RoPE", "prior": ["rope-axial"], "values": [70.0]},
                              {"row": "Look", "prior": ["lookhere"], "values": [71.0]}]},
  {"table": "Table 2", "caption": "Interpolated.", "metric": {"name": "top1", "unit": "%", "direction": "max"},
   "setting": {"task": "classification", "resolution": 28, "evaluated-at": 42, "interpolation": "interpolated"},
   "baseline": {"table": "Table 1"},
   "columns": ["A"], "rows": [{"row": "RoPE", "prior": ["rope-axial"], "values": [75.0], "differences": [5.0]},
                              {"row": "Look", "prior": ["lookhere"], "values": [70.0], "differences": [-1.0]}]}])";

TEST_F(ClaimsQuery, SetsInterpolatedNumbersBesideTheInterpolatedEvaluation) {
  store({"rope-axial", "lookhere"}, {{"resolution", {28, 42}}, {"positions", {"native", "interpolated"}}}, scores);
  const v1::ListClaimsResponse out = claims(kOnAnotherGrid);
  EXPECT_EQ(out.tables(0).claims(0).measured(0).labels(), R"({"resolution":42})");
  const v1::ClaimMatch& rope = out.tables(1).claims(0).measured(0);
  EXPECT_EQ(rope.labels(), R"({"positions":"interpolated","resolution":42})");
  EXPECT_EQ(rope.baseline_label(), "rope-axial");  // itself, as Table 1 has it
  EXPECT_EQ(rope.baseline_labels(), R"({"resolution":42})");
  EXPECT_DOUBLE_EQ(rope.difference(), 5.0);
  EXPECT_EQ(rope.pairs(), 3);
  EXPECT_EQ(out.tables(1).claims(0).verdict(), "agrees");
  // What cannot interpolate was evaluated as it is, whatever was asked for: no difference to speak of.
  const v1::Claim& look = out.tables(1).claims(1);
  EXPECT_THAT(look.measured(0).differences(), Contains("interpolation: interpolated in the paper, native here"));
  EXPECT_THAT(look.measured(0).sentence(), HasSubstr("other interpolation"));
  EXPECT_EQ(look.why(), "no-baseline");
}

TEST_F(ClaimsQuery, NamesInterpolationWhereThePriorDoesItByItself) {
  store(Json::array({{{"rope-axial", {{"other_grids", "interpolate"}}}}}), {{"resolution", {28, 42}}}, scores);
  const v1::ListClaimsResponse out = claims(kOnAnotherGrid);
  EXPECT_THAT(out.tables(0).claims(0).measured(0).differences(),
              ElementsAre("interpolation: native in the paper, interpolated here"));
  EXPECT_THAT(out.tables(1).claims(0).measured(0).differences(), Not(Contains(HasSubstr("interpolation"))));
}

constexpr const char* kCosts = R"([
  {"table": "Table 1", "caption": "Cost.", "setting": {"model": "ViT-S", "lr": 0.1, "hardware": "A100", "batch": 8},
   "columns": [{"column": "Params", "metric": {"name": "parameters", "unit": "M", "direction": "min"}},
               {"column": "Added", "metric": {"name": "parameters_added", "unit": "%", "direction": "min"}},
               {"column": "FLOPs", "metric": {"name": "flops_counted", "unit": "G", "direction": "min"}},
               {"column": "Mean", "metric": {"name": "mean-accuracy", "unit": "%", "direction": "max"}}],
   "rows": [{"row": "Curves", "prior": ["violin"], "values": [22, 0.5, 4.6, 57.0]}]}])";

TEST_F(ClaimsQuery, FindsCostsWhereTheyAreStoredInThePrintedUnit) {
  store({"violin"}, {{"resolution", {28}}}, [](const Json& config, std::int64_t) {
    if (config["kind"] != "evaluate") return std::vector<Result>{result("parameters", "train", Json::object(), 9)};
    std::vector<Result> out;  // as a measurement reports them
    for (const int batch : {1, 8}) {
      const Json labels = {{"batch", batch}, {"resolution", 28}};
      out.push_back(result("parameters", "", labels, 21'345'678));
      out.push_back(result("parameters_added", "", labels, 345'678));
      out.push_back(result("flops_counted", "", labels, 9.2e9));
    }
    return out;
  });
  const v1::ClaimTable table = claims(kCosts).tables(0);
  const v1::ClaimMatch& parameters = table.claims(0).measured(0);
  EXPECT_DOUBLE_EQ(parameters.mean(), 21.345678);
  EXPECT_EQ(parameters.labels(), R"({"batch":8,"resolution":28})");
  EXPECT_THAT(parameters.differences(), ElementsAre("model: ViT-S in the paper, vit 64 wide, 3 deep, 4 heads here",
                                                    "hardware: A100 in the paper, not known here"));
  EXPECT_NEAR(table.claims(1).measured(0).mean(), 100 * 345'678 / 21e6, 1e-9);
  EXPECT_DOUBLE_EQ(table.claims(2).measured(0).mean(), 4.6);  // a multiplication with its addition is one
  EXPECT_EQ(table.claims(3).measured_size(), 0);
  EXPECT_THAT(table.claims(3).unmeasured(), HasSubstr("VTAB-1K"));
}

TEST_F(ClaimsQuery, FindsTheParametersOfTrainingWhereNothingElseMeasuredThem) {
  store({"violin"}, {{"resolution", {28}}}, [](const Json& config, std::int64_t) {
    std::vector<Result> out;
    if (config["kind"] == "train") out.push_back(result("parameters", "train", Json::object(), 2e6));
    return out;
  });
  const v1::ClaimMatch match = claims(kCosts).tables(0).claims(0).measured(0);
  EXPECT_DOUBLE_EQ(match.mean(), 2.0);
  EXPECT_THAT(match.differences(), Contains("batch: 8 in the paper, not known here"));
}

constexpr const char* kDecay = R"([
  {"table": "Table 1", "caption": "Decay.", "metric": {"name": "top1", "unit": "%", "direction": "max"},
   "setting": {"task": "classification"}, "baseline": {"row": "None"}, "columns": ["A"],
   "rows": [{"row": "None", "prior": ["none"], "values": [60.0]},
            {"row": "Ours", "prior": ["rope-axial", "lepe", "spatial-decay"], "values": [60.0],
             "code": {"rope-axial": {"flavor": "rmt"}}},
            {"row": "Theirs", "prior": null, "values": [61.0]},
            {"row": "Absent", "prior": ["guidance"], "values": [62.0]}]}])";

TEST_F(ClaimsQuery, CountsWhatTheExperimentSaysOfNumbersInEitherSpelling) {
  store(Json::array({"none", {{"spatial-decay", {{"rope", "raster"}, {"lepe", "5x5"}}}}}), {{"resolution", {28}}},
        [](const Json& config, std::int64_t seed) {
          std::vector<Result> out = scores(config, seed);
          for (Result& one : out) one.value += config["priors"][0]["id"] == "none" ? 0.0 : 0.01 * (seed - 1.0);
          return out;
        });
  const v1::ListClaimsResponse whole = claims(kDecay);
  EXPECT_EQ(whole.tables(0).claims(1).verdict(), "agrees");  // no difference, as printed
  EXPECT_EQ(whole.tables(0).claims(1).options(0).name(), "rope-axial.flavor");
  EXPECT_EQ(whole.tables(0).claims(1).options(0).from(), "code");
  const v1::ListClaimsResponse counts = claims(kDecay, true);
  EXPECT_EQ(counts.tables_size(), 0);
  ASSERT_EQ(counts.summaries_size(), 2);
  const v1::ClaimSummary& paper = counts.summaries(0);
  EXPECT_EQ(paper.numbers(), 4);
  EXPECT_EQ(paper.agrees(), 1);
  EXPECT_EQ(paper.not_comparable(), 3);
  std::map<std::string, int> why;
  for (const v1::ClaimCount& one : paper.why()) why[one.name()] = one.count();
  EXPECT_EQ(why, (std::map<std::string, int>{{"no-difference", 1}, {"no-method", 1}, {"no-cell", 1}}));
  EXPECT_EQ(counts.summaries(1).table(), "Table 1");
}

}  // namespace
}  // namespace locus::server
