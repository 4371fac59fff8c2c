// locus plan: what a specification would run.
#include "cli/render/plan.h"
#include "cli/command.h"

namespace locus {
namespace {

int run(const ServerChoice& choice, const SpecChoice& wanted) {
  const auto spec = read_spec(wanted);
  if (!spec.ok()) return report_error(spec.status(), choice.json);
  return ask_server(choice, [&](Client& client) -> absl::StatusOr<int> {
    v1::PlanExperimentRequest request;
    request.set_spec_json(spec->text());
    const auto plan = client.plan_experiment(request);
    if (!plan.ok()) return report_error(plan.status(), choice.json, &*spec);
    choice.json ? print_json(*plan) : print(render_plan(*plan));
    return kExitDone;
  });
}

}  // namespace

void add_plan(Program& app) {
  Command& command = add_command(
      app,
      {"plan",
       kExperimentGroup,
       "Say what a specification would run and cost: stages, parameters, memory, expected time",
       "Checks the specification against the server's catalog and expands it. Nothing is stored and no "
       "worker is "
       "needed. Every mistake is answered at once, with the field and, for a file, the line. Time is expected from "
       "stages that ran before, and says from which; what no connected worker could run is a warning.",
       {{"locus plan examples/fashion-mnist-priors.yaml", "What the demonstration would run"},
        {"locus plan examples/fashion-mnist-priors.yaml --set 'replicates.seed=[0,1,2,3,4,5]'",
         "What one more seed would add"}}});
  auto choice = std::make_shared<ServerChoice>();
  auto spec = std::make_shared<SpecChoice>();
  add_server_options(command, *choice);
  add_spec_options(command, *spec);
  command.body = [choice, spec] { return run(*choice, *spec); };
}

}  // namespace locus
