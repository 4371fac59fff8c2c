// What a hostile page or client gets from the HTTP side.
#include <gmock/gmock.h>

#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "tests/server/support/server_fixture.h"

namespace locus::test {
namespace {

class HttpGuard : public ServerTest {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_.path() / "web" / "assets");
    std::ofstream(folder_.path() / "web" / "index.html") << "<!doctype html><title>Locus</title>";
    std::ofstream(folder_.path() / "web" / "assets" / "app-1a2b3c4d.js") << "export {};";
    std::ofstream(folder_.path() / "secret.txt") << "secret";
    std::filesystem::create_symlink(folder_.path() / "secret.txt", folder_.path() / "web" / "link.txt");
    ServerOptions options;
    options.web = folder_.path() / "web";
    options.allowed_hosts = {"locus.example"};
    start(options);
  }
  std::string reason(const HttpAnswer& answer) { return answer.json()["error"]["details"][0]["reason"]; }

  TemporaryFolder folder_;
};

TEST_F(HttpGuard, ServesTheDashboardWithItsTypes) {
  const HttpAnswer page = http().get("/");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.headers.at("content-type"), "text/html; charset=utf-8");
  EXPECT_EQ(page.headers.at("cache-control"), "no-cache");
  EXPECT_EQ(http().get("/experiments/small").body, page.body);  // a page of the application
  const HttpAnswer script = http().get("/assets/app-1a2b3c4d.js");
  EXPECT_EQ(script.headers.at("content-type"), "text/javascript; charset=utf-8");
  EXPECT_EQ(script.headers.at("cache-control"), "public, max-age=31536000, immutable");
  EXPECT_EQ(http().get("/assets/missing.js").status, 404);
  const HttpAnswer head = http().send("HEAD", "/", "", {});
  EXPECT_EQ(head.status, 200);
  EXPECT_TRUE(head.body.empty());
}

TEST_F(HttpGuard, ServesNothingOutsideTheBuild) {
  for (const char* target :
       {"/../secret.txt", "/..%2fsecret.txt", "/%2e%2e/secret.txt", "/assets/../../secret.txt", "//secret.txt",
        "/assets/%2e%2e%2f%2e%2e%2fsecret.txt", "/%252e%252e/secret.txt", "/link.txt", "/secret.txt"}) {
    const HttpAnswer answer = http().get(target);
    EXPECT_EQ(answer.status, 404) << target;
    EXPECT_EQ(answer.body.find("secret\n"), std::string::npos) << target;
    EXPECT_NE(answer.body, "secret") << target;
  }
  EXPECT_EQ(http().get("/a%00b").status, 400);
  EXPECT_EQ(http().get("/a%zz").status, 400);
}

TEST_F(HttpGuard, ForbidsTheBrowserEverythingButItsOwnPages) {
  for (const char* target : {"/", "/api/v1/server", "/api/v1/nothing"}) {
    const auto headers = http().get(target).headers;
    EXPECT_NE(headers.at("content-security-policy").find("default-src 'none'"), std::string::npos);
    EXPECT_NE(headers.at("content-security-policy").find("frame-ancestors 'none'"), std::string::npos);
    EXPECT_EQ(headers.at("content-security-policy").find("unsafe-"), std::string::npos);
    EXPECT_EQ(headers.at("x-content-type-options"), "nosniff");
    EXPECT_EQ(headers.count("access-control-allow-origin"), 0u);
  }
}

// Directives of a content security policy with their sources.
std::map<std::string, std::set<std::string>> directives(const std::string& policy) {
  std::map<std::string, std::set<std::string>> out;
  std::istringstream all(policy);
  for (std::string one; std::getline(all, one, ';');) {
    std::istringstream words(one);
    std::string name;
    words >> name;
    out[name] = {std::istream_iterator<std::string>(words), {}};
  }
  return out;
}

TEST_F(HttpGuard, ItsPolicyLetsNothingInlineAndNothingForeign) {
  auto policy = directives(http().get("/").headers.at("content-security-policy"));
  EXPECT_EQ(policy["default-src"], std::set<std::string>{"'none'"}) << "what is not named is forbidden";
  for (const char* closed : {"base-uri", "form-action", "frame-ancestors"})
    EXPECT_EQ(policy[closed], std::set<std::string>{"'none'"}) << closed;
  for (const auto& [name, sources] : policy) {
    for (const std::string& source : sources) {
      const bool drawn_here = name == "img-src" && source == "data:";  // pictures that the page makes itself
      EXPECT_TRUE(source == "'none'" || source == "'self'" || drawn_here) << name << " " << source;
    }
  }
}

TEST(DashboardPage, HoldsNoScriptAndNoStyleOfItsOwn) {
  std::ifstream in(LOCUS_SOURCE_ROOT "/web/index.html");
  const std::string page{std::istreambuf_iterator<char>(in), {}};
  ASSERT_FALSE(page.empty());
  const std::regex script("<script(?![^>]*\\ssrc=)|<style|\\sstyle=|\\son[a-z]+=|javascript:");
  std::smatch found;
  EXPECT_FALSE(std::regex_search(page, found, script)) << found.str();
}

TEST_F(HttpGuard, RefusesForeignHosts) {
  for (const char* host : {"evil.example", "evil.example:7172", "127.0.0.1.evil.example", ""}) {
    const HttpAnswer answer = http().get("/api/v1/server", {{"Host", host}});
    EXPECT_EQ(answer.status, 403) << host;
    EXPECT_EQ(reason(answer), "ORIGIN_REFUSED");
  }
  EXPECT_EQ(http().get("/api/v1/server", {{"Host", std::string("localhost:") + "9000"}}).status,
            200);  // a tunnel keeps the name, not the port
  EXPECT_EQ(http().get("/api/v1/server", {{"Host", "LOCUS.example"}}).status, 200);
  EXPECT_EQ(http().raw("GET / HTTP/1.1\r\nConnection: close\r\n\r\n").status, 400);
  EXPECT_EQ(http().raw("GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\nConnection: close\r\n\r\n").status,
            400);
}

TEST_F(HttpGuard, RefusesForeignPages) {
  const std::string own = "http://" + http().address();
  EXPECT_EQ(http().post("/api/v1/experiments:plan", "{}", {{"Origin", own}}).status,
            400);  // heard, and found wanting
  for (const char* origin : {"http://evil.example", "null", "https://localhost"}) {
    EXPECT_EQ(http().post("/api/v1/experiments:plan", "{}", {{"Origin", origin}}).status, 403) << origin;
    EXPECT_EQ(http().get("/api/v1/events", {{"Origin", origin}}).status, 403) << origin;
  }
  EXPECT_EQ(http().get("/api/v1/server", {{"Sec-Fetch-Site", "cross-site"}}).status, 403);
  EXPECT_EQ(http().get("/", {{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Mode", "navigate"}}).status,
            200);  // a link was followed
  EXPECT_EQ(http().get("/api/v1/server", {{"Sec-Fetch-Site", "same-origin"}}).status, 200);
  EXPECT_EQ(http().post("/api/v1/experiments", "{}", {{"Content-Type", "text/plain"}}).status, 415);
}

TEST_F(HttpGuard, SaysThatAMethodIsWrongBeforeItMindsTheBody) {
  for (const char* path :
       {"/api/v1/server", "/api/v1/experiments/x", "/api/openapi.json", "/api/v1/events", "/metrics"}) {
    const HttpAnswer answer = http().post(path, "a=b", {{"Content-Type", "text/plain"}});
    EXPECT_EQ(answer.status, 405) << path;
    EXPECT_THAT(answer.headers.at("allow"), testing::HasSubstr("GET")) << path;
  }
  EXPECT_EQ(http().post("/api/v1/nothing", "a=b", {{"Content-Type", "text/plain"}}).status, 404);
  for (const char* path : {"/healthz", "/readyz", "/metrics", "/api/v1/server", "/"}) {
    const HttpAnswer answer = http().send("TRACE", path, "", {});
    EXPECT_EQ(answer.status, 405) << path;
    EXPECT_THAT(answer.headers.at("allow"), testing::HasSubstr("GET")) << path;
  }
  for (const char* path : {"/healthz", "/readyz"}) EXPECT_EQ(http().send("HEAD", path, "", {}).status, 200) << path;
}

TEST_F(HttpGuard, BoundsWhatItReads) {
  const HttpAnswer body = http().post("/api/v1/experiments", std::string((4 << 20) + 1, ' '));
  EXPECT_EQ(body.status, 413);
  EXPECT_EQ(reason(body), "LIMIT_EXCEEDED");
  EXPECT_EQ(http().get("/", {{"X-Long", std::string(9000, 'a')}}).status, 431);
  EXPECT_EQ(http().raw("nonsense\r\n\r\n").status, 400);
  const std::string host = "Host: localhost\r\n";
  EXPECT_GE(http().raw("POST / HTTP/1.1\r\n" + host + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab").status, 400);
  EXPECT_GE(http()
                .raw("POST / HTTP/1.1\r\n" + host + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
                .status,
            400);
  EXPECT_EQ(http().get("/healthz").status, 200);
}

TEST_F(HttpGuard, KeepsAConnectionForSeveralRequests) {
  const std::string host = "Host: " + http().address() + "\r\n";
  const std::string one = "GET /healthz HTTP/1.1\r\n" + host + "\r\n";
  const std::string last = "GET /healthz HTTP/1.1\r\n" + host + "Connection: close\r\n\r\n";
  const HttpAnswer both = http().raw(one + last);
  EXPECT_EQ(both.status, 200);
  EXPECT_NE(both.body.find("HTTP/1.1 200 OK"), std::string::npos);  // the second answer follows the first
}

}  // namespace
}  // namespace locus::test
