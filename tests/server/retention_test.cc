// What becomes of the audit when the clock jumps.
#include "server/runtime/retention.h"

#include <gmock/gmock.h>

#include "core/identity/audit.h"
#include "core/limits.h"
#include "storage/memory/store.h"

namespace locus::test {
namespace {

using ::testing::ElementsAre;

constexpr Microseconds kHour = 3'600'000'000, kDay = 24 * kHour, kYear = 365 * kDay;
constexpr Microseconds kToday = 1'800'000'000'000'000;  // 2027
constexpr Microseconds kSweepEvery = kHour / 6;

// Two clocks that go on together, until the wall clock is set.
struct PlantedClock final : Clock {
  Microseconds wall() const override { return wall_us; }
  Microseconds steady() const override { return steady_us; }
  Microseconds wall_us = kToday, steady_us = 7 * kDay;
};

class RetentionTest : public ::testing::Test {
 protected:
  void write(Microseconds when) {
    const Mutation row = AppendAudit{{.principal = "ada", .via = "token", .rpc = "login", .outcome = "ok"}};
    ASSERT_TRUE(store_->apply({&row, 1}, when).ok());
  }
  void run(Microseconds for_us) {
    for (Microseconds gone = 0; gone < for_us; gone += kSweepEvery) {
      clock_.wall_us += kSweepEvery, clock_.steady_us += kSweepEvery;
      ASSERT_TRUE(retention_->forget_old().ok());
    }
  }
  void restart() {
    retention_ = std::make_unique<server::Retention>(*store_, clock_);
    ASSERT_TRUE(retention_->forget_old().ok());
  }
  std::vector<AuditRow> rows() const { return store_->identity().audit(0, 10'000).value(); }
  std::vector<std::string> verify() const {
    AuditVerifier verifier(store_->identity().audit_chain().value());
    const auto kept = rows();
    for (const AuditRow& row : kept) verifier.add(row);
    return verifier.finish();
  }

  std::unique_ptr<Store> store_ = make_memory_store();
  PlantedClock clock_;
  std::unique_ptr<server::Retention> retention_ = std::make_unique<server::Retention>(*store_, clock_);
};

TEST_F(RetentionTest, AClockThatJumpsForYearsCostsTwiceTheTimeThatItWasWrong) {
  for (Microseconds age = 300 * kDay; age >= 0; age -= kDay) write(kToday - age);
  restart();
  clock_.wall_us += 10 * kYear;
  run(5 * kDay);
  ASSERT_EQ(rows().size(), 291u) << "ten days of 301";
  EXPECT_EQ(rows().front().time_us, kToday - 290 * kDay);
  EXPECT_THAT(verify(), ElementsAre());
  clock_.wall_us -= 10 * kYear;
  run(50 * kDay);
  EXPECT_EQ(rows().size(), 291u) << "and none while it is right";
}

TEST_F(RetentionTest, AJumpAtTheStartTakesNothing) {
  for (Microseconds age = 300 * kDay; age >= 0; age -= kDay) write(kToday - age);
  clock_.wall_us += 10 * kYear;
  restart();
  restart();
  EXPECT_EQ(rows().size(), 301u);
}

TEST_F(RetentionTest, FewRowsAreNoSoonerGoneThanMany) {
  for (const Microseconds age : {300 * kDay, 200 * kDay, 100 * kDay}) write(kToday - age);
  restart();
  clock_.wall_us += 2 * kYear;
  run(49 * kDay);
  EXPECT_EQ(rows().size(), 2u) << "the first alone: the second is a hundred days younger";
  EXPECT_THAT(verify(), ElementsAre());
}

TEST_F(RetentionTest, LetsGoOfWhatIsOldAsTimeGoesOn) {
  for (Microseconds age = 400 * kDay; age >= 0; age -= kDay) write(kToday - age);
  restart();
  run(30 * kDay);
  EXPECT_EQ(rows().front().time_us, kToday - 370 * kDay);
  EXPECT_THAT(verify(), ElementsAre());
}

TEST_F(RetentionTest, CatchesUpAfterAPauseAtTwiceThePace) {
  for (Microseconds age = 430 * kDay; age >= 0; age -= kDay) write(kToday - age);
  restart();
  run(20 * kDay);
  EXPECT_EQ(rows().front().time_us, kToday - 390 * kDay);
  run(20 * kDay);
  EXPECT_EQ(rows().front().time_us, kToday - 360 * kDay) << "and is back at 400 days of age";
}

TEST_F(RetentionTest, BeginsToCountWithTheFirstRow) {
  restart();
  run(kDay);
  write(clock_.wall_us);
  write(clock_.wall_us);
  clock_.wall_us += 10 * kYear;
  ASSERT_TRUE(retention_->forget_old().ok());
  EXPECT_EQ(rows().size(), 2u);
}

TEST_F(RetentionTest, RowsOfTheFutureGiveNothingAway) {
  write(kToday + 20 * kYear);
  for (int i = 0; i < 5; ++i) write(kToday);
  restart();
  clock_.wall_us += 30 * kYear;
  run(kDay);
  EXPECT_EQ(rows().size(), 6u);
}

}  // namespace
}  // namespace locus::test
