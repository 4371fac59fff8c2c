// What the storage tests share.
#include "tests/storage/world.h"

#include <unistd.h>

#include <cstdlib>
#include <stdexcept>

#include "core/identity/audit.h"

namespace locus::testing {
namespace {

Json to_json(const ExperimentRow& e) {
  return {e.id,       e.name,           e.owner,     e.spec_json, e.revision, to_string(e.state),
          e.priority, e.catalog_digest, e.created_us};
}

Json to_json(const StageRow& s) {
  Json inputs = Json::array(), outputs = Json::array();
  for (const auto& i : s.inputs) inputs.push_back({i.slot, i.from_stage, i.artifact_sha256});
  for (const auto& o : s.outputs) outputs.push_back({o.slot, o.sha256, o.step});
  return {s.id,
          s.identity,
          s.kind,
          s.config_json,
          s.seed,
          to_string(s.state),
          to_string(s.failure_class),
          s.reason,
          s.attempt,
          s.failures,
          s.faults,
          s.retry_delay_us,
          inputs,
          outputs};
}

Json to_json(const AttemptRow& a) {
  return {
      a.stage_id,         a.number,      a.worker_id,     a.session,   to_string(a.state), to_string(a.failure_class),
      a.reason,           a.resume_step, a.resume_sha256, a.acked_seq, a.started_us,       a.ended_us,
      a.environment_json, a.slots,       a.until_step};
}

Json to_json(const CheckpointRow& c) { return {c.stage_id, c.attempt, c.step, c.sha256, c.best}; }

Json to_json(const Result& r) {
  return {r.key.metric, r.key.split, r.key.labels, r.reducer, number_to_json(r.value), r.step};
}

Json to_json(const WorkerRow& w) {
  return {w.id, w.name, w.session, w.host, w.version, w.slots_json, w.catalog_digest, to_string(w.state), w.seen_us};
}

template <class Rows>
Json all(const Rows& rows) {
  Json out = Json::array();
  for (const auto& row : rows) out.push_back(to_json(row));
  return out;
}

Json picture_of_stage(Store& store, StageId id) {
  Json out = {{"row", to_json(store.stage(id).value())},
              {"attempts", all(store.attempts(id).value())},
              {"checkpoints", all(store.checkpoints(id).value())},
              {"results", all(store.stage_results(id).value())}};
  for (const SeriesRow& series : get(store.series(id))) {
    Json points = Json::array();
    const auto found = store.points(id, series.key, 0).value();
    for (const Point& p : found.points)
      points.push_back({p.step, p.epoch, p.images, p.time_us, number_to_json(p.value)});
    out["series"].push_back({series.id, series.key.metric, series.key.split, series.key.labels, series.points, points});
  }
  return out;
}

Json picture_of_experiment(Store& store, ExperimentId id) {
  Json out = {{"row", to_json(store.experiment(id).value())}};
  for (const CellRow& c : get(store.cells(id))) {
    out["cells"].push_back({c.ordinal, c.row_key, c.label, c.assignment_json});
  }
  for (const TrialView& view : get(store.trials(id, -1, 1000))) {
    Json stages = Json::array();
    for (const auto& s : view.stages)
      stages.push_back({s.link.trial, s.link.role, s.link.stage_id, s.link.until_step, to_json(s.stage)});
    out["trials"].push_back({view.trial.ordinal, view.trial.cell, view.trial.seed, view.trial.retired, stages});
  }
  for (const ResultView& view : get(store.results(id))) {
    out["results"].push_back({view.stage_id, to_json(view.result)});
  }
  if (const auto search = store.search(id); search.ok()) {
    out["search"] = {search->generation, search->decided, to_string(search->state), search->reason};
  }
  for (const DecisionRow& d : get(store.decisions(id, 0, 0))) {
    out["decisions"].push_back({d.number, d.generation, d.phase, d.kind, d.json, d.rule, d.rule_revision, d.principal,
                                d.request_id, d.time_us});
  }
  return out;
}

}  // namespace

TempFolder::TempFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "locus-storage-XXXXXX").string();
  if (!mkdtemp(pattern.data())) throw std::runtime_error("mkdtemp failed for " + pattern);
  path_ = pattern;
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

StageRow train_stage(StageId id) {
  StageRow row;
  row.id = id;
  row.identity = "identity-" + std::to_string(id);
  row.kind = "train";
  row.config_json = R"({"epochs":2})";
  row.seed = id;
  row.state = StageState::kQueued;
  return row;
}

StageRow evaluate_stage(StageId id, StageId source) {
  StageRow row = train_stage(id);
  row.kind = "evaluate";
  row.config_json = R"({"resolution":28})";
  row.state = StageState::kBlocked;
  row.inputs = {{"checkpoint", source, ""}};
  return row;
}

SaveExperiment small_experiment() {
  SaveExperiment m;
  m.row.id = 1;
  m.row.name = "priors";
  m.row.owner = "ada";
  m.row.spec_json = R"({"version":1})";
  m.row.catalog_digest = "digest";
  m.row.created_us = 77;
  m.cells = {{0, R"({"prior":"none"})", "none", R"({"prior":[]})"}};
  m.trials = {{0, 0, 0, false}, {1, 0, 1, false}};
  m.stages = {train_stage(1), evaluate_stage(2, 1), train_stage(3), evaluate_stage(4, 3)};
  m.trial_stages = {{0, "train", 1}, {0, "evaluate", 2}, {1, "train", 3}, {1, "evaluate", 4}};
  m.request_id = "request-1";
  return m;
}

std::vector<Mutation> world() {
  WorkerRow worker;
  worker.id = 1;
  worker.name = "node-a";
  worker.session = "session-a";
  worker.slots_json = R"([{"device":"cpu"}])";
  return {PutCatalog{"digest", R"({"priors":[]})"},
          PutWorker{worker},
          PutArtifact{kShaA, "checkpoint", "store:" + kShaA, 10},
          PutArtifact{kShaB, "checkpoint", "store:" + kShaB, 20},
          small_experiment(),
          AppendEvent{"experiments/priors", "experiment-created", R"({"experiments":["priors"]})"}};
}

GrantAttempt grant(StageId stage, std::int64_t attempt, std::int64_t resume_step, std::string resume_sha256) {
  return {stage, attempt, 1, "session-a", {0, 1}, std::move(resume_sha256), resume_step, 1000 * attempt};
}

EndAttempt end(StageId stage, std::int64_t attempt, AttemptState outcome, StageState state) {
  EndAttempt m;
  m.stage_id = stage;
  m.attempt = attempt;
  m.outcome = outcome;
  m.stage_state = state;
  m.ended_us = 1000 * attempt + 500;
  return m;
}

PointBatch ramp(std::int64_t first_step, int n, const SeriesKey& key) {
  PointBatch batch;
  batch.series = {key};
  for (int i = 0; i < n; ++i) {
    const std::int64_t step = first_step + i;
    batch.series_index.push_back(0);
    batch.step.push_back(step);
    batch.epoch.push_back(static_cast<double>(step) / 100);
    batch.images.push_back(step * 32);
    batch.time_us.push_back(1'000'000 + step);
    batch.value.push_back(static_cast<double>(step));
  }
  return batch;
}

PointAppend points_of(StageId stage, std::int64_t attempt, std::int64_t first_seq, PointBatch batch) {
  return {stage, attempt, first_seq, std::move(batch)};
}

absl::Status apply(Store& store, std::vector<Mutation> mutations) { return store.apply(mutations, kNow); }

Json picture_of_identity(IdentityReads& reads) {
  Json out = Json::array();
  for (const PrincipalRow& row : get(reads.principals())) out.push_back({row.name, row.account, row.created_us});
  for (const TokenRow& row : get(reads.tokens()))
    out.push_back({row.id, row.secret_hash, row.principal, to_string(row.role), row.created_us, row.expires_us,
                   row.revoked_us, row.used_us});
  for (const SessionRow& row : get(reads.sessions()))
    out.push_back({row.hash, row.token_id, row.address, row.created_us, row.used_us, row.expires_us});
  for (const InvitationRow& row : get(reads.invitations()))
    out.push_back({row.hash, row.name, row.account, row.labels_json, to_string(row.role), row.made_by, row.created_us,
                   row.expires_us, row.used_us});
  for (const CertificateRow& row : get(reads.certificates()))
    out.push_back({row.serial, row.principal, to_string(row.role), row.labels_json, row.issued_us, row.expires_us,
                   row.revoked_us});
  for (const AccountRow& row : get(reads.accounts()))
    out.push_back({row.name, row.weight, row.may_be_urgent, row.devices, row.urgent_devices, row.device_hours,
                   row.queued_trials, row.experiments, row.artifact_bytes, row.created_us});
  for (const UsageRow& row : get(reads.usage())) out.push_back({row.account, row.used, row.at_us, row.by_day});
  for (const AuditRow& row : get(reads.audit(0, 1'000'000))) out.push_back({row.id, audit_digest(row)});
  const AuditChain chain = get(reads.audit_chain());
  out.push_back({chain.first, chain.first_previous, chain.last, chain.last_digest});
  return out;
}

Json picture(Store& store) {
  Json out;
  const Snapshot snapshot = store.load().value();
  for (ExperimentId id = 1; id < snapshot.next_experiment; ++id) {
    if (store.experiment(id).ok()) out["experiments"].push_back(picture_of_experiment(store, id));
  }
  for (StageId id = 1; id < snapshot.next_stage; ++id) {
    if (store.stage(id).ok()) out["stages"].push_back(picture_of_stage(store, id));
  }
  out["next"] = {snapshot.next_experiment, snapshot.next_stage, snapshot.next_worker};
  out["identity"] = picture_of_identity(store.identity());
  out["workers"] = all(store.workers().value());
  for (const EventRow& e : get(store.events(0, 1'000'000))) {
    out["events"].push_back({e.id, e.time_us, e.subject, e.kind, e.json});
  }
  for (const std::string& sha : {kShaA, kShaB, kShaUnknown}) {
    const auto row = store.artifact(sha);
    if (row.ok()) out["artifacts"].push_back({row->sha256, row->kind, row->uri, row->bytes, row->pinned});
  }
  for (const char* digest : {"digest", "digest-2"}) out["catalogs"].push_back(store.catalog(digest).value_or("absent"));
  const auto extensions = get(store.extensions());
  for (const ExtensionRow& e : extensions)
    out["extensions"].push_back({e.name, e.by, e.digest, e.items_json, e.loaded_us});
  for (const char* request : {"request-1", "request-2"}) {
    out["requests"].push_back(store.experiment_of_request(request).value_or("absent"));
  }
  out["attempts_started"] = store.attempts_started().value();
  return out;
}

std::string reason_of(const absl::Status& status) {
  if (status.ok()) return "OK";
  const auto detail = error_detail(status);
  return detail ? std::string(to_string(detail->reason)) : "NONE";
}

}  // namespace locus::testing
