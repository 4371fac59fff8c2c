// locus plan: what a specification would run.
#include "cli/command.h"
#include "cli/render/listings.h"
#include "core/base/error.h"

namespace locus {
namespace {

int run(const ServerChoice& choice, const SpecChoice& wanted) {
  const auto spec = read_spec(wanted);
  if (!spec.ok()) return report_error(spec.status(), choice.json);
  const auto client = Client::connect(choice.server);
  if (!client.ok()) return report_error(client.status(), choice.json);
  v1::PlanExperimentRequest request;
  request.set_spec_json(spec->text());
  const auto plan = (*client)->plan_experiment(request);
  if (!plan.ok()) return report_error(plan.status(), choice.json, &*spec);
  choice.json ? print_json(*plan) : print(render_plan(*plan));
  return kExitDone;
}

}  // namespace

void add_plan(CLI::App& app, int& status) {
  auto choice = std::make_shared<ServerChoice>();
  auto spec = std::make_shared<SpecChoice>();
  CLI::App* command =
      app.add_subcommand("plan", "Say what a specification would run: cells, trials, stages done and to run");
  add_server_options(*command, *choice);
  add_spec_options(*command, *spec);
  command->callback([choice, spec, &status] { status = run(*choice, *spec); });
}

}  // namespace locus
