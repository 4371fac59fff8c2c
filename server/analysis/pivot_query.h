// The pivot table: gathers, pivots, lets core/statistics compute, writes it down.
#pragma once

#include "absl/status/statusor.h"
#include "core/ports/store.h"
#include "locus/v1/analysis_service.pb.h"
#include "server/analysis/kept_answers.h"
#include "server/analysis/outline_cache.h"
#include "server/analysis/pivot_source.h"

namespace locus::server {

// Pure; errors as documented for the service. Deterministic: the same sources and request give the same
// bytes.
absl::StatusOr<v1::PaperTable> pivot_table_of(const PivotSources& sources, const v1::GetPaperTableRequest& request);

// Reads the sources and computes. Blocks. Thread-safe.
absl::StatusOr<v1::PaperTable> read_pivot_table(Store& store, OutlineCache& outlines,
                                                const v1::GetPaperTableRequest& request);

// The same, kept while nothing the table depends on has changed. Thread-safe; `store` and `outlines` must
// outlive it.
class PivotTables {
 public:
  PivotTables(Store& store, OutlineCache& outlines) : store_(store), outlines_(outlines) {}
  absl::StatusOr<std::shared_ptr<const v1::PaperTable>> get(const v1::GetPaperTableRequest& request);

 private:
  static constexpr std::size_t kBytesKept = 64 << 20;
  Store& store_;
  OutlineCache& outlines_;
  KeptAnswers<v1::PaperTable> kept_{kBytesKept};
};

}  // namespace locus::server
