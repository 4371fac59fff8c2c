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

}  // namespace
}  // namespace locus
