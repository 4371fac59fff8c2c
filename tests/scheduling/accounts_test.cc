// The book of accounts: what decays, what is charged, whose turn it is, what is bounded.
#include "core/scheduling/accounts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/scheduling/usage.h"

namespace locus::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Microseconds kSecond = 1'000'000, kHour = 3600 * kSecond, kDay = 24 * kHour;
constexpr Microseconds kBegin = 20'000 * kDay;
constexpr std::int64_t kOne = AccountBook::kDevice;
constexpr auto kNormal = ServiceClass::kNormal;

AccountBook book_of(std::vector<AccountRow> rows) {
  AccountBook book(kDay);
  for (const AccountRow& row : rows) book.put(row, kBegin);
  book.take_charged();
  return book;
}

TEST(Decay, HalvesWithEveryHalfLifeAndRunsStraightBetween) {
  EXPECT_EQ(decayed(1000, 0, kDay), 1000);
  EXPECT_EQ(decayed(1000, kDay, kDay), 500);
  EXPECT_EQ(decayed(1000, 2 * kDay, kDay), 250);
  EXPECT_EQ(decayed(1000, kDay / 2, kDay), 750);
  EXPECT_EQ(decayed(1000, kDay + kDay / 2, kDay), 375);
  EXPECT_EQ(decayed(1000, 100 * kDay, kDay), 0);
}

TEST(Decay, LeavesEverythingWhereNoTimeOrLessHasPassed) {
  EXPECT_EQ(decayed(1000, -kDay, kDay), 1000);
  EXPECT_EQ(decayed(0, kDay, kDay), 0);
}

TEST(Decay, NeitherGrowsNorGoesBelowNothingNorOverflows) {
  std::int64_t before = std::int64_t{1} << 61;
  for (int i = 1; i < 400; ++i) {
    const std::int64_t now = decayed(std::int64_t{1} << 61, i * kHour + i * 997, kDay);
    EXPECT_LE(now, before);
    EXPECT_GE(now, 0);
    // Between halves the line lies above the curve, by at most 6 %.
    const double exact = std::ldexp(1.0, 61) * std::exp2(-static_cast<double>(i * kHour + i * 997) / kDay);
    EXPECT_GE(static_cast<double>(now), exact * 0.999);
    EXPECT_LE(static_cast<double>(now), exact * 1.062 + 1);
    before = now;
  }
}

TEST(AccountBook, ChargesWhatIsHeldForAsLongAsItIs) {
  AccountBook book = book_of({{.name = "ada"}});
  const int ada = book.number_of("ada");
  book.hold(ada, 2 * kOne, kNormal, kBegin);
  EXPECT_EQ(book.used(ada, kBegin + 60 * kSecond), 120 * kSecond);
  book.hold(ada, -2 * kOne, kNormal, kBegin + 60 * kSecond);
  EXPECT_EQ(book.used(ada, kBegin + 60 * kSecond), 120 * kSecond);
  EXPECT_EQ(book.used(ada, kBegin + 60 * kSecond + kDay), 60 * kSecond);
  EXPECT_EQ(book.used_lately(ada, kBegin + 60 * kSecond + kDay), 120 * kSecond) << "which does not decay";
  EXPECT_EQ(book.used_lately(ada, kBegin + 31 * kDay), 0);
}

TEST(AccountBook, HasTheSameAfterAReplayFromItsRows) {
  AccountBook book = book_of({{.name = "ada"}}), again(kDay);
  const int ada = book.number_of("ada");
  std::map<std::int64_t, std::int64_t> days;
  UsageRow stored;
  for (int i = 0; i < 50; ++i) {
    book.hold(ada, i % 2 == 0 ? kOne : -kOne, kNormal, kBegin + i * 7 * kHour / 3);
    for (const UsageRow& row : book.take_charged()) {
      stored = row;
      for (const auto& [day, used] : row.by_day) days[day] = used;
    }
  }
  stored.by_day = days;
  again.restore(AccountRow{.name = "ada"});
  again.restore(stored);
  const Microseconds later = kBegin + 9 * kDay;
  EXPECT_EQ(again.used(again.number_of("ada"), later), book.used(ada, later));
  EXPECT_EQ(again.used_lately(again.number_of("ada"), later), book.used_lately(ada, later));
}

// A server that was stopped for a day, or whose clock was set.
TEST(AccountBook, ForgetsByTheClockAfterADayAndNothingWhenTheClockGoesBack) {
  AccountBook book = book_of({{.name = "ada"}});
  const int ada = book.number_of("ada");
  book.hold(ada, kOne, kNormal, kBegin);
  book.hold(ada, -kOne, kNormal, kBegin + kHour);
  EXPECT_EQ(book.used(ada, kBegin + kHour + kDay), kHour / 2);
  EXPECT_EQ(book.used(ada, kBegin - 1000 * kDay), kHour) << "back: nothing decays";
  book.hold(ada, kOne, kNormal, kBegin - 1000 * kDay);
  EXPECT_EQ(book.used(ada, kBegin - 1000 * kDay + kHour), kHour - kHour / 48 + kHour) << "and goes on from there";
  EXPECT_GE(book.used(ada, 0), 0);
}

TEST(AccountBook, ChargesNoMoreThanTwoHoursForATimeOfWhichNothingIsKnown) {
  AccountBook book = book_of({{.name = "ada"}});
  const int ada = book.number_of("ada");
  book.hold(ada, kOne, kNormal, kBegin);
  EXPECT_EQ(book.used(ada, kBegin + 30 * 365 * kDay), 2 * kHour);
}

TEST(AccountBook, ServesWhoHoldsLeastForItsWeightThenWhoHasUsedLeast) {
  AccountBook book = book_of({{.name = "ada", .weight = 2}, {.name = "bob"}});
  const int ada = book.number_of("ada"), bob = book.number_of("bob");
  EXPECT_TRUE(book.before(ada, bob, kBegin)) << "by name";
  book.hold(ada, kOne, kNormal, kBegin);
  EXPECT_TRUE(book.before(bob, ada, kBegin));
  book.hold(bob, kOne, kNormal, kBegin);
  EXPECT_TRUE(book.before(ada, bob, kBegin)) << "half of its weight";
  book.hold(ada, kOne, kNormal, kBegin);
  EXPECT_TRUE(book.before(ada, bob, kBegin)) << "as much for its weight, and as much used";
  EXPECT_TRUE(book.before(ada, bob, kBegin + kHour));
  book.hold(ada, -2 * kOne, kNormal, kBegin + kHour);
  book.hold(bob, -kOne, kNormal, kBegin + 2 * kHour);
  EXPECT_TRUE(book.before(ada, bob, kBegin + 2 * kHour)) << "an hour for each of its weight, bob two";
}

TEST(AccountBook, CountsNothingWhileNobodyHasAShare) {
  AccountBook book(kDay);
  const int ada = book.number_of("ada");
  book.hold(ada, kOne, kNormal, kBegin);
  book.hold(ada, 0, kNormal, kBegin + kHour);
  EXPECT_FALSE(book.shared());
  EXPECT_THAT(book.take_charged(), IsEmpty());
  book.put({.name = "bob"}, kBegin + kHour);
  EXPECT_TRUE(book.shared());
  EXPECT_EQ(book.used(ada, kBegin + kHour), 0);
  EXPECT_EQ(book[ada].holding, kOne) << "what runs counts from then on";
  EXPECT_TRUE(book.remove("bob"));
  EXPECT_FALSE(book.remove("bob"));
  EXPECT_FALSE(book.shared());
}

TEST(AccountBook, NamesTheBoundThatKeepsWorkWaiting) {
  AccountBook book = book_of({{.name = "ada", .devices = 2, .urgent_devices = 1, .device_hours = 3}});
  const int ada = book.number_of("ada");
  EXPECT_TRUE(book.within(ada, 2 * kOne, kNormal, kBegin));
  EXPECT_THAT(book.bound_of(ada, 3 * kOne, kNormal, kBegin),
              HasSubstr("2 devices at a time by weight (devices), holds 0"));
  book.hold(ada, kOne, ServiceClass::kUrgent, kBegin);
  EXPECT_TRUE(book.within(ada, kOne, kNormal, kBegin));
  EXPECT_THAT(book.bound_of(ada, kOne, ServiceClass::kUrgent, kBegin), HasSubstr("urgent_devices"));
  book.hold(ada, -kOne, ServiceClass::kUrgent, kBegin + kHour);
  book.hold(ada, kOne, kNormal, kBegin + kHour);
  book.charge_after(kHour, kBegin + 2 * kHour);
  EXPECT_TRUE(book.within(ada, kOne, kNormal, kBegin + 2 * kHour));
  EXPECT_THAT(book.bound_of(ada, kOne, kNormal, kBegin + 3 * kHour),
              HasSubstr("3 device-hours within 30 days (device_hours), and has used 3"));
}

TEST(AccountBook, WritesPartsOfDevicesAsPeopleDo) {
  EXPECT_EQ(number_text(0), "0");
  EXPECT_EQ(devices_text(1000), "1 device");
  EXPECT_EQ(devices_text(500), "0.5 devices");
  EXPECT_EQ(devices_text(1333), "1.333 devices");
}

}  // namespace
}  // namespace locus::testing
