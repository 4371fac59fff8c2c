// locus weights: files of weights, looked into, written for other programs, and brought to the server.
#include <filesystem>
#include <map>

#include "cli/command.h"
#include "cli/commands/trainers_catalog.h"
#include "cli/render/reports.h"
#include "cli/uploads.h"
#include "core/base/error.h"
#include "core/experiment/plan/planner.h"

namespace locus {
namespace {

struct WeightsChoice {
  ServerChoice server;
  std::string action, file, layout, prefix, out, channels;
  SpecChoice spec;
  bool drop_priors = false;
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
    if (!spec.ok()) return report_error(spec.status(), choice.server.json);
    const auto catalog = trainers_catalog();
    if (!catalog.ok()) return report_error(catalog.status(), choice.server.json);
    const auto plan = plan_experiment(spec->json(), *catalog);
    if (!plan.ok()) return report_error(plan.status(), choice.server.json, &*spec);
    add("--models", readable_after_exec(trainings_of(*plan).dump()));
  }
  if (choice.server.json) arguments.push_back("--json");
  return run_trainer_tool("weights", std::move(arguments), choice.server.json);
}

int export_model(const WeightsChoice& choice) {
  std::vector<std::string> arguments = {"export", "--file", choice.file, "--out", choice.out};
  if (!choice.layout.empty()) arguments.insert(arguments.end(), {"--layout", choice.layout});
  if (!choice.channels.empty()) arguments.insert(arguments.end(), {"--channels", choice.channels});
  if (choice.drop_priors) arguments.push_back("--drop-priors");
  if (choice.server.json) arguments.push_back("--json");
  return run_trainer_tool("weights", std::move(arguments), choice.server.json);
}

// Each worker that asks for the digest gets the file from the server.
int upload(const WeightsChoice& choice) {
  return ask_server(choice.server, [&](Client& client) -> absl::StatusOr<int> {
    if (choice.file.ends_with(".index.json")) {
      return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
                        choice.file +
                            " is a list of files, and an artifact is one: put the list and its files below "
                            "the folder weights of each worker's data");
    }
    LOCUS_ASSIGN_OR_RETURN(const std::string sha256, keep_weights(client, choice.file));
    const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(choice.file));
    if (choice.server.json) {
      print(Json({{"path", choice.file}, {"sha256", sha256}, {"bytes", bytes}}).dump() + "\n");
    } else {
      print("the server keeps " + choice.file + ", " + show_bytes(bytes) + "\n  init    {weights: {sha256: " + sha256 +
            "}}\n");
    }
    return kExitDone;
  });
}

// Options of one action that stand beside another; empty where none does.
std::string misplaced(const WeightsChoice& choice) {
  const bool exports = choice.action == "export";
  if (exports && choice.out.empty()) return "export needs --out, the file to write";
  if (choice.action != "inspect" && !(choice.prefix + choice.spec.file).empty())
    return "--below and --spec are for inspect; export reads models of Locus, and upload sends files as they are";
  if (choice.action == "upload" && !choice.layout.empty())
    return "--layout is for inspect and export; upload sends files as they are";
  if (!exports && (choice.drop_priors || !(choice.out + choice.channels).empty()))
    return "--out, --channels and --drop-priors are for export";
  return "";
}

int run(const WeightsChoice& choice) {
  if (const std::string wrong = misplaced(choice); !wrong.empty()) {
    return report_error(make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument, wrong),
                        choice.server.json, nullptr, kExitUsage);
  }
  if (choice.action == "upload") return upload(choice);
  return choice.action == "export" ? export_model(choice) : inspect(choice);
}

}  // namespace

void add_weights(Program& app) {
  Command& command = add_command(
      app, {"weights",
            kDataGroup,
            "Look into a file of pretrained weights, bring it to the server, or write a model for other programs",
            "inspect and export need no server: the trainer does it. inspect prints a file's SHA-256, which section "
            "init of a "
            "specification takes, its layout, what each tensor would be and, with --spec, whether the file fits every "
            "model of the specification and what it must say otherwise. Reads safetensors, lists of shards and plain "
            "files of torch.save, of which it runs nothing. export writes an exported model of Locus under the "
            "names of a layout, timm's where none is given. upload gives the "
            "server a file to keep, whatever retention does, so that workers start from it wherever they run.",
            {{"locus weights inspect deit_tiny_patch16_224-a1311bcf.pth", "Its digest, layout and tensors"},
             {"locus weights inspect model.safetensors --spec finetune.yaml",
              "Whether the models of finetune.yaml can "
              "begin with it"},
             {"locus weights export checkpoints/trial-1-train-checkpoint-step-500.safetensors --out timm.safetensors",
              "A model that was trained here, for timm"},
             {"locus weights upload model.safetensors", "Every worker can then start from it"}}});
  auto choice = std::make_shared<WeightsChoice>();
  add_server_options(command, choice->server);
  command.add_option("action", choice->action, "inspect, export or upload")
      ->type_name("")
      ->one_of({"inspect", "export", "upload"})
      ->required();
  command.add_option("file", choice->file, "File of weights")->type_name("")->required();
  command
      .add_option(
          "--layout", choice->layout,
          "Whose names the tensors have (default: by names that only one has), or get in an export (default: timm)")
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
  command.add_flag(
      "--drop-priors", choice->drop_priors,
      "Leave out parameters of priors that the layout has no names for; the model then computes something else");
  command.body = [choice] { return run(*choice); };
}

}  // namespace locus
