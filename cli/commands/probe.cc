// locus probe: one layer, block or model on given tensors, to hold beside published code.
#include "cli/command.h"
#include "cli/trainer_tool.h"

namespace locus {

void add_probe(Program& app) {
  Command& command = add_command(
      app, {"probe",
            kLocusGroup,
            "Compare a prior with published code: run it on tensors from a file",
            "Needs no server: the trainer does it. Tensors travel as safetensors; docs/formats/probe.md names "
            "them. "
            "Missing and extra names are errors.",
            {{"locus probe --list", "Priors with options, hooks, paths and parameters, and all components, as JSON"},
             {"locus probe --component schedule:cosine --spec schedule.yaml --out rates.safetensors",
              "The rate of every step of a schedule"},
             {"locus probe --spec alibi.yaml --level attention --grid 8x8 --prefix 1 --in in.safetensors --out "
              "out.safetensors",
              "One attention layer on given tensors"}}});
  auto json = std::make_shared<bool>(false);
  const auto value = [&](const char* name, const char* help, const char* type) {
    command.add_option(name, help)->type_name(type);
  };
  value("--spec", "Specification of the prior alone", "FILE");
  command.add_option("--level", "What to run")->one_of({"attention", "block", "stage", "model"});
  value("--grid", "Rows and columns of patches, of the first stage", "ROWSxCOLUMNS");
  value("--reference", "The grid that the model is built for, if another", "ROWSxCOLUMNS");
  value("--points", "In place of a grid: tokens are points of as many axes, at the tensor positions", "COUNT");
  value("--prefix", "Tokens before the patches", "N");
  value("--layer", "Which layer, counted from 0, over the network, or STAGE.LAYER, within a stage", "LAYER");
  value("--layers", "Of how many", "N");
  value("--network-stage", "Which stage, counted from 0, at level stage", "N");
  command.add_option("--dtype", "Precision")->one_of({"float64", "float32", "bfloat16"});
  value("--path", "Execution path of the attention", "NAME");
  value("--seed", "Of the initial parameters", "N");
  value("--step", "Optimizer steps done", "N");
  value("--component", "Run a transform, schedule, optimizer or loss alone", "KIND:ID");
  value("--in", "Tensors to run on", "FILE");
  value("--out", "Where the results go", "FILE");
  command.add_flag("--init", "Write the initial parameters instead of running");
  command.add_flag("--training", "As a step of training does, with its draws, instead of as in evaluation");
  command.add_flag("--list", "Print what there is to probe");
  add_json_option(command, *json);
  command.body = [&command, json] { return run_trainer_tool("probe", given_arguments(command), *json); };
}

}  // namespace locus
