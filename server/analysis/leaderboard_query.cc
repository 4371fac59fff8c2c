// The leaderboard of an experiment.
#include "server/analysis/leaderboard_query.h"

#include <algorithm>
#include <cmath>

#include "core/analysis/comparability.h"
#include "core/analysis/extension.h"
#include "core/analysis/measurements.h"
#include "core/analysis/question.h"
#include "core/analysis/reduce.h"
#include "core/analysis/tuned.h"
#include "core/base/error.h"
#include "core/statistics/leaderboard.h"
#include "server/analysis/looks.h"
#include "server/analysis/shown_cells.h"
#include "server/wire/convert.h"

namespace locus::server {
namespace {

using TrialsByCell = std::map<std::string, std::vector<const TrialView*>>;  // by row key, unretired

TrialsByCell group_trials(const LeaderboardSource& source) {
  std::map<std::int64_t, std::string> keys;
  for (const CellRow& cell : source.cells) keys[cell.ordinal] = cell.row_key;
  TrialsByCell out;
  for (const TrialView& trial : source.trials) {
    if (!trial.trial.retired) out[keys[trial.trial.cell]].push_back(&trial);
  }
  return out;
}

double mean_of(const std::vector<double>& values) { return values.empty() ? kUndefined : sample_mean(values); }

// What training costs: a property of the stage that trains, recorded under its split or under none.
std::optional<double> cost(const TrialView& trial, const ResultsByStage& results, const std::string& metric) {
  if (const auto value = measured_any_labels(trial, results, metric, "train", "last")) return value;
  return measured_any_labels(trial, results, metric, "", "last");
}

LeaderboardCell make_cell(const OutlineCell& outline, std::int64_t ordinal, const std::vector<const TrialView*>& trials,
                          const LeaderboardSource& source, const Question& question) {
  LeaderboardCell cell;
  cell.cell = ordinal;
  cell.label = outline.label;
  cell.assignment_json = outline.assignment_json;
  cell.baseline = outline.baseline;
  cell.pair_group = outline.pair_group;
  const MetricContract& contract = source.outline.metric;
  std::vector<double> selection;
  for (const TrialView* trial : trials) {
    if (const auto value = measured(*trial, source.results, question.key, question.reducer)) {
      cell.values.push_back({trial->trial.seed, *value, trial->trial.ordinal});
    }
    if (const auto value = cost(*trial, source.results, "parameters")) {
      if (std::isfinite(*value)) cell.parameters = std::llround(*value);
    }
    if (const auto value = cost(*trial, source.results, "ms_per_step")) {
      cell.ms_per_step.push_back(*value);
    }
    if (const auto value = measured_any_labels(*trial, source.results, question.key.metric, contract.selects_on,
                                               default_reduce(contract, question.key.metric, contract.selects_on))) {
      selection.push_back(*value);
    }
  }
  cell.selection = mean_of(selection);
  cell.untested = source.standing.contains(ordinal);
  return cell;
}

void fill_row(const LeaderboardRow& line, const std::string& experiment, v1::TableRow* row) {
  row->set_cell(static_cast<int>(line.cell.cell));
  row->set_label(line.cell.label);
  row->set_assignment_json(line.cell.assignment_json);
  row->set_n(line.n);
  for (const std::int64_t seed : line.missing_seeds) row->add_missing_seeds(seed);
  row->set_mean(line.mean);
  row->set_std(line.std);
  row->set_ci_low(line.ci_low);
  row->set_ci_high(line.ci_high);
  row->set_baseline(line.cell.baseline);
  row->set_pairs(line.pairs);
  row->set_difference(line.difference);
  row->set_difference_std(line.difference_std);
  row->set_difference_low(line.difference_low);
  row->set_difference_high(line.difference_high);
  row->set_p_sign_flip(line.p_sign_flip);
  row->set_p_floor(line.p_floor);
  row->set_p_t(line.p_t);
  row->set_p_holm(line.p_holm);
  row->set_parameters(line.cell.parameters);
  row->set_parameters_added(line.parameters_added);
  row->set_ms_per_step(line.ms_per_step);
  row->set_ms_per_step_std(line.ms_per_step_std);
  row->set_times_vary(line.times_vary);
  row->set_selection(line.cell.selection);
  row->set_mean_all(line.mean_all);
  row->set_std_all(line.std_all);
  for (const SeedMeasurement& value : line.cell.values) {
    auto* seed = row->add_values();
    seed->set_seed(value.seed);
    seed->set_value(value.value);
    seed->set_trial(experiment + "/" + std::to_string(value.trial));
  }
}

void fill_baseline(const LeaderboardRow& line, const LeaderboardRow* baseline, v1::TableRow* row) {
  row->set_baseline_mean(baseline == nullptr ? kUndefined : baseline->mean);
  if (baseline == nullptr || baseline == &line) return;
  row->set_baseline_label(baseline->cell.label);
  row->set_baseline_cell(static_cast<int>(baseline->cell.cell));
}

void fill_sweep(const LeaderboardSource& source, const Question& question, const TrialsByCell& trials,
                const std::vector<LeaderboardRow>& lines, const std::map<std::int64_t, std::string>& keys,
                v1::Table* out) {
  const std::vector<std::string> sets(out->label_sets().begin(), out->label_sets().end());
  for (const LeaderboardRow& line : lines) {
    auto* series = out->add_sweep();
    series->set_cell(static_cast<int>(line.cell.cell));
    series->set_label(line.cell.label);
    const auto of_cell = trials.find(keys.at(line.cell.cell));
    for (const std::string& labels : sets) {
      std::vector<double> values;
      if (of_cell != trials.end()) {
        for (const TrialView* trial : of_cell->second) {
          const SeriesKey key{question.key.metric, question.key.split, labels};
          if (const auto value = measured(*trial, source.results, key, question.reducer)) values.push_back(*value);
        }
      }
      auto* point = series->add_points();
      point->set_labels(labels);
      point->set_x(varying_label(labels, sets));
      point->set_mean(mean_of(values));
      point->set_std(sample_std(values));
      point->set_n(static_cast<int>(values.size()));
    }
  }
}

// One sentence for each property that differs between a row and its baseline, or among rows without one.
std::vector<std::string> environment_warnings(const LeaderboardSource& source,
                                              const std::vector<LeaderboardRow>& lines) {
  std::map<std::int64_t, std::size_t> places;     // of lines, by cell
  std::map<std::int64_t, std::size_t> baselines;  // by pair group
  for (std::size_t i = 0; i < lines.size(); ++i) {
    places[lines[i].cell.cell] = i;
    if (lines[i].cell.baseline) baselines.emplace(lines[i].cell.pair_group, i);
  }
  Environments environments;
  std::vector<CellEnvironments> cells(lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (const auto found = baselines.find(lines[i].cell.pair_group); found != baselines.end())
      cells[i].reference = static_cast<int>(found->second);
  }
  for (const TrialView& trial : source.trials) {
    const auto place = places.find(trial.trial.cell);
    if (trial.trial.retired || place == places.end()) continue;
    for (const TrialStageView& stage : trial.stages) {
      const auto found = source.environments.find(stage.stage.id);
      if (found != source.environments.end())
        environments.add(stage.stage.kind, found->second, &cells[place->second].stages);
    }
  }
  return compare_environments(environments, cells, "row").sentences;
}

LeaderboardInput input_of(const LeaderboardSource& source, const ShownCells& shown, const Question& question,
                          const TrialsByCell& trials) {
  std::map<std::string, std::int64_t> ordinals;
  for (const CellRow& cell : source.cells) ordinals[cell.row_key] = cell.ordinal;
  const MetricContract& contract = source.outline.metric;
  LeaderboardInput input{.cells = {},
                         .seeds = source.outline.seeds,
                         .maximize = question.direction != "min",
                         .top = static_cast<std::size_t>(top_seeds(contract, question.key.metric, question.key.split)),
                         .untested = chooses_itself(source.outline, question.key.metric, question.key.split)};
  for (const OutlineCell& cell : shown.outline.cells) {
    const auto ordinal = ordinals.find(cell.row_key);
    if (ordinal == ordinals.end()) continue;
    const auto of_cell = trials.find(cell.row_key);
    static const std::vector<const TrialView*> kNone;
    input.cells.push_back(
        make_cell(cell, ordinal->second, of_cell == trials.end() ? kNone : of_cell->second, source, question));
  }
  return input;
}

void fill_head(const LeaderboardSource& source, const ShownCells& shown, const Question& question, v1::Table* out) {
  out->set_experiment(source.experiment);
  out->set_metric(question.key.metric);
  out->set_split(question.key.split);
  out->set_labels(question.key.labels);
  out->set_unit(question.unit);
  out->set_direction(question.direction);
  out->set_reduce(question.reducer);
  const auto reduction = parse_reduction(question.reducer, question.key.split, "metric.reduce");
  if (reduction.ok() && reduction->selects()) out->set_selects_on(source.outline.metric.selects_on);
  out->set_baseline(baseline_text(shown.outline));
  out->set_seeds(static_cast<int>(source.outline.seeds.size()));
  out->set_matched(source.outline.matched);
  out->set_top_seeds(static_cast<int>(top_seeds(source.outline.metric, question.key.metric, question.key.split)));
  out->set_chosen(shown.one_row_a_group);
  out->set_chose(chooses_itself(source.outline, question.key.metric, question.key.split));
  out->set_phase(source.outline.phase);
  for (const std::string& phase : source.outline.phases) out->add_phases(phase);
}

void fill_rows(const LeaderboardSource& source, const ShownCells& shown, const std::vector<LeaderboardRow>& lines,
               v1::Table* out) {
  std::map<std::int64_t, const LeaderboardRow*> baselines;  // by pair group
  for (const LeaderboardRow& line : lines) {
    if (line.cell.baseline) baselines.emplace(line.cell.pair_group, &line);
  }
  const std::string by = chosen_by(source.outline, shown.one_row_a_group);
  for (const LeaderboardRow& line : lines) {
    v1::TableRow* row = out->add_rows();
    fill_row(line, source.experiment, row);
    const auto baseline = baselines.find(line.cell.pair_group);
    fill_baseline(line, baseline == baselines.end() ? nullptr : baseline->second, row);
    row->set_chosen_by(by);
    if (const auto standing = source.standing.find(line.cell.cell); standing != source.standing.end())
      row->set_standing(standing->second);
  }
  out->set_rows_total(out->rows_size());
}

std::vector<std::string> warnings_of(const LeaderboardSource& source, const ShownCells& shown, const Question& question,
                                     const LeaderboardOutput& table) {
  TableOfSearch about{question.key.metric, question.key.split, shown.one_row_a_group, {}};
  for (const LeaderboardRow& line : table.lines) {
    if (const auto standing = source.standing.find(line.cell.cell); standing != source.standing.end())
      ++about.standing[standing->second];
  }
  std::vector<std::string> out = search_warnings(source.outline, about);
  if (!table.correction.empty()) {
    std::vector<TrialRow> trials;
    std::set<std::int64_t> cells;
    for (const TrialView& trial : source.trials) trials.push_back(trial.trial);
    for (const LeaderboardRow& line : table.lines) cells.insert(line.cell.cell);
    if (std::string added = extension_sentence(added_seeds(std::move(trials), cells)); !added.empty())
      out.push_back(std::move(added));
  }
  out.insert(out.end(), table.warnings.begin(), table.warnings.end());
  for (auto& warning : environment_warnings(source, table.lines)) out.push_back(std::move(warning));
  return out;
}

}  // namespace

absl::StatusOr<v1::Table> leaderboard_of(const LeaderboardSource& source, const v1::GetTableRequest& request) {
  LOCUS_ASSIGN_OR_RETURN(const Question question,
                         complete_question(source.outline, source.trials, source.results,
                                           {request.metric(), request.split(), request.labels()}));
  const TrialsByCell trials = group_trials(source);
  const ShownCells shown = shown_cells(source, request.proposals());
  std::map<std::int64_t, std::string> keys;
  for (const CellRow& cell : source.cells) keys[cell.ordinal] = cell.row_key;
  const LeaderboardOutput table = compute_leaderboard(input_of(source, shown, question, trials));
  v1::Table out;
  fill_head(source, shown, question, &out);
  out.set_correction(table.correction);
  fill_rows(source, shown, table.lines, &out);
  for (auto& labels : label_sets(source.trials, source.results, question.key.metric, question.key.split)) {
    out.add_label_sets(std::move(labels));
  }
  fill_sweep(source, question, trials, table.lines, keys, &out);
  const Looks looks = looks_of(source.outline, source.cells);
  give_looks(looks, out.mutable_rows());
  give_looks(looks, out.mutable_sweep());
  for (const SeriesKey& key : measured_keys(source.results)) to_proto(key, out.add_available());
  for (std::string& warning : warnings_of(source, shown, question, table)) out.add_warnings(std::move(warning));
  return out;
}

namespace {

// Briefs come trial by trial.
void add_stage(const StageBrief& brief, std::vector<TrialView>& trials) {
  if (trials.empty() || trials.back().trial.ordinal != brief.trial)
    trials.emplace_back().trial = {brief.trial, brief.cell, brief.seed, /*retired=*/false};
  TrialStageView& view = trials.back().stages.emplace_back();
  view.link = {brief.trial, "", brief.stage};
  view.stage.id = brief.stage;
  view.stage.kind = brief.kind;
  view.stage.state = brief.state;
}

}  // namespace

absl::StatusOr<LeaderboardSource> read_leaderboard_source(Store& store, OutlineCache& outlines,
                                                          const ExperimentRow& row, const std::string& phase) {
  LOCUS_ASSIGN_OR_RETURN(const auto outline, outlines.get(row, phase));
  LeaderboardSource source;
  source.experiment = row.name;
  source.outline = *outline;
  LOCUS_ASSIGN_OR_RETURN(source.cells, store.cells(row.id));
  LOCUS_ASSIGN_OR_RETURN(source.results, all_results(store, row.id));
  LOCUS_ASSIGN_OR_RETURN(const StageBriefs briefs, store.briefs(row.id));
  source.environments = environments_by_stage(briefs);
  for (const StageBrief& brief : briefs.stages) add_stage(brief, source.trials);
  LOCUS_RETURN_IF_ERROR(add_contract_results(store, briefs, outline->metric, source.results));
  LOCUS_ASSIGN_OR_RETURN(source.standing, read_standings(store, row.id));
  return source;
}

absl::Status check_first_rows(int first_rows) {
  if (first_rows >= 0) return absl::OkStatus();
  return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
                    "first_rows is " + std::to_string(first_rows) + "; give a count, or 0 for all rows", "first_rows",
                    {{"first_rows", std::to_string(first_rows)}});
}

namespace {

// Rows and sweep are in the same order.
v1::Table first_part(const v1::Table& whole, int rows) {
  v1::Table out = whole;
  if (rows < out.rows_size()) out.mutable_rows()->DeleteSubrange(rows, out.rows_size() - rows);
  if (rows < out.sweep_size()) out.mutable_sweep()->DeleteSubrange(rows, out.sweep_size() - rows);
  return out;
}

}  // namespace

absl::StatusOr<TableVersion> table_version(Store& store, const ExperimentRow& row, const StageCounts& counts) {
  const auto count = [&](StageState state) {
    const auto found = counts.by_state.find(state);
    return found == counts.by_state.end() ? 0 : found->second;
  };
  TableVersion out{row.id, row.revision, count(StageState::kSucceeded),
                   count(StageState::kFailed) + count(StageState::kHeld), counts.last_ended_us};
  const auto search = store.search(row.id);
  if (!search.ok() && !absl::IsNotFound(search.status())) return search.status();
  if (search.ok()) out.decided = search->decided;
  return out;
}

absl::StatusOr<TableVersion> Leaderboards::version(const ExperimentRow& row, const StageCounts& counts) const {
  return table_version(store_, row, counts);
}

absl::StatusOr<std::shared_ptr<const v1::Table>> Leaderboards::get(const v1::GetTableRequest& request) {
  LOCUS_ASSIGN_OR_RETURN(const ExperimentRow row, store_.experiment(request.experiment()));
  LOCUS_ASSIGN_OR_RETURN(const StageCounts counts, store_.counts(row.id));
  return of(row, counts, request);
}

absl::StatusOr<std::shared_ptr<const v1::Table>> Leaderboards::of(const ExperimentRow& row, const StageCounts& counts,
                                                                  const v1::GetTableRequest& request) {
  LOCUS_RETURN_IF_ERROR(check_first_rows(request.first_rows()));
  const std::function<absl::StatusOr<v1::Table>()> compute = [&]() -> absl::StatusOr<v1::Table> {
    if (request.first_rows() > 0) {
      v1::GetTableRequest all = request;
      all.clear_first_rows();
      LOCUS_ASSIGN_OR_RETURN(const auto table, of(row, counts, all));
      return first_part(*table, request.first_rows());
    }
    LOCUS_ASSIGN_OR_RETURN(const LeaderboardSource source,
                           read_leaderboard_source(store_, outlines_, row, request.phase()));
    return leaderboard_of(source, request);
  };
  LOCUS_ASSIGN_OR_RETURN(const TableVersion now, version(row, counts));
  return kept_.get(request.SerializeAsString(), {now}, compute);
}

}  // namespace locus::server
