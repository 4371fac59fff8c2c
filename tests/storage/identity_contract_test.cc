// Contract: principals, what they show, and the chain of the audit.
#include "core/identity/audit.h"
#include "core/identity/secret.h"
#include "core/limits.h"
#include "tests/storage/store_contract.h"

namespace locus::testing {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr Microseconds kHour = 3'600'000'000;

TokenRow token_of_ada(const std::string& id = "abcdefgh") {
  return {.id = id,
          .secret_hash = hash_of_secret("secret of " + id),
          .principal = "ada",
          .role = Role::kSubmitter,
          .expires_us = kNow + 30 * 24 * kHour};
}

SessionRow session_of(const std::string& token, const std::string& hash) {
  return {.hash = hash, .token_id = token, .address = "10.0.0.7", .used_us = kNow, .expires_us = kNow + 12 * kHour};
}

InvitationRow invitation(const std::string& hash) {
  return {.hash = hash,
          .name = "node-a",
          .labels_json = R"({"pool":"vision"})",
          .role = Role::kWorker,
          .made_by = "ada",
          .expires_us = kNow + kHour};
}

AuditRow deed(const std::string& subject, const std::string& outcome = "ok") {
  return {.principal = "ada",
          .via = "token",
          .address = "10.0.0.7",
          .rpc = "ExperimentService/CancelExperiment",
          .subject = subject,
          .outcome = outcome,
          .detail_json = R"({"token":"abcdefgh"})"};
}

class IdentityContract : public StoreContract {
 protected:
  IdentityReads& identity() { return store().identity(); }
  void make_ada() { must({PutPrincipal{{.name = "ada", .account = "vision"}}}); }
  // The same call at another time.
  absl::Status at(Microseconds now, std::vector<Mutation> mutations) { return store().apply(mutations, now); }
  std::vector<std::string> verify() {
    AuditVerifier verifier(get(identity().audit_chain()));
    for (const AuditRow& row : get(identity().audit(0, 1000))) verifier.add(row);
    return verifier.finish();
  }
  std::vector<std::int64_t> audit_ids(std::int64_t after, int limit) {
    std::vector<std::int64_t> out;
    for (const AuditRow& row : get(identity().audit(after, limit))) out.push_back(row.id);
    return out;
  }
};
LOCUS_STORE_CONTRACT(IdentityContract);

TEST_P(IdentityContract, KeepsPrincipalsWithTheirAccount) {
  EXPECT_EQ(reason_of(identity().principal("ada").status()), "CREDENTIAL_NOT_FOUND");
  make_ada();
  EXPECT_EQ(get(identity().principal("ada")), (PrincipalRow{"ada", "vision", kNow}));
  ASSERT_TRUE(at(kNow + 9, {PutPrincipal{{.name = "ada", .account = "Ada Lovelace"}}}).ok());
  EXPECT_EQ(get(identity().principal("ada")), (PrincipalRow{"ada", "Ada Lovelace", kNow}));
  for (const char* name : {"", "Ada", "a/b", "ada ", "-a"})
    expect_refused({PutPrincipal{{.name = name, .account = "x"}}}, StatusCode::kInvalidArgument, "INVALID_ARGUMENT");
  for (const char* account : {" x", "x ", "a\nb", "\xff"})
    expect_refused({PutPrincipal{{.name = "bob", .account = account}}}, StatusCode::kInvalidArgument,
                   "INVALID_ARGUMENT");
}

TEST_P(IdentityContract, KeepsTokensByTheirHash) {
  make_ada();
  TokenRow row = token_of_ada();
  must({PutToken{row}});
  row.created_us = kNow;
  EXPECT_EQ(get(identity().token(row.id)), row);
  EXPECT_EQ(reason_of(identity().token("hgfedcba").status()), "CREDENTIAL_NOT_FOUND");
  expect_refused({PutToken{row}}, StatusCode::kFailedPrecondition, "WRONG_STATE");
  TokenRow stranger = token_of_ada("bbbbbbbb");
  stranger.principal = "bob";
  expect_refused({PutToken{stranger}}, StatusCode::kNotFound, "CREDENTIAL_NOT_FOUND");
  must({PutToken{token_of_ada("aaaaaaaa")}});
  EXPECT_THAT(get(identity().tokens()).size(), 2u);
  EXPECT_EQ(get(identity().tokens()).front().id, "aaaaaaaa");
}

TEST_P(IdentityContract, KeepsNoTokenBeyondNinetyDays) {
  make_ada();
  for (const Microseconds expires : {Microseconds{0}, kNow - 1, kNow, kNow + kTokenMost.count() + 1}) {
    TokenRow row = token_of_ada();
    row.expires_us = expires;
    expect_refused({PutToken{row}}, StatusCode::kInvalidArgument, "INVALID_ARGUMENT");
  }
  TokenRow most = token_of_ada(), worker = token_of_ada("bbbbbbbb");
  most.expires_us = kNow + kTokenMost.count();
  must({PutToken{most}});
  worker.role = Role::kWorker;
  expect_refused({PutToken{worker}}, StatusCode::kInvalidArgument, "INVALID_ARGUMENT");
}

TEST_P(IdentityContract, RemembersTheHourOfAUse) {
  make_ada();
  must({PutToken{token_of_ada()}});
  ASSERT_TRUE(at(7 * kHour + 12345, {UseToken{"abcdefgh"}}).ok());
  EXPECT_EQ(get(identity().token("abcdefgh")).used_us, 7 * kHour);
  expect_refused({UseToken{"hgfedcba"}}, StatusCode::kNotFound, "CREDENTIAL_NOT_FOUND");
}

TEST_P(IdentityContract, EndsTheSessionsOfARevokedToken) {
  make_ada();
  must({PutToken{token_of_ada("aaaaaaaa")}, PutToken{token_of_ada("bbbbbbbb")}});
  must({PutSession{session_of("aaaaaaaa", "s1")}, PutSession{session_of("aaaaaaaa", "s2")},
        PutSession{session_of("bbbbbbbb", "s3")}});
  ASSERT_TRUE(at(kNow + 5, {RevokeToken{"aaaaaaaa"}}).ok());
  ASSERT_TRUE(at(kNow + 9, {RevokeToken{"aaaaaaaa"}}).ok()) << "once more is no error";
  EXPECT_EQ(get(identity().token("aaaaaaaa")).revoked_us, kNow + 5);
  EXPECT_EQ(get(identity().token("bbbbbbbb")).revoked_us, 0);
  EXPECT_EQ(reason_of(identity().session("s1").status()), "CREDENTIAL_NOT_FOUND");
  EXPECT_EQ(get(identity().sessions()).size(), 1u);
  expect_refused({RevokeToken{"cccccccc"}}, StatusCode::kNotFound, "CREDENTIAL_NOT_FOUND");
  expect_refused({PutSession{session_of("aaaaaaaa", "s4")}}, StatusCode::kNotFound, "CREDENTIAL_NOT_FOUND");
}

TEST_P(IdentityContract, MovesSessionsOnAndEndsThem) {
  make_ada();
  must({PutToken{token_of_ada()}, PutSession{session_of("abcdefgh", "s1")}});
  SessionRow row = session_of("abcdefgh", "s1");
  row.used_us = kNow + kHour, row.expires_us = kNow + 13 * kHour;
  ASSERT_TRUE(at(kNow + kHour, {PutSession{row}}).ok());
  row.created_us = kNow;
  EXPECT_EQ(get(identity().session("s1")), row);
  must({EndSession{"s1"}, EndSession{"s1"}});
  EXPECT_FALSE(identity().session("s1").ok());
  EXPECT_FALSE(at(kNow + 31 * 24 * kHour, {PutSession{session_of("abcdefgh", "s2")}}).ok()) << "its token has expired";
}

TEST_P(IdentityContract, UsesAnInvitationOnce) {
  must({PutInvitation{invitation("h1")}, PutInvitation{invitation("h2")}});
  InvitationRow stored = invitation("h1");
  stored.created_us = kNow;
  EXPECT_EQ(get(identity().invitation("h1")), stored);
  expect_refused({PutInvitation{invitation("h1")}}, StatusCode::kFailedPrecondition, "WRONG_STATE");
  expect_refused({UseInvitation{"h3"}}, StatusCode::kPermissionDenied, "INVITATION_REFUSED");
  ASSERT_TRUE(at(kNow + 3, {UseInvitation{"h1"}}).ok());
  EXPECT_EQ(get(identity().invitation("h1")).used_us, kNow + 3);
  expect_refused({UseInvitation{"h1"}}, StatusCode::kPermissionDenied, "INVITATION_REFUSED");
  EXPECT_EQ(reason_of(at(kNow + kHour, {UseInvitation{"h2"}})), "INVITATION_REFUSED");
  ASSERT_TRUE(at(kNow + kHour - 1, {UseInvitation{"h2"}}).ok());
}

TEST_P(IdentityContract, IssuesNoCertificateForAnInvitationThatWasUsed) {
  make_ada();
  must({PutInvitation{invitation("h1")}});
  const CertificateRow first{.serial = "1f", .principal = "ada", .issued_us = kNow, .expires_us = kNow + kHour};
  CertificateRow second = first;
  second.serial = "2e";
  must({UseInvitation{"h1"}, PutCertificate{first}});
  expect_refused({PutCertificate{second}, UseInvitation{"h1"}}, StatusCode::kPermissionDenied, "INVITATION_REFUSED");
  EXPECT_EQ(reason_of(identity().certificate("2e").status()), "CREDENTIAL_NOT_FOUND");
}

TEST_P(IdentityContract, KeepsAndRevokesCertificates) {
  make_ada();
  const CertificateRow row{.serial = "1f",
                           .principal = "ada",
                           .role = Role::kOperator,
                           .labels_json = R"({"pool":"vision"})",
                           .issued_us = kNow,
                           .expires_us = kNow + kHour};
  must({PutCertificate{row}});
  EXPECT_EQ(get(identity().certificate("1f")), row);
  expect_refused({PutCertificate{row}}, StatusCode::kFailedPrecondition, "WRONG_STATE");
  CertificateRow stranger = row;
  stranger.serial = "2e", stranger.principal = "bob";
  expect_refused({PutCertificate{stranger}}, StatusCode::kNotFound, "CREDENTIAL_NOT_FOUND");
  ASSERT_TRUE(at(kNow + 5, {RevokeCertificate{"1f"}}).ok());
  ASSERT_TRUE(at(kNow + 9, {RevokeCertificate{"1f"}}).ok());
  EXPECT_EQ(get(identity().certificate("1f")).revoked_us, kNow + 5);
  EXPECT_EQ(get(identity().certificates()).size(), 1u);
  expect_refused({RevokeCertificate{"2e"}}, StatusCode::kNotFound, "CREDENTIAL_NOT_FOUND");
}

TEST_P(IdentityContract, ChainsTheAudit) {
  EXPECT_EQ(get(identity().audit_chain()), (AuditChain{1, kAuditBeginning, 0, ""}));
  EXPECT_THAT(verify(), ElementsAre());
  AuditRow liar = deed("experiments/b");
  liar.id = 77, liar.time_us = 1, liar.previous = "forged";
  must({AppendAudit{deed("experiments/a")}, AppendAudit{liar}});
  must({AppendAudit{deed("experiments/c", "NOT_PERMITTED")}});
  const auto rows = get(identity().audit(0, 100));
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].previous, kAuditBeginning);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(rows[i].id, static_cast<std::int64_t>(i) + 1);
    EXPECT_EQ(rows[i].time_us, kNow);
    if (i > 0) {
      EXPECT_EQ(rows[i].previous, audit_digest(rows[i - 1]));
    }
  }
  EXPECT_EQ(rows[2].outcome, "NOT_PERMITTED");
  EXPECT_EQ(rows[2].detail_json, R"({"token":"abcdefgh"})");
  EXPECT_THAT(verify(), ElementsAre());
  EXPECT_THAT(audit_ids(1, 1), ElementsAre(2));
  EXPECT_THAT(audit_ids(3, 1), ElementsAre());
  EXPECT_TRUE(store().check()->problems.empty());
}

TEST_P(IdentityContract, WritesAnAuditRowWithItsChangeOrNeither) {
  make_world();
  must({AppendAudit{deed("experiments/a")}});
  expect_refused({AppendAudit{deed("experiments/b")}, SetExperimentState{9, ExperimentState::kActive}},
                 StatusCode::kNotFound, "EXPERIMENT_NOT_FOUND");
  EXPECT_EQ(get(identity().audit(0, 100)).size(), 1u);
  EXPECT_THAT(verify(), ElementsAre());
}

TEST_P(IdentityContract, ShowsARowThatWasTakenAwayOrChanged) {
  for (int i = 0; i < 5; ++i) must({AppendAudit{deed("experiments/" + std::to_string(i))}});
  const auto rows = get(identity().audit(0, 100));
  for (std::size_t broken = 0; broken < rows.size(); ++broken) {
    AuditVerifier without(get(identity().audit_chain())), changed(get(identity().audit_chain()));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (i != broken) without.add(rows[i]);
      AuditRow row = rows[i];
      if (i == broken) row.principal = "eve";
      changed.add(row);
    }
    EXPECT_FALSE(without.finish().empty()) << "without row " << rows[broken].id;
    EXPECT_FALSE(changed.finish().empty()) << "with row " << rows[broken].id << " changed";
  }
}

TEST_P(IdentityContract, LetsGoOfWhatIsOldWithoutBreakingTheChain) {
  make_ada();
  must({PutToken{token_of_ada()}, PutSession{session_of("abcdefgh", "s1")}, PutInvitation{invitation("h1")}});
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(at(kNow + i, {AppendAudit{deed("experiments/a")}}).ok());
  ASSERT_TRUE(at(kNow, {ForgetIdentity{kNow + 2}}).ok());
  EXPECT_THAT(audit_ids(0, 100), ElementsAre(3, 4));
  EXPECT_THAT(verify(), ElementsAre());
  must({AppendAudit{deed("experiments/b")}});
  EXPECT_THAT(verify(), ElementsAre());
  EXPECT_EQ(get(identity().sessions()).size(), 1u);
  EXPECT_EQ(get(identity().invitations()).size(), 1u);
  ASSERT_TRUE(at(kNow + 13 * kHour, {ForgetIdentity{kNow + 2 * kHour}}).ok());
  EXPECT_THAT(audit_ids(0, 100), ElementsAre(5)) << "the newest stays: ids go on from it";
  EXPECT_THAT(verify(), ElementsAre());
  EXPECT_TRUE(get(identity().sessions()).empty());
  EXPECT_TRUE(get(identity().invitations()).empty());
  EXPECT_TRUE(identity().token("abcdefgh").ok());
}

}  // namespace
}  // namespace locus::testing
