// When a daemon ends by itself, by a clock of the test's.
#include "worker/app/lifetime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace locus {
namespace {

using testing::HasSubstr;

constexpr Microseconds kOneSec = 1'000'000, kOneMinute = 60 * kOneSec, kOneHour = 60 * kOneMinute;

struct GivenClock : Clock {
  Microseconds wall() const override { return now; }
  Microseconds steady() const override { return now; }
  Microseconds now = 1000 * kOneHour;
};

struct LifetimeTest : testing::Test {
  void pass(Microseconds time) { clock.now += time; }
  GivenClock clock;
};

TEST_F(LifetimeTest, OfWhomNothingIsSaidNeverEnds) {
  Lifetime life(clock, {});
  pass(10'000 * kOneHour);
  EXPECT_EQ(life.over(), "");
  EXPECT_EQ(life.next_look(), std::nullopt);
  EXPECT_EQ(life.poll_timeout(), -1);
  EXPECT_EQ(life.left(), std::nullopt);
}

TEST_F(LifetimeTest, EndsWhenItHasBeenIdleForLong) {
  Lifetime life(clock, {.idle = 15 * kOneMinute, .length = {}});
  pass(15 * kOneMinute - 1);
  EXPECT_EQ(life.over(), "");
  pass(1);
  EXPECT_THAT(life.over(), HasSubstr("nothing to do for 15 min"));
}

TEST_F(LifetimeTest, IsNotIdleWhileItHasWork) {
  Lifetime life(clock, {.idle = 15 * kOneMinute, .length = {}});
  for (int i = 0; i < 10; ++i) {
    pass(10 * kOneMinute);
    life.note_work();
  }
  pass(14 * kOneMinute);
  EXPECT_EQ(life.over(), "");
  pass(kOneMinute);
  EXPECT_NE(life.over(), "");
}

TEST_F(LifetimeTest, EndsWhenItsTimeIsOverEvenWithWork) {
  Lifetime life(clock, {.idle = 0, .length = 23 * kOneHour});
  pass(23 * kOneHour - 1);
  life.note_work();
  EXPECT_EQ(life.over(), "");
  EXPECT_EQ(life.left(), 1);
  pass(1);
  EXPECT_THAT(life.over(), HasSubstr("its time of 23 h is over"));
  pass(kOneHour);
  EXPECT_EQ(life.left(), 0);
}

TEST_F(LifetimeTest, SaysHowLongNothingCanChange) {
  Lifetime ends(clock, {.idle = 0, .length = kOneHour});
  EXPECT_EQ(ends.next_look(), kOneHour);
  EXPECT_EQ(ends.poll_timeout(), 3'600'001) << "never too early";
  Lifetime idles(clock, {.idle = 20 * kOneSec, .length = kOneHour});
  EXPECT_EQ(idles.next_look(), 2 * kOneSec);
  pass(kOneHour - kOneSec);
  EXPECT_EQ(idles.next_look(), kOneSec);
}

TEST(LengthOfLife, IsTheShorterOfWhatIsSaidAndWhatTheJobLeaves) {
  const Microseconds now = 1'000'000 * kOneSec;
  const auto life = [&](Microseconds lifetime, const char* end) {
    return length_of_life(lifetime, end, now, 2 * kOneMinute);
  };
  EXPECT_EQ(life(0, nullptr), std::nullopt);
  EXPECT_EQ(life(kOneHour, nullptr), kOneHour);
  EXPECT_EQ(life(0, "1003600"), kOneHour - 2 * kOneMinute) << "a drain takes time";
  EXPECT_EQ(life(30 * kOneMinute, "1003600"), 30 * kOneMinute);
  EXPECT_EQ(life(2 * kOneHour, "1003600"), kOneHour - 2 * kOneMinute);
}

TEST(LengthOfLife, OfAShortJobIsHalfOfIt) {
  EXPECT_EQ(length_of_life(0, "1060", 1000 * kOneSec, 2 * kOneMinute), 30 * kOneSec);
  EXPECT_EQ(length_of_life(0, "900", 1000 * kOneSec, 2 * kOneMinute), 0) << "it is over";
}

TEST(LengthOfLife, GoesByNoTextThatIsNoTime) {
  for (const char* text : {"", "soon", "12x", "0", "-5", "Unknown", "99999999999999999"})
    EXPECT_EQ(length_of_life(kOneHour, text, 0, 0), kOneHour) << text;
}

}  // namespace
}  // namespace locus
