// The best row of every experiment's leaderboard.
#include "server/application/best_row.h"

#include <cmath>

namespace locus::server {
namespace {

constexpr std::size_t kRowsKept = 10'000;

}  // namespace

std::optional<v1::BestRow> BestRows::of(const ExperimentRow& row, const StageCounts& counts) {
  const auto succeeded = counts.by_state.find(StageState::kSucceeded);
  if (succeeded == counts.by_state.end() || succeeded->second == 0) return std::nullopt;
  const auto known = leaderboards_.version(row, counts);
  if (!known.ok()) return std::nullopt;
  const TableVersion& version = *known;
  {
    absl::MutexLock lock(&mutex_);
    const auto found = rows_.find(row.id);
    if (found != rows_.end() && found->second.first == version) return found->second.second;
  }
  std::optional<v1::BestRow> best = compute(row, counts);
  absl::MutexLock lock(&mutex_);
  if (rows_.size() >= kRowsKept) rows_.clear();  // deleted experiments among them
  rows_[row.id] = {version, best};
  return best;
}

std::optional<v1::BestRow> BestRows::compute(const ExperimentRow& row, const StageCounts& counts) {
  v1::GetTableRequest usual;
  usual.set_experiment(row.name);
  const auto found = leaderboards_.of(row, counts, usual);
  if (!found.ok() || (*found)->rows_size() == 0) return std::nullopt;
  const v1::Table& table = **found;
  const v1::TableRow& first = table.rows(0);
  if (first.n() == 0 || !std::isfinite(first.mean())) return std::nullopt;
  v1::BestRow out;
  out.set_cell(first.cell());
  out.set_label(first.label());
  out.set_mean(first.mean());
  out.set_std(first.std());
  out.set_n(first.n());
  out.set_metric(table.metric());
  out.set_unit(table.unit());
  if (first.has_look()) *out.mutable_look() = first.look();
  return out;
}

}  // namespace locus::server
