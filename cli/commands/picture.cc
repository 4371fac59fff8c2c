// locus picture: the trainer's tool of that name.
#include <CLI/CLI.hpp>

#include "cli/trainer_tool.h"

namespace locus {

void add_picture(CLI::App& app, int& status) {
  CLI::App* command = app.add_subcommand(
      "picture", "Draw what a prior does, at initialization or from a checkpoint (no server)");
  command->prefix_command();
  command->set_help_flag();  // the trainer explains its own arguments
  command->callback([command, &status] { status = become_trainer_tool("picture", command->remaining()); });
}

}  // namespace locus
