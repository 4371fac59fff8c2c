// Builds gRPC's server and feeds it connections.
#include "server/grpc/listener.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <future>

#include "core/base/error.h"
#include "core/limits.h"
#include "server/tls/published.h"

namespace locus::server {
namespace {

constexpr int kProbeWait = 3;          // seconds
constexpr unsigned kWatchSeconds = 1;  // how often gRPC looks at the published files
constexpr std::size_t kMemoryForCalls = 512u << 20;

// Every client shows a certificate of ours before it gets to speak HTTP/2, where gRPC 1.51 has open flaws.
std::shared_ptr<grpc::ServerCredentials> tls_credentials(const std::filesystem::path& folder) {
  const PublishedFiles files = published_files(folder);
  auto provider = std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
      files.key.string(), files.chain.string(), files.anchors.string(), kWatchSeconds);
  grpc::experimental::TlsServerCredentialsOptions options(provider);
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  return grpc::experimental::TlsServerCredentials(options);
}

std::shared_ptr<grpc::ServerCredentials> credentials_of(const GrpcListenOptions& options) {
  if (options.tls.empty() && !options.processor) return grpc::InsecureServerCredentials();
  const auto out =
      options.tls.empty() ? grpc::experimental::LocalServerCredentials(LOCAL_TCP) : tls_credentials(options.tls);
  if (options.processor) out->SetAuthMetadataProcessor(options.processor);
  return out;
}

void set_limits(grpc::ServerBuilder& builder, std::chrono::milliseconds handshake) {
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 1024);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, 8192);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, static_cast<int>(handshake.count()));
  builder.SetMaxReceiveMessageSize(static_cast<int>(kMessageBytes));
  grpc::ResourceQuota quota("locus");
  quota.Resize(kMemoryForCalls);
  builder.SetResourceQuota(quota);
}

bool healthy(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own: accept is what is asked
  const auto channel = grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  context.set_deadline(gpr_time_from_seconds(kProbeWait, GPR_TIMESPAN));
  const grpc::Slice nothing("");
  const grpc::ByteBuffer request(&nothing, 1);  // an empty message, which a buffer without slices is not
  grpc::ByteBuffer response;
  std::promise<bool> answered;
  stub.UnaryCall(&context, "/grpc.health.v1.Health/Check", {}, &request, &response,
                 [&](const grpc::Status& status) { answered.set_value(status.ok()); });
  return answered.get_future().get();
}

}  // namespace

absl::StatusOr<std::unique_ptr<GrpcListener>> GrpcListener::start(const std::vector<grpc::Service*>& services,
                                                                  GrpcListenOptions options) {
  LOCUS_ASSIGN_OR_RETURN(auto loop, AcceptLoop::bind(options.host, options.port, "--grpc-address", options.limits));
  std::unique_ptr<GrpcListener> out(new GrpcListener(std::move(options), std::move(loop)));
  grpc::ServerBuilder builder;
  set_limits(builder, out->options_.limits.handshake);
  out->acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, credentials_of(out->options_));
  if (out->options_.calls != nullptr) {
    std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> watchers;
    watchers.push_back(out->options_.calls->watcher());
    builder.experimental().SetInterceptorCreators(std::move(watchers));
  }
  for (grpc::Service* service : services) builder.RegisterService(service);
  out->server_ = builder.BuildAndStart();
  if (!out->server_) {
    return make_error(absl::StatusCode::kInternal, ErrorReason::kInvariantBroken,
                      "gRPC refuses to serve on " + out->options_.host + "; its own log says why");
  }
  out->loop_->start([acceptor = out->acceptor_.get()](Fd socket) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
    connection.fd = socket.release();
    acceptor->HandleNewConnection(&connection);
  });
  return out;
}

GrpcListener::~GrpcListener() { stop(std::chrono::seconds(0)); }

void GrpcListener::set_serving(bool serving) { server_->GetHealthCheckService()->SetServingStatus(serving); }

bool GrpcListener::answers() const {
  // Who has no certificate gets no further, and a refused handshake would be an error in the log each time.
  if (!options_.tls.empty()) return loop_->answers(std::chrono::seconds(kProbeWait));
  const bool v6 = options_.host.find(':') != std::string::npos;
  return healthy((v6 ? "[" + options_.host + "]" : options_.host) + ":" + std::to_string(port()));
}

void GrpcListener::stop(std::chrono::seconds wait) {
  loop_->stop();
  if (!server_) return;
  server_->Shutdown(gpr_time_from_seconds(wait.count(), GPR_TIMESPAN));
  server_->Wait();
}

}  // namespace locus::server
