// What the program says of itself: help, reference pages, completion; all from one tree.
#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/cli/program.h"

namespace locus {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Json = nlohmann::json;

std::string file_text(const std::string& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in.good()) << path;
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// What a shell prints; `arguments` follow the program on its command line.
std::string shell(const std::string& command) {
  std::string out;
  FILE* pipe = ::popen(command.c_str(), "r");
  char block[512];
  for (std::size_t got; (got = std::fread(block, 1, sizeof block, pipe)) > 0;) out.append(block, got);
  EXPECT_EQ(::pclose(pipe), 0) << command;
  return out;
}

bool installed(const std::string& program) {
  return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
}

TEST(Manual, OfEveryCommandHasSummaryOptionsAndAnExampleThatIsItsOwn) {
  ASSERT_GE(manual()["commands"].size(), 25u);
  for (const Json& command : manual()["commands"]) {
    const std::string name = command["name"];
    SCOPED_TRACE(name);
    EXPECT_FALSE(command["summary"].get<std::string>().empty());
    EXPECT_FALSE(command["examples"].empty());
    const std::string example = command["examples"][0]["line"];
    EXPECT_THAT(example, HasSubstr("locus " + name));
    std::set<std::string> options;
    for (const Json& option : command["options"]) {
      EXPECT_TRUE(options.insert(option["name"]).second);
      EXPECT_FALSE(option["help"].get<std::string>().empty()) << option["name"];
      EXPECT_TRUE(option["name"].get<std::string>().starts_with("--"));
    }
    EXPECT_TRUE(options.contains("--json"));
    for (const Json& argument : command["arguments"]) EXPECT_FALSE(argument["help"].get<std::string>().empty());
  }
}

TEST(Manual, OfEveryCommandIsAPage) {
  for (const Json& command : manual()["commands"]) {
    const Outcome outcome = run_locus({command["name"], "--help"});
    EXPECT_EQ(outcome.status, 0);
    EXPECT_THAT(outcome.out, AllOf(HasSubstr("NAME\n"), HasSubstr("SYNOPSIS\n"), HasSubstr("OPTIONS\n"),
                                   HasSubstr("EXAMPLES\n"), HasSubstr("EXIT STATUS\n")));
    for (const Json& option : command["options"])
      EXPECT_THAT(outcome.out, HasSubstr("\n    " + std::string(option["name"])));
  }
}

TEST(Manual, UsesOneNameForOneThing) {
  std::map<std::string, std::string> values;  // option -> what it takes
  // A file or a folder; text; a worker's work or a search's trials.
  const std::set<std::string> several = {"--output", "--reason", "--stop"};
  for (const Json& command : manual()["commands"]) {
    for (const Json& option : command["options"]) {
      const std::string name = option["name"], value = option.value("value", "");
      if (several.contains(name)) continue;
      const auto [known, fresh] = values.emplace(name, value);
      EXPECT_TRUE(fresh || known->second == value)
          << command["name"] << " " << name << " takes " << value << ", elsewhere " << known->second;
    }
  }
}

// The committed pages; `make docs` writes them anew.
TEST(Manual, IsWhatTheReferencePagesSay) {
  const std::string root = LOCUS_SOURCE_ROOT;
  for (const std::string page : {"command-line", "specification", "priors"}) {
    const Outcome outcome = run_locus({"reference", page, "--catalog", root + "/engine/catalog.json"});
    EXPECT_EQ(outcome.out, file_text(root + "/docs/" + page + ".md")) << "docs/" << page << ".md is stale: make docs";
  }
  EXPECT_TRUE(run_locus({"reference", "openapi"}).out == file_text(root + "/docs/openapi.json"))
      << "docs/openapi.json is stale: make docs";
}

class Completion : public ::testing::Test {
 protected:
  // The words bash offers for a command line whose last word is being typed.
  std::set<std::string> offered(const std::vector<std::string>& words) {
    std::string line = "locus";
    for (const std::string& word : words) line += " '" + word + "'";
    const std::string script = "PATH=" + std::filesystem::path(LOCUS_PROGRAM).parent_path().string() +
                               ":$PATH; source <(" LOCUS_PROGRAM " completion bash); COMP_WORDS=(" + line +
                               "); COMP_CWORD=" + std::to_string(words.size()) +
                               "; _locus; printf \"%s\\n\" \"${COMPREPLY[@]}\"";
    const std::string file = folder.write("complete.bash", script);
    std::stringstream out(shell("XDG_CONFIG_HOME=" + folder.path().string() + " bash " + file));
    std::set<std::string> found;
    for (std::string one; std::getline(out, one);)
      if (!one.empty()) found.insert(one);
    return found;
  }
  TemporaryFolder folder;
};

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

TEST_F(Completion, OffersCommandsOptionsAndChoicesInBash) {
  EXPECT_THAT(offered({"le"}), ElementsAre("leaderboard"));
  EXPECT_THAT(offered({"wor"}), ElementsAre("worker", "workers"));
  EXPECT_THAT(offered({"submit", "--re"}), ElementsAre("--replace"));
  EXPECT_THAT(offered({"leaderboard", "x", "--format", ""}), ElementsAre("csv", "latex", "markdown", "table"));
  EXPECT_THAT(offered({"completion", "z"}), ElementsAre("zsh"));
  EXPECT_THAT(offered({"leaderboard", "--server", ""}), ElementsAre());
}

TEST_F(Completion, OffersTheNamesTheServerHas) {
  const LiveServer server(folder.path() / "data");
  const std::string spec = folder.write(
      "x.yaml", "version: 1\nname: first-one\ndataset: fashion-mnist\nmodel: {backbone: vit}\nprior: none\n");
  ASSERT_EQ(run_locus({"submit", spec, "--server", server.address()}).status, 0);
  std::filesystem::create_directories(folder.path() / "locus");
  folder.write("locus/config.yaml", "server: " + server.address() + "\n");
  EXPECT_THAT(offered({"show", "fi"}), ElementsAre("first-one"));
  EXPECT_THAT(offered({"watch", ""}), ElementsAre("first-one"));
}

TEST_F(Completion, OffersFilesForSpecifications) {
  const std::string spec = folder.write("mine.yaml", "");
  EXPECT_THAT(offered({"plan", spec.substr(0, spec.size() - 3)}), ElementsAre(spec));
}

// tools/packages.txt brings both shells for tests.
TEST_F(Completion, IsReadByZshAndFish) {
  ASSERT_TRUE(installed("zsh") && installed("fish"));
  const std::string zsh = folder.write("_locus", run_locus({"completion", "zsh"}).out);
  EXPECT_EQ(shell("zsh -n " + zsh + " && zsh -fc 'autoload -U compinit; compinit -u -D; source " + zsh +
                  "; whence -w _locus; print $_comps[locus]'"),
            "_locus: function\n_locus\n");
  const std::string fish = folder.write("locus.fish", run_locus({"completion", "fish"}).out);
  const std::string home = "HOME=" + folder.path().string() + " XDG_DATA_HOME=" + folder.path().string() + " ";
  const std::string ask = home + "fish --no-config -c \"source " + fish + "; complete -C '";
  EXPECT_THAT(shell(ask + "locus leader'\""), HasSubstr("leaderboard\tPrint the table"));
  EXPECT_THAT(shell(ask + "locus leaderboard --format '\""), AllOf(HasSubstr("latex"), HasSubstr("csv")));
  EXPECT_THAT(shell(ask + "locus submit --w'\""), HasSubstr("--watch"));
}

}  // namespace
}  // namespace locus
