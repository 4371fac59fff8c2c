// A store that watches: passes everything to the real one, keeps its own books of what was accepted, and
// checks the invariants that are about what is stored.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/ports/store.h"
#include "core/scheduling/scheduler.h"
#include "tests/simulation/exchange_watch.h"
#include "tests/simulation/place_watch.h"
#include "tests/simulation/search_watch.h"
#include "tests/simulation/share_watch.h"
#include "tests/simulation/world.h"

namespace locus::simulation {

const SeriesKey kLoss{"loss", "train", "{}"};

// What a trainer computes at a step: the same whichever attempt gets there, and for whom. Every 7th is not a number,
// which is data too.
double loss_at(const std::string& config_json, std::int64_t step);
// Marks a point with the attempt and the sequence under which its trainer made it.
std::int64_t point_tag(std::int64_t attempt, std::int64_t seq);

struct AttemptRecord {
  AttemptState state = AttemptState::kRunning;
  WorkerId worker = 0;
  std::vector<int> slots = {};
  std::int64_t resume_step = 0;
  FailureClass failure_class = FailureClass::kNone;
  Microseconds ended_at = 0;  // true time
  std::vector<Point> points;  // as accepted, by sequence
};

struct StageRecord {
  std::string kind, config_json;
  bool alone() const { return kind == "measure"; }
  StageState state = StageState::kBlocked;
  std::int64_t attempt = 0;
  FailureClass failure_class = FailureClass::kNone;
  std::map<std::int64_t, AttemptRecord> attempts;
};

class Ledger final : public Store {
 public:
  Ledger(World& world, std::unique_ptr<Store> store) : world_(world), store_(std::move(store)), searches_(world) {}

  absl::Status apply(std::span<const Mutation> mutations, Microseconds now_wall_us) override;
  absl::StatusOr<std::int64_t> append(const PointAppend& append, Microseconds now_wall_us) override;

  // The worker was told that points up to `seq` are stored.
  void acknowledged(StageId stage, std::int64_t attempt, std::int64_t seq);
  const std::map<StageId, StageRecord>& stages() const { return stages_; }
  const AttemptRecord* attempt(StageId stage, std::int64_t attempt) const;
  std::set<std::string>& blobs() { return blobs_; }           // the artifact store's files
  bool take_moved() { return std::exchange(moved_, false); }  // whether anything was written that a search may see
  std::set<StageId> take_dirty() { return std::exchange(dirty_, {}); }

  void check_stage(StageId id);          // rows against the books: invariants 1, 3, 7, 8
  void check_curve(StageId id);          // points as read against what the trainers sent: invariants 1, 2, 7
  void check_limit(const Grant& grant);  // its time limit against the stored specifications: invariant 12
  void check_all();
  SearchWatch& searches() { return searches_; }
  ShareWatch& shares() { return shares_; }
  ExchangeWatch& exchanges() { return exchanges_; }
  PlaceWatch& places() { return places_; }

  // ---- the rest of the port, passed on ----
  IdentityReads& identity() override { return store_->identity(); }
  absl::StatusOr<AccountUse> account_use(const std::string& owner, ExperimentId but) override {
    return store_->account_use(owner, but);
  }
  void on_commit(std::function<void(std::int64_t)> callback) override { store_->on_commit(std::move(callback)); }
  absl::StatusOr<Snapshot> load() override { return store_->load(); }
  absl::StatusOr<std::string> catalog(const std::string& digest) override { return store_->catalog(digest); }
  absl::StatusOr<std::vector<ExtensionRow>> extensions() override { return store_->extensions(); }
  absl::StatusOr<ExperimentRow> experiment(const std::string& name) override { return store_->experiment(name); }
  absl::StatusOr<ExperimentRow> experiment(ExperimentId id) override { return store_->experiment(id); }
  absl::StatusOr<std::vector<ExperimentRow>> experiments(ExperimentId before, int limit) override {
    return store_->experiments(before, limit);
  }
  absl::StatusOr<std::string> experiment_of_request(const std::string& id) override {
    return store_->experiment_of_request(id);
  }
  absl::StatusOr<StageCounts> counts(ExperimentId id) override { return store_->counts(id); }
  absl::StatusOr<std::vector<CellRow>> cells(ExperimentId id) override { return store_->cells(id); }
  absl::StatusOr<std::vector<TrialView>> trials(ExperimentId id, std::int64_t after, int limit) override {
    return store_->trials(id, after, limit);
  }
  absl::StatusOr<std::map<std::string, StageRow>> stages_by_identity(std::span<const std::string> ids) override {
    return store_->stages_by_identity(ids);
  }
  absl::StatusOr<std::vector<PastRun>> past_runs(const std::string& load, int limit) override {
    return store_->past_runs(load, limit);
  }
  absl::StatusOr<StageRow> stage(StageId id) override { return store_->stage(id); }
  absl::StatusOr<std::vector<AttemptRow>> attempts(StageId id) override { return store_->attempts(id); }
  absl::StatusOr<std::vector<CheckpointRow>> checkpoints(StageId id) override { return store_->checkpoints(id); }
  absl::StatusOr<std::vector<StageReference>> references(StageId id) override { return store_->references(id); }
  absl::StatusOr<std::vector<ResultView>> results(ExperimentId id) override { return store_->results(id); }
  absl::StatusOr<std::vector<ResultView>> results(ExperimentId id, const std::string& metric) override {
    return store_->results(id, metric);
  }
  absl::StatusOr<StageBriefs> briefs(ExperimentId id) override { return store_->briefs(id); }
  absl::StatusOr<std::vector<Result>> stage_results(StageId id) override { return store_->stage_results(id); }
  absl::StatusOr<std::vector<SeriesRow>> series(StageId id) override { return store_->series(id); }
  absl::StatusOr<std::vector<SeriesRow>> series_of(ExperimentId id) override { return store_->series_of(id); }
  absl::StatusOr<SeriesPoints> points(StageId id, const SeriesKey& key, int max_points, StepRange range) override {
    return store_->points(id, key, max_points, range);
  }
  absl::StatusOr<std::vector<SeriesBlock>> blocks(StageId id, const SeriesKey& key, int shift,
                                                  StepRange range) override {
    return store_->blocks(id, key, shift, range);
  }
  absl::StatusOr<ArtifactRow> artifact(const std::string& sha256) override { return store_->artifact(sha256); }
  absl::StatusOr<std::set<StageId>> stages_naming(const std::string& sha) override {
    return store_->stages_naming(sha);
  }
  absl::StatusOr<std::vector<WorkerRow>> workers() override { return store_->workers(); }
  absl::StatusOr<std::vector<EventRow>> events(std::int64_t after, int limit) override {
    return store_->events(after, limit);
  }
  absl::StatusOr<std::int64_t> last_event() override { return store_->last_event(); }
  absl::StatusOr<std::int64_t> attempts_started() override { return store_->attempts_started(); }
  absl::StatusOr<Deletion> deletion(ExperimentId id) override { return store_->deletion(id); }
  absl::StatusOr<Purge> next_purge(int trials) override { return store_->next_purge(trials); }
  absl::StatusOr<std::vector<AttemptRow>> attempts_of_worker(WorkerId id, int limit) override {
    return store_->attempts_of_worker(id, limit);
  }
  absl::StatusOr<LogView> log(StageId id, std::int64_t attempt, std::int64_t offset, std::int64_t most) override {
    return store_->log(id, attempt, offset, most);
  }
  absl::StatusOr<std::vector<ArtifactView>> artifacts(const std::string& after, int limit) override {
    return store_->artifacts(after, limit);
  }
  absl::StatusOr<std::vector<StageId>> stages_to_release(StageId after, int limit) override {
    return store_->stages_to_release(after, limit);
  }
  absl::StatusOr<std::vector<ForeignImport>> foreign(ExperimentId id, const ForeignQuery& query) override {
    return store_->foreign(id, query);
  }
  absl::StatusOr<std::map<std::int64_t, Annotation>> annotations(ExperimentId id) override {
    return store_->annotations(id);
  }
  absl::StatusOr<std::vector<AttemptSample>> samples(StageId id) override { return store_->samples(id); }
  absl::StatusOr<std::vector<SystemSample>> worker_samples(WorkerId id) override { return store_->worker_samples(id); }
  absl::StatusOr<std::vector<AlertRow>> alerts() override { return store_->alerts(); }
  absl::StatusOr<SearchRow> search(ExperimentId id) override { return store_->search(id); }
  absl::StatusOr<std::vector<SearchRow>> running_searches() override { return store_->running_searches(); }
  absl::StatusOr<std::vector<DecisionRow>> decisions(ExperimentId id, std::int64_t after, int limit) override {
    return store_->decisions(id, after, limit);
  }
  absl::StatusOr<std::pair<ExperimentId, std::int64_t>> decision_of_request(const std::string& id) override {
    return store_->decision_of_request(id);
  }
  absl::StatusOr<int> copy_to(const std::filesystem::path& file) override { return store_->copy_to(file); }
  absl::StatusOr<StoreReport> check() override { return store_->check(); }

 private:
  void enter(const SaveExperiment& mutation);
  void enter(const ResolveTrials& mutation);
  void enter(const AppendDecisions& mutation) { searches_.enter(mutation, *store_); }
  void enter(const DeleteExperiment& mutation) { searches_.forget(mutation.id); }
  void enter_new(const std::vector<StageRow>& stages);
  void enter(const SetStageState& mutation);
  void enter(const GrantAttempt& mutation);
  void enter(const EndAttempt& mutation);
  void enter(const CommitCheckpoint& mutation);
  void enter(const AppendEvent& mutation) { exchanges_.enter(mutation, shares_, *store_, world_.now()); }
  void enter(const SetExperimentPlacement& mutation) { places_.enter(mutation); }
  void enter(const PutWorker& mutation) { workers_[mutation.row.id] = mutation.row; }
  void check_data(StageId id, WorkerId worker);
  void check_share(const GrantAttempt& mutation);
  ShareWatch::Waiting waiting(StageId id, const StageRecord& record) const;
  void enter_deletion(const std::vector<StageId>& gone);
  template <class Other>
  void enter(const Other&) {}
  void move(StageId id, StageState from, StageState to);
  void check_alone(const GrantAttempt& grant) const;
  void check_places(const GrantAttempt& grant);
  void check_attempts(StageId id, const StageRecord& record);
  void check_files(StageId id);
  std::vector<Point> expected_curve(const StageRecord& record) const;

  World& world_;
  Microseconds wall_ = 0;  // when the newest mutations were made, by their server
  std::unique_ptr<Store> store_;
  std::map<StageId, StageRecord> stages_;
  std::map<std::pair<StageId, std::int64_t>, std::int64_t> acknowledged_;
  std::set<std::string> blobs_;
  std::set<StageId> dirty_;
  bool moved_ = false;
  std::map<WorkerId, WorkerRow> workers_;
  SearchWatch searches_;
  ShareWatch shares_;
  ExchangeWatch exchanges_;
  PlaceWatch places_;
  // Of deleted stages: what ran under them ended then.
  std::map<std::pair<StageId, std::int64_t>, AttemptRecord> gone_;
  bool submission_ = false;  // the batch under way holds one, or a rerun: only then may a stage be revived
};

}  // namespace locus::simulation
