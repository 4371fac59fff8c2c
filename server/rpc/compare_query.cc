// Trials and cells side by side.
#include "server/rpc/compare_query.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <set>

#include "core/base/error.h"
#include "core/statistics/table.h"
#include "server/rpc/convert.h"
#include "server/rpc/measurements.h"
#include "server/rpc/queries.h"
#include "server/rpc/reduce.h"

namespace locus::server {
namespace {

constexpr int kItemsMost = 16;

absl::Status bad(const std::string& field, const std::string& message) {
  return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument, message, field);
}

// One side: trials of one experiment with what they made.
struct Side {
  std::string name, label;
  bool cell = false;
  ExperimentRow experiment;
  std::int64_t cell_ordinal = 0;
  std::vector<TrialView> trials;  // by ordinal
  ResultsByStage results;
  std::map<std::string, std::string> settings;
  std::map<std::int64_t, double> values;  // by seed
  StageBriefs stages;
};

void walk(const Json& value, const std::string& path, std::map<std::string, std::string>* out) {
  if (value.is_object() && !value.empty()) {
    for (const auto& [key, member] : value.items()) walk(member, path.empty() ? key : path + "." + key, out);
  } else if (value.is_array() && !value.empty()) {
    for (std::size_t i = 0; i < value.size(); ++i) walk(value[i], path + "[" + std::to_string(i) + "]", out);
  } else {
    (*out)[path] = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
}

// "NAME/cells/3" -> 3; nothing for another form.
std::optional<std::int64_t> cell_of(const std::string& item, std::string* experiment) {
  const std::size_t at = item.rfind("/cells/");
  if (at == std::string::npos) return std::nullopt;
  const std::string text = item.substr(at + 7);
  std::int64_t ordinal = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ordinal);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || ordinal < 0)
    return std::nullopt;
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
  return make_error(
      absl::StatusCode::kNotFound, ErrorReason::kTrialNotFound,
      "experiment \"" + experiment + "\" has no cell " + std::to_string(ordinal) + " with trials", "items",
      {{"experiment", experiment}, {"cell", std::to_string(ordinal)}});
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

std::set<std::string> devices_of(const StageBriefs& briefs) {
  std::set<std::string> out;
  for (const auto& [stage, text] : environments_by_stage(briefs)) {
    const Json environment = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (environment.is_object() && environment.contains("device")) out.insert(environment["device"].dump());
  }
  return out;
}

absl::StatusOr<Side> load_side(Store& store, Briefs& briefs, const std::string& item) {
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
  LOCUS_ASSIGN_OR_RETURN(const auto cells, store.cells(side.experiment.id));
  for (const CellRow& cell : cells) {
    if (cell.ordinal == side.cell_ordinal) side.label = cell.label;
  }
  for (const TrialView& trial : side.trials) {
    for (const TrialStageView& stage : trial.stages) {
      LOCUS_ASSIGN_OR_RETURN(side.results[stage.stage.id], store.stage_results(stage.stage.id));
    }
  }
  LOCUS_ASSIGN_OR_RETURN(const StageBriefs* all, briefs.of(side.experiment.id));
  side.stages = of_side(*all, side);
  // The seeds of a cell differ by nature: they are listed, not compared.
  for (const TrialStageView& stage : side.trials.front().stages) {
    Json config = Json::parse(stage.stage.config_json, nullptr, false);
    if (config.is_object()) config.erase("inputs");  // hashes of other stages' settings
    if (config.is_object() && side.cell) config.erase("seed");
    for (const auto& [path, value] : flatten(config)) side.settings[stage.link.role + "." + path] = value;
  }
  return side;
}

struct Question {
  MetricContract contract;
  std::string metric, split, labels, direction = "max", unit, reducer;
};

absl::StatusOr<Question> complete(OutlineCache& outlines, const Side& first,
                                  const v1::CompareRequest& request) {
  LOCUS_ASSIGN_OR_RETURN(const auto outline, outlines.get(first.experiment));
  const MetricContract& contract = outline->metric;
  Question out{contract,
               request.metric().empty() ? contract.name : request.metric(),
               request.split().empty() ? contract.reports : request.split(),
               "{}",
               contract.direction,
               contract.unit,
               ""};
  out.reducer = default_reduce(contract, out.metric, out.split);
  if (out.metric != contract.name) {
    out.direction = "max";
    out.unit.clear();
    for (const Json& known : outline->metrics) {
      if (known.value("name", "") != out.metric) continue;
      out.unit = known.value("unit", "");
      out.direction = known.value("direction", "max");
    }
  }
  if (!request.labels().empty()) {
    LOCUS_ASSIGN_OR_RETURN(out.labels, canonical_labels(request.labels(), "labels"));
    return out;
  }
  const auto sets = label_sets(first.trials, first.results, out.metric, out.split);
  const auto has = [&](const std::string& l) { return std::find(sets.begin(), sets.end(), l) != sets.end(); };
  out.labels = outline->evaluation_labels;
  if (!has(out.labels) && !sets.empty()) out.labels = has("{}") ? "{}" : sets.front();
  return out;
}

// The revision of a catalog item is no setting: a side that lacks it lacks the item, which shows by itself.
// Listed only where sides have the item at different ones.
bool only_says_what_is_used(const std::string& path, const std::vector<std::string>& values) {
  if (path.find(".revisions.") == std::string::npos) return false;
  std::set<std::string> revisions(values.begin(), values.end());
  revisions.erase("");
  return revisions.size() <= 1;
}

void fill_settings(const std::vector<Side>& sides, v1::Comparison* out) {
  std::set<std::string> paths;
  for (const Side& side : sides) {
    for (const auto& [path, value] : side.settings) paths.insert(path);
  }
  for (const std::string& path : paths) {
    std::vector<std::string> values;
    for (const Side& side : sides) {
      const auto found = side.settings.find(path);
      values.push_back(found == side.settings.end() ? "" : found->second);
    }
    if (only_says_what_is_used(path, values)) continue;
    const bool equal =
        std::all_of(values.begin(), values.end(), [&](const auto& v) { return v == values.front(); });
    auto* setting = equal ? out->add_common() : out->add_differing();
    setting->set_path(path);
    for (std::string& value : values) setting->add_values_json(std::move(value));
  }
}

void fill_results(const std::vector<Side>& sides, v1::Comparison* out) {
  std::map<std::pair<SeriesKey, std::string>, std::vector<std::vector<double>>> found;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    for (const auto& [stage, results] : sides[i].results) {
      for (const Result& result : results) {
        auto& columns = found[{result.key, result.reducer}];
        columns.resize(sides.size());
        columns[i].push_back(result.value);
      }
    }
  }
  for (const auto& [key, columns] : found) {
    auto* item = out->add_results();
    to_proto(key.first, item->mutable_key());
    item->set_reducer(key.second);
    for (const auto& values : columns) {
      item->add_n(static_cast<int>(values.size()));
      item->add_mean(values.empty() ? kUndefined : sample_mean(values));
      item->add_std(sample_std(values));
    }
  }
}

void fill_paired(const std::vector<Side>& sides, v1::Comparison* out) {
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
    const bool any = !differences.empty();
    const double mean = any ? sample_mean(differences) : kUndefined;
    const double half = any ? student_t_half_width(differences, 0.95) : kUndefined;
    paired->set_n(static_cast<int>(differences.size()));
    paired->set_mean(mean);
    paired->set_std(sample_std(differences));
    paired->set_low(mean - half);
    paired->set_high(mean + half);
    paired->set_p_sign_flip(any ? sign_flip_p(differences) : kUndefined);
    paired->set_p_floor(sign_flip_floor(static_cast<int>(differences.size())));
    paired->set_p_t(any ? paired_t_p(differences) : kUndefined);
  }
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

std::map<std::string, std::string> flatten(const Json& document) {
  std::map<std::string, std::string> out;
  walk(document, "", &out);
  return out;
}

absl::StatusOr<v1::Comparison> compare(Store& store, OutlineCache& outlines,
                                       const v1::CompareRequest& request) {
  if (request.items_size() < 2 || request.items_size() > kItemsMost) {
    return bad("items", "give 2 to " + std::to_string(kItemsMost) + " items to compare, not " +
                            std::to_string(request.items_size()));
  }
  std::vector<Side> sides;
  Briefs briefs(store);
  for (const std::string& item : request.items()) {
    LOCUS_ASSIGN_OR_RETURN(Side side, load_side(store, briefs, item));
    sides.push_back(std::move(side));
  }
  LOCUS_ASSIGN_OR_RETURN(const Question question, complete(outlines, sides.front(), request));
  v1::Comparison out;
  std::set<std::string> devices;
  for (Side& side : sides) {
    LOCUS_RETURN_IF_ERROR(add_contract_results(store, side.stages, question.contract, side.results));
    for (const TrialView& trial : side.trials) {
      const auto value =
          measured(trial, side.results, {question.metric, question.split, question.labels}, question.reducer);
      if (value) side.values[trial.trial.seed] = *value;
    }
    devices.merge(devices_of(side.stages));
    fill_item(side, out.add_items());
  }
  fill_settings(sides, &out);
  fill_results(sides, &out);
  fill_paired(sides, &out);
  if (devices.size() > 1) out.add_warnings("these ran on different devices, so differences may be theirs");
  out.set_metric(question.metric);
  out.set_split(question.split);
  out.set_labels(question.labels);
  out.set_direction(question.direction);
  out.set_unit(question.unit);
  return out;
}

}  // namespace locus::server
