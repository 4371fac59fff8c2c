// The worker's lease book: fence, grace, wishes, claims.
#include "worker/link/lease_book.h"

#include <gtest/gtest.h>

namespace locus::testing {
namespace {

constexpr Microseconds kSecond = 1'000'000;
constexpr Microseconds kStart = 500 * kSecond;
const LeaseBook::Key kKey{7, 1};

using Orders = std::vector<std::pair<LeaseBook::Key, LeaseOrder>>;

struct Book : ::testing::Test {
  Book() { book.add(kKey, kStart, kStart); }
  // A heartbeat sent and answered at the given times.
  void heartbeat(Microseconds sent, LeaseWish wish = LeaseWish::kContinue) {
    book.heartbeat_sent(sent);
    book.heartbeat_answered(sent, {{kKey, wish}});
  }
  LeaseBook book;
};

TEST_F(Book, AllowsCommitsForOneFenceAfterTheNewestAnsweredHeartbeatWasSent) {
  heartbeat(kStart + 5 * kSecond);
  EXPECT_TRUE(book.may_commit(kKey, kStart + 25 * kSecond));
  EXPECT_FALSE(book.may_commit(kKey, kStart + 25 * kSecond + 1));
}

TEST_F(Book, CountsFromTheSendingNotFromTheAnswer) {
  book.heartbeat_sent(kStart + kSecond);
  book.heartbeat_answered(kStart + kSecond, {{kKey, LeaseWish::kContinue}});  // however late
  EXPECT_FALSE(book.may_commit(kKey, kStart + 22 * kSecond));
}

TEST_F(Book, CountsAGrantFromWhenItWasAskedFor) {
  const LeaseBook::Key late{8, 1};
  book.add(late, kStart, kStart + 21 * kSecond);
  EXPECT_FALSE(book.may_commit(late, kStart + 21 * kSecond));
  EXPECT_TRUE(book.runs(late));
}

TEST_F(Book, IgnoresAnAnswerOlderThanTheNewest) {
  heartbeat(kStart + 10 * kSecond);
  book.heartbeat_answered(kStart + 5 * kSecond, {{kKey, LeaseWish::kContinue}});
  EXPECT_TRUE(book.may_commit(kKey, kStart + 29 * kSecond));
}

TEST_F(Book, RenewsOnlyTheAttemptsAnAnswerNames) {
  const LeaseBook::Key other{8, 1};
  book.add(other, kStart, kStart);
  heartbeat(kStart + 15 * kSecond);
  EXPECT_TRUE(book.may_commit(kKey, kStart + 30 * kSecond));
  EXPECT_FALSE(book.may_commit(other, kStart + 30 * kSecond));
}

TEST_F(Book, RecoversFromTheFenceWhenHeartbeatsAreAnsweredAgain) {
  EXPECT_FALSE(book.may_commit(kKey, kStart + 60 * kSecond));
  EXPECT_TRUE(book.take_orders(kStart + 60 * kSecond).empty());
  heartbeat(kStart + 61 * kSecond);
  EXPECT_TRUE(book.may_commit(kKey, kStart + 62 * kSecond));
}

TEST_F(Book, GivesUpWhenTheGraceIsOver) {
  const Microseconds end = kStart + kReattachGrace.count();
  EXPECT_TRUE(book.take_orders(end).empty());
  EXPECT_EQ(book.take_orders(end + 1), (Orders{{kKey, LeaseOrder::kDiscard}}));
  EXPECT_FALSE(book.runs(kKey));
  EXPECT_TRUE(book.claims().empty());
}

TEST_F(Book, WakesForTheGraceEvenWithoutHeartbeats) {
  book.heartbeat_sent(kStart + 2 * kReattachGrace.count());
  EXPECT_EQ(book.next_wake(), kStart + kReattachGrace.count() + 1);
}

TEST_F(Book, DiscardsADroppedAttemptOnce) {
  heartbeat(kStart + kSecond, LeaseWish::kDrop);
  EXPECT_FALSE(book.may_commit(kKey, kStart + kSecond));
  EXPECT_TRUE(book.claims().empty());
  EXPECT_EQ(book.take_orders(kStart + kSecond), (Orders{{kKey, LeaseOrder::kDiscard}}));
  EXPECT_TRUE(book.take_orders(kStart + kSecond).empty());
}

TEST_F(Book, DiscardsACancelledAttempt) {
  heartbeat(kStart + kSecond, LeaseWish::kCancel);
  EXPECT_EQ(book.take_orders(kStart + kSecond), (Orders{{kKey, LeaseOrder::kDiscard}}));
}

TEST_F(Book, BelievesADropHoweverOldTheAnswer) {
  heartbeat(kStart + 10 * kSecond);
  book.heartbeat_answered(kStart + 5 * kSecond, {{kKey, LeaseWish::kDrop}});
  EXPECT_FALSE(book.may_commit(kKey, kStart + 11 * kSecond));
}

TEST_F(Book, OrdersAStopOnceAndKeepsTheLeaseUntilTheOutcomeIsStored) {
  heartbeat(kStart + kSecond, LeaseWish::kCheckpointAndStop);
  EXPECT_EQ(book.take_orders(kStart + kSecond), (Orders{{kKey, LeaseOrder::kCheckpointAndStop}}));
  heartbeat(kStart + 6 * kSecond, LeaseWish::kCheckpointAndStop);
  EXPECT_TRUE(book.take_orders(kStart + 6 * kSecond).empty());
  EXPECT_TRUE(book.may_commit(kKey, kStart + 7 * kSecond));
  EXPECT_EQ(book.claims().size(), 1u);
  book.remove(kKey);
  EXPECT_TRUE(book.claims().empty());
}

TEST_F(Book, DoesNotTakeUpALateCopyOfAGrantItHasLetGo) {
  book.remove(kKey);
  EXPECT_FALSE(book.add(kKey, kStart, kStart + kSecond));
  EXPECT_TRUE(book.add({7, 2}, kStart, kStart + kSecond));
  EXPECT_FALSE(book.add({7, 2}, kStart, kStart + kSecond)) << "held already";
}

TEST_F(Book, StatesProgressInClaims) {
  book.set_progress(kKey, 12, 100, "train");
  const auto claims = book.heartbeat_sent(kStart);
  ASSERT_EQ(claims.size(), 1u);
  EXPECT_EQ(claims[0].step, 12);
  EXPECT_EQ(claims[0].steps, 100);
  EXPECT_EQ(claims[0].phase, "train");
}

TEST_F(Book, IsDueAtOnceAfterAGrantAndEveryIntervalAfterThat) {
  EXPECT_LE(book.heartbeat_due(), kStart);
  book.heartbeat_sent(kStart);
  EXPECT_EQ(book.heartbeat_due(), kStart + kHeartbeat.count());
  book.add({9, 1}, kStart + kSecond, kStart + kSecond);
  EXPECT_LE(book.heartbeat_due(), kStart + kSecond);
}

TEST_F(Book, RegistersAgainWhenTheServerForgotTheSession) {
  EXPECT_TRUE(book.must_register());
  book.registration_answered();
  EXPECT_FALSE(book.must_register());
  book.session_unknown();
  EXPECT_TRUE(book.must_register());
  EXPECT_EQ(book.claims().size(), 1u) << "it declares what it holds";
}

TEST_F(Book, DoesNotTakeARegistrationForARenewal) {
  book.registration_answered();
  EXPECT_FALSE(book.may_commit(kKey, kStart + 21 * kSecond));
}

using StopPoints = std::vector<std::pair<LeaseBook::Key, std::int64_t>>;

struct BookOfStopPoints : Book {
  void answered(Microseconds sent, std::int64_t until_step, LeaseWish wish = LeaseWish::kContinue) {
    std::map<LeaseBook::Key, std::int64_t> until;
    if (until_step != kToTheEnd) until[kKey] = until_step;
    book.heartbeat_answered(sent, {{kKey, wish}}, until);
  }
};

TEST_F(BookOfStopPoints, TellsOfEachMoveOnce) {
  EXPECT_EQ(book.until_step(kKey), kToTheEnd);
  answered(kStart + kSecond, 20);
  EXPECT_EQ(book.until_step(kKey), 20);
  EXPECT_EQ(book.take_stop_points(), (StopPoints{{kKey, 20}}));
  EXPECT_TRUE(book.take_stop_points().empty());
  answered(kStart + 2 * kSecond, 20);
  EXPECT_TRUE(book.take_stop_points().empty()) << "said again";
  answered(kStart + 3 * kSecond, kNoFurther);
  EXPECT_EQ(book.take_stop_points(), (StopPoints{{kKey, kNoFurther}}));
  answered(kStart + 4 * kSecond, kToTheEnd);
  EXPECT_EQ(book.take_stop_points(), (StopPoints{{kKey, kToTheEnd}})) << "none is a stop point, too";
}

TEST_F(BookOfStopPoints, KnowsThatOfTheGrantWithoutBeingTold) {
  const LeaseBook::Key late{8, 1};
  book.add(late, kStart, kStart, 40);
  EXPECT_EQ(book.until_step(late), 40);
  EXPECT_TRUE(book.take_stop_points().empty());
  book.heartbeat_answered(kStart + kSecond, {{late, LeaseWish::kContinue}}, {{late, 40}});
  EXPECT_TRUE(book.take_stop_points().empty());
}

TEST_F(BookOfStopPoints, TellsOnlyOfWhereItStandsInTheEnd) {
  answered(kStart + kSecond, 20);
  answered(kStart + 2 * kSecond, 30);
  EXPECT_EQ(book.take_stop_points(), (StopPoints{{kKey, 30}}));
  answered(kStart + 3 * kSecond, 40);
  answered(kStart + 4 * kSecond, 30);
  EXPECT_TRUE(book.take_stop_points().empty()) << "there and back";
}

TEST_F(BookOfStopPoints, IgnoresAnAnswerOlderThanTheNewest) {
  answered(kStart + 10 * kSecond, 20);
  answered(kStart + 5 * kSecond, 10);
  EXPECT_EQ(book.take_stop_points(), (StopPoints{{kKey, 20}}));
}

TEST_F(BookOfStopPoints, MovesThatOfAnAttemptThatIsToStopAsWell) {
  answered(kStart + kSecond, 20, LeaseWish::kCheckpointAndStop);
  EXPECT_EQ(book.take_stop_points(), (StopPoints{{kKey, 20}}));
}

TEST_F(BookOfStopPoints, HasNoneOfWhatIsNotThereOrDiscarded) {
  const LeaseBook::Key other{8, 1};
  book.heartbeat_answered(kStart + kSecond, {{other, LeaseWish::kContinue}}, {{other, 20}});
  EXPECT_EQ(book.until_step(other), kToTheEnd);
  answered(kStart + kSecond, 20, LeaseWish::kDrop);
  EXPECT_TRUE(book.take_stop_points().empty());
}

}  // namespace
}  // namespace locus::testing
