// What can be planned with now: the catalog of this build, and what workers have brought to it.
#pragma once

#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "core/base/clock.h"
#include "core/catalog/catalog.h"
#include "core/ports/store.h"
#include "locus/v1/worker_service.pb.h"

namespace locus::server {

// Every catalog that was ever current is stored under its digest, so that an experiment is planned again as it was, whoever
// is connected. Thread-safe; all but current() blocks on the store. `store` and `clock` must outlive it.
class Catalogs {
 public:
  Catalogs(Catalog base, Store& store, Clock& clock);

  // Stores the base and takes up what workers brought before this server started. What this build no longer takes (it has
  // an item of that name itself by now) is left out with a warning.
  absl::Status open();
  // Never null; stays as it is while it is held.
  std::shared_ptr<const Catalog> current() const;
  // Takes what a worker brings; nothing is written where it is known. INVALID_ARGUMENT and CATALOG_MISMATCH as
  // with_extensions(); LIMIT_EXCEEDED for more than 16 extensions, or one of more than 256 KiB.
  absl::Status learn(const v1::RegisterWorkerRequest& announced);
  // Takes one out again; the row that it had, or NOT_FOUND (UNKNOWN_ITEM). `deed` is written with it. Whether something uses
  // it is the caller's to find out.
  absl::StatusOr<ExtensionRow> forget(const std::string& name, const Mutation& deed);

 private:
  absl::Status adopt(const std::vector<ExtensionRow>& rows, std::vector<Mutation> mutations)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(learning_);

  const Catalog base_;
  Store& store_;
  Clock& clock_;
  absl::Mutex learning_;  // one at a time
  mutable absl::Mutex mutex_;
  std::shared_ptr<const Catalog> current_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace locus::server
