// The JSON side.
#include "server/http/routes.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <set>

#include "absl/strings/str_join.h"
#include "core/base/error.h"
#include "core/base/invalid.h"
#include "core/base/json.h"
#include "locus/v1/options.pb.h"

namespace locus::server {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using Variables = std::map<std::string, std::string>;

template <class Integer>
std::optional<Integer> parse_integer(const std::string& text) {
  Integer value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string> split(const std::string& path) {
  std::vector<std::string> out;
  for (std::size_t begin = 1; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    out.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

// One segment against "{name}", "{name}:verb" or a literal.
bool match_segment(const std::string& pattern, const std::string& segment, Variables* variables) {
  if (pattern.empty() || pattern.front() != '{') return pattern == segment;
  const std::size_t close = pattern.find('}');
  const std::string verb = pattern.substr(close + 1);
  if (segment.size() <= verb.size() || segment.compare(segment.size() - verb.size(), verb.size(), verb) != 0)
    return false;
  const std::string value = segment.substr(0, segment.size() - verb.size());
  if (verb.empty() && value.find(':') != std::string::npos) return false;
  (*variables)[pattern.substr(1, close - 1)] = value;
  return true;
}

bool match(const std::string& pattern, const std::string& path, Variables* variables) {
  const auto wanted = split(pattern), given = split(path);
  if (wanted.size() != given.size()) return false;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!match_segment(wanted[i], given[i], variables)) return false;
  }
  return true;
}

std::string expand(std::string text, const Variables& variables) {
  for (const auto& [name, value] : variables) {
    const std::string mark = "{" + name + "}";
    if (const std::size_t at = text.find(mark); at != std::string::npos) text.replace(at, mark.size(), value);
  }
  return text;
}

// The body of a POST whose request stands in path and query: what it said would be lost.
absl::Status check_no_body(const std::string& body) {
  if (body.empty()) return absl::OkStatus();
  const Json parsed = Json::parse(body, nullptr, false);
  if (parsed.is_object() && parsed.empty()) return absl::OkStatus();
  return invalid("body", "this address takes no body; what it can be told are parameters of the address");
}

absl::StatusOr<std::unique_ptr<Message>> fill(const Route& route, const HttpRequest& http, const Variables& variables) {
  const Binding& binding = route.binding;
  auto* factory = google::protobuf::MessageFactory::generated_factory();
  std::unique_ptr<Message> request(factory->GetPrototype(route.request)->New());
  if (binding.body) {
    LOCUS_RETURN_IF_ERROR(from_json(http.body, request.get()));
  } else if (http.method == "POST") {
    LOCUS_RETURN_IF_ERROR(check_no_body(http.body));
  }
  for (const auto& [key, value] : http.query) {
    const auto renamed = binding.query_names.find(key);
    const std::string& field = renamed == binding.query_names.end() ? key : renamed->second;
    if (binding.from_path.count(field) > 0) return invalid(key, "\"" + key + "\" is given by the path");
    if (binding.without.count(field) > 0) return invalid(key, "\"" + key + "\" is not a parameter of this address");
    LOCUS_RETURN_IF_ERROR(set_field(request.get(), field, value));
  }
  for (const auto& [field, text] : binding.from_path)
    LOCUS_RETURN_IF_ERROR(set_field(request.get(), field, expand(text, variables)));
  return request;
}

absl::StatusOr<HttpResponse> answer_with(Api& api, const Route& route, const Principal& who, const Message& request) {
  HttpResponse out;
  out.content_type = route.content_type;
  if (route.call->answer) {
    LOCUS_ASSIGN_OR_RETURN(const std::unique_ptr<Message> response, route.call->answer(api, who, request));
    out.body = to_json(*response);
    return out;
  }
  LOCUS_ASSIGN_OR_RETURN(PullSource<std::string> source, route.call->chunks(api, who, request));
  out.more = [source = std::move(source)]() -> absl::StatusOr<std::string> {
    LOCUS_ASSIGN_OR_RETURN(std::optional<std::string> chunk, source());
    return chunk ? *std::move(chunk) : std::string();
  };
  LOCUS_ASSIGN_OR_RETURN(out.body, out.more());
  return out;
}

Route make_route(const Call& call, CallAddress address) {
  const auto* method = call.method;
  Route out{std::move(address), method->service()->name() + "/" + method->name(), &call, method->input_type()};
  if (call.answer) {
    out.response = method->output_type();
  } else {
    out.content_type = method->output_type()->FindFieldByName("chunk")->options().GetExtension(v1::content_type);
  }
  return out;
}

}  // namespace

absl::Status set_field(google::protobuf::Message* message, const std::string& path, const std::string& text) {
  const std::size_t dot = path.find('.');
  const FieldDescriptor* field = message->GetDescriptor()->FindFieldByName(path.substr(0, dot));
  const auto* reflection = message->GetReflection();
  if (field != nullptr && field->is_repeated() && field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
    reflection->AddString(message, field, text);
    return absl::OkStatus();
  }
  if (field == nullptr || field->is_repeated()) {
    return invalid(path, "\"" + path + "\" is not a parameter of this address");
  }
  if (dot != std::string::npos && field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    return set_field(reflection->MutableMessage(message, field), path.substr(dot + 1), text);
  }
  const absl::Status no_value = invalid(path, "\"" + path + "\" is \"" + text + "\"; give an integer");
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      reflection->SetString(message, field, text);
      return absl::OkStatus();
    case FieldDescriptor::CPPTYPE_INT32: {
      const auto value = parse_integer<std::int32_t>(text);
      if (!value) return no_value;
      reflection->SetInt32(message, field, *value);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_INT64: {
      const auto value = parse_integer<std::int64_t>(text);
      if (!value) return no_value;
      reflection->SetInt64(message, field, *value);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_BOOL:
      if (text != "true" && text != "false")
        return invalid(path, "\"" + path + "\" is \"" + text + "\"; give true or false");
      reflection->SetBool(message, field, text == "true");
      return absl::OkStatus();
    default:
      return invalid(path, "\"" + path + "\" is not a parameter of this address");
  }
}

Routes::Routes(Api* api) : api_(api) {
  for (const Call& call : calls_with_address()) {
    for (CallAddress& address : addresses_of(call.method)) routes_.push_back(make_route(call, std::move(address)));
  }
}

bool Routes::takes(const HttpRequest& request) const {
  return std::any_of(routes_.begin(), routes_.end(), [&](const Route& route) {
    Variables variables;
    return route.method == request.method && match(route.pattern, request.path, &variables);
  });
}

HttpResponse Routes::answer(const HttpRequest& request, const Principal& who) const {
  std::set<std::string> allowed;
  for (const Route& candidate : routes_) {
    Variables variables;
    if (!match(candidate.pattern, request.path, &variables)) continue;
    if (candidate.method != request.method && !(candidate.method == "GET" && request.method == "HEAD")) {
      allowed.insert(candidate.method);
      continue;
    }
    // First: nothing that a stranger sends is read.
    if (const absl::Status refused = api_->gate().permit(who, *find_rule(candidate.rpc)); !refused.ok())
      return error_response(refused);
    const auto filled = fill(candidate, request, variables);
    if (!filled.ok()) return error_response(filled.status());
    auto answered = answer_with(*api_, candidate, who, **filled);
    return answered.ok() ? *std::move(answered) : error_response(answered.status());
  }
  if (allowed.empty()) {
    return error_response(
        make_error(absl::StatusCode::kNotFound, ErrorReason::kRouteNotFound,
                   "there is nothing at \"" + request.path.substr(0, 200) + "\"; docs/formats/http.md lists what is",
                   "", {{"path", request.path.substr(0, 200)}}));
  }
  const std::string methods = absl::StrJoin(allowed, ", ");
  HttpResponse out = error_response(make_error(absl::StatusCode::kUnimplemented, ErrorReason::kRouteNotFound,
                                               "this address takes " + methods + ", not " + request.method),
                                    405);
  out.allow = methods;
  return out;
}

}  // namespace locus::server
