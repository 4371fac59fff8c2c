// locus probe: the trainer's tool of that name.
#include "cli/command.h"
#include "cli/trainer_tool.h"

namespace locus {

void add_probe(CLI::App& app) {
  Command& command = add_command(
      app, {"probe",
            kAboutLocus,
            "Compare a prior with published code: run it on tensors from a file",
            "Needs no server: the trainer does it, and `locus probe --help` is its own account of what it "
            "takes. `--list` prints, as JSON, what there is to probe; tensors travel as safetensors.",
            {{"locus probe --list", "Priors, options, hooks, paths and parameters, as JSON"},
             {"locus probe --spec alibi.yaml --level attention --grid 8x8 --prefix 1 --dtype float64 --in "
              "in.safetensors --out out.safetensors",
              "One attention layer on given tensors"}}});
  command.prefix_command();
  command.set_help_flag();  // the trainer explains its own arguments
  command.body = [&command] { return become_trainer_tool("probe", command.remaining()); };
}

}  // namespace locus
