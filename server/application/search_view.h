// What people see of searches, and what they and clients may decide: the calls of SearchService.
#pragma once

#include "absl/status/statusor.h"
#include "core/ports/store.h"
#include "locus/v1/search_service.pb.h"
#include "server/analysis/outline_cache.h"
#include "server/application/catalogs.h"
#include "server/authority/caller.h"
#include "server/runtime/search_runner.h"

namespace locus::server {

// Units that an answer lists unless all are asked for; of more it lists none.
inline constexpr std::size_t kUnitsListed = 256;
inline constexpr int kDecisionsUsual = 200, kDecisionsMost = 1000;
inline constexpr int kProposedMost = 1000;  // cells of one call
inline constexpr int kVerdictTrialsMost = 10'000;

// Thread-safe. Blocks on the store, and for what is decided on the scheduler. All must outlive it. Every call: EXPERIMENT_NOT_FOUND,
// SEARCH_NOT_FOUND.
class SearchViews {
 public:
  SearchViews(Store& store, SearchRunner& searches, OutlineCache& outlines, const Catalogs& catalogs)
      : store_(store), searches_(searches), outlines_(outlines), catalogs_(catalogs) {}

  absl::StatusOr<v1::Search> get(const v1::GetSearchRequest& request);
  absl::StatusOr<v1::ListDecisionsResponse> decisions(const v1::ListDecisionsRequest& request);
  absl::StatusOr<v1::BestSoFar> best(const v1::GetBestSoFarRequest& request);
  absl::StatusOr<v1::Importance> importance(const v1::GetImportanceRequest& request);

  absl::StatusOr<v1::ProposeResponse> propose(const v1::ProposeRequest& request, const Caller& caller);
  absl::StatusOr<v1::Search> stop(const v1::StopTrialsRequest& request, const Caller& caller);
  absl::StatusOr<v1::Search> go_on(const v1::ContinueTrialsRequest& request, const Caller& caller);

 private:
  struct Verdict {
    std::string experiment, reason;
    std::vector<std::int64_t> trials;
    bool go_on = false;
  };
  absl::StatusOr<v1::Search> decide(const Verdict& verdict, const Caller& caller);
  absl::StatusOr<v1::ProposeResponse> answer(const ExperimentRow& row, const Fold& fold, const std::string& request_id);

  Store& store_;
  SearchRunner& searches_;
  OutlineCache& outlines_;
  const Catalogs& catalogs_;
};

}  // namespace locus::server
