// The calls that have an HTTP address.
#include "server/http/calls.h"

#include "core/base/error.h"
#include "locus/v1/calls.h"

namespace locus::server {
namespace {

using google::protobuf::Message;

const google::protobuf::MethodDescriptor* method(const std::string& name) {
  return google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(name);
}

template <class Request, class Response>
Call unary(const std::string& name, absl::StatusOr<Response> (Api::*function)(const Request&)) {
  Call out{method(name)};
  out.answer = [function](Api& api, const Message& request) -> absl::StatusOr<std::unique_ptr<Message>> {
    LOCUS_ASSIGN_OR_RETURN(Response response, (api.*function)(static_cast<const Request&>(request)));
    return std::make_unique<Response>(std::move(response));
  };
  return out;
}

template <class Request, class Response>
Call stream(const std::string& name, absl::StatusOr<PullSource<Response>> (Api::*function)(const Request&)) {
  Call out{method(name)};
  out.chunks = [function](Api& api, const Message& request) -> absl::StatusOr<PullSource<std::string>> {
    LOCUS_ASSIGN_OR_RETURN(PullSource<Response> source, (api.*function)(static_cast<const Request&>(request)));
    return PullSource<std::string>([source = std::move(source)]() -> absl::StatusOr<std::optional<std::string>> {
      LOCUS_ASSIGN_OR_RETURN(std::optional<Response> message, source());
      if (!message) return std::optional<std::string>();
      return std::move(*message->mutable_chunk());
    });
  };
  return out;
}

}  // namespace

const std::vector<Call>& calls_with_address() {
  static const std::vector<Call> kCalls = {
#define LOCUS_CALL(Service, Method, function, Request, Response, slow) \
  unary<v1::Request, v1::Response>("locus.v1." #Service "." #Method, &Api::function),
      LOCUS_ADDRESSED_CALLS(LOCUS_CALL)
#undef LOCUS_CALL
#define LOCUS_CALL(Service, Method, function, Request, Response, slow) \
  stream<v1::Request, v1::Response>("locus.v1." #Service "." #Method, &Api::function),
          LOCUS_ADDRESSED_STREAMS(LOCUS_CALL)
#undef LOCUS_CALL
  };
  return kCalls;
}

}  // namespace locus::server
