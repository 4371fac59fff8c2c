// The artifacts of experiments and trials.
#include "server/application/artifacts_view.h"

#include "core/analysis/queries.h"
#include "core/base/error.h"
#include "server/application/paging.h"

namespace locus::server {
namespace {

v1::Artifact describe(Store& store, ArtifactStore& artifacts, const std::string& sha256) {
  v1::Artifact out;
  out.set_sha256(sha256);
  out.set_present(artifacts.size(sha256).ok());
  if (const auto row = store.artifact(sha256); row.ok()) {
    out.set_kind(row->kind);
    out.set_bytes(row->bytes);
    out.set_pinned(row->pinned);
  }
  return out;
}

absl::Status add_trial(Store& store, ArtifactStore& artifacts, const std::string& experiment, const TrialView& view,
                       v1::ListArtifactsResponse* out) {
  for (const TrialStageView& stage : view.stages) {
    const auto add = [&](const std::string& sha256, std::int64_t step) {
      auto* item = out->add_artifacts();
      *item = describe(store, artifacts, sha256);
      item->set_trial(experiment + "/" + std::to_string(view.trial.ordinal));
      item->set_role(stage.link.role);
      item->set_stage(stage.stage.id);
      item->set_step(step);
      return item;
    };
    LOCUS_ASSIGN_OR_RETURN(const auto checkpoints, store.checkpoints(stage.stage.id));
    for (const CheckpointRow& row : checkpoints) {
      auto* item = add(row.sha256, row.step);
      item->set_attempt(row.attempt);
      item->set_best(row.best);
    }
    for (const StageOutput& output : stage.stage.outputs) add(output.sha256, output.step)->set_slot(output.slot);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::ListArtifactsResponse> list_artifacts(Store& store, ArtifactStore& artifacts,
                                                         const v1::ListArtifactsRequest& request) {
  LOCUS_ASSIGN_OR_RETURN(const int size, page_size(request.page_size()));
  LOCUS_ASSIGN_OR_RETURN(const std::int64_t after, parse_page_token("artifact", request.page_token(), -1));
  v1::ListArtifactsResponse out;
  if (request.name().find('/') != std::string::npos) {  // one page holds all of a trial's
    LOCUS_ASSIGN_OR_RETURN(const TrialOf found, find_trial(store, request.name()));
    LOCUS_RETURN_IF_ERROR(add_trial(store, artifacts, found.experiment.name, found.view, &out));
    return out;
  }
  LOCUS_ASSIGN_OR_RETURN(const ExperimentRow row, store.experiment(request.name()));
  LOCUS_ASSIGN_OR_RETURN(auto views, store.trials(row.id, after, size + 1));
  if (views.size() > static_cast<std::size_t>(size)) {
    views.resize(static_cast<std::size_t>(size));
    out.set_next_page_token(make_page_token("artifact", views.back().trial.ordinal));
  }
  for (const TrialView& view : views) LOCUS_RETURN_IF_ERROR(add_trial(store, artifacts, row.name, view, &out));
  return out;
}

absl::StatusOr<v1::LocateArtifactResponse> locate_artifact(ArtifactStore& artifacts,
                                                           const v1::LocateArtifactRequest& request) {
  constexpr std::chrono::minutes kLifetime(15);
  v1::LocateArtifactResponse out;
  LOCUS_ASSIGN_OR_RETURN(const std::int64_t bytes, artifacts.size(request.sha256()));
  out.set_bytes(bytes);
  out.set_url(artifacts.direct_url(request.sha256(), kLifetime));
  if (!out.url().empty()) out.set_lifetime_seconds(static_cast<int>(std::chrono::seconds(kLifetime).count()));
  return out;
}

absl::Status check_offset(std::int64_t offset, std::int64_t bytes) {
  if (offset >= 0 && offset <= bytes) return absl::OkStatus();
  return make_error(
      absl::StatusCode::kOutOfRange, ErrorReason::kInvalidArgument,
      "offset " + std::to_string(offset) + " lies outside the artifact's " + std::to_string(bytes) + " bytes", "offset",
      {{"offset", std::to_string(offset)}, {"bytes", std::to_string(bytes)}});
}

absl::StatusOr<v1::Artifact> pin_artifact(Store& store, ArtifactStore& artifacts, Clock& clock,
                                          const v1::PinArtifactRequest& request, const Caller& caller) {
  LOCUS_RETURN_IF_ERROR(artifacts.size(request.sha256()).status());
  const std::vector<Mutation> pin = {PinArtifact{request.sha256(), !request.unpin()}, caller.deed()};
  LOCUS_RETURN_IF_ERROR(store.apply(pin, clock.wall()));
  return describe(store, artifacts, request.sha256());
}

}  // namespace locus::server
