// What people may ask of Locus, without a transport: gRPC and HTTP answer from these same functions, so there
// is one number everywhere. A call of proto/locus/v1 with an HTTP address is answered by the function of its name in
// small letters (locus/v1/calls.h). Those that change something are told who calls (server/authority/rpcs.def).
#pragma once

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "core/base/clock.h"
#include "core/catalog/pictures.h"
#include "core/claims/claims.h"
#include "core/ports/store.h"
#include "locus/v1/admin_service.pb.h"
#include "locus/v1/analysis_service.pb.h"
#include "locus/v1/artifact_service.pb.h"
#include "locus/v1/catalog_service.pb.h"
#include "locus/v1/enrollment_service.pb.h"
#include "locus/v1/experiment_service.pb.h"
#include "locus/v1/identity_service.pb.h"
#include "locus/v1/metric_service.pb.h"
#include "locus/v1/picture_service.pb.h"
#include "locus/v1/search_service.pb.h"
#include "locus/v1/worker_service.pb.h"
#include "server/analysis/leaderboard_query.h"
#include "server/analysis/outline_cache.h"
#include "server/analysis/pivot_query.h"
#include "server/application/catalogs.h"
#include "server/application/demand.h"
#include "server/application/enrollment.h"
#include "server/application/experiment_view.h"
#include "server/application/memory.h"
#include "server/application/picture_desk.h"
#include "server/application/search_view.h"
#include "server/application/submission.h"
#include "server/application/worker_view.h"
#include "server/authority/answer.h"
#include "server/runtime/coordinator.h"
#include "server/runtime/disk_guard.h"
#include "server/runtime/maintenance.h"
#include "server/runtime/pull_source.h"
#include "server/runtime/purger.h"
#include "server/runtime/search_runner.h"

namespace locus::server {

// Thread-safe. Every method blocks (on the store, on the scheduler's strand): call it from the work pool.
// Everything given must outlive it. Errors carry reason and field (core/base/error.h).
class Api {
 public:
  struct Parts {
    Store& store;
    ArtifactStore& artifacts;
    Catalogs& catalogs;
    const Pictures& pictures;
    Coordinator& coordinator;
    Maintenance& maintenance;
    Purger& purger;
    const DiskGuard& disk;
    Clock& clock;
    const std::vector<PaperClaims>& claims;
    PictureDesk& desk;
    SearchRunner& searches;
    Gate& gate;
    EnrollmentParts enrollment = {};
  };
  Api(Parts parts, std::string version);

  absl::StatusOr<v1::Plan> plan_experiment(const v1::PlanExperimentRequest& request);
  absl::StatusOr<v1::CreateExperimentResponse> create_experiment(const v1::CreateExperimentRequest& request,
                                                                 const Caller& caller);
  absl::StatusOr<v1::Experiment> get_experiment(const v1::GetExperimentRequest& request);
  absl::StatusOr<v1::ListExperimentsResponse> list_experiments(const v1::ListExperimentsRequest& request);
  absl::StatusOr<v1::Experiment> cancel_experiment(const v1::CancelExperimentRequest& request, const Caller& caller);
  absl::StatusOr<v1::Experiment> pause_experiment(const v1::PauseExperimentRequest& request, const Caller& caller);
  absl::StatusOr<v1::Experiment> resume_experiment(const v1::ResumeExperimentRequest& request, const Caller& caller);
  absl::StatusOr<v1::RerunExperimentResponse> rerun_experiment(const v1::RerunExperimentRequest& request,
                                                               const Caller& caller);
  absl::StatusOr<v1::DeleteExperimentResponse> delete_experiment(const v1::DeleteExperimentRequest& request,
                                                                 const Caller& caller);
  absl::StatusOr<v1::Annotation> annotate(const v1::AnnotateRequest& request, const Caller& caller);
  absl::StatusOr<v1::ListTrialsResponse> list_trials(const v1::ListTrialsRequest& request);
  absl::StatusOr<v1::TrialDetail> get_trial(const v1::GetTrialRequest& request);
  absl::StatusOr<v1::Explanation> explain(const v1::ExplainRequest& request);
  absl::StatusOr<v1::ReadLogResponse> read_log(const v1::ReadLogRequest& request);
  absl::StatusOr<v1::Comparison> compare(const v1::CompareRequest& request);
  absl::StatusOr<PullSource<v1::ExportExperimentResponse>> export_experiment(
      const v1::ExportExperimentRequest& request);
  absl::StatusOr<v1::Table> get_table(const v1::GetTableRequest& request);
  absl::StatusOr<v1::PaperTable> get_paper_table(const v1::GetPaperTableRequest& request);
  absl::StatusOr<v1::Curves> get_curves(const v1::GetCurvesRequest& request);
  absl::StatusOr<v1::ListClaimsResponse> list_claims(const v1::ListClaimsRequest& request);
  absl::StatusOr<v1::ListSeriesResponse> list_series(const v1::ListSeriesRequest& request);
  absl::StatusOr<v1::QuerySeriesResponse> query_series(const v1::QuerySeriesRequest& request);
  absl::StatusOr<v1::ForeignImport> import_series(const v1::ImportSeriesRequest& request, const Caller& caller);
  absl::StatusOr<v1::ListForeignSeriesResponse> list_foreign_series(const v1::ListForeignSeriesRequest& request);
  absl::StatusOr<v1::ForeignImport> remove_import(const v1::RemoveImportRequest& request, const Caller& caller);
  absl::StatusOr<v1::Search> get_search(const v1::GetSearchRequest& request);
  absl::StatusOr<v1::ListDecisionsResponse> list_decisions(const v1::ListDecisionsRequest& request);
  absl::StatusOr<v1::BestSoFar> get_best_so_far(const v1::GetBestSoFarRequest& request);
  absl::StatusOr<v1::Importance> get_importance(const v1::GetImportanceRequest& request);
  absl::StatusOr<v1::ProposeResponse> propose(const v1::ProposeRequest& request, const Caller& caller);
  absl::StatusOr<v1::Search> stop_trials(const v1::StopTrialsRequest& request, const Caller& caller);
  absl::StatusOr<v1::Search> continue_trials(const v1::ContinueTrialsRequest& request, const Caller& caller);
  absl::StatusOr<v1::Catalog> get_catalog(const v1::GetCatalogRequest& request);
  absl::StatusOr<v1::Extension> forget_extension(const v1::ForgetExtensionRequest& request, const Caller& caller);
  // NOT_FOUND (UNKNOWN_PRIOR): no such prior, or no picture of it.
  absl::StatusOr<v1::Picture> get_picture(const v1::GetPictureRequest& request);
  // Drawn by the trainer: these take seconds.
  absl::StatusOr<v1::Drawing> draw_prior(const v1::DrawPriorRequest& request);
  absl::StatusOr<v1::Drawing> draw_trial(const v1::DrawTrialRequest& request);
  absl::StatusOr<v1::Server> get_server(const v1::GetServerRequest& request);
  absl::StatusOr<v1::ListWorkersResponse> list_workers(const v1::ListWorkersRequest& request);
  absl::StatusOr<v1::Demand> get_demand(const v1::GetDemandRequest& request);
  absl::StatusOr<v1::WorkerDetail> get_worker(const v1::GetWorkerRequest& request);
  absl::StatusOr<v1::Worker> drain_worker(const v1::DrainWorkerRequest& request, const Caller& caller);
  absl::StatusOr<v1::Worker> forget_worker(const v1::ForgetWorkerRequest& request, const Caller& caller);
  absl::StatusOr<v1::Worker> undrain_worker(const v1::UndrainWorkerRequest& request, const Caller& caller);
  absl::StatusOr<v1::ListArtifactsResponse> list_artifacts(const v1::ListArtifactsRequest& request);
  absl::StatusOr<v1::Artifact> pin_artifact(const v1::PinArtifactRequest& request, const Caller& caller);
  absl::StatusOr<v1::LocateArtifactResponse> locate_artifact(const v1::LocateArtifactRequest& request);
  // A blob from its beginning, in pieces. ARTIFACT_NOT_FOUND.
  absl::StatusOr<PullSource<v1::DownloadArtifactResponse>> download_artifact(
      const v1::DownloadArtifactRequest& request);
  absl::StatusOr<v1::CheckReport> check(const v1::CheckRequest& request);
  absl::StatusOr<v1::CollectGarbageResponse> collect_garbage(const v1::CollectGarbageRequest& request,
                                                             const Caller& caller);
  absl::StatusOr<PullSource<v1::BackupResponse>> backup(const v1::BackupRequest& request, const Caller& caller);

  absl::StatusOr<v1::CreateTokenResponse> create_token(const v1::CreateTokenRequest& request, const Caller& caller);
  absl::StatusOr<v1::ListTokensResponse> list_tokens(const v1::ListTokensRequest& request);
  absl::StatusOr<v1::Token> revoke_token(const v1::RevokeTokenRequest& request, const Caller& caller);
  absl::StatusOr<v1::ListAccountsResponse> list_accounts(const v1::ListAccountsRequest& request);
  absl::StatusOr<v1::Account> set_account(const v1::SetAccountRequest& request, const Caller& caller);
  absl::StatusOr<v1::Account> remove_account(const v1::RemoveAccountRequest& request, const Caller& caller);
  absl::StatusOr<v1::ListAuditResponse> list_audit(const v1::ListAuditRequest& request);
  absl::StatusOr<v1::Identity> who_am_i(const v1::WhoAmIRequest& request, const Caller& caller);

  absl::StatusOr<v1::Invitation> create_invitation(const v1::CreateInvitationRequest& request, const Caller& caller);
  absl::StatusOr<std::string> invite_first_admin();  // server/application/enrollment.h
  absl::StatusOr<v1::Enrolled> enroll(const v1::EnrollRequest& request, const Caller& caller);
  absl::StatusOr<v1::Enrolled> renew_certificate(const v1::RenewCertificateRequest& request, const Caller& caller);
  absl::StatusOr<v1::ListCertificatesResponse> list_certificates(const v1::ListCertificatesRequest& request);
  absl::StatusOr<v1::IssuedCertificate> revoke_certificate(const v1::RevokeCertificateRequest& request,
                                                           const Caller& caller);

  absl::Status learn_extensions(const v1::RegisterWorkerRequest& announced) { return catalogs_.learn(announced); }
  Gate& gate() { return gate_; }
  DemandDesk& demand() { return demand_; }
  MemoryDesk& memory() { return memory_; }
  // Known once both listeners are bound.
  void set_addresses(std::string grpc, std::string http);
  // INVALID_ARGUMENT for a cursor below -1, NOT_FOUND for an experiment that does not exist.
  absl::Status check_watch(std::int64_t cursor, const std::string& experiment);

 private:
  int grpc_port();
  absl::StatusOr<v1::Experiment> set_state(const std::string& name, ExperimentState to, const Caller& caller);

  Store& store_;
  ArtifactStore& artifacts_;
  Catalogs& catalogs_;
  const Pictures& pictures_;
  Coordinator& coordinator_;
  Maintenance& maintenance_;
  Purger& purger_;
  const DiskGuard& disk_;
  Clock& clock_;
  const std::vector<PaperClaims>& claims_;
  PictureDesk& desk_;
  const Microseconds started_;  // steady
  OutlineCache outlines_;
  Leaderboards leaderboards_;
  PivotTables pivot_tables_;
  Submissions submissions_;
  ExperimentViews views_;
  WorkerViews workers_;
  DemandDesk demand_;
  MemoryDesk memory_;
  Gate& gate_;
  const std::function<void(const std::string& credential)> end_calls_;  // may be empty
  EnrollmentDesk enrollment_;
  SearchRunner& runner_;
  SearchViews searches_;
  absl::Mutex mutex_;
  v1::Server server_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace locus::server
