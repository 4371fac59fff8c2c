// The papers' claims through the wire: alone, and beside numbers computed by hand.
#include <gmock/gmock.h>

#include <cmath>

#include "server/http/routes.h"
#include "tests/server/support/fake_worker.h"
#include "tests/server/support/server_fixture.h"

namespace locus::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// At 28 pixels: none 70, 71, 72; learned-absolute 80, 82, 84; violin 83, 84, 88. At 42 all lose ten.
double score(const std::string& prior, std::int64_t seed, int resolution) {
  static const std::map<std::string, std::vector<double>> kAt28 = {
      {"none", {70, 71, 72}}, {"learned-absolute", {80, 82, 84}}, {"violin", {83, 84, 88}}};
  return kAt28.at(prior)[static_cast<std::size_t>(seed)] - (resolution == 42 ? 10 : 0);
}

Json paper() {
  return Json::parse(R"({
    "version": 1, "paper": {"id": "curves", "title": "Curves", "authors": ["A", "B"], "year": 2024},
    "tables": [
      {"table": "Table 1", "caption": "Ways.", "note": "As read.",
       "setting": {"task": "classification", "dataset": "imagenet-1k", "model": "ViT-S", "optimizer": "SGD",
                   "resolution": 224},
       "metric": {"name": "top1", "unit": "%", "direction": "max"}, "n": 4, "baseline": {"row": "Learned"},
       "columns": ["Accuracy", {"column": "At 336", "setting": {"evaluated-at": 336}},
                   {"column": "At 448", "setting": {"evaluated-at": 448}}],
       "rows": [{"row": "Learned", "prior": ["learned-absolute"], "values": [75.0, 70.0, 60.0], "std": [0.5, null, null]},
                {"row": "Curves", "prior": ["violin"], "values": [79.17, 71.0, 61.0]},
                {"row": "Somebody's", "prior": null, "values": [79.9, null, null]}]},
      {"table": "Table 2", "caption": "Cost.", "metric": {"name": "forward_peak_memory_bytes", "unit": "GB", "direction": "min"},
       "columns": ["GB"], "rows": [{"row": "Curves", "prior": ["violin"], "values": [1.5]}]}]})");
}

class ClaimsOfPapers : public ServerTest {
 protected:
  void SetUp() override {
    auto parsed = parse_claims({{"version", 1}, {"papers", {printed()}}});
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    claims_ = *std::move(parsed);
    start();
  }

  virtual Json printed() const { return paper(); }

  void measure() {
    submit(small_specification());
    FakeWorker worker(channel_, "one");
    ASSERT_TRUE(worker.register_with().ok());
    ASSERT_EQ(worker.run_all(score), 18);
  }

  v1::ListClaimsResponse claims(const std::string& experiment = "", bool matched = false) {
    v1::ListClaimsRequest request;
    request.set_experiment(experiment);
    request.set_matched(matched);
    v1::ListClaimsResponse out;
    const grpc::Status status = analysis_->ListClaims(deadline().get(), request, &out);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return out;
  }
};

TEST_F(ClaimsOfPapers, StandAlone) {
  const v1::ListClaimsResponse out = claims();
  ASSERT_EQ(out.papers_size(), 1);
  EXPECT_EQ(out.papers(0).year(), 2024);
  EXPECT_EQ(out.papers(0).claims(), 8);
  ASSERT_EQ(out.tables_size(), 2);
  const v1::ClaimTable& table = out.tables(0);
  EXPECT_EQ(table.note(), "As read.");
  EXPECT_THAT(table.rows(), ElementsAre("Learned", "Curves", "Somebody's"));
  ASSERT_EQ(table.claims_size(), 7);
  const v1::Claim& curves = table.claims(3);
  EXPECT_EQ(curves.row(), "Curves");
  EXPECT_EQ(curves.prior_json(), R"(["violin"])");
  EXPECT_DOUBLE_EQ(curves.value(), 79.17);
  EXPECT_TRUE(std::isnan(curves.std()));
  EXPECT_EQ(curves.n(), 4);
  EXPECT_EQ(curves.baseline(), "Learned");
  EXPECT_DOUBLE_EQ(curves.difference(), 4.17);
  EXPECT_EQ(curves.measured_size(), 0);
  ASSERT_EQ(table.setting_size(), 5);
  EXPECT_EQ(table.setting(0).name(), "dataset");
  EXPECT_EQ(table.setting(0).here(), "");
  EXPECT_TRUE(table.setting(0).compared());
  EXPECT_EQ(table.setting(4).name(), "optimizer");
  EXPECT_TRUE(table.setting(4).compared());
  EXPECT_EQ(table.setting(4).from(), "print");
}

TEST_F(ClaimsOfPapers, StandBesideTheHandComputation) {
  measure();
  const v1::ListClaimsResponse out = claims("small");
  const v1::ClaimTable& table = out.tables(0);
  ASSERT_EQ(table.claims(3).measured_size(), 1);
  const v1::ClaimMatch& match = table.claims(3).measured(0);
  EXPECT_EQ(match.experiment(), "small");
  EXPECT_EQ(match.label(), "violin");
  EXPECT_EQ(match.baseline_label(), "learned-absolute");
  EXPECT_EQ(match.labels(), R"({"resolution":28})");
  EXPECT_EQ(match.n(), 3);
  EXPECT_DOUBLE_EQ(match.mean(), 85.0);
  EXPECT_NEAR(match.std(), std::sqrt(7.0), 1e-12);
  EXPECT_EQ(match.pairs(), 3);
  EXPECT_DOUBLE_EQ(match.difference(), 3.0);                     // 3, 2, 4
  const double half_width = 4.302652729911275 / std::sqrt(3.0);  // Student's t on two degrees of freedom, std 1
  EXPECT_NEAR(match.difference_high(), 3.0 + half_width, 1e-9);
  EXPECT_NEAR(match.difference_low(), 3.0 - half_width, 1e-9);
  EXPECT_EQ(match.sentence(),
            "paper +4.17 over Learned; here +3.00 (95 % +0.52 to +5.48), n = 3, other dataset, model and "
            "resolution, optimizer not known here");
  EXPECT_THAT(match.differences(),
              ElementsAre("dataset: imagenet-1k in the paper, fashion-mnist here",
                          "model: ViT-S in the paper, vit 64 wide, 3 deep, 4 heads here",
                          "resolution: 224 in the paper, 28 here", "optimizer: SGD in the paper, not known here"));
  EXPECT_EQ(match.verdict(), "not-comparable");
  EXPECT_EQ(match.why(), "setting");
  EXPECT_EQ(match.measured_direction(), "same");
  EXPECT_EQ(table.claims(3).verdict(), "not-comparable");
  EXPECT_EQ(table.setting(0).here(), "fashion-mnist");
  EXPECT_EQ(table.setting(1).here(), "");  // the task is the same
  // The baseline has a mean and nothing to be paired with; a number without a prior of ours has nothing.
  EXPECT_EQ(table.claims(0).measured(0).sentence(),
            "paper 75 ± 0.5; here 82.00 (95 % 77.03 to 86.97), n = 3, other dataset, model and resolution, "
            "optimizer not known here");
  EXPECT_EQ(table.claims(6).measured_size(), 0);
  EXPECT_EQ(out.tables(1).claims(0).measured_size(), 0);  // nobody measured memory
}

TEST_F(ClaimsOfPapers, AtAnotherResolutionStandBesideTheSameMultiple) {
  measure();
  const v1::ClaimTable table = claims("small").tables(0);
  EXPECT_EQ(table.claims(4).column(), "At 336");
  ASSERT_EQ(table.claims(4).measured_size(), 1);
  EXPECT_EQ(table.claims(4).measured(0).labels(), R"({"resolution":42})");
  EXPECT_DOUBLE_EQ(table.claims(4).measured(0).mean(), 75.0);
  EXPECT_DOUBLE_EQ(table.claims(4).measured(0).difference(), 3.0);
  EXPECT_EQ(table.claims(5).measured_size(), 0);  // nobody evaluated at 56
}

TEST_F(ClaimsOfPapers, OfAnExperimentWithoutResultsSaySo) {
  submit(small_specification());
  const v1::ClaimTable table = claims("small").tables(0);
  ASSERT_EQ(table.claims(3).measured_size(), 1);
  EXPECT_EQ(table.claims(3).measured(0).n(), 0);
  EXPECT_TRUE(std::isnan(table.claims(3).measured(0).mean()));
  EXPECT_THAT(table.claims(3).measured(0).sentence(), HasSubstr("nothing measured here yet"));
}

TEST_F(ClaimsOfPapers, LackThePapersBaselineWhereTheExperimentDoes) {
  submit(small_specification({{"matrix", {{"prior", {"none", "violin"}}}}, {"baseline", {{"prior", "none"}}}}));
  FakeWorker worker(channel_, "one");
  ASSERT_TRUE(worker.register_with().ok());
  worker.run_all(score);
  const v1::ClaimTable table = claims("small").tables(0);
  const v1::ClaimMatch& match = table.claims(3).measured(0);
  EXPECT_EQ(match.baseline_label(), "");
  EXPECT_EQ(match.pairs(), 0);
  EXPECT_TRUE(std::isnan(match.difference()));
  EXPECT_THAT(match.sentence(), HasSubstr("over Learned, which this experiment lacks; here 85.00 (95 % "));
}

TEST_F(ClaimsOfPapers, ShowEightCellsAtMost) {
  submit(small_specification({{"matrix", {{"train.lr", {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9}}}}}));
  EXPECT_EQ(claims("small").tables(0).claims(3).measured_size(), 8);
}

// 9 numbers: at 224 violin's difference goes the printed way, at 336 too; the rest has a reason each.
TEST_F(ClaimsOfPapers, AreCountedByWhatTheExperimentSaysOfThem) {
  measure();
  v1::ListClaimsRequest request;
  request.set_experiment("small");
  request.set_summary(true);
  v1::ListClaimsResponse out;
  ASSERT_TRUE(analysis_->ListClaims(deadline().get(), request, &out).ok());
  EXPECT_EQ(out.tables_size(), 0);
  ASSERT_EQ(out.summaries_size(), 3);
  const v1::ClaimSummary& paper = out.summaries(0);
  EXPECT_EQ(paper.table(), "");
  EXPECT_EQ(paper.numbers(), 8);
  EXPECT_EQ(paper.not_comparable(), 8);
  EXPECT_EQ(paper.same_direction(), 2);
  std::map<std::string, int> why, settings;
  for (const v1::ClaimCount& one : paper.why()) why[one.name()] = one.count();
  for (const v1::ClaimCount& one : paper.settings()) settings[one.name()] = one.count();
  EXPECT_EQ(why,
            (std::map<std::string, int>{{"setting", 2}, {"no-difference", 4}, {"no-method", 1}, {"no-result", 1}}));
  EXPECT_EQ(settings["dataset"], 2);
  EXPECT_EQ(out.summaries(1).table(), "Table 1");
  EXPECT_EQ(out.summaries(1).numbers() + out.summaries(2).numbers(), 8);
}

class ClaimsOfTheSameSetting : public ClaimsOfPapers {
 protected:
  Json printed() const override {
    Json same = paper();
    Json& table = same["tables"][0];
    table["setting"] = {{"task", "classification"}, {"dataset", "fashion-mnist"}};
    table["columns"] = Json::array({"Accuracy"});
    table["rows"] = Json::parse(R"([{"row": "Learned", "prior": ["learned-absolute"], "values": [75.0]},
                                    {"row": "Curves", "prior": ["violin"], "values": [79.17]},
                                    {"row": "No-PE", "prior": ["none"], "values": [74.0]}])");
    return same;
  }
};

TEST_F(ClaimsOfTheSameSetting, AgreeOrContradict) {
  measure();
  const v1::ListClaimsResponse out = claims("small");
  const v1::ClaimTable& found = out.tables(0);
  EXPECT_EQ(found.claims(1).verdict(), "agrees");       // +4.17 in +0.52 to +5.48
  EXPECT_EQ(found.claims(2).verdict(), "contradicts");  // -1.0 against -13.48 to -8.52
  EXPECT_EQ(found.claims(2).why(), "");
  EXPECT_EQ(out.summaries(0).agrees(), 1);
  EXPECT_EQ(out.summaries(0).contradicts(), 1);
}

TEST_F(ClaimsOfPapers, CanBeOnlyThoseThatMatch) {
  measure();
  const v1::ListClaimsResponse out = claims("small", true);
  ASSERT_EQ(out.tables_size(), 1);
  EXPECT_EQ(out.tables(0).claims_size(), 4);  // two at 28, two at 42
  EXPECT_EQ(out.papers_size(), 1);
}

TEST_F(ClaimsOfPapers, OfWhatThereIsNoneAreRefused) {
  const auto refused = [&](const std::function<void(v1::ListClaimsRequest&)>& ask) {
    v1::ListClaimsRequest request;
    ask(request);
    v1::ListClaimsResponse out;
    return analysis_->ListClaims(deadline().get(), request, &out);
  };
  const grpc::Status paper = refused([](auto& r) { r.set_paper("curve"); });
  EXPECT_EQ(wire_error(paper).field, "paper");
  EXPECT_THAT(paper.error_message(), HasSubstr("choose one of: curves"));
  const grpc::Status table = refused([](auto& r) { r.set_table("Table 3"); });
  EXPECT_EQ(wire_error(table).field, "table");
  EXPECT_THAT(table.error_message(), HasSubstr("Table 1, Table 2"));
  EXPECT_EQ(wire_error(refused([](auto& r) { r.set_experiment("nobody"); })).reason, "EXPERIMENT_NOT_FOUND");
  EXPECT_EQ(wire_error(refused([](auto& r) { r.set_matched(true); })).field, "experiment");
  EXPECT_EQ(wire_error(refused([](auto& r) { r.set_summary(true); })).field, "experiment");
}

TEST_F(ClaimsOfPapers, HaveAnHttpAddress) {
  measure();
  v1::ListClaimsRequest request;
  request.set_paper("curves");
  request.set_experiment("small");
  request.set_table("Table 1");
  request.set_matched(true);
  v1::ListClaimsResponse out;
  ASSERT_TRUE(analysis_->ListClaims(deadline().get(), request, &out).ok());
  const HttpAnswer answer = http().get("/api/v1/claims?paper=curves&experiment=small&table=Table%201&matched=true");
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.json(), Json::parse(server::to_json(out)));
}

}  // namespace
}  // namespace locus::test
