// locus weights: files of weights, looked into and written for other programs.
#include <map>

#include "cli/command.h"
#include "cli/commands/trainers_catalog.h"
#include "core/base/error.h"
#include "core/experiment/plan/planner.h"

namespace locus {
namespace {

struct WeightsChoice {
  std::string action, file, layout, prefix, out, channels;
  SpecChoice spec;
  bool drop_priors = false, json = false;
};

// Each training of the plan once, as {"label", "configuration"}.
Json trainings_of(const ExperimentPlan& plan) {
  Json out = Json::array();
  std::map<std::string, std::string> label_of;
  for (const PlannedTrial& trial : plan.trials) {
    const PlannedCell& cell = plan.cells[static_cast<std::size_t>(trial.cell)];
    for (const PlannedStage& stage : trial.stages) {
      if (stage.kind != "train" || !label_of.emplace(cell.label, stage.identity).second) continue;
      out.push_back(
          {{"label", cell.label.empty() ? plan.name : cell.label}, {"configuration", Json::parse(stage.config_json)}});
    }
  }
  return out;
}

int inspect(const WeightsChoice& choice) {
  std::vector<std::string> arguments = {"inspect", "--file", choice.file};
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) arguments.insert(arguments.end(), {name, value});
  };
  add("--layout", choice.layout);
  add("--below", choice.prefix);
  if (!choice.spec.file.empty()) {
    const auto spec = read_spec(choice.spec);
    if (!spec.ok()) return report_error(spec.status(), choice.json);
    const auto catalog = trainers_catalog();
    if (!catalog.ok()) return report_error(catalog.status(), choice.json);
    const auto plan = plan_experiment(spec->json(), *catalog);
    if (!plan.ok()) return report_error(plan.status(), choice.json, &*spec);
    add("--models", readable_after_exec(trainings_of(*plan).dump()));
  }
  if (choice.json) arguments.push_back("--json");
  return run_trainer_tool("weights", std::move(arguments), choice.json);
}

int export_to_timm(const WeightsChoice& choice) {
  std::vector<std::string> arguments = {"export", "--file", choice.file, "--out", choice.out};
  if (!choice.channels.empty()) arguments.insert(arguments.end(), {"--channels", choice.channels});
  if (choice.drop_priors) arguments.push_back("--drop-priors");
  if (choice.json) arguments.push_back("--json");
  return run_trainer_tool("weights", std::move(arguments), choice.json);
}

int run(const WeightsChoice& choice) {
  const bool exports = choice.action == "export";
  std::string wrong;
  if (exports && choice.out.empty()) wrong = "export needs --out, the file to write";
  if (exports && !(choice.layout + choice.prefix + choice.spec.file).empty())
    wrong = "--layout, --below and --spec are for inspect; export reads models of Locus";
  if (!exports && (choice.drop_priors || !(choice.out + choice.channels).empty()))
    wrong = "--out, --channels and --drop-priors are for export";
  if (!wrong.empty()) {
    return report_error(make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument, wrong),
                        choice.json, nullptr, kExitUsage);
  }
  return exports ? export_to_timm(choice) : inspect(choice);
}

}  // namespace

void add_weights(Program& app) {
  Command& command = add_command(
      app,
      {"weights",
       kDataGroup,
       "Look into a file of pretrained weights, or write a model for other programs",
       "Needs no server: the trainer does it. inspect prints a file's SHA-256, which section init of a "
       "specification takes, its layout, what each tensor would be and, with --spec, whether the file fits every "
       "model of the specification and what it must say otherwise. Reads safetensors, lists of shards and plain "
       "files of torch.save, of which it runs nothing. export writes an exported model of Locus under timm's names.",
       {{"locus weights inspect deit_tiny_patch16_224-a1311bcf.pth", "Its digest, layout and tensors"},
        {"locus weights inspect model.safetensors --spec finetune.yaml",
         "Whether the models of finetune.yaml can "
         "begin with it"},
        {"locus weights export checkpoints/trial-1-train-checkpoint-step-500.safetensors --out timm.safetensors",
         "A model that was trained here, for timm"}}});
  auto choice = std::make_shared<WeightsChoice>();
  command.add_option("action", choice->action, "inspect or export")
      ->type_name("")
      ->one_of({"inspect", "export"})
      ->required();
  command.add_option("file", choice->file, "File of weights")->type_name("")->required();
  command.add_option("--layout", choice->layout, "Whose names the tensors have (default: by names that only one has)")
      ->type_name("LAYOUT");
  command.add_option("--below", choice->prefix, "Beginning of the names that hold the model, as in teacher.")
      ->type_name("PREFIX");
  command.add_option("--spec", choice->spec.file, "Specification whose models are to begin with it")->type_name("FILE");
  command
      .add_option("--set", choice->spec.changes,
                  "Change a value, the value in YAML: --set model.dim=192 (repeatable; null removes)")
      ->type_name("PATH=VALUE")
      ->one_value_each();
  command.add_option("--out", choice->out, "The safetensors file to write")->type_name("FILE");
  command.add_option("--channels", choice->channels, "Channels of the exported model's images")->type_name("N");
  command.add_flag("--drop-priors", choice->drop_priors,
                   "Leave out parameters of priors, which timm's model has not; it then computes something else");
  add_json_option(command, choice->json);
  command.body = [choice] { return run(*choice); };
}

}  // namespace locus
