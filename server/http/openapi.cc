// The JSON side described by itself.
#include "server/http/openapi.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <set>

#include "server/http/bounds.h"
#include "server/http/descriptions.h"

namespace locus::server {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

constexpr int kErrors[] = {400, 403, 404, 405, 409, 413, 415, 429, 431, 500, 501, 503, 504};

Json reference(const std::string& name) { return {{"$ref", "#/components/schemas/" + name}}; }

bool is_time(const Descriptor* message) { return message->full_name() == "google.protobuf.Timestamp"; }

// One value of a field, as docs/formats/http.md prints it.
Json value_schema(const FieldDescriptor* field) {
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return {{"type", "boolean"}};
    case FieldDescriptor::CPPTYPE_INT32:
    case FieldDescriptor::CPPTYPE_UINT32:
      return {{"type", "integer"}};
    case FieldDescriptor::CPPTYPE_INT64:
    case FieldDescriptor::CPPTYPE_UINT64:
      return {{"type", "string"}, {"pattern", "^-?[0-9]+$"}};
    case FieldDescriptor::CPPTYPE_DOUBLE:
    case FieldDescriptor::CPPTYPE_FLOAT:
      return {{"oneOf", {{{"type", "number"}}, {{"enum", {"NaN", "Infinity", "-Infinity"}}}}}};
    case FieldDescriptor::CPPTYPE_MESSAGE:
      if (is_time(field->message_type())) return {{"type", "string"}, {"format", "date-time"}};
      return reference(field->message_type()->name());
    default:
      return {{"type", "string"}};
  }
}

Json field_schema(const FieldDescriptor* field) {
  if (field->is_map())
    return {{"type", "object"}, {"additionalProperties", value_schema(field->message_type()->map_value())}};
  if (field->is_repeated()) return {{"type", "array"}, {"items", value_schema(field)}};
  return value_schema(field);
}

Json described(Json schema, const std::string& words) {
  if (!words.empty()) schema["description"] = words;
  return schema;
}

// Keywords of bounds.h in the schema of a field: into each branch that is of their type.
void bound(const FieldDescriptor* field, Json& schema) {
  Json bounds = bounds_of(field);
  if (bounds.contains("items")) {
    schema["items"].update(bounds["items"]);
    bounds.erase("items");
  }
  Json& target = schema.contains("oneOf") ? schema["oneOf"][0] : schema;
  target.update(bounds);
}

// What a body may hold: the fields of a request with their bounds, and those of the messages it carries, written out. None
// but the wanted ones must be there; a number is a number.
Json body_schema(const Descriptor* message) {
  Json properties = Json::object(), required = Json::array();
  for (int i = 0; i < message->field_count(); ++i) {
    const FieldDescriptor* field = message->field(i);
    Json schema = field_schema(field);
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !field->is_map()) {
      Json inner = body_schema(field->message_type());
      schema = field->is_repeated() ? Json{{"type", "array"}, {"items", std::move(inner)}} : std::move(inner);
    }
    bound(field, schema);
    properties[field->name()] = described(std::move(schema), describe(field));
    if (is_wanted(field)) required.push_back(field->name());
  }
  Json out = described({{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}},
                       describe(message));
  if (!required.empty()) out["required"] = std::move(required);
  return out;
}

// Messages within messages that no answer leaves out.
bool is_always_set(const FieldDescriptor* field) {
  static const std::set<std::string> kSet = {
      "Attempt.start_time",
      "ComparedResult.key",
      "Experiment.create_time",
      "CreateExperimentResponse.experiment",
      "Result.key",
      "RerunExperimentResponse.experiment",
      "SystemSeries.key",
      "TrialColumn.key",
      "TrialDetail.trial",
      "Worker.seen_time",
      "WorkerDetail.worker",
      "WorkerAttempt.start_time",
  };
  return kSet.contains(field->containing_type()->name() + "." + field->name());
}

// Adds the message and everything it holds. Scalars and lists are always printed, messages and what is optional when
// they are set.
void add_message(const Descriptor* message, Json& schemas) {
  if (is_time(message) || schemas.contains(message->name())) return;
  const std::string words = describe(message);
  schemas[message->name()] = Json::object();
  Json properties = Json::object(), required = Json::array();
  for (int i = 0; i < message->field_count(); ++i) {
    const FieldDescriptor* field = message->field(i);
    properties[field->name()] = described(field_schema(field), describe(field));
    const bool is_message = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (!field->has_presence() || is_always_set(field)) required.push_back(field->name());
    if (is_message && !field->is_map()) add_message(field->message_type(), schemas);
  }
  schemas[message->name()] = described({{"type", "object"}, {"properties", std::move(properties)}}, words);
  if (!required.empty()) schemas[message->name()]["required"] = std::move(required);
}

Json error_schema() {
  const Json text = {{"type", "string"}};
  const Json violation = {{"type", "object"},
                          {"required", {"field", "description", "reason"}},
                          {"properties", {{"field", text}, {"description", text}, {"reason", text}}}};
  const Json detail = {{"type", "object"},
                       {"required", {"@type"}},
                       {"properties",
                        {{"@type", text},
                         {"reason", text},
                         {"domain", text},
                         {"metadata", {{"type", "object"}, {"additionalProperties", text}}},
                         {"field_violations", {{"type", "array"}, {"items", violation}}}}}};
  const Json error = {{"type", "object"},
                      {"required", {"code", "status", "message", "details"}},
                      {"properties",
                       {{"code", {{"type", "integer"}}},
                        {"status", text},
                        {"message", text},
                        {"details", {{"type", "array"}, {"items", detail}}}}}};
  return {{"type", "object"},
          {"description", "What was asked, what was found and what to do; details carry reason, field and metadata."},
          {"required", {"error"}},
          {"properties", {{"error", error}}}};
}

// Names between braces, in order.
std::vector<std::string> variables_of(const std::string& pattern) {
  std::vector<std::string> out;
  for (std::size_t open = pattern.find('{'); open != std::string::npos; open = pattern.find('{', open + 1))
    out.push_back(pattern.substr(open + 1, pattern.find('}', open) - open - 1));
  return out;
}

// Text in an address holds no control characters (exchange.cc); a narrower pattern or a list of words says so already.
Json in_address(Json schema) {
  Json& text = schema.value("type", "") == "array" ? schema["items"] : schema;
  if (text.value("type", "") == "string" && !text.contains("pattern") && !text.contains("enum"))
    text["pattern"] = "^[^\\x00-\\x1f\\x7f]*$";
  return schema;
}

Json path_parameters(const Route& route) {
  Json out = Json::array();
  for (const std::string& name : variables_of(route.pattern)) {
    Json schema = {{"type", "string"}};
    if (name == "ordinal" || name == "stage")
      schema = {{"type", "integer"}, {"minimum", 0}, {"maximum", std::numeric_limits<std::int64_t>::max()}};
    if (name == "sha256") schema["pattern"] = "^[0-9a-f]{64}$";
    out.push_back({{"name", name},
                   {"in", "path"},
                   {"required", true},
                   {"description", describe_parameter(name)},
                   {"schema", in_address(std::move(schema))}});
  }
  return out;
}

void add_query(const std::string& name, const FieldDescriptor* field, Json& out) {
  const bool strings = field->cpp_type() == FieldDescriptor::CPPTYPE_STRING;
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE || (field->is_repeated() && !strings)) return;
  Json schema = field_schema(field);
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_INT64) {
    schema = {{"type", "integer"},
              {"minimum", std::numeric_limits<std::int64_t>::min()},
              {"maximum", std::numeric_limits<std::int64_t>::max()}};
  }
  bound(field, schema);
  out.push_back({{"name", name},
                 {"in", "query"},
                 {"required", is_wanted(field)},
                 {"description", describe(field)},
                 {"schema", in_address(std::move(schema))}});
}

Json parameters_of(const Route& route) {
  Json out = path_parameters(route);
  if (route.binding.body) return out;
  for (int i = 0; i < route.request->field_count(); ++i) {
    const FieldDescriptor* field = route.request->field(i);
    const bool given = route.binding.from_path.count(field->name()) + route.binding.without.count(field->name()) > 0;
    if (!given) add_query(field->name(), field, out);
  }
  for (const auto& [name, path] : route.binding.query_names) {
    const std::size_t dot = path.find('.');
    const FieldDescriptor* outer = route.request->FindFieldByName(path.substr(0, dot));
    add_query(name, outer->message_type()->FindFieldByName(path.substr(dot + 1)), out);
  }
  return out;
}

Json refusal() {
  return {{"description", "refused; the message says why and what to do"},
          {"content", {{"application/json", {{"schema", reference("Error")}}}}}};
}

Json error_responses() {
  Json out = Json::object();
  for (const int code : kErrors) out[std::to_string(code)] = {{"$ref", "#/components/responses/Refusal"}};
  return out;
}

// "trials" -> "Trial" with `one`, "paper-table" -> "PaperTable".
std::string camel(const std::string& words, bool one) {
  std::string out;
  bool upper = true;
  for (const char c : words) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) {
      upper = true;
      continue;
    }
    out += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = false;
  }
  if (one && out.size() > 1 && out.back() == 's') out.pop_back();
  return out;
}

// GET /api/v1/experiments/{name}/curves -> getExperimentCurves; POST .../trials/{ordinal}:rerun -> rerunExperimentTrial. The
// verb of the address, else create or get; then its words, each in the singular where one of several is meant.
std::string operation_id(const std::string& method, const std::string& pattern) {
  const std::size_t colon = pattern.find(':');
  const std::string path = pattern.substr(0, colon);
  std::string out = colon != std::string::npos ? pattern.substr(colon + 1) : method == "POST" ? "create" : "get";
  std::vector<std::string> words;
  for (std::size_t begin = 1; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    words.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "api" || words[i] == "v1" || words[i].front() == '{') continue;
    const bool last = i + 1 == words.size();
    out += camel(words[i], last ? out == "create" : words[i + 1].front() == '{');
  }
  return out;
}

// The first sentence of a text.
std::string first_sentence(const std::string& text) {
  const std::size_t stop = std::min(text.find(". "), text.find(": "));
  std::string out = text.substr(0, stop);
  if (!out.empty() && out.back() == '.') out.pop_back();
  return out;
}

// Of a POST. The server wants the Content-Type also where the body has nothing to say (an empty one does, too).
Json request_body(const Route& route) {
  Json schema = {{"type", "object"}, {"properties", Json::object()}, {"additionalProperties", false}};
  if (route.binding.body) schema = body_schema(route.request);
  for (const auto& [field, text] : route.binding.from_path) schema["properties"].erase(field);  // the address says it
  return {{"required", true}, {"content", {{"application/json", {{"schema", std::move(schema)}}}}}};
}

Json operation(const Route& route, Json& schemas) {
  Json responses = error_responses();
  Json schema = {{"type", "string"}};
  if (route.response != nullptr) {
    add_message(route.response, schemas);
    schema = reference(route.response->name());
  }
  responses["200"] = {{"description", "done"}, {"content", {{route.content_type, {{"schema", std::move(schema)}}}}}};
  const std::string words = describe_call(route.rpc);
  Json out = {{"operationId", operation_id(route.method, route.pattern)},
              {"summary", first_sentence(words)},
              {"description", words + " The call " + route.rpc + "."},
              {"parameters", parameters_of(route)},
              {"responses", std::move(responses)}};
  if (route.method == "POST") out["requestBody"] = request_body(route);
  return out;
}

Json plain(const std::string& path, const std::string& words, const std::string& type,
           Json parameters = Json::array()) {
  Json responses = error_responses();
  responses["200"] = {{"description", "done"}, {"content", {{type, {{"schema", {{"type", "string"}}}}}}}};
  return {{"operationId", operation_id("GET", path)},
          {"summary", first_sentence(words)},
          {"description", words},
          {"parameters", std::move(parameters)},
          {"responses", std::move(responses)}};
}

// The addresses that are no calls.
void add_plain(Json& paths) {
  Json events = Json::array();
  const Descriptor* watch = v1::WatchEventsRequest::descriptor();
  for (const char* name : {"cursor", "experiment"}) add_query(name, watch->FindFieldByName(name), events);
  const auto add = [&](const char* path, const char* words, const char* type, Json parameters = Json::array()) {
    paths[path]["get"] = plain(path, words, type, std::move(parameters));
  };
  add("/api/v1/events",
      "Streams events after the cursor, then those to come, as server-sent events whose data are a "
      "WatchEventsResponse.",
      "text/event-stream", std::move(events));
  add("/healthz", "Whether the server lives.", "text/plain");
  add("/readyz", "Whether it takes requests: 503 while it starts or stops.", "text/plain");
  Json& not_ready = paths["/readyz"]["get"]["responses"]["503"] = refusal();
  not_ready["content"]["text/plain"] = {{"schema", {{"type", "string"}}}};
  add("/metrics", "What Prometheus scrapes.", "text/plain");
  add("/api/openapi.json", "This document.", "application/json");
  paths["/api/openapi.json"]["get"]["responses"]["200"]["content"]["application/json"]["schema"] = {{"type", "object"}};
}

}  // namespace

Json openapi_document(const std::vector<Route>& routes, const std::string& version) {
  Json paths = Json::object(), schemas = {{"Error", error_schema()}};
  for (const Route& route : routes) {
    std::string method = route.method;
    for (char& c : method) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    paths[route.pattern][method] = operation(route, schemas);
  }
  add_plain(paths);
  add_message(v1::WatchEventsResponse::descriptor(), schemas);
  return {{"openapi", "3.1.0"},
          {"info",
           {{"title", "Locus"},
            {"version", version},
            {"description",
             "Compares ways of telling a Vision Transformer where its patches are. "
             "docs/formats/http.md says how messages become JSON."}}},
          {"paths", std::move(paths)},
          {"components", {{"schemas", std::move(schemas)}, {"responses", {{"Refusal", refusal()}}}}}};
}

}  // namespace locus::server
