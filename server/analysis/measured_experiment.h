// One experiment as printed numbers are set beside it: its cells, and what was measured of them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "core/analysis/measurements.h"
#include "core/claims/match.h"
#include "core/claims/measure.h"
#include "core/ports/store.h"
#include "server/analysis/outline_cache.h"

namespace locus::server {

// Where results of a metric stand.
struct ResultPlace {
  std::string split, labels;  // canonical
  bool operator<(const ResultPlace& other) const {
    return std::tie(split, labels) < std::tie(other.split, other.labels);
  }
  bool operator==(const ResultPlace&) const = default;
};

using BySeed = std::map<std::int64_t, double>;

// Not thread-safe. `catalog` must outlive it.
class MeasuredExperiment {
 public:
  // EXPERIMENT_NOT_FOUND. Blocks.
  static absl::StatusOr<MeasuredExperiment> load(Store& store, OutlineCache& outlines, const Catalog& catalog,
                                                 const std::string& name);

  const std::string& name() const { return name_; }
  const std::vector<ExperimentCell>& cells() const { return cells_; }
  const std::string& label(std::size_t cell) const { return labels_[cell]; }

  // Where the claim's number stands for this cell: of a score at the training resolution or `scale` times it,
  // with positions as the paper had them where both were evaluated; of a cost at the paper's batch if any.
  // Nothing when nobody measured there.
  std::optional<ResultPlace> place(const ClaimValue& claim, const Measure& measure, const ClaimedCell& cell);

  // What the place and the search say of the setting beyond the cell: interpolation, a part of the split, the batch of a cost, a split
  // that has chosen, a training that was not sent to its end.
  std::vector<SettingDifference> differences_at(const ClaimValue& claim, const Measure& measure,
                                                const ClaimedCell& cell, const ResultPlace& place) const;

  // Over how many of the best seeds the experiment's own contract means this number; 0: over all, as everything else.
  int top_seeds(const Measure& measure, const ResultPlace& place) const;
  bool maximizes() const { return outline_->metric.direction != "min"; }

  // The claim's number, in its unit, by seed.
  const BySeed& values(std::size_t cell, const Measure& measure, const ResultPlace& place);

 private:
  absl::Status add(Store& store, ExperimentId experiment, const CellRow& row);
  const std::vector<std::string>& sets(const std::string& metric, const std::string& split);
  std::optional<ResultPlace> score_place(const ClaimValue& claim, const Measure& measure, const ClaimedCell& cell);
  std::optional<ResultPlace> cost_place(const ClaimValue& claim, const Measure& measure, const ClaimedCell& cell);
  std::optional<double> result(const TrialView& trial, const std::string& metric, const ResultPlace& place) const;

  const Catalog* catalog_ = nullptr;
  std::string name_;
  std::shared_ptr<const Outline> outline_;
  std::vector<TrialView> trials_;
  std::map<std::int64_t, std::vector<std::size_t>> by_cell_;  // indices into trials_
  ResultsByStage results_;
  std::map<std::int64_t, std::string> standing_;  // as LeaderboardSource has it
  std::vector<ExperimentCell> cells_;
  std::vector<std::string> labels_;  // of the cells
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> sets_;
  std::map<std::tuple<std::size_t, const Measure*, ResultPlace>, BySeed> values_;
};

}  // namespace locus::server
