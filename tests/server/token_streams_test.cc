// Streams of those who show a token where TLS is not spoken: they end with it.
#include "core/identity/secret.h"
#include "tests/server/support/callers.h"
#include "tests/server/support/held_stream.h"
#include "tests/server/support/shifted_clock.h"

namespace locus::test {
namespace {

constexpr Microseconds kTwoHours = Microseconds{2} * 3'600 * 1'000'000;

class TokenStreams : public CallersTest {
 protected:
  void SetUp() override {
    clock_ = &shifted_;
    start_asking();
    ASSERT_EQ(submit_as("ada", small_specification()).status, 200);
  }
  void TearDown() override { stop(); }  // before its clock goes
  HeldWatch watch_as(const std::string& caller) { return HeldWatch(connection_of(caller), tokens_.at(caller)); }

  ShiftedClock shifted_;
};

TEST_F(TokenStreams, EndWithinAHeartbeatOfTheTokensRevocationAndOthersGoOn) {
  HeldWatch ended = watch_as("viewer"), other = watch_as("eve");
  const std::string id = parse_token(tokens_.at("viewer"))->id;
  ASSERT_EQ(post_as("admin", "/api/v1/tokens/" + id + ":revoke").status, 200);
  EXPECT_EQ(ended.end().error_code(), grpc::StatusCode::CANCELLED);
  ASSERT_EQ(submit_as("ada", small_specification({{"name", "second"}})).status, 200);
  EXPECT_TRUE(other.hears_of("second"));
}

TEST_F(TokenStreams, EndWhenTheTokenHasRunOut) {
  HeldWatch watch = watch_as("viewer");
  server_->look_at_calls();
  ASSERT_EQ(submit_as("ada", small_specification({{"name", "second"}})).status, 200);
  EXPECT_TRUE(watch.hears_of("second")) << "not before";
  shifted_.ahead = kTwoHours;
  server_->look_at_calls();
  EXPECT_EQ(watch.end().error_code(), grpc::StatusCode::CANCELLED);
}

}  // namespace
}  // namespace locus::test
