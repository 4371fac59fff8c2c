// The OpenAPI document against the routes and the protos: every route is in it, every call has a route or a reason to
// have none, and everything is described.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.pb.h>

#include <fstream>
#include <functional>
#include <regex>
#include <set>

#include "google/api/annotations.pb.h"
#include "proto/described.h"
#include "server/http/openapi.h"
#include "tests/server/support/openapi_fixture.h"

namespace locus::test {
namespace {

using OpenApi = OpenApiTest;

TEST_F(OpenApi, NamesEveryRouteAndNothingElse) {
  std::set<std::string> documented;
  for (const auto& [path, methods] : document_["paths"].items()) {
    for (const auto& [method, operation] : methods.items()) {
      std::string upper = method;
      for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      documented.insert(upper + " " + path);
    }
  }
  // The addresses that are no calls.
  for (const char* other :
       {"GET /api/v1/events", "GET /healthz", "GET /readyz", "GET /metrics", "GET /api/openapi.json"})
    EXPECT_EQ(documented.erase(other), 1u) << other;
  std::set<std::string> routes;
  const server::Routes all(nullptr);
  for (const server::Route& route : all.all()) routes.insert(route.method + " " + route.pattern);
  EXPECT_EQ(documented, routes);
  EXPECT_EQ(routes.size(), all.all().size()) << "two routes under one address";
  std::set<std::string> ids;
  for (const auto& [path, methods] : document_["paths"].items()) {
    for (const auto& [method, operation] : methods.items())
      EXPECT_TRUE(ids.insert(operation["operationId"]).second) << operation["operationId"];
  }
}

TEST_F(OpenApi, IsTheCommittedDocument) {
  std::ifstream committed(LOCUS_SOURCE_ROOT "/docs/openapi.json");
  EXPECT_EQ(Json::parse(committed, nullptr, false), document_) << "docs/openapi.json is stale: make docs";
}

TEST_F(OpenApi, HasAnAddressForEveryCallThatIsForPeople) {
  // The worker's side of the protocol, the two streams with a form of their own, and bulk between programs.
  const std::set<std::string> without = {"WorkerService/RegisterWorker",   "WorkerService/AcquireStage",
                                         "WorkerService/SyncLeases",       "WorkerService/ReportPoints",
                                         "WorkerService/CommitCheckpoint", "WorkerService/CompleteAttempt",
                                         "WorkerService/ReportLog",        "ArtifactService/UploadArtifact",
                                         "ExperimentService/WatchEvents",  "AdminService/Backup"};
  std::set<std::string> answered;
  const server::Routes all(nullptr);
  for (const server::Route& route : all.all()) answered.insert(route.rpc);
  google::protobuf::FileDescriptorSet described;
  ASSERT_TRUE(described.ParseFromArray(described_protos().data(), static_cast<int>(described_protos().size())));
  std::size_t calls = 0;
  for (const auto& file : described.file()) {
    for (const auto& service : file.service()) {
      for (const auto& method : service.method()) {
        const std::string call = service.name() + "/" + method.name();
        EXPECT_EQ(answered.contains(call), method.options().HasExtension(google::api::http)) << call;
        EXPECT_NE(answered.contains(call), without.contains(call)) << call;
        ++calls;
      }
    }
  }
  EXPECT_EQ(calls, answered.size() + without.size());
}

TEST_F(OpenApi, OperationsAreNamedByTheirAddresses) {
  const auto id = [&](const char* path, const char* method) {
    return document_["paths"][path][method]["operationId"].get<std::string>();
  };
  EXPECT_EQ(id("/api/v1/experiments", "get"), "getExperiments");
  EXPECT_EQ(id("/api/v1/experiments", "post"), "createExperiment");
  EXPECT_EQ(id("/api/v1/experiments:plan", "post"), "planExperiments");
  EXPECT_EQ(id("/api/v1/experiments/{name}/curves", "get"), "getExperimentCurves");
  EXPECT_EQ(id("/api/v1/experiments/{name}/trials/{ordinal}", "get"), "getExperimentTrial");
  EXPECT_EQ(id("/api/v1/experiments/{name}/trials/{ordinal}:rerun", "post"), "rerunExperimentTrial");
  EXPECT_EQ(id("/api/v1/paper-table", "post"), "createPaperTable");
  EXPECT_EQ(id("/healthz", "get"), "getHealthz");
  const std::regex readable("^[a-z]+([A-Z][a-z0-9]*)+$");
  for (const auto& [path, methods] : document_["paths"].items()) {
    for (const auto& [method, operation] : methods.items())
      EXPECT_TRUE(std::regex_match(operation["operationId"].get<std::string>(), readable)) << operation["operationId"];
  }
}

TEST_F(OpenApi, SaysOfEverythingWhatItIs) {
  const auto expect_words = [](const Json& of, const std::string& what) {
    EXPECT_FALSE(of.value("description", "").empty())
        << what << " has no description: write a comment in proto/locus/v1, or a line of server/http/descriptions.def";
  };
  for (const auto& [name, schema] : document_["components"]["schemas"].items()) expect_words(schema, name);
  for (const auto& [path, methods] : document_["paths"].items()) {
    for (const auto& [method, operation] : methods.items()) {
      const std::string what = method + " " + path;
      expect_words(operation, what);
      EXPECT_FALSE(operation["summary"].get<std::string>().empty()) << what;
      for (const Json& one : operation["parameters"]) expect_words(one, what + " " + one["name"].get<std::string>());
      if (!operation.contains("requestBody")) continue;
      const Json& body = operation["requestBody"]["content"]["application/json"]["schema"];
      for (const auto& [name, field] : body["properties"].items()) expect_words(field, what + " " + name);
    }
  }
}

TEST_F(OpenApi, EveryPostSaysWhatItsBodyIs) {
  int posts = 0;
  for (const auto& [path, methods] : document_["paths"].items()) {
    if (!methods.contains("post")) continue;
    ASSERT_TRUE(methods["post"].contains("requestBody")) << path;
    const Json& schema = methods["post"]["requestBody"]["content"]["application/json"]["schema"];
    EXPECT_EQ(schema["additionalProperties"], false) << path;
    ++posts;
  }
  EXPECT_GT(posts, 10);
  EXPECT_TRUE(document_["paths"]["/api/v1/experiments/{name}:delete"]["post"]["requestBody"]["content"]
                       ["application/json"]["schema"]["properties"]
                           .empty());
}

TEST_F(OpenApi, EveryReferenceInItResolves) {
  std::function<void(const Json&)> walk = [&](const Json& value) {
    if (value.is_object() && value.contains("$ref")) {
      EXPECT_TRUE(document_.contains(Json::json_pointer(value["$ref"].get<std::string>().substr(1)))) << value["$ref"];
    }
    if (!value.is_structured()) return;  // a scalar holds itself, as its only member
    for (const Json& member : value) walk(member);
  };
  walk(document_);
}

TEST_F(OpenApi, MetricsAreInPrometheusText) {
  const HttpAnswer answer = http().get("/metrics");
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.headers.at("content-type"), testing::StartsWith("text/plain; version=0.0.4"));
  const std::regex line(R"(^[a-z_]+(\{[^}]*\})? [-+0-9.eEinfNa]+$)");
  std::istringstream lines(answer.body);
  std::set<std::string> names;
  for (std::string text; std::getline(lines, text);) {
    if (text.empty() || text[0] == '#') continue;
    EXPECT_TRUE(std::regex_match(text, line)) << text;
    names.insert(text.substr(0, text.find_first_of("{ ")));
  }
  for (const char* name :
       {"locus_info", "locus_uptime_seconds", "locus_attempts_started", "locus_workers", "locus_slots",
        "locus_slots_busy", "locus_http_requests_total", "locus_http_request_seconds_count"})
    EXPECT_TRUE(names.count(name)) << name;
  EXPECT_THAT(answer.body, testing::HasSubstr("locus_attempts_started 18"));
  EXPECT_THAT(answer.body, testing::HasSubstr(R"(locus_http_requests_total{code="200",method="GET"})"));
}

}  // namespace
}  // namespace locus::test
