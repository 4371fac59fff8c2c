// Small parts: members of canonical text, the table of requirements, the ready queue.
#include <gtest/gtest.h>

#include "core/base/canonical_text.h"
#include "core/scheduling/ready_queue.h"
#include "core/scheduling/requirements.h"

namespace locus::testing {
namespace {

TEST(TopLevelMember, FindsValuesOfEveryType) {
  const std::string text = R"({"a":[1,{"b":2}],"b":"x\"}","c":-1.5e3,"d":{"b":{}},"e":true})";
  EXPECT_EQ(top_level_member(text, "a"), R"([1,{"b":2}])");
  EXPECT_EQ(top_level_member(text, "b"), R"("x\"}")");
  EXPECT_EQ(top_level_member(text, "c"), "-1.5e3");
  EXPECT_EQ(top_level_member(text, "d"), R"({"b":{}})");
  EXPECT_EQ(top_level_member(text, "e"), "true");
}

TEST(TopLevelMember, IgnoresNestedNamesakes) {
  EXPECT_EQ(top_level_member(R"({"model":{"revisions":{"x":1}},"revisions":{"y":2}})", "revisions"), R"({"y":2})");
  EXPECT_EQ(top_level_member(R"({"note":"\"revisions\":{}","z":0})", "revisions"), std::nullopt);
}

TEST(TopLevelMember, FindsNothingInNonsense) {
  for (const char* text : {"", "{", "{}", "[]", "{\"", "{\"a\"", "{\"a\":", "{\"a\":\"", "{\"a\":{", "null"}) {
    EXPECT_EQ(top_level_member(text, "revisions"), std::nullopt) << text;
  }
}

TEST(RequirementTable, GivesEqualRequirementsOneNumber) {
  RequirementTable table;
  const auto asks = [](int revision, bool exclusive = false, std::int64_t bytes = 0) {
    return std::make_shared<const StageRequirements>(
        StageRequirements{.revisions = {{"prior/a", revision}}, .exclusive = exclusive, .memory_bytes = bytes});
  };
  const int first = table.intern(asks(1)), alone = table.intern(asks(1, true));
  EXPECT_EQ(table.intern(asks(1)), first);
  EXPECT_EQ(table.intern(asks(1, false, 99)), first) << "no rule goes by memory";
  EXPECT_NE(table.intern(asks(2)), first);
  EXPECT_NE(alone, first);
  EXPECT_TRUE(table.exclusive(alone));
  EXPECT_EQ(table[first], (Revisions{{"prior/a", 1}}));
  EXPECT_TRUE(table[table.intern(nullptr)].empty());
  const int elsewhere = table.on_another_worker(first, 7);
  EXPECT_NE(elsewhere, first);
  EXPECT_EQ(table.on_another_worker(elsewhere, 7), elsewhere);
  EXPECT_EQ(table.on_another_worker(first, 7), elsewhere);
}

TEST(FirstMissing, NamesTheItemAndBothRevisions) {
  EXPECT_EQ(first_missing({{"prior/a", 1}}, {{"prior/a", 1}, {"prior/b", 4}}), std::nullopt);
  EXPECT_EQ(first_missing({{"prior/a", 1}}, {{"prior/a", 2}}), "prior/a at revision 1 (it has 2)");
  EXPECT_EQ(first_missing({{"prior/a", 1}}, {}), "prior/a at revision 1 (it has none)");
}

const Lane kLane;
const std::vector<Lane> kOneLane = {kLane};

TEST(ReadyQueue, GivesTheFirstKeyOfAnAcceptedRequirement) {
  ReadyQueue queue;
  const ReadyKey late{0, 1, 0, 0, 1, 7, 70}, early{0, 1, 0, 0, 1, 3, 30}, urgent{-1, 2, 0, 0, 1, 0, 1};
  queue.insert(kLane, 0, late);
  queue.insert(kLane, 0, early);
  queue.insert(kLane, 1, urgent);
  const auto any = [](int, const Turn&) { return true; };
  EXPECT_EQ(queue.first(kOneLane, any)->key, urgent);
  EXPECT_EQ(queue.first(kOneLane, [](int requirement, const Turn&) { return requirement == 0; })->key, early);
  EXPECT_EQ(queue.first(kOneLane, [](int, const Turn&) { return false; }), std::nullopt);
  EXPECT_EQ(queue.ahead_of(kLane, late, 10), 2);
  EXPECT_EQ(queue.ahead_of(kLane, late, 1), 1);
  queue.erase(kLane, 1, urgent);
  queue.erase(kLane, 0, early);
  EXPECT_EQ(queue.first(kOneLane, any)->key, late);
  queue.erase(kLane, 0, late);
  EXPECT_TRUE(queue.lanes().empty());
  EXPECT_EQ(queue.size(), 0u);
}

TEST(ReadyQueue, GoesThroughLanesInTheOrderGiven) {
  ReadyQueue queue;
  const Lane ada{ServiceClass::kNormal, 1}, bob{ServiceClass::kNormal, 2};
  const ReadyKey first{-9, 1, 0, 0, 1, 0, 10}, second{0, 2, 0, 0, 1, 0, 20};
  queue.insert(ada, 0, first);
  queue.insert(bob, 0, second);
  queue.insert(bob, 0, first);  // both want it
  EXPECT_EQ(queue.size(), 2u);
  const auto any = [](int, const Turn&) { return true; };
  EXPECT_EQ(queue.first({bob, ada}, any), (Turn{0, bob, first}));
  queue.erase(bob, 0, first);
  EXPECT_EQ(queue.first({bob, ada}, any), (Turn{0, bob, second}));
  EXPECT_EQ(queue.first({ada, bob}, any), (Turn{0, ada, first}));
  EXPECT_EQ(queue.first({ada, bob}, [&](int, const Turn& turn) { return turn.lane == bob; }), (Turn{1, bob, second}));
}

TEST(ReadyQueue, ShowsTheStagesOfSomeRequirementsInOrder) {
  ReadyQueue queue;
  for (int i = 0; i < 9; ++i) queue.insert(kLane, i % 3, ReadyKey{0, 1, 0, 0, 1, i, i});
  std::vector<StageId> seen;
  queue.visit(
      kOneLane, [](int requirement) { return requirement != 1; },
      [&](int requirement, const Turn& turn) {
        seen.push_back(turn.key.stage);
        return requirement != 2 || turn.key.stage < 5;  // no more of requirement 2 once it showed stage 5
      });
  EXPECT_EQ(seen, (std::vector<StageId>{0, 2, 3, 5, 6}));
}

TEST(ReadyQueue, AsksOncePerRequirementNotPerStage) {
  ReadyQueue queue;
  for (int i = 0; i < 1000; ++i) queue.insert(kLane, i % 3, ReadyKey{0, 1, 0, 0, 1, i, i});
  int asked = 0;
  queue.first(kOneLane, [&asked](int, const Turn&) {
    ++asked;
    return false;
  });
  EXPECT_EQ(asked, 3);
}

}  // namespace
}  // namespace locus::testing
