// Reads what the pivot table is computed from.
#include "server/analysis/pivot_source.h"
#include "core/experiment/series_labels.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/analysis/question.h"
#include "core/analysis/reduce.h"
#include "core/analysis/tuned.h"
#include "core/base/error.h"
#include "core/base/invalid.h"
#include "server/analysis/shown_cells.h"
#include "server/wire/convert.h"

namespace locus::server {
namespace {

constexpr int kExperimentsMost = 16, kMetricsMost = 16;
constexpr char kBest[] = "best";

// Whether a table asks for the proposals themselves: outright, or by a path of the space.
bool wants_proposals(const v1::GetPaperTableRequest& request, const OutlineSearch& search) {
  const auto named = [&](const std::string& axis) {
    return std::find(search.space.begin(), search.space.end(), axis) != search.space.end();
  };
  return request.proposals() || std::any_of(request.rows().begin(), request.rows().end(), named) ||
         std::any_of(request.columns().begin(), request.columns().end(), named) ||
         std::any_of(request.where().begin(), request.where().end(),
                     [&](const v1::TableFilter& filter) { return named(filter.axis()); });
}

// Takes the cells of other phases away, and of a search those that do not stand for their group: the leaderboard's choice.
absl::Status narrow(Store& store, OutlineCache& outlines, const ExperimentRow& row,
                    const v1::GetPaperTableRequest& request, PivotSource& out) {
  if (out.outline->search) {
    LOCUS_ASSIGN_OR_RETURN(LeaderboardSource source, read_leaderboard_source(store, outlines, row, request.phase()));
    ShownCells shown = shown_cells(source, wants_proposals(request, *out.outline->search));
    out.standing = std::move(source.standing);
    out.one_row_a_group = shown.one_row_a_group;
    out.outline = std::make_shared<const Outline>(std::move(shown.outline));
  }
  out.chosen_by = chosen_by(*out.outline, out.one_row_a_group);
  if (!out.one_row_a_group && out.outline->phases.empty()) return absl::OkStatus();
  std::erase_if(out.cells, [&](const CellRow& cell) { return !out.outline->places.contains(cell.row_key); });
  if (!out.one_row_a_group) return absl::OkStatus();
  for (CellRow& cell : out.cells) {  // the paths of the space are tuned: no setting that cells are told apart by
    Json assignment = Json::parse(cell.assignment_json, nullptr, /*allow_exceptions=*/false);
    for (const std::string& path : out.outline->search->space) assignment.erase(path);
    cell.assignment_json = canonical_json(assignment);
  }
  return absl::OkStatus();
}

absl::StatusOr<PivotSource> read_outline(Store& store, OutlineCache& outlines, const std::string& name,
                                         const v1::GetPaperTableRequest& request) {
  LOCUS_ASSIGN_OR_RETURN(const ExperimentRow row, store.experiment(name));
  PivotSource out;
  out.name = row.name;
  LOCUS_ASSIGN_OR_RETURN(out.outline, outlines.get(row, request.phase()));
  LOCUS_ASSIGN_OR_RETURN(out.cells, store.cells(row.id));
  LOCUS_RETURN_IF_ERROR(narrow(store, outlines, row, request, out));
  LOCUS_ASSIGN_OR_RETURN(out.briefs, store.briefs(row.id));
  const auto& stages = out.briefs.stages;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (out.trials.empty() || out.trials.back().ordinal != stages[i].trial)
      out.trials.push_back({stages[i].trial, stages[i].cell, stages[i].seed, i, i, false});
    out.trials.back().last = i + 1;
    out.trials.back().failed |= stages[i].state == StageState::kFailed || stages[i].state == StageState::kHeld;
  }
  return out;
}

// One metric as asked for, completed from the first experiment's contract.
absl::StatusOr<PivotMetric> complete(const Outline& outline, const v1::TableMetric& asked) {
  const MetricContract& contract = outline.metric;
  PivotMetric out;
  out.metric = asked.metric().empty() ? contract.name : asked.metric();
  out.split = asked.split().empty() ? contract.reports : asked.split();
  out.reduce = asked.reduce().empty() ? default_reduce(contract, out.metric, out.split) : asked.reduce();
  const MetricFacts facts = metric_facts(outline, out.metric);
  out.unit = facts.unit;
  out.direction = facts.direction;
  if (!asked.labels().empty()) {
    LOCUS_ASSIGN_OR_RETURN(out.labels, canonical_labels(asked.labels(), "metrics.labels"));
  }
  LOCUS_RETURN_IF_ERROR(parse_reduction(out.reduce, out.split, "metrics.reduce").status());
  return out;
}

// "top1", with as much added as it takes to tell the columns apart.
void add_titles(const Outline& first, std::vector<PivotMetric>& metrics) {
  for (PivotMetric& one : metrics) {
    one.title = one.metric;
    if (!one.split.empty() && one.split != first.metric.reports) one.title += " (" + one.split + ")";
    if (one.reduce != default_reduce(first.metric, one.metric, one.split)) one.title += " " + one.reduce;
    if (!one.labels.empty()) one.title += " " + one.labels;
  }
}

// A metric or split that is neither declared nor measured: a slip, not a table without numbers.
absl::Status check_known(Store& store, const std::vector<PivotSource>& sources, const PivotMetric& metric,
                         std::size_t index) {
  for (const PivotSource& source : sources) {
    if (!source.metrics[index].label_sets.empty()) return absl::OkStatus();
  }
  KnownNames known;
  for (const PivotSource& source : sources) {
    known.add(*source.outline);
    LOCUS_ASSIGN_OR_RETURN(const ExperimentRow row, store.experiment(source.name));
    LOCUS_ASSIGN_OR_RETURN(const auto results, store.results(row.id));
    for (const ResultView& one : results) known.add(one.result.key);
  }
  LOCUS_RETURN_IF_ERROR(known.check_metric(metric.metric, "metrics"));
  LOCUS_RETURN_IF_ERROR(known.check_split(metric.metric, metric.split, "metrics"));
  return metric.labels.empty() ? absl::OkStatus()
                               : known.check_labels({metric.metric, metric.split, metric.labels}, "metrics.labels");
}

// The best model's test asked for where no stage makes it: a slip likewise.
absl::Status check_best_tested(const std::vector<PivotSource>& sources, const PivotMetric& metric) {
  const bool possible = std::any_of(sources.begin(), sources.end(), [](const PivotSource& source) {
    return !source.metrics.back().label_sets.empty() || source.outline->metric.reduce == kBest;
  });
  if (metric.split != "test" || possible) return absl::OkStatus();
  return invalid("metrics.reduce",
                 "no stage of these experiments tested the model that validated best; submit them with metric: "
                 "{reduce: best}, or with an evaluation more: stages: [{evaluate: {checkpoint: best}}]");
}

// Costs are recorded under the split that trains or under none, whatever the contract reports.
void settle_split(const std::vector<ResultView>& results, bool asked, PivotMetric& metric) {
  if (asked || results.empty()) return;
  std::set<std::string> splits;
  for (const ResultView& one : results) splits.insert(one.result.key.split);
  if (!splits.contains(metric.split) && splits.size() == 1) metric.split = *splits.begin();
}

MetricValues arrange(const std::vector<ResultView>& results, const PivotMetric& metric) {
  MetricValues out;
  std::map<std::string, int> sets;
  for (std::size_t i = 0; i < results.size();) {
    std::size_t end = i;  // results of one stage and label set stand together, a reducer each
    const Result& first = results[i].result;
    const Result* chosen = nullptr;
    while (end < results.size() && results[end].stage_id == results[i].stage_id &&
           results[end].result.key == first.key) {
      if (results[end].result.reducer == metric.reduce) chosen = &results[end].result;
      ++end;
    }
    if (chosen == nullptr && end == i + 1 && serves(metric.reduce, first.reducer, /*lone=*/true)) chosen = &first;
    const bool fits = first.key.split == metric.split && (metric.labels.empty() || metric.labels == first.key.labels);
    if (chosen != nullptr && fits) {
      const auto [at, fresh] = sets.emplace(first.key.labels, static_cast<int>(sets.size()));
      if (fresh) out.label_sets.push_back(first.key.labels);
      out.by_stage[results[i].stage_id].emplace_back(at->second, chosen->value);
    }
    i = end;
  }
  return out;
}

}  // namespace

absl::Status check_size(const v1::GetPaperTableRequest& request) {
  if (request.experiments_size() < 1 || request.experiments_size() > kExperimentsMost) {
    return invalid("experiments", "give 1 to " + std::to_string(kExperimentsMost) + " experiments, not " +
                                      std::to_string(request.experiments_size()));
  }
  if (request.metrics_size() > kMetricsMost)
    return invalid("metrics", "give at most " + std::to_string(kMetricsMost) + " metrics");
  return absl::OkStatus();
}

absl::StatusOr<PivotSources> read_pivot_sources(Store& store, OutlineCache& outlines,
                                                const v1::GetPaperTableRequest& request) {
  LOCUS_RETURN_IF_ERROR(check_size(request));
  PivotSources out;
  for (const std::string& name : request.experiments()) {
    for (const PivotSource& known : out.experiments) {
      if (known.name == name) return invalid("experiments", "\"" + name + "\" is named twice");
    }
    LOCUS_ASSIGN_OR_RETURN(PivotSource source, read_outline(store, outlines, name, request));
    out.experiments.push_back(std::move(source));
  }
  const int metrics = std::max(1, request.metrics_size());
  for (int i = 0; i < metrics; ++i) {
    const v1::TableMetric asked = i < request.metrics_size() ? request.metrics(i) : v1::TableMetric();
    LOCUS_ASSIGN_OR_RETURN(PivotMetric metric, complete(*out.experiments.front().outline, asked));
    std::vector<std::vector<ResultView>> results;
    for (PivotSource& source : out.experiments) {
      LOCUS_ASSIGN_OR_RETURN(const ExperimentRow row, store.experiment(source.name));
      LOCUS_ASSIGN_OR_RETURN(auto found, store.results(row.id, metric.metric));
      settle_split(found, !asked.split().empty(), metric);
      if (asked.reduce().empty())
        metric.reduce = default_reduce(out.experiments.front().outline->metric, metric.metric, metric.split);
      LOCUS_ASSIGN_OR_RETURN(const Reduction reduction, parse_reduction(metric.reduce, metric.split, "metrics.reduce"));
      LOCUS_RETURN_IF_ERROR(add_reduced(store, source.briefs, reduction, {metric.metric, metric.split, "{}"},
                                        source.outline->metric.selects_on, metric.direction != "min", found));
      results.push_back(std::move(found));
    }
    for (std::size_t s = 0; s < results.size(); ++s) out.experiments[s].metrics.push_back(arrange(results[s], metric));
    LOCUS_RETURN_IF_ERROR(check_known(store, out.experiments, metric, static_cast<std::size_t>(i)));
    if (asked.reduce() == kBest) LOCUS_RETURN_IF_ERROR(check_best_tested(out.experiments, metric));
    out.metrics.push_back(std::move(metric));
  }
  add_titles(*out.experiments.front().outline, out.metrics);
  return out;
}

}  // namespace locus::server
