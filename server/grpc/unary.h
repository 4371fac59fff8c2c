// How a unary call is served: on the work pool, answered once, never on a gRPC thread.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include "absl/status/statusor.h"
#include "core/base/error.h"
#include "server/runtime/work_pool.h"
#include "server/wire/status.h"

namespace locus::server {

inline absl::Status busy_error() {
  return make_error(absl::StatusCode::kResourceExhausted, ErrorReason::kLimitExceeded,
                    "too many requests wait already; ask again in a moment");
}

// `answer` is const Request& -> StatusOr<Response>; it may block. `request` and `response` live until the
// call is finished.
template <class Request, class Response, class Answer>
grpc::ServerUnaryReactor* serve_unary(WorkPool& pool, grpc::CallbackServerContext* context, const Request* request,
                                      Response* response, Answer answer) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const bool taken = pool.try_post([=, answer = std::move(answer)] {
    if (context->IsCancelled()) return reactor->Finish(grpc::Status::CANCELLED);
    absl::StatusOr<Response> result = answer(*request);
    if (!result.ok()) return reactor->Finish(to_grpc_status(result.status()));
    *response = *std::move(result);
    reactor->Finish(grpc::Status::OK);
  });
  if (!taken) reactor->Finish(to_grpc_status(busy_error()));
  return reactor;
}

}  // namespace locus::server
