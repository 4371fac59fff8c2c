// Wires the parts of a server, starts them in order and stops them in reverse.
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <future>
#include <mutex>

#include "core/base/error.h"
#include "core/certificates/certificate.h"
#include "core/limits.h"
#include "core/log/log.h"
#include "server/app/address.h"
#include "server/app/alert_thread.h"
#include "server/app/artifact_home.h"
#include "server/app/disk_watch.h"
#include "server/app/first_admin.h"
#include "server/app/paths.h"
#include "server/app/picture_program.h"
#include "server/app/serve.h"
#include "server/application/catalogs.h"
#include "server/application/search_script.h"
#include "server/grpc/artifact_service.h"
#include "server/grpc/call_processor.h"
#include "server/grpc/experiment_service.h"
#include "server/grpc/listener.h"
#include "server/grpc/services.h"
#include "server/grpc/worker_service.h"
#include "server/http/http_server.h"
#include "server/http/openapi.h"
#include "server/runtime/maintenance.h"
#include "server/runtime/purger.h"
#include "server/runtime/retention.h"
#include "server/runtime/search_runner.h"
#include "server/tls/keeper.h"
#include "storage/sqlite/store.h"

namespace locus {
namespace {

using namespace server;  // NOLINT: this file is their assembly

constexpr int kPoolThreads = 8, kPoolWaiting = 512;
constexpr auto kCallsEnd = std::chrono::seconds(4);  // calls still running then are cancelled
constexpr auto kPagesEnd = std::chrono::seconds(2);  // answers still being sent then are cut
constexpr auto kDiskEvery = std::chrono::seconds(2);
constexpr auto kGarbageEvery = std::chrono::minutes(10);
constexpr auto kCertificatesEvery = std::chrono::minutes(1);
constexpr auto kEstimatesEvery = std::chrono::seconds(15);  // of what waits, for workers that end

// What certificates that TLS has let in say: exactly one name of ours.
absl::StatusOr<ShownCertificate> shown_certificate(std::string_view pem) {
  LOCUS_ASSIGN_OR_RETURN(const auto chain, Certificate::read(pem, "the caller's certificate"));
  const auto uris = chain.front().uris();
  if (uris.size() != 1) {
    return make_error(
        absl::StatusCode::kUnauthenticated, ErrorReason::kNotAuthenticated,
        "a certificate says in exactly one URI who its holder is; this one has " + std::to_string(uris.size()));
  }
  LOCUS_ASSIGN_OR_RETURN(const SpiffeName name, parse_spiffe(uris.front()));
  return ShownCertificate{chain.front().serial(), name, chain.front().not_after() * 1'000'000};
}

}  // namespace

absl::StatusOr<ServerParts> make_parts(const ServerOptions& options) {
  ServerParts parts;
  LOCUS_ASSIGN_OR_RETURN(parts.catalog, load_catalog(options.catalog));
  parts.pictures = load_pictures(options.catalog, parts.catalog);
  LOCUS_ASSIGN_OR_RETURN(parts.claims, load_claims());
  LOCUS_ASSIGN_OR_RETURN(parts.store, open_sqlite_store(options.data, *parts.clock));
  LOCUS_ASSIGN_OR_RETURN(parts.artifacts, open_artifacts(options.artifacts, options.data, *parts.clock));
  parts.each_address = limits_of(options.connections_each);
  return parts;
}

// Members in the order they depend on each other.
class Server::Running {
 public:
  explicit Running(ServerParts parts)
      : parts_(std::move(parts)),
        work_(io_.get_executor()),
        pool_(kPoolThreads, kPoolWaiting),
        feed_(*parts_.store, pool_, io_),
        disk_timer_(io_),
        garbage_timer_(io_),
        certificates_timer_(io_),
        calls_timer_(io_),
        estimates_timer_(io_) {}
  ~Running() { stop(); }

  absl::Status start(const ServerOptions& options) {
    const bool tls = options.tls.wanted();
    LOCUS_ASSIGN_OR_RETURN(const Address grpc, checked(options.grpc_address, "--grpc-address", tls));
    LOCUS_ASSIGN_OR_RETURN(const Address http, checked(options.http_address, "--http-address", tls));
    LOCUS_RETURN_IF_ERROR(check_alert_options(options.alerts));
    data_ = options.data;
    if (tls) LOCUS_RETURN_IF_ERROR(keep_certificates(options.tls, grpc, http));
    LOCUS_RETURN_IF_ERROR(load(options));
    look_at_disk();
    std::vector<std::string> hosts = options.allowed_hosts;
    hosts.insert(hosts.end(), options.tls.names.begin(), options.tls.names.end());
    guard_ = std::make_unique<Guard>(hosts, tls);
    files_ = std::make_unique<StaticFiles>(find_dashboard(options.web), *parts_.clock);
    metrics_ = std::make_unique<Metrics>(*api_, [this] { return coordinator_->decisions(); });
    HttpContext context{
        *api_, feed_, pool_, *guard_, *routes_, *files_, *metrics_, openapi_text(), [this] { return ready_.load(); }};
    context.each_address = parts_.each_address;
    if (tls) show_certificates(context);
    LOCUS_ASSIGN_OR_RETURN(http_, HttpServer::start(io_, std::move(context), http.host, http.port));
    LOCUS_RETURN_IF_ERROR(serve_grpc(grpc, options.reflection));
    addresses_.http = Address{http.host, http_->port()}.text();
    addresses_.tls = tls;
    api_->set_addresses(addresses_.grpc, addresses_.http);
    begin_rounds();
    io_ended_ = std::async(std::launch::async, [this] { io_.run(); });
    alerts_ =
        std::make_unique<AlertThread>(*parts_.store, *parts_.clock, options.alerts, [this](const std::string& name) {
          v1::GetExperimentRequest request;
          request.set_name(name);
          return api_->get_experiment(request);
        });
    ready_ = true;
    grpc_->set_serving(true);
    return absl::OkStatus();
  }

  // Each step has an end of its own, so the whole has one.
  void stop() {
    if (stopped_.exchange(true)) return;
    ready_ = false;
    if (grpc_) grpc_->set_serving(false);
    if (alerts_) alerts_->stop();
    if (coordinator_) coordinator_->drain();
    if (workers_ != nullptr) workers_->close_streams();
    feed_.close();
    boost::asio::post(io_, [this] {
      disk_timer_.cancel();
      garbage_timer_.cancel();
      certificates_timer_.cancel();
      calls_timer_.cancel();
      estimates_timer_.cancel();
    });
    if (http_) http_->stop();
    if (grpc_) grpc_->stop(kCallsEnd);
    work_.reset();
    if (io_ended_.valid() && io_ended_.wait_for(kPagesEnd) != std::future_status::ready) io_.stop();
    if (io_ended_.valid()) io_ended_.wait();
    if (purger_) purger_->stop();
    if (searches_) searches_->stop();
    pool_.join();
    if (coordinator_) coordinator_->stop();
    parts_.store.reset();  // writes what is queued, folds the log into the database, lets go of the folder
  }

  const ServerAddresses& addresses() const { return addresses_; }

  void look_at_disk() {
    absl::StatusOr<DiskRoom> room = DiskRoom{};
    if (parts_.disk) {
      room = parts_.disk();
    } else if (!data_.empty()) {
      const auto space = disk_space(data_);
      room = space.ok() ? absl::StatusOr<DiskRoom>(DiskRoom{space->size, space->free}) : space.status();
    } else {
      return;  // in memory
    }
    if (!room.ok()) return log_warning("{}", std::string(room.status().message()));
    const std::lock_guard lock(looking_);
    const DiskState before = disk_.state(), now = judge_disk({room->size, room->free});
    disk_.set(now, room->free, database_bytes());
    if (before == now) return;
    if (now == DiskState::kOk) log_info("the disk of the data folder has room again");
    if (now != DiskState::kOk) log_warning("{}", disk_.reason());
    coordinator_->post_unanswered(IntakeChanged{disk_.reason()});
    if (now > before) pool_.post([this] { sweep(); });
  }

  void estimate_waiting() {
    const absl::Status status = api_->demand().tell_scheduler();
    if (!status.ok()) log_info("estimates of what waits: {}", std::string(status.message()));
  }

  void look_at_certificates() {
    if (keeper_) keeper_->look();
  }

  void look_at_calls() { calls_.end_expired(parts_.clock->wall()); }

  bool answers() const { return grpc_->answers(); }

 private:
  std::int64_t database_bytes() const {
    std::int64_t out = 0;
    for (const char* name : {"locus.db", "locus.db-wal"}) {
      std::error_code error;
      const auto size = std::filesystem::file_size(data_ / name, error);
      if (!error) out += static_cast<std::int64_t>(size);
    }
    return out;
  }

  // What is done again and again until the server stops; on the loop, so it must not block for long.
  void every(std::chrono::seconds pace, boost::asio::steady_timer& timer, std::function<void()> task) {
    timer.expires_after(pace);
    timer.async_wait([this, pace, &timer, task = std::move(task)](const boost::system::error_code& error) mutable {
      if (error || stopped_) return;
      task();
      every(pace, timer, std::move(task));
    });
  }

  void begin_rounds() {
    every(kDiskEvery, disk_timer_, [this] { look_at_disk(); });
    every(kGarbageEvery, garbage_timer_, [this] { pool_.post([this] { sweep(); }); });
    every(kEstimatesEvery, estimates_timer_, [this] { pool_.post([this] { estimate_waiting(); }); });
    every(std::chrono::duration_cast<std::chrono::seconds>(kHeartbeat), calls_timer_, [this] { look_at_calls(); });
    if (keeper_) every(kCertificatesEvery, certificates_timer_, [this] { pool_.post([this] { keeper_->look(); }); });
  }

  void sweep() {
    if (const absl::Status status = retention_->forget_old(); !status.ok())
      log_info("old rows of the audit: {}", std::string(status.message()));
    const auto swept = maintenance_->collect_garbage({});
    if (!swept.ok()) return log_info("garbage: {}", std::string(swept.status().message()));
    if (swept->artifacts() > 0) log_info("garbage: {} blobs of {} bytes removed", swept->artifacts(), swept->bytes());
  }

  static absl::StatusOr<Address> checked(const std::string& text, const std::string& option, bool tls) {
    LOCUS_ASSIGN_OR_RETURN(Address address, parse_address(text, option));
    if (!tls) LOCUS_RETURN_IF_ERROR(require_loopback(address, option));
    LOCUS_RETURN_IF_ERROR(require_free(address, option));
    return address;
  }

  absl::Status keep_certificates(const TlsOptions& options, const Address& grpc, const Address& http) {
    if (data_.empty()) {
      return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kCertificateInvalid,
                        "a server without a data folder has no place for keys; it serves without TLS");
    }
    LOCUS_ASSIGN_OR_RETURN(keeper_, TlsKeeper::open(options, data_ / "tls", {grpc.host, http.host}, *parts_.clock));
    if (keeper_->asks_clients()) return absl::OkStatus();
    return require_loopback(grpc, "--grpc-address, as long as --tls-ca names no authority for clients,");
  }

  absl::Status provide_administrator() {
    if (!gate_of_calls_->asks()) return absl::OkStatus();
    std::function<absl::StatusOr<std::string>()> invite;
    if (keeper_ && keeper_->authority().ok()) invite = [this] { return api_->invite_first_admin(); };
    return provide_first_admin(*parts_.store, *parts_.clock, data_, invite);
  }

  void show_certificates(HttpContext& context) {
    contexts_ = std::make_unique<TlsContexts>(*keeper_);
    context.tls = contexts_.get();
    context.trouble = [this] {
      const std::string trouble = keeper_->trouble();
      return trouble.empty() ? "" : "tls: " + trouble;
    };
    metrics_->add_gauge("locus_certificate_seconds_left", "Life that the server's certificate has left",
                        [this] { return static_cast<double>(keeper_->seconds_left()); });
    metrics_->add_gauge("locus_certificate_refused", "1 while new keys or certificates fail a check and old ones stay",
                        [this] { return keeper_->trouble().empty() ? 0.0 : 1.0; });
  }

  absl::Status load(const ServerOptions& options) {
    catalogs_ = std::make_unique<Catalogs>(parts_.catalog, *parts_.store, *parts_.clock);
    LOCUS_RETURN_IF_ERROR(catalogs_->open());
    parts_.store->on_commit([this](std::int64_t) { feed_.changed(); });
    LOCUS_ASSIGN_OR_RETURN(coordinator_,
                           Coordinator::start(*parts_.store, *parts_.clock,
                                              [this](const std::string& experiment, const std::string& kind) {
                                                feed_.notice(experiment, kind);
                                              }));
    script_ = std::make_unique<PlannedSearches>(*parts_.store, *catalogs_);
    searches_ = SearchRunner::start(*parts_.store, *script_, *coordinator_, *parts_.clock);
    coordinator_->on_movement(
        [this](ExperimentId id, const std::set<std::int64_t>* trials) { searches_->poke(id, trials); });
    const std::filesystem::path scratch = data_.empty() ? std::filesystem::path() : data_ / "scratch";
    std::error_code ignored;
    if (!scratch.empty()) std::filesystem::remove_all(scratch, ignored);  // copies that a crash left
    maintenance_ =
        std::make_unique<Maintenance>(*parts_.store, *parts_.artifacts, gate_, *parts_.clock, scratch, LOCUS_VERSION);
    retention_ = std::make_unique<Retention>(*parts_.store, *parts_.clock);
    purger_ = std::make_unique<Purger>(*parts_.store, *coordinator_, *maintenance_);
    desk_ = std::make_unique<PictureDesk>(
        *parts_.artifacts, *catalogs_, make_picture_program(options.trainer, options.data_root, options.isolate),
        data_.empty() ? std::filesystem::path() : data_ / "pictures", options.data_root);
    gate_of_calls_ = std::make_unique<Gate>(*parts_.store, *parts_.clock, options.authenticate || keeper_);
    if (options.tls.external_authority) gate_of_calls_->credentials().take_foreign_certificates();
    api_ = std::make_unique<Api>(
        Api::Parts{*parts_.store, *parts_.artifacts, *catalogs_, parts_.pictures, *coordinator_, *maintenance_,
                   *purger_, disk_, *parts_.clock, parts_.claims, *desk_, *searches_, *gate_of_calls_,
                   EnrollmentParts{keeper_.get(), [this](const std::string& credential) { calls_.end(credential); }}},
        LOCUS_VERSION);
    LOCUS_RETURN_IF_ERROR(provide_administrator());
    routes_ = std::make_unique<Routes>(api_.get());
    return absl::OkStatus();
  }

  absl::Status serve_grpc(const Address& address, bool reflection) {
    grpc::EnableDefaultHealthCheckService(true);
    if (reflection) grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    services_.push_back(std::make_unique<ExperimentService>(*api_, pool_, feed_));
    services_.push_back(std::make_unique<AnalysisService>(*api_, pool_));
    services_.push_back(std::make_unique<MetricService>(*api_, pool_));
    services_.push_back(std::make_unique<CatalogService>(*api_, pool_));
    services_.push_back(
        std::make_unique<ArtifactService>(*api_, *parts_.store, *parts_.artifacts, gate_, disk_, pool_, *parts_.clock));
    services_.push_back(std::make_unique<AdminService>(*api_, pool_));
    services_.push_back(std::make_unique<EnrollmentService>(*api_, pool_));
    services_.push_back(std::make_unique<IdentityService>(*api_, pool_));
    services_.push_back(std::make_unique<PictureService>(*api_, pool_));
    services_.push_back(std::make_unique<SearchService>(*api_, pool_));
    auto workers = std::make_unique<WorkerService>(*api_, *parts_.store, *coordinator_, disk_, pool_, *parts_.clock,
                                                   LOCUS_VERSION);
    workers_ = workers.get();
    services_.push_back(std::move(workers));
    std::vector<grpc::Service*> services;
    for (const auto& service : services_) services.push_back(service.get());
    GrpcListenOptions listen{address.host, address.port};
    listen.limits = parts_.each_address;
    if (gate_of_calls_->asks()) {
      listen.processor = make_call_processor(*gate_of_calls_, shown_certificate);
      listen.calls = &calls_;
    }
    if (keeper_ && keeper_->asks_clients()) listen.tls = keeper_->folder();
    LOCUS_ASSIGN_OR_RETURN(grpc_, GrpcListener::start(services, std::move(listen)));
    grpc_->set_serving(false);
    addresses_.grpc = Address{address.host, grpc_->port()}.text();
    return absl::OkStatus();
  }

  ServerParts parts_;
  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  WorkPool pool_;
  EventFeed feed_;
  boost::asio::steady_timer disk_timer_, garbage_timer_, certificates_timer_, calls_timer_, estimates_timer_;
  std::filesystem::path data_;
  std::mutex looking_;  // one change of the disk's state at a time
  ArtifactGate gate_;
  DiskGuard disk_;
  std::unique_ptr<Catalogs> catalogs_;
  std::unique_ptr<Coordinator> coordinator_;
  std::unique_ptr<PlannedSearches> script_;
  std::unique_ptr<SearchRunner> searches_;
  std::unique_ptr<Maintenance> maintenance_;
  std::unique_ptr<Retention> retention_;
  std::unique_ptr<Purger> purger_;
  std::unique_ptr<PictureDesk> desk_;
  std::unique_ptr<Gate> gate_of_calls_;
  std::unique_ptr<Api> api_;
  std::unique_ptr<Metrics> metrics_;
  std::unique_ptr<AlertThread> alerts_;
  std::unique_ptr<Routes> routes_;
  std::unique_ptr<Guard> guard_;
  std::unique_ptr<StaticFiles> files_;
  std::unique_ptr<TlsKeeper> keeper_;  // with TLS
  std::unique_ptr<TlsContexts> contexts_;
  OpenCalls calls_;
  std::unique_ptr<HttpServer> http_;
  std::vector<std::unique_ptr<grpc::Service>> services_;
  WorkerService* workers_ = nullptr;  // one of services_
  std::unique_ptr<GrpcListener> grpc_;
  std::future<void> io_ended_;
  ServerAddresses addresses_;
  std::atomic<bool> ready_{false}, stopped_{false};
};

absl::StatusOr<std::unique_ptr<Server>> Server::start(const ServerOptions& options, ServerParts parts) {
  auto running = std::make_unique<Running>(std::move(parts));
  LOCUS_RETURN_IF_ERROR(running->start(options));
  return std::unique_ptr<Server>(new Server(std::move(running)));
}

Server::Server(std::unique_ptr<Running> running) : running_(std::move(running)) {}
Server::~Server() { stop(); }
ServerAddresses Server::addresses() const { return running_->addresses(); }
void Server::stop() { running_->stop(); }
bool Server::answers() const { return running_->answers(); }
void Server::look_at_certificates() { running_->look_at_certificates(); }
void Server::look_at_calls() { running_->look_at_calls(); }
void Server::look_at_disk() { running_->look_at_disk(); }
void Server::estimate_waiting() { running_->estimate_waiting(); }

std::string openapi_text() { return openapi_document(Routes(nullptr).all(), LOCUS_VERSION).dump(1) + "\n"; }

}  // namespace locus
