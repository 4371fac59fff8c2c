// `locus`: one program for server, worker and everything one asks them.
#include <algorithm>
#include <cstring>

#include "cli/command.h"
#include "cli/tree.h"
#include "core/base/error.h"
#include "core/base/nearest.h"
#include "core/base/utf8.h"
#include "core/catalog/catalog.h"

namespace locus {
#define LOCUS_COMMAND(name) void add_##name(CLI::App& app);
#include "cli/commands.def"
#undef LOCUS_COMMAND

namespace {

// The command the words name, if one of them does.
const Command* chosen(const CLI::App& program) {
  const auto parsed = program.get_subcommands();
  return parsed.empty() ? nullptr : dynamic_cast<const Command*>(parsed.front());
}

std::string suggestion(const std::string& word, const std::vector<std::string>& known) {
  const auto nearest = nearest_name(word, known);
  return nearest ? "; did you mean " + *nearest + "?" : "";
}

// What was asked, what was found, what to do.
std::string usage_sentence(const CLI::App& program, const CLI::ParseError& error) {
  const Command* command = chosen(program);
  const std::string see = command ? "; see locus " + command->text.name + " --help" : "; see locus --help";
  std::vector<std::string> left = program.remaining(true);
  std::erase(left, "--json");  // it says how to answer, here too
  std::vector<std::string> known;
  if (command == nullptr) {
    for (const CommandPage& one : describe(program).commands) known.push_back(one.name);
    const auto word = std::find_if(left.begin(), left.end(), [](const auto& w) { return !w.starts_with("-"); });
    if (word != left.end()) return "locus has no command '" + *word + "'" + suggestion(*word, known) + see;
    if (!left.empty()) return "locus has no option " + left.front() + see;
    return "locus needs a command, as in locus list" + see;
  }
  const CommandPage page = describe(*command);
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !left.empty()) {
    for (const OptionPage& one : page.options) known.push_back(one.name);
    const bool option = left.front().starts_with("-");
    return "locus " + page.name + (option ? " has no option " : " takes no further argument ") + left.front() +
           (option ? suggestion(left.front().substr(0, left.front().find('=')), known) : "") + see;
  }
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr)
    return "locus " + page.name + ": " + error.what() + ": " + usage_line("locus", page) + see;
  return "locus " + page.name + ": " + error.what() + see;
}

// Names travel as UTF-8; anything else would come to nothing on the way.
const char* not_text(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (first_not_utf8(argv[i])) return argv[i];
  }
  return nullptr;
}

int run(CLI::App& program, int argc, char** argv) {
  const bool json = std::any_of(argv, argv + argc, [](const char* word) { return std::strcmp(word, "--json") == 0; });
  if (const char* word = not_text(argc, argv)) {
    return report_error(make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
                                   "the argument '" + std::string(word) + "' is not UTF-8 text; see locus --help"),
                        json, nullptr, kExitUsage);
  }
  try {
    program.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    const Command* command = chosen(program);
    const int width = std::min(terminal().width, 100);
    print(command ? render_help("locus", describe(*command), width) : render_program_help(describe(program), width));
    return kExitDone;
  } catch (const CLI::CallForVersion& version) {
    print(std::string(version.what()) + "\n");
    return kExitDone;
  } catch (const CLI::ParseError& error) {
    return report_error(
        make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument, usage_sentence(program, error)),
        json, nullptr, kExitUsage);
  }
  const Command* command = chosen(program);
  return command && command->body ? command->body() : kExitUsage;
}

}  // namespace
}  // namespace locus

int main(int argc, char** argv) {
  CLI::App program(
      "Compares position encodings of Vision Transformers: submit a matrix, let workers run it, read the "
      "table.",
      "locus");
  program.set_version_flag("--version", LOCUS_VERSION);
  program.require_subcommand(1);
#define LOCUS_COMMAND(name) locus::add_##name(program);
#include "cli/commands.def"
#undef LOCUS_COMMAND
  return locus::run(program, argc, argv);
}
