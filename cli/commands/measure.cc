// locus measure: what models cost, here and now.
#include <algorithm>
#include <map>

#include "cli/command.h"
#include "cli/commands/trainers_catalog.h"
#include "core/base/error.h"
#include "core/base/text.h"
#include "core/experiment/plan/planner.h"

namespace locus {
namespace {

struct MeasureChoice {
  SpecChoice spec;
  std::vector<std::string> priors;
  std::string against;
  std::vector<std::string> batches, resolutions;
  int rounds = 20, warmup = 5, round_ms = 50, threads = 1, index = 0;
  bool no_training = false, json = false;
  std::string device = "cpu", out;
};

// With --prior.
std::string compared_prior(const MeasureChoice& choice) { return choice.against.empty() ? "none" : choice.against; }

// The specification with its stages replaced by the measurement, so that one place checks both.
absl::StatusOr<SpecFile> wanted(const MeasureChoice& choice) {
  LOCUS_ASSIGN_OR_RETURN(SpecFile spec, read_spec(choice.spec));
  std::vector<std::string> priors = choice.priors;
  if (const std::string base = compared_prior(choice);
      !priors.empty() && std::find(priors.begin(), priors.end(), base) == priors.end())
    priors.insert(priors.begin(), base);
  if (!choice.priors.empty()) {
    for (const char* key : {"prior", "baseline", "zip", "include", "exclude", "overrides", "matched"})
      LOCUS_RETURN_IF_ERROR(spec.set(std::string(key) + "=null"));
    LOCUS_RETURN_IF_ERROR(spec.set("matrix={prior: [" + joined(priors, ",") + "]}"));
  }
  LOCUS_RETURN_IF_ERROR(spec.set("replicates={seed: [0]}"));
  LOCUS_RETURN_IF_ERROR(spec.set("stages=[{measure: {batch: [" + joined(choice.batches, ",") + "], resolution: [" +
                                 joined(choice.resolutions, ",") +
                                 "], training: " + (choice.no_training ? "false" : "true") + "}}]"));
  return spec;
}

struct Models {
  Json list = Json::array();  // {"label", "configuration"}, each model once
  std::string base;           // label of the baseline's
};

Models models_of(const ExperimentPlan& plan) {
  Models out;
  std::map<std::string, std::string> label_of;  // by identity
  for (const PlannedTrial& trial : plan.trials) {
    const PlannedCell& cell = plan.cells[static_cast<std::size_t>(trial.cell)];
    for (const PlannedStage& stage : trial.stages) {
      if (stage.role != "measure") continue;
      const auto [known, added] = label_of.emplace(stage.identity, cell.label);
      if (added) out.list.push_back({{"label", cell.label}, {"configuration", Json::parse(stage.config_json)}});
      if (cell.baseline && out.base.empty()) out.base = known->second;
    }
  }
  if (out.list.size() == 1 && out.list[0]["label"] == "") out.list[0]["label"] = plan.name;
  return out;
}

int run(const MeasureChoice& choice) {
  const auto spec = wanted(choice);
  if (!spec.ok()) return report_error(spec.status(), choice.json);
  const auto catalog = trainers_catalog();
  if (!catalog.ok()) return report_error(catalog.status(), choice.json);
  const auto plan = plan_experiment(spec->json(), *catalog);
  if (!plan.ok()) return report_error(plan.status(), choice.json, &*spec);
  const Models models = models_of(*plan);
  const std::string file = readable_after_exec(models.list.dump());
  std::string against = choice.priors.empty() ? choice.against : compared_prior(choice);
  if (against.empty()) against = models.base;
  std::vector<std::string> arguments = {"--models",   file,
                                        "--batch",    joined(choice.batches, ","),
                                        "--rounds",   std::to_string(choice.rounds),
                                        "--warmup",   std::to_string(choice.warmup),
                                        "--round-ms", std::to_string(choice.round_ms),
                                        "--device",   choice.device,
                                        "--index",    std::to_string(choice.index),
                                        "--threads",  std::to_string(choice.threads)};
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) arguments.insert(arguments.end(), {name, value});
  };
  add("--against", against);
  add("--resolution", joined(choice.resolutions, ","));
  add("--out", choice.out);
  if (choice.no_training) arguments.push_back("--no-training");
  if (choice.json) arguments.push_back("--json");
  return run_trainer_tool("measure", std::move(arguments), choice.json);
}

void add_protocol_options(Command& command, MeasureChoice& choice) {
  command.add_option("--rounds", choice.rounds, "Timed rounds; the models take turns within each")
      ->type_name("N")
      ->range(1, 10000);
  command.add_option("--warmup", choice.warmup, "Passes before the first round")->type_name("N")->range(0, 10000);
  command.add_option("--round-ms", choice.round_ms, "A round repeats the pass until it takes about so long")
      ->type_name("MS")
      ->range(0, 60000);
  command.add_flag("--no-training", choice.no_training, "Forward passes only");
  command.add_option("--device", choice.device, "Where to measure")->type_name("DEVICE")->one_of({"cpu", "cuda"});
  command.add_option("--index", choice.index, "Which CUDA device")->type_name("N")->range(0, 1023);
  command.add_option("--threads", choice.threads, "Threads of an operation on the CPU")
      ->type_name("COUNT")
      ->range(1, 1024);
}

}  // namespace

void add_measure(Program& app) {
  Command& command = add_command(
      app, {"measure",
            kLocusGroup,
            "Measure what models cost: parameters, operations, time and memory, side by side",
            "Needs no server: the trainer does it, with random weights and images, by the protocol of "
            "docs/measuring.md. Every model of the matrix is measured once, in turn within every round, and "
            "compared "
            "with one of them. The spread between rounds is printed: a figure whose spread is large is not to be "
            "trusted. A specification's stage `measure` does the same on workers.",
            {{"locus measure --spec examples/fashion-mnist-priors.yaml", "Its six models at batch 1 and 32"},
             {"locus measure --spec examples/fashion-mnist-priors.yaml --prior violin --prior '[learned-absolute, "
              "violin]' "
              "--batch 64 --resolution 28,56 --json",
              "Two against none, as JSON"}}});
  auto choice = std::make_shared<MeasureChoice>();
  choice->batches = {"1", "32"};
  command.add_option("--spec", choice->spec.file, "Specification; its model, dataset and priors are measured")
      ->type_name("FILE")
      ->required();
  command
      .add_option("--set", choice->spec.changes,
                  "Change a value, the value in YAML: --set model.dim=192 (repeatable; null removes)")
      ->type_name("PATH=VALUE")
      ->one_value_each();
  command
      .add_option("--prior", choice->priors,
                  "Measure this instead of the matrix: an id, or in YAML with options or a list (repeatable)")
      ->type_name("PRIOR")
      ->one_value_each();
  command
      .add_option("--against", choice->against,
                  "What to compare with: with --prior a prior, added when missing (none); otherwise a cell's "
                  "label (the baseline, or the first)")
      ->type_name("LABEL");
  command.add_option("--batch", choice->batches, "Images a pass (1,32)")->type_name("N,N")->delimiter(',');
  command
      .add_option("--resolution", choice->resolutions, "Image extents, the model built for each (the dataset's own)")
      ->type_name("N,N")
      ->delimiter(',');
  add_protocol_options(command, *choice);
  command.add_option("--out", choice->out, "Also write the JSON document here")->type_name("FILE");
  add_json_option(command, choice->json);
  command.body = [choice] { return run(*choice); };
}

}  // namespace locus
