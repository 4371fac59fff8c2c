// What an interval says of a printed difference.
#include "core/claims/verdict.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "core/claims/measure.h"

namespace locus::test {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// A table of one number printed +2.0 from its baseline, which is no part of it.
ClaimTable table_of(double difference = 2.0) {
  ClaimTable out;
  out.rows = {{"Ours", ""}};
  out.columns = {{"Top-1", ""}};
  ClaimValue value;
  value.value = 80.1;
  value.std = kUnknown;
  value.difference = difference;
  value.printed_difference = true;
  value.against = "Theirs";
  value.metric = {"top1", "%", "max"};
  value.priors = {{"none"}};
  out.values = {value};
  return out;
}

Measured measured(double difference, double half_width, int pairs = 5) {
  return {.mean = 50,
          .half_width = 1,
          .n = pairs,
          .has_baseline = true,
          .difference = difference,
          .difference_half_width = half_width,
          .pairs = pairs};
}

Judgment judged(double difference, double half_width, double print = 2.0,
                const std::vector<SettingDifference>& differences = {}) {
  const ClaimTable table = table_of(print);
  return judge(table, table.values[0], nullptr, measured(difference, half_width), differences);
}

TEST(AVerdict, ComparesTheIntervalWithThePrintedDifference) {
  EXPECT_EQ(judged(1.8, 0.5).verdict, Verdict::kAgrees);
  EXPECT_EQ(judged(0.6, 0.2).verdict, Verdict::kContradicts);   // the printed way, another size
  EXPECT_EQ(judged(-1.0, 0.5).verdict, Verdict::kContradicts);  // the other way
  EXPECT_EQ(judged(0.0, 0.5).verdict, Verdict::kContradicts);   // no such difference
  EXPECT_EQ(judged(1.0, 1.5).verdict, Verdict::kUndecided);     // that one or none at all
  EXPECT_EQ(judged(0.1, 0.5, 0.0).verdict, Verdict::kAgrees);   // no difference, as printed
}

TEST(AVerdict, TakesThePrintAsPreciselyAsItIs) {
  EXPECT_EQ(judged(1.8, 0.16).verdict, Verdict::kAgrees);       // up to 1.96; 2.0 is 1.95 at least
  EXPECT_EQ(judged(1.8, 0.14).verdict, Verdict::kContradicts);  // up to 1.94
  ClaimTable table = table_of();
  ClaimValue baseline = table.values[0];
  baseline.value = 78.1;
  for (ClaimValue* one : {&table.values[0], &baseline}) {
    one->n = 4;
    one->std = 0.5;
  }
  // Both of four seeds with deviation 0.5: error sqrt(2 * 0.25 / 4), t of 6 degrees at 97.5 % is 2.4469.
  const PrintedInterval print = printed_interval(table, table.values[0], &baseline);
  EXPECT_NEAR(print.high - 2.0, 0.05 + 2.446911851 * std::sqrt(0.125), 1e-6);
  EXPECT_NEAR(2.0 - print.low, print.high - 2.0, 1e-9);
  EXPECT_EQ(judge(table, table.values[0], &baseline, measured(1.0, 0.3), {}).verdict, Verdict::kAgrees);
}

TEST(AVerdict, OfAnotherSettingIsNoneButHasADirection) {
  const std::vector<SettingDifference> other = {{"dataset", "imagenet-1k", "fashion-mnist"}};
  const auto direction = [&](double difference, double half_width, double print) {
    const Judgment found = judged(difference, half_width, print, other);
    EXPECT_EQ(found.verdict, Verdict::kNotComparable);
    EXPECT_EQ(found.why, WhyNot::kSetting);
    return found.direction;
  };
  EXPECT_EQ(direction(0.6, 0.2, 2.0), Direction::kSame);
  EXPECT_EQ(direction(-0.6, 0.2, 2.0), Direction::kOpposite);
  EXPECT_EQ(direction(-0.6, 0.2, -1.0), Direction::kSame);
  EXPECT_EQ(direction(0.1, 0.2, 2.0), Direction::kOpen);
  EXPECT_EQ(direction(0.6, 0.2, 0.0), Direction::kOpen);
  // What is not known here is another setting too.
  EXPECT_EQ(judged(2.0, 0.1, 2.0, {{"hardware", "RTX 4090", ""}}).why, WhyNot::kSetting);
}

TEST(AVerdict, IsNoneWithoutTwoPairs) {
  const ClaimTable table = table_of();
  const auto why = [&](Measured one) { return judge(table, table.values[0], nullptr, one, {}).why; };
  EXPECT_EQ(why(measured(2.0, kUnknown, 1)), WhyNot::kNoPairs);
  Measured alone = measured(kUnknown, kUnknown, 0);
  EXPECT_EQ(why(alone), WhyNot::kNoResult);
  alone.n = 5;
  EXPECT_EQ(why(alone), WhyNot::kNoPairs);
  alone.has_baseline = false;
  EXPECT_EQ(why(alone), WhyNot::kNoBaseline);
  const ClaimTable bare = table_of(kUnknown);
  EXPECT_EQ(judge(bare, bare.values[0], nullptr, measured(1, 1), {}).why, WhyNot::kNoDifference);
}

TEST(ANumberWithoutACell, SaysWhy) {
  ClaimValue value = table_of().values[0];
  EXPECT_EQ(why_unmatched(value), WhyNot::kNoCell);
  value.metric = {"mean-accuracy", "%", "max"};
  EXPECT_EQ(why_unmatched(value), WhyNot::kUnmeasured);
  EXPECT_NE(why_unmeasured(value.metric), "");
  value.priors.clear();
  EXPECT_EQ(why_unmatched(value), WhyNot::kNoMethod);
  value.difference = kUnknown;
  EXPECT_EQ(why_unmatched(value), WhyNot::kNoDifference);
}

TEST(Counts, AddUp) {
  ClaimCounts counts;
  const std::vector<SettingDifference> other = {
      {"dataset", "a", "b"}, {"rope-axial.flavor", "a", "b"}, {"rope-axial.theta", "a", "b"}};
  counts.add(judged(1.8, 0.5), {});
  counts.add(judged(0.0, 0.5), {});
  counts.add(judged(1.0, 1.5), {});
  counts.add(judged(0.6, 0.2, 2.0, other), other);
  counts.add({Verdict::kNotComparable, WhyNot::kNoMethod, Direction::kNone}, {});
  ClaimCounts twice = counts;
  twice.add(counts);
  EXPECT_EQ(twice.numbers, 10);
  EXPECT_EQ(twice.agrees + twice.contradicts + twice.undecided + twice.not_comparable, 10);
  EXPECT_EQ(twice.same, 2);
  EXPECT_EQ(twice.why, (std::map<WhyNot, int>{{WhyNot::kNoMethod, 2}, {WhyNot::kSetting, 2}}));
  EXPECT_EQ(twice.settings, (std::map<std::string, int>{{"dataset", 2}, {"options", 2}}));
}

TEST(AMeasure, GivesThePrintedUnit) {
  const Measure* millions = measure_of({"parameters", "M", "min"});
  ASSERT_NE(millions, nullptr);
  EXPECT_DOUBLE_EQ(millions->scale * 21'345'678, 21.345678);
  EXPECT_DOUBLE_EQ(measure_of({"flops_counted", "G", "min"})->scale * 35.2e9, 17.6);  // a multiply-add is one
  EXPECT_EQ(measure_of({"flops_counted", "%", "min"})->over, "flops");
  EXPECT_EQ(measure_of({"parameters", "furlongs", "min"}), nullptr);
  EXPECT_EQ(measure_of({"top1", "%", "max"})->cost, false);
}

}  // namespace
}  // namespace locus::test
