// Labels of workers, and what an experiment asks of them.
#include "core/experiment/labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace locus::testing {
namespace {

using ::testing::IsEmpty;

TEST(Label, HasAKeyOfLowerCaseLettersDigitsDotsAndDashes) {
  for (const char* key : {"pool", "a", "gpu.kind-2", "node/gpu-name"}) EXPECT_TRUE(valid_label_key(key)) << key;
  for (const char* key : {"", "Pool", "2a", "-a", "a b", "a/b", "node/", "node/node/a", "a\n"})
    EXPECT_FALSE(valid_label_key(key)) << key;
  EXPECT_TRUE(valid_label_key(std::string(63, 'a')));
  EXPECT_FALSE(valid_label_key(std::string(64, 'a')));
}

TEST(Pattern, StandsForWhatItSaysWithAnyCharactersForAStar) {
  EXPECT_TRUE(matches("vision", "vision"));
  EXPECT_FALSE(matches("vision", "visions"));
  EXPECT_TRUE(matches("NVIDIA H100*", "NVIDIA H100 80GB HBM3"));
  EXPECT_TRUE(matches("*H100*", "NVIDIA H100 80GB HBM3"));
  EXPECT_TRUE(matches("a*b*c", "a-b-b-c"));
  EXPECT_FALSE(matches("a*b*c", "a-c-b"));
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("", ""));
  EXPECT_FALSE(matches("", "a"));
  EXPECT_FALSE(matches("?ision", "vision")) << "nothing else is special";
}

TEST(Pattern, TakesNoLongerThanItsLengthTimesTheTexts) {
  const std::string stars = std::string("a*") + std::string(60, '*') + "b", text(100'000, 'a');
  EXPECT_FALSE(matches(stars, text));
}

TEST(Placement, IsMetByWhoeverHasEveryRequiredLabel) {
  const PlacementRules rules{.require = {{"pool", "vision"}, {"node/gpu-name", "NVIDIA*"}}, .prefer = {{"zone", "a"}}};
  EXPECT_EQ(first_unmet(rules, {}), "node/gpu-name");
  EXPECT_EQ(first_unmet(rules, {{"node/gpu-name", "NVIDIA A10"}, {"pool", "text"}}), "pool");
  EXPECT_EQ(first_unmet(rules, {{"node/gpu-name", "NVIDIA A10"}, {"pool", "vision"}}), "");
  EXPECT_EQ(count_preferred(rules, {{"zone", "a"}}), 1);
  EXPECT_EQ(count_preferred(rules, {{"zone", "b"}}), 0);
}

TEST(Placement, ReadsBackAsItIsStored) {
  const PlacementRules rules{.require = {{"pool", "vision"}}, .prefer = {{"zone", "a"}}};
  EXPECT_EQ(*stored_placement(placement_text(rules)), rules);
  EXPECT_EQ(placement_text({.devices = 4}), R"({"devices":4})");
  EXPECT_EQ(stored_placement(R"({"devices":4})")->devices, 4);
  EXPECT_EQ(placement_text(*read_placement(Json{{"devices", 1}})), "") << "as if it were not there";
  EXPECT_EQ(placement_text({.memory_gib = 0.1}), R"({"memory_gib":0.1})");
  EXPECT_EQ(memory_given(*stored_placement(R"({"memory_gib":1.5})")), std::int64_t{3} << 29);
  EXPECT_EQ(memory_given({}), 0);
  EXPECT_EQ(stored_placement(""), nullptr);
  EXPECT_EQ(placement_text({}), "");
}

TEST(Placement, AlikeAsksForTheLabelUntilItsValueIsSettled) {
  PlacementRules rules{.require = {{"zone", "a*"}}, .alike = {{"node/gpu-name", ""}, {"zone", ""}}};
  EXPECT_EQ(first_unmet(rules, {{"zone", "a1"}}), "node/gpu-name");
  EXPECT_EQ(first_unmet(rules, {{"node/gpu-name", "any"}, {"zone", "a1"}}), "");
  EXPECT_EQ(first_unmet(rules, {{"node/gpu-name", "any"}, {"zone", "b"}}), "zone");
  rules.alike = {{"node/gpu-name", "A10"}, {"zone", "a1"}};
  EXPECT_EQ(first_unmet(rules, {{"node/gpu-name", "A10"}, {"zone", "a1"}}), "");
  EXPECT_EQ(first_unmet(rules, {{"node/gpu-name", "A100"}, {"zone", "a1"}}), "node/gpu-name");
  EXPECT_EQ(first_unmet(rules, {{"node/gpu-name", "A10"}, {"zone", "a2"}}), "zone");
  EXPECT_EQ(*stored_placement(placement_text(rules)), rules);
  EXPECT_EQ(placement_text({.alike = {{"zone", ""}}}), R"({"alike":["zone"]})");
}

TEST(Placement, KeepsWhatIsSettledWhenItsRulesAreReplaced) {
  const std::string settled = placement_text({.alike = {{"node/gpu-name", "A10"}}});
  const std::string open = placement_text({.alike = {{"node/gpu-name", ""}}});
  EXPECT_EQ(with_settled(open, settled), settled);
  EXPECT_EQ(with_settled("", settled), "") << "nothing is to be alike any more";
  EXPECT_EQ(with_settled(open, ""), open);
  const std::string elsewhere =
      placement_text({.require = {{"node/gpu-name", "H100*"}}, .alike = {{"node/gpu-name", ""}}});
  EXPECT_EQ(with_settled(elsewhere, settled), elsewhere) << "it may not run there any more";
}

TEST(WorkerLabel, IsTakenFromTheWorkerOnlyWhereItIsOfItsMachine) {
  const WorkerLabels labels{
      .granted = {{"pool", "text"}, {"node/rack", "7"}},
      .announced = {{"pool", "vision"}, {"trust", "high"}, {"node/cores", "8"}, {"node/rack", "8"}}};
  const Labels expected = {{"pool", "text"}, {"node/cores", "8"}, {"node/rack", "7"}};
  EXPECT_EQ(labels.effective(), expected);
  EXPECT_EQ(stored_labels(labels_text(labels)).effective(), expected);
  EXPECT_THAT(stored_labels("").effective(), IsEmpty());
  EXPECT_THAT(stored_labels("[1]").effective(), IsEmpty());
}

}  // namespace
}  // namespace locus::testing
