// Bodies and query parameters of requests: the first four bytes say of which call (methods.h).
#include "server/http/exchange.h"
#include "server/http/routes.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/service/methods.h"

namespace locus::fuzz {
namespace {

using google::protobuf::Message;
using google::protobuf::MessageFactory;

}  // namespace

void http_message(std::string_view bytes) {
  const auto* method = chosen(methods_with_address(), bytes);
  const Message* prototype = MessageFactory::generated_factory()->GetPrototype(method->input_type());
  const std::unique_ptr<Message> message(prototype->New());
  if (server::from_json(std::string(bytes), message.get()).ok()) {
    const std::unique_ptr<Message> again(prototype->New());
    const std::string text = server::to_json(*message);
    require(server::from_json(text, again.get()).ok() && server::to_json(*again) == text,
            "a message is read as it is written");
  }
  server::HttpRequest request;
  const std::unique_ptr<Message> filled(prototype->New());
  if (!server::parse_target("/?" + std::string(bytes), &request).ok()) return;
  for (const auto& [key, value] : request.query) {
    if (!server::set_field(filled.get(), key, value).ok()) return;
  }
  (void)server::to_json(*filled);
}

}  // namespace locus::fuzz
