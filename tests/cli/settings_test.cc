// Where the server's address comes from: flag, environment, configuration file, default.
#include <gmock/gmock.h>

#include "tests/cli/program.h"

namespace locus {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct Home {
  TemporaryFolder folder;
  explicit Home(const std::string& text) {
    std::filesystem::create_directories(folder.path() / "locus");
    folder.write("locus/config.yaml", text);
  }
  std::string file() const { return (folder.path() / "locus" / "config.yaml").string(); }
  Environment environment(Environment more = {}) const {
    more.emplace_back("XDG_CONFIG_HOME", folder.path().string());
    return more;
  }
};

std::string asked(const std::vector<std::string>& arguments, const Environment& environment) {
  std::vector<std::string> words = {"version", "--json"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const Outcome outcome = run_locus(words, "", environment);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  return nlohmann::json::parse(outcome.out)["address"];
}

TEST(Settings, FlagWinsOverEnvironmentOverFileOverDefault) {
  const Home home("# mine\nserver: 127.0.0.1:2\nowner: me\n");
  EXPECT_EQ(asked({"--server", "127.0.0.1:4"}, home.environment({{"LOCUS_SERVER", "127.0.0.1:3"}})), "127.0.0.1:4");
  EXPECT_EQ(asked({}, home.environment({{"LOCUS_SERVER", "127.0.0.1:3"}})), "127.0.0.1:3");
  EXPECT_EQ(asked({}, home.environment()), "127.0.0.1:2");
}

TEST(Settings, AreFoundUnderTheHomeFolderToo) {
  const TemporaryFolder home;
  std::filesystem::create_directories(home.path() / ".config" / "locus");
  home.write(".config/locus/config.yaml", "server: 127.0.0.1:5\n");
  EXPECT_EQ(asked({}, {{"XDG_CONFIG_HOME", ""}, {"HOME", home.path().string()}}), "127.0.0.1:5");
}

TEST(Settings, GiveTheOwnerOfWhatIsSubmitted) {
  const TemporaryFolder folder;
  const LiveServer server(folder.path() / "data");
  const std::string spec =
      folder.write("x.yaml", "version: 1\nname: x\ndataset: fashion-mnist\nmodel: {backbone: vit}\nprior: none\n");
  const Home home("server: " + server.address() + "\nowner: ada\n");
  EXPECT_EQ(run_locus({"submit", spec}, "", home.environment({{"USER", "root"}})).status, 0);
  const auto stored = nlohmann::json::parse(run_locus({"show", "x", "--json"}, "", home.environment()).out);
  EXPECT_EQ(stored["owner"], "ada");
}

TEST(Settings, RefuseWhatCannotBeMeantWithFileAndLine) {
  struct Bad {
    const char *text, *says, *line;
  };
  for (const Bad& bad : {Bad{"# x\nsevrer: a:1\n", "did you mean 'server'", ":2"},
                         Bad{"color: red\n", "its keys are: owner, profile, server", ":1"},
                         Bad{"owner: me\nserver: 7\n", "server must be text, not 7", ":2"},
                         Bad{"- 1\n", "no mapping", ":1"}, Bad{"server: [\n", "not readable", ":"},
                         Bad{"# caf\xe9\nowner: me\n", "0xE9 at offset 5 is not UTF-8", ":1"}}) {
    const Home home(bad.text);
    const Outcome outcome = run_locus({"list"}, "", home.environment());
    EXPECT_EQ(outcome.status, 1) << bad.text;
    EXPECT_THAT(outcome.err,
                AllOf(HasSubstr("configuration file"), HasSubstr(bad.says), HasSubstr(home.file() + bad.line)));
  }
}

TEST(Settings, RefuseAnOwnerThatIsNoText) {
  const TemporaryFolder folder;
  const LiveServer server(folder.path() / "data");
  const Outcome outcome = run_locus({"submit", "-", "--server", server.address()},
                                    "version: 1\nname: x\ndataset: fashion-mnist\nprior: none\n",
                                    Home("").environment({{"USER", "caf\xe9"}}));
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, HasSubstr("USER is not UTF-8 text; name the owner with --owner"));
}

TEST(Settings, MayBeEmpty) {
  EXPECT_EQ(asked({}, Home("").environment()), "127.0.0.1:7171");
  EXPECT_EQ(asked({}, Home("# nothing\n").environment()), "127.0.0.1:7171");
}

}  // namespace
}  // namespace locus
