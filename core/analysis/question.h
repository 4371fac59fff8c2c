// Which number is asked for: one rule for every answer that shows a metric. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/analysis/outline.h"
#include "core/analysis/queries.h"

namespace locus {

// Unit and direction of a metric as the experiment's contract and catalog declare them; empty where they do
// not, so that nothing is called best.
struct MetricFacts {
  std::string unit, direction;
};
MetricFacts metric_facts(const Outline& outline, const std::string& metric);

// Metrics, splits and labels that an experiment plans or has measured. A name among them may have no number
// yet; any other is a slip: INVALID_ARGUMENT that says what there is.
class KnownNames {
 public:
  void add(const Outline& outline);
  void add(const SeriesKey& key);
  void add(const ResultsByStage& results);

  absl::Status check_metric(const std::string& metric, const std::string& field = "metric") const;
  // Of a metric that is known. An empty split names what belongs to none.
  absl::Status check_split(const std::string& metric, const std::string& split,
                           const std::string& field = "split") const;
  // Canonical, of a metric and split that are known.
  absl::Status check_labels(const SeriesKey& key, const std::string& field = "labels") const;

 private:
  std::set<std::string> metrics_, splits_;
  std::map<std::string, std::set<std::string>> splits_of_;  // by metric, measured
  std::set<SeriesKey> measured_;
  std::map<std::string, std::set<std::string>> planned_;  // label -> its values, canonical
};

// As asked for: what is empty is chosen.
struct Asked {
  std::string metric, split, labels;
};
struct Question {
  SeriesKey key;
  std::string unit, direction, reducer;
};
// The contract's metric and split unless others are asked for; without labels asked for, those of the training
// resolution, else none, else the first there are. INVALID_ARGUMENT for what nobody knows.
absl::StatusOr<Question> complete_question(const Outline& outline, const std::vector<TrialView>& trials,
                                           const ResultsByStage& results, const Asked& asked);

// What rows are compared with: the baseline's label, or "none, same train.lr" where each is compared with the
// baseline of its own remaining factors; empty without a baseline.
std::string baseline_text(const Outline& outline);

}  // namespace locus
