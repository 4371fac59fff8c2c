// locus table: the pivot table.
#include <filesystem>
#include <fstream>

#include "cli/command.h"
#include "core/base/error.h"
#include "core/base/invalid.h"

namespace locus {
namespace {

namespace fs = std::filesystem;

struct TableOptions {
  ServerChoice server;
  std::vector<std::string> experiments, rows, columns, metrics, where;
  std::string test = "sign-flip", correction = "holm", spread = "std", format = "text", output, phase;
  double level = 0.95, alpha = 0.05, detect = 0;
  int digits = 2;
  bool differences = false, proposals = false;
};

// METRIC[:SPLIT[:REDUCE]]
void add_metric(const std::string& text, v1::GetPaperTableRequest& request) {
  v1::TableMetric* metric = request.add_metrics();
  const std::size_t first = text.find(':'), second = first == std::string::npos ? first : text.find(':', first + 1);
  metric->set_metric(text.substr(0, first));
  if (first != std::string::npos) metric->set_split(text.substr(first + 1, second - first - 1));
  if (second != std::string::npos) metric->set_reduce(text.substr(second + 1));
}

// AXIS=VALUE; the same axis again admits another value.
absl::Status add_filter(const std::string& text, v1::GetPaperTableRequest& request) {
  const std::size_t equal = text.find('=');
  if (equal == 0 || equal == std::string::npos)
    return invalid("where", "\"" + text + "\" is no filter; write AXIS=VALUE, such as dataset=fashion-mnist");
  const std::string axis = text.substr(0, equal);
  for (v1::TableFilter& known : *request.mutable_where()) {
    if (known.axis() != axis) continue;
    known.add_values(text.substr(equal + 1));
    return absl::OkStatus();
  }
  v1::TableFilter* filter = request.add_where();
  filter->set_axis(axis);
  filter->add_values(text.substr(equal + 1));
  return absl::OkStatus();
}

absl::StatusOr<v1::GetPaperTableRequest> request_of(const TableOptions& options) {
  v1::GetPaperTableRequest out;
  for (const std::string& one : options.experiments) out.add_experiments(one);
  for (const std::string& axis : options.rows) out.add_rows(axis);
  for (const std::string& axis : options.columns) out.add_columns(axis);
  for (const std::string& metric : options.metrics) add_metric(metric, out);
  for (const std::string& filter : options.where) LOCUS_RETURN_IF_ERROR(add_filter(filter, out));
  out.set_test(options.test);
  out.set_correction(options.correction);
  out.set_spread(options.spread);
  out.set_level(options.level);
  out.set_alpha(options.alpha);
  out.set_digits(options.digits);
  out.set_differences(options.differences);
  out.set_detect(options.detect);
  out.set_phase(options.phase);
  out.set_proposals(options.proposals);
  out.set_format(options.server.json ? "json" : options.format);
  return out;
}

// The file appears whole or not at all.
absl::Status write(const std::string& path, const std::string& text) {
  const fs::path part = path + ".part";
  std::ofstream out(part, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  std::error_code error;
  if (out) fs::rename(part, path, error);
  if (out && !error) return absl::OkStatus();
  std::error_code ignored;
  fs::remove(part, ignored);
  return make_error(absl::StatusCode::kPermissionDenied, ErrorReason::kStorageFailed,
                    "cannot write " + path + "; choose another file with --out");
}

absl::StatusOr<int> run(Client& client, const TableOptions& options) {
  LOCUS_ASSIGN_OR_RETURN(const auto request, request_of(options));
  LOCUS_ASSIGN_OR_RETURN(const v1::PaperTable table, client.get_paper_table(request));
  if (options.output.empty()) {
    print(table.rendered());
    return kExitDone;
  }
  LOCUS_RETURN_IF_ERROR(write(options.output, table.rendered()));
  print(options.output + "\n");
  return kExitDone;
}

void add_choices(Command& command, TableOptions& options) {
  const auto list = [&](const char* name, std::vector<std::string>& target, const char* help, const char* type) {
    command.add_option(name, target, help)->type_name(type)->delimiter(',')->one_value_each();
  };
  list("--rows", options.rows, "Axes of the rows (default: every factor that varies and is no column)", "AXIS");
  list("--columns", options.columns, "Axes of the columns: factors, labels such as resolution, experiment, metric",
       "AXIS");
  list("--metric", options.metrics, "A metric; NAME:SPLIT:REDUCE where split or reducer are not the experiment's own",
       "METRIC");
  command.add_option("--where", options.where, "Keep only this value of an axis; again for another")
      ->type_name("AXIS=VALUE")
      ->one_value_each();
  command.add_option("--test", options.test, "What compares a cell with the baseline")
      ->one_of({"sign-flip", "paired-t", "welch"})
      ->type_name("TEST")
      ->show_default();
  command.add_option("--correction", options.correction, "For many comparisons of one metric")
      ->one_of({"holm", "none"})
      ->type_name("NAME")
      ->show_default();
  command.add_option("--spread", options.spread, "Shown after the mean")
      ->one_of({"std", "interval", "none"})
      ->type_name("NAME")
      ->show_default();
  command.add_option("--confidence", options.level, "Of intervals")->type_name("SHARE")->show_default();
  command.add_option("--alpha", options.alpha, "A difference is marked at this p")->type_name("P")->show_default();
  command.add_option("--digits", options.digits, "After the point, 1 to 15")
      ->range(1, 15)
      ->type_name("COUNT")
      ->show_default();
  command.add_flag("--differences", options.differences, "Show the difference from the baseline in every cell too");
  command.add_option("--phase", options.phase, "Phase, of experiments with phases (default: the last)")
      ->type_name("PHASE");
  command.add_flag("--proposals", options.proposals, "Of searches: every proposal, not only the chosen ones");
  command.add_option("--detect", options.detect, "Say how many seeds would show a difference of this size")
      ->type_name("SIZE");
  command.add_option("--format", options.format, "Form of the output")
      ->one_of({"text", "latex", "markdown", "csv", "json", "html"})
      ->type_name("FORMAT")
      ->show_default();
  command.add_option("--out", options.output, "File to write (default: standard output)")->type_name("FILE");
}

}  // namespace

void add_table(Program& app) {
  Command& command = add_command(
      app, {"table",
            kExperimentGroup,
            "Print a pivot table: any factors as rows and columns, with tests against the baseline",
            "Replicates are collapsed by seed, differences paired with the baseline of the same column, p-values "
            "corrected over "
            "the comparisons of one metric. Every format carries the trials of every cell.",
            {{"locus table fashion-mnist-priors --columns resolution", "Priors by resolution"},
             {"locus table fashion-mnist-priors --metric top1 --metric loss:validation --format latex --out "
              "table.tex",
              "Two metrics, for a paper"},
             {"locus table small large --rows prior --columns experiment --where prior=violin --where prior=none",
              "Two experiments side by side"}}});
  auto options = std::make_shared<TableOptions>();
  add_server_options(command, options->server);
  command.add_option("experiments", options->experiments, "Names of experiments")
      ->type_name("EXPERIMENT")
      ->required()
      ->expected(1, 16);
  add_choices(command, *options);
  command.body = [options] {
    return ask_server(options->server, [&](Client& client) { return run(client, *options); });
  };
}

}  // namespace locus
