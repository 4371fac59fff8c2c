// locus show: an experiment or one of its trials.
#include "cli/command.h"
#include "cli/pages.h"
#include "cli/render/listings.h"
#include "core/base/error.h"

namespace locus {
namespace {

absl::StatusOr<int> show_trial(Client& client, const std::string& name, bool json) {
  v1::GetTrialRequest request;
  request.set_name(name);
  LOCUS_ASSIGN_OR_RETURN(const v1::TrialDetail detail, client.get_trial(request));
  json ? print_json(detail) : print(render_trial(detail, {terminal().color}));
  return kExitDone;
}

absl::StatusOr<int> show_experiment(Client& client, const std::string& name, bool json) {
  v1::GetExperimentRequest request;
  request.set_name(name);
  LOCUS_ASSIGN_OR_RETURN(const v1::Experiment experiment, client.get_experiment(request));
  if (json) {
    print_json(experiment);
    return kExitDone;
  }
  LOCUS_ASSIGN_OR_RETURN(const v1::ListTrialsResponse trials, all_trials(client, name));
  print(render_experiment(experiment, trials, {terminal().color}));
  return kExitDone;
}

}  // namespace

void add_show(Program& app) {
  Command& command = add_command(app, {"show",
                                       kExperimentGroup,
                                       "Show an experiment with its trials, or one trial in full",
                                       "A trial is shown with the configuration of each stage, its attempts "
                                       "with their reasons, its results and its "
                                       "checkpoints.",
                                       {{"locus show fashion-mnist-priors", "Every trial with its state"},
                                        {"locus show fashion-mnist-priors/17", "One trial in full"}}});
  auto choice = std::make_shared<ServerChoice>();
  auto name = std::make_shared<std::string>();
  add_server_options(command, *choice);
  command.add_option("name", *name, "EXPERIMENT or EXPERIMENT/NUMBER")->type_name("")->required();
  command.body = [choice, name] {
    return ask_server(*choice, [&](Client& client) {
      return name->find('/') == std::string::npos ? show_experiment(client, *name, choice->json)
                                                  : show_trial(client, *name, choice->json);
    });
  };
}

}  // namespace locus
