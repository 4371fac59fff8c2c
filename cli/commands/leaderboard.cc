// locus leaderboard: the table.
#include "cli/render/leaderboard.h"
#include "cli/command.h"
#include "core/base/error.h"

namespace locus {
namespace {

struct LeaderboardOptions {
  ServerChoice server;
  std::string experiment, metric, split, labels, phase, format = "table";
  bool sweep = false, proposals = false;
};

absl::StatusOr<int> run(Client& client, const LeaderboardOptions& options) {
  v1::GetTableRequest request;
  request.set_experiment(options.experiment);
  request.set_metric(options.metric);
  request.set_split(options.split);
  request.set_labels(options.labels);
  request.set_phase(options.phase);
  request.set_proposals(options.proposals);
  LOCUS_ASSIGN_OR_RETURN(const v1::Table table, client.get_table(request));
  if (options.server.json) {
    print_json(table);
  } else if (options.sweep) {
    print(render_sweep_csv(table));
  } else {
    print(render_leaderboard(table, *parse_table_format(options.format)));
  }
  return kExitDone;
}

}  // namespace

void add_leaderboard(Program& app) {
  Command& command = add_command(
      app, {"leaderboard",
            kExperimentGroup,
            "Print the table: means, paired differences from the baseline, exact tests",
            "Best first. Differences are paired by seed; beside each p-value stands the lowest that many "
            "pairs can reach. "
            "Missing seeds are named, never averaged away.",
            {{"locus leaderboard fashion-mnist-priors", "The table of the experiment's own metric"},
             {"locus leaderboard fashion-mnist-priors --metric loss --split validation", "Another metric"},
             {"locus leaderboard tuned-priors --phase tune --proposals", "Every setting that a search tried"},
             {"locus leaderboard fashion-mnist-priors --labels '{\"resolution\":42}' --format latex",
              "At another resolution, for a paper"}}});
  auto options = std::make_shared<LeaderboardOptions>();
  add_server_options(command, options->server);
  add_experiment(command, options->experiment);
  command.add_option("--metric", options->metric, "Metric (default: the experiment's own)")->type_name("METRIC");
  command.add_option("--split", options->split, "Split (default: the one the experiment reports)")->type_name("SPLIT");
  command.add_option("--labels", options->labels, "Labels of the results, as in {\"resolution\":42}")
      ->type_name("JSON");
  command.add_option("--phase", options->phase, "Phase, of an experiment with phases (default: the last)")
      ->type_name("PHASE");
  command.add_flag("--proposals", options->proposals, "Of a search: every proposal, not only the chosen ones");
  command.add_option("--format", options->format, "Form of the output")
      ->type_name("FORMAT")
      ->one_of({"table", "csv", "markdown", "latex"})
      ->show_default();
  command.add_flag("--sweep-csv", options->sweep, "Print the sweep over labels as CSV instead");
  command.body = [options] {
    return ask_server(options->server, [&](Client& client) { return run(client, *options); });
  };
}

}  // namespace locus
