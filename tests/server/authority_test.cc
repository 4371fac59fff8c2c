// What is whose, how browsers sign in, what the audit keeps, and how often one may ask.
#include <gmock/gmock.h>

#include "core/identity/audit.h"
#include "server/authority/credentials.h"
#include "tests/server/support/callers.h"

namespace locus::test {
namespace {

using ::testing::HasSubstr;

class Authority : public CallersTest {
 protected:
  void SetUp() override { start_asking(); }

  std::vector<std::string> deeds(const std::string& rpc) const {
    std::vector<std::string> out;
    for (const AuditRow& row : audit()) {
      if (row.rpc == rpc) out.push_back(row.principal + " " + row.subject + " " + row.outcome);
    }
    return out;
  }
  // Cookie header of a fresh session of that caller.
  std::string sign_in(const std::string& caller) {
    const HttpAnswer answer = http().post("/login", Json{{"token", tokens_.at(caller)}}.dump(), {{"X-Locus", "1"}});
    EXPECT_EQ(answer.status, 200) << answer.body;
    const std::string cookie = answer.headers.at("set-cookie");
    return cookie.substr(0, cookie.find(';'));
  }
};

TEST_F(Authority, GivesAnExperimentToTheAccountOfItsSubmitter) {
  ASSERT_EQ(submit_as("ada", small_specification()).status, 200);
  EXPECT_EQ(store_->experiment("small")->owner, "account-of-ada");
  EXPECT_EQ(reason(submit_as("eve", small_specification({{"name", "hers"}}), "account-of-ada")), "NOT_PERMITTED");
  EXPECT_FALSE(store_->experiment("hers").ok());
  EXPECT_EQ(submit_as("operator", small_specification({{"name", "gift"}}), "account-of-eve").status, 200);
  EXPECT_EQ(store_->experiment("gift")->owner, "account-of-eve");
  EXPECT_EQ(post_as("eve", "/api/v1/experiments/gift:cancel").status, 200);
}

TEST_F(Authority, LetsNobodyChangeAnothersExperiment) {
  ASSERT_EQ(submit_as("ada", small_specification()).status, 200);
  for (const char* verb : {":cancel", ":pause", ":resume", ":rerun", ":delete", ":annotate"}) {
    const HttpAnswer answer = post_as("eve", std::string("/api/v1/experiments/small") + verb, "{}");
    EXPECT_EQ(reason(answer), "NOT_PERMITTED") << verb << ": " << answer.status << answer.body;
  }
  for (const char* verb : {"propose", "stop", "continue"})
    EXPECT_EQ(reason(post_as("eve", std::string("/api/v1/experiments/small/search:") + verb, "{}")), "NOT_PERMITTED");
  const Json more = small_specification({{"replicates", {{"seed", {0, 1, 2, 3}}}}});
  EXPECT_EQ(reason(submit_as("eve", more)), "NOT_PERMITTED") << "nor extend it";
  EXPECT_EQ(get_as("eve", "/api/v1/experiments/small").status, 200) << "everybody reads";
  EXPECT_EQ(submit_as("ada", more).status, 200);
  EXPECT_EQ(post_as("ada", "/api/v1/experiments/small:pause").status, 200);
  EXPECT_EQ(post_as("operator", "/api/v1/experiments/small:cancel").status, 200);
}

TEST_F(Authority, LeavesOneRowForEveryChangeAndForEveryRefusal) {
  ASSERT_EQ(submit_as("ada", small_specification()).status, 200);
  post_as("ada", "/api/v1/experiments/small:pause");
  post_as("ada", "/api/v1/experiments/small:pause");
  post_as("eve", "/api/v1/experiments/small:cancel");
  post_as("viewer", "/api/v1/experiments/small:cancel");
  post_as("ada", "/api/v1/experiments/nothing:cancel");
  using ::testing::ElementsAre;
  EXPECT_THAT(deeds("ExperimentService/CreateExperiment"), ElementsAre("ada experiments/small ok"));
  EXPECT_THAT(deeds("ExperimentService/PauseExperiment"),
              ElementsAre("ada experiments/small ok", "ada experiments/small ok"));
  EXPECT_THAT(deeds("ExperimentService/CancelExperiment"),
              ElementsAre("eve experiments/small NOT_PERMITTED", "viewer  NOT_PERMITTED"))
      << "what failed for what it asked concerns nobody";
  AuditVerifier verifier(*store_->identity().audit_chain());
  for (const AuditRow& row : audit()) verifier.add(row);
  EXPECT_TRUE(verifier.finish().empty());
}

TEST_F(Authority, KeepsNoSecretInTheAuditOrAnAnswer) {
  const std::string planted = new_token().text();
  post_as("admin", "/api/v1/tokens/" + planted + ":revoke");
  post_as("ada", "/api/v1/experiments/" + planted + ":cancel");
  const HttpAnswer made = post_as("admin", "/api/v1/tokens", R"({"principal":"carl","role":"viewer"})");
  ASSERT_EQ(made.status, 200) << made.body;
  const std::string session = sign_in("ada");
  std::vector<std::string> secrets = {parse_token(planted)->secret,
                                      parse_token(made.json()["token"].get<std::string>())->secret,
                                      session.substr(session.find('=') + 1)};
  for (const auto& [caller, token] : tokens_) secrets.push_back(parse_token(token)->secret);
  std::string kept = get_as("admin", "/api/v1/audit").body + get_as("admin", "/api/v1/tokens").body;
  for (const AuditRow& row : audit()) kept += row.subject + row.detail_json + row.principal + row.outcome;
  const std::vector<TokenRow> all_tokens = store_->identity().tokens().value();
  const std::vector<SessionRow> all_sessions = store_->identity().sessions().value();
  for (const TokenRow& row : all_tokens) kept += row.secret_hash;
  for (const SessionRow& row : all_sessions) kept += row.hash;
  for (const std::string& secret : secrets) EXPECT_EQ(kept.find(secret), std::string::npos);
  EXPECT_EQ(get_as("carl", "/api/v1/identity").json()["name"], "");
  tokens_["carl"] = made.json()["token"].get<std::string>();
  EXPECT_EQ(get_as("carl", "/api/v1/identity").json()["account"], "carl");
}

TEST_F(Authority, EndsTokensAtOnceWhenTheyAreRevoked) {
  EXPECT_EQ(get_as("ada", "/api/v1/experiments").status, 200);
  const std::string session = sign_in("ada");
  EXPECT_EQ(http().get("/api/v1/experiments", {{"Cookie", session}}).status, 200);
  const std::string id = parse_token(tokens_.at("ada"))->id;
  ASSERT_EQ(post_as("admin", "/api/v1/tokens/" + id + ":revoke").status, 200);
  EXPECT_EQ(get_as("ada", "/api/v1/experiments").status, 401);
  EXPECT_EQ(http().get("/api/v1/experiments", {{"Cookie", session}}).status, 401);
}

TEST_F(Authority, EndsASessionThatIsUsedFromAnotherAddress) {
  server::Credentials credentials(*store_, system_clock());
  const std::string secret = credentials.log_in(tokens_.at("ada"), "10.0.0.1").value();
  EXPECT_EQ(credentials.by_session(secret, "10.0.0.1")->name, "ada");
  EXPECT_TRUE(absl::IsUnauthenticated(credentials.by_session(secret, "10.0.0.2").status()));
  EXPECT_TRUE(absl::IsUnauthenticated(credentials.by_session(secret, "10.0.0.1").status())) << "for the first, too";
  EXPECT_EQ(audit().back().address, "10.0.0.2");
  EXPECT_EQ(deeds("session"),
            std::vector<std::string>{" tokens/" + parse_token(tokens_.at("ada"))->id + " NOT_AUTHENTICATED"});
}

TEST_F(Authority, SignsABrowserInWithACookieThatScriptsAndOtherSitesDoNotGet) {
  const HttpAnswer answer = http().post("/login", Json{{"token", tokens_.at("ada")}}.dump(), {{"X-Locus", "1"}});
  ASSERT_EQ(answer.status, 200) << answer.body;
  const std::string cookie = answer.headers.at("set-cookie");
  EXPECT_THAT(cookie, ::testing::StartsWith("__Host-locus="));
  for (const char* attribute : {"; Path=/;", "; Secure", "; HttpOnly", "; SameSite=Strict"})
    EXPECT_THAT(cookie, HasSubstr(attribute));
  EXPECT_EQ(cookie.find("Domain"), std::string::npos);
  const std::string session = cookie.substr(0, cookie.find(';'));
  const HttpAnswer who = http().get("/api/v1/identity", {{"Cookie", "other=1; " + session}});
  EXPECT_EQ(who.json()["name"], "ada");
  EXPECT_EQ(who.json()["via"], "session");
  EXPECT_EQ(who.json()["asked"], true);
  EXPECT_EQ(http().post("/logout", "", {{"X-Locus", "1"}, {"Cookie", session}}).status, 200);
  EXPECT_EQ(http().get("/api/v1/experiments", {{"Cookie", session}}).status, 401);
}

TEST_F(Authority, TakesNoChangeByCookieFromAnotherPage) {
  ASSERT_EQ(submit_as("ada", small_specification()).status, 200);
  const std::string session = sign_in("ada");
  const std::string target = "/api/v1/experiments/small:pause";
  const auto with = [&](std::map<std::string, std::string> headers) {
    headers["Cookie"] = session;
    return http().post(target, "", headers).status;
  };
  EXPECT_EQ(with({}), 401) << "without X-Locus";
  EXPECT_EQ(with({{"X-Locus", "0"}}), 401);
  EXPECT_EQ(with({{"X-Locus", "1"}, {"Origin", "http://evil.example"}}), 403);
  EXPECT_EQ(with({{"X-Locus", "1"}, {"Origin", "null"}}), 403);
  EXPECT_EQ(with({{"X-Locus", "1"}, {"Sec-Fetch-Site", "cross-site"}}), 403);
  EXPECT_EQ(with({{"X-Locus", "1"}, {"Host", "evil.example"}}), 403);
  for (const char* type : {"text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""})
    EXPECT_EQ(with({{"X-Locus", "1"}, {"Content-Type", type}}), 415) << type;
  EXPECT_EQ(store_->experiment("small")->state, ExperimentState::kActive);
  EXPECT_EQ(with({{"X-Locus", "1"}, {"Origin", "http://" + http().address()}}), 200);
  EXPECT_EQ(store_->experiment("small")->state, ExperimentState::kPaused);
}

TEST_F(Authority, SignsNobodyInWithoutATokenInForce) {
  const auto login = [&](const std::string& body, std::map<std::string, std::string> headers = {{"X-Locus", "1"}}) {
    return http().post("/login", body, std::move(headers));
  };
  EXPECT_EQ(login("{}").status, 400);
  EXPECT_EQ(login("not json").status, 400);
  EXPECT_EQ(login(R"({"token": 7})").status, 400);
  const std::string good = Json{{"token", tokens_.at("ada")}}.dump();
  EXPECT_EQ(login(good, {}).status, 401) << "a form of another page";
  EXPECT_EQ(login(good, {{"X-Locus", "1"}, {"Content-Type", "text/plain"}}).status, 415);
  EXPECT_EQ(login(good, {{"X-Locus", "1"}, {"Origin", "http://evil.example"}}).status, 403);
  for (const char* caller : {"expired", "revoked"}) {
    const HttpAnswer answer = login(Json{{"token", tokens_.at(caller)}}.dump());
    EXPECT_EQ(answer.status, 401) << caller;
    EXPECT_FALSE(answer.headers.contains("set-cookie"));
  }
  EXPECT_TRUE(store_->identity().sessions()->empty());
  EXPECT_EQ(http().get("/api/v1/experiments", {{"Cookie", "__Host-locus=" + new_secret()}}).status, 401);
  EXPECT_EQ(http().get("/api/v1/experiments?token=" + tokens_.at("ada")).status, 401) << "no token in an address";
}

TEST_F(Authority, LocksATokenWhoseSecretIsGuessedAt) {
  const TokenText token = *parse_token(tokens_.at("ada"));
  const auto guess = [&] {
    return http().get("/api/v1/server", {{"Authorization", "Bearer locus_" + token.id + "_" + new_secret()}});
  };
  for (int i = 0; i < 5; ++i) EXPECT_EQ(guess().status, 401) << i;
  const HttpAnswer locked = get_as("ada", "/api/v1/server");
  EXPECT_EQ(locked.status, 429) << "the right one, too";
  EXPECT_EQ(reason(locked), "RATE_LIMITED");
  const int wait = std::stoi(locked.headers.at("retry-after"));
  EXPECT_TRUE(wait > 0 && wait <= 60) << wait;
  EXPECT_EQ(get_as("eve", "/api/v1/server").status, 200);
}

TEST_F(Authority, HearsNoMoreThanTenWrongTokensAMinuteFromOneAddress) {
  const auto wrong = [&] { return http().get("/api/v1/server", {{"Authorization", "Bearer " + new_token().text()}}); };
  int heard = 0;
  while (heard < 40 && wrong().status == 401) ++heard;
  EXPECT_GE(heard, 10);
  EXPECT_LT(heard, 40) << "a slow machine hears a few more: one every six seconds";
  EXPECT_EQ(get_as("ada", "/api/v1/server").status, 200) << "who shows a right one is heard";
}

TEST_F(Authority, BoundsHowOftenOneCallerChangesThings) {
  int refused = 0;
  for (int i = 0; i < 400; ++i) {
    const HttpAnswer answer = post_as("ada", "/api/v1/experiments/nothing:cancel");
    if (answer.status != 429) continue;
    ++refused;
    EXPECT_EQ(reason(answer), "RATE_LIMITED");
    EXPECT_TRUE(answer.headers.contains("retry-after"));
    break;
  }
  EXPECT_EQ(refused, 1);
  EXPECT_EQ(post_as("eve", "/api/v1/experiments/nothing:cancel").status, 404) << "others are heard";
  EXPECT_EQ(get_as("ada", "/api/v1/server").status, 200) << "and reading goes on";
}

class Unasked : public CallersTest {};

TEST_F(Unasked, EveryoneIsTheLocalAdministrator) {
  start();
  const Json who = http().get("/api/v1/identity").json();
  EXPECT_EQ(who["asked"], false);
  EXPECT_EQ(who["name"], "local");
  EXPECT_EQ(who["role"], "admin");
  EXPECT_EQ(http().post("/login", "{}", {{"X-Locus", "1"}}).status, 404);
  submit(small_specification());
  ASSERT_FALSE(audit().empty());
  EXPECT_EQ(audit().back().principal, "local");
  EXPECT_EQ(audit().back().subject, "experiments/small");
}

}  // namespace
}  // namespace locus::test
