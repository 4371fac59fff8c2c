// The calls that have an HTTP address.
#include "server/http/calls.h"

#include "core/base/error.h"
#include "locus/v1/calls.h"
#include "server/authority/answer.h"

namespace locus::server {
namespace {

using google::protobuf::Message;

const google::protobuf::MethodDescriptor* method(const std::string& name) {
  return google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(name);
}

// `function` is one of Api, with or without its caller.
template <class Request, class Response, class Function>
Call unary(const std::string& name, const RpcRule& rule, Function function) {
  Call out{method(name)};
  out.answer = [function, &rule](Api& api, const Principal& who,
                                 const Message& message) -> absl::StatusOr<std::unique_ptr<Message>> {
    const auto& request = static_cast<const Request&>(message);
    LOCUS_ASSIGN_OR_RETURN(Response response, answer_call(api.gate(), rule, who, request, [&](const Caller& caller) {
                             return ask(api, function, request, caller);
                           }));
    return std::make_unique<Response>(std::move(response));
  };
  return out;
}

template <class Request, class Response, class Function>
Call stream(const std::string& name, const RpcRule& rule, Function function) {
  Call out{method(name)};
  out.chunks = [function, &rule](Api& api, const Principal& who,
                                 const Message& message) -> absl::StatusOr<PullSource<std::string>> {
    const auto& request = static_cast<const Request&>(message);
    LOCUS_ASSIGN_OR_RETURN(PullSource<Response> source,
                           answer_pieces(api.gate(), rule, who, request,
                                         [&](const Caller& caller) { return ask(api, function, request, caller); }));
    return PullSource<std::string>([source = std::move(source)]() -> absl::StatusOr<std::optional<std::string>> {
      LOCUS_ASSIGN_OR_RETURN(std::optional<Response> chunk, source());
      if (!chunk) return std::optional<std::string>();
      return std::move(*chunk->mutable_chunk());
    });
  };
  return out;
}

}  // namespace

const std::vector<Call>& calls_with_address() {
  static const std::vector<Call> kCalls = {
#define LOCUS_CALL(Service, Method, function, Request, Response, slow) \
  unary<v1::Request, v1::Response>("locus.v1." #Service "." #Method, line_of(#Service "/" #Method), &Api::function),
      LOCUS_ADDRESSED_CALLS(LOCUS_CALL)
#undef LOCUS_CALL
#define LOCUS_CALL(Service, Method, function, Request, Response, slow) \
  stream<v1::Request, v1::Response>("locus.v1." #Service "." #Method, line_of(#Service "/" #Method), &Api::function),
          LOCUS_ADDRESSED_STREAMS(LOCUS_CALL)
#undef LOCUS_CALL
  };
  return kCalls;
}

}  // namespace locus::server
