// Invitations, enrollment, renewal and revocation, over both doors of a whole server.
#include "client/enrollment.h"

#include <gtest/gtest.h>

#include <fstream>

#include "client/client.h"
#include "client/https.h"
#include "core/base/error.h"
#include "core/certificates/invitation.h"
#include "core/certificates/issue.h"
#include "tests/server/support/enrolled.h"
#include "tests/server/support/held_stream.h"
#include "tests/server/support/test_authority.h"

namespace locus::test {
namespace {

namespace fs = std::filesystem;

class Enrolling : public EnrolledTest {};

TEST_F(Enrolling, GivesWhatTheInvitationSaysAndNothingTheRequestAsksFor) {
  const auto token = parse_invitation(invite("viewer", "ada"));
  ASSERT_TRUE(token.has_value());
  const PrivateKey key = PrivateKey::make().value();
  // The request asks to be an admin by its name.
  const Json ask = {{"secret", token->secret}, {"request", key.request("spiffe://locus/admin/ada").value()}};
  const HttpsAddress address = parse_https(url(), "server").value();
  const auto answer =
      post_over_https(address, token->fingerprint, "/api/v1/enroll", ask.dump(), std::chrono::seconds(10));
  ASSERT_TRUE(answer.ok()) << answer.status();
  ASSERT_EQ(answer->status, 200) << answer->body;
  const Json body = Json::parse(answer->body);
  const Certificate given = Certificate::read(body["certificate"].get<std::string>(), "given").value().front();
  EXPECT_EQ(given.uris(), std::vector<std::string>{"spiffe://locus/viewer/ada"});
  EXPECT_TRUE(given.matches(key));
  EXPECT_NEAR(static_cast<double>(given.not_after() - seconds_now()), 7 * 86'400.0, 60) << "people: a week";
}

TEST_F(Enrolling, ATokenIsGoodOnceAndForItsTime) {
  const std::string token = invite("worker", "box");
  ASSERT_TRUE(enroll_as(token, "box").ok());
  EXPECT_NEAR(static_cast<double>(certificate_of("box").not_after() - seconds_now()), 30 * 86'400.0, 60);
  const absl::Status used = enroll_as(token, "again").status();
  EXPECT_TRUE(has_reason(used, ErrorReason::kInvitationRefused)) << used;
  EXPECT_FALSE(fs::exists(folder_.path() / "again"));
  const auto parsed = parse_invitation(token);
  const InvitationToken made_up{parsed->fingerprint, std::string(43, 'A')};
  EXPECT_TRUE(has_reason(enroll_as(made_up.text(), "again").status(), ErrorReason::kInvitationRefused));
  EXPECT_TRUE(absl::IsInvalidArgument(enroll_as("no token", "again").status()));
}

TEST_F(Enrolling, TheSecretGoesToNoServerButTheTokens) {
  const auto token = parse_invitation(invite("worker", "box"));
  const InvitationToken other{std::string(64, '0'), token->secret};
  const absl::Status refused = enroll_as(other.text(), "box").status();
  EXPECT_TRUE(absl::IsPermissionDenied(refused)) << refused;
  EXPECT_TRUE(has_reason(refused, ErrorReason::kCertificateInvalid)) << refused;
  EXPECT_TRUE(enroll_as(token->text(), "box").ok()) << "the invitation was not spent";
}

TEST_F(Enrolling, RefusesInvitationsThatNobodyCouldUse) {
  v1::CreateInvitationRequest request;
  request.set_role("emperor");
  request.set_name("ada");
  EXPECT_TRUE(absl::IsInvalidArgument(admin_->create_invitation(request).status()));
  request.set_role("viewer");
  request.set_name("../ada");
  EXPECT_TRUE(absl::IsInvalidArgument(admin_->create_invitation(request).status()));
  request.set_name("ada");
  request.mutable_ttl()->set_seconds(-1);
  EXPECT_TRUE(absl::IsInvalidArgument(admin_->create_invitation(request).status()));
}

TEST_F(Enrolling, AProvisionerInvitesWorkersOfItsPoolAlone) {
  v1::CreateInvitationRequest request;
  request.set_role("provisioner");
  request.set_name("gpu");
  ASSERT_TRUE(enroll_as(admin_->create_invitation(request)->token(), "gpu").ok());
  const auto provisioner = connect("gpu");
  EXPECT_TRUE(provisioner->get_demand().ok());
  const auto refused = [&](const std::string& role, const std::string& name, const std::string& pool = "") {
    v1::CreateInvitationRequest asked;
    asked.set_role(role);
    asked.set_name(name);
    if (!pool.empty()) (*asked.mutable_labels())["pool"] = pool;
    return absl::IsPermissionDenied(provisioner->create_invitation(asked).status());
  };
  EXPECT_TRUE(refused("admin", "gpu-1"));
  EXPECT_TRUE(refused("provisioner", "gpu-1"));
  EXPECT_TRUE(refused("worker", "gpu"));
  EXPECT_TRUE(refused("worker", "gpux"));
  EXPECT_TRUE(refused("worker", "gpu-1", "vision"));
  EXPECT_FALSE(refused("worker", "gpu-1", "gpu"));
  request.set_role("worker");
  request.set_name("gpu-2");
  const auto invitation = provisioner->create_invitation(request);
  ASSERT_TRUE(invitation.ok()) << invitation.status();
  ASSERT_TRUE(enroll_as(invitation->token(), "gpu-2").ok());
  const auto certificates = admin_->list_certificates();
  ASSERT_TRUE(certificates.ok()) << certificates.status();
  for (const v1::IssuedCertificate& one : certificates->certificates()) {
    if (one.name() == "gpu-2") EXPECT_EQ(one.labels().at("pool"), "gpu") << "whatever it said";
  }
}

TEST_F(Enrolling, RenewalKeepsTheKeyAndTheName) {
  ASSERT_TRUE(enroll_as(invite("worker", "box"), "box").ok());
  const Certificate before = certificate_of("box");
  const auto client = connect("box");
  ASSERT_TRUE(renew(*client, tls_in(folder_.path() / "box")).ok());
  const Certificate after = certificate_of("box");
  EXPECT_NE(after.serial(), before.serial());
  EXPECT_EQ(after.uris(), before.uris());
  EXPECT_TRUE(connect("box")->get_server().ok());
  EXPECT_FALSE(renewal_due(tls_in(folder_.path() / "box"), seconds_now()).value());
  EXPECT_TRUE(renewal_due(tls_in(folder_.path() / "box"), seconds_now() + 21 * 86'400).value());
}

TEST_F(Enrolling, RevocationRefusesLaterCallsAndEndsThoseUnderWay) {
  ASSERT_TRUE(enroll_as(invite("viewer", "ada"), "ada").ok());
  v1::CreateExperimentRequest submission;
  submission.set_spec_json(small_specification().dump());
  ASSERT_TRUE(admin_->create_experiment(submission).ok());
  const auto client = connect("ada");
  HeldWatch watch(client->channel());
  v1::RevokeCertificateRequest request;
  request.set_serial(certificate_of("ada").serial());
  const auto revoked = admin_->revoke_certificate(request);
  ASSERT_TRUE(revoked.ok()) << revoked.status();
  EXPECT_TRUE(revoked->has_revoked());
  EXPECT_EQ(watch.end().error_code(), grpc::StatusCode::CANCELLED);
  const absl::Status later = connect("ada")->get_server().status();
  EXPECT_TRUE(absl::IsUnauthenticated(later)) << later;
  EXPECT_TRUE(admin_->get_server().ok());
  const auto known = admin_->list_certificates();
  ASSERT_TRUE(known.ok()) << known.status();
  EXPECT_EQ(known->certificates_size(), 2);
}

TEST_F(Enrolling, ACertificateThatSaysTwoThingsIsRefused) {
  const auto authority = server::Authority::open(folder_.path() / "data" / "tls", seconds_now()).value();
  const TestAuthority signer(authority.server_issuer().value());
  for (const std::vector<std::string>& uris : {std::vector<std::string>{},
                                               {"spiffe://locus/worker/box", "spiffe://locus/admin/box"},
                                               {"https://locus/admin/box"}}) {
    const ClientTls tls = write_identity(folder_.path() / "odd", signer.client(uris), authority.anchors());
    const auto client = Client::connect(server_->addresses().grpc, {.patience = {}, .tls = tls}).value();
    const absl::Status refused = client->get_server().status();
    EXPECT_TRUE(absl::IsUnauthenticated(refused)) << refused;
  }
}

}  // namespace
}  // namespace locus::test
