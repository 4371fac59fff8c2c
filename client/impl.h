// What the client's source files share: the channel, the stubs and the retry loop. Not for others.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <atomic>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "client/backoff.h"
#include "client/client.h"
#include "client/errors.h"
#include "core/base/clock.h"
#include "core/base/ids.h"
#include "core/base/sha256.h"
#include "locus/v1/admin_service.grpc.pb.h"
#include "locus/v1/analysis_service.grpc.pb.h"
#include "locus/v1/artifact_service.grpc.pb.h"
#include "locus/v1/catalog_service.grpc.pb.h"
#include "locus/v1/enrollment_service.grpc.pb.h"
#include "locus/v1/experiment_service.grpc.pb.h"
#include "locus/v1/identity_service.grpc.pb.h"
#include "locus/v1/metric_service.grpc.pb.h"
#include "locus/v1/picture_service.grpc.pb.h"
#include "locus/v1/search_service.grpc.pb.h"
#include "locus/v1/worker_service.grpc.pb.h"

namespace locus {

// Decides after a failed try whether to go on, and waits.
class Patience {
 public:
  Patience(std::chrono::microseconds time, Cancellation* cancellation);
  void restart();  // the server answered: the time counts from now
  // True after the wait for the next try; false when `status` is not worth one, time is up or the call is
  // cancelled.
  bool wait_to_retry(const grpc::Status& status);
  // Likewise where `status` is that the caller has as much under way as it may, and says when to ask again.
  bool wait_for_turn(const grpc::Status& status);

 private:
  bool wait(const grpc::Status& status);

  std::chrono::microseconds time_;
  Microseconds give_up_;
  Backoff backoff_;
  Cancellation* cancellation_;
  Cancellation never_;
};

class Client::Impl {
 public:
  Impl(std::string address, ClientOptions options, std::shared_ptr<grpc::Channel> channel);

  // Before every try. gRPC works on a connection only while somebody waits for it: without this, a call that
  // fails fast finds the channel as broken as the last one left it, until a background poll seconds later.
  bool connect_for(std::chrono::microseconds time) const {
    return channel->WaitForConnected(std::chrono::system_clock::now() + time);
  }
  void settle() const { connect_for(std::chrono::milliseconds(200)); }

  absl::Status refusal(const grpc::Status& status) const { return from_wire(status, address, options.tls); }

  Patience patience(const CallOptions& call) const {
    return Patience(call.patience.value_or(options.patience), call.cancellation);
  }

  template <class Service>
  typename Service::Stub& stub() const {
    return *std::get<std::unique_ptr<typename Service::Stub>>(stubs);
  }

  // One unary call with retries. `method` is that of a stub.
  template <class Response, class Stub, class Request>
  absl::StatusOr<Response> unary(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                                 Request request, CallOptions call) {
    if constexpr (requires { request.set_request_id(""); }) {
      if (request.request_id().empty()) request.set_request_id(random_uuid());
    }
    if constexpr (requires { request.wait_duration(); }) {
      call.deadline += std::chrono::seconds(request.wait_duration().seconds()) +
                       std::chrono::microseconds(request.wait_duration().nanos() / 1000);
    }
    Patience retry = patience(call);
    while (true) {
      settle();
      grpc::ClientContext context;
      context.set_deadline(std::chrono::system_clock::now() + call.deadline);
      Cancellation::Guard guard(call.cancellation, &context);
      Response response;
      const auto& stub = std::get<std::unique_ptr<Stub>>(stubs);
      const grpc::Status status = ((*stub).*method)(&context, request, &response);
      if (status.ok()) return response;
      if (!retry.wait_to_retry(status)) return refusal(status);
    }
  }

  // One try each. A fault of our own file goes into `local`; then the returned status is of no interest.
  grpc::Status upload_once(const std::filesystem::path& path, const v1::UploadArtifactRequest::Header& header,
                           const CallOptions& call, absl::Status& local) const;
  // Append to `fd`, moving `offset` and `hash` along.
  grpc::Status download_once(const std::string& sha256, int fd, std::int64_t& offset, Sha256& hash,
                             const CallOptions& call, absl::Status& local) const;
  // From an object store that the server names. False where it names none, or not all came: the server has the rest.
  bool download_direct(const std::string& sha256, int fd, std::int64_t& offset, Sha256& hash, const CallOptions& call,
                       absl::Status& local);

  const std::string address;
  const ClientOptions options;
  const std::shared_ptr<grpc::Channel> channel;
  const std::tuple<std::unique_ptr<v1::ExperimentService::Stub>, std::unique_ptr<v1::AnalysisService::Stub>,
                   std::unique_ptr<v1::MetricService::Stub>, std::unique_ptr<v1::ArtifactService::Stub>,
                   std::unique_ptr<v1::CatalogService::Stub>, std::unique_ptr<v1::PictureService::Stub>,
                   std::unique_ptr<v1::WorkerService::Stub>, std::unique_ptr<v1::AdminService::Stub>,
                   std::unique_ptr<v1::SearchService::Stub>, std::unique_ptr<v1::EnrollmentService::Stub>,
                   std::unique_ptr<v1::IdentityService::Stub>>
      stubs;
  // Whether the server names another place for blobs; given up for good when it does not, or when that cannot be reached.
  std::atomic<bool> direct = true;
};

}  // namespace locus
