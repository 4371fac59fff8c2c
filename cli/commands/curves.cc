// locus curves: the points of a metric, for programs that draw.
#include "cli/render/curves.h"
#include "cli/command.h"
#include "core/base/error.h"

namespace locus {
namespace {

struct CurvesOptions {
  ServerChoice server;
  std::string name, metric, split, labels;
  int points = 10'000;
  bool means = false;
};

std::string shown(const std::string& metric, const std::string& split, const std::string& labels) {
  return metric + " on " + split + (labels.empty() || labels == "{}" ? "" : " " + labels);
}

// Nothing under this key: which there are.
absl::Status none_of(const v1::Curves& curves, const std::string& experiment) {
  std::string list;
  for (const v1::SeriesKey& key : curves.available())
    list += (list.empty() ? "" : ", ") + shown(key.metric(), key.split(), key.labels());
  return make_error(absl::StatusCode::kNotFound, ErrorReason::kSeriesNotFound,
                    experiment + " has no points of " + shown(curves.metric(), curves.split(), curves.labels()) +
                        (list.empty() ? "; none of its trials has any yet" : "; it has: " + list),
                    "metric", {{"metric", curves.metric()}, {"split", curves.split()}});
}

absl::StatusOr<int> run(Client& client, const CurvesOptions& options) {
  const auto [experiment, trial] = split_trial(options.name);
  if (options.name.find('/') != std::string::npos) {
    v1::GetTrialRequest known;  // refuses what is no trial
    known.set_name(options.name);
    LOCUS_RETURN_IF_ERROR(client.get_trial(known).status());
  }
  v1::GetExperimentRequest about;
  about.set_name(experiment);
  LOCUS_ASSIGN_OR_RETURN(const v1::Experiment found, client.get_experiment(about));
  v1::GetCurvesRequest request;
  request.set_experiment(experiment);
  request.set_metric(options.metric.empty() ? found.primary_metric() : options.metric);
  request.set_split(options.split);
  request.set_labels(options.labels);
  request.set_max_points(options.points);
  request.set_means_only(options.means && trial < 0);
  LOCUS_ASSIGN_OR_RETURN(v1::Curves curves, client.get_curves(request));
  if (curves.cells().empty() && curves.trials().empty()) return none_of(curves, experiment);
  if (trial >= 0) keep_trial(trial, curves);
  if (options.server.json) {
    print_json(curves);
    return kExitDone;
  }
  print(options.means && trial < 0 ? render_mean_curves_csv(curves) : render_curves_csv(curves));
  if (!options.means && thinned(curves))
    std::fprintf(stderr, "some curves are thinned to their ends and extremes; one trial alone has more points\n");
  return kExitDone;
}

}  // namespace

void add_curves(Program& app) {
  Command& command = add_command(
      app, {"curves",
            kExperimentGroup,
            "Print the points of a metric as CSV: of every trial, of one, or the means over the seeds",
            "One row a point, with its step, epoch, images and seconds of training so far. Where there are more "
            "points than --points, each curve keeps its ends and extremes.",
            {{"locus curves fashion-mnist-priors --metric loss --split train", "Every trial's training loss"},
             {"locus curves fashion-mnist-priors/3 --metric top1", "One trial's validations"},
             {"locus curves fashion-mnist-priors --metric top1 --means",
              "Mean, deviation and number of seeds of every cell"}}});
  auto options = std::make_shared<CurvesOptions>();
  add_server_options(command, options->server);
  command.add_option("name", options->name, "EXPERIMENT or EXPERIMENT/NUMBER")->type_name("")->required();
  command.add_option("--metric", options->metric, "Metric (default: the experiment's own)")->type_name("METRIC");
  options->split = "validation";
  command.add_option("--split", options->split, "Split")->type_name("SPLIT")->show_default();
  command.add_option("--labels", options->labels, "Labels of the series, as in {\"resolution\":42}")->type_name("JSON");
  command.add_option("--points", options->points, "Points of a curve, at most")
      ->type_name("COUNT")
      ->range(8, 10'000)
      ->show_default();
  command.add_flag("--means", options->means, "Means over the seeds of each cell instead of single trials");
  command.body = [options] {
    return ask_server(options->server, [&](Client& client) { return run(client, *options); });
  };
}

}  // namespace locus
