// Every call that changes something leaves one row in the audit, and every refusal of one leaves one, too.
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <set>

#include "core/certificates/invitation.h"
#include "core/certificates/key.h"
#include "core/identity/secret.h"
#include "server/authority/rpcs.h"
#include "tests/server/support/enrolled.h"
#include "tests/server/support/every_call.h"
#include "tests/server/support/fake_worker.h"

namespace locus::test {
namespace {

using server::find_rule;
using server::RpcRule;

const google::protobuf::MethodDescriptor& method_of(const std::string& rpc) {
  for (const auto* method : all_methods()) {
    if (rpc_of(*method) == rpc) return *method;
  }
  throw std::runtime_error("there is no " + rpc);
}

class Deeds : public EnrolledTest {
 protected:
  void SetUp() override {
    seed_ = [](Store& store) {
      WorkerRow away;
      away.id = 1;
      away.name = away.session = "away";
      away.state = WorkerState::kOffline;
      const Mutation put = PutWorker{away};
      ASSERT_TRUE(store.apply({&put, 1}, system_clock().wall()).ok());
    };
    EnrolledTest::SetUp();
    ASSERT_TRUE(enroll_as(invite("worker", "box"), "box").ok());
    box_ = connect("box");
  }

  std::vector<v1::AuditEntry> rows_after(std::int64_t id) const {
    v1::ListAuditRequest request;
    request.set_after(id);
    request.set_limit(1'000);
    const auto found = admin_->list_audit(request);
    EXPECT_TRUE(found.ok()) << found.status();
    if (!found.ok()) return {};
    return {found->entries().begin(), found->entries().end()};
  }
  std::int64_t newest() const {
    const auto rows = rows_after(0);
    return rows.empty() ? 0 : rows.back().id();
  }

  // What `deed` does leaves one row, which is of that call, about `subject` and ends so.
  template <class Deed>
  void leaves_one_row(const std::string& rpc, const std::string& subject, Deed deed,
                      const std::string& outcome = "ok") {
    const std::int64_t before = newest();
    deed();
    const auto rows = rows_after(before);
    ASSERT_EQ(rows.size(), 1u) << rpc;
    EXPECT_EQ(rows[0].rpc() + " " + rows[0].subject() + " " + rows[0].outcome(), rpc + " " + subject + " " + outcome);
    done_.insert(rpc);
  }
  // Likewise a call of an administrator. Returns the answer.
  Json call(const std::string& rpc, const std::string& subject, const Json& request) {
    Json out;
    leaves_one_row(rpc, subject, [&] { out = ask(*admin_, rpc, request); });
    return out;
  }
  static Json ask(const Client& client, const std::string& rpc, const Json& request) {
    const auto& method = method_of(rpc);
    auto* factory = google::protobuf::MessageFactory::generated_factory();
    const std::unique_ptr<google::protobuf::Message> message(factory->GetPrototype(method.input_type())->New());
    EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(request.dump(), message.get()).ok()) << request;
    grpc::ClientContext context;
    std::string answer;
    const grpc::Status status =
        make_call(client.channel(), context, path_of(method), message->SerializeAsString(), &answer);
    EXPECT_TRUE(status.ok()) << rpc << ": " << status.error_message();
    const std::unique_ptr<google::protobuf::Message> response(factory->GetPrototype(method.output_type())->New());
    EXPECT_TRUE(response->ParseFromString(answer));
    std::string text;
    google::protobuf::util::JsonPrintOptions options;
    options.preserve_proto_field_names = true;
    EXPECT_TRUE(google::protobuf::util::MessageToJsonString(*response, &text, options).ok());
    return Json::parse(text);
  }

  void change_an_experiment();
  void change_a_search();
  void change_who_may_call();
  void change_workers();

  std::unique_ptr<Client> box_;
  std::set<std::string> done_;
};

void Deeds::change_an_experiment() {
  call("ExperimentService/CreateExperiment", "experiments/small", {{"spec_json", small_specification().dump()}});
  FakeWorker worker(box_->channel(), "box");
  ASSERT_TRUE(worker.register_with().ok());
  const auto work = worker.acquire();
  ASSERT_TRUE(work);
  const std::string weights = worker.upload("weights");
  ASSERT_TRUE(worker.commit_checkpoint(*work, 10, weights).ok());
  call("ArtifactService/PinArtifact", "artifacts/" + weights, {{"sha256", weights}});
  call("ExperimentService/Annotate", "experiments/small", {{"name", "small"}, {"note", "a note"}});
  const Json series = {{"key", {{"metric", "top1"}, {"split", "test"}}}, {"step", {0, 1}}, {"value", {1.5, 2.5}}};
  const Json imported = call("MetricService/ImportSeries", "experiments/small",
                             {{"experiment", "small"}, {"source", "a file"}, {"format", "csv"}, {"series", {series}}});
  call("MetricService/RemoveImport", "experiments/small", {{"experiment", "small"}, {"digest", imported.at("digest")}});
  for (const char* verb : {"Pause", "Resume", "Rerun", "Cancel"})
    call(std::string("ExperimentService/") + verb + "Experiment", "experiments/small", {{"name", "small"}});
  call("ExperimentService/DeleteExperiment", "experiments/small", {{"name", "small"}, {"force", true}});
  call("AdminService/CollectGarbage", "garbage", Json::object());
  leaves_one_row("AdminService/Backup", "backup", [&] { EXPECT_TRUE(admin_->backup(folder_.path() / "copy").ok()); });
}

void Deeds::change_a_search() {
  const Json searched = small_specification(
      {{"name", "searched"},
       {"train", {{"lr", nullptr}, {"validate_every", 1}}},
       {"baseline", nullptr},
       {"matrix", {{"prior", {"none"}}}},
       {"stages", nullptr},
       {"search", {{"propose", "external"}, {"space", {{"train.lr", {{"log", {1.0e-4, 1.0e-2}}}}}}}}});
  ask(*admin_, "ExperimentService/CreateExperiment", {{"spec_json", searched.dump()}});
  const auto begun = [&] {
    v1::GetSearchRequest request;
    request.set_experiment("searched");
    const auto found = admin_->get_search(request);
    return found.ok() && found->phases_size() == 1;
  };
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!begun()) ASSERT_LT(std::chrono::steady_clock::now(), end);
  const Json proposed = call(
      "SearchService/Propose", "experiments/searched",
      {{"experiment", "searched"}, {"request_id", "one"}, {"cells", {{{"values_json", R"({"train.lr": 0.001})"}}}}});
  const Json trials = {proposed.at("units")[0].value("trials", Json::array({"0"}))[0]};
  for (const char* verb : {"StopTrials", "ContinueTrials"})
    call(std::string("SearchService/") + verb, "experiments/searched",
         {{"experiment", "searched"}, {"trials", trials}, {"reason", "for this test"}});
}

void Deeds::change_who_may_call() {
  const Json made = call("IdentityService/CreateToken", "principals/carl", {{"principal", "carl"}, {"role", "viewer"}});
  const std::string id = parse_token(made.at("token").get<std::string>())->id;
  call("IdentityService/RevokeToken", "tokens/" + id, {{"id", id}});
  call("IdentityService/SetAccount", "accounts/vision", {{"name", "vision"}, {"weight", 2}});
  call("IdentityService/RemoveAccount", "accounts/vision", {{"name", "vision"}});
  const Json invited =
      call("EnrollmentService/CreateInvitation", "principals/vera", {{"role", "viewer"}, {"name", "vera"}});
  leaves_one_row("EnrollmentService/Enroll", "principals/vera",
                 [&] { EXPECT_TRUE(enroll_as(invited.at("token").get<std::string>(), "vera").ok()); });
  const std::string request = PrivateKey::make().value().request("vera").value();
  leaves_one_row("EnrollmentService/RenewCertificate", "principals/vera", [&] {
    ask(*connect("vera"), "EnrollmentService/RenewCertificate", {{"request", request}});
  });
  const std::string serial = certificate_of("vera").serial();
  call("EnrollmentService/RevokeCertificate", "certificates/" + serial, {{"serial", serial}});
}

void Deeds::change_workers() {
  const auto bring = [](v1::RegisterWorkerRequest& request) {
    auto* own = request.add_extensions();
    own->set_name("own-prior");
    own->set_by("plugin");
    own->set_digest(std::string(64, 'a'));
    own->set_items_json(R"([{"kind":"prior","id":"mine","revision":1,"layouts":{"ranks":[2]},"options":[]}])");
    own->set_loaded_us(1);
    (*request.mutable_revisions())["prior/mine"] = 1;
  };
  FakeWorker worker(box_->channel(), "box");
  leaves_one_row("WorkerService/RegisterWorker", "workers/box", [&] { EXPECT_TRUE(worker.register_with(bring).ok()); });
  ASSERT_TRUE(worker.register_with().ok()) << "without it";
  call("CatalogService/ForgetExtension", "extensions/own-prior", {{"name", "own-prior"}});
  call("WorkerService/DrainWorker", "workers/box", {{"name", "box"}});
  call("WorkerService/UndrainWorker", "workers/box", {{"name", "box"}});
  call("WorkerService/ForgetWorker", "workers/away", {{"name", "away"}});
}

TEST_F(Deeds, OfEveryCallThatChangesSomethingLeaveOneRow) {
  change_an_experiment();
  change_a_search();
  change_who_may_call();
  change_workers();
  std::set<std::string> changes;
  for (const RpcRule& rule : server::kRpcRules) {
    if (rule.changes()) changes.insert(std::string(rule.rpc));
  }
  EXPECT_EQ(done_, changes) << "a call that changes something is tried here";
}

TEST_F(Deeds, ThatAreRefusedForTheirRoleLeaveOneRow) {
  for (const auto* method : all_methods()) {
    const RpcRule& rule = *find_rule(rpc_of(*method));
    if (!rule.changes() || rule.access.anybody || rule.access.roles.permits(Role::kWorker)) continue;
    const auto refused = [&] {
      grpc::ClientContext context;
      EXPECT_TRUE(lacks_role(make_call(box_->channel(), context, path_of(*method)))) << rule.rpc;
    };
    leaves_one_row(std::string(rule.rpc), "", refused, "NOT_PERMITTED");
  }
  EXPECT_GT(done_.size(), 20u);
}

}  // namespace
}  // namespace locus::test
