// `locus`: one program for server, worker and everything one asks them.
#include <algorithm>
#include <cstring>

#include "cli/arguments/reader.h"
#include "cli/command.h"
#include "core/base/error.h"
#include "core/base/utf8.h"

namespace locus {
#define LOCUS_COMMAND(name) void add_##name(Program& app);
#include "cli/commands.def"
#undef LOCUS_COMMAND

namespace {

// Names travel as UTF-8; anything else would come to nothing on the way.
const char* not_text(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (first_not_utf8(argv[i])) return argv[i];
  }
  return nullptr;
}

int run(Program& program, int argc, char** argv) {
  const bool json = std::any_of(argv, argv + argc, [](const char* word) { return std::strcmp(word, "--json") == 0; });
  const auto refuse = [json](const std::string& why) {
    return report_error(make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument, why), json,
                        nullptr, kExitUsage);
  };
  if (const char* word = not_text(argc, argv))
    return refuse("the argument '" + std::string(word) + "' is not UTF-8 text; see locus --help");
  const Reading line = read_command_line(program, argc, argv);
  const int width = std::min(terminal().width, 100);
  switch (line.outcome) {
    case Reading::Outcome::kHelp:
      print(line.command ? render_help(program.name, describe(*line.command), width)
                         : render_program_help(describe(program), width));
      return kExitDone;
    case Reading::Outcome::kVersion:
      print(program.version + "\n");
      return kExitDone;
    case Reading::Outcome::kRefused:
      return refuse(line.refusal);
    case Reading::Outcome::kRun:
      break;
  }
  return line.command && line.command->body ? line.command->body() : kExitUsage;
}

}  // namespace
}  // namespace locus

int main(int argc, char** argv) {
  locus::Program program{
      "locus",
      "Compares position encodings of Vision Transformers: submit a matrix, let workers run it, read the table.",
      LOCUS_VERSION,
      {}};
#define LOCUS_COMMAND(name) locus::add_##name(program);
#include "cli/commands.def"
#undef LOCUS_COMMAND
  return locus::run(program, argc, argv);
}
