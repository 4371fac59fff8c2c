// locus claims: numbers printed in papers, beside what was measured.
#include "cli/render/claims.h"
#include "cli/command.h"
#include "core/base/error.h"

namespace locus {
namespace {

struct ClaimsOptions {
  ServerChoice server;
  std::string paper, experiment, table;
  bool all = false;
};

absl::StatusOr<int> run(Client& client, const ClaimsOptions& options) {
  const bool beside = !options.experiment.empty();
  const bool counted = beside && options.table.empty() && !options.all;
  v1::ListClaimsRequest request;
  request.set_paper(options.paper);
  request.set_experiment(options.experiment);
  request.set_table(options.table);
  request.set_summary(counted);
  request.set_matched(beside && !counted);
  LOCUS_ASSIGN_OR_RETURN(const v1::ListClaimsResponse answer, client.list_claims(request));
  const bool overview = options.paper.empty() && options.table.empty() && !options.all;
  if (options.server.json) {
    print_json(answer);
  } else if (counted) {
    print(render_claims_summary(answer, options.experiment));
  } else if (overview) {
    print(render_papers(answer));
  } else if (answer.tables_size() == 0) {
    print("No cell of " + options.experiment +
          " has the priors and the task of a number printed there; `locus claims PAPER` shows what is printed.\n");
  } else {
    print(render_claims(answer));
  }
  return kExitDone;
}

}  // namespace

void add_claims(Program& app) {
  Command& command = add_command(
      app, {"claims",
            kExperimentGroup,
            "Print what papers claim, beside what an experiment measured",
            "Without a paper the papers are listed. With an experiment the numbers are counted by "
            "what it says of them: those it agrees with, contradicts or leaves undecided by the 95 % "
            "interval of its paired difference, and those that are not comparable, with the reasons; "
            "by paper, or by table of one paper. --table and --all show every number that one of its "
            "cells is about, with what was measured and what else differs between the two settings.",
            {{"locus claims", "The papers there are"},
             {"locus claims violin --table 'Table 5'", "A table as printed, with its setting"},
             {"locus claims --experiment fashion-mnist-priors",
              "What the experiment says of every paper's claims, in counts"},
             {"locus claims violin --experiment fashion-mnist-priors --table 'Table 12'", "Number by number"}}});
  auto options = std::make_shared<ClaimsOptions>();
  add_server_options(command, options->server);
  command.add_option("paper", options->paper, "Paper, by its id (default: all)")->type_name("");
  command.add_option("--experiment", options->experiment, "Experiment whose measurements are set beside the numbers")
      ->type_name("EXPERIMENT");
  command.add_option("--table", options->table, "One table, as in 'Table 2'")->type_name("TABLE");
  command.add_flag("--all", options->all, "Every table, not the counts");
  command.body = [options] {
    return ask_server(options->server, [&](Client& client) { return run(client, *options); });
  };
}

}  // namespace locus
