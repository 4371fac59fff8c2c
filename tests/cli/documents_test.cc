// Every command in every document: it exists, takes these options and values, and names files that are there.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <regex>
#include <set>

#include "tests/cli/program.h"

namespace locus {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct Line {
  std::string where, text;
  bool complete = false;  // a line of a block, not words in a sentence
};

std::vector<fs::path> documents() {
  std::vector<fs::path> out;
  const fs::path root = LOCUS_SOURCE_ROOT;
  for (const auto& entry : fs::directory_iterator(root)) {
    if (entry.path().extension() == ".md") out.push_back(entry.path());
  }
  for (const char* folder : {"docs", "clients", "deploy", "examples", "bench"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (entry.path().extension() == ".md") out.push_back(entry.path());
    }
  }
  return out;
}

std::vector<Line> lines_of(const fs::path& path) {
  std::vector<Line> out;
  std::ifstream in(path);
  bool block = false, shell = false;
  int number = 0;
  static const std::regex kInline("`(locus [^`]*)`");
  for (std::string text; std::getline(in, text);) {
    const std::string where = path.lexically_relative(LOCUS_SOURCE_ROOT).string() + ":" + std::to_string(++number);
    if (text.starts_with("```")) {
      block = !block;
      shell = block && (text == "```sh" || text == "```bash");
    } else if (shell) {
      out.push_back({where, text, true});
    } else if (!block) {
      for (std::sregex_iterator at(text.begin(), text.end(), kInline), end; at != end; ++at)
        out.push_back({where, (*at)[1], false});
    }
  }
  return out;
}

// The commands of a shell line as words: quotes taken off, comments and redirections left out.
std::vector<std::vector<std::string>> commands_of(const std::string& line) {
  std::vector<std::vector<std::string>> out(1);
  std::string word;
  bool within = false;
  char quote = 0;
  const auto end_word = [&] {
    if (within) out.back().push_back(word);
    word.clear();
    within = false;
  };
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != 0) {
      if (c == quote)
        quote = 0;
      else
        word += c;
    } else if (c == '\'' || c == '"') {
      quote = c, within = true;
    } else if (c == '#' && !within) {
      break;
    } else if (c == ' ' || c == '(' || c == ')' || c == '<' || c == '>') {
      end_word();
      if (c == '(') out.emplace_back();
    } else if (c == '|' || c == '&' || c == ';') {
      end_word();
      out.emplace_back();
    } else {
      word += c, within = true;
    }
  }
  end_word();
  std::erase_if(out, [](const auto& words) { return words.empty(); });
  return out;
}

// What is wrong with `locus ...`; empty when nothing is.
std::string complaint(const std::vector<std::string>& words, bool complete) {
  if (words.size() == 1 || words[1].starts_with("--")) return "";
  if (words[1] == "COMMAND") return "";
  if (words[1] == "demo") return "";  // the wheel's own, in deploy/wheel
  const Json* command = find_command(words[1]);
  if (command == nullptr) return "there is no command " + words[1];
  std::size_t positionals = 0;
  for (std::size_t i = 2; i < words.size(); ++i) {
    if (!words[i].starts_with("--")) {
      if (words[i] != "...") ++positionals;
      continue;
    }
    const std::string name = words[i].substr(0, words[i].find('='));
    if (name == "--help") continue;
    const auto& options = (*command)["options"];
    const auto found =
        std::find_if(options.begin(), options.end(), [&](const Json& one) { return one["name"] == name; });
    if (found == options.end()) return words[1] + " has no option " + name;
    if ((*found)["flag"].get<bool>() || words[i].find('=') != std::string::npos) continue;
    if (++i == words.size() && complete) return name + " needs a value";
    const auto choices = found->value("choices", std::vector<std::string>());
    if (i < words.size() && !choices.empty() && std::find(choices.begin(), choices.end(), words[i]) == choices.end())
      return name + " does not take " + words[i];
  }
  const auto& arguments = (*command)["arguments"];
  const bool open = !arguments.empty() && arguments.back()["repeatable"].get<bool>();
  if (positionals > arguments.size() && !open) return words[1] + " takes no further argument";
  const auto required =
      std::count_if(arguments.begin(), arguments.end(), [](const Json& one) { return one["required"].get<bool>(); });
  if (complete && positionals < static_cast<std::size_t>(required)) return words[1] + " needs an argument more";
  return "";
}

TEST(Documents, NameOnlyCommandsOptionsAndFilesThatExist) {
  int checked = 0;
  for (const fs::path& path : documents()) {
    for (const Line& line : lines_of(path)) {
      for (std::vector<std::string> words : commands_of(line.text)) {
        if (words[0] == "source") words.erase(words.begin());
        if (words.empty()) continue;
        if (words[0] == "locus") {
          ++checked;
          EXPECT_EQ(complaint(words, line.complete), "") << line.where << ": " << line.text;
        }
        for (const std::string& word : words) {
          const bool ours = word.starts_with("examples/") || word.starts_with("tools/") ||
                            word.starts_with("engine/") || word.starts_with("tests/");
          if (!ours) continue;
          EXPECT_TRUE(fs::exists(fs::path(LOCUS_SOURCE_ROOT) / word)) << line.where << ": " << word;
        }
      }
    }
  }
  EXPECT_GT(checked, 80);
}

// Words in `backquotes` or in a block that begin with a folder of ours, and the targets of links.
TEST(Documents, NameOnlyPathsThatExist) {
  const fs::path root = LOCUS_SOURCE_ROOT;
  std::set<std::string> folders;
  for (const auto& entry : fs::directory_iterator(root)) {
    const std::string name = entry.path().filename();
    if (entry.is_directory() && name != "build") folders.insert(name);
  }
  static const std::regex kCode("`([^`]+)`"), kPath("[a-z]+/[A-Za-z0-9_./-]*[A-Za-z0-9_/]"),
      kLink("\\]\\(([^)#:]+)(#[^)]*)?\\)");
  int checked = 0;
  for (const fs::path& path : documents()) {
    std::ifstream in(path);
    bool block = false;
    for (std::string text; std::getline(in, text);) {
      if (text.starts_with("```")) block = !block;
      std::vector<std::string> codes;
      if (block) codes.push_back(text);
      for (std::sregex_iterator at(text.begin(), text.end(), kCode), end; !block && at != end; ++at)
        codes.push_back((*at)[1]);
      for (const std::string& code : codes) {
        std::istringstream words(code);
        for (std::string word; words >> word;) {
          while (!word.empty() && std::strchr("(),;:'\"", word.back()) != nullptr) word.pop_back();
          if (!std::regex_match(word, kPath) || !folders.contains(word.substr(0, word.find('/')))) continue;
          ++checked;
          EXPECT_TRUE(fs::exists(root / word)) << path << ": " << word;
        }
      }
      for (std::sregex_iterator at(text.begin(), text.end(), kLink), end; !block && at != end; ++at) {
        ++checked;
        EXPECT_TRUE(fs::exists(path.parent_path() / (*at)[1].str())) << path << ": " << text;
      }
    }
  }
  EXPECT_GT(checked, 150);
}

TEST(Documents, NameOnlyTargetsOfMakeThatExist) {
  std::ifstream in(std::string(LOCUS_SOURCE_ROOT) + "/Makefile");
  std::set<std::string> targets;
  static const std::regex kTarget("^([a-z-]+):.*");
  for (std::string text; std::getline(in, text);) {
    std::smatch match;
    if (std::regex_match(text, match, kTarget)) targets.insert(match[1]);
  }
  for (const fs::path& path : documents()) {
    for (const Line& line : lines_of(path)) {
      for (const auto& words : commands_of(line.text)) {
        if (words[0] != "make" || words.size() == 1) continue;
        EXPECT_TRUE(targets.contains(words[1])) << line.where << ": " << line.text;
      }
    }
  }
}

TEST(Documents, AreReadAsAShellReadsThem) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(commands_of("locus plan x --set 'a=[1, 2]' # why"),
            (std::vector<Words>{{"locus", "plan", "x", "--set", "a=[1, 2]"}}));
  EXPECT_EQ(commands_of("a | locus submit - && b"), (std::vector<Words>{{"a"}, {"locus", "submit", "-"}, {"b"}}));
  EXPECT_EQ(complaint({"locus", "plan"}, true), "plan needs an argument more");
  EXPECT_EQ(complaint({"locus", "plna"}, false), "there is no command plna");
  EXPECT_EQ(complaint({"locus", "list", "--stat", "x"}, true), "list has no option --stat");
  EXPECT_EQ(complaint({"locus", "leaderboard", "x", "--format", "pdf"}, true), "--format does not take pdf");
}

}  // namespace
}  // namespace locus
