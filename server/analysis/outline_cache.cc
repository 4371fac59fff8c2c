// The outlines of stored experiments.
#include "server/analysis/outline_cache.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/experiment/plan/planner.h"

namespace locus::server {
namespace {

constexpr std::size_t kOutlinesKept = 4096, kCellsKept = 100'000;  // some tens of MB at most

}  // namespace

absl::StatusOr<std::shared_ptr<const Outline>> OutlineCache::get(const ExperimentRow& row) {
  const Key key{row.id, row.revision};
  {
    absl::MutexLock lock(&mutex_);
    const auto found =
        std::find_if(recent_.begin(), recent_.end(), [&](const auto& entry) { return entry.first == key; });
    if (found != recent_.end()) {
      recent_.splice(recent_.begin(), recent_, found);
      return found->second;
    }
  }
  LOCUS_ASSIGN_OR_RETURN(const std::string document, store_.catalog(row.catalog_digest));
  LOCUS_ASSIGN_OR_RETURN(const Catalog catalog, Catalog::parse(Json::parse(document, nullptr, false)));
  LOCUS_ASSIGN_OR_RETURN(const ExperimentPlan plan,
                         plan_experiment(Json::parse(row.spec_json, nullptr, false), catalog));
  LOCUS_ASSIGN_OR_RETURN(Outline outline, make_outline(plan, catalog));
  auto shared = std::make_shared<const Outline>(std::move(outline));
  absl::MutexLock lock(&mutex_);
  recent_.emplace_front(key, shared);
  cells_ += shared->cells.size();
  while (recent_.size() > 1 && (recent_.size() > kOutlinesKept || cells_ > kCellsKept)) {
    cells_ -= recent_.back().second->cells.size();
    recent_.pop_back();
  }
  return shared;
}

}  // namespace locus::server
