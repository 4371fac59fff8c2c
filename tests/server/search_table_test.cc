// Tables of searches: what stands for a group is chosen by the split that selects alone, leaderboard and pivot table choose alike,
// and nothing is tested on numbers that have chosen.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "tests/server/support/fake_worker.h"
#include "tests/server/support/server_fixture.h"

namespace locus::test {
namespace {

constexpr int kSeeds = 3;

// Three priors and three seeds under four proposals of a learning rate; `changes` is a JSON merge patch.
Json tuned(const char* changes = "{}") {
  Json out = small_specification(Json::parse(R"({
    "train": {"lr": null, "validate_every": 1},
    "search": {"seed": 7, "propose": "sobol", "proposals": 4, "space": {"train.lr": {"log": [1.0e-4, 1.0e-2]}}}})"));
  out.merge_patch(Json::parse(changes));
  return out;
}

class SearchTable : public ServerTest {
 protected:
  void SetUp() override { start(); }

  // Validation favors the largest learning rate, test the smallest.
  void run() {
    FakeWorker worker(channel_, "worker-" + std::to_string(++runs_));  // the former one may still be thought alive
    ASSERT_TRUE(worker.register_with().ok());
    while (const auto work = worker.acquire()) {
      const double rate =
          work->config.value("recipe", Json::object()).value("options", Json::object()).value("lr", 0.0);
      worker.run(*work, [&](const std::string&, std::int64_t seed, int pixels) {
        const double of_seed = static_cast<double>(seed * seed);
        return pixels == 0 ? 60 + 1000 * rate + of_seed : 80 - 1000 * rate + of_seed;
      });
    }
  }
  v1::Table board(bool proposals = false, const std::string& split = "") {
    v1::GetTableRequest request;
    request.set_experiment("small");
    request.set_proposals(proposals);
    request.set_split(split);
    v1::Table out;
    const grpc::Status status = experiments_->GetTable(deadline().get(), request, &out);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return out;
  }
  v1::PaperTable paper(const std::string& rows = "", const std::string& format = "") {
    v1::GetPaperTableRequest request;
    request.add_experiments("small");
    if (!rows.empty()) request.add_rows(rows);
    request.set_format(format);
    v1::PaperTable out;
    const grpc::Status status = analysis_->GetPaperTable(deadline().get(), request, &out);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return out;
  }
  v1::Comparison compared(const std::vector<std::string>& items, const std::string& split = "") {
    v1::CompareRequest request;
    for (const std::string& item : items) request.add_items(item);
    if (!split.empty()) request.set_metric("top1");
    request.set_split(split);
    v1::Comparison out;
    const grpc::Status status = experiments_->Compare(deadline().get(), request, &out);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return out;
  }
  int runs_ = 0;
  static double rate_of(const v1::TableRow& row) {
    return Json::parse(row.assignment_json()).at("train.lr").get<double>();
  }
  template <class Answer>
  static bool warns(const Answer& answer, const std::string& words) {
    return std::any_of(answer.warnings().begin(), answer.warnings().end(),
                       [&](const std::string& one) { return one.find(words) != std::string::npos; });
  }
};

TEST_F(SearchTable, HasARowForEachGroupThatValidationChoseAndTestHadNoPartIn) {
  submit(tuned());
  run();
  double largest = 0;
  const v1::Table all = board(/*proposals=*/true);
  EXPECT_EQ(all.rows_size(), 12);
  EXPECT_FALSE(all.chosen());
  for (const v1::TableRow& row : all.rows()) largest = std::max(largest, rate_of(row));
  const v1::Table chosen = board();
  EXPECT_TRUE(chosen.chosen());
  EXPECT_EQ(chosen.split(), "test");
  ASSERT_EQ(chosen.rows_size(), 3);
  for (const v1::TableRow& row : chosen.rows()) {
    EXPECT_EQ(rate_of(row), largest) << row.label() << ": the worst on test";
    EXPECT_EQ(row.chosen_by(), "validation, the best of 4");
    EXPECT_TRUE(std::isfinite(row.selection())) << "what chose stands beside what reports";
    EXPECT_TRUE(row.baseline() || row.pairs() == kSeeds);
  }
  EXPECT_TRUE(warns(chosen, "each row is the best of 4 proposals, the same 4 for all, chosen by top1 on validation"));
}

TEST_F(SearchTable, IsThePivotTableToo) {
  submit(tuned());
  run();
  const v1::Table chosen = board();
  const v1::PaperTable pivot = paper();
  ASSERT_EQ(pivot.row_axes_size(), 1) << "the learning rate is tuned, not a factor";
  EXPECT_EQ(pivot.row_axes(0), "prior");
  ASSERT_EQ(pivot.cells_size(), chosen.rows_size());
  std::map<std::string, const v1::PaperCell*> cells;  // by their first trial
  for (const v1::PaperCell& cell : pivot.cells()) cells[cell.trials(0)] = &cell;
  for (const v1::TableRow& row : chosen.rows()) {
    ASSERT_TRUE(cells.contains(row.values(0).trial())) << row.label();
    const v1::PaperCell& cell = *cells[row.values(0).trial()];
    EXPECT_EQ(cell.n(), row.n());
    EXPECT_EQ(cell.mean(), row.mean());
    EXPECT_EQ(cell.pairs(), row.pairs());
    EXPECT_EQ(cell.chosen_by(), row.chosen_by());
    EXPECT_EQ(std::isnan(cell.p()), std::isnan(row.p_sign_flip()));
  }
  EXPECT_TRUE(chosen.baseline().starts_with(pivot.baseline())) << "which leaves out what was tuned";
  EXPECT_EQ(pivot.correction(), chosen.correction());
  EXPECT_TRUE(warns(pivot, "each row is the best of 4 proposals"));
}

TEST_F(SearchTable, ShowsProposalsWhereAPathOfTheSpaceIsAnAxis) {
  submit(tuned());
  run();
  EXPECT_EQ(paper("train.lr").rows_size(), 4);
}

TEST_F(SearchTable, TestsAndMarksNothingOnTheSplitThatChose) {
  submit(tuned());
  run();
  const v1::Table validation = board(false, "validation");
  ASSERT_GT(validation.rows_size(), 0);
  for (const v1::TableRow& row : validation.rows()) {
    EXPECT_EQ(row.pairs(), 0) << row.label();
    EXPECT_TRUE(std::isnan(row.p_holm())) << row.label();
  }
  EXPECT_EQ(validation.correction(), "");
  EXPECT_TRUE(validation.chose());
  EXPECT_FALSE(board().chose());
  for (int i = 1; i < validation.rows_size(); ++i)
    EXPECT_LT(validation.rows(i - 1).cell(), validation.rows(i).cell()) << "as in the specification, not ranked";
  const v1::Comparison by_it = compared({"small/cells/0", "small/cells/1"}, "validation");
  ASSERT_EQ(by_it.paired_size(), 1);
  EXPECT_TRUE(std::isnan(by_it.paired(0).p_sign_flip()) && std::isnan(by_it.paired(0).p_t()));
  EXPECT_TRUE(warns(by_it, "validation chose, so nothing is tested on it"));
  EXPECT_FALSE(std::isnan(compared({"small/cells/0", "small/cells/1"}).paired(0).p_sign_flip()));
  EXPECT_TRUE(warns(validation, "the best of 4 by validation by itself reads high by about 1.03 standard deviations"));
}

TEST_F(SearchTable, OfTheBestSeedsIsAMeanBesideThatOfAllInEveryForm) {
  submit(small_specification(Json::parse(R"({"metric": {"over_seeds": {"top": 2}}})")));
  run();
  const v1::Table best = board();
  EXPECT_EQ(best.top_seeds(), 2);
  ASSERT_EQ(best.rows_size(), 3);
  const v1::PaperTable pivot = paper();
  ASSERT_EQ(pivot.cells_size(), 3);
  EXPECT_EQ(pivot.columns(0).top_seeds(), 2);
  for (const v1::TableRow& row : best.rows()) {
    ASSERT_EQ(row.values_size(), kSeeds);
    std::vector<double> values;
    for (const v1::SeedValue& one : row.values()) values.push_back(one.value());
    std::sort(values.rbegin(), values.rend());
    EXPECT_DOUBLE_EQ(row.mean(), (values[0] + values[1]) / 2) << row.label();
    EXPECT_NEAR(row.mean_all(), (values[0] + values[1] + values[2]) / 3, 1e-9);
    EXPECT_TRUE(std::isnan(row.std()) && std::isnan(row.ci_low()) && std::isnan(row.p_sign_flip()));
    const auto same = std::find_if(pivot.cells().begin(), pivot.cells().end(),
                                   [&](const v1::PaperCell& cell) { return cell.trials(0) == row.values(0).trial(); });
    ASSERT_NE(same, pivot.cells().end());
    EXPECT_EQ(same->mean(), row.mean());
    EXPECT_EQ(same->mean_all(), row.mean_all());
    EXPECT_FALSE(same->significant());
  }
  EXPECT_TRUE(warns(best, "top 2 of 3 by test: reads high by about 0.42 standard deviations"));
  EXPECT_TRUE(warns(pivot, "top 2 of 3 by test: reads high by about 0.42 standard deviations"));
  for (const char* format : {"text", "latex", "markdown", "html"}) {
    const std::string rendered = paper("", format).rendered();
    EXPECT_NE(rendered.find("(all "), std::string::npos) << format;
    EXPECT_NE(rendered.find("best 2 seeds"), std::string::npos) << format;
  }
  EXPECT_NE(paper("", "csv").rendered().find(",mean_all,std_all,"), std::string::npos);
  const v1::Comparison side_by_side = compared({"small/cells/0", "small/cells/1"});
  EXPECT_EQ(side_by_side.top_seeds(), 2);
  for (const v1::ComparedItem& item : side_by_side.items()) {
    const auto row = std::find_if(best.rows().begin(), best.rows().end(),
                                  [&](const v1::TableRow& one) { return one.cell() == item.cell(); });
    ASSERT_NE(row, best.rows().end());
    EXPECT_DOUBLE_EQ(item.mean(), row->mean());
    EXPECT_DOUBLE_EQ(item.mean_all(), row->mean_all());
  }
  EXPECT_EQ(side_by_side.paired(0).n(), kSeeds) << "differences are of all seeds";
  EXPECT_TRUE(warns(side_by_side, "top 2 of 3 by test: reads high by about 0.42 standard deviations"));
  const v1::Table validation = board(false, "validation");
  for (const v1::TableRow& row : validation.rows())
    EXPECT_TRUE(std::isfinite(row.std())) << "of other numbers all seeds are the mean";
}

TEST_F(SearchTable, SaysWhichSeedsWereAddedLater) {
  submit(small_specification());
  run();
  EXPECT_FALSE(warns(board(), "were added"));
  EXPECT_FALSE(warns(paper(), "were added"));
  submit(small_specification(Json::parse(R"({"replicates": {"seed": [0, 1, 2, 3, 4]}})")));
  run();
  EXPECT_TRUE(warns(board(), "seeds 3, 4 were added to an experiment that had others"));
  EXPECT_TRUE(warns(paper(), "seeds 3, 4 were added to an experiment that had others"));
  EXPECT_TRUE(warns(compared({"small/cells/0", "small/cells/1"}), "seeds 3, 4 were added"));
}

TEST_F(SearchTable, ShowsEveryProposalUntilEachGroupHasOneToChoose) {
  submit(tuned());
  const v1::Table before = board();
  EXPECT_FALSE(before.chosen());
  EXPECT_EQ(before.rows_size(), 12);
}

}  // namespace
}  // namespace locus::test
