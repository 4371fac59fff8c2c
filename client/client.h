// The typed client: one method per remote call, with deadlines, retries and errors a person can act on.
//
//   LOCUS_ASSIGN_OR_RETURN(auto client, Client::connect("127.0.0.1:7171"));
//   LOCUS_ASSIGN_OR_RETURN(v1::Plan plan, client->plan_experiment(request));
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/call.h"
#include "locus/v1/admin_service.pb.h"
#include "locus/v1/analysis_service.pb.h"
#include "locus/v1/artifact_service.pb.h"
#include "locus/v1/catalog_service.pb.h"
#include "locus/v1/experiment_service.pb.h"
#include "locus/v1/metric_service.pb.h"
#include "locus/v1/picture_service.pb.h"
#include "locus/v1/worker_service.pb.h"

namespace grpc {
class Channel;
}

namespace locus {

struct ClientOptions {
  // How long a call goes on trying while the server is UNAVAILABLE, with exponential back-off and full
  // jitter. Every call of the service is idempotent or carries a request id, so repeating one is safe. Zero:
  // one try.
  std::chrono::microseconds patience = std::chrono::seconds(1);
};

// What a backup holds.
struct BackupSummary {
  std::int64_t database_bytes = 0, artifacts = 0, artifact_bytes = 0;
  int schema_version = 0;
};

// Calls block. Errors carry the code of the wire and, where the server gave one, the ErrorDetail (see
// core/base/error.h). A server that cannot be reached is UNAVAILABLE with SERVER_UNAVAILABLE. Thread-safe;
// each client has a connection of its own.
class Client {
 public:
  // Makes a client without connecting: the first call does. INVALID_ARGUMENT unless `address` is HOST:PORT.
  static absl::StatusOr<std::unique_ptr<Client>> connect(const std::string& address, ClientOptions options = {});
  ~Client();

  const std::string& address() const;
  std::shared_ptr<grpc::Channel> channel() const;  // for streams this class does not wrap
  // Tries to connect for at most `time`; true when connected. A call does it by itself, this is for waiting.
  bool wait_connected(std::chrono::microseconds time) const;

  // ---- experiments ----
  absl::StatusOr<v1::Plan> plan_experiment(const v1::PlanExperimentRequest& request,
                                           const CallOptions& call = {.deadline = kPlanDeadline});
  // An empty request_id is filled in.
  absl::StatusOr<v1::CreateExperimentResponse> create_experiment(v1::CreateExperimentRequest request,
                                                                 const CallOptions& call = {.deadline = kPlanDeadline});
  absl::StatusOr<v1::Experiment> get_experiment(const v1::GetExperimentRequest& request, const CallOptions& call = {});
  absl::StatusOr<v1::ListExperimentsResponse> list_experiments(const v1::ListExperimentsRequest& request,
                                                               const CallOptions& call = {});
  absl::StatusOr<v1::Experiment> cancel_experiment(const v1::CancelExperimentRequest& request,
                                                   const CallOptions& call = {});
  absl::StatusOr<v1::Experiment> pause_experiment(const v1::PauseExperimentRequest& request,
                                                  const CallOptions& call = {});
  absl::StatusOr<v1::Experiment> resume_experiment(const v1::ResumeExperimentRequest& request,
                                                   const CallOptions& call = {});
  absl::StatusOr<v1::ListTrialsResponse> list_trials(const v1::ListTrialsRequest& request,
                                                     const CallOptions& call = {});
  absl::StatusOr<v1::TrialDetail> get_trial(const v1::GetTrialRequest& request, const CallOptions& call = {});
  absl::StatusOr<v1::Table> get_table(const v1::GetTableRequest& request, const CallOptions& call = {});
  absl::StatusOr<v1::ListClaimsResponse> list_claims(const v1::ListClaimsRequest& request,
                                                     const CallOptions& call = {});
  absl::StatusOr<v1::PaperTable> get_paper_table(const v1::GetPaperTableRequest& request, const CallOptions& call = {});
  absl::StatusOr<v1::Curves> get_curves(const v1::GetCurvesRequest& request, const CallOptions& call = {});

  absl::StatusOr<v1::RerunExperimentResponse> rerun_experiment(const v1::RerunExperimentRequest& request,
                                                               const CallOptions& call = {});
  absl::StatusOr<v1::DeleteExperimentResponse> delete_experiment(const v1::DeleteExperimentRequest& request,
                                                                 const CallOptions& call = {.deadline = kPlanDeadline});
  absl::StatusOr<v1::Annotation> annotate(const v1::AnnotateRequest& request, const CallOptions& call = {});
  absl::StatusOr<v1::Explanation> explain(const v1::ExplainRequest& request, const CallOptions& call = {});
  absl::StatusOr<v1::ReadLogResponse> read_log(const v1::ReadLogRequest& request, const CallOptions& call = {});
  absl::StatusOr<v1::Comparison> compare(const v1::CompareRequest& request, const CallOptions& call = {});
  // Calls `each` with piece after piece of the export (docs/formats/export.md) until it refuses, whose status
  // is returned, or all is there. The deadline does not apply.
  absl::Status export_experiment(const v1::ExportExperimentRequest& request,
                                 const std::function<absl::Status(std::string_view)>& each,
                                 const CallOptions& call = {});

  // Calls `each` with every message of the event stream, signs of life included, until it returns false (then
  // OK). A broken stream is taken up again at the last cursor; after call.patience without any message from
  // the server (default: the client's) the error is returned. The deadline does not apply.
  absl::Status watch_events(v1::WatchEventsRequest request,
                            const std::function<bool(const v1::WatchEventsResponse&)>& each,
                            const CallOptions& call = {});

  // ---- catalog, series, server ----
  absl::StatusOr<v1::Catalog> get_catalog(const CallOptions& call = {});
  absl::StatusOr<v1::Server> get_server(const CallOptions& call = {});
  absl::StatusOr<v1::ListSeriesResponse> list_series(const v1::ListSeriesRequest& request,
                                                     const CallOptions& call = {});
  absl::StatusOr<v1::QuerySeriesResponse> query_series(const v1::QuerySeriesRequest& request,
                                                       const CallOptions& call = {});

  // ---- pictures: documents of docs/formats/picture.md ----
  // The server draws with a trainer of its own and keeps what it drew. Its refusals: FAILED_PRECONDITION
  // (WRONG_STATE) without a trainer or without weights, RESOURCE_EXHAUSTED (LIMIT_EXCEEDED) while others draw or
  // when a drawing takes more than it may.
  absl::StatusOr<v1::Drawing> draw_prior(const v1::DrawPriorRequest& request,
                                         const CallOptions& call = {.deadline = kPlanDeadline});
  absl::StatusOr<v1::Drawing> draw_trial(const v1::DrawTrialRequest& request,
                                         const CallOptions& call = {.deadline = kPlanDeadline});

  // ---- the data ----
  // Checking every byte takes as long as reading them: give a deadline that allows it.
  absl::StatusOr<v1::CheckReport> check(const v1::CheckRequest& request, const CallOptions& call = {});
  absl::StatusOr<v1::CollectGarbageResponse> collect_garbage(const v1::CollectGarbageRequest& request,
                                                             const CallOptions& call = {});
  // Copies the database as it is now, and every artifact it names, into `folder`, which becomes a data folder
  // that `locus serve --data` can use. The database appears last: a folder without one is no backup. A folder
  // that holds a database is refused; one with artifacts from before is completed.
  absl::StatusOr<BackupSummary> backup(const std::filesystem::path& folder, const CallOptions& call = {});

  // ---- artifacts ----
  absl::StatusOr<v1::ListArtifactsResponse> list_artifacts(const v1::ListArtifactsRequest& request,
                                                           const CallOptions& call = {});
  absl::StatusOr<v1::Artifact> pin_artifact(const v1::PinArtifactRequest& request, const CallOptions& call = {});
  // Uploads a file under its SHA-256, which is returned; cheap when the server has it already. The file must
  // not change meanwhile (DIGEST_MISMATCH).
  absl::StatusOr<std::string> upload_artifact(const std::filesystem::path& path, const std::string& kind,
                                              const CallOptions& call = {});
  // Downloads a blob to `path`, which appears whole, checked and durable or not at all. An interrupted
  // download leaves PATH.part, from which the next one goes on. DATA_LOSS (DIGEST_MISMATCH) when the bytes
  // are not those named.
  absl::Status download_artifact(const std::string& sha256, const std::filesystem::path& path,
                                 const CallOptions& call = {});

  // ---- workers ----
  absl::StatusOr<v1::RegisterWorkerResponse> register_worker(const v1::RegisterWorkerRequest& request,
                                                             const CallOptions& call = {});
  // Waits up to request.wait_duration: the deadline is extended by it. An empty request_id is filled in.
  absl::StatusOr<v1::AcquireStageResponse> acquire_stage(v1::AcquireStageRequest request, const CallOptions& call = {});
  absl::StatusOr<v1::SyncLeasesResponse> sync_leases(const v1::SyncLeasesRequest& request,
                                                     const CallOptions& call = {});
  absl::StatusOr<v1::CommitCheckpointResponse> commit_checkpoint(const v1::CommitCheckpointRequest& request,
                                                                 const CallOptions& call = {});
  absl::StatusOr<v1::CompleteAttemptResponse> complete_attempt(const v1::CompleteAttemptRequest& request,
                                                               const CallOptions& call = {});
  absl::StatusOr<v1::ReportLogResponse> report_log(const v1::ReportLogRequest& request, const CallOptions& call = {});
  absl::StatusOr<v1::ListWorkersResponse> list_workers(const v1::ListWorkersRequest& request = {},
                                                       const CallOptions& call = {});
  absl::StatusOr<v1::Worker> forget_worker(const v1::ForgetWorkerRequest& request, const CallOptions& call = {});
  absl::StatusOr<v1::WorkerDetail> get_worker(const v1::GetWorkerRequest& request, const CallOptions& call = {});
  absl::StatusOr<v1::Worker> drain_worker(const v1::DrainWorkerRequest& request, const CallOptions& call = {});
  absl::StatusOr<v1::Worker> undrain_worker(const v1::UndrainWorkerRequest& request, const CallOptions& call = {});

 private:
  class Impl;
  explicit Client(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace locus
