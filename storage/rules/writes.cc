// What every store must check and change.
#include "storage/rules/writes.h"

#include <algorithm>
#include <map>

#include "core/limits.h"
#include "storage/rules/accounts.h"
#include "storage/rules/deletion.h"
#include "storage/rules/identity.h"
#include "storage/rules/metadata.h"
#include "storage/rules/refusals.h"
#include "storage/rules/searches.h"
#include "storage/rules/trials.h"

namespace locus {
namespace {

using refusal::invalid;
using refusal::wrong_state;

class Rules {
 public:
  Rules(Rows& rows, Microseconds now) : rows_(rows), now_(now) {}

  absl::Status operator()(const PutCatalog& m) {
    rows_.put_catalog(m.digest, m.json);
    return absl::OkStatus();
  }

  absl::Status operator()(const PutExtension& m) {
    rows_.put_extension(m.row);
    return absl::OkStatus();
  }

  absl::Status operator()(const RemoveExtension& m) {
    rows_.erase_extension(m.name);
    return absl::OkStatus();
  }

  absl::Status operator()(const SaveExperiment& m) {
    LOCUS_RETURN_IF_ERROR(save_row(m));
    LOCUS_RETURN_IF_ERROR(put_trials(rows_, m.row.id, m.cells, m.trials));
    LOCUS_RETURN_IF_ERROR(insert_stages(rows_, m.stages));
    LOCUS_RETURN_IF_ERROR(put_links(rows_, m.row.id, m.trial_stages));
    if (m.expected_revision > 0) drop_other_links(rows_, m.row.id, m.trials, m.trial_stages);
    return remember_request(m);
  }

  absl::Status operator()(const SetExperimentState& m) {
    auto row = rows_.experiment(m.id);
    if (!row) return refusal::experiment_not_found(m.id);
    if (row->state != m.from) {
      return wrong_state("experiment '" + row->name + "' is " + to_string(row->state) + ", not " + to_string(m.from) +
                             ": read it again",
                         {{"experiment", row->name}, {"state", to_string(row->state)}});
    }
    row->state = m.to;
    row->reason = m.reason;
    rows_.put_experiment(*row);
    return absl::OkStatus();
  }

  absl::Status operator()(const SetExperimentPlacement& m) {
    auto row = rows_.experiment(m.id);
    if (!row) return refusal::experiment_not_found(m.id);
    row->placement = m.placement;
    rows_.put_experiment(*row);
    return absl::OkStatus();
  }

  absl::Status operator()(const DeleteExperiment& m) {
    const auto row = rows_.experiment(m.id);
    if (!row) return refusal::experiment_not_found(m.id);
    for (const StageId id : rows_.running_stages(m.id)) {
      if (!goes_with(rows_, id, m.id)) continue;
      return wrong_state(
          "experiment '" + row->name + "' cannot be deleted while its stage " + text(id) + " runs: cancel it first",
          {{"experiment", row->name}, {"stage", text(id)}});
    }
    rows_.remember_deletion(0);
    rows_.hide_experiment(m.id);
    return absl::OkStatus();
  }

  absl::Status operator()(const PurgeDeleted& m) { return purge_deleted(rows_, m); }

  absl::Status operator()(const SetStageState& m) {
    auto stage = rows_.stage(m.stage_id);
    if (!stage) return refusal::stage_not_found(m.stage_id);
    if (stage->attempt != m.attempt || stage->state != m.from) return refusal::stale_attempt(*stage, m.attempt, "move");
    if (m.from == StageState::kRunning || m.to == StageState::kRunning || m.from == StageState::kSucceeded) {
      return wrong_state("stage " + text(m.stage_id) + " cannot go from " + to_string(m.from) + " to " +
                             to_string(m.to) +
                             " this way: running is entered by a grant and left by an attempt's end, "
                             "succeeded is final",
                         {{"stage", text(m.stage_id)}, {"state", to_string(m.from)}});
    }
    LOCUS_RETURN_IF_ERROR(check_parking(m));
    for (const auto& [slot, sha256] : m.inputs) {
      if (!rows_.has_input(m.stage_id, slot)) {
        return invalid("stage " + text(m.stage_id) + " has no input slot '" + slot + "'", "inputs");
      }
      rows_.fill_input(m.stage_id, slot, sha256);
    }
    stage->state = m.to;
    stage->failure_class = m.failure_class;
    stage->reason = m.reason;
    stage->retry_delay_us = m.retry_delay_us;
    if (m.forgive) stage->failures = stage->faults = 0;
    rows_.update_stage(*stage);
    return absl::OkStatus();
  }

  absl::Status operator()(const GrantAttempt& m) {
    auto stage = rows_.stage(m.stage_id);
    if (!stage) return refusal::stage_not_found(m.stage_id);
    if (stage->state != StageState::kQueued || stage->attempt != m.attempt - 1) {
      return refusal::stale_attempt(*stage, m.attempt, "grant");
    }
    if (!rows_.has_worker(m.worker_id)) return refusal::worker_not_found(m.worker_id);
    if (m.until_step < kToTheEnd) {
      return invalid("an attempt cannot be granted up to step " + text(m.until_step), "until_step");
    }
    stage->state = StageState::kRunning;
    stage->attempt = m.attempt;
    stage->failure_class = FailureClass::kNone;
    stage->reason.clear();
    stage->retry_delay_us = 0;
    rows_.update_stage(*stage);
    AttemptRow attempt;
    attempt.stage_id = m.stage_id;
    attempt.number = m.attempt;
    attempt.worker_id = m.worker_id;
    attempt.session = m.session;
    attempt.resume_step = m.resume_step;
    attempt.resume_sha256 = m.resume_sha256;
    attempt.started_us = m.started_us;
    attempt.slots = m.slots;
    attempt.until_step = m.until_step;
    attempt.service_class = m.service_class;
    attempt.accounts = m.accounts;
    rows_.put_attempt(attempt);
    return absl::OkStatus();
  }

  absl::Status operator()(const EndAttempt& m) {
    auto stage = rows_.stage(m.stage_id);
    if (!stage) return refusal::stage_not_found(m.stage_id);
    if (!holds(*stage, m.attempt)) return refusal::stale_attempt(*stage, m.attempt, "end");
    const bool succeeded = m.outcome == AttemptState::kSucceeded;
    if (!can_leave(m.outcome, m.stage_state)) {
      return wrong_state("an attempt cannot end " + std::string(to_string(m.outcome)) + " and leave its stage " +
                             to_string(m.stage_state),
                         {{"stage", text(m.stage_id)}, {"outcome", to_string(m.outcome)}});
    }
    if (succeeded) {
      for (const StageOutput& output : m.outputs) {
        if (!rows_.has_artifact(output.sha256)) return refusal::artifact_not_found(output.sha256);
      }
      rows_.replace_results(m.stage_id, m.results);
      rows_.replace_outputs(m.stage_id, m.outputs);
    }
    auto attempt = rows_.attempt(m.stage_id, m.attempt);
    attempt->state = m.outcome;
    attempt->failure_class = m.failure_class;
    attempt->reason = m.reason;
    attempt->ended_us = m.ended_us;
    attempt->environment_json = m.environment_json;
    rows_.put_attempt(*attempt);
    stage->state = m.stage_state;
    stage->failure_class = m.failure_class;
    stage->reason = m.reason;
    stage->failures += m.counts_as_failure ? 1 : 0;
    stage->faults += m.counts_as_fault ? 1 : 0;
    stage->retry_delay_us = m.retry_delay_us;
    rows_.update_stage(*stage);
    return absl::OkStatus();
  }

  absl::Status operator()(const CommitCheckpoint& m) {
    const auto stage = rows_.stage(m.stage_id);
    if (!stage) return refusal::stage_not_found(m.stage_id);
    if (!holds(*stage, m.attempt)) return refusal::stale_attempt(*stage, m.attempt, "commit a checkpoint of");
    if (!rows_.has_artifact(m.sha256)) return refusal::artifact_not_found(m.sha256);
    const auto known = rows_.checkpoint(m.stage_id, m.attempt, m.step);
    if (known && known->sha256 == m.sha256) return absl::OkStatus();  // a resend must not move the best mark back
    if (m.best) rows_.clear_best(m.stage_id);
    rows_.put_checkpoint({m.stage_id, m.attempt, m.step, m.sha256, m.best});
    return absl::OkStatus();
  }

  absl::Status operator()(const PutArtifact& m) {
    rows_.put_artifact({m.sha256, m.kind, m.uri, m.bytes, false, now_});
    return absl::OkStatus();
  }

  absl::Status operator()(const PinArtifact& m) {
    if (!rows_.has_artifact(m.sha256)) return refusal::artifact_not_found(m.sha256);
    rows_.set_pinned(m.sha256, m.pinned);
    return absl::OkStatus();
  }

  absl::Status operator()(const CollectArtifact& m) {
    const auto row = rows_.artifact(m.sha256);
    if (!row) return refusal::artifact_not_found(m.sha256);
    if (row->pinned || row->created_us >= m.created_before || !rows_.stages_naming(m.sha256).empty()) {
      return wrong_state("artifact " + m.sha256 + " is in use, pinned or too young to be collected",
                         {{"sha256", m.sha256}});
    }
    rows_.erase_artifact(m.sha256);
    return absl::OkStatus();
  }

  absl::Status operator()(const ReleaseCheckpoints& m) {
    auto stage = rows_.stage(m.stage_id);
    if (!stage) return refusal::stage_not_found(m.stage_id);
    for (const CheckpointRow& row : spare_checkpoints(rows_, *stage)) rows_.erase_checkpoint(row);
    return absl::OkStatus();
  }

  absl::Status operator()(const AppendLog& m) {
    const auto stage = rows_.stage(m.stage_id);
    if (!stage) return refusal::stage_not_found(m.stage_id);
    const auto attempt = rows_.attempt(m.stage_id, m.attempt);
    if (!attempt || (m.session != attempt->session && m.session != rows_.session_of(attempt->worker_id))) {
      return refusal::stale_attempt(*stage, m.attempt, "add to the log of");
    }
    if (m.offset < 0) return invalid("a log has no offset " + text(m.offset), "offset");
    if (static_cast<std::int64_t>(m.text.size()) > kLogPieceBytes) {
      return refusal::limit_exceeded("a piece of log of " + std::to_string(m.text.size()) + " bytes is more than " +
                                     std::to_string(kLogPieceBytes) + ": send smaller ones");
    }
    if (m.offset > attempt->log_bytes) return refusal::log_gap(*attempt, m.offset);
    const auto skip = static_cast<std::size_t>(attempt->log_bytes - m.offset);
    if (skip < m.text.size()) rows_.append_log(*attempt, m.text.substr(skip));
    return absl::OkStatus();
  }

  absl::Status operator()(const PutWorker& m) {
    const auto holder = rows_.worker_named(m.row.name);
    if (holder && *holder != m.row.id) {
      return wrong_state(
          "the worker name '" + m.row.name + "' belongs to worker " + text(*holder) + ", not to " + text(m.row.id),
          {{"worker", m.row.name}});
    }
    rows_.put_worker(m.row);
    return absl::OkStatus();
  }

  absl::Status operator()(const AppendDecisions& m) { return append_decisions(rows_, m, now_); }
  absl::Status operator()(const ResolveTrials& m) { return resolve_trials(rows_, m); }
  absl::Status operator()(const Annotate& m) { return annotate(rows_, m); }
  absl::Status operator()(const AddAttemptSample& m) { return add_sample(rows_, m, now_); }
  absl::Status operator()(const AddWorkerSample& m) { return add_sample(rows_, m, now_); }
  absl::Status operator()(const PutForeign& m) { return put_foreign(rows_, m, now_); }
  absl::Status operator()(const RemoveForeign& m) { return remove_foreign(rows_, m); }
  absl::Status operator()(const PutAlert& m) { return put_alert(rows_, m); }
  absl::Status operator()(const ForgetAlerts&) {
    rows_.erase_alerts();
    return absl::OkStatus();
  }

  absl::Status operator()(const PutAccount& m) { return change_account(rows_.accounts(), m, now_); }
  absl::Status operator()(const RemoveAccount& m) { return change_account(rows_.accounts(), m); }
  absl::Status operator()(const ChargeAccount& m) { return change_account(rows_.accounts(), m); }

  // Every other one is of identities.
  template <class M>
  absl::Status operator()(const M& m) {
    return change_identity(rows_.identity(), m, now_);
  }

  absl::Status operator()(const AppendEvent& m) {
    rows_.append_event(m.subject, m.kind, m.json, now_);
    return absl::OkStatus();
  }

 private:
  static std::string text(std::int64_t value) { return std::to_string(value); }
  static bool holds(const StageRow& stage, std::int64_t attempt) {
    return stage.state == StageState::kRunning && stage.attempt == attempt;
  }

  // Whether an attempt that ends like that can leave its stage in this state.
  static bool can_leave(AttemptState outcome, StageState stage) {
    if (outcome == AttemptState::kRunning || stage == StageState::kRunning || stage == StageState::kBlocked)
      return false;
    if (stage == StageState::kSucceeded) return outcome == AttemptState::kSucceeded;
    if (outcome != AttemptState::kParked) return stage != StageState::kParked;
    return stage == StageState::kParked || stage == StageState::kQueued || stage == StageState::kCancelled;
  }

  // What has parked goes on, or stays; what is queued parks when nobody wants a step of it any more.
  static absl::Status check_parking(const SetStageState& m) {
    const bool left = m.from == StageState::kParked, entered = m.to == StageState::kParked;
    const StageState other = left ? m.to : m.from;
    if ((!left && !entered) || (left != entered && other == StageState::kQueued)) return absl::OkStatus();
    return wrong_state("stage " + text(m.stage_id) + " cannot go from " + to_string(m.from) + " to " + to_string(m.to) +
                           ": parked is left for queued alone, and entered from there or at an attempt's end",
                       {{"stage", text(m.stage_id)}, {"state", to_string(m.from)}});
  }

  absl::Status save_row(const SaveExperiment& m) {
    if (m.row.revision != m.expected_revision + 1) {
      return invalid("revision " + text(m.row.revision) + " does not follow revision " + text(m.expected_revision),
                     "row.revision");
    }
    if (m.expected_revision == 0) {
      if (rows_.experiment(m.row.name)) return refusal::experiment_exists(m.row.name);
      if (rows_.experiment(m.row.id)) return wrong_state("experiment id " + text(m.row.id) + " is taken");
      rows_.put_experiment(m.row);
      return absl::OkStatus();
    }
    const auto stored = rows_.experiment(m.row.id);
    if (!stored) return refusal::experiment_not_found(m.row.id);
    if (stored->revision != m.expected_revision || stored->name != m.row.name) {
      return wrong_state("experiment '" + stored->name + "' is at revision " + text(stored->revision) + ", not '" +
                             m.row.name + "' at " + text(m.expected_revision) + ": read it again and submit again",
                         {{"experiment", stored->name}, {"revision", text(stored->revision)}});
    }
    ExperimentRow row = m.row;
    row.created_us = stored->created_us;
    rows_.put_experiment(row);
    return absl::OkStatus();
  }

  absl::Status remember_request(const SaveExperiment& m) {
    if (m.request_id.empty()) return absl::OkStatus();
    const auto known = rows_.request(m.request_id);
    if (known && *known != m.row.name) {
      return wrong_state(
          "request '" + m.request_id + "' already made experiment '" + *known + "': give every request its own id",
          {{"request_id", m.request_id}, {"experiment", *known}});
    }
    rows_.put_request(m.request_id, m.row.name, now_);
    return absl::OkStatus();
  }

  Rows& rows_;
  Microseconds now_;
};

}  // namespace

std::vector<CheckpointRow> spare_checkpoints(Rows& rows, StageRow stage) {
  stage.outputs = rows.outputs_of(stage.id);
  const auto checkpoints = rows.checkpoints_of(stage.id);
  const auto attempts = rows.attempts_of(stage.id);
  const bool wanted = stage.state != StageState::kParked || wanted_further(rows.live_wants(stage.id));
  const auto roles = checkpoint_roles(stage, checkpoints, attempts, wanted, [&](const std::string& sha256) {
    const auto row = rows.artifact(sha256);
    return row && row->pinned;
  });
  std::vector<CheckpointRow> out;
  for (std::size_t i = 0; i < checkpoints.size(); ++i) {
    if (roles[i].empty()) out.push_back(checkpoints[i]);
  }
  return out;
}

absl::Status apply_mutations(Rows& rows, std::span<const Mutation> mutations, Microseconds now_wall_us) {
  Rules rules(rows, now_wall_us);
  for (const Mutation& mutation : mutations) LOCUS_RETURN_IF_ERROR(std::visit(rules, mutation));
  return absl::OkStatus();
}

bool writes_events(std::span<const Mutation> mutations) {
  return std::any_of(mutations.begin(), mutations.end(),
                     [](const Mutation& m) { return std::holds_alternative<AppendEvent>(m); });
}

Recounted recounted_by(std::span<const Mutation> mutations) {
  // Purging takes away what only deleted experiments had.
  Recounted out;
  for (const Mutation& mutation : mutations) {
    if (const auto* save = std::get_if<SaveExperiment>(&mutation)) out.experiments.insert(save->row.id);
    if (const auto* resolve = std::get_if<ResolveTrials>(&mutation)) out.experiments.insert(resolve->id);
    if (const auto* gone = std::get_if<DeleteExperiment>(&mutation)) out.experiments.insert(gone->id);
    if (const auto* state = std::get_if<SetStageState>(&mutation)) out.stages.insert(state->stage_id);
    if (const auto* grant = std::get_if<GrantAttempt>(&mutation)) out.stages.insert(grant->stage_id);
    if (const auto* end = std::get_if<EndAttempt>(&mutation)) out.stages.insert(end->stage_id);
  }
  return out;
}

}  // namespace locus
