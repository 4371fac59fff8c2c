// The store on SQLite: joins the writer and the readers.
#include "storage/sqlite/store.h"

#include <sqlite3.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "core/base/error.h"
#include "storage/rules/refusals.h"
#include "storage/rules/writes.h"
#include "storage/sqlite/data_folder.h"
#include "storage/sqlite/identity_rows.h"
#include "storage/sqlite/migrations.h"
#include "storage/sqlite/queries.h"
#include "storage/sqlite/readers.h"
#include "storage/sqlite/rows.h"
#include "storage/sqlite/writer.h"

namespace locus {
namespace {

using sqlite::Connection;

constexpr std::uintmax_t kCheckedBytes =
    512 << 20;  // a larger file would hold up the start; its blocks carry checksums anyway

constexpr std::size_t kFewMutations = 256;  // what changes more is committed by itself

class SqliteStore final : public Store {
 public:
  SqliteStore(sqlite::FolderLock lock, std::unique_ptr<Connection> writer, const std::filesystem::path& file,
              const SqliteOptions& options)
      : file_(file),
        vfs_(options.vfs),
        lock_(std::move(lock)),
        writer_(std::move(writer)),
        readers_(file, options.vfs, options.readers) {}

  absl::Status apply(std::span<const Mutation> mutations, Microseconds now_wall_us) override {
    const bool many = mutations.size() > kFewMutations || std::ranges::any_of(mutations, [](const Mutation& one) {
                        return std::holds_alternative<SaveExperiment>(one);
                      });
    return writer_.run(
        [&](sqlite::SqliteRows& rows) {
          sqlite::Writer::Outcome outcome{apply_mutations(rows, mutations, now_wall_us), writes_events(mutations)};
          const Recounted recounted = recounted_by(mutations);
          outcome.recounted = recounted.experiments;
          for (const StageId id : recounted.stages) outcome.recounted.merge(rows.experiments_linking(id));
          return outcome;
        },
        many ? sqlite::Writer::Rows::kMany : sqlite::Writer::Rows::kFew);
  }

  absl::StatusOr<std::int64_t> append(const PointAppend& append, Microseconds) override {
    std::int64_t acked = 0;
    LOCUS_RETURN_IF_ERROR(writer_.run([&](Rows& rows) {
      std::size_t stored = 0;
      const auto result = append_points(rows, append, &stored);
      acked = result.value_or(0);
      return sqlite::Writer::Outcome{result.status(), stored > 0};
    }));
    return acked;
  }

  void on_commit(std::function<void(std::int64_t)> callback) override { writer_.on_commit(std::move(callback)); }

  absl::StatusOr<Snapshot> load() override {
    return read<Snapshot>([](Connection& db) { return sqlite::load_snapshot(db); });
  }
  absl::StatusOr<std::string> catalog(const std::string& digest) override {
    return read<std::string>([&](Connection& db) -> absl::StatusOr<std::string> {
      auto s = db.prepare("SELECT json FROM catalog WHERE digest = ?");
      if (!s.bind(digest).step()) return refusal::catalog_not_found(digest);
      return s.text(0);
    });
  }
  absl::StatusOr<std::vector<ExtensionRow>> extensions() override {
    return read<std::vector<ExtensionRow>>([](Connection& db) { return sqlite::list_extensions(db); });
  }
  absl::StatusOr<ExperimentRow> experiment(const std::string& name) override {
    return read<ExperimentRow>([&](Connection& db) { return sqlite::find_experiment(db, name); });
  }
  absl::StatusOr<ExperimentRow> experiment(ExperimentId id) override {
    return read<ExperimentRow>([&](Connection& db) { return sqlite::find_experiment(db, id); });
  }
  absl::StatusOr<std::vector<ExperimentRow>> experiments(ExperimentId before, int limit) override {
    return read<std::vector<ExperimentRow>>(
        [&](Connection& db) { return sqlite::list_experiments(db, before, limit); });
  }
  absl::StatusOr<std::string> experiment_of_request(const std::string& request_id) override {
    return read<std::string>([&](Connection& db) -> absl::StatusOr<std::string> {
      auto s = db.prepare("SELECT experiment FROM idempotency WHERE request_id = ?");
      if (!s.bind(request_id).step()) return refusal::request_not_found(request_id);
      return s.text(0);
    });
  }
  absl::StatusOr<StageCounts> counts(ExperimentId id) override {
    // Every page asks, of 100,000 trials it takes 250 ms: kept until a write may have changed it.
    const std::int64_t commits = writer_.commits_of(id);
    {
      const std::lock_guard lock(counts_mutex_);
      const auto kept = counts_.find(id);
      if (kept != counts_.end() && kept->second.first >= commits) return kept->second.second;
    }
    auto counts = read<StageCounts>([&](Connection& db) { return sqlite::count_stages(db, id); });
    const std::lock_guard lock(counts_mutex_);
    if (counts.ok()) {
      auto& kept = counts_.try_emplace(id, commits, *counts).first->second;
      if (kept.first < commits) kept = {commits, *counts};
    } else {
      counts_.erase(id);  // it was deleted
    }
    return counts;
  }
  absl::StatusOr<std::vector<CellRow>> cells(ExperimentId id) override {
    return read<std::vector<CellRow>>([&](Connection& db) { return sqlite::list_cells(db, id); });
  }
  absl::StatusOr<std::vector<TrialView>> trials(ExperimentId id, std::int64_t after, int limit) override {
    return read<std::vector<TrialView>>([&](Connection& db) { return sqlite::list_trials(db, id, after, limit); });
  }
  absl::StatusOr<std::map<std::string, StageRow>> stages_by_identity(std::span<const std::string> identities) override {
    return read<std::map<std::string, StageRow>>([&](Connection& db) { return sqlite::find_stages(db, identities); });
  }
  absl::StatusOr<std::vector<PastRun>> past_runs(const std::string& load, int limit) override {
    return read<std::vector<PastRun>>([&](Connection& db) { return sqlite::list_past_runs(db, load, limit); });
  }
  absl::StatusOr<StageRow> stage(StageId id) override {
    return read<StageRow>([&](Connection& db) { return sqlite::find_stage(db, id); });
  }
  absl::StatusOr<std::vector<AttemptRow>> attempts(StageId id) override {
    return read<std::vector<AttemptRow>>([&](Connection& db) { return sqlite::list_attempts(db, id); });
  }
  absl::StatusOr<std::vector<CheckpointRow>> checkpoints(StageId id) override {
    return read<std::vector<CheckpointRow>>([&](Connection& db) { return sqlite::list_checkpoints(db, id); });
  }
  absl::StatusOr<std::vector<ResultView>> results(ExperimentId id) override {
    return read<std::vector<ResultView>>([&](Connection& db) { return sqlite::list_results(db, id); });
  }
  absl::StatusOr<std::vector<ResultView>> results(ExperimentId id, const std::string& metric) override {
    return read<std::vector<ResultView>>([&](Connection& db) { return sqlite::list_results(db, id, metric); });
  }
  absl::StatusOr<StageBriefs> briefs(ExperimentId id) override {
    return read<StageBriefs>([&](Connection& db) { return sqlite::list_briefs(db, id); });
  }
  absl::StatusOr<std::vector<StageReference>> references(StageId id) override {
    return read<std::vector<StageReference>>([&](Connection& db) { return sqlite::list_references(db, id); });
  }
  absl::StatusOr<std::vector<Result>> stage_results(StageId id) override {
    return read<std::vector<Result>>([&](Connection& db) { return sqlite::list_stage_results(db, id); });
  }
  absl::StatusOr<std::vector<SeriesRow>> series(StageId id) override {
    return read<std::vector<SeriesRow>>([&](Connection& db) { return sqlite::list_series(db, id); });
  }
  absl::StatusOr<std::vector<SeriesRow>> series_of(ExperimentId id) override {
    return read<std::vector<SeriesRow>>([&](Connection& db) { return sqlite::list_series_of(db, id); });
  }
  absl::StatusOr<SeriesPoints> points(StageId id, const SeriesKey& key, int max_points, StepRange range) override {
    return read<SeriesPoints>([&](Connection& db) { return sqlite::find_points(db, id, key, max_points, range); });
  }
  absl::StatusOr<std::vector<SeriesBlock>> blocks(StageId id, const SeriesKey& key, int shift,
                                                  StepRange range) override {
    return read<std::vector<SeriesBlock>>(
        [&](Connection& db) { return sqlite::find_blocks(db, id, key, shift, range); });
  }
  absl::StatusOr<ArtifactRow> artifact(const std::string& sha256) override {
    return read<ArtifactRow>([&](Connection& db) -> absl::StatusOr<ArtifactRow> {
      auto row = sqlite::SqliteRows(db).artifact(sha256);
      if (!row) return refusal::artifact_not_found(sha256);
      return *std::move(row);
    });
  }
  absl::StatusOr<std::set<StageId>> stages_naming(const std::string& sha256) override {
    return read<std::set<StageId>>([&](Connection& db) { return sqlite::SqliteRows(db).stages_naming(sha256); });
  }
  absl::StatusOr<std::vector<WorkerRow>> workers() override {
    return read<std::vector<WorkerRow>>([](Connection& db) { return sqlite::list_workers(db); });
  }
  absl::StatusOr<std::vector<EventRow>> events(std::int64_t after, int limit) override {
    return read<std::vector<EventRow>>([&](Connection& db) { return sqlite::list_events(db, after, limit); });
  }
  absl::StatusOr<std::int64_t> last_event() override { return number("SELECT COALESCE(MAX(id), 0) FROM event"); }
  absl::StatusOr<std::int64_t> attempts_started() override {
    return number(
        "SELECT (SELECT COUNT(*) FROM attempt) + COALESCE((SELECT value FROM remembered WHERE name = "
        "'attempts'), 0)");
  }

  absl::StatusOr<Deletion> deletion(ExperimentId id) override {
    return read<Deletion>([&](Connection& db) { return sqlite::find_deletion(db, id); });
  }
  absl::StatusOr<Purge> next_purge(int trials) override {
    return read<Purge>([&](Connection& db) { return sqlite::find_purge(db, trials); });
  }
  absl::StatusOr<std::vector<AttemptRow>> attempts_of_worker(WorkerId id, int limit) override {
    return read<std::vector<AttemptRow>>(
        [&](Connection& db) { return sqlite::list_attempts_of_worker(db, id, limit); });
  }
  absl::StatusOr<LogView> log(StageId id, std::int64_t number, std::int64_t offset, std::int64_t most) override {
    return read<LogView>([&](Connection& db) { return sqlite::find_log(db, id, number, offset, most); });
  }
  absl::StatusOr<std::vector<ArtifactView>> artifacts(const std::string& after, int limit) override {
    return read<std::vector<ArtifactView>>([&](Connection& db) { return sqlite::list_artifacts(db, after, limit); });
  }
  absl::StatusOr<std::vector<StageId>> stages_to_release(StageId after, int limit) override {
    return read<std::vector<StageId>>([&](Connection& db) { return sqlite::list_stages_to_release(db, after, limit); });
  }
  absl::StatusOr<std::map<std::int64_t, Annotation>> annotations(ExperimentId id) override {
    return read<std::map<std::int64_t, Annotation>>([&](Connection& db) { return sqlite::list_annotations(db, id); });
  }
  absl::StatusOr<std::vector<ForeignImport>> foreign(ExperimentId id, const ForeignQuery& query) override {
    return read<std::vector<ForeignImport>>([&](Connection& db) { return sqlite::list_foreign(db, id, query); });
  }
  absl::StatusOr<std::vector<AttemptSample>> samples(StageId id) override {
    return read<std::vector<AttemptSample>>([&](Connection& db) { return sqlite::list_samples(db, id); });
  }
  absl::StatusOr<std::vector<SystemSample>> worker_samples(WorkerId id) override {
    return read<std::vector<SystemSample>>([&](Connection& db) { return sqlite::list_worker_samples(db, id); });
  }
  absl::StatusOr<std::vector<AlertRow>> alerts() override {
    return read<std::vector<AlertRow>>([](Connection& db) { return sqlite::list_alerts(db); });
  }
  absl::StatusOr<SearchRow> search(ExperimentId id) override {
    return read<SearchRow>([&](Connection& db) { return sqlite::find_search(db, id); });
  }
  absl::StatusOr<std::vector<SearchRow>> running_searches() override {
    return read<std::vector<SearchRow>>([](Connection& db) { return sqlite::list_running_searches(db); });
  }
  absl::StatusOr<std::vector<DecisionRow>> decisions(ExperimentId id, std::int64_t after, int limit) override {
    return read<std::vector<DecisionRow>>([&](Connection& db) { return sqlite::list_decisions(db, id, after, limit); });
  }
  absl::StatusOr<std::pair<ExperimentId, std::int64_t>> decision_of_request(const std::string& request_id) override {
    return read<std::pair<ExperimentId, std::int64_t>>(
        [&](Connection& db) { return sqlite::find_decision_of_request(db, request_id); });
  }
  IdentityReads& identity() override { return identity_; }
  absl::StatusOr<AccountUse> account_use(const std::string& owner, ExperimentId but) override {
    return read<AccountUse>([&](Connection& db) { return sqlite::count_account_use(db, owner, but); });
  }
  // On a connection of its own, whose snapshot holds while the writer goes on.
  absl::StatusOr<int> copy_to(const std::filesystem::path& copy) override {
    try {
      Connection connection(file_, Connection::Mode::kRead, vfs_);
      connection.execute("PRAGMA query_only=OFF");
      connection.prepare("VACUUM INTO ?").bind(copy.string()).run();
      return static_cast<int>(connection.number("PRAGMA user_version"));
    } catch (const sqlite::SqliteError& error) {
      return sqlite::to_status(error);
    }
  }
  absl::StatusOr<StoreReport> check() override {
    try {
      Connection connection(file_, Connection::Mode::kRead, vfs_);
      StoreReport out{sqlite::list_problems(connection), 0, 0};
      out.bytes = connection.number("PRAGMA page_size") * connection.number("PRAGMA page_count");
      out.schema_version = static_cast<int>(connection.number("PRAGMA user_version"));
      return out;
    } catch (const sqlite::SqliteError& error) {
      return sqlite::to_status(error);
    }
  }

 private:
  template <class T, class Query>
  absl::StatusOr<T> read(Query query) {
    return readers_.run([&](Connection& db) -> absl::StatusOr<T> { return query(db); });
  }
  absl::StatusOr<std::int64_t> number(const char* sql) {
    return read<std::int64_t>([&](Connection& db) { return db.number(sql); });
  }

  const std::filesystem::path file_;
  const std::string vfs_;
  sqlite::FolderLock lock_;  // before the rest, so that it is released last
  sqlite::Writer writer_;
  std::mutex counts_mutex_;
  std::map<ExperimentId, std::pair<std::int64_t, StageCounts>>
      counts_;               // with Writer::commits_of before they were read
  sqlite::Readers readers_;  // closed before the writer, whose close then empties the log
  sqlite::SqliteIdentityReads identity_{readers_};
};

absl::Status unusable_file(const std::filesystem::path& file, const std::string& why) {
  return make_error(absl::StatusCode::kFailedPrecondition, ErrorReason::kDataFolderUnusable,
                    "the database " + file.string() + " cannot be used: " + why, {}, {{"file", file.string()}});
}

absl::Status check(Connection& connection, const std::filesystem::path& file) {
  std::error_code error;
  if (std::filesystem::file_size(file, error) > kCheckedBytes || error) return absl::OkStatus();
  const std::string verdict = connection.word("PRAGMA quick_check(1)");
  if (verdict == "ok") return absl::OkStatus();
  return unusable_file(file,
                       "it is damaged (" + verdict + "); restore a backup, or move it away to start with an empty one");
}

}  // namespace

absl::StatusOr<std::unique_ptr<Store>> open_sqlite_store(const std::filesystem::path& folder, Clock& clock,
                                                         const SqliteOptions& options) {
  LOCUS_ASSIGN_OR_RETURN(auto lock, sqlite::FolderLock::acquire(folder));
  const std::filesystem::path file = folder / "locus.db";
  try {
    auto writer = std::make_unique<Connection>(file, Connection::Mode::kWrite, options.vfs);
    LOCUS_RETURN_IF_ERROR(check(*writer, file));
    LOCUS_RETURN_IF_ERROR(sqlite::migrate(*writer, clock.wall()));
    return std::make_unique<SqliteStore>(std::move(lock), std::move(writer), file, options);
  } catch (const sqlite::SqliteError& error) {
    const bool damaged = (error.code() & 0xff) == SQLITE_NOTADB || (error.code() & 0xff) == SQLITE_CORRUPT;
    const char* remedy =
        damaged        ? "; it is damaged or no database: restore a backup, or move it away to start with an empty one"
        : error.full() ? "; free space on its disk"
                       : "; make the folder writable, or choose another one";
    return unusable_file(file, error.what() + std::string(remedy));
  }
}

absl::StatusOr<StoreReport> check_sqlite_file(const std::filesystem::path& file, std::vector<ArtifactRow>* named) {
  try {
    Connection connection(file, Connection::Mode::kRead, "");
    if (!sqlite::is_ours(connection)) return unusable_file(file, "it is no database of Locus");
    StoreReport out{sqlite::list_problems(connection), 0, 0};
    out.bytes = connection.number("PRAGMA page_size") * connection.number("PRAGMA page_count");
    out.schema_version = static_cast<int>(connection.number("PRAGMA user_version"));
    auto s = connection.prepare(
        "SELECT sha256, kind, uri, bytes, pinned FROM artifact a WHERE pinned "
        "OR EXISTS (SELECT 1 FROM checkpoint c WHERE c.sha256 = a.sha256) "
        "OR EXISTS (SELECT 1 FROM stage_output o WHERE o.sha256 = a.sha256) "
        "OR EXISTS (SELECT 1 FROM stage_input i WHERE i.artifact_sha256 = a.sha256) ORDER BY sha256");
    while (s.step()) named->push_back({s.text(0), s.text(1), s.text(2), s.integer(3), s.integer(4) != 0, 0});
    return out;
  } catch (const sqlite::SqliteError& error) {
    return sqlite::to_status(error);
  }
}

}  // namespace locus
