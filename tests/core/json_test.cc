// Canonical JSON against RFC 8785's own examples.
#include "core/base/json.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace locus {
namespace {

double from_bits(std::uint64_t bits) { return std::bit_cast<double>(bits); }

TEST(CanonicalJson, WritesNumbersAsRfc8785AppendixBShows) {
  const std::pair<std::uint64_t, const char*> rows[] = {
      {0x0000000000000000, "0"},
      {0x8000000000000000, "0"},
      {0x0000000000000001, "5e-324"},
      {0x8000000000000001, "-5e-324"},
      {0x7fefffffffffffff, "1.7976931348623157e+308"},
      {0xffefffffffffffff, "-1.7976931348623157e+308"},
      {0x4340000000000000, "9007199254740992"},
      {0xc340000000000000, "-9007199254740992"},
      {0x4430000000000000, "295147905179352830000"},
      {0x44b52d02c7e14af5, "9.999999999999997e+22"},
      {0x44b52d02c7e14af6, "1e+23"},
      {0x44b52d02c7e14af7, "1.0000000000000001e+23"},
      {0x444b1ae4d6e2ef4e, "999999999999999700000"},
      {0x444b1ae4d6e2ef4f, "999999999999999900000"},
      {0x444b1ae4d6e2ef50, "1e+21"},
      {0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
      {0x3eb0c6f7a0b5ed8d, "0.000001"},
      {0x41b3de4355555553, "333333333.3333332"},
      {0x41b3de4355555554, "333333333.33333325"},
      {0x41b3de4355555555, "333333333.3333333"},
      {0x41b3de4355555556, "333333333.3333334"},
      {0x41b3de4355555557, "333333333.33333343"},
      {0xbecbf647612f3696, "-0.0000033333333333333333"},
      {0x43143ff3c1cb0959, "1424953923781206.2"},
  };
  for (const auto& [bits, text] : rows) EXPECT_EQ(canonical_json(from_bits(bits)), text) << std::hex << bits;
}

TEST(CanonicalJson, WritesTheSameForIntegersAndIntegralDoubles) {
  EXPECT_EQ(canonical_json(1), "1");
  EXPECT_EQ(canonical_json(1.0), "1");
  EXPECT_EQ(canonical_json(-42), canonical_json(-42.0));
  EXPECT_EQ(canonical_json(std::int64_t{1} << 60), canonical_json(std::ldexp(1.0, 60)));
}

TEST(CanonicalJson, RefusesIntegersThatNoDoubleHolds) {
  EXPECT_THROW(canonical_json((std::int64_t{1} << 53) + 1), std::invalid_argument);
  EXPECT_THROW(canonical_json(std::numeric_limits<std::uint64_t>::max()), std::invalid_argument);
  EXPECT_EQ(canonical_json(std::numeric_limits<std::int64_t>::min()), "-9223372036854776000");
}

TEST(CanonicalJson, SortsKeysByUtf16CodeUnits) {
  // The example of RFC 8785, 3.2.3: the emoji (a surrogate pair, D83D...) sorts before the private-use letter
  // FB33.
  const Json value = {{"\u20ac", "Euro Sign"},
                      {"\r", "Carriage Return"},
                      {"\ufb33", "Hebrew Letter Dalet With Dagesh"},
                      {"1", "One"},
                      {"\U0001f600", "Emoji"},
                      {"\u0080", "Control"},
                      {"\u00f6", "Latin Small Letter O With Diaeresis"}};
  EXPECT_EQ(canonical_json(value),
            "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\",\"\u00f6\":\"Latin Small Letter O "
            "With Diaeresis\","
            "\"\u20ac\":\"Euro Sign\",\"\U0001f600\":\"Emoji\",\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}");
}

TEST(CanonicalJson, EscapesOnlyWhatItMust) {
  EXPECT_EQ(canonical_json("\u20ac$\u000f\nA'B\"\\\\\"/"), "\"\u20ac$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"");
  EXPECT_EQ(canonical_json(Json::parse(R"({"b":[true,false,null],"a":{}})")), R"({"a":{},"b":[true,false,null]})");
}

TEST(CanonicalJson, RefusesWhatHasNoForm) {
  EXPECT_THROW(canonical_json(std::numeric_limits<double>::quiet_NaN()), std::invalid_argument);
  EXPECT_THROW(canonical_json({{"lr", std::numeric_limits<double>::infinity()}}), std::invalid_argument);
  for (const char* bad : {"\xff", "\xc0\x80", "\xe2\x82", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe0\x80\x80"}) {
    EXPECT_THROW(canonical_json(bad), std::invalid_argument);
    EXPECT_THROW(canonical_json(Json({{bad, 1}})), std::invalid_argument);
  }
}

TEST(CanonicalJson, IsItsOwnFixedPoint) {
  const Json value = {{"z", {1, 2.5, "x"}}, {"a", {{"n", nullptr}, {"t", true}}}};
  const std::string once = canonical_json(value);
  EXPECT_EQ(canonical_json(Json::parse(once)), once);
}

TEST(NumberJson, CarriesNonFiniteNumbersAsText) {
  EXPECT_EQ(number_to_json(std::numeric_limits<double>::infinity()), "Infinity");
  EXPECT_TRUE(std::isnan(number_from_json(number_to_json(std::numeric_limits<double>::quiet_NaN()))));
  EXPECT_EQ(number_from_json("-Infinity"), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(number_from_json(number_to_json(0.1)), 0.1);
  EXPECT_THROW(number_from_json("nan"), std::invalid_argument);
  EXPECT_THROW(number_from_json(nullptr), std::invalid_argument);
}

}  // namespace
}  // namespace locus
