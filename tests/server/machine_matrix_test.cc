// Every call there is by machines, which show certificates: their roles, and what is theirs of the worker protocol.
#include <gtest/gtest.h>

#include <set>

#include "core/base/error.h"
#include "server/authority/rpcs.h"
#include "tests/server/support/enrolled.h"
#include "tests/server/support/every_call.h"
#include "tests/server/support/fake_worker.h"

namespace locus::test {
namespace {

using server::find_rule;
using server::Ownership;
using server::RpcRule;

const std::vector<std::pair<std::string, Role>> kMachines = {
    {"box-1", Role::kWorker}, {"box-2", Role::kWorker}, {"scaler", Role::kProvisioner}};

// Two workers and a provisioner, each with a certificate and a connection of its own.
class MachineMatrix : public EnrolledTest {
 protected:
  void SetUp() override {
    EnrolledTest::SetUp();
    for (const auto& [name, role] : kMachines) {
      const auto enrolled = enroll_as(invite(to_string(role), name), name);
      ASSERT_TRUE(enrolled.ok()) << enrolled.status();
      clients_[name] = connect(name);
    }
  }

  std::shared_ptr<grpc::Channel> channel_of(const std::string& name) const { return clients_.at(name)->channel(); }
  grpc::Status call(const std::string& name, const std::string& path, const std::string& message = "") const {
    grpc::ClientContext context;
    return make_call(channel_of(name), context, path, message);
  }
  // Whether it was refused because what it is about is another worker's.
  bool is_anothers(const std::string& name, const std::string& path, const std::string& message) const {
    const grpc::Status status = call(name, path, message);
    EXPECT_NE(status.error_code(), grpc::StatusCode::UNAUTHENTICATED) << path << " by " << name;
    return status.error_code() == grpc::StatusCode::PERMISSION_DENIED &&
           status.error_message().find("is not for '" + name + "' to use") != std::string::npos;
  }

  void submit() {
    v1::CreateExperimentRequest submission;
    submission.set_spec_json(small_specification().dump());
    ASSERT_TRUE(admin_->create_experiment(submission).ok());
  }
  std::string last_deed() const {
    const auto audit = admin_->list_audit();
    EXPECT_TRUE(audit.ok()) << audit.status();
    if (!audit.ok() || audit->entries().empty()) return "";
    const auto& last = *audit->entries().rbegin();
    return last.principal() + " " + last.rpc() + " " + last.subject() + " " + last.outcome();
  }

  std::map<std::string, std::unique_ptr<Client>> clients_;
};

bool names_an_attempt(const google::protobuf::MethodDescriptor& method) {
  return method.input_type()->FindFieldByName("attempt") != nullptr;
}

TEST_F(MachineMatrix, HoldsForEveryCallOfGrpc) {
  for (const auto* method : all_methods()) {
    const RpcRule& rule = *find_rule(rpc_of(*method));
    for (const auto& [name, role] : kMachines) {
      if (name == "box-2") continue;
      const grpc::Status status = call(name, path_of(*method));
      const bool may = rule.access.anybody || rule.access.roles.permits(role);
      EXPECT_NE(status.error_code(), grpc::StatusCode::UNAUTHENTICATED) << rule.rpc << " by " << name;
      EXPECT_EQ(lacks_role(status), !may) << rule.rpc << " by " << name << ": " << status.error_message();
    }
  }
}

TEST_F(MachineMatrix, AWorkerSpeaksForItsOwnNameSessionAndAttemptsAlone) {
  FakeWorker other(channel_of("box-2"), "box-2"), own(channel_of("box-1"), "box-1");
  ASSERT_TRUE(other.register_with().ok());
  ASSERT_TRUE(own.register_with().ok());
  submit();
  const auto work = other.acquire();
  ASSERT_TRUE(work);
  const std::map<std::string, std::int64_t> attempt = {{"stage", work->grant.stage()},
                                                       {"attempt", work->grant.attempt()}};
  std::set<Ownership> tried;
  for (const auto* method : all_methods()) {
    const RpcRule& rule = *find_rule(rpc_of(*method));
    // A call that names an attempt is about that attempt, whatever session it shows.
    EXPECT_TRUE(rule.access.roles.to_text() != "worker" || !names_an_attempt(*method) ||
                rule.ownership == Ownership::kAttempt)
        << rule.rpc;
    const bool protocol = rule.ownership == Ownership::kWorkerName || rule.ownership == Ownership::kSession ||
                          rule.ownership == Ownership::kAttempt;
    if (!protocol) continue;
    tried.insert(rule.ownership);
    const std::string theirs = request_with(*method, {{"name", "box-2"}, {"session", other.session}}, attempt);
    EXPECT_TRUE(is_anothers("box-1", path_of(*method), theirs)) << rule.rpc;
    EXPECT_FALSE(is_anothers("box-2", path_of(*method), theirs)) << rule.rpc;
    if (rule.ownership != Ownership::kAttempt) continue;
    const std::string taken = request_with(*method, {{"session", own.session}}, attempt);
    EXPECT_TRUE(is_anothers("box-1", path_of(*method), taken)) << rule.rpc << " with its own session";
  }
  EXPECT_EQ(tried.size(), 3u);
  // A session's text is its worker's to choose, and makes no attempt its own.
  FakeWorker liar(channel_of("box-1"), "box-1");
  liar.session = "attempt " + std::to_string(work->grant.stage()) + "/" + std::to_string(work->grant.attempt());
  ASSERT_TRUE(liar.register_with().ok());
  v1::SyncLeasesResponse wishes;
  ASSERT_TRUE(liar.sync({}, &wishes).ok());
  EXPECT_EQ(wire_error(liar.try_report(*work, {3, 2}, 1)).reason, "NOT_PERMITTED");
}

TEST_F(MachineMatrix, AWorkerThatBeganAnewTellsOfTheAttemptsItHadBefore) {
  const auto channel = channel_of("box-1");
  FakeWorker before(channel, "box-1"), after(channel, "box-1"), last(channel, "box-1");
  ASSERT_TRUE(before.register_with().ok());
  submit();
  const auto work = before.acquire();
  ASSERT_TRUE(work);
  const auto still_held = [&](v1::RegisterWorkerRequest& request) {
    auto* held = request.add_held();
    held->set_stage(work->grant.stage());
    held->set_attempt(work->grant.attempt());
  };
  ASSERT_TRUE(after.register_with(still_held).ok());
  const std::string weights = after.upload("weights");
  EXPECT_TRUE(after.commit_checkpoint(*work, 10, weights).ok());
  EXPECT_TRUE(after.report_log(*work, 0, "a line\n").ok());
  EXPECT_TRUE(after.complete(*work).ok());
  EXPECT_TRUE(after.complete(*work).ok()) << "sent again";
  // And of one that was taken from it: late, but not another's.
  const auto lost = after.acquire();
  ASSERT_TRUE(lost);
  ASSERT_TRUE(last.register_with().ok());
  for (const grpc::Status& late : {last.commit_checkpoint(*lost, 10, weights), last.complete(*lost)})
    EXPECT_EQ(wire_error(late).reason, "STALE_ATTEMPT") << late.error_message();
}

TEST_F(MachineMatrix, AWorkerUploadsWhileItRunsAnAttemptAndNotOtherwise) {
  FakeWorker worker(channel_of("box-1"), "box-1"), other(channel_of("box-2"), "box-2");
  ASSERT_TRUE(worker.register_with().ok());
  ASSERT_TRUE(other.register_with().ok());
  submit();
  const auto refused = [](FakeWorker& one, const std::string& bytes) {
    grpc::Status status;
    one.upload(bytes, &status);
    return wire_error(status).reason == "NOT_PERMITTED";
  };
  EXPECT_TRUE(refused(worker, "too early"));
  const auto work = worker.acquire();
  ASSERT_TRUE(work);
  EXPECT_FALSE(refused(worker, "weights"));
  EXPECT_TRUE(refused(other, "of a worker that runs nothing"));
  ASSERT_TRUE(worker.complete(*work).ok());
  EXPECT_TRUE(refused(worker, "too late"));
  EXPECT_EQ(last_deed(), "box-1 ArtifactService/UploadArtifact  NOT_PERMITTED");
}

TEST_F(MachineMatrix, EveryRefusalOfAnothersIsInTheAudit) {
  v1::RegisterWorkerRequest request;
  request.set_name("box-2");
  v1::RegisterWorkerResponse response;
  grpc::ClientContext context;
  const grpc::Status status =
      v1::WorkerService::NewStub(channel_of("box-1"))->RegisterWorker(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED) << status.error_message();
  EXPECT_EQ(last_deed(), "box-1 WorkerService/RegisterWorker workers/box-2 NOT_PERMITTED");
}

TEST_F(MachineMatrix, ACopyOfACertificateIsRefusedWhileItsOwnerLivesAndStandsInTheAudit) {
  const auto copied = connect("box-1");
  FakeWorker owner(channel_of("box-1"), "box-1"), thief(copied->channel(), "box-1");
  ASSERT_TRUE(owner.register_with([](v1::RegisterWorkerRequest& request) { request.set_instance("owner"); }).ok());
  const grpc::Status refused =
      thief.register_with([](v1::RegisterWorkerRequest& request) { request.set_instance("thief"); });
  EXPECT_EQ(wire_error(refused).reason, "WORKER_NAME_TAKEN") << refused.error_message();
  EXPECT_TRUE(owner.acquire() == std::nullopt) << "goes on";
  const auto audit = admin_->list_audit();  // the row was written before the answer
  ASSERT_TRUE(audit.ok()) << audit.status();
  const auto& row = *audit->entries().rbegin();
  EXPECT_EQ(row.principal() + " " + row.address() + " " + row.subject() + " " + row.outcome(),
            "box-1 127.0.0.1 workers/box-1 WORKER_NAME_TAKEN");
}

}  // namespace
}  // namespace locus::test
