// One number everywhere: leaderboard, pivot table, figures' data, comparison and export of an experiment with
// failed, unpaired and non-finite cells; and settings side by side.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <sstream>

#include "core/statistics/samples.h"
#include "tests/server/support/fake_worker.h"
#include "tests/server/support/server_fixture.h"

namespace locus::test {
namespace {

// What becomes of every trial, and its score: made by hand in world 0, drawn in the others.
class World {
 public:
  enum class Fate { kScores, kFails, kUntested };

  explicit World(unsigned number) : number_(number) {}
  bool drawn() const { return number_ > 0; }
  int seeds() const { return drawn() ? 2 + static_cast<int>(number_ % 6) : 3; }

  // At lr 0.003 of world 0 the baseline has only seed 2 and violin only the others, so they share none.
  Fate fate(const std::string& prior, bool fast, std::int64_t seed) const {
    if (drawn()) {
      const unsigned one = draw("fate", prior, fast, seed) % 10;
      return one == 0 ? Fate::kFails : one == 1 ? Fate::kUntested : Fate::kScores;
    }
    const bool fails = fast && (prior == "violin" ? seed == 2 : prior != "none" && seed < 2);
    return fails ? Fate::kFails : Fate::kScores;
  }

  double score(const std::string& prior, bool fast, std::int64_t seed, int resolution) const {
    const double lost = resolution == 42 ? 10 : 0;
    if (drawn()) {
      const unsigned one = draw("score", prior, fast, seed);
      if (one % 12 == 0) return std::numeric_limits<double>::quiet_NaN();
      if (one % 12 == 1) return 80 - lost;  // ties
      return 75 + static_cast<double>(one % 1000) / 100 - lost;
    }
    if (prior == "none" && seed == 1) return std::numeric_limits<double>::quiet_NaN();
    return (prior == "violin" ? 83.1 : 80.3) + 0.7 * static_cast<double>(seed * seed) - lost;
  }

 private:
  unsigned draw(const char* what, const std::string& prior, bool fast, std::int64_t seed) const {
    std::seed_seq words{number_, static_cast<unsigned>(what[0]), static_cast<unsigned>(prior.size()),
                        static_cast<unsigned>(fast), static_cast<unsigned>(seed)};
    return std::mt19937(words)();
  }
  const unsigned number_;
};

double planned_score(const std::string& prior, std::int64_t seed, int resolution) {
  return World(0).score(prior, false, seed, resolution);
}

bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= 1e-12 * std::max(1.0, std::abs(b));
}

class Agreement : public ServerTest, public testing::WithParamInterface<unsigned> {
 protected:
  void SetUp() override {
    start();
    const auto with = [&](const Json& rates, int count) {
      Json seeds = Json::array();
      for (int seed = 0; seed < count; ++seed) seeds.push_back(seed);
      return small_specification({{"matrix", {{"prior", {"none", "learned-absolute", "violin"}}, {"train.lr", rates}}},
                                  {"replicates", {{"seed", seeds}}}});
    };
    submit(with(world_.drawn() ? Json({0.001, 0.003, 0.01}) : Json({0.001, 0.003}), world_.seeds()));
    FakeWorker worker(channel_, "one");
    ASSERT_TRUE(worker.register_with().ok());
    while (const auto work = worker.acquire()) run(worker, *work);
    // Retires a rate and leaves a seed waiting.
    if (world_.drawn()) submit(with({0.001, 0.003}, world_.seeds() + 1), /*replace=*/true);
    const v1::Table board = table("small");
    for (const v1::TableRow& row : board.rows()) {
      items_[row.cell()] = compared_.items_size();
      compared_.add_items("small/cells/" + std::to_string(row.cell()));
    }
    ASSERT_TRUE(experiments_->Compare(deadline().get(), compared_, &comparison_).ok());
    read_export();
  }

  void run(FakeWorker& worker, const Assigned& work) {
    const bool fast = work.config["recipe"]["options"].value("lr", 0.0) == 0.003;
    const World::Fate fate = world_.fate(work.prior, fast, work.seed);
    const bool trains = work.grant.kind() == "train";
    if ((fate == World::Fate::kFails && trains) || (fate == World::Fate::kUntested && !trains)) {
      ASSERT_TRUE(worker.fail(work, "diverged", "the loss became NaN").ok());
      return;
    }
    worker.run(work, [&](const std::string& prior, std::int64_t seed, int resolution) {
      return world_.score(prior, fast, seed, resolution);
    });
  }

  v1::PaperTable paper(const std::string& metric) {
    v1::GetPaperTableRequest request;
    request.add_experiments("small");
    request.add_rows("prior");
    request.add_rows("train.lr");
    request.add_metrics()->set_metric(metric);
    v1::PaperTable out;
    EXPECT_TRUE(analysis_->GetPaperTable(deadline().get(), request, &out).ok());
    return out;
  }

  // Of a leaderboard's row: both label by prior and learning rate.
  static const v1::PaperCell& same_row(const v1::PaperTable& table, const v1::TableRow& row) {
    for (int i = 0; i < table.rows_size(); ++i) {
      if (table.rows(i).labels(0) + ", lr=" + table.rows(i).labels(1) == row.label()) return table.cells(i);
    }
    ADD_FAILURE() << row.label();
    return table.cells(0);
  }

  const v1::ComparedResult& compared(const std::string& metric, const std::string& labels) const {
    for (const v1::ComparedResult& one : comparison_.results()) {
      if (one.key().metric() == metric && one.key().labels() == labels) return one;
    }
    ADD_FAILURE() << metric << " " << labels;
    return comparison_.results(0);
  }

  // Values by metric with labels, by cell.
  void read_export() {
    v1::ExportExperimentRequest request;
    request.set_name("small");
    request.set_without_points(true);
    const auto context = deadline();
    const auto reader = experiments_->ExportExperiment(context.get(), request);
    std::string text;
    for (v1::ExportExperimentResponse part; reader->Read(&part);) text += part.chunk();
    std::map<std::int64_t, int> cells;  // of stages
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const Json json = Json::parse(line);
      if (json.contains("stages") && json.contains("seed")) {
        for (const auto& [role, stage] : json["stages"].items()) cells[stage.get<std::int64_t>()] = json["cell"];
      }
      if (!json.contains("reducer")) continue;
      const Json& value = json["value"];
      const std::string key = json["metric"].get<std::string>() + canonical_json(json["labels"]);
      exported_[key][cells.at(json["stage"])].push_back(value.is_number() ? value.get<double>()
                                                                          : std::numeric_limits<double>::quiet_NaN());
    }
  }

  const World world_{GetParam()};
  v1::CompareRequest compared_;
  std::map<std::int64_t, int> items_;  // of the comparison, by cell
  v1::Comparison comparison_;
  std::map<std::string, std::map<int, std::vector<double>>> exported_;
};

TEST_P(Agreement, OfMeansDeviationsIntervalsAndCounts) {
  const v1::Table board = table("small");
  const v1::PaperTable pivot = paper("top1");
  ASSERT_EQ(board.rows_size(), 6);
  const v1::ComparedResult& result = compared("top1", R"({"resolution":28})");
  for (const v1::TableRow& row : board.rows()) {
    SCOPED_TRACE(row.label());
    const int item = items_.at(row.cell());
    const v1::PaperCell& cell = same_row(pivot, row);
    EXPECT_EQ(cell.n(), row.n());
    EXPECT_TRUE(same(cell.mean(), row.mean()));
    EXPECT_TRUE(same(cell.std(), row.std()));
    EXPECT_TRUE(same(cell.low(), row.ci_low()));
    EXPECT_TRUE(same(cell.high(), row.ci_high()));
    EXPECT_EQ(cell.missing_seeds_size(), row.missing_seeds_size());
    EXPECT_EQ(result.n(item), row.n());
    EXPECT_TRUE(same(result.mean(item), row.mean()));
    EXPECT_TRUE(same(result.std(item), row.std()));
    const SampleSummary exported = summarize_sample(exported_[R"(top1{"resolution":28})"][row.cell()], 0.95);
    EXPECT_EQ(exported.n, row.n());
    EXPECT_TRUE(same(exported.mean, row.mean()));
  }
}

TEST_P(Agreement, OfCosts) {
  const v1::Table board = table("small");
  const v1::PaperTable pace = paper("ms_per_step"), size = paper("parameters");
  for (const v1::TableRow& row : board.rows()) {
    SCOPED_TRACE(row.label());
    EXPECT_TRUE(same(same_row(pace, row).mean(), row.ms_per_step()));
    EXPECT_TRUE(same(same_row(pace, row).std(), row.ms_per_step_std()));
    EXPECT_TRUE(same(compared("ms_per_step", "{}").mean(items_.at(row.cell())), row.ms_per_step()));
    EXPECT_TRUE(same(compared("ms_per_step", "{}").std(items_.at(row.cell())), row.ms_per_step_std()));
    EXPECT_TRUE(same(summarize_sample(exported_["ms_per_step{}"][row.cell()], 0.95).mean, row.ms_per_step()));
    EXPECT_EQ(same_row(size, row).mean(), static_cast<double>(row.parameters()));
    EXPECT_EQ(compared("parameters", "{}").mean(items_.at(row.cell())), static_cast<double>(row.parameters()));
  }
}

TEST_P(Agreement, OfDifferencesAndWhatIsNotMarked) {
  const v1::Table board = table("small");
  const v1::PaperTable pivot = paper("top1");
  int paired = 0;
  for (const v1::TableRow& row : board.rows()) {
    SCOPED_TRACE(row.label());
    const v1::PaperCell& cell = same_row(pivot, row);
    EXPECT_EQ(cell.pairs(), row.pairs());
    EXPECT_EQ(cell.significant(), row.pairs() > 0 && row.p_holm() <= pivot.alpha());
    if (row.pairs() == 0) continue;
    ++paired;
    EXPECT_EQ(cell.test(), std::isnan(cell.p()) ? "" : "sign-flip");
    EXPECT_TRUE(same(cell.difference(), row.difference()));
    EXPECT_TRUE(same(cell.difference_low(), row.difference_low()));
    EXPECT_TRUE(same(cell.p(), row.p_sign_flip()));
    EXPECT_TRUE(same(cell.p_adjusted(), row.p_holm()));
  }
  if (!world_.drawn()) EXPECT_EQ(paired, 3) << "violin at 0.003 shares no seed with the baseline";
  EXPECT_EQ(board.correction(), pivot.correction());
  EXPECT_EQ(pivot.baseline(), "learned-absolute, same train.lr");
  EXPECT_EQ(board.baseline(), pivot.baseline());
}

TEST_P(Agreement, OfPairedDifferencesWithTheComparison) {
  const v1::Table board = table("small");
  for (const v1::TableRow& row : board.rows()) {
    if (row.baseline() || row.pairs() == 0) continue;
    SCOPED_TRACE(row.label());
    v1::CompareRequest request;
    request.add_items("small/cells/" + std::to_string(row.baseline_cell()));
    request.add_items("small/cells/" + std::to_string(row.cell()));
    v1::Comparison out;
    ASSERT_TRUE(experiments_->Compare(deadline().get(), request, &out).ok());
    ASSERT_EQ(out.paired_size(), 1);
    EXPECT_EQ(out.paired(0).n(), row.pairs());
    EXPECT_TRUE(same(out.paired(0).mean(), row.difference()));
    EXPECT_TRUE(same(out.paired(0).std(), row.difference_std()));
    EXPECT_TRUE(same(out.paired(0).low(), row.difference_low()));
    EXPECT_TRUE(same(out.paired(0).p_sign_flip(), row.p_sign_flip()));
    EXPECT_TRUE(same(out.paired(0).p_t(), row.p_t()));
  }
}

INSTANTIATE_TEST_SUITE_P(Worlds, Agreement, testing::Range(0u, 13u),
                         [](const auto& world) { return "World" + std::to_string(world.param); });

class Comparing : public ServerTest {};

TEST_F(Comparing, WritesSettingsUnderThePathsThatSpecificationsUse) {
  start();
  submit(small_specification());
  submit(small_specification({{"name", "fast"},
                              {"train", {{"lr", 0.01}}},
                              {"matrix", Json::parse(R"({"prior": [{"violin": {"sigma": 0.1}}]})")},
                              {"baseline", nullptr}}));
  FakeWorker worker(channel_, "one");
  ASSERT_TRUE(worker.register_with().ok());
  worker.run_all(planned_score);
  v1::CompareRequest request;
  request.add_items("small/8");
  request.add_items("fast/2");
  v1::Comparison out;
  ASSERT_TRUE(experiments_->Compare(deadline().get(), request, &out).ok());
  std::map<std::string, std::string> differing;
  for (const auto& setting : out.differing()) differing[setting.path()] = setting.values(1);
  EXPECT_THAT(differing,
              testing::ElementsAre(testing::Pair("prior", "violin (sigma=0.1)"), testing::Pair("train.lr", "0.01")));
  ASSERT_EQ(out.differing(0).parts_size(), 1);
  EXPECT_EQ(out.differing(0).parts(0).path(), "prior.violin.sigma");
  EXPECT_EQ(out.differing(0).parts(0).values_json(1), "0.1");
  EXPECT_EQ(out.items(1).title(), "violin (sigma=0.1), lr=0.01");
  std::set<std::string> common;
  for (const auto& setting : out.common()) common.insert(setting.path());
  EXPECT_THAT(common, testing::IsSupersetOf({"dataset", "model.dim", "train.epochs", "evaluate.resolution", "seed"}));
  request.set_metric("top9");
  EXPECT_EQ(wire_error(experiments_->Compare(deadline().get(), request, &out)).field, "metric");
}

}  // namespace
}  // namespace locus::test
