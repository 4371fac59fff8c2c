// Which trials of which experiments reference a stage: for titles and notices, beyond what the scheduler decides.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "core/ports/mutations.h"
#include "core/ports/snapshot.h"
#include "core/scheduling/scheduler.h"

namespace locus::server {

struct TrialReference {
  ExperimentId experiment = 0;
  std::int64_t trial = 0;
  bool operator==(const TrialReference&) const = default;
};

// Thread-compatible: lives on the coordinator's strand. Knows every stage of live experiments and of those
// submitted since start.
class StageIndex {
 public:
  void load(const Snapshot& snapshot);
  void apply(const SaveExperiment& saved);
  // Stages that ended before this server started may be revived: their drafts say whose they are.
  void apply(const ExperimentSubmitted& submitted);
  void apply(const StagesRerun& rerun);      // whose experiment may have been cancelled, and so unknown
  void apply(const SearchDecided& decided);  // whose stages may have ended before this server started
  void apply(const ResolveTrials& resolved);
  void forget(ExperimentId id);
  const std::vector<TrialReference>& references(StageId stage) const;
  std::vector<std::string> experiments_of(StageId stage) const;
  const std::string& name_of(ExperimentId id) const;
  std::string title_of(StageId stage) const;  // "NAME/ORDINAL" of the first reference; empty: none known

 private:
  void add(StageId stage, TrialReference reference);
  void add(const std::map<std::string, ExperimentSubmitted::StageDraft>& drafts);
  std::unordered_map<StageId, std::vector<TrialReference>> references_;
  std::unordered_map<ExperimentId, std::string> names_;
};

}  // namespace locus::server
