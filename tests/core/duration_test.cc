// Lengths of time as people write them.
#include "core/base/duration.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace locus {
namespace {

TEST(Duration, IsAWholeNumberAndItsUnit) {
  EXPECT_EQ(*parse_duration("90s", ""), std::chrono::seconds(90));
  EXPECT_EQ(*parse_duration("15m", ""), std::chrono::minutes(15));
  EXPECT_EQ(*parse_duration("23h", ""), std::chrono::hours(23));
  EXPECT_EQ(*parse_duration("2d", ""), std::chrono::hours(48));
  EXPECT_EQ(*parse_duration("0s", ""), std::chrono::seconds(0));
}

TEST(Duration, OfAnotherFormIsRefusedWithItsField) {
  for (const char* text : {"", "15", "m", "-1m", "1.5h", "15 m", "15min", "1h30m", "99999999999999999999s", "3653d"}) {
    const auto parsed = parse_duration(text, "lifetime");
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(error_detail(parsed.status())->field, "lifetime") << text;
  }
}

constexpr Microseconds kNow = 1'796'083'200'000'000;  // 2026-12-01T00:00Z

TEST(Moment, IsALengthFromNowOnOrATimeWithItsZone) {
  EXPECT_EQ(*parse_moment("8h", kNow, ""), kNow + 8 * 3'600'000'000LL);
  for (const char* text :
       {"2026-12-01T08:00Z", "2026-12-01T08:00:00Z", "2026-12-01T09:00+01:00", "2026-12-01T03:30:00.0-04:30"})
    EXPECT_EQ(*parse_moment(text, kNow, ""), kNow + 8 * 3'600'000'000LL) << text;
}

TEST(Moment, ThatIsPastOrOfAnotherFormIsRefusedWithItsField) {
  for (const char* text : {"", "0s", "-1h", "tomorrow", "08:00", "2026-12-01", "2026-12-01T08:00", "2026-13-01T08:00Z",
                           "2026-12-01T00:00Z", "1999-01-01T00:00Z", "2126-12-01T00:00Z", "infinite-future", "3653d"}) {
    const auto parsed = parse_moment(text, kNow, "until");
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(error_detail(parsed.status())->field, "until") << text;
  }
}

}  // namespace
}  // namespace locus
