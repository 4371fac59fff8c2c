// Contract: what is kept beside the work: tags and notes, samples of machines, alerts.
#include "core/limits.h"
#include "tests/storage/store_contract.h"

namespace locus::testing {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;

const SeriesKey kCpu{"system/cpu_percent", "", "{}"}, kGpu{"system/gpu_percent", "", R"({"gpu":1})"};

class BesideContract : public StoreContract {
 protected:
  void sample(Microseconds now, double value) {
    const Mutation add = AddAttemptSample{1, 1, "session-a", {0, 7, {{kCpu, value}}}};
    const absl::Status status = store().apply({&add, 1}, now);
    ASSERT_TRUE(status.ok()) << status;
  }
  std::vector<Microseconds> times() {
    std::vector<Microseconds> out;
    for (const AttemptSample& one : get(store().samples(1))) out.push_back(one.sample.time_us);
    return out;
  }
};
LOCUS_STORE_CONTRACT(BesideContract);

TEST_P(BesideContract, KeepsOfEveryExtensionWhatWasAnnouncedLast) {
  EXPECT_TRUE(get(store().extensions()).empty());
  const ExtensionRow own{"own-prior", "plugin", std::string(64, 'a'), R"([{"id":"mine","kind":"prior"}])", 7};
  ExtensionRow newer = own;
  newer.digest = std::string(64, 'b'), newer.items_json = "[]", newer.loaded_us = 9;
  const ExtensionRow other{"an-own", "training", std::string(64, 'c'), "[]", 8};
  must({PutExtension{own}, PutExtension{other}});
  EXPECT_THAT(get(store().extensions()), ElementsAre(other, own));
  must({PutExtension{newer}});
  EXPECT_THAT(get(store().extensions()), ElementsAre(other, newer));
  must({RemoveExtension{"own-prior"}, RemoveExtension{"own-prior"}});
  EXPECT_THAT(get(store().extensions()), ElementsAre(other));
}

TEST_P(BesideContract, KeepsTagsSortedOnceAndTheNewestNote) {
  make_world();
  must({Annotate{.experiment = 1, .add = {"paper", "baseline", "paper"}, .remove = {}, .note = "first"}});
  must({Annotate{.experiment = 1, .add = {"a"}, .remove = {"paper", "unknown"}, .note = {}}});
  must({Annotate{.experiment = 1, .trial = 1, .add = {"outlier"}, .remove = {}, .note = "line\n\"two\" é"}});
  auto all = get(store().annotations(1));
  ASSERT_EQ(all.size(), 2u);
  EXPECT_THAT(all[kWholeExperiment].tags, ElementsAre("a", "baseline"));
  EXPECT_EQ(all[kWholeExperiment].note, "first");
  EXPECT_EQ(all[1].note, "line\n\"two\" é");
  must({Annotate{.experiment = 1, .trial = 1, .add = {}, .remove = {"outlier"}, .note = ""}});
  EXPECT_EQ(get(store().annotations(1)).size(), 1u);
}

TEST_P(BesideContract, RefusesAnnotationsOfWhatIsNotThereAndTooManyTags) {
  make_world();
  const Annotate unknown{.experiment = 9, .add = {"a"}, .remove = {}, .note = {}};
  expect_refused({unknown}, StatusCode::kNotFound, "EXPERIMENT_NOT_FOUND");
  const Annotate trial{.experiment = 1, .trial = 9, .add = {"a"}, .remove = {}, .note = {}};
  expect_refused({trial}, StatusCode::kNotFound, "TRIAL_NOT_FOUND");
  Annotate many{.experiment = 1, .add = {}, .remove = {}, .note = {}};
  for (int i = 0; i <= kTagsMost; ++i) many.add.push_back("tag" + std::to_string(i));
  const auto status = apply(store(), {many});
  EXPECT_EQ(reason_of(status), "LIMIT_EXCEEDED");
  EXPECT_TRUE(get(store().annotations(1)).empty());
}

TEST_P(BesideContract, KeepsSamplesOfAnAttemptWithStepAndLabels) {
  make_world();
  must({grant(1, 1)});
  must({AddAttemptSample{1, 1, "session-a", {0, 7, {{kCpu, 187.25}, {kGpu, 12}}}}});
  const auto samples = get(store().samples(1));
  ASSERT_EQ(samples.size(), 1u);
  EXPECT_EQ(samples[0].attempt, 1);
  EXPECT_EQ(samples[0].sample.time_us, kNow) << "the store's clock, not the worker's";
  EXPECT_EQ(samples[0].sample.step, 7);
  EXPECT_EQ(samples[0].sample.values.at(kCpu), 187.25);
  EXPECT_EQ(samples[0].sample.values.at(kGpu), 12);
  EXPECT_TRUE(get(store().series(1)).empty()) << "samples are no points";
  EXPECT_TRUE(get(store().results(1)).empty());
}

TEST_P(BesideContract, TakesSamplesFromTheAttemptsSessionAlone) {
  make_world();
  must({grant(1, 1)});
  const auto refused = [&](const AddAttemptSample& add) { return reason_of(apply(store(), {add})); };
  EXPECT_EQ(refused({1, 1, "another", {0, 0, {{kCpu, 1}}}}), "STALE_ATTEMPT");
  EXPECT_EQ(refused({1, 2, "session-a", {0, 0, {{kCpu, 1}}}}), "STALE_ATTEMPT");
  EXPECT_EQ(refused({9, 1, "session-a", {0, 0, {{kCpu, 1}}}}), "STAGE_NOT_FOUND");
  EXPECT_EQ(reason_of(apply(store(), {AddWorkerSample{"another", {0, 0, {{kCpu, 1}}}}})), "WORKER_NOT_FOUND");
  EXPECT_TRUE(get(store().samples(1)).empty());
}

TEST_P(BesideContract, ThinsTheSamplesOfALongAttemptEvenly) {
  make_world();
  must({grant(1, 1)});
  constexpr Microseconds kApart = 5'000'000;
  for (int i = 0; i < 1000; ++i) sample(kNow + i * kApart, i);
  const auto kept = times();
  EXPECT_LE(kept.size(), static_cast<std::size_t>(kSamplesPerAttempt));
  EXPECT_GT(kept.size(), static_cast<std::size_t>(kSamplesPerAttempt) / 3);
  EXPECT_EQ(kept.front(), kNow);
  EXPECT_GT(kept.back(), kNow + 980 * kApart) << "the newest are there";
  Microseconds widest = 0;
  for (std::size_t i = 1; i < kept.size(); ++i) widest = std::max(widest, kept[i] - kept[i - 1]);
  EXPECT_LE(widest, 1000 * kApart / (kSamplesPerAttempt / 4)) << "no stretch is left out";
}

TEST_P(BesideContract, KeepsTheLastHourOfAWorker) {
  make_world();
  for (const Microseconds minute : {0, 30, 59, 61, 100}) {
    const Mutation add = AddWorkerSample{"session-a", {0, 0, {{kCpu, static_cast<double>(minute)}}}};
    ASSERT_TRUE(store().apply({&add, 1}, minute * 60'000'000).ok());
  }
  std::vector<double> values;
  for (const SystemSample& one : get(store().worker_samples(1))) values.push_back(one.values.at(kCpu));
  EXPECT_THAT(values, ElementsAre(59, 61, 100));
}

TEST_P(BesideContract, RemembersTheLastAlertOfEachExperimentUntilAllAreForgotten) {
  make_world();
  must({PutAlert{{0, "", AlertOutcome::kNone, "", 5}}, PutAlert{{1, "active", AlertOutcome::kNone, "", 6}}});
  must({PutAlert{{1, "completed", AlertOutcome::kFailed, "exited with status 1", 7}}});
  const auto rows = get(store().alerts());
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].time_us, 5);
  EXPECT_EQ(rows[1].state, "completed");
  EXPECT_EQ(rows[1].outcome, AlertOutcome::kFailed);
  EXPECT_EQ(rows[1].detail, "exited with status 1");
  expect_refused({PutAlert{{9, "active", AlertOutcome::kNone, "", 6}}}, StatusCode::kNotFound, "EXPERIMENT_NOT_FOUND");
  must({ForgetAlerts{}});
  EXPECT_TRUE(get(store().alerts()).empty());
}

TEST_P(BesideContract, GoesWithTheExperiment) {
  make_world();
  must({grant(1, 1), AddAttemptSample{1, 1, "session-a", {0, 0, {{kCpu, 1}}}},
        end(1, 1, AttemptState::kCancelled, StageState::kCancelled)});
  must({Annotate{.experiment = 1, .add = {"a"}, .remove = {}, .note = {}},
        Annotate{.experiment = 1, .trial = 0, .add = {"b"}, .remove = {}, .note = {}},
        PutAlert{{1, "cancelled", AlertOutcome::kSent, "", 6}}});
  must({DeleteExperiment{1}});
  while (get(store().next_purge(1)).left) must({PurgeDeleted{1}});
  EXPECT_TRUE(get(store().annotations(1)).empty());
  EXPECT_TRUE(get(store().alerts()).empty());
  const auto report = store().check();
  EXPECT_TRUE(!report.ok() || report->problems.empty());
}

}  // namespace
}  // namespace locus::testing
