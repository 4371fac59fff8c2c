// The tables as the rules of writing see them: get and put by key, inside one transaction. Each store
// supplies its own.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/experiment/model.h"

namespace locus {

// Thread-compatible. Knows no rule: keeps what it is given, and is rolled back by its owner when a rule
// refuses. An implementation may throw for a failure of the medium; its owner catches that.
class Rows {
 public:
  virtual ~Rows() = default;

  virtual void put_catalog(const std::string& digest,
                           const std::string& json) = 0;  // nothing if the digest is known

  virtual std::optional<ExperimentRow> experiment(ExperimentId id) = 0;
  virtual std::optional<ExperimentRow> experiment(const std::string& name) = 0;
  virtual void put_experiment(const ExperimentRow& row) = 0;
  virtual bool has_cell(ExperimentId experiment, std::int64_t ordinal) = 0;
  virtual void put_cell(ExperimentId experiment, const CellRow& row) = 0;
  virtual bool has_trial(ExperimentId experiment, std::int64_t ordinal) = 0;
  virtual void put_trial(ExperimentId experiment, const TrialRow& row) = 0;
  virtual void put_trial_stage(ExperimentId experiment, const TrialStageRow& row, std::int64_t position) = 0;
  virtual std::optional<std::string> request(const std::string& request_id) = 0;  // the experiment's name
  virtual void put_request(const std::string& request_id, const std::string& name, Microseconds now) = 0;

  virtual std::optional<StageRow> stage(StageId id) = 0;  // inputs and outputs may be left empty
  virtual bool has_identity(const std::string& identity) = 0;
  virtual void insert_stage(const StageRow& row) = 0;  // without inputs and outputs
  virtual void update_stage(const StageRow& row) = 0;  // state, class, reason, attempt, counters, delay
  virtual bool has_input(StageId id, const std::string& slot) = 0;
  virtual void put_input(StageId id, const StageInput& input) = 0;
  virtual void fill_input(StageId id, const std::string& slot, const std::string& sha256) = 0;
  virtual void replace_results(StageId id,
                               std::span<const Result> results) = 0;  // a later one of equal key wins
  virtual void replace_outputs(StageId id, std::span<const StageOutput> outputs) = 0;

  virtual std::optional<AttemptRow> attempt(StageId id, std::int64_t number) = 0;
  virtual void put_attempt(const AttemptRow& row) = 0;
  virtual std::optional<CheckpointRow> checkpoint(StageId id, std::int64_t number, std::int64_t step) = 0;
  virtual void put_checkpoint(const CheckpointRow& row) = 0;
  virtual void clear_best(StageId id) = 0;

  virtual bool has_artifact(const std::string& sha256) = 0;
  virtual void put_artifact(const ArtifactRow& row) = 0;  // nothing if the digest is known
  virtual bool has_worker(WorkerId id) = 0;
  virtual std::optional<WorkerId> worker_named(const std::string& name) = 0;
  virtual void put_worker(const WorkerRow& row) = 0;
  virtual void append_event(const std::string& subject, const std::string& kind, const std::string& json,
                            Microseconds now) = 0;

  virtual std::optional<std::int64_t> series(StageId id, const SeriesKey& key) = 0;
  virtual std::int64_t series_count(StageId id) = 0;
  virtual std::int64_t insert_series(StageId id, const SeriesKey& key) = 0;
  // Stores points [skip, size) as sequences first_seq + skip and on, and moves the attempt's acknowledged
  // mark there. series_ids[i] is the id of batch.series[i].
  virtual void store_points(const AttemptRow& attempt, std::int64_t first_seq, const PointBatch& batch,
                            std::size_t skip, std::span<const std::int64_t> series_ids) = 0;
};

}  // namespace locus
