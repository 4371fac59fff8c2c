// locus leaderboard: the table.
#include "cli/render/leaderboard.h"
#include "cli/command.h"

namespace locus {
namespace {

struct LeaderboardOptions {
  ServerChoice server;
  std::string experiment, metric, split, labels, format = "table";
  bool sweep = false;
};

int run(const LeaderboardOptions& options) {
  const auto client = Client::connect(options.server.server);
  if (!client.ok()) return report_error(client.status(), options.server.json);
  v1::GetTableRequest request;
  request.set_experiment(options.experiment);
  request.set_metric(options.metric);
  request.set_split(options.split);
  request.set_labels(options.labels);
  const auto table = (*client)->get_table(request);
  if (!table.ok()) return report_error(table.status(), options.server.json);
  if (options.server.json) {
    print_json(*table);
  } else if (options.sweep) {
    print(render_sweep_csv(*table));
  } else {
    print(render_leaderboard(*table, *parse_table_format(options.format)));
  }
  return kExitDone;
}

}  // namespace

void add_leaderboard(CLI::App& app, int& status) {
  auto options = std::make_shared<LeaderboardOptions>();
  CLI::App* command = app.add_subcommand(
      "leaderboard", "Print the table: means, paired differences from the baseline, exact tests");
  add_server_options(*command, options->server);
  command->add_option("experiment", options->experiment, "Name of the experiment")->required();
  command->add_option("--metric", options->metric, "Metric (default: the experiment's own)");
  command->add_option("--split", options->split, "Split (default: the one the experiment reports)");
  command->add_option("--labels", options->labels, "Labels of the results, as JSON: {\"resolution\":42}");
  command->add_option("--format", options->format, "Form of the output")
      ->check(CLI::IsMember({"table", "csv", "markdown", "latex"}))
      ->capture_default_str();
  command->add_flag("--sweep-csv", options->sweep, "Print the sweep over labels as CSV instead");
  command->callback([options, &status] { status = run(*options); });
}

}  // namespace locus
