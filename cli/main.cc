// `locus`: one program for server, worker and everything one asks them.
#include "cli/command.h"

namespace locus {
#define LOCUS_COMMAND(name) void add_##name(CLI::App& app, int& status);
#include "cli/commands.def"
#undef LOCUS_COMMAND
}  // namespace locus

int main(int argc, char** argv) {
  CLI::App app(
      "Compares position encodings of Vision Transformers: submit a matrix, let workers run it, read the "
      "table.",
      "locus");
  app.set_version_flag("--version", LOCUS_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Start with: locus serve, locus worker, locus submit examples/fashion-mnist-priors.yaml --watch");
  int status = locus::kExitDone;
#define LOCUS_COMMAND(name) locus::add_##name(app, status);
#include "cli/commands.def"
#undef LOCUS_COMMAND
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? locus::kExitDone : locus::kExitUsage;
  }
  return status;
}
