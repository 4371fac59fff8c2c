// The results that a list of trials carries beside each.
#include "server/application/trial_values.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/error.h"
#include "core/statistics/samples.h"

namespace locus::server {
namespace {

constexpr int kMetricsMost = 16;

// "METRIC/SPLIT/LABELS" with the ends left out; labels may hold slashes.
v1::GetTableRequest question(const std::string& experiment, std::string_view metric) {
  const auto cut = [&metric] {
    const std::string_view part = metric.substr(0, metric.find('/'));
    metric.remove_prefix(std::min(metric.size(), part.size() + 1));
    return std::string(part);
  };
  v1::GetTableRequest out;
  out.set_experiment(experiment);
  out.set_metric(cut());
  out.set_split(cut());
  out.set_labels(std::string(metric));
  return out;
}

void add_column(const v1::Table& table, v1::ListTrialsResponse* out) {
  auto* column = out->add_columns();
  column->mutable_key()->set_metric(table.metric());
  column->mutable_key()->set_split(table.split());
  column->mutable_key()->set_labels(table.labels());
  column->set_unit(table.unit());
  column->set_direction(table.direction());
  column->set_reduce(table.reduce());
  column->set_selects_on(table.selects_on());
  std::unordered_map<std::string_view, double> values;  // by the trial's name
  for (const v1::TableRow& row : table.rows()) {
    for (const v1::SeedValue& value : row.values()) values[value.trial()] = value.value();
  }
  for (v1::Trial& trial : *out->mutable_trials()) {
    const auto found = values.find(trial.name());
    trial.add_values(found == values.end() ? kUndefined : found->second);
  }
}

}  // namespace

absl::Status fill_values(Leaderboards& leaderboards, const ExperimentRow& row, const StageCounts& counts,
                         const v1::ListTrialsRequest& request, v1::ListTrialsResponse* out) {
  if (request.metrics_size() > kMetricsMost)
    return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
                      "a list of trials carries at most " + std::to_string(kMetricsMost) + " metrics, not " +
                          std::to_string(request.metrics_size()),
                      "metrics");
  std::vector<std::string> metrics(request.metrics().begin(), request.metrics().end());
  if (metrics.empty()) metrics.emplace_back();  // what the experiment reports
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    const auto table = leaderboards.of(row, counts, question(row.name, metrics[i]));
    // A list that nobody asked values of is no place to learn that there can be none.
    if (!table.ok()) return request.metrics().empty() ? absl::OkStatus() : table.status();
    add_column(**table, out);
    if (i == 0) *out->mutable_available() = (*table)->available();
  }
  return absl::OkStatus();
}

}  // namespace locus::server
