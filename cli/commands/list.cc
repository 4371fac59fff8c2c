// locus list: the experiments, or the trials of one.
#include <algorithm>

#include "cli/command.h"
#include "cli/pages.h"
#include "cli/render/listings.h"
#include "core/base/error.h"

namespace locus {
namespace {

struct ListOptions {
  ServerChoice server;
  std::string experiment, state;
  std::vector<std::string> tags;
  int limit = 0;
  bool quiet = false;
};

template <class Items, class Name>
void keep(Items& items, const ListOptions& options, Name name) {
  const auto unwanted = [&](const auto& one) { return !options.state.empty() && one.state() != options.state; };
  items.erase(std::remove_if(items.begin(), items.end(), unwanted), items.end());
  if (options.limit > 0 && items.size() > options.limit)
    items.DeleteSubrange(options.limit, items.size() - options.limit);
  if (!options.quiet) return;
  for (const auto& one : items) print(name(one) + "\n");
}

absl::StatusOr<int> list_trials(Client& client, const ListOptions& options) {
  LOCUS_ASSIGN_OR_RETURN(v1::ListTrialsResponse all, all_trials(client, options.experiment, options.tags));
  keep(*all.mutable_trials(), options, [](const v1::Trial& one) { return one.name(); });
  if (options.quiet) return kExitDone;
  options.server.json ? print_json(all) : print(render_trials(all, {terminal().color}));
  return kExitDone;
}

absl::StatusOr<int> list_experiments(Client& client, const ListOptions& options) {
  LOCUS_ASSIGN_OR_RETURN(v1::ListExperimentsResponse all, all_experiments(client, options.tags));
  keep(*all.mutable_experiments(), options, [](const v1::Experiment& one) { return one.name(); });
  if (options.quiet) return kExitDone;
  options.server.json ? print_json(all) : print(render_experiments(all, {terminal().color}));
  return kExitDone;
}

}  // namespace

void add_list(Program& app) {
  Command& command =
      add_command(app, {"list",
                        kExperimentGroup,
                        "List the experiments, newest first, or the trials of one",
                        "",
                        {{"locus list", "All experiments"},
                         {"locus list fashion-mnist-priors --state failed", "The trials that failed, with the reasons"},
                         {"locus list --tag paper", "What was tagged for it: see `locus tag`"},
                         {"locus list --state active --quiet", "Names alone, for scripts"}}});
  auto options = std::make_shared<ListOptions>();
  add_server_options(command, options->server);
  command.add_option("experiment", options->experiment, "Name of an experiment, for its trials")->type_name("");
  command
      .add_option("--state", options->state, "Only what is in this state, such as active, completed, failed or queued")
      ->type_name("STATE");
  command.add_option("--tag", options->tags, "Only what has this tag (repeatable: has them all)")
      ->type_name("TAG")
      ->one_value_each();
  command.add_option("--limit", options->limit, "At most so many")->type_name("COUNT")->range(1, 100'000);
  command.add_flag("--quiet", options->quiet, "Names alone, one a line");
  command.body = [options] {
    return ask_server(options->server, [&](Client& client) {
      return options->experiment.empty() ? list_experiments(client, *options) : list_trials(client, *options);
    });
  };
}

}  // namespace locus
