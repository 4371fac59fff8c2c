// locus compare: trials or cells side by side.
#include "cli/command.h"
#include "cli/render/reports.h"
#include "core/base/error.h"

namespace locus {
namespace {

struct CompareOptions {
  ServerChoice server;
  std::vector<std::string> items;
  std::string metric, split, labels;
  bool all = false;
};

absl::StatusOr<int> run(Client& client, const CompareOptions& options) {
  v1::CompareRequest request;
  for (const std::string& item : options.items) request.add_items(item);
  request.set_metric(options.metric);
  request.set_split(options.split);
  request.set_labels(options.labels);
  LOCUS_ASSIGN_OR_RETURN(const v1::Comparison answer, client.compare(request));
  options.server.json ? print_json(answer) : print(render_comparison(answer, options.all));
  return kExitDone;
}

}  // namespace

void add_compare(Program& app) {
  Command& command =
      add_command(app, {"compare",
                        kExperimentGroup,
                        "Put trials or cells side by side: what differs, results, paired differences",
                        "An item is a trial, EXPERIMENT/NUMBER, or a cell with all its seeds, "
                        "EXPERIMENT/cells/NUMBER; they may come from "
                        "different experiments. Differences are taken from the first item, by seed.",
                        {{"locus compare fashion-mnist-priors/0 fashion-mnist-priors/7", "Two trials"},
                         {"locus compare fashion-mnist-priors/cells/1 fashion-mnist-priors/cells/4 --all",
                          "Two cells, equal settings too"}}});
  auto options = std::make_shared<CompareOptions>();
  add_server_options(command, options->server);
  command.add_option("trials", options->items, "Two to sixteen trials or cells")
      ->type_name("")
      ->required()
      ->expected(2, 16);
  command.add_option("--metric", options->metric, "Metric (default: the first item's experiment's own)")
      ->type_name("METRIC");
  command.add_option("--split", options->split, "Split (default: the one that experiment reports)")->type_name("SPLIT");
  command.add_option("--labels", options->labels, "Labels of the results, as in {\"resolution\":42}")
      ->type_name("JSON");
  command.add_flag("--all", options->all, "Show settings that are equal everywhere, too");
  command.body = [options] {
    return ask_server(options->server, [&](Client& client) { return run(client, *options); });
  };
}

}  // namespace locus
