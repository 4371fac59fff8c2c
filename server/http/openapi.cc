// The JSON side described by itself.
#include "server/http/openapi.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <cctype>

namespace locus::server {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

constexpr int kErrors[] = {400, 403, 404, 409, 413, 415, 429, 500, 501, 503, 504};

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

// Adds the message and everything it holds. Scalars and lists are always printed, messages when they are set.
void add_message(const Descriptor* message, Json& schemas) {
  if (is_time(message) || schemas.contains(message->name())) return;
  schemas[message->name()] = Json::object();
  Json properties = Json::object(), required = Json::array();
  for (int i = 0; i < message->field_count(); ++i) {
    const FieldDescriptor* field = message->field(i);
    properties[field->name()] = field_schema(field);
    const bool is_message = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (!is_message || field->is_repeated()) required.push_back(field->name());
    if (is_message && !field->is_map()) add_message(field->message_type(), schemas);
  }
  schemas[message->name()] = {{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) schemas[message->name()]["required"] = std::move(required);
}

Json error_schema() {
  const Json detail = {{"type", "object"}, {"required", {"@type"}}, {"properties", {{"@type", {{"type", "string"}}}}}};
  const Json error = {{"type", "object"},
                      {"required", {"code", "status", "message", "details"}},
                      {"properties",
                       {{"code", {{"type", "integer"}}},
                        {"status", {{"type", "string"}}},
                        {"message", {{"type", "string"}}},
                        {"details", {{"type", "array"}, {"items", detail}}}}}};
  return {{"type", "object"}, {"required", {"error"}}, {"properties", {{"error", error}}}};
}

// Names between braces, in order.
std::vector<std::string> variables_of(const std::string& pattern) {
  std::vector<std::string> out;
  for (std::size_t open = pattern.find('{'); open != std::string::npos; open = pattern.find('{', open + 1))
    out.push_back(pattern.substr(open + 1, pattern.find('}', open) - open - 1));
  return out;
}

Json path_parameters(const Route& route) {
  Json out = Json::array();
  for (const std::string& name : variables_of(route.pattern)) {
    Json schema = {{"type", "string"}};
    if (name == "ordinal" || name == "stage") schema = {{"type", "integer"}, {"minimum", 0}};
    if (name == "sha256") schema["pattern"] = "^[0-9a-f]{64}$";
    out.push_back({{"name", name}, {"in", "path"}, {"required", true}, {"schema", std::move(schema)}});
  }
  return out;
}

void add_query(const std::string& name, const FieldDescriptor* field, Json& out) {
  const bool strings = field->cpp_type() == FieldDescriptor::CPPTYPE_STRING;
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE || (field->is_repeated() && !strings)) return;
  Json schema = field_schema(field);
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_INT64) schema = {{"type", "integer"}};
  out.push_back({{"name", name}, {"in", "query"}, {"required", false}, {"schema", std::move(schema)}});
}

Json parameters_of(const Route& route) {
  Json out = path_parameters(route);
  if (route.binding.body) return out;
  for (int i = 0; i < route.request->field_count(); ++i) {
    const FieldDescriptor* field = route.request->field(i);
    if (route.binding.from_path.count(field->name()) == 0) add_query(field->name(), field, out);
  }
  for (const auto& [name, path] : route.binding.query_names) {
    const std::size_t dot = path.find('.');
    const FieldDescriptor* outer = route.request->FindFieldByName(path.substr(0, dot));
    add_query(name, outer->message_type()->FindFieldByName(path.substr(dot + 1)), out);
  }
  return out;
}

Json error_responses() {
  Json out = Json::object();
  for (const int code : kErrors) {
    out[std::to_string(code)] = {{"description", "refused; the message says why and what to do"},
                                 {"content", {{"application/json", {{"schema", reference("Error")}}}}}};
  }
  return out;
}

std::string operation_id(const Route& route) {
  std::string out = route.method;
  for (const char c : route.pattern.substr(7)) out += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return out;
}

Json operation(const Route& route, Json& schemas) {
  Json responses = error_responses();
  Json schema = {{"type", "string"}};
  if (route.response != nullptr) {
    add_message(route.response, schemas);
    schema = reference(route.response->name());
  }
  responses["200"] = {{"description", "done"}, {"content", {{route.content_type, {{"schema", std::move(schema)}}}}}};
  Json out = {{"operationId", operation_id(route)},
              {"summary", route.rpc},
              {"parameters", parameters_of(route)},
              {"responses", std::move(responses)}};
  if (route.binding.body) {
    add_message(route.request, schemas);
    // Every field of a request may be left out.
    Json body = schemas[route.request->name()];
    body.erase("required");
    out["requestBody"] = {{"required", true}, {"content", {{"application/json", {{"schema", std::move(body)}}}}}};
  }
  return out;
}

Json plain(const std::string& summary, const std::string& type, Json parameters = Json::array()) {
  Json responses = error_responses();
  responses["200"] = {{"description", "done"}, {"content", {{type, {{"schema", {{"type", "string"}}}}}}}};
  return {{"summary", summary},
          {"operationId", summary},
          {"parameters", std::move(parameters)},
          {"responses", std::move(responses)}};
}

}  // namespace

Json openapi_document(const std::vector<Route>& routes, const std::string& version) {
  Json paths = Json::object(), schemas = {{"Error", error_schema()}};
  for (const Route& route : routes) {
    std::string method = route.method;
    for (char& c : method) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    paths[route.pattern][method] = operation(route, schemas);
  }
  Json events = Json::array();
  events.push_back(
      {{"name", "cursor"}, {"in", "query"}, {"required", false}, {"schema", {{"type", "integer"}, {"minimum", -1}}}});
  events.push_back({{"name", "experiment"}, {"in", "query"}, {"required", false}, {"schema", {{"type", "string"}}}});
  paths["/api/v1/events"]["get"] = plain("WatchEvents", "text/event-stream", std::move(events));
  paths["/healthz"]["get"] = plain("healthz", "text/plain");
  paths["/readyz"]["get"] = plain("readyz", "text/plain");
  paths["/metrics"]["get"] = plain("metrics", "text/plain");
  paths["/api/openapi.json"]["get"] = plain("openapi", "application/json");
  paths["/api/openapi.json"]["get"]["responses"]["200"]["content"]["application/json"]["schema"] = {{"type", "object"}};
  return {{"openapi", "3.1.0"},
          {"info",
           {{"title", "Locus"},
            {"version", version},
            {"description", "Compares ways of telling a Vision Transformer where its patches are. "
                            "docs/formats/http.md says how messages become JSON."}}},
          {"paths", std::move(paths)},
          {"components", {{"schemas", std::move(schemas)}}}};
}

}  // namespace locus::server
