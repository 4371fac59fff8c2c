// Unary calls and the event stream.
#include "client/client.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/client_interceptor.h>

#include "client/impl.h"
#include "core/base/error.h"

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

bool on_this_machine(const std::string& address) {
  const std::string host = address.substr(0, address.rfind(':'));
  return host == "localhost" || host == "[::1]" || host.starts_with("127.");
}

// Puts the token beside every call. Credentials of gRPC would do so over TLS alone.
class ShowToken final : public grpc::experimental::Interceptor {
 public:
  explicit ShowToken(const std::string& token) : token_(token) {}
  void Intercept(grpc::experimental::InterceptorBatchMethods* step) override {
    if (step->QueryInterceptionHookPoint(grpc::experimental::InterceptionHookPoints::PRE_SEND_INITIAL_METADATA))
      step->GetSendInitialMetadata()->emplace("authorization", "Bearer " + token_);
    step->Proceed();
  }

 private:
  const std::string& token_;
};

class ShowTokens final : public grpc::experimental::ClientInterceptorFactoryInterface {
 public:
  explicit ShowTokens(std::string token) : token_(std::move(token)) {}
  grpc::experimental::Interceptor* CreateClientInterceptor(grpc::experimental::ClientRpcInfo*) override {
    return new ShowToken(token_);  // gRPC deletes it with the call, and this with the channel
  }

 private:
  const std::string token_;
};

std::shared_ptr<grpc::Channel> channel_to(const std::string& address,
                                          const std::shared_ptr<grpc::ChannelCredentials>& credentials,
                                          const std::string& token) {
  if (token.empty()) return grpc::CreateCustomChannel(address, credentials, channel_arguments());
  std::vector<std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>> interceptors;
  interceptors.push_back(std::make_unique<ShowTokens>(token));
  return grpc::experimental::CreateCustomChannelWithInterceptors(address, credentials, channel_arguments(),
                                                                 std::move(interceptors));
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

bool Patience::wait_to_retry(const grpc::Status& status) { return worth_retrying(status) && wait(status); }

bool Patience::wait_for_turn(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED && retry_delay(status) && wait(status);
}

bool Patience::wait(const grpc::Status& status) {
  if (cancellation_->cancelled()) return false;
  const auto left = std::chrono::microseconds(give_up_ - system_clock().steady());
  if (left <= 0us) return false;
  const auto wait = std::max(backoff_.next(), retry_delay(status).value_or(0us));
  return !cancellation_->wait_for(std::min(wait, left));
}

Client::Impl::Impl(std::string address_in, ClientOptions options_in, std::shared_ptr<grpc::Channel> channel_in)
    : address(std::move(address_in)),
      options(std::move(options_in)),
      channel(std::move(channel_in)),
      stubs(v1::ExperimentService::NewStub(channel), v1::AnalysisService::NewStub(channel),
            v1::MetricService::NewStub(channel), v1::ArtifactService::NewStub(channel),
            v1::CatalogService::NewStub(channel), v1::PictureService::NewStub(channel),
            v1::WorkerService::NewStub(channel), v1::AdminService::NewStub(channel),
            v1::SearchService::NewStub(channel), v1::EnrollmentService::NewStub(channel),
            v1::IdentityService::NewStub(channel)) {}

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
  if (!options.token.empty() && !options.tls.wanted() && !on_this_machine(address)) {
    return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
                      "a token would go to " + address +
                          " in the clear: have that server speak TLS, and log in there with an invitation",
                      "server", {{"address", address}});
  }
  LOCUS_ASSIGN_OR_RETURN(const auto credentials, channel_credentials(options.tls));
  auto channel = channel_to(address, credentials, options.token);
  return std::unique_ptr<Client>(new Client(std::make_unique<Impl>(address, std::move(options), std::move(channel))));
}

#define LOCUS_CALL(Service, Method, function, Request, Response, slow)                                 \
  absl::StatusOr<v1::Response> Client::function(const v1::Request& request, const CallOptions& call) { \
    return impl_->unary(&v1::Service::Stub::Method, request, call);                                    \
  }
LOCUS_UNARY_CALLS(LOCUS_CALL)
#undef LOCUS_CALL

absl::Status Client::export_experiment(const v1::ExportExperimentRequest& request,
                                       const std::function<absl::Status(std::string_view)>& each,
                                       const CallOptions& call) {
  Patience retry = impl_->patience(call);
  while (true) {
    impl_->settle();
    grpc::ClientContext context;
    Cancellation::Guard guard(call.cancellation, &context);
    const auto reader = impl_->stub<v1::ExperimentService>().ExportExperiment(&context, request);
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
    if (begun || !retry.wait_to_retry(status)) return impl_->refusal(status);
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
    const auto reader = impl_->stub<v1::ExperimentService>().WatchEvents(&context, request);
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
    if (!retry.wait_to_retry(status)) return impl_->refusal(status);
  }
}

}  // namespace locus
