// Keeps searches going: whenever something of an experiment with a search has ended, its conductor is asked, and what it
// decides is posted to the scheduler.
#pragma once

#include <memory>
#include <set>

#include "absl/status/statusor.h"
#include "core/conduct/conduct.h"
#include "server/runtime/coordinator.h"

namespace locus::server {

// Owns one thread. Public members are thread-safe.
class SearchRunner {
 public:
  // Takes up every running search of the store. All must outlive it.
  static std::unique_ptr<SearchRunner> start(Store& store, SearchScript& script, Coordinator& coordinator,
                                             Clock& clock);
  virtual ~SearchRunner() = default;

  // Something of the experiment may have become known; returns at once. Experiments without a search are ignored.
  // `trials` says of which, if of nothing else; null: of any.
  virtual void poke(ExperimentId experiment, const std::set<std::int64_t>* trials = nullptr) = 0;
  // Takes a client's proposal or a person's verdict into the log, with what the rules answer, and waits until it is stored. Repeats on
  // WRONG_STATE unless `after_decision` is given and the log has grown past it. `record` is written with it. The fold
  // afterwards.
  virtual absl::StatusOr<Fold> decide(ExperimentId experiment, const SearchWish& wish,
                                      std::optional<std::int64_t> after_decision,
                                      const std::optional<AppendAudit>& record = std::nullopt) = 0;
  // The fold of the log as stored, kept between calls; cheap. NOT_FOUND (SEARCH_NOT_FOUND).
  virtual absl::StatusOr<Fold> fold(ExperimentId experiment) = 0;
  // Why the last decision of the experiment could not be made; empty: it could. For people.
  virtual std::string trouble(ExperimentId experiment) = 0;
  virtual void stop() = 0;  // idempotent
};

}  // namespace locus::server
