// A server with an authority of its own, its first administrator, and whoever is invited.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <string>

#include "client/client.h"
#include "client/enrollment.h"
#include "core/certificates/certificate.h"
#include "tests/server/support/server_fixture.h"
#include "tests/server/support/shifted_clock.h"

namespace locus::test {

class EnrolledTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ServerOptions options;
    options.data = folder_.path() / "data";
    options.catalog = LOCUS_TEST_CATALOG;
    options.grpc_address = options.http_address = "127.0.0.1:0";
    options.tls.names = {"localhost", "127.0.0.1"};
    auto parts = make_parts(options);
    ASSERT_TRUE(parts.ok()) << parts.status();
    parts->clock = &clock_;
    if (seed_) seed_(*parts->store);
    auto server = Server::start(options, *std::move(parts));
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    std::string first;
    std::ifstream(options.data / "first-admin-token") >> first;
    const auto admin = enroll(url(), first, folder_.path() / "admin");
    ASSERT_TRUE(admin.ok()) << admin.status();
    EXPECT_EQ(admin->role, "admin");
    admin_ = connect("admin");
  }

  std::string url() const { return "https://" + server_->addresses().http; }
  std::unique_ptr<Client> connect(const std::string& name) const {
    return Client::connect(server_->addresses().grpc, {.patience = {}, .tls = tls_in(folder_.path() / name)}).value();
  }
  std::string invite(const std::string& role, const std::string& name, std::int64_t seconds = 60) {
    v1::CreateInvitationRequest request;
    request.set_role(role);
    request.set_name(name);
    request.mutable_ttl()->set_seconds(seconds);
    (*request.mutable_labels())["pool"] = "vision";
    const auto invitation = admin_->create_invitation(request);
    EXPECT_TRUE(invitation.ok()) << invitation.status();
    return invitation.ok() ? invitation->token() : "";
  }
  Certificate certificate_of(const std::string& name) const {
    std::ifstream in(tls_in(folder_.path() / name).certificate);
    const std::string pem((std::istreambuf_iterator<char>(in)), {});
    return Certificate::read(pem, name).value().front();
  }
  absl::StatusOr<Enrollment> enroll_as(const std::string& token, const std::string& name) {
    return enroll(url(), token, folder_.path() / name);
  }

  TemporaryFolder folder_;
  ShiftedClock clock_;                // the server's
  std::function<void(Store&)> seed_;  // likewise, when set before SetUp(): fills the store first
  std::unique_ptr<Server> server_;
  std::unique_ptr<Client> admin_;
};

}  // namespace locus::test
