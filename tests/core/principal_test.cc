// Roles, names in certificates, tokens, and how often somebody may do something.
#include "core/identity/principal.h"

#include <gtest/gtest.h>

#include <set>

#include "core/identity/limiter.h"
#include "core/identity/secret.h"

namespace locus {
namespace {

constexpr Microseconds kSecond = 1'000'000;

TEST(Roles, OfPeopleIncludeTheLesserOnes) {
  constexpr Role kPeople[] = {Role::kViewer, Role::kSubmitter, Role::kOperator, Role::kAdmin};
  for (const Role held : kPeople) {
    for (const Role asked : kPeople) EXPECT_EQ(includes(held, asked), asked <= held) << to_string(held);
  }
}

TEST(Roles, OfMachinesIncludeNothingElseAndAreIncludedInNone) {
  for (const Role machine : {Role::kWorker, Role::kProvisioner}) {
    for (const Role other : kRoles) {
      EXPECT_EQ(includes(machine, other), machine == other) << to_string(other);
      EXPECT_EQ(includes(other, machine), machine == other) << to_string(other);
    }
  }
}

TEST(Roles, ReadBackFromTheirWords) {
  for (const Role role : kRoles) EXPECT_EQ(parse_role(to_string(role)), role);
  for (const char* word : {"", "Admin", "root", "admin ", "viewer,admin"}) EXPECT_EQ(parse_role(word), std::nullopt);
}

TEST(RoleSets, PermitWhoeverIncludesOneOfThem) {
  const RoleSet both{Role::kOperator, Role::kWorker};
  const std::set<Role> permitted = {Role::kOperator, Role::kAdmin, Role::kWorker};
  for (const Role role : kRoles) {
    EXPECT_EQ(both.permits(role), permitted.contains(role)) << to_string(role);
    EXPECT_FALSE(RoleSet().permits(role)) << to_string(role);
  }
  EXPECT_EQ(both.to_text(), "operator or worker");
}

TEST(Spiffe, NamesARoleAndAPrincipal) {
  for (const Role role : kRoles) {
    const auto read = parse_spiffe(spiffe_uri(role, "gpu-3"));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, (SpiffeName{role, "gpu-3"}));
  }
}

TEST(Spiffe, IsRefusedInAnyOtherForm) {
  for (const char* uri :
       {"", "spiffe://locus", "spiffe://locus/", "spiffe://locus/worker", "spiffe://locus/worker/", "spiffe://locus//a",
        "spiffe://locus/root/a", "spiffe://locus/worker/a/b", "spiffe://locus/worker/A", "spiffe://locus/worker/../a",
        "spiffe://other/worker/a", "SPIFFE://locus/worker/a", "spiffe://locus/worker/a ", "spiffe://locus/Worker/a",
        "https://locus/worker/a", "spiffe://locus/worker/a%2fb", "spiffe://locus/worker/a?x", "worker/a"})
    EXPECT_EQ(parse_spiffe(uri).status().code(), absl::StatusCode::kUnauthenticated) << uri;
}

TEST(Principals, ChangeWhatIsOfTheirAccount) {
  Principal ada{.name = "ada", .account = "vision", .role = Role::kSubmitter, .via = Via::kToken};
  EXPECT_TRUE(may_change_of(ada, "vision"));
  EXPECT_FALSE(may_change_of(ada, "other"));
  EXPECT_FALSE(may_change_of(ada, ""));
  ada.role = Role::kViewer;
  EXPECT_FALSE(may_change_of(ada, "vision"));
  ada.role = Role::kOperator;
  EXPECT_TRUE(may_change_of(ada, "other"));
  EXPECT_TRUE(may_change_of(local_principal(), "whose ever"));
  EXPECT_FALSE(may_change_of(nobody(), ""));
}

TEST(Tokens, ReadBackAndAreNeverTheSame) {
  std::set<std::string> seen;
  for (int i = 0; i < 200; ++i) {
    const TokenText token = new_token();
    const auto read = parse_token(token.text());
    ASSERT_TRUE(read) << token.text();
    EXPECT_EQ(read->id, token.id);
    EXPECT_EQ(read->secret, token.secret);
    EXPECT_TRUE(seen.insert(token.text()).second);
    EXPECT_TRUE(seen.insert(token.secret).second);
  }
}

TEST(Tokens, AreRefusedInAnyOtherForm) {
  const std::string good = new_token().text();
  for (std::size_t length = 0; length < good.size(); ++length) EXPECT_FALSE(parse_token(good.substr(0, length)));
  EXPECT_FALSE(parse_token(good + "A"));
  EXPECT_FALSE(parse_token(" " + good.substr(1)));
  for (const std::size_t at : {std::size_t{0}, std::size_t{6}, std::size_t{14}, std::size_t{20}, good.size() - 1}) {
    for (const char wrong : {'.', '\0', ' ', '\xff', '/'}) {
      std::string text = good;
      text[at] = wrong;
      EXPECT_FALSE(parse_token(text)) << at;
    }
  }
}

TEST(Tokens, AreCutOutOfTextsThatAreKept) {
  const TokenText token = new_token();
  const std::string shown = without_tokens("a " + token.text() + " and " + token.text() + "!");
  EXPECT_EQ(shown.find(token.secret), std::string::npos) << shown;
  EXPECT_EQ(shown, "a locus_" + token.id + "_... and locus_" + token.id + "_...!");
  EXPECT_EQ(without_tokens("locus_ is short, locus too"), "locus_ is short, locus too");
}

TEST(Secrets, AreComparedWhole) {
  const std::string one = new_secret();
  EXPECT_TRUE(same_secret(one, one));
  for (std::size_t at = 0; at < one.size(); ++at) {
    std::string other = one;
    other[at] = static_cast<char>(other[at] ^ 1);
    EXPECT_FALSE(same_secret(one, other)) << at;
  }
  EXPECT_FALSE(same_secret(one, ""));
  EXPECT_FALSE(same_secret(one, one.substr(1)));
}

TEST(TokenBuckets, LetABurstThroughAndThenTheRate) {
  TokenBuckets buckets({20, 100});
  for (int i = 0; i < 100; ++i) EXPECT_EQ(buckets.take("ada", 0), 0) << i;
  EXPECT_EQ(buckets.take("ada", 0), kSecond / 20);
  EXPECT_EQ(buckets.take("eve", 0), 0) << "others have buckets of their own";
  EXPECT_EQ(buckets.take("ada", kSecond / 20), 0);
  EXPECT_GT(buckets.take("ada", kSecond / 20), 0);
  int taken = 0;
  for (Microseconds now = kSecond; now < 11 * kSecond; now += 1000) taken += buckets.take("ada", now) == 0 ? 1 : 0;
  EXPECT_NEAR(taken, 20 * 10 + 19, 2);
}

TEST(TokenBuckets, ForgetWhoWasSeenLongestAgo) {
  TokenBuckets buckets({1, 1});
  for (std::size_t i = 0; i < 3 * kLimitedMost; ++i) EXPECT_EQ(buckets.take(std::to_string(i), 0), 0);
  EXPECT_EQ(buckets.size(), kLimitedMost);
  EXPECT_GT(buckets.take(std::to_string(3 * kLimitedMost - 1), 0), 0) << "the newest is remembered";
}

TEST(Lockouts, BeginAtTheFifthFailureAndDouble) {
  Lockouts lockouts;
  for (int i = 0; i < 4; ++i) lockouts.fail("k", 0);
  EXPECT_EQ(lockouts.locked_for("k", 0), 0);
  Microseconds expected = 60 * kSecond;
  for (int i = 0; i < 12; ++i) {
    lockouts.fail("k", 0);
    EXPECT_EQ(lockouts.locked_for("k", 0), expected) << i;
    expected = std::min<Microseconds>(2 * expected, 3600 * kSecond);
  }
  EXPECT_EQ(lockouts.locked_for("k", 3600 * kSecond), 0);
  EXPECT_EQ(lockouts.locked_for("other", 0), 0);
  lockouts.succeed("k");
  EXPECT_EQ(lockouts.locked_for("k", 0), 0);
}

}  // namespace
}  // namespace locus
