// Unary calls and the event stream.
#include "client/client.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include "client/impl.h"
#include "core/base/error.h"
#include "core/base/ids.h"

namespace locus {
namespace {

using namespace std::chrono_literals;

constexpr auto kRetryAfter = 50ms;
constexpr auto kRetryAtMost = 2s;

// HOST:PORT with a port of 1 to 65535; the host is left to the resolver. [v6]:PORT is fine.
bool well_formed(const std::string& address) {
  const auto colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0 || address.size() - colon - 1 > 5) return false;
  int port = 0;
  for (const char c : address.substr(colon + 1)) {
    if (c < '0' || c > '9') return false;
    port = port * 10 + (c - '0');
  }
  return port > 0 && port < 65536 && address.find_first_of(" /\t\n") == std::string::npos;
}

grpc::ChannelArguments channel_arguments() {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // We retry ourselves, so the transport should notice quickly that a server is back.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5'000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2'000);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL,
                   1);  // a connection per client: bulk never delays another's heartbeats
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(static_cast<int>(kMessageBytes));
  return arguments;
}

}  // namespace

void Cancellation::cancel() {
  std::lock_guard lock(mutex_);
  cancelled_ = true;
  for (auto* context : running_) context->TryCancel();
  changed_.notify_all();
}

bool Cancellation::cancelled() const {
  std::lock_guard lock(mutex_);
  return cancelled_;
}

bool Cancellation::wait_for(std::chrono::microseconds time) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, time, [this] { return cancelled_; });
}

Cancellation::Guard::Guard(Cancellation* cancellation, grpc::ClientContext* context)
    : cancellation_(cancellation), context_(context) {
  if (!cancellation_) return;
  std::lock_guard lock(cancellation_->mutex_);
  cancellation_->running_.insert(context_);
  if (cancellation_->cancelled_) context_->TryCancel();
}

Cancellation::Guard::~Guard() {
  if (!cancellation_) return;
  std::lock_guard lock(cancellation_->mutex_);
  cancellation_->running_.erase(context_);
}

Patience::Patience(std::chrono::microseconds time, Cancellation* cancellation)
    : time_(time),
      give_up_(0),
      backoff_(kRetryAfter, kRetryAtMost),
      cancellation_(cancellation ? cancellation : &never_) {
  restart();
}

void Patience::restart() {
  give_up_ = system_clock().steady() + time_.count();
  backoff_.reset();
}

bool Patience::wait_to_retry(const grpc::Status& status) {
  if (status.error_code() != grpc::StatusCode::UNAVAILABLE || cancellation_->cancelled()) return false;
  const auto left = std::chrono::microseconds(give_up_ - system_clock().steady());
  if (left <= 0us) return false;
  const auto wait = std::max(backoff_.next(), retry_delay(status).value_or(0us));
  return !cancellation_->wait_for(std::min(wait, left));
}

Client::Impl::Impl(std::string address_in, ClientOptions options_in, std::shared_ptr<grpc::Channel> channel_in)
    : address(std::move(address_in)),
      options(options_in),
      channel(std::move(channel_in)),
      experiments(v1::ExperimentService::NewStub(channel)),
      analysis(v1::AnalysisService::NewStub(channel)),
      metrics(v1::MetricService::NewStub(channel)),
      artifacts(v1::ArtifactService::NewStub(channel)),
      catalogs(v1::CatalogService::NewStub(channel)),
      pictures(v1::PictureService::NewStub(channel)),
      workers(v1::WorkerService::NewStub(channel)),
      admin(v1::AdminService::NewStub(channel)) {}

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::~Client() = default;
const std::string& Client::address() const { return impl_->address; }
std::shared_ptr<grpc::Channel> Client::channel() const { return impl_->channel; }
bool Client::wait_connected(std::chrono::microseconds time) const { return impl_->connect_for(time); }

absl::StatusOr<std::unique_ptr<Client>> Client::connect(const std::string& address, ClientOptions options) {
  if (!well_formed(address)) {
    return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
                      "\"" + address + "\" is not an address: write HOST:PORT, such as 127.0.0.1:7171", "server",
                      {{"address", address}});
  }
  auto channel = grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), channel_arguments());
  return std::unique_ptr<Client>(new Client(std::make_unique<Impl>(address, options, std::move(channel))));
}

// The remote name, our name, the stub that has it and the messages: a call is nothing more.
#define LOCUS_CALL(name, stub, Service, Method, Request, Response)                                 \
  absl::StatusOr<v1::Response> Client::name(const v1::Request& request, const CallOptions& call) { \
    return impl_->unary(impl_->stub, &v1::Service::Stub::Method, request, call);                   \
  }
LOCUS_CALL(plan_experiment, experiments, ExperimentService, PlanExperiment, PlanExperimentRequest, Plan)
LOCUS_CALL(get_experiment, experiments, ExperimentService, GetExperiment, GetExperimentRequest, Experiment)
LOCUS_CALL(list_experiments, experiments, ExperimentService, ListExperiments, ListExperimentsRequest,
           ListExperimentsResponse)
LOCUS_CALL(cancel_experiment, experiments, ExperimentService, CancelExperiment, CancelExperimentRequest, Experiment)
LOCUS_CALL(pause_experiment, experiments, ExperimentService, PauseExperiment, PauseExperimentRequest, Experiment)
LOCUS_CALL(resume_experiment, experiments, ExperimentService, ResumeExperiment, ResumeExperimentRequest, Experiment)
LOCUS_CALL(list_trials, experiments, ExperimentService, ListTrials, ListTrialsRequest, ListTrialsResponse)
LOCUS_CALL(get_trial, experiments, ExperimentService, GetTrial, GetTrialRequest, TrialDetail)
LOCUS_CALL(get_table, experiments, ExperimentService, GetTable, GetTableRequest, Table)
LOCUS_CALL(list_claims, analysis, AnalysisService, ListClaims, ListClaimsRequest, ListClaimsResponse)
LOCUS_CALL(get_curves, experiments, ExperimentService, GetCurves, GetCurvesRequest, Curves)
LOCUS_CALL(list_series, metrics, MetricService, ListSeries, ListSeriesRequest, ListSeriesResponse)
LOCUS_CALL(query_series, metrics, MetricService, QuerySeries, QuerySeriesRequest, QuerySeriesResponse)
LOCUS_CALL(register_worker, workers, WorkerService, RegisterWorker, RegisterWorkerRequest, RegisterWorkerResponse)
LOCUS_CALL(sync_leases, workers, WorkerService, SyncLeases, SyncLeasesRequest, SyncLeasesResponse)
LOCUS_CALL(commit_checkpoint, workers, WorkerService, CommitCheckpoint, CommitCheckpointRequest,
           CommitCheckpointResponse)
LOCUS_CALL(complete_attempt, workers, WorkerService, CompleteAttempt, CompleteAttemptRequest, CompleteAttemptResponse)
LOCUS_CALL(rerun_experiment, experiments, ExperimentService, RerunExperiment, RerunExperimentRequest,
           RerunExperimentResponse)
LOCUS_CALL(delete_experiment, experiments, ExperimentService, DeleteExperiment, DeleteExperimentRequest,
           DeleteExperimentResponse)
LOCUS_CALL(annotate, experiments, ExperimentService, Annotate, AnnotateRequest, Annotation)
LOCUS_CALL(explain, experiments, ExperimentService, Explain, ExplainRequest, Explanation)
LOCUS_CALL(read_log, experiments, ExperimentService, ReadLog, ReadLogRequest, ReadLogResponse)
LOCUS_CALL(compare, experiments, ExperimentService, Compare, CompareRequest, Comparison)
LOCUS_CALL(list_artifacts, artifacts, ArtifactService, ListArtifacts, ListArtifactsRequest, ListArtifactsResponse)
LOCUS_CALL(pin_artifact, artifacts, ArtifactService, PinArtifact, PinArtifactRequest, Artifact)
LOCUS_CALL(report_log, workers, WorkerService, ReportLog, ReportLogRequest, ReportLogResponse)
LOCUS_CALL(get_worker, workers, WorkerService, GetWorker, GetWorkerRequest, WorkerDetail)
LOCUS_CALL(drain_worker, workers, WorkerService, DrainWorker, DrainWorkerRequest, Worker)
LOCUS_CALL(forget_worker, workers, WorkerService, ForgetWorker, ForgetWorkerRequest, Worker)
LOCUS_CALL(undrain_worker, workers, WorkerService, UndrainWorker, UndrainWorkerRequest, Worker)
LOCUS_CALL(get_paper_table, analysis, AnalysisService, GetPaperTable, GetPaperTableRequest, PaperTable)
LOCUS_CALL(draw_prior, pictures, PictureService, DrawPrior, DrawPriorRequest, Drawing)
LOCUS_CALL(draw_trial, pictures, PictureService, DrawTrial, DrawTrialRequest, Drawing)
LOCUS_CALL(check, admin, AdminService, Check, CheckRequest, CheckReport)
LOCUS_CALL(collect_garbage, admin, AdminService, CollectGarbage, CollectGarbageRequest, CollectGarbageResponse)
#undef LOCUS_CALL

absl::StatusOr<v1::CreateExperimentResponse> Client::create_experiment(v1::CreateExperimentRequest request,
                                                                       const CallOptions& call) {
  if (request.request_id().empty()) request.set_request_id(random_uuid());
  return impl_->unary(impl_->experiments, &v1::ExperimentService::Stub::CreateExperiment, request, call);
}

absl::StatusOr<v1::AcquireStageResponse> Client::acquire_stage(v1::AcquireStageRequest request,
                                                               const CallOptions& call) {
  if (request.request_id().empty()) request.set_request_id(random_uuid());
  CallOptions longer = call;
  longer.deadline += std::chrono::seconds(request.wait_duration().seconds()) +
                     std::chrono::microseconds(request.wait_duration().nanos() / 1000);
  return impl_->unary(impl_->workers, &v1::WorkerService::Stub::AcquireStage, request, longer);
}

absl::StatusOr<v1::Catalog> Client::get_catalog(const CallOptions& call) {
  return impl_->unary(impl_->catalogs, &v1::CatalogService::Stub::GetCatalog, v1::GetCatalogRequest(), call);
}

absl::StatusOr<v1::Server> Client::get_server(const CallOptions& call) {
  return impl_->unary(impl_->catalogs, &v1::CatalogService::Stub::GetServer, v1::GetServerRequest(), call);
}

absl::StatusOr<v1::ListWorkersResponse> Client::list_workers(const v1::ListWorkersRequest& request,
                                                             const CallOptions& call) {
  return impl_->unary(impl_->workers, &v1::WorkerService::Stub::ListWorkers, request, call);
}

absl::Status Client::export_experiment(const v1::ExportExperimentRequest& request,
                                       const std::function<absl::Status(std::string_view)>& each,
                                       const CallOptions& call) {
  Patience retry = impl_->patience(call);
  while (true) {
    impl_->settle();
    grpc::ClientContext context;
    Cancellation::Guard guard(call.cancellation, &context);
    const auto reader = impl_->experiments->ExportExperiment(&context, request);
    v1::ExportExperimentResponse message;
    absl::Status refused;
    bool begun = false;
    while (refused.ok() && reader->Read(&message)) {
      begun = true;
      refused = each(message.chunk());
    }
    if (!refused.ok()) context.TryCancel();
    const grpc::Status status = reader->Finish();
    if (!refused.ok()) return refused;
    if (status.ok()) return absl::OkStatus();
    // What was given away cannot be taken back: only a stream that brought nothing is tried again.
    if (begun || !retry.wait_to_retry(status)) return from_wire(status, impl_->address);
  }
}

absl::Status Client::watch_events(v1::WatchEventsRequest request,
                                  const std::function<bool(const v1::WatchEventsResponse&)>& each,
                                  const CallOptions& call) {
  Patience retry = impl_->patience(call);
  while (true) {
    impl_->settle();
    grpc::ClientContext context;
    Cancellation::Guard guard(call.cancellation, &context);
    const auto reader = impl_->experiments->WatchEvents(&context, request);
    v1::WatchEventsResponse message;
    bool wanted = true;
    while (wanted && reader->Read(&message)) {
      retry.restart();
      request.set_cursor(message.cursor());
      wanted = each(message);
    }
    if (!wanted) context.TryCancel();
    grpc::Status status = reader->Finish();
    if (!wanted) return absl::OkStatus();
    // A server that ends the stream in good order is one that stops: as good as away.
    if (status.ok()) status = {grpc::StatusCode::UNAVAILABLE, "the server ended the event stream"};
    if (!retry.wait_to_retry(status)) return from_wire(status, impl_->address);
  }
}

}  // namespace locus
