// Searches conducted: what is observed, decided and linked as their trainings park, end and fail.
#include "core/conduct/conduct.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scheduling/support/harness.h"

namespace locus::testing {
namespace {

using ::testing::ElementsAre;

constexpr std::int64_t kFirstRung = 10;  // steps

// A search over the cells that are stored, a seed each, trained in 30 steps of 3 epochs.
class MadeUpScript : public SearchScript {
 public:
  explicit MadeUpScript(Store& store) : store_(store) {
    search.advance.rule = AdvanceRule::kHalve;
    search.advance.rungs = {1, 3};
    search.advance.keep = {1, 2};
  }

  absl::StatusOr<std::size_t> phases(const ExperimentRow&) override { return 1; }

  absl::StatusOr<SearchSetup> setup(const ExperimentRow& experiment, std::size_t,
                                    std::span<const std::vector<ChosenCandidate>>) override {
    SearchSetup out;
    out.search = search;
    out.groups = {"{}"};
    out.metric = "top1";
    out.split = "test";
    out.steps_per_epoch = 10;
    out.last_step = 30;
    const auto views = store_.trials(experiment.id, -1, 1000);
    if (!views.ok()) return views.status();
    for (const TrialView& view : *views) {
      if (view.trial.retired) continue;
      SearchUnitRow& unit = out.units.emplace_back();
      unit.proposal = unit.cell = view.trial.cell;
      unit.trials = {view.trial.ordinal};
    }
    return out;
  }

  absl::StatusOr<std::map<std::int64_t, TrialStages>> stages(const ExperimentRow& experiment,
                                                             std::span<const std::int64_t> trials,
                                                             std::span<const std::vector<ChosenCandidate>>) override {
    const auto cells = store_.cells(experiment.id);
    if (!cells.ok()) return cells.status();
    const auto views = store_.trials(experiment.id, -1, 1000);
    if (!views.ok()) return views.status();
    std::map<std::int64_t, TrialStages> out;
    for (const TrialView& view : *views) {
      if (std::find(trials.begin(), trials.end(), view.trial.ordinal) == trials.end()) continue;
      TrialStages::Planned training;
      training.role = training.kind = "train";
      training.identity = train_identity((*cells)[static_cast<std::size_t>(view.trial.cell)].label, view.trial.seed);
      training.config_json = "{}";
      training.seed = view.trial.seed;
      out[view.trial.ordinal].stages = {training};
    }
    return out;
  }

  Search search;

 private:
  Store& store_;
};

struct ConductedWorld {
  // All cells and trials, no stages and no links.
  void submit(const std::string& name = "matrix") {
    Matrix matrix{.name = name, .cells = {"a", "b", "c", "d"}, .evaluate = false};
    ExperimentSubmitted event = submission(matrix, h.store());
    event.links.clear();
    event.stages.clear();
    event.reply = 1'000'000 + submitted_++;
    h.step(std::move(event));
  }
  ExperimentId id(const std::string& name = "matrix") { return h.store().experiment(name).value().id; }

  // How many events it takes until nothing is due.
  int conduct(const std::string& name = "matrix") {
    for (int events = 0; events < 100; ++events) {
      if (forgetful) conductor = std::make_unique<Conductor>(h.store(), script);
      auto event = conductor->next(id(name));
      EXPECT_TRUE(event.ok()) << event.status();
      if (!event.ok() || !*event) return events;
      EXPECT_TRUE(h.decide(**std::move(event))) << h.last_error();
    }
    ADD_FAILURE() << "it never waits";
    return 0;
  }

  // The next granted training goes as far as it may, with this value at its stop point or end.
  bool train(double value) {
    if (!joined_) joined_ = h.join("w", "s");
    const auto grant = h.ask("s");
    if (!grant) return false;
    PointBatch points;
    points.series = {{"top1", "test", "{}"}};
    points.series_index = {0};
    points.step = {grant->until_step > 0 ? grant->until_step : 30};
    points.epoch = {1};
    points.images = {1};
    points.time_us = {1};
    points.value = {value};
    EXPECT_TRUE(h.store().append({grant->stage_id, grant->attempt, 1, points}, h.now().wall).ok());
    const bool ended = grant->until_step > 0 ? h.park("s", *grant, grant->until_step) : h.succeed("s", *grant);
    EXPECT_TRUE(ended) << h.last_error();
    return ended;
  }

  std::vector<std::string> kinds(const std::string& name = "matrix") {
    std::vector<std::string> out;
    const auto rows = h.store().decisions(id(name), 0, 0);
    EXPECT_TRUE(rows.ok());
    for (const DecisionRow& row : *rows) out.push_back(row.kind);
    return out;
  }
  std::vector<std::string> texts() {
    std::vector<std::string> out;
    const auto rows = h.store().decisions(id(), 0, 0);
    EXPECT_TRUE(rows.ok());
    for (const DecisionRow& row : *rows) out.push_back(row.kind + " " + row.json);
    return out;
  }
  std::int64_t until(std::int64_t trial) {
    const auto views = h.store().trials(id(), trial - 1, 1);
    const bool linked = views.ok() && !views->empty() && !views->front().stages.empty();
    EXPECT_TRUE(linked) << trial;
    if (!linked) return -2;
    return views->front().stages.front().link.until_step;
  }
  // Halves four cells of which b and d are better.
  void run_to_the_end() {
    submit();
    conduct();
    for (const double value : {0.1, 0.4, 0.2, 0.3}) {
      ASSERT_TRUE(train(value));
      if (forgetful) h.restart(), joined_ = false;
      conduct();
    }
    ASSERT_TRUE(train(0.5));
    conduct();
    ASSERT_TRUE(train(0.6));
    conduct();
  }

  Harness h;
  MadeUpScript script{h.store()};
  std::unique_ptr<Conductor> conductor = std::make_unique<Conductor>(h.store(), script);
  bool forgetful = false;  // asks a new conductor each time, and restarts the server in between

 private:
  int submitted_ = 0;
  bool joined_ = false;
};

struct Conducted : ::testing::Test, ConductedWorld {};

TEST_F(Conducted, BeginsAndLinksEveryCellToItsFirstRung) {
  submit();
  EXPECT_EQ(conduct(), 1);
  EXPECT_THAT(kinds(), ElementsAre("begin", "propose")) << texts().back();
  for (std::int64_t trial = 0; trial < 4; ++trial) EXPECT_EQ(until(trial), kFirstRung);
  EXPECT_EQ(h.train("a").state, StageState::kQueued);
  EXPECT_EQ(conduct(), 0) << "nothing has become known";
}

TEST_F(Conducted, LooksNoFurtherThanItIsToldToAndDecidesTheSame) {
  submit();
  conduct();
  for (const auto& [trial, value] : std::map<std::int64_t, double>{{0, 0.1}, {1, 0.4}, {2, 0.2}, {3, 0.3}}) {
    ASSERT_TRUE(train(value));
    const std::set<std::int64_t> nothing, moved = {trial};
    EXPECT_FALSE(conductor->next(id(), nullptr, &nothing).value()) << "nobody says of which trial";
    auto event = conductor->next(id(), nullptr, &moved).value();
    const auto whole = Conductor(h.store(), script).next(id()).value();
    ASSERT_TRUE(event && whole);
    EXPECT_EQ(event->decisions.rows, whole->decisions.rows);
    ASSERT_EQ(event->links.size(), whole->links.size());
    for (std::size_t i = 0; i < event->links.size(); ++i) {
      EXPECT_EQ(event->links[i].trial, whole->links[i].trial);
      EXPECT_EQ(event->links[i].until_step, whole->links[i].until_step);
    }
    ASSERT_TRUE(h.decide(*std::move(event))) << h.last_error();
  }
  EXPECT_EQ(conduct(), 0);
}

TEST_F(Conducted, ObservesParkedTrainingsAndSendsTheBetterHalfOn) {
  submit();
  conduct();
  for (const double value : {0.1, 0.4, 0.2}) {
    ASSERT_TRUE(train(value));
    conduct();
  }
  EXPECT_EQ(until(1), kFirstRung) << "the barrier waits for the fourth";
  ASSERT_TRUE(train(0.3));
  conduct();
  EXPECT_EQ(until(1), kToTheEnd);
  EXPECT_EQ(until(3), kToTheEnd);
  EXPECT_EQ(until(0), kNoFurther);
  EXPECT_EQ(until(2), kNoFurther);
  EXPECT_EQ(h.train("b").state, StageState::kQueued);
  EXPECT_EQ(h.train("a").state, StageState::kParked);
}

TEST_F(Conducted, EndsWhenTheLastRungIsThere) {
  run_to_the_end();
  EXPECT_EQ(h.store().search(id())->state, SearchState::kEnded);
  EXPECT_EQ(kinds().back(), "end");
  EXPECT_FALSE(train(0.9)) << "nothing is left to run";
  EXPECT_EQ(conduct(), 0);
}

TEST_F(Conducted, DecidesTheSameAfterEveryRestart) {
  run_to_the_end();
  const std::vector<std::string> undisturbed = texts();
  ConductedWorld other;
  other.forgetful = true;
  other.run_to_the_end();
  EXPECT_EQ(other.texts(), undisturbed);
}

TEST_F(Conducted, TakesWhatOlderExperimentsKnowAndTrainsNothingTwice) {
  run_to_the_end();
  submit("again");
  conduct("again");
  EXPECT_EQ(h.store().search(id("again"))->state, SearchState::kEnded);
  EXPECT_FALSE(train(0.9));
}

TEST_F(Conducted, JudgesWhatFailedForGoodAsWorst) {
  submit();
  conduct();
  ASSERT_TRUE(train(0.1));
  const auto grant = h.ask("s");
  ASSERT_TRUE(grant);
  ASSERT_TRUE(h.fail("s", *grant, FailureClass::kDiverged));
  ASSERT_TRUE(train(0.2));
  ASSERT_TRUE(train(0.3));
  conduct();
  EXPECT_EQ(until(2), kToTheEnd);
  EXPECT_EQ(until(3), kToTheEnd);
  EXPECT_EQ(until(0), kNoFurther);
}

TEST_F(Conducted, DecidesNothingWhileItsExperimentIsCancelled) {
  submit();
  conduct();
  ASSERT_TRUE(h.set_state("matrix", ExperimentState::kCancelled));
  EXPECT_EQ(conduct(), 0);
  SearchWish wish;
  wish.decision = OverrideDecision{};
  EXPECT_EQ(conductor->next(id(), &wish).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(Conducted, BeginsAnotherGenerationUnderOtherRules) {
  submit();
  conduct();
  ASSERT_TRUE(train(0.1));
  conduct();
  script.search.advance.rungs = {2, 3};
  conductor = std::make_unique<Conductor>(h.store(), script);
  conduct();
  EXPECT_EQ(h.store().search(id())->generation, 2);
  EXPECT_EQ(until(1), 2 * kFirstRung);
}

TEST_F(Conducted, GoesOnWhereOnlyTheBudgetChanged) {
  submit();
  conduct();
  script.search.budget.epochs = 1000;
  conductor = std::make_unique<Conductor>(h.store(), script);
  conduct();
  EXPECT_EQ(h.store().search(id())->generation, 1);
  EXPECT_EQ(kinds().at(2), "begin");
}

// ---- a client's proposals ----

struct Proposed : Conducted {
  Proposed() {
    script.search = {};
    script.search.proposer = Proposer::kExternal;
    script.search.parallel = 6;
    submit();
    conduct();
  }
  static SearchWish wish(const std::string& label, const std::string& request) {
    SearchWish out;
    ProposeDecision propose;
    propose.added = {{.cell = 0, .trials = {0}}};
    out.decision = propose;
    out.request_id = request;
    out.cells = {{0, "{\"prior\":\"" + label + "\"}", label, "{}"}};
    out.trials = {{0, 0, 7, false}};
    return out;
  }
};

TEST_F(Proposed, AddCellsAndRunThem) {
  const SearchWish one = wish("new", "r1");
  auto event = conductor->next(id(), &one);
  ASSERT_TRUE(event.ok()) << event.status();
  ASSERT_TRUE(*event);
  ASSERT_TRUE(h.decide(**std::move(event))) << h.last_error();
  conduct();
  EXPECT_EQ(h.store().cells(id())->back().label, "new");
  EXPECT_EQ(until(4), kToTheEnd);
  EXPECT_EQ(h.store().decision_of_request("r1")->first, id());
}

TEST_F(Proposed, AreTakenOnceHoweverOftenTheyAreAskedFor) {
  const SearchWish one = wish("new", "r1");
  ASSERT_TRUE(h.decide(*conductor->next(id(), &one).value()));
  conduct();
  const auto again = conductor->next(id(), &one);
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(*again);
  EXPECT_EQ(h.store().cells(id())->size(), 5u);
}

TEST_F(Proposed, AreRefusedBeyondWhatMayBeUnfinished) {
  script.search.parallel = 1;
  conductor = std::make_unique<Conductor>(h.store(), script);
  conduct();
  const SearchWish one = wish("new", "r1");
  const absl::Status refused = conductor->next(id(), &one).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(has_reason(refused, ErrorReason::kSearchExhausted));
}

}  // namespace
}  // namespace locus::testing
