// Every call that is about something of somebody's, by its owner and by everyone else, on both doors.
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <set>

#include "server/authority/rpcs.h"
#include "server/http/routes.h"
#include "tests/server/support/enrolled.h"
#include "tests/server/support/every_call.h"
#include "tests/server/support/fake_worker.h"

namespace locus::test {
namespace {

using google::protobuf::MethodDescriptor;
using server::find_rule;
using server::Ownership;
using server::RpcRule;

struct OwnershipCaller {
  const char* name;
  Role role;
};
// "ada" owns the experiments, whose training "box" runs; "eve" has an account of her own, "idle" runs nothing.
constexpr OwnershipCaller kCallers[] = {
    {"ada", Role::kSubmitter}, {"eve", Role::kSubmitter},     {"viewer", Role::kViewer}, {"box", Role::kWorker},
    {"idle", Role::kWorker},   {"operator", Role::kOperator}, {"chief", Role::kAdmin}};

// Whose the things of this test are, beside an operator's and an administrator's, who may use everything.
std::set<std::string> owners_of(Ownership ownership) {
  switch (ownership) {
    case Ownership::kNothing:
      return {};
    case Ownership::kExperiment:
    case Ownership::kNewExperiment:
    case Ownership::kArtifactChange:
      return {"ada"};
    case Ownership::kArtifactRead:
      return {"ada", "box"};
    case Ownership::kWorkerName:
    case Ownership::kSession:
    case Ownership::kAttempt:
    case Ownership::kRunningAttempt:
      return {"box"};
  }
  return {};
}

bool may_use(const RpcRule& rule, const OwnershipCaller& caller) {
  if (!rule.access.roles.permits(caller.role)) return false;
  return includes(caller.role, Role::kOperator) || owners_of(rule.ownership).contains(caller.name);
}

bool is_person(const OwnershipCaller& caller) { return caller.role != Role::kWorker; }

class OwnershipMatrix : public EnrolledTest {
 protected:
  void SetUp() override {
    EnrolledTest::SetUp();
    for (const OwnershipCaller& caller : kCallers) {
      ASSERT_TRUE(enroll_as(invite(to_string(caller.role), caller.name), caller.name).ok());
      clients_[caller.name] = connect(caller.name);
      if (is_person(caller)) tokens_[caller.name] = token_of(caller);
    }
    for (const RpcRule& rule : server::kRpcRules) {
      if (rule.ownership == Ownership::kExperiment) submit("of-ada-" + std::to_string(experiments_.size()), rule);
    }
    box_ = std::make_unique<FakeWorker>(clients_["box"]->channel(), "box");
    idle_ = std::make_unique<FakeWorker>(clients_["idle"]->channel(), "idle");
    ASSERT_TRUE(box_->register_with().ok() && idle_->register_with().ok());
    work_ = box_->acquire();
    ASSERT_TRUE(work_);
    weights_ = box_->upload("weights");
    ASSERT_TRUE(box_->commit_checkpoint(*work_, 10, weights_).ok());
  }

  static std::string specification(const std::string& name) {
    return small_specification(
               {{"name", name}, {"matrix", {{"prior", {"learned-absolute"}}}}, {"replicates", {{"seed", {0}}}}})
        .dump();
  }
  // An experiment of ada's for each call, so that none takes the next one's away; all share their stages.
  void submit(const std::string& name, const RpcRule& rule) {
    v1::CreateExperimentRequest request;
    request.set_spec_json(specification(name));
    const auto created = clients_["ada"]->create_experiment(request);
    ASSERT_TRUE(created.ok()) << created.status();
    experiments_[std::string(rule.rpc)] = name;
  }
  std::string token_of(const OwnershipCaller& caller) const {
    v1::CreateTokenRequest request;
    request.set_principal(caller.name);
    request.set_role(to_string(caller.role));
    const auto made = admin_->create_token(request);
    EXPECT_TRUE(made.ok()) << made.status();
    return made.ok() ? made->token() : "";
  }

  // What a request says that is about ada's or box's.
  std::map<std::string, std::string> texts_of(const RpcRule& rule) const {
    if (rule.ownership == Ownership::kNewExperiment) return {{"spec_json", specification("new")}, {"owner", "ada"}};
    if (rule.ownership == Ownership::kWorkerName) return {{"name", "box"}};
    std::map<std::string, std::string> out = {{"session", box_->session}, {"sha256", weights_}};
    if (const auto found = experiments_.find(std::string(rule.rpc)); found != experiments_.end())
      out["name"] = out["experiment"] = found->second;
    return out;
  }
  std::string message_for(const MethodDescriptor& method, const RpcRule& rule) const {
    if (rule.ownership != Ownership::kRunningAttempt)
      return request_with(method, texts_of(rule),
                          {{"stage", work_->grant.stage()}, {"attempt", work_->grant.attempt()}});
    v1::UploadArtifactRequest upload;
    upload.mutable_header()->set_sha256(weights_);
    upload.mutable_header()->set_bytes(7);
    upload.mutable_header()->set_kind("checkpoint");
    return upload.SerializeAsString();
  }

  // Whether it is refused for who asks.
  bool refused_by_grpc(const MethodDescriptor& method, const RpcRule& rule, const OwnershipCaller& caller) const {
    grpc::ClientContext context;
    const grpc::Status status =
        make_call(clients_.at(caller.name)->channel(), context, path_of(method), message_for(method, rule));
    EXPECT_NE(status.error_code(), grpc::StatusCode::UNAUTHENTICATED) << rule.rpc << " by " << caller.name;
    return status.error_code() == grpc::StatusCode::PERMISSION_DENIED ||
           wire_error(status).reason == "ARTIFACT_NOT_FOUND";
  }
  bool refused_by_https(const server::Route& route, const RpcRule& rule, const OwnershipCaller& caller) const {
    const std::map<std::string, std::string> texts = texts_of(rule);
    std::string target = route.pattern;
    for (std::size_t open = target.find('{'); open != std::string::npos; open = target.find('{')) {
      const std::size_t close = target.find('}');
      const auto text = texts.find(target.substr(open + 1, close - open - 1));
      target.replace(open, close - open + 1, text == texts.end() ? "7" : text->second);
    }
    Json body = Json::object();
    if (rule.ownership == Ownership::kNewExperiment) body = texts;
    const std::string answer = over_https(route.method, target, body.dump(), tokens_.at(caller.name));
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 ") && !answer.starts_with("HTTP/1.1 401")) << target << answer;
    return answer.starts_with("HTTP/1.1 403") || answer.find("ARTIFACT_NOT_FOUND") != std::string::npos;
  }
  std::string over_https(const std::string& method, const std::string& target, const std::string& body,
                         const std::string& token) const {
    namespace ssl = boost::asio::ssl;
    using boost::asio::ip::tcp;
    const std::string address = server_->addresses().http;
    boost::asio::io_context io;
    ssl::context context(ssl::context::tls_client);
    ssl::stream<tcp::socket> stream(io, context);
    const int port = std::stoi(address.substr(address.rfind(':') + 1));
    stream.next_layer().connect({boost::asio::ip::address_v4::loopback(), static_cast<unsigned short>(port)});
    stream.handshake(ssl::stream_base::client);
    const std::string content = method == "GET" ? "" : body;
    boost::asio::write(stream, boost::asio::buffer(method + " " + target + " HTTP/1.1\r\nHost: localhost\r\n" +
                                                   "Connection: close\r\nContent-Type: application/json\r\n" +
                                                   "Authorization: Bearer " + token + "\r\nContent-Length: " +
                                                   std::to_string(content.size()) + "\r\n\r\n" + content));
    std::string out;
    boost::system::error_code ended;
    boost::asio::read(stream, boost::asio::dynamic_buffer(out), ended);
    return out;
  }

  // Every caller of whom the table says so, at every call that is about something.
  void try_all(bool permitted) {
    const server::Routes routes(nullptr);
    for (const auto* method : all_methods()) {
      const RpcRule& rule = *find_rule(rpc_of(*method));
      if (rule.ownership == Ownership::kNothing) continue;
      for (const OwnershipCaller& caller : kCallers) {
        if (may_use(rule, caller) != permitted) continue;
        tried_.insert({rule.ownership, permitted});
        EXPECT_EQ(refused_by_grpc(*method, rule, caller), !permitted) << rule.rpc << " by " << caller.name;
        for (const server::Route& route : routes.all()) {
          if (route.rpc != rule.rpc || !is_person(caller)) continue;
          EXPECT_EQ(refused_by_https(route, rule, caller), !permitted)
              << route.method << " " << route.pattern << " by " << caller.name;
        }
      }
    }
  }

  std::map<std::string, std::unique_ptr<Client>> clients_;
  std::map<std::string, std::string> tokens_, experiments_;  // by caller; by call
  std::unique_ptr<FakeWorker> box_, idle_;
  std::optional<Assigned> work_;
  std::string weights_;
  std::set<std::pair<Ownership, bool>> tried_;
};

TEST_F(OwnershipMatrix, HoldsForEveryCallByItsOwnerAndByEveryoneElse) {
  try_all(false);  // first: it changes nothing
  try_all(true);
  std::set<std::pair<Ownership, bool>> wanted;
  for (const RpcRule& rule : server::kRpcRules) {
    if (rule.ownership == Ownership::kNothing) continue;
    wanted.insert({rule.ownership, true});
    wanted.insert({rule.ownership, false});
  }
  EXPECT_EQ(tried_, wanted);
  EXPECT_EQ(wanted.size(), 2 * 8u) << "every ownership that there is";
}

TEST_F(OwnershipMatrix, AWorkerReadsACheckpointOnlyWhileItRunsWhatNeedsIt) {
  const MethodDescriptor* download = nullptr;
  for (const auto* method : all_methods()) {
    if (rpc_of(*method) == "ArtifactService/DownloadArtifact") download = method;
  }
  ASSERT_NE(download, nullptr);
  const RpcRule& rule = *find_rule(rpc_of(*download));
  EXPECT_FALSE(refused_by_grpc(*download, rule, {"box", Role::kWorker}));
  ASSERT_TRUE(box_->complete(*work_).ok());
  EXPECT_TRUE(refused_by_grpc(*download, rule, {"box", Role::kWorker})) << "it runs it no more";
  EXPECT_FALSE(refused_by_grpc(*download, rule, {"ada", Role::kSubmitter})) << "ada's it is still";
}

}  // namespace
}  // namespace locus::test
