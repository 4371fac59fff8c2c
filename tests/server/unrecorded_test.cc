// Where the record cannot be written: nothing is changed that it would not hold, and reading goes on.
#include <gmock/gmock.h>

#include "core/base/error.h"
#include "core/identity/audit.h"
#include "storage/sqlite/store.h"
#include "tests/server/support/callers.h"
#include "tests/storage/faulty_vfs.h"

namespace locus::test {
namespace {

// A server that asks, on a disk that can be full.
class Unrecorded : public CallersTest {
 protected:
  void SetUp() override {
    make_store_ = [this] { return open_sqlite_store(folder_.path(), system_clock(), {2, faulty_.name()}).value(); };
    start_asking();
    ASSERT_EQ(submit_as("ada", small_specification()).status, 200);
  }
  void TearDown() override { stop(); }  // before its disk goes

  // What there is of experiments, tokens and sessions.
  Json picture() const {
    Json out = Json::array();
    const auto experiment = store_->experiment("small");
    out.push_back({to_string(experiment->state), experiment->owner, experiment->revision});
    const std::vector<TokenRow> tokens = store_->identity().tokens().value();
    for (const TokenRow& row : tokens) out.push_back({row.id, row.revoked_us});
    const std::vector<SessionRow> sessions = store_->identity().sessions().value();
    for (const SessionRow& row : sessions) out.push_back(row.hash);
    return out;
  }

  locus::testing::FaultyVfs faulty_;
  TemporaryFolder folder_;
};

TEST_F(Unrecorded, NothingIsChangedThatTheAuditCannotHoldAndReadingGoesOn) {
  const Json before = picture();
  const std::size_t rows = audit().size();
  faulty_.set_full(true);
  const std::string id = parse_token(tokens_.at("eve"))->id;
  const std::pair<const char*, std::string> changes[] = {{"ada", "/api/v1/experiments/small:pause"},
                                                         {"ada", "/api/v1/experiments/small:cancel"},
                                                         {"ada", "/api/v1/experiments/small:rerun"},
                                                         {"ada", "/api/v1/experiments/small:delete?force=true"},
                                                         {"admin", "/api/v1/tokens/" + id + ":revoke"}};
  for (const auto& [caller, target] : changes) {
    const HttpAnswer answer = post_as(caller, target, "{}");
    EXPECT_TRUE(answer.status == 429 || answer.status == 503) << target << ": " << answer.status << answer.body;
  }
  const HttpAnswer token = post_as("admin", "/api/v1/tokens", R"({"principal":"carl","role":"viewer"})");
  EXPECT_EQ(token.status, 429) << token.body;
  EXPECT_EQ(token.body.find("locus_"), std::string::npos) << "no token is given away that is not stored";
  const HttpAnswer login = http().post("/login", Json{{"token", tokens_.at("ada")}}.dump(), {{"X-Locus", "1"}});
  EXPECT_EQ(login.status, 429) << login.body;
  EXPECT_FALSE(login.headers.contains("set-cookie"));

  EXPECT_EQ(get_as("viewer", "/api/v1/experiments/small").status, 200) << "who is known is known";
  EXPECT_EQ(get_as("admin", "/api/v1/audit").status, 200);
  EXPECT_EQ(get_as("nobody", "/api/v1/experiments").status, 401) << "and who is not, is not";
  EXPECT_EQ(post_as("viewer", "/api/v1/experiments/small:pause").status, 403) << "a refusal needs no room";
  EXPECT_EQ(picture(), before);
  EXPECT_EQ(audit().size(), rows);

  faulty_.set_full(false);
  EXPECT_EQ(post_as("ada", "/api/v1/experiments/small:pause").status, 200) << "by itself";
  EXPECT_EQ(audit().size(), rows + 1);
  EXPECT_EQ(audit().back().rpc, "ExperimentService/PauseExperiment");
  AuditVerifier verifier(*store_->identity().audit_chain());
  const std::vector<AuditRow> all = audit();
  for (const AuditRow& row : all) verifier.add(row);
  EXPECT_TRUE(verifier.finish().empty());
}

}  // namespace
}  // namespace locus::test
