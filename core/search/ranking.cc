// Runs of scores, each short enough to be copied and searched.
#include "core/search/ranking.h"

#include <algorithm>
#include <limits>

#include "core/search/pieces.h"

namespace locus {
namespace {

constexpr std::size_t kRunMost = 512;

bool stands_before(const RankedScore& a, const RankedScore& b) {
  return a.score > b.score || (a.score == b.score && a.unit < b.unit);
}

}  // namespace

std::size_t Ranking::run_of(const RankedScore& one) const {
  const auto& runs = all_->runs;
  const auto after = std::partition_point(
      runs.begin(), runs.end(), [&](const std::shared_ptr<Run>& run) { return !stands_before(one, run->front()); });
  return after == runs.begin() ? 0 : static_cast<std::size_t>(after - runs.begin()) - 1;
}

void Ranking::insert(const RankedScore& one) {
  Runs& all = owned(all_);
  ++all.size;
  if (all.runs.empty()) return all.runs.push_back(std::make_shared<Run>(Run{one}));
  const std::size_t place = run_of(one);
  Run& run = owned(all.runs[place]);
  run.insert(std::lower_bound(run.begin(), run.end(), one, stands_before), one);
  if (run.size() <= kRunMost) return;
  const auto half = run.begin() + kRunMost / 2;
  auto rest = std::make_shared<Run>(half, run.end());
  run.erase(half, run.end());
  all.runs.insert(all.runs.begin() + static_cast<std::ptrdiff_t>(place) + 1, std::move(rest));
}

void Ranking::erase(const RankedScore& one) {
  Runs& all = owned(all_);
  const std::size_t place = run_of(one);
  Run& run = owned(all.runs[place]);
  run.erase(std::lower_bound(run.begin(), run.end(), one, stands_before));
  --all.size;
  if (run.empty()) all.runs.erase(all.runs.begin() + static_cast<std::ptrdiff_t>(place));
}

std::size_t Ranking::size() const { return all_ ? all_->size : 0; }

std::size_t Ranking::before(const RankedScore& one) const {
  if (empty()) return 0;
  const std::size_t place = run_of(one);
  std::size_t out = 0;
  for (std::size_t i = 0; i < place; ++i) out += all_->runs[i]->size();
  const Run& run = *all_->runs[place];
  return out + static_cast<std::size_t>(std::lower_bound(run.begin(), run.end(), one, stands_before) - run.begin());
}

std::size_t Ranking::at_least(double score) const { return before({score, std::numeric_limits<std::int64_t>::max()}); }

const RankedScore& Ranking::at(std::size_t place) const {
  auto run = all_->runs.begin();
  for (; place >= (*run)->size(); ++run) place -= (*run)->size();
  return (**run)[place];
}

std::vector<std::int64_t> Ranking::units(std::size_t from, std::size_t to) const {
  std::vector<std::int64_t> out;
  if (!all_ || from >= to) return out;
  out.reserve(to - from);
  std::size_t first = 0;  // of the run
  for (const auto& run : all_->runs) {
    for (std::size_t i = std::max(from, first); i < std::min(to, first + run->size()); ++i)
      out.push_back((*run)[i - first].unit);
    first += run->size();
  }
  return out;
}

}  // namespace locus
