// A call from who makes it to its answer: what every transport goes through.
#pragma once

#include <type_traits>
#include <utility>

#include "absl/status/statusor.h"
#include "server/authority/gate.h"

namespace locus::server {

// Asks the gate, calls `function(const Caller&) -> StatusOr<Response>`, and has the audit hear how it ended.
template <class Function>
auto answer_call(Gate& gate, const RpcRule& rule, Principal who, const google::protobuf::Message& request,
                 Function function) -> std::invoke_result_t<Function, const Caller&> {
  const Caller caller(std::move(who), rule, request);
  if (absl::Status refused = gate.admit(caller, request); !refused.ok()) return refused;
  auto answer = function(caller);
  const absl::Status kept = gate.finish(caller, answer.status());
  if (answer.ok() && !kept.ok()) return kept;
  return answer;
}

// As answer_call, for an answer that is taken piece by piece from a function: it is counted as under way until that
// function is let go of.
template <class Function>
auto answer_pieces(Gate& gate, const RpcRule& rule, Principal who, const google::protobuf::Message& request,
                   Function function) -> std::invoke_result_t<Function, const Caller&> {
  using Pieces = std::invoke_result_t<Function, const Caller&>;
  return answer_call(gate, rule, std::move(who), request, [&](const Caller& caller) -> Pieces {
    absl::StatusOr<HeldPlace> place = gate.hold(caller.principal, rule);
    if (!place.ok()) return place.status();
    Pieces source = function(caller);
    if (!source.ok()) return source.status();
    return typename Pieces::value_type([place = *std::move(place), source = *std::move(source)] { return source(); });
  });
}

// A function of Api takes its request, and where it changes something its caller, too.
template <class Api, class Request, class Response>
absl::StatusOr<Response> ask(Api& api, absl::StatusOr<Response> (Api::*function)(const Request&),
                             const Request& request, const Caller&) {
  return (api.*function)(request);
}
template <class Api, class Request, class Response>
absl::StatusOr<Response> ask(Api& api, absl::StatusOr<Response> (Api::*function)(const Request&, const Caller&),
                             const Request& request, const Caller& caller) {
  return (api.*function)(request, caller);
}

// Whether it writes its own row of the audit.
template <class Api, class Request, class Response>
constexpr bool takes_caller(absl::StatusOr<Response> (Api::*)(const Request&)) {
  return false;
}
template <class Api, class Request, class Response>
constexpr bool takes_caller(absl::StatusOr<Response> (Api::*)(const Request&, const Caller&)) {
  return true;
}

}  // namespace locus::server
