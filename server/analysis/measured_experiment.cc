// Cells and results of one experiment, for claims.
#include "server/analysis/measured_experiment.h"

#include <algorithm>
#include <cmath>

#include "core/analysis/reduce.h"
#include "core/analysis/tuned.h"
#include "server/analysis/shown_cells.h"

namespace locus::server {
namespace {

constexpr const char* kInterpolated = "interpolated";  // the label `positions`, and the setting `interpolation`
constexpr const char* kNative = "native";

std::string setting_of_claim(const ClaimValue& claim, const char* name) {
  const auto found = claim.setting.find(name);
  return found == claim.setting.end() ? "" : found->second;
}

bool holds(const std::vector<std::string>& sets, const std::string& labels) {
  return std::find(sets.begin(), sets.end(), labels) != sets.end();
}

}  // namespace

absl::StatusOr<MeasuredExperiment> MeasuredExperiment::load(Store& store, OutlineCache& outlines,
                                                            const Catalog& catalog, const std::string& name) {
  LOCUS_ASSIGN_OR_RETURN(const ExperimentRow row, store.experiment(name));
  MeasuredExperiment out;
  out.catalog_ = &catalog;
  out.name_ = row.name;
  LOCUS_ASSIGN_OR_RETURN(out.outline_, outlines.get(row));
  LOCUS_ASSIGN_OR_RETURN(LeaderboardSource source,
                         read_leaderboard_source(store, outlines, row));  // the table's numbers
  const ShownCells shown = shown_cells(source, /*proposals=*/false);
  out.standing_ = std::move(source.standing);
  out.trials_ = std::move(source.trials);
  out.results_ = std::move(source.results);
  std::erase_if(out.trials_, [](const TrialView& trial) { return trial.trial.retired || trial.stages.empty(); });
  for (std::size_t i = 0; i < out.trials_.size(); ++i) out.by_cell_[out.trials_[i].trial.cell].push_back(i);
  for (const CellRow& cell : source.cells) {
    // What earlier phases train is a step on the way to what the last one reports; of proposals the chosen one stands for its group.
    const bool whole = out.outline_->phases.empty() && !shown.one_row_a_group;
    if (!whole && !shown.outline.places.contains(cell.row_key)) continue;
    LOCUS_RETURN_IF_ERROR(out.add(store, row.id, cell));
  }
  return out;
}

absl::Status MeasuredExperiment::add(Store& store, ExperimentId experiment, const CellRow& row) {
  const auto of_cell = by_cell_.find(row.ordinal);
  if (of_cell == by_cell_.end()) return absl::OkStatus();
  // A table's trials are without configurations: one trial of each cell is read whole.
  const std::int64_t first = trials_[of_cell->second.front()].trial.ordinal;
  LOCUS_ASSIGN_OR_RETURN(const auto read, store.trials(experiment, first - 1, 1));
  if (read.empty() || read.front().stages.empty()) return absl::OkStatus();  // retired meanwhile
  const TrialView& trial = read.front();
  const auto train = std::find_if(trial.stages.begin(), trial.stages.end(),
                                  [](const TrialStageView& stage) { return stage.link.role == "train"; });
  const TrialStageView& stage = train == trial.stages.end() ? trial.stages.front() : *train;
  Json rest = Json::parse(row.assignment_json, nullptr, false);
  if (rest.is_object()) rest.erase("prior");
  Json config = Json::parse(stage.stage.config_json, nullptr, false);
  ClaimSetting setting = setting_of(config, *catalog_);
  cells_.push_back({row.ordinal, rest.dump(), std::move(config), std::move(setting)});
  labels_.push_back(label_of(*outline_, row));
  return absl::OkStatus();
}

const std::vector<std::string>& MeasuredExperiment::sets(const std::string& metric, const std::string& split) {
  const auto [known, fresh] = sets_.try_emplace({metric, split});
  if (fresh) known->second = label_sets(trials_, results_, metric, split);
  return known->second;
}

std::optional<ResultPlace> MeasuredExperiment::place(const ClaimValue& claim, const Measure& measure,
                                                     const ClaimedCell& cell) {
  return measure.cost ? cost_place(claim, measure, cell) : score_place(claim, measure, cell);
}

std::optional<ResultPlace> MeasuredExperiment::score_place(const ClaimValue& claim, const Measure& measure,
                                                           const ClaimedCell& cell) {
  const bool declared = std::any_of(outline_->metrics.begin(), outline_->metrics.end(),
                                    [&](const Json& one) { return one.value("name", "") == measure.metric; });
  if (!declared && measure.metric != outline_->metric.name) return std::nullopt;
  const std::string& split = outline_->metric.reports;
  const std::vector<std::string>& known = sets(measure.metric, split);
  const auto at = [&](const std::string& labels) { return ResultPlace{split, labels}; };
  if (!cell.scale) {
    if (known.empty() || holds(known, outline_->evaluation_labels)) return at(outline_->evaluation_labels);
    return at(holds(known, "{}") ? "{}" : known.front());
  }
  Json labels = Json::parse(outline_->evaluation_labels, nullptr, false);
  if (!labels.is_object() || !labels.contains("resolution") || !labels["resolution"].is_number()) return std::nullopt;
  const double size = labels["resolution"].get<double>() * *cell.scale;
  if (std::abs(size - std::round(size)) > 1e-6) return std::nullopt;  // 320 / 224 has no end
  labels["resolution"] = std::llround(size);
  Json squeezed = labels;
  squeezed["positions"] = kInterpolated;
  const std::string plain = canonical_json(labels), interpolated = canonical_json(squeezed);
  const bool wanted = setting_of_claim(claim, "interpolation") == kInterpolated;
  // The one that is as the paper's; if none is, the evaluation as the priors are set.
  for (const bool evaluated : {false, true}) {
    const std::string& candidate = evaluated ? interpolated : plain;
    if (holds(known, candidate) && interpolates(cells_[cell.cell].config, *catalog_, evaluated) == wanted)
      return at(candidate);
  }
  if (holds(known, plain)) return at(plain);
  return holds(known, interpolated) ? std::optional(at(interpolated)) : std::nullopt;
}

// Costs are measured by a stage of their own, under batch and resolution without a split; training notes some
// without either.
std::optional<ResultPlace> MeasuredExperiment::cost_place(const ClaimValue& claim, const Measure& measure,
                                                          const ClaimedCell& cell) {
  const ClaimSetting& here = cells_[cell.cell].setting;
  const auto side = here.find("resolution");
  const std::string batch = setting_of_claim(claim, "batch");
  std::optional<ResultPlace> best;
  int best_fit = -1;
  for (const std::string& set : sets(measure.metric, "")) {
    const Json labels = Json::parse(set, nullptr, false);
    const auto is = [&](const char* name, const std::string& value) {
      return labels.is_object() && labels.contains(name) && canonical_json(labels[name]) == value;
    };
    const int fit =
        (side != here.end() && is("resolution", side->second) ? 2 : 0) + (!batch.empty() && is("batch", batch) ? 1 : 0);
    if (fit <= best_fit) continue;
    best_fit = fit;
    best = ResultPlace{"", set};
  }
  for (const char* split : {"train", "test", "validation"}) {
    if (best) break;
    if (const auto& known = sets(measure.metric, split); !known.empty()) best = ResultPlace{split, known.front()};
  }
  return best;
}

std::vector<SettingDifference> MeasuredExperiment::differences_at(const ClaimValue& claim, const Measure& measure,
                                                                  const ClaimedCell& cell,
                                                                  const ResultPlace& place) const {
  std::vector<SettingDifference> out;
  const Json labels = Json::parse(place.labels, nullptr, false);
  if (!measure.cost && chooses_itself(*outline_, measure.metric, place.split))
    out.push_back({"split", "not the one that chose", place.split + ", which chose"});
  if (const auto standing = standing_.find(cells_[cell.cell].ordinal); standing != standing_.end())
    out.push_back({"search", "trained to the end", standing->second});
  if (const std::string paper = setting_of_claim(claim, "interpolation"); cell.scale && !paper.empty()) {
    const bool evaluated = labels.is_object() && labels.value("positions", "") == kInterpolated;
    const std::string here = interpolates(cells_[cell.cell].config, *catalog_, evaluated) ? kInterpolated : kNative;
    if (here != paper) out.push_back({"interpolation", paper, here});
  }
  // Scores of a part of the split say so beside a paper's, which are of all of it.
  if (!measure.cost && labels.is_object() && labels.contains("images"))
    out.push_back({"images scored", "all", canonical_json(labels["images"])});
  if (const std::string paper = setting_of_claim(claim, "batch"); measure.cost && !paper.empty()) {
    const bool known = labels.is_object() && labels.contains("batch");
    const std::string here = known ? canonical_json(labels["batch"]) : "";
    if (here != paper) out.push_back({"batch", paper, here});
  }
  return out;
}

int MeasuredExperiment::top_seeds(const Measure& measure, const ResultPlace& place) const {
  const bool alone = measure.minus.empty() && measure.over.empty();
  return alone ? static_cast<int>(locus::top_seeds(outline_->metric, measure.metric, place.split)) : 0;
}

std::optional<double> MeasuredExperiment::result(const TrialView& trial, const std::string& metric,
                                                 const ResultPlace& place) const {
  return measured(trial, results_, {metric, place.split, place.labels},
                  default_reduce(outline_->metric, metric, place.split));
}

const BySeed& MeasuredExperiment::values(std::size_t cell, const Measure& measure, const ResultPlace& place) {
  auto [found, fresh] = values_.try_emplace({cell, &measure, place});
  if (!fresh) return found->second;
  for (const std::size_t i : by_cell_.at(cells_[cell].ordinal)) {
    const TrialView& trial = trials_[i];
    // Absent terms are 0 above the line; without any below it there is no line.
    const auto term = [&](const std::string& metric) {
      return metric.empty() ? std::optional(0.0) : result(trial, metric, place);
    };
    const auto a = term(measure.metric), b = term(measure.minus), c = term(measure.over), d = term(measure.over_minus);
    if (!a || !b || !c || !d) continue;
    const double below = measure.over.empty() ? 1 : *c - *d;
    if (below != 0) found->second[trial.trial.seed] = measure.scale * (*a - *b) / below;
  }
  return found->second;
}

}  // namespace locus::server
