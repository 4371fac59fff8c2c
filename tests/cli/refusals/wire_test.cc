// Bad input that no command line makes: raw calls and raw HTTP, row by row. The same promises: refused with a
// reason, nothing stored, the server answers.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/client.h"
#include "client/errors.h"
#include "core/base/error.h"
#include "core/base/sha256.h"
#include "core/limits.h"
#include "locus/v1/artifact_service.grpc.pb.h"
#include "locus/v1/experiment_service.grpc.pb.h"
#include "locus/v1/metric_service.grpc.pb.h"
#include "locus/v1/worker_service.grpc.pb.h"
#include "tests/cli/program.h"
#include "tests/cli/refusals/cases.h"
#include "tests/cli/refusals/golden.h"

namespace locus {
namespace {

using namespace v1;

class Wire : public ::testing::Test {
 protected:
  void SetUp() override {
    const Outcome stored =
        run_locus({"submit", "-", "--set", "name=present", "--server", server_.address()}, right_specification());
    ASSERT_EQ(stored.status, 0) << stored.err;
    client_ = *Client::connect(server_.address());
    before_ = database();
  }

  void row(const std::string& what, const std::string& code, const std::string& reason, const std::string& field,
           const std::string& text) {
    SCOPED_TRACE(what);
    EXPECT_LE(text.size(), 2000u);
    EXPECT_EQ(database(), before_) << "something was stored";
    EXPECT_TRUE(client_->get_server().ok());
    table_ += cell(what) + "\t-\t" + code + "\t" + reason + "\t" + cell(field) + "\t" +
              cell(without(without(text, server_.address(), "HOST:PORT"), server_.http(), "HTTP:PORT")) + "\n";
  }

  void refused(const std::string& what, const absl::Status& status) {
    EXPECT_FALSE(status.ok()) << what;
    const auto detail = error_detail(status);
    row(what, absl::StatusCodeToString(status.code()), detail ? std::string(to_string(detail->reason)) : "",
        detail ? detail->field : "", std::string(status.message()));
  }

  // A call straight through the stub: what a client of ours would never send.
  template <class Stub, class Request, class Response>
  void call(const std::string& what, Stub& stub,
            grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*), const Request& request) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kUnaryDeadline);
    Response response;
    refused(what, from_wire((stub.*method)(&context, request, &response), server_.address()));
  }

  std::string database() {
    Sha256 hash;
    for (const char* file : {"locus.db", "locus.db-wal"})
      hash.update(bytes_of((folder_.path() / "data" / file).string()));
    return hash.hex_digest();
  }

  // One exchange over a connection of its own; the answer up to its end.
  std::string http(const std::string& request) const {
    const std::size_t colon = server_.http().rfind(':');
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(server_.http().substr(colon + 1))));
    ::inet_pton(AF_INET, server_.http().substr(0, colon).c_str(), &address.sin_addr);
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    for (std::size_t sent = 0; sent < request.size();) {
      const ssize_t n = ::send(fd, request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
      if (n <= 0) break;  // it has been answered already
      sent += static_cast<std::size_t>(n);
    }
    ::shutdown(fd, SHUT_WR);
    std::string answer;
    char block[4096];
    for (ssize_t n; (n = ::recv(fd, block, sizeof block, 0)) > 0;) answer.append(block, static_cast<std::size_t>(n));
    ::close(fd);
    return answer;
  }

  void http_row(const std::string& what, const std::string& request) {
    const std::string answer = http(request);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 4")) << what << "\n" << answer.substr(0, 300);
    const std::size_t body = answer.find("\r\n\r\n");
    const Json json = body == std::string::npos ? Json() : Json::parse(answer.substr(body + 4), nullptr, false);
    std::string reason, field, text;
    if (json.is_object() && json.contains("error")) {
      text = json["error"].value("message", "");
      for (const Json& detail : json["error"].value("details", Json::array())) {
        reason = detail.value("reason", reason);
        for (const Json& one : detail.value("field_violations", Json::array())) field = one.value("field", "");
      }
    }
    row(what, answer.substr(9, 3), reason, field, text);
  }

  void post_row(const std::string& what, const std::string& path, const std::string& body,
                const std::string& headers = "Content-Type: application/json\r\n") {
    http_row(what, "POST " + path + " HTTP/1.1\r\nHost: " + server_.http() + "\r\nConnection: close\r\n" + headers +
                       "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  }
  void get_row(const std::string& path) {
    http_row("GET " + path, "GET " + path + " HTTP/1.1\r\nHost: " + server_.http() + "\r\nConnection: close\r\n\r\n");
  }

  TemporaryFolder folder_;
  LiveServer server_{folder_.path() / "data"};
  std::unique_ptr<Client> client_;
  std::string before_, table_ = "call\texit\tcode\treason\tfield\ttext\n";
};

TEST_F(Wire, RefusesSpecificationsThatAreNone) {
  const auto stub = ExperimentService::NewStub(client_->channel());
  const std::pair<const char*, std::string> texts[] = {
      {"empty", ""},
      {"not JSON", "version: 1"},
      {"a list", "[]"},
      {"null", "null"},
      {"a number", "7"},
      {"trailing text", "{\"version\": 1} x"},
      {"a key twice", "{\"version\": 1, \"version\": 1, \"name\": \"x\", \"dataset\": \"fashion-mnist\"}"},
      {"deep", std::string(20'000, '[')},
      {"over the limit", "{\"description\": \"" + std::string(kSpecBytes, 'x') + "\"}"},
      {"no UTF-8", "{\"description\": \"caf\xe9\"}"},
      {"half a surrogate", "{\"description\": \"\\ud800\"}"},
      {"over a message", std::string(kMessageBytes + 1024, ' ')}};
  for (const auto& [what, text] : texts) {
    PlanExperimentRequest plan;
    plan.set_spec_json(text);
    call(std::string("PlanExperiment ") + what, *stub, &ExperimentService::Stub::PlanExperiment, plan);
    CreateExperimentRequest create;
    create.set_spec_json(text);
    create.set_request_id("3f2b8c1e-5d0a-4c7e-9b1f-0a2d4e6f8a10");
    call(std::string("CreateExperiment ") + what, *stub, &ExperimentService::Stub::CreateExperiment, create);
  }
  compare_golden("wire-specifications", table_);
}

TEST_F(Wire, RefusesFieldsThatCannotBeMeant) {
  const auto experiments = ExperimentService::NewStub(client_->channel());
  const auto metrics = MetricService::NewStub(client_->channel());
  for (const char* token : {"x", "../x", "AAAA", "-1"}) {
    ListExperimentsRequest list;
    list.set_page_token(token);
    call(std::string("ListExperiments page_token ") + token, *experiments, &ExperimentService::Stub::ListExperiments,
         list);
    ListTrialsRequest trials;
    trials.set_experiment("present");
    trials.set_page_token(token);
    call(std::string("ListTrials page_token ") + token, *experiments, &ExperimentService::Stub::ListTrials, trials);
  }
  for (const std::int64_t stage : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 60}) {
    ListSeriesRequest series;
    series.set_stage(stage);
    call("ListSeries stage " + std::to_string(stage), *metrics, &MetricService::Stub::ListSeries, series);
    QuerySeriesRequest query;
    query.set_stage(stage);
    call("QuerySeries stage " + std::to_string(stage), *metrics, &MetricService::Stub::QuerySeries, query);
  }
  for (const char* labels : {"x", "[]", "{\"a\": }", "{\"b\":1,\"a\":2}x"}) {
    GetCurvesRequest curves;
    curves.set_experiment("present");
    curves.set_metric("loss");
    curves.set_labels(labels);
    call(std::string("GetCurves labels ") + labels, *experiments, &ExperimentService::Stub::GetCurves, curves);
  }
  compare_golden("wire-fields", table_);
}

TEST_F(Wire, RefusesArtifactsThatAreNot) {
  for (const std::string& digest : {std::string(64, '0'), std::string("../../locus.db"), std::string(),
                                    std::string(64, 'G'), std::string(65, 'a'), std::string("/etc/passwd")}) {
    refused("DownloadArtifact " + digest, client_->download_artifact(digest, folder_.path() / "out"));
  }
  const auto stub = ArtifactService::NewStub(client_->channel());
  const auto upload = [&](const std::string& what, const std::vector<UploadArtifactRequest>& parts) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kUnaryDeadline);
    UploadArtifactResponse response;
    const auto writer = stub->UploadArtifact(&context, &response);
    for (const UploadArtifactRequest& part : parts) {
      if (!writer->Write(part)) break;
    }
    writer->WritesDone();
    refused("UploadArtifact " + what, from_wire(writer->Finish(), server_.address()));
  };
  const auto header = [](const std::string& sha256, std::int64_t bytes) {
    UploadArtifactRequest part;
    part.mutable_header()->set_sha256(sha256);
    part.mutable_header()->set_bytes(bytes);
    part.mutable_header()->set_kind("checkpoint");
    return part;
  };
  const auto chunk = [](const std::string& bytes) {
    UploadArtifactRequest part;
    part.set_chunk(bytes);
    return part;
  };
  Sha256 hash;
  hash.update("right");
  const std::string digest = hash.hex_digest();
  upload("nothing", {});
  upload("a chunk first", {chunk("right")});
  upload("a digest that is a path", {header("../../locus.db", 5), chunk("right")});
  upload("bytes of another digest", {header(digest, 5), chunk("wrong")});
  upload("too few bytes", {header(digest, 5), chunk("rig")});
  upload("too many bytes", {header(digest, 5), chunk("right"), chunk("er")});
  upload("a negative size", {header(digest, -1), chunk("right")});
  upload("an absurd size", {header(digest, std::int64_t{1} << 62), chunk("right")});
  upload("a second header", {header(digest, 5), header(digest, 5)});
  upload("a chunk over the limit", {header(digest, 3 << 20), chunk(std::string(3 << 20, 'x'))});
  compare_golden("wire-artifacts", table_);
}

TEST_F(Wire, RefusesWorkersThatAreNone) {
  const auto stub = WorkerService::NewStub(client_->channel());
  const auto announced = [] {
    RegisterWorkerRequest request;
    request.set_name("gpu");
    request.set_session("3f2b8c1e-5d0a-4c7e-9b1f-0a2d4e6f8a10");
    request.set_protocol_version(kProtocolVersion);
    request.add_slots()->set_device("cpu");
    return request;
  };
  for (const std::string& name :
       {std::string(), std::string("../x"), std::string("a\nb"), std::string(10'000, 'a'), std::string("<b>")}) {
    RegisterWorkerRequest request = announced();
    request.set_name(name);
    call("RegisterWorker name " + name, *stub, &WorkerService::Stub::RegisterWorker, request);
  }
  RegisterWorkerRequest request = announced();
  request.set_protocol_version(99);
  call("RegisterWorker protocol 99", *stub, &WorkerService::Stub::RegisterWorker, request);
  AcquireStageRequest acquire;
  acquire.set_session("no-such-session");
  acquire.set_request_id("3f2b8c1e-5d0a-4c7e-9b1f-0a2d4e6f8a10");
  call("AcquireStage of nobody", *stub, &WorkerService::Stub::AcquireStage, acquire);
  CompleteAttemptRequest complete;
  complete.set_session("no-such-session");
  complete.set_stage(1);
  complete.set_attempt(1);
  complete.set_outcome("succeeded");
  call("CompleteAttempt of nobody", *stub, &WorkerService::Stub::CompleteAttempt, complete);
  CommitCheckpointRequest commit;
  commit.set_session("no-such-session");
  commit.set_stage(1);
  commit.set_attempt(1);
  call("CommitCheckpoint of nobody", *stub, &WorkerService::Stub::CommitCheckpoint, commit);
  compare_golden("wire-workers", table_);
}

TEST_F(Wire, RefusesForeignAndBrokenHttp) {
  const std::string end = "Connection: close\r\n\r\n", host = "Host: " + server_.http() + "\r\n";
  const std::string path = "GET /api/v1/experiments HTTP/1.1\r\n";
  http_row("GET with a foreign Host", path + "Host: evil.example\r\n" + end);
  http_row("GET without a Host", path + end);
  http_row("GET with a foreign Origin", path + host + "Origin: http://evil.example\r\n" + end);
  http_row("no HTTP", "hello\r\n\r\n");
  http_row("a header without end", path + host + "X: " + std::string(100'000, 'x') + "\r\n" + end);
  http_row("DELETE of a list", "DELETE /api/v1/experiments HTTP/1.1\r\n" + host + end);
  for (const char* bad :
       {"/api/v1/nothing", "/api/v1/experiments/nothing", "/api/v1/experiments/present/trials/99",
        "/api/v1/experiments/present/trials/x", "/api/v1/experiments/..%2f..%2fetc", "/api/v1/experiments/%00",
        "/api/v1/experiments?page_size=x", "/api/v1/experiments?page_token=x", "/api/v1/stages/x/series",
        "/api/v1/stages/99999999999999999999/series", "/api/v1/experiments/%ff", "/api/v1/experiments?page_token=%ff",
        "/api/v1/experiments/present/table?labels=x", "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd"}) {
    get_row(bad);
  }
  post_row("POST that is no JSON", "/api/v1/experiments:plan", "version: 1");
  post_row("POST that is no UTF-8", "/api/v1/experiments:plan", "{\"spec_json\": \"caf\xe9\"}");
  post_row("POST of a specification that is no UTF-8", "/api/v1/experiments:plan",
           "{\"spec_json\": \"{\\\"name\\\": \\\"\\ud800\\\"}\"}");
  post_row("POST of another type", "/api/v1/experiments:plan", "{}", "Content-Type: text/plain\r\n");
  post_row("POST of a form", "/api/v1/experiments", "a=b", "Content-Type: application/x-www-form-urlencoded\r\n");
  post_row("POST of an unknown field", "/api/v1/experiments:plan", "{\"specification\": \"\"}");
  post_row("POST of a wrong type", "/api/v1/experiments:plan", "{\"spec_json\": 7}");
  http_row("POST that announces too much", "POST /api/v1/experiments:plan HTTP/1.1\r\n" + host +
                                               "Content-Type: application/json\r\nContent-Length: 99999999\r\n" + end);
  post_row("POST from a foreign page", "/api/v1/experiments/present:cancel", "{}",
           "Content-Type: application/json\r\nOrigin: http://evil.example\r\n");
  post_row("POST of an unknown verb", "/api/v1/experiments/present:explode", "{}");
  compare_golden("wire-http", table_);
}

}  // namespace
}  // namespace locus
