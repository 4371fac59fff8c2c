// How a unary call is served: on the work pool, answered once, never on a gRPC thread.
//
// The unary calls of a service that have an HTTP address are answered by the function of Api that has their name. A service declares them with
// LOCUS_CALLS_OF_...(LOCUS_DECLARE_CALL) and defines them with LOCUS_CALLS_OF_...(LOCUS_SERVE_CALL), lists of locus/v1/calls.h; it has members api_
// and pool_. A call without its function in Api, or without its line in server/authority/rpcs.def, does not compile.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include "absl/status/statusor.h"
#include "core/base/error.h"
#include "locus/v1/calls.h"
#include "server/authority/answer.h"
#include "server/grpc/principal_of.h"
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

#define LOCUS_DECLARE_CALL(Service, Method, function, Request, Response, slow)                       \
  grpc::ServerUnaryReactor* Method(grpc::CallbackServerContext* context, const v1::Request* request, \
                                   v1::Response* response) override;

#define LOCUS_SERVE_CALL(Service, Method, function, Request, Response, slow)                                  \
  grpc::ServerUnaryReactor* Service::Method(grpc::CallbackServerContext* context, const v1::Request* request, \
                                            v1::Response* response) {                                         \
    constexpr const RpcRule& kRule = LOCUS_RULE_OF(Service, Method);                                          \
    static_assert(takes_caller(&Api::function) || !kRule.changes(),                                           \
                  #Service "/" #Method " changes something: its function of Api takes its caller");           \
    return serve_unary(pool_, context, request, response,                                                     \
                       [this, who = principal_of(api_.gate(), *context)](const v1::Request& asked) {          \
                         return answer_call(api_.gate(), kRule, who, asked, [&](const Caller& caller) {       \
                           return ask(api_, &Api::function, asked, caller);                                   \
                         });                                                                                  \
                       });                                                                                    \
  }

}  // namespace locus::server
