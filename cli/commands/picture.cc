// locus picture: the trainer's tool of that name.
#include "cli/command.h"
#include "cli/trainer_tool.h"

namespace locus {

void add_picture(CLI::App& app) {
  Command& command =
      add_command(app, {"picture",
                        kAboutLocus,
                        "Draw what a prior does, at initialization or from a checkpoint",
                        "Needs no server: the trainer does it, and `locus picture --help` is its own account "
                        "of what it takes. The JSON is what the dashboard's catalog draws.",
                        {{"locus picture alibi-2d", "Its biases, as JSON on standard output"}}});
  command.prefix_command();
  command.set_help_flag();  // the trainer explains its own arguments
  command.body = [&command] { return become_trainer_tool("picture", command.remaining()); };
}

}  // namespace locus
