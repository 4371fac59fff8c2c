// What people may ask of Locus, without a transport.
#include "server/application/api.h"

#include "core/base/error.h"
#include "core/base/utf8.h"
#include "core/limits.h"
#include "server/analysis/claims_query.h"
#include "server/analysis/compare_query.h"
#include "server/analysis/curves_query.h"
#include "server/analysis/looks.h"
#include "server/analysis/system_series.h"
#include "server/application/annotations.h"
#include "server/application/artifacts_view.h"
#include "server/application/explanation.h"
#include "server/application/export_query.h"
#include "server/application/log_query.h"
#include "server/application/rerun.h"
#include "server/application/search_check.h"
#include "server/application/search_standing.h"
#include "server/wire/convert.h"

namespace locus::server {
namespace {

constexpr std::chrono::seconds kPurgeWait{3};  // after which a deletion is answered while its rows still go

}  // namespace

Api::Api(Parts parts, std::string version)
    : store_(parts.store),
      artifacts_(parts.artifacts),
      catalogs_(parts.catalogs),
      pictures_(parts.pictures),
      coordinator_(parts.coordinator),
      maintenance_(parts.maintenance),
      purger_(parts.purger),
      disk_(parts.disk),
      clock_(parts.clock),
      claims_(parts.claims),
      desk_(parts.desk),
      started_(parts.clock.steady()),
      outlines_(store_),
      leaderboards_(store_, outlines_),
      pivot_tables_(store_, outlines_),
      submissions_(store_, catalogs_, coordinator_, clock_),
      views_(store_, artifacts_, coordinator_, outlines_, leaderboards_, parts.searches, clock_),
      workers_(store_, coordinator_, clock_),
      demand_(store_, catalogs_, coordinator_, clock_),
      gate_(parts.gate),
      end_calls_(parts.enrollment.end_calls),
      enrollment_(store_, clock_, parts.enrollment),
      runner_(parts.searches),
      searches_(store_, parts.searches, outlines_, catalogs_) {
  server_.set_version(std::move(version));
  server_.set_protocol_version(kProtocolVersion);
}

void Api::set_addresses(std::string grpc, std::string http) {
  absl::MutexLock lock(&mutex_);
  server_.set_grpc_address(std::move(grpc));
  server_.set_http_address(std::move(http));
}

absl::StatusOr<v1::Plan> Api::plan_experiment(const v1::PlanExperimentRequest& request) {
  return submissions_.plan(request);
}

absl::StatusOr<v1::CreateExperimentResponse> Api::create_experiment(const v1::CreateExperimentRequest& request,
                                                                    const Caller& caller) {
  LOCUS_RETURN_IF_ERROR(disk_.admit_work());
  LOCUS_ASSIGN_OR_RETURN(auto response, submissions_.create(request, caller));
  v1::GetExperimentRequest get;
  get.set_name(response.experiment().name());
  LOCUS_ASSIGN_OR_RETURN(*response.mutable_experiment(), views_.get(get));
  return response;
}

absl::StatusOr<v1::Experiment> Api::get_experiment(const v1::GetExperimentRequest& request) {
  return views_.get(request);
}

absl::StatusOr<v1::ListExperimentsResponse> Api::list_experiments(const v1::ListExperimentsRequest& request) {
  return views_.list(request);
}

absl::StatusOr<v1::Experiment> Api::set_state(const std::string& name, ExperimentState to, const Caller& caller) {
  LOCUS_ASSIGN_OR_RETURN(const ExperimentRow row, store_.experiment(name));
  if (row.state != to) {
    const Command command = call(
        coordinator_, ExperimentStateRequested{.id = row.id, .to = to, .search_running = search_runs(store_, row.id)},
        caller.deed());
    if (const auto* error = std::get_if<ReplyError>(&command)) return error->status;
  }
  v1::GetExperimentRequest get;
  get.set_name(name);
  return views_.get(get);
}

absl::StatusOr<v1::Experiment> Api::cancel_experiment(const v1::CancelExperimentRequest& request,
                                                      const Caller& caller) {
  return set_state(request.name(), ExperimentState::kCancelled, caller);
}

absl::StatusOr<v1::Experiment> Api::pause_experiment(const v1::PauseExperimentRequest& request, const Caller& caller) {
  return set_state(request.name(), ExperimentState::kPaused, caller);
}

absl::StatusOr<v1::Experiment> Api::resume_experiment(const v1::ResumeExperimentRequest& request,
                                                      const Caller& caller) {
  return set_state(request.name(), ExperimentState::kActive, caller);
}

absl::StatusOr<v1::RerunExperimentResponse> Api::rerun_experiment(const v1::RerunExperimentRequest& request,
                                                                  const Caller& caller) {
  LOCUS_RETURN_IF_ERROR(disk_.admit_work());
  LOCUS_ASSIGN_OR_RETURN(auto response, rerun(store_, coordinator_, request, caller));
  v1::GetExperimentRequest get;
  get.set_name(request.name().substr(0, request.name().find('/')));
  LOCUS_ASSIGN_OR_RETURN(*response.mutable_experiment(), views_.get(get));
  return response;
}

absl::StatusOr<v1::DeleteExperimentResponse> Api::delete_experiment(const v1::DeleteExperimentRequest& request,
                                                                    const Caller& caller) {
  LOCUS_ASSIGN_OR_RETURN(const ExperimentRow row, store_.experiment(request.name()));
  LOCUS_ASSIGN_OR_RETURN(const Deletion going, store_.deletion(row.id));
  v1::DeleteExperimentResponse out;
  out.set_name(row.name);
  out.set_trials(static_cast<int>(going.trials));
  out.set_stages(static_cast<int>(going.stages.size()));
  out.set_stages_kept(static_cast<int>(going.stages_kept));
  out.set_stages_unfinished(static_cast<int>(going.stages_unfinished));
  out.set_attempts(going.attempts);
  out.set_points(going.points);
  out.set_artifacts(static_cast<int>(going.artifacts.size()));
  out.set_bytes(going.bytes);
  for (const std::string& name : going.kept_for) out.add_kept_for(name);
  if (request.dry_run()) caller.looked();
  if (request.dry_run()) return out;
  const Command command =
      call(coordinator_,
           ExperimentDeleted{.row = row, .force = request.force(), .search_running = search_runs(store_, row.id)},
           caller.deed());
  if (const auto* error = std::get_if<ReplyError>(&command)) return error->status;
  out.set_deleted(true);
  out.set_purging(!purger_.purge(kPurgeWait));
  return out;
}

absl::StatusOr<v1::Search> Api::get_search(const v1::GetSearchRequest& request) { return searches_.get(request); }

absl::StatusOr<v1::ListDecisionsResponse> Api::list_decisions(const v1::ListDecisionsRequest& request) {
  return searches_.decisions(request);
}

absl::StatusOr<v1::BestSoFar> Api::get_best_so_far(const v1::GetBestSoFarRequest& request) {
  return searches_.best(request);
}

absl::StatusOr<v1::Importance> Api::get_importance(const v1::GetImportanceRequest& request) {
  return searches_.importance(request);
}

absl::StatusOr<v1::ProposeResponse> Api::propose(const v1::ProposeRequest& request, const Caller& caller) {
  LOCUS_RETURN_IF_ERROR(disk_.admit_work());
  return searches_.propose(request, caller);
}

absl::StatusOr<v1::Search> Api::stop_trials(const v1::StopTrialsRequest& request, const Caller& caller) {
  return searches_.stop(request, caller);
}

absl::StatusOr<v1::Search> Api::continue_trials(const v1::ContinueTrialsRequest& request, const Caller& caller) {
  LOCUS_RETURN_IF_ERROR(disk_.admit_work());
  return searches_.go_on(request, caller);
}

absl::StatusOr<v1::Annotation> Api::annotate(const v1::AnnotateRequest& request, const Caller& caller) {
  return server::annotate(store_, clock_, request, caller);
}

absl::StatusOr<v1::Explanation> Api::explain(const v1::ExplainRequest& request) {
  return server::explain(store_, coordinator_, runner_, clock_, request);
}

absl::StatusOr<v1::ReadLogResponse> Api::read_log(const v1::ReadLogRequest& request) {
  return server::read_log(store_, request);
}

absl::StatusOr<v1::Comparison> Api::compare(const v1::CompareRequest& request) {
  return server::compare(store_, outlines_, request);
}

absl::StatusOr<PullSource<v1::ExportExperimentResponse>> Api::export_experiment(
    const v1::ExportExperimentRequest& request) {
  return server::export_experiment(store_, request);
}

absl::StatusOr<v1::Demand> Api::get_demand(const v1::GetDemandRequest&) { return demand_.get(); }

absl::StatusOr<v1::WorkerDetail> Api::get_worker(const v1::GetWorkerRequest& request) {
  return workers_.get(request.name());
}

absl::StatusOr<v1::Worker> Api::drain_worker(const v1::DrainWorkerRequest& request, const Caller& caller) {
  return workers_.drain(request, caller);
}

absl::StatusOr<v1::Worker> Api::forget_worker(const v1::ForgetWorkerRequest& request, const Caller& caller) {
  return workers_.forget(request, caller);
}

absl::StatusOr<v1::Worker> Api::undrain_worker(const v1::UndrainWorkerRequest& request, const Caller& caller) {
  return workers_.undrain(request, caller);
}

absl::StatusOr<v1::ListArtifactsResponse> Api::list_artifacts(const v1::ListArtifactsRequest& request) {
  return server::list_artifacts(store_, artifacts_, request);
}

absl::StatusOr<v1::Artifact> Api::pin_artifact(const v1::PinArtifactRequest& request, const Caller& caller) {
  return server::pin_artifact(store_, artifacts_, clock_, request, caller);
}

absl::StatusOr<v1::LocateArtifactResponse> Api::locate_artifact(const v1::LocateArtifactRequest& request) {
  return server::locate_artifact(artifacts_, request);
}

absl::StatusOr<PullSource<v1::DownloadArtifactResponse>> Api::download_artifact(
    const v1::DownloadArtifactRequest& request) {
  LOCUS_ASSIGN_OR_RETURN(const std::int64_t size, artifacts_.size(request.sha256()));
  LOCUS_RETURN_IF_ERROR(check_offset(request.offset(), size));
  auto source = [this, sha256 = request.sha256(), size,
                 at = request.offset()]() mutable -> absl::StatusOr<std::optional<v1::DownloadArtifactResponse>> {
    if (at >= size) return std::optional<v1::DownloadArtifactResponse>();
    LOCUS_ASSIGN_OR_RETURN(std::string bytes, artifacts_.read(sha256, at, kChunkBytes));
    if (bytes.empty()) return absl::DataLossError("the artifact ended before its size");
    at += static_cast<std::int64_t>(bytes.size());
    v1::DownloadArtifactResponse out;
    out.set_chunk(std::move(bytes));
    return out;
  };
  return PullSource<v1::DownloadArtifactResponse>(std::move(source));
}

absl::StatusOr<v1::CheckReport> Api::check(const v1::CheckRequest& request) {
  LOCUS_ASSIGN_OR_RETURN(v1::CheckReport report, maintenance_.check(request));
  LOCUS_RETURN_IF_ERROR(check_searches(store_, &report));
  return report;
}

absl::StatusOr<v1::CollectGarbageResponse> Api::collect_garbage(const v1::CollectGarbageRequest& request,
                                                                const Caller& caller) {
  if (request.dry_run()) {
    caller.looked();
  } else {  // before: what is collected goes piece by piece
    const Mutation row = caller.deed();
    LOCUS_RETURN_IF_ERROR(store_.apply({&row, 1}, clock_.wall()));
  }
  return maintenance_.collect_garbage(request);
}

absl::StatusOr<PullSource<v1::BackupResponse>> Api::backup(const v1::BackupRequest&, const Caller& caller) {
  const Mutation row = caller.deed();  // before: a copy of everything leaves the house
  LOCUS_RETURN_IF_ERROR(store_.apply({&row, 1}, clock_.wall()));
  return maintenance_.backup();
}

absl::StatusOr<v1::ListTrialsResponse> Api::list_trials(const v1::ListTrialsRequest& request) {
  return views_.trials(request);
}

absl::StatusOr<v1::TrialDetail> Api::get_trial(const v1::GetTrialRequest& request) { return views_.trial(request); }

absl::StatusOr<v1::Table> Api::get_table(const v1::GetTableRequest& request) {
  LOCUS_ASSIGN_OR_RETURN(const auto table, leaderboards_.get(request));
  return *table;
}

absl::StatusOr<v1::PaperTable> Api::get_paper_table(const v1::GetPaperTableRequest& request) {
  LOCUS_ASSIGN_OR_RETURN(const auto table, pivot_tables_.get(request));
  return *table;
}

absl::StatusOr<v1::Curves> Api::get_curves(const v1::GetCurvesRequest& request) {
  LOCUS_ASSIGN_OR_RETURN(const ExperimentRow row, store_.experiment(request.experiment()));
  LOCUS_ASSIGN_OR_RETURN(const auto outline, outlines_.get(row));
  LOCUS_ASSIGN_OR_RETURN(v1::Curves out, server::get_curves(store_, *outline, request));
  give_looks(read_looks(store_, outlines_, row), out.mutable_cells());
  return out;
}

absl::StatusOr<v1::ListClaimsResponse> Api::list_claims(const v1::ListClaimsRequest& request) {
  const auto catalog = catalogs_.current();
  return server::list_claims(store_, outlines_, *catalog, claims_, request);
}

absl::StatusOr<v1::ListSeriesResponse> Api::list_series(const v1::ListSeriesRequest& request) {
  LOCUS_RETURN_IF_ERROR(store_.stage(request.stage()).status());
  LOCUS_ASSIGN_OR_RETURN(const auto rows, store_.series(request.stage()));
  v1::ListSeriesResponse out;
  for (const SeriesRow& row : rows) to_proto(row.key, out.add_series());
  LOCUS_ASSIGN_OR_RETURN(const auto system, system_series(store_, request.stage()));
  for (const SeriesKey& key : system) to_proto(key, out.add_series());
  return out;
}

absl::StatusOr<v1::QuerySeriesResponse> Api::query_series(const v1::QuerySeriesRequest& request) {
  LOCUS_ASSIGN_OR_RETURN(const SeriesKey key, from_proto(request.key(), "key"));
  if (request.max_points() < 0) {
    return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
                      "max_points is negative; give a positive number, or 0 for all points", "max_points");
  }
  LOCUS_RETURN_IF_ERROR(store_.stage(request.stage()).status());
  LOCUS_ASSIGN_OR_RETURN(const SeriesPoints found,
                         is_system_metric(key.metric)
                             ? system_points(store_, request.stage(), key, request.max_points())
                             : store_.points(request.stage(), key, request.max_points()));
  v1::QuerySeriesResponse out;
  out.set_reduced(found.reduced);
  for (const Point& point : found.points) {
    out.add_step(point.step);
    out.add_epoch(point.epoch);
    out.add_images(point.images);
    out.add_time_us(point.time_us);
    out.add_value(point.value);
  }
  return out;
}

absl::StatusOr<v1::Catalog> Api::get_catalog(const v1::GetCatalogRequest&) {
  v1::Catalog out;
  const auto catalog = catalogs_.current();
  out.set_digest(catalog->digest());
  out.set_json(canonical_json(catalog->document()));
  for (const auto& [prior, document] : pictures_) out.add_pictures(prior);
  return out;
}

absl::StatusOr<v1::Picture> Api::get_picture(const v1::GetPictureRequest& request) {
  const auto catalog = catalogs_.current();
  const CatalogItem* item = catalog->find("prior", request.prior());
  const auto found = item == nullptr ? pictures_.end() : pictures_.find(item->id);
  if (found != pictures_.end()) {
    v1::Picture out;
    out.set_prior(found->first);
    out.set_json(found->second);
    return out;
  }
  const std::string shown = valid_utf8(request.prior().substr(0, kNameLength));
  return make_error(absl::StatusCode::kNotFound, ErrorReason::kUnknownPrior,
                    item == nullptr ? "the catalog has no prior \"" + shown + "\"; it lists those there are"
                                    : "this server was installed without a picture of " + item->id +
                                          "; draw one with `locus picture " + item->id + "`",
                    "prior", {{"prior", shown}});
}

absl::StatusOr<v1::Drawing> Api::draw_prior(const v1::DrawPriorRequest& request) { return desk_.draw(request); }

absl::StatusOr<v1::Drawing> Api::draw_trial(const v1::DrawTrialRequest& request) {
  v1::GetTrialRequest trial;
  trial.set_name(request.trial());
  LOCUS_ASSIGN_OR_RETURN(const v1::TrialDetail detail, get_trial(trial));
  return desk_.draw(request, detail);
}

absl::StatusOr<v1::Server> Api::get_server(const v1::GetServerRequest&) {
  LOCUS_ASSIGN_OR_RETURN(const std::int64_t started, store_.attempts_started());
  absl::MutexLock lock(&mutex_);
  v1::Server out = server_;
  out.set_attempts_started(started);
  out.set_state(to_string(disk_.state()));
  out.set_reason(disk_.reason());
  out.set_disk_free_bytes(disk_.free_bytes());
  out.set_database_bytes(disk_.database_bytes());
  out.set_uptime_seconds(static_cast<double>(clock_.steady() - started_) / 1e6);
  out.set_catalog_digest(catalogs_.current()->digest());
  out.set_purging(purger_.busy());
  return out;
}

absl::StatusOr<v1::ListWorkersResponse> Api::list_workers(const v1::ListWorkersRequest& request) {
  return workers_.list(request.all());
}

absl::Status Api::check_watch(std::int64_t cursor, const std::string& experiment) {
  if (cursor < -1) {
    return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kCursorInvalid,
                      "cursor " + std::to_string(cursor) +
                          " cannot be read; give the last one seen, 0 for everything or -1 "
                          "for what is to come",
                      "cursor", {{"cursor", std::to_string(cursor)}});
  }
  return experiment.empty() ? absl::OkStatus() : store_.experiment(experiment).status();
}

}  // namespace locus::server
