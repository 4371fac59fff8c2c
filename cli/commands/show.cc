// locus show: all experiments, one of them, or one trial.
#include "cli/command.h"
#include "cli/render/listings.h"
#include "core/base/error.h"
#include "core/limits.h"

namespace locus {
namespace {

int show_trial(Client& client, const ServerChoice& choice, const std::string& name) {
  v1::GetTrialRequest request;
  request.set_name(name);
  const auto detail = client.get_trial(request);
  if (!detail.ok()) return report_error(detail.status(), choice.json);
  choice.json ? print_json(*detail) : print(render_trial(*detail));
  return kExitDone;
}

int show_experiment(Client& client, const ServerChoice& choice, const std::string& name) {
  v1::GetExperimentRequest request;
  request.set_name(name);
  const auto experiment = client.get_experiment(request);
  if (!experiment.ok()) return report_error(experiment.status(), choice.json);
  if (choice.json) {
    print_json(*experiment);
    return kExitDone;
  }
  v1::ListTrialsResponse all;
  v1::ListTrialsRequest page;
  page.set_experiment(name);
  page.set_page_size(kPageSizeMost);
  do {
    const auto trials = client.list_trials(page);
    if (!trials.ok()) return report_error(trials.status(), choice.json);
    all.mutable_trials()->MergeFrom(trials->trials());
    page.set_page_token(trials->next_page_token());
  } while (!page.page_token().empty());
  print(render_experiment(*experiment, all));
  return kExitDone;
}

int show_all(Client& client, const ServerChoice& choice) {
  v1::ListExperimentsRequest page;
  page.set_page_size(kPageSizeMost);
  v1::ListExperimentsResponse all;
  do {
    const auto experiments = client.list_experiments(page);
    if (!experiments.ok()) return report_error(experiments.status(), choice.json);
    all.mutable_experiments()->MergeFrom(experiments->experiments());
    all.set_attempts_started(experiments->attempts_started());
    page.set_page_token(experiments->next_page_token());
  } while (!page.page_token().empty());
  choice.json ? print_json(all) : print(render_experiments(all));
  return kExitDone;
}

int run(const ServerChoice& choice, const std::string& what) {
  const auto client = Client::connect(choice.server);
  if (!client.ok()) return report_error(client.status(), choice.json);
  if (what.empty()) return show_all(**client, choice);
  return what.find('/') == std::string::npos ? show_experiment(**client, choice, what)
                                             : show_trial(**client, choice, what);
}

}  // namespace

void add_show(CLI::App& app, int& status) {
  auto choice = std::make_shared<ServerChoice>();
  auto what = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("show", "List the experiments, or show one, or one of its trials in full");
  add_server_options(*command, *choice);
  command->add_option("name", *what, "EXPERIMENT or EXPERIMENT/TRIAL; nothing for all experiments");
  command->callback([choice, what, &status] { status = run(*choice, *what); });
}

}  // namespace locus
