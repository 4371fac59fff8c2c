// One trial in full.
#include <algorithm>

#include "core/analysis/queries.h"
#include "core/base/error.h"
#include "core/experiment/retention.h"
#include "server/analysis/looks.h"
#include "server/application/experiment_view.h"
#include "server/application/explanation.h"
#include "server/wire/convert.h"

namespace locus::server {
namespace {

absl::StatusOr<std::map<WorkerId, std::string>> worker_names(Store& store) {
  LOCUS_ASSIGN_OR_RETURN(const auto rows, store.workers());
  std::map<WorkerId, std::string> out;
  for (const WorkerRow& row : rows) out[row.id] = row.name;
  return out;
}

std::string text_member(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

void fill_attempt(const AttemptRow& row, const std::map<WorkerId, std::string>& names, v1::Attempt* attempt) {
  attempt->set_number(row.number);
  const auto name = names.find(row.worker_id);
  if (name != names.end()) attempt->set_worker(name->second);
  attempt->set_state(to_string(row.state));
  if (row.failure_class != FailureClass::kNone) attempt->set_failure_class(to_string(row.failure_class));
  attempt->set_reason(row.reason);
  attempt->set_resume_step(row.resume_step);
  attempt->set_resume_sha256(row.resume_sha256);
  *attempt->mutable_start_time() = to_timestamp(row.started_us);
  if (row.ended_us > 0) *attempt->mutable_end_time() = to_timestamp(row.ended_us);
  attempt->set_environment_json(row.environment_json);
  attempt->set_points(row.acked_seq);
  attempt->set_log_bytes(row.log_bytes);
  for (const int slot : row.slots) attempt->add_slots(slot);
  const Json environment = Json::parse(row.environment_json, nullptr, /*allow_exceptions=*/false);
  attempt->set_device(text_member(environment, "device"));
  attempt->set_device_name(text_member(environment, "device_name"));
  attempt->set_path(text_member(environment, "path"));
}

}  // namespace

absl::Status ExperimentViews::fill_checkpoints(const StageRow& stage, const std::vector<AttemptRow>& attempts,
                                               v1::StageDetail* out) {
  LOCUS_ASSIGN_OR_RETURN(const auto rows, store_.checkpoints(stage.id));
  std::map<std::string, ArtifactRow> artifacts;
  for (const CheckpointRow& row : rows) {
    if (auto artifact = store_.artifact(row.sha256); artifact.ok()) artifacts[row.sha256] = *std::move(artifact);
  }
  LOCUS_ASSIGN_OR_RETURN(const auto references, store_.references(stage.id));
  std::vector<std::int64_t> wants;
  for (const StageReference& reference : references) wants.push_back(reference.until_step);
  const auto roles = checkpoint_roles(stage, rows, attempts, wanted_further(wants), [&](const std::string& sha256) {
    const auto found = artifacts.find(sha256);
    return found != artifacts.end() && found->second.pinned;
  });
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto* checkpoint = out->add_checkpoints();
    checkpoint->set_attempt(rows[i].attempt);
    checkpoint->set_step(rows[i].step);
    checkpoint->set_sha256(rows[i].sha256);
    checkpoint->set_best(rows[i].best);
    checkpoint->set_role(roles[i]);
    checkpoint->set_present(artifacts_.size(rows[i].sha256).ok());
    const auto artifact = artifacts.find(rows[i].sha256);
    if (artifact == artifacts.end()) continue;
    checkpoint->set_bytes(artifact->second.bytes);
    checkpoint->set_pinned(artifact->second.pinned);
  }
  return absl::OkStatus();
}

absl::Status ExperimentViews::fill_stage(const TrialStageView& view, const std::map<WorkerId, std::string>& names,
                                         v1::StageDetail* out) {
  const StageRow& stage = view.stage;
  out->set_stage(stage.id);
  out->set_role(view.link.role);
  out->set_kind(stage.kind);
  out->set_state(to_string(stage.state));
  if (stage.failure_class != FailureClass::kNone) out->set_failure_class(to_string(stage.failure_class));
  out->set_identity(stage.identity);
  out->set_seed(stage.seed);
  out->set_failures(stage.failures);
  out->set_faults(stage.faults);
  out->set_config_json(stage.config_json);
  out->set_explanation(explain_stage(coordinator_, stage).sentence);
  for (const StageInput& input : stage.inputs) {
    auto* item = out->add_inputs();
    item->set_slot(input.slot);
    item->set_from_stage(input.from_stage);
    item->set_sha256(input.artifact_sha256);
  }
  LOCUS_ASSIGN_OR_RETURN(const auto attempts, store_.attempts(stage.id));
  for (const AttemptRow& row : attempts) fill_attempt(row, names, out->add_attempts());
  LOCUS_ASSIGN_OR_RETURN(const auto results, store_.stage_results(stage.id));
  for (const Result& result : results) to_proto(result, out->add_results());
  LOCUS_RETURN_IF_ERROR(fill_checkpoints(stage, attempts, out));
  for (const StageOutput& row : stage.outputs) {
    auto* output = out->add_outputs();
    output->set_slot(row.slot);
    output->set_sha256(row.sha256);
    output->set_step(row.step);
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::TrialDetail> ExperimentViews::trial(const v1::GetTrialRequest& request) {
  LOCUS_ASSIGN_OR_RETURN(const TrialOf found, find_trial(store_, request.name()));
  LOCUS_ASSIGN_OR_RETURN(const auto labels, cell_labels(found.experiment));
  LOCUS_ASSIGN_OR_RETURN(const auto names, worker_names(store_));
  v1::TrialDetail out;
  out.set_experiment(found.experiment.name);
  LOCUS_ASSIGN_OR_RETURN(const auto cells, store_.cells(found.experiment.id));
  for (const CellRow& cell : cells) {
    if (cell.ordinal == found.view.trial.cell) out.set_assignment_json(cell.assignment_json);
  }
  LOCUS_ASSIGN_OR_RETURN(auto trials, to_trials(found.experiment, {found.view}, labels));
  *out.mutable_trial() = std::move(trials.front());
  const Looks looks = read_looks(store_, outlines_, found.experiment);
  const auto look = looks.find(found.view.trial.cell);
  if (look != looks.end()) to_proto(look->second, out.mutable_trial()->mutable_look());
  for (const TrialStageView& view : found.view.stages) LOCUS_RETURN_IF_ERROR(fill_stage(view, names, out.add_stages()));
  return out;
}

}  // namespace locus::server
