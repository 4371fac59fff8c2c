// A server that asks who calls, and one caller of every kind.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/identity/principal.h"
#include "core/identity/secret.h"
#include "tests/server/support/server_fixture.h"

namespace locus::test {

// "ada" and "eve" submit for accounts of their own; the others are called as their roles are.
class CallersTest : public ServerTest {
 protected:
  void start_asking() {
    seed_ = [this](Store& store) {
      for (const Role role : {Role::kViewer, Role::kOperator, Role::kAdmin, Role::kProvisioner})
        add(store, to_string(role), role);
      add(store, "ada", Role::kSubmitter);
      add(store, "eve", Role::kSubmitter);
      add(store, "expired", Role::kAdmin, /*long_ago=*/true);
      add(store, "revoked", Role::kAdmin);
      must(store, {RevokeToken{parse_token(tokens_["revoked"])->id}});
    };
    ServerOptions options;
    options.authenticate = true;
    start(options);
  }

  // The header of that caller; none for "nobody".
  std::map<std::string, std::string> bearer(const std::string& caller) const {
    const auto found = tokens_.find(caller);
    if (found == tokens_.end()) return {};
    return {{"Authorization", "Bearer " + found->second}};
  }
  std::unique_ptr<grpc::ClientContext> as(const std::string& caller, int seconds = 20) const {
    auto context = deadline(seconds);
    if (tokens_.contains(caller)) context->AddMetadata("authorization", "Bearer " + tokens_.at(caller));
    return context;
  }
  // A connection of that caller's own: gRPC keeps one caller to a connection.
  std::shared_ptr<grpc::Channel> connection_of(const std::string& caller) {
    std::shared_ptr<grpc::Channel>& known = connections_[caller];
    if (known) return known;
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    known = grpc::CreateCustomChannel(grpc_address(), grpc::InsecureChannelCredentials(), arguments);
    return known;
  }
  HttpAnswer post_as(const std::string& caller, const std::string& target, const std::string& body = "") const {
    return http().post(target, body, bearer(caller));
  }
  HttpAnswer get_as(const std::string& caller, const std::string& target) const {
    return http().get(target, bearer(caller));
  }
  HttpAnswer submit_as(const std::string& caller, const Json& specification, const std::string& owner = "") const {
    Json body = {{"spec_json", specification.dump()}};
    if (!owner.empty()) body["owner"] = owner;
    return post_as(caller, "/api/v1/experiments", body.dump());
  }
  static std::string reason(const HttpAnswer& answer) {
    const Json json = Json::parse(answer.body, nullptr, false);
    if (!json.is_object() || !json.contains("error")) return "none in: " + answer.body.substr(0, 200);
    return json["error"]["details"][0].value("reason", "");
  }
  std::vector<AuditRow> audit() const { return *store_->identity().audit(0, 100'000); }

  std::map<std::string, std::string> tokens_;  // by caller
  Role role_of(const std::string& caller) const { return roles_.at(caller); }

 private:
  void add(Store& store, const std::string& name, Role role, bool long_ago = false) {
    const TokenText token = new_token();
    tokens_[name] = token.text();
    roles_[name] = role;
    const Microseconds now = long_ago ? 1'000'000 : system_clock().wall();
    const TokenRow row{.id = token.id,
                       .secret_hash = hash_of_secret(token.secret),
                       .principal = name,
                       .role = role,
                       .expires_us = now + 3'600'000'000};
    must(store, {PutPrincipal{{.name = name, .account = "account-of-" + name}}, PutToken{row}}, now);
  }
  static void must(Store& store, const std::vector<Mutation>& mutations, Microseconds now = system_clock().wall()) {
    const absl::Status status = store.apply(mutations, now);
    ASSERT_TRUE(status.ok()) << status;
  }
  std::map<std::string, Role> roles_;
  std::map<std::string, std::shared_ptr<grpc::Channel>> connections_;
};

}  // namespace locus::test
