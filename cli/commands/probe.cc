// locus probe: the trainer's tool of that name.
#include <CLI/CLI.hpp>

#include "cli/trainer_tool.h"

namespace locus {

void add_probe(CLI::App& app, int& status) {
  CLI::App* command = app.add_subcommand(
      "probe", "Compare a prior with published code: run it on tensors from a file (no server)");
  command->prefix_command();
  command->set_help_flag();  // the trainer explains its own arguments
  command->callback([command, &status] { status = become_trainer_tool("probe", command->remaining()); });
}

}  // namespace locus
