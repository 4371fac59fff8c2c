// Trials and cells side by side.
#include "server/analysis/compare_query.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <set>

#include "core/analysis/comparability.h"
#include "core/analysis/extension.h"
#include "core/analysis/measurements.h"
#include "core/analysis/queries.h"
#include "core/analysis/question.h"
#include "core/analysis/reduce.h"
#include "core/analysis/tuned.h"
#include "core/base/error.h"
#include "core/base/invalid.h"
#include "core/statistics/order_statistics.h"
#include "core/statistics/samples.h"
#include "server/analysis/compare_settings.h"
#include "server/analysis/looks.h"
#include "server/analysis/shown_cells.h"
#include "server/wire/convert.h"

namespace locus::server {
namespace {

constexpr int kItemsMost = 16;

// One side: trials of one experiment with what they made.
struct Side {
  std::string name, label, assignment;
  bool cell = false;
  ExperimentRow experiment;
  std::int64_t cell_ordinal = 0;
  std::vector<TrialView> trials;  // by ordinal
  ResultsByStage results;
  std::map<std::string, std::string> settings;
  std::map<std::int64_t, double> values;  // by seed
  StageBriefs stages;
  std::shared_ptr<const Outline> outline;
  std::string standing;  // of its cell
};

// "NAME/cells/3" -> 3; nothing for another form.
std::optional<std::int64_t> cell_of(const std::string& item, std::string* experiment) {
  const std::size_t at = item.rfind("/cells/");
  if (at == std::string::npos) return std::nullopt;
  const std::string text = item.substr(at + 7);
  std::int64_t ordinal = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ordinal);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || ordinal < 0) return std::nullopt;
  *experiment = item.substr(0, at);
  return ordinal;
}

absl::Status load_cell(Store& store, const std::string& experiment, std::int64_t ordinal, Side* side) {
  LOCUS_ASSIGN_OR_RETURN(side->experiment, store.experiment(experiment));
  side->cell = true;
  side->cell_ordinal = ordinal;
  LOCUS_ASSIGN_OR_RETURN(auto all, all_trials(store, side->experiment.id));
  for (TrialView& view : all) {
    if (view.trial.cell == ordinal && !view.trial.retired) side->trials.push_back(std::move(view));
  }
  if (!side->trials.empty()) return absl::OkStatus();
  return make_error(absl::StatusCode::kNotFound, ErrorReason::kTrialNotFound,
                    "experiment \"" + experiment + "\" has no cell " + std::to_string(ordinal) + " with trials",
                    "items", {{"experiment", experiment}, {"cell", std::to_string(ordinal)}});
}

// What the stages of the experiments compared are and ran on, each experiment asked for once: as tables read
// it.
class Briefs {
 public:
  explicit Briefs(Store& store) : store_(store) {}

  absl::StatusOr<const StageBriefs*> of(ExperimentId id) {
    const auto known = read_.find(id);
    if (known != read_.end()) return &known->second;
    LOCUS_ASSIGN_OR_RETURN(StageBriefs briefs, store_.briefs(id));
    return &(read_[id] = std::move(briefs));
  }

 private:
  Store& store_;
  std::map<ExperimentId, StageBriefs> read_;
};

// The part of them that is of the side's trials.
StageBriefs of_side(const StageBriefs& all, const Side& side) {
  std::set<std::int64_t> trials;
  for (const TrialView& trial : side.trials) trials.insert(trial.trial.ordinal);
  StageBriefs out;
  out.environments = all.environments;
  std::copy_if(all.stages.begin(), all.stages.end(), std::back_inserter(out.stages),
               [&](const StageBrief& brief) { return trials.contains(brief.trial); });
  return out;
}

// One sentence for each property that differs between the first side and another.
std::vector<std::string> environment_warnings(const std::vector<Side>& sides) {
  Environments environments;
  std::vector<CellEnvironments> cells;
  for (const Side& side : sides) {
    CellEnvironments& cell = cells.emplace_back();
    if (cells.size() > 1) cell.reference = 0;
    for (const StageBrief& brief : side.stages.stages) {
      if (brief.environment >= 0)
        environments.add(brief.kind, side.stages.environments[static_cast<std::size_t>(brief.environment)],
                         &cell.stages);
    }
  }
  return compare_environments(environments, cells, "item").sentences;
}

absl::StatusOr<Side> load_side(Store& store, OutlineCache& outlines, Briefs& briefs, const std::string& item) {
  Side side;
  side.name = item;
  std::string experiment;
  if (const auto ordinal = cell_of(item, &experiment)) {
    LOCUS_RETURN_IF_ERROR(load_cell(store, experiment, *ordinal, &side));
  } else {
    LOCUS_ASSIGN_OR_RETURN(TrialOf found, find_trial(store, item));
    side.experiment = std::move(found.experiment);
    side.cell_ordinal = found.view.trial.cell;
    side.trials.push_back(std::move(found.view));
  }
  for (const TrialView& trial : side.trials) {
    for (const TrialStageView& stage : trial.stages) {
      LOCUS_ASSIGN_OR_RETURN(side.results[stage.stage.id], store.stage_results(stage.stage.id));
    }
  }
  LOCUS_ASSIGN_OR_RETURN(const StageBriefs* all, briefs.of(side.experiment.id));
  side.stages = of_side(*all, side);
  std::vector<std::pair<std::string, std::string>> configs;
  for (const TrialStageView& stage : side.trials.front().stages)
    configs.emplace_back(stage.link.role, stage.stage.config_json);
  side.settings = settings_of(configs);
  if (side.cell) side.settings.erase("seed");  // the seeds of a cell differ by nature: they are listed
  LOCUS_ASSIGN_OR_RETURN(side.outline, outlines.get(side.experiment));
  LOCUS_ASSIGN_OR_RETURN(const auto standings, read_standings(store, side.experiment.id));
  if (const auto found = standings.find(side.cell_ordinal); found != standings.end()) side.standing = found->second;
  LOCUS_ASSIGN_OR_RETURN(const auto cells, store.cells(side.experiment.id));
  for (const CellRow& cell : cells) {
    if (cell.ordinal == side.cell_ordinal) side.assignment = cell.assignment_json;
    if (cell.ordinal == side.cell_ordinal) side.label = label_of(*side.outline, cell);
  }
  return side;
}

// Of every key and reducer that any side has, the number a table would show of each trial.
void fill_results(const std::vector<Side>& sides, v1::Comparison* out) {
  std::set<std::pair<SeriesKey, std::string>> known;
  for (const Side& side : sides) {
    for (const auto& [stage, results] : side.results) {
      for (const Result& result : results) known.emplace(result.key, result.reducer);
    }
  }
  for (const auto& [key, reducer] : known) {
    auto* item = out->add_results();
    to_proto(key, item->mutable_key());
    item->set_reducer(reducer);
    for (const Side& side : sides) {
      std::vector<double> values;
      for (const TrialView& trial : side.trials) {
        if (const auto value = measured(trial, side.results, key, reducer)) values.push_back(*value);
      }
      const SampleSummary summary = summarize_sample(values, kConfidence);
      item->add_n(summary.n);
      item->add_mean(summary.mean);
      item->add_std(summary.std);
    }
  }
}

// Whether the values of this metric chose on some side, or a side was not sent to its end: no test of them holds.
bool untested(const std::vector<Side>& sides, const Question& question) {
  return std::any_of(sides.begin(), sides.end(), [&](const Side& side) {
    return !side.standing.empty() || chooses_itself(*side.outline, question.key.metric, question.key.split);
  });
}

// What chose, what was not sent to its end, means over the best seeds, seeds that were added: the tables' sentences.
absl::Status warn_of_choosing(Briefs& briefs, const std::vector<Side>& sides, const Question& question,
                              v1::Comparison* out) {
  std::vector<std::string> sentences;
  for (const Side& side : sides) {
    const std::string whose = side.name + ": ";
    if (chooses_itself(*side.outline, question.key.metric, question.key.split))
      sentences.push_back(whose + question.key.split + " chose, so nothing is tested on it; compare another split");
    if (!side.standing.empty())
      sentences.push_back(whose + "its search left it " + side.standing + ", so nothing is tested against it");
    if (out->top_seeds() > 0 && side.values.size() >= static_cast<std::size_t>(out->top_seeds())) {
      sentences.push_back(whose +
                          top_sentence(out->top_seeds(), static_cast<int>(side.values.size()), question.key.split,
                                       question.direction == "min") +
                          "; the mean of all stands beside it, and differences are of all seeds");
    }
    if (!side.cell || untested(sides, question)) continue;
    LOCUS_ASSIGN_OR_RETURN(const StageBriefs* all, briefs.of(side.experiment.id));
    std::vector<TrialRow> rows;
    for (const StageBrief& one : all->stages) {  // trial by trial
      if (rows.empty() || rows.back().ordinal != one.trial) rows.push_back({one.trial, one.cell, one.seed, false});
    }
    const std::string added = extension_sentence(added_seeds(std::move(rows), {side.cell_ordinal}));
    if (!added.empty()) sentences.push_back(whose + added);
  }
  for (std::string& sentence : sentences) out->add_warnings(std::move(sentence));
  return absl::OkStatus();
}

void fill_means(const Side& side, const Question& question, std::int64_t top, v1::ComparedItem* item) {
  item->set_standing(side.standing);
  item->set_chosen_by(side.outline->chosen_by);
  std::vector<double> values;
  for (const auto& [seed, value] : side.values) values.push_back(value);
  item->set_mean_all(summarize_sample(values, kConfidence).mean);
  item->set_mean(top > 0 ? top_mean(values, static_cast<std::size_t>(top), question.direction != "min").mean
                         : item->mean_all());
}

void fill_paired(const std::vector<Side>& sides, bool tested, v1::Comparison* out) {
  for (std::size_t i = 1; i < sides.size(); ++i) {
    auto* paired = out->add_paired();
    paired->set_item(static_cast<int>(i));
    std::vector<double> differences;
    for (const auto& [seed, value] : sides[i].values) {
      const auto first = sides[0].values.find(seed);
      if (first == sides[0].values.end()) {
        out->add_warnings("seed " + std::to_string(seed) + " of " + sides[i].name + " has no partner in " +
                          sides[0].name);
        continue;
      }
      differences.push_back(value - first->second);
      paired->add_seeds(seed);
      paired->add_differences(differences.back());
    }
    const SampleSummary summary = summarize_sample(differences, kConfidence);
    paired->set_n(summary.n);
    paired->set_mean(summary.mean);
    paired->set_std(summary.std);
    paired->set_low(summary.low);
    paired->set_high(summary.high);
    paired->set_p_sign_flip(tested ? sign_flip_p(differences) : kUndefined);
    paired->set_p_floor(tested ? sign_flip_floor(summary.n) : kUndefined);
    paired->set_p_t(tested ? paired_t_p(differences) : kUndefined);
  }
}

// The first side's metric; results of all sides tell what is known.
absl::StatusOr<Question> complete(const std::vector<Side>& sides, const v1::CompareRequest& request) {
  ResultsByStage results;
  for (const Side& side : sides) results.insert(side.results.begin(), side.results.end());
  return complete_question(*sides.front().outline, sides.front().trials, results,
                           {request.metric(), request.split(), request.labels()});
}

void fill_item(const Side& side, v1::ComparedItem* item) {
  item->set_name(side.name);
  item->set_kind(side.cell ? "cell" : "trial");
  item->set_experiment(side.experiment.name);
  item->set_cell(static_cast<int>(side.cell_ordinal));
  item->set_label(side.label);
  for (const TrialView& trial : side.trials) {
    item->add_trials(static_cast<int>(trial.trial.ordinal));
    item->add_seeds(trial.trial.seed);
    const auto value = side.values.find(trial.trial.seed);
    if (value == side.values.end()) continue;
    auto* out = item->add_values();
    out->set_seed(trial.trial.seed);
    out->set_value(value->second);
    out->set_trial(side.experiment.name + "/" + std::to_string(trial.trial.ordinal));
  }
}

}  // namespace

absl::StatusOr<v1::Comparison> compare(Store& store, OutlineCache& outlines, const v1::CompareRequest& request) {
  if (request.items_size() < 2 || request.items_size() > kItemsMost) {
    return invalid("items", "give 2 to " + std::to_string(kItemsMost) + " items to compare, not " +
                                std::to_string(request.items_size()));
  }
  std::vector<Side> sides;
  Briefs briefs(store);
  for (const std::string& item : request.items()) {
    LOCUS_ASSIGN_OR_RETURN(Side side, load_side(store, outlines, briefs, item));
    sides.push_back(std::move(side));
  }
  const MetricContract& contract = sides.front().outline->metric;
  for (Side& side : sides) LOCUS_RETURN_IF_ERROR(add_contract_results(store, side.stages, contract, side.results));
  LOCUS_ASSIGN_OR_RETURN(const Question question, complete(sides, request));
  v1::Comparison out;
  const std::int64_t top = top_seeds(contract, question.key.metric, question.key.split);
  out.set_top_seeds(static_cast<int>(top));
  for (Side& side : sides) {
    for (const TrialView& trial : side.trials) {
      const auto value = measured(trial, side.results, question.key, question.reducer);
      if (value) side.values[trial.trial.seed] = *value;
    }
    fill_item(side, out.add_items());
    fill_means(side, question, top, out.mutable_items(out.items_size() - 1));
    const Looks looks = read_looks(store, outlines, side.experiment);
    const auto look = looks.find(side.cell_ordinal);
    if (look != looks.end()) to_proto(look->second, out.mutable_items(out.items_size() - 1)->mutable_look());
  }
  std::vector<ComparedSide> compared;
  for (const Side& side : sides)
    compared.push_back({side.name, side.experiment.name, side.settings, prior_label(*side.outline, side.assignment)});
  fill_settings(compared, &out);
  fill_results(sides, &out);
  fill_paired(sides, !untested(sides, question), &out);
  LOCUS_RETURN_IF_ERROR(warn_of_choosing(briefs, sides, question, &out));
  for (std::string& warning : environment_warnings(sides)) out.add_warnings(std::move(warning));
  out.set_metric(question.key.metric);
  out.set_split(question.key.split);
  out.set_labels(question.key.labels);
  out.set_direction(question.direction);
  out.set_unit(question.unit);
  return out;
}

}  // namespace locus::server
