// Every call there is, by every kind of caller, on both transports, against the table.
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "server/authority/places.h"
#include "server/authority/rpcs.h"
#include "server/http/routes.h"
#include "tests/server/support/callers.h"
#include "tests/server/support/every_call.h"

namespace locus::test {
namespace {

using server::find_rule;
using server::RpcRule;

const std::vector<std::string> kNobodies = {"nobody", "expired", "revoked"};
const std::vector<std::string> kSomebodies = {"viewer", "ada", "operator", "admin", "provisioner"};

class RoleMatrix : public CallersTest {
 protected:
  void SetUp() override { start_asking(); }

  grpc::Status call(const std::string& path, const std::string& caller) {
    const auto context = as(caller);
    return make_call(connection_of(caller), *context, path);
  }
  bool unknown(const std::string& path, const std::string& caller) {
    return call(path, caller).error_code() == grpc::StatusCode::UNAUTHENTICATED;
  }
  bool refused(const std::string& path, const std::string& caller) {
    const grpc::Status status = call(path, caller);
    EXPECT_NE(status.error_code(), grpc::StatusCode::UNAUTHENTICATED) << path << " by " << caller;
    return lacks_role(status);
  }

  // What the table says of a caller that has shown a token in force.
  bool may(const RpcRule& rule, const std::string& caller) const {
    return rule.access.anybody || rule.access.roles.permits(role_of(caller));
  }
};

TEST(RpcTable, HasALineForEveryMethodOnceAndNoOther) {
  std::set<std::string> known;
  for (const auto* method : all_methods()) known.insert(rpc_of(*method));
  std::set<std::string> listed;
  for (const RpcRule& rule : server::kRpcRules) EXPECT_TRUE(listed.insert(std::string(rule.rpc)).second) << rule.rpc;
  EXPECT_EQ(listed, known);
  EXPECT_TRUE(std::is_sorted(std::begin(server::kRpcRules), std::end(server::kRpcRules),
                             [](const RpcRule& a, const RpcRule& b) { return a.rpc < b.rpc; }));
}

TEST(RpcTable, NamesFieldsThatItsRequestsHave) {
  for (const auto* method : all_methods()) {
    const std::string subject(find_rule(rpc_of(*method))->subject);
    const std::size_t open = subject.find('{');
    if (open == std::string::npos) continue;
    const auto* field = method->input_type()->FindFieldByName(subject.substr(open + 1, subject.find('}') - open - 1));
    ASSERT_NE(field, nullptr) << rpc_of(*method) << ": " << subject;
    EXPECT_EQ(field->cpp_type(), google::protobuf::FieldDescriptor::CPPTYPE_STRING) << rpc_of(*method);
  }
}

TEST(RpcTable, CountsEveryStreamAsUnderWay) {
  std::set<std::string> streams, counted;
  for (const auto* method : all_methods()) {
    if (method->client_streaming() || method->server_streaming()) streams.insert(rpc_of(*method));
  }
  for (const server::LastingCall& one : server::kLastingCalls) counted.insert(std::string(one.rpc));
  EXPECT_EQ(counted, streams);
}

TEST(RpcTable, LetsNobodyInUnknown) {
  for (const char* path : {"", "/", "ExperimentService/GetExperiment", "/locus.v1.ExperimentService/", "/locus.v1.",
                           "/locus.v1.ExperimentService/Nothing", "/other.v1.ExperimentService/GetExperiment",
                           "/locus.v1.grpc.health.v1.Health/Check/"})
    EXPECT_EQ(server::rule_of_path(path), nullptr) << path;
}

TEST_F(RoleMatrix, HoldsForEveryCallOfGrpc) {
  for (const auto* method : all_methods()) {
    const RpcRule& rule = *find_rule(rpc_of(*method));
    const std::string path = path_of(*method);
    for (const std::string& caller : kNobodies)
      EXPECT_EQ(unknown(path, caller), !rule.access.anybody) << path << " by " << caller;
    for (const std::string& caller : kSomebodies)
      EXPECT_EQ(refused(path, caller), !may(rule, caller)) << path << " by " << caller;
  }
}

TEST_F(RoleMatrix, KeepsAConnectionToTheCallerThatItBeganWith) {
  const auto connection = connection_of("viewer");
  const auto ask = [&](const std::string& caller) {
    v1::ListExperimentsResponse answer;
    return v1::ExperimentService::NewStub(connection)->ListExperiments(as(caller).get(), {}, &answer).error_code();
  };
  EXPECT_EQ(ask("viewer"), grpc::StatusCode::OK);
  EXPECT_EQ(ask("viewer"), grpc::StatusCode::OK) << "as often as it likes";
  EXPECT_EQ(ask("admin"), grpc::StatusCode::UNAUTHENTICATED) << "nobody calls in another's name";
  EXPECT_EQ(ask("nobody"), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(ask("viewer"), grpc::StatusCode::OK);
}

TEST_F(RoleMatrix, HoldsForWhatGrpcServesByItself) {
  for (const RpcRule& rule : server::kForeignRules) {
    const std::string path = "/" + std::string(rule.rpc);
    for (const std::string& caller : kNobodies)
      EXPECT_EQ(unknown(path, caller), !rule.access.anybody) << path << " by " << caller;
    for (const std::string& caller : kSomebodies)
      EXPECT_EQ(refused(path, caller), !may(rule, caller)) << path << " by " << caller;
  }
  EXPECT_EQ(call("/locus.v1.ExperimentService/Nothing", "admin").error_code(), grpc::StatusCode::PERMISSION_DENIED);
}

std::string filled(std::string pattern) {
  for (std::size_t open = pattern.find('{'); open != std::string::npos; open = pattern.find('{'))
    pattern.replace(open, pattern.find('}') - open + 1, "7");
  return pattern;
}

TEST_F(RoleMatrix, HoldsForEveryAddressOfHttp) {
  const server::Routes routes(nullptr);
  for (const server::Route& route : routes.all()) {
    const RpcRule& rule = *find_rule(route.rpc);
    const auto ask = [&](const std::string& caller) {
      return route.method == "GET" ? get_as(caller, filled(route.pattern))
                                   : post_as(caller, filled(route.pattern), "{}");
    };
    for (const std::string& caller : kNobodies) {
      const int status = ask(caller).status;
      // Who shows something that is not in force is told so, even where anybody may ask.
      const bool refused = !rule.access.anybody || caller != "nobody";
      EXPECT_EQ(status == 401, refused) << route.method << " " << route.pattern << " by " << caller << ": " << status;
    }
    for (const std::string& caller : kSomebodies) {
      const HttpAnswer answer = ask(caller);
      EXPECT_NE(answer.status, 401) << route.pattern << " by " << caller;
      const bool refused = answer.status == 403 && reason(answer) == "NOT_PERMITTED";
      EXPECT_EQ(refused, !may(rule, caller)) << route.method << " " << route.pattern << " by " << caller << ": "
                                             << answer.status << " " << answer.body.substr(0, 200);
    }
  }
}

TEST_F(RoleMatrix, HoldsForAddressesBesideTheRoutes) {
  for (const char* open : {"/healthz", "/readyz"}) EXPECT_EQ(http().get(open).status, 200) << open;
  for (const char* target : {"/metrics", "/api/openapi.json", "/api/v1/events"}) {
    for (const std::string& caller : kNobodies) EXPECT_EQ(get_as(caller, target).status, 401) << target << caller;
  }
  EXPECT_EQ(get_as("provisioner", "/api/v1/events").status, 403);
  EXPECT_EQ(get_as("provisioner", "/metrics").status, 200) << "any role reads the state of the server";
  ASSERT_EQ(submit_as("ada", small_specification()).status, 200);
  EventReader events(http().address(), "/api/v1/events?cursor=0", bearer("viewer"));
  EXPECT_EQ(events.next().name, "change");
}

}  // namespace
}  // namespace locus::test
