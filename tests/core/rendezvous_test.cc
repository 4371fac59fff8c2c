// Where trainers of one attempt find one another, until it is over.
#include "core/base/rendezvous.h"

#include <gmock/gmock.h>

#include <stdexcept>

namespace locus {
namespace {

using ::testing::HasSubstr;

class Rendezvous : public ::testing::Test {
 protected:
  // The one answer to a question, of those to others `others_`.
  Json ask(int rank, Json question, const std::string& attempt = "7/2") {
    question.update({{"type", "store"}, {"attempt", attempt}, {"ask", ++asked_}});
    Json own;
    others_.clear();
    for (auto& answer : board_.take(rank, question)) {
      EXPECT_EQ(answer.frame.at("type"), "stored");
      if (answer.rank == rank && answer.frame.at("ask") == asked_) {
        EXPECT_EQ(answer.frame.at("attempt"), attempt);
        own = answer.frame;
      } else {
        others_.push_back(answer);
      }
    }
    return own;
  }

  RendezvousBoard board_{"7/2"};
  std::vector<RendezvousBoard::Answer> others_;
  int asked_ = 0;
};

TEST_F(Rendezvous, GivesWhatAnotherLeft) {
  EXPECT_FALSE(ask(1, {{"op", "set"}, {"key", "a"}, {"value", "00ff"}}).contains("refused"));
  EXPECT_EQ(ask(0, {{"op", "wait"}, {"keys", {"a"}}}).at("values"), Json({"00ff"}));
}

TEST_F(Rendezvous, AnswersThoseThatWaitOnceAllIsThere) {
  EXPECT_TRUE(ask(0, {{"op", "wait"}, {"keys", {"a", "b"}}}).is_null());
  const int waits = asked_;
  ask(1, {{"op", "set"}, {"key", "a"}, {"value", "01"}});
  EXPECT_TRUE(others_.empty());
  ask(2, {{"op", "set"}, {"key", "b"}, {"value", "02"}});
  ASSERT_EQ(others_.size(), 1u);
  EXPECT_EQ(others_[0].rank, 0);
  EXPECT_EQ(others_[0].frame.at("ask"), waits);
  EXPECT_EQ(others_[0].frame.at("values"), Json({"01", "02"}));
  ask(2, {{"op", "set"}, {"key", "b"}, {"value", "03"}});
  EXPECT_TRUE(others_.empty()) << "each is told once";
}

TEST_F(Rendezvous, AddsNumbersThatCanBeReadAsText) {
  EXPECT_EQ(ask(0, {{"op", "add"}, {"key", "n"}, {"number", 12}}).at("number"), 12);
  EXPECT_EQ(ask(1, {{"op", "add"}, {"key", "n"}, {"number", -2}}).at("number"), 10);
  EXPECT_EQ(ask(1, {{"op", "wait"}, {"keys", {"n"}}}).at("values"), Json({to_hex("10")}));
}

TEST_F(Rendezvous, CountsChecksAndForgets) {
  ask(0, {{"op", "set"}, {"key", "a"}, {"value", "01"}});
  EXPECT_EQ(ask(0, {{"op", "count"}}).at("number"), 1);
  EXPECT_EQ(ask(0, {{"op", "check"}, {"keys", {"a"}}}).at("number"), 1);
  EXPECT_EQ(ask(0, {{"op", "check"}, {"keys", {"a", "b"}}}).at("number"), 0);
  EXPECT_EQ(ask(0, {{"op", "remove"}, {"key", "a"}}).at("number"), 1);
  EXPECT_EQ(ask(0, {{"op", "remove"}, {"key", "a"}}).at("number"), 0);
  EXPECT_EQ(ask(0, {{"op", "count"}}).at("number"), 0);
}

TEST_F(Rendezvous, IsClosedToEveryOtherAttempt) {
  for (const char* attempt : {"7/1", "7/3", "8/2", ""}) {
    const Json answer = ask(1, {{"op", "set"}, {"key", "a"}, {"value", "66"}}, attempt);
    EXPECT_THAT(answer.value("refused", ""), HasSubstr("this is attempt 7/2")) << attempt;
  }
  EXPECT_EQ(ask(0, {{"op", "check"}, {"keys", {"a"}}}).at("number"), 0);
  EXPECT_TRUE(ask(0, {{"op", "wait"}, {"keys", {"a"}}}, "7/1").contains("refused")) << "and does not wait";
}

TEST_F(Rendezvous, HoldsNoMoreThanTheMost) {
  const std::string half(RendezvousBoard::kMostBytes, 'a');  // two digits a byte
  EXPECT_FALSE(ask(0, {{"op", "set"}, {"key", "a"}, {"value", half}}).contains("refused"));
  EXPECT_FALSE(ask(0, {{"op", "set"}, {"key", "a"}, {"value", half}}).contains("refused")) << "which it replaces";
  EXPECT_THAT(ask(0, {{"op", "set"}, {"key", "b"}, {"value", half}}).value("refused", ""), HasSubstr("65536 bytes"));
  ask(0, {{"op", "remove"}, {"key", "a"}});
  EXPECT_FALSE(ask(0, {{"op", "set"}, {"key", "b"}, {"value", half}}).contains("refused"));
}

TEST_F(Rendezvous, RefusesWhatItDoesNotKnowAndThrowsAtWhatIsNoQuestion) {
  EXPECT_THAT(ask(0, {{"op", "sing"}, {"key", "a"}}).value("refused", ""), HasSubstr("no such operation: sing"));
  EXPECT_THROW(ask(0, {{"key", "a"}}), std::exception);
  EXPECT_THROW(ask(0, {{"op", "set"}, {"key", "a"}, {"value", "0"}}), std::invalid_argument);
  EXPECT_THROW(ask(0, {{"op", "set"}, {"key", "a"}, {"value", "zz"}}), std::invalid_argument);
  EXPECT_THROW(ask(0, {{"op", "wait"}, {"keys", "a"}}), std::exception);
  ask(0, {{"op", "set"}, {"key", "a"}, {"value", "ff"}});
  EXPECT_THROW(ask(0, {{"op", "add"}, {"key", "a"}, {"number", 1}}), std::invalid_argument);
}

TEST(Hex, IsItsOwnWayBack) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  EXPECT_EQ(from_hex(to_hex(all)), all);
  EXPECT_EQ(to_hex(std::string("\x00\x9f", 2)), "009f");
}

}  // namespace
}  // namespace locus
