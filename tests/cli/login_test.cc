// Logging in to servers that ask who calls, with what they leave their first administrator, and what follows from it.
#include <gmock/gmock.h>

#include <fstream>

#include "tests/cli/program.h"

namespace locus {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using ::testing::HasSubstr;

std::string spec_named(const std::string& name) {
  return "version: 1\nname: " + name +
         "\ndataset: fashion-mnist\nmodel: {backbone: vit, dim: 64, heads: 4}\n"
         "matrix: {prior: [none]}\nreplicates: {seed: [0]}\nmetric: {reports: validation}\n";
}

std::string without_newline(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

class Login : public ::testing::Test {
 protected:
  void serve(std::vector<std::string> options) {
    std::vector<std::string> arguments = {
        "serve",          "--data",      data().string(),  "--catalog",   LOCUS_TEST_CATALOG,
        "--grpc-address", "127.0.0.1:0", "--http-address", "127.0.0.1:0", "--json"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    server_ = std::make_unique<RunningLocus>(arguments);
    const Json ready = Json::parse(server_->first_line(), nullptr, false);
    ASSERT_TRUE(ready.is_object());
    grpc_ = ready["grpc"];
    http_ = ready["http"];
  }
  fs::path data() const { return folder_.path() / "data"; }
  std::string first_token() const {
    std::string out;
    std::ifstream(data() / "first-admin-token") >> out;
    return out;
  }
  // As whoever a program on this machine takes its user for.
  Outcome run(const std::vector<std::string>& arguments, const std::string& input = "") const {
    return run_locus(arguments, input,
                     {{"XDG_CONFIG_HOME", (folder_.path() / "config").string()}, {"USER", "stranger"}});
  }
  std::string owner_of(const std::string& experiment, const std::string& profile) const {
    const Outcome shown = run({"show", experiment, "--profile", profile, "--json"});
    const Json json = Json::parse(shown.out, nullptr, false);
    return json.is_object() ? json.value("owner", "") : shown.err;
  }

  TemporaryFolder folder_;
  std::unique_ptr<RunningLocus> server_;
  std::string grpc_, http_;
};

TEST_F(Login, WithTheTokenThatAServerOnThisMachineLeaves) {
  serve({"--authenticate"});
  EXPECT_THAT(run({"list", "--server", grpc_}).err, HasSubstr("show a token"));
  const std::string unknown = "locus_abcdefgh_" + std::string(43, 'A');
  EXPECT_THAT(run({"login", unknown, "--server", grpc_}).err, HasSubstr("not known"));
  const Outcome in = run({"login", first_token(), "--server", grpc_, "--profile", "first"});
  ASSERT_EQ(in.status, 0) << in.err;
  EXPECT_THAT(in.out, HasSubstr("you are admin, admin, on " + grpc_));
  const fs::path kept = folder_.path() / "config" / "locus" / "profiles" / "first" / "enrollment.json";
  EXPECT_EQ(fs::status(kept).permissions(), fs::perms::owner_read | fs::perms::owner_write);

  const Outcome made =
      run({"admin", "token", "create", "submitter", "ada", "--account", "vision", "--profile", "first"});
  ASSERT_EQ(made.status, 0) << made.err;
  const std::string token = without_newline(made.out);
  ASSERT_EQ(run({"login", token, "--server", grpc_, "--profile", "ada"}).status, 0);
  EXPECT_EQ(run({"submit", "-", "--profile", "ada"}, spec_named("day")).status, 0);
  EXPECT_EQ(owner_of("day", "ada"), "vision") << "whatever USER says";
  const Outcome anothers = run({"submit", "-", "--profile", "ada", "--owner", "stranger"}, spec_named("night"));
  EXPECT_EQ(anothers.status, 1);
  EXPECT_THAT(anothers.err, HasSubstr("is of the account 'vision'"));
  EXPECT_THAT(run({"admin", "token", "list", "--profile", "ada"}).err, HasSubstr("calls as submitter"));

  EXPECT_THAT(run({"admin", "token", "list", "--profile", "first"}).out, HasSubstr("vision"));
  EXPECT_EQ(run({"admin", "token", "revoke", token.substr(6, 8), "--profile", "first"}).status, 0);
  EXPECT_EQ(run({"list", "--profile", "ada"}).status, 1);
  EXPECT_THAT(run({"admin", "audit", "--profile", "first"}).out, HasSubstr("IdentityService/RevokeToken"));
  EXPECT_THAT(run({"admin", "audit", "--verify", "--profile", "first"}).out, HasSubstr("none is missing"));
}

TEST_F(Login, WithTheInvitationThatAServerWithTlsLeavesGoodOnce) {
  serve({"--tls-name", "127.0.0.1"});
  const std::string first = first_token();
  const Outcome in = run({"login", first, "--server", "https://" + http_, "--profile", "first"});
  ASSERT_EQ(in.status, 0) << in.err;
  EXPECT_EQ(run({"submit", "-", "--profile", "first"}, spec_named("day")).status, 0);
  EXPECT_EQ(owner_of("day", "first"), "admin");
  EXPECT_THAT(run({"login", first, "--server", "https://" + http_, "--profile", "second"}).err, HasSubstr("was used"));
  EXPECT_THAT(run({"admin", "token", "create", "--profile", "first"}).err,
              HasSubstr("locus admin token create ROLE NAME"));
}

TEST_F(Login, ReadsItsTokenFromAFileOrStandardInputWhereNobodySeesIt) {
  serve({"--tls-name", "127.0.0.1"});
  const std::string server = "https://" + http_;
  const std::string missing = "@" + (folder_.path() / "nothing").string();
  EXPECT_THAT(run({"login", missing, "--server", server}).err, HasSubstr("no token stands in"));
  EXPECT_THAT(run({"login", "-", "--server", server}).err, HasSubstr("no token stands on standard input"));
  const std::string file = "@" + (data() / "first-admin-token").string();
  ASSERT_EQ(run({"login", file, "--server", server, "--profile", "first"}).status, 0);
  const std::string typed = run({"admin", "invite", "viewer", "vera", "--profile", "first"}).out;
  EXPECT_THAT(run({"login", "-", "--server", server, "--profile", "vera"}, typed).out,
              HasSubstr("you are vera, viewer"));
  const fs::path work = folder_.path() / "box";
  const auto enroll = [&](const std::string& input) {
    return run({"worker", "--enroll", "-", "--server", server, "--work", work.string(), "--trainer", "/nowhere"}, input)
        .err;
  };
  EXPECT_THAT(enroll(""), HasSubstr("no token stands on standard input"));
  EXPECT_FALSE(fs::exists(work / "tls" / "certificate.pem"));
  enroll(run({"admin", "invite", "worker", "box", "--profile", "first"}).out);
  EXPECT_TRUE(fs::exists(work / "tls" / "certificate.pem")) << "whatever becomes of it without a trainer";
}

TEST_F(Login, SendsATokenToNoOtherMachineInTheClear) {
  const std::string token = "locus_abcdefgh_" + std::string(43, 'A');
  EXPECT_THAT(run({"login", token, "--server", "gpu.example.org:7171"}).err, HasSubstr("in the clear"));
  EXPECT_FALSE(fs::exists(folder_.path() / "config"));
}

TEST_F(Login, IsNotNeededWhereNobodyIsAsked) {
  serve({});
  EXPECT_FALSE(fs::exists(data() / "first-admin-token"));
  const std::string token = "locus_abcdefgh_" + std::string(43, 'A');
  EXPECT_THAT(run({"login", token, "--server", grpc_}).err, HasSubstr("asks nobody who they are"));
  EXPECT_EQ(run({"submit", "-", "--server", grpc_}, spec_named("day")).status, 0);
  const Json shown = Json::parse(run({"show", "day", "--server", grpc_, "--json"}).out, nullptr, false);
  EXPECT_EQ(shown.value("owner", ""), "stranger");
}

}  // namespace
}  // namespace locus
