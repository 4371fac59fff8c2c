// The JSON side.
#include "server/http/routes.h"

#include <google/protobuf/util/json_util.h>

#include <charconv>
#include <optional>

#include "core/base/error.h"

namespace locus::server {
namespace {

using google::protobuf::FieldDescriptor;
using Variables = std::map<std::string, std::string>;

absl::Status bad(const std::string& field, const std::string& message) {
  return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument, message, field);
}

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

// How a request is filled: fields from path variables ("{experiment}/{ordinal}"), query keys that name
// another field than their own.
struct Binding {
  Variables from_path;
  Variables query_names;
};

template <class Request, class Response>
Route route(Api& api, std::string method, std::string pattern, std::string rpc,
            absl::StatusOr<Response> (Api::*call)(const Request&), Binding binding = {}) {
  const bool has_body = method == "POST" && binding.from_path.empty();
  auto answer = [&api, call, binding = std::move(binding), has_body](
                    const HttpRequest& http, const Variables& variables) -> absl::StatusOr<std::string> {
    Request request;
    if (has_body) LOCUS_RETURN_IF_ERROR(from_json(http.body, &request));
    for (const auto& [key, value] : http.query) {
      const auto renamed = binding.query_names.find(key);
      const std::string& field = renamed == binding.query_names.end() ? key : renamed->second;
      if (binding.from_path.count(field) > 0) return bad(key, "\"" + key + "\" is given by the path");
      LOCUS_RETURN_IF_ERROR(set_field(&request, field, value));
    }
    for (const auto& [field, text] : binding.from_path)
      LOCUS_RETURN_IF_ERROR(set_field(&request, field, expand(text, variables)));
    LOCUS_ASSIGN_OR_RETURN(const Response response, (api.*call)(request));
    return to_json(response);
  };
  return {std::move(method), std::move(pattern), std::move(rpc), std::move(answer)};
}

}  // namespace

std::string to_json(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string out;
  const auto status = google::protobuf::util::MessageToJsonString(message, &out, options);
  return status.ok() ? out : "{}";
}

absl::Status from_json(const std::string& json, google::protobuf::Message* message) {
  const auto status = google::protobuf::util::JsonStringToMessage(json, message, {});
  if (status.ok()) return absl::OkStatus();
  return bad("", "the body is not a " + message->GetDescriptor()->name() +
                     " in JSON: " + std::string(status.message()));
}

absl::Status set_field(google::protobuf::Message* message, const std::string& path, const std::string& text) {
  const std::size_t dot = path.find('.');
  const FieldDescriptor* field = message->GetDescriptor()->FindFieldByName(path.substr(0, dot));
  if (field == nullptr || field->is_repeated()) {
    return bad(path, "\"" + path + "\" is not a parameter of this address");
  }
  const auto* reflection = message->GetReflection();
  if (dot != std::string::npos && field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    return set_field(reflection->MutableMessage(message, field), path.substr(dot + 1), text);
  }
  const absl::Status no_value = bad(path, "\"" + path + "\" is \"" + text + "\"; give an integer");
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
    default:
      return bad(path, "\"" + path + "\" is not a parameter of this address");
  }
}

Routes::Routes(Api& api) {
  const std::string experiment = "/api/v1/experiments/{name}", stage = "/api/v1/stages/{stage}";
  const Binding name{{{"name", "{name}"}}, {}}, of_experiment{{{"experiment", "{name}"}}, {}};
  const Binding trial{{{"name", "{name}/{ordinal}"}}, {}}, of_stage{{{"stage", "{stage}"}}, {}};
  const Binding series{{{"stage", "{stage}"}},
                       {{"metric", "key.metric"}, {"split", "key.split"}, {"labels", "key.labels"}}};
  routes_ = {
      route(api, "GET", "/api/v1/server", "CatalogService/GetServer", &Api::get_server),
      route(api, "GET", "/api/v1/catalog", "CatalogService/GetCatalog", &Api::get_catalog),
      route(api, "GET", "/api/v1/experiments", "ExperimentService/ListExperiments", &Api::list_experiments),
      route(api, "POST", "/api/v1/experiments", "ExperimentService/CreateExperiment",
            &Api::create_experiment),
      route(api, "POST", "/api/v1/experiments:plan", "ExperimentService/PlanExperiment",
            &Api::plan_experiment),
      route(api, "GET", experiment, "ExperimentService/GetExperiment", &Api::get_experiment, name),
      route(api, "POST", experiment + ":cancel", "ExperimentService/CancelExperiment",
            &Api::cancel_experiment, name),
      route(api, "POST", experiment + ":pause", "ExperimentService/PauseExperiment", &Api::pause_experiment,
            name),
      route(api, "POST", experiment + ":resume", "ExperimentService/ResumeExperiment",
            &Api::resume_experiment, name),
      route(api, "GET", experiment + "/table", "ExperimentService/GetTable", &Api::get_table, of_experiment),
      route(api, "GET", experiment + "/curves", "ExperimentService/GetCurves", &Api::get_curves,
            of_experiment),
      route(api, "GET", experiment + "/trials", "ExperimentService/ListTrials", &Api::list_trials,
            of_experiment),
      route(api, "GET", experiment + "/trials/{ordinal}", "ExperimentService/GetTrial", &Api::get_trial,
            trial),
      route(api, "GET", stage + "/series", "MetricService/ListSeries", &Api::list_series, of_stage),
      route(api, "GET", stage + "/points", "MetricService/QuerySeries", &Api::query_series, series),
      route(api, "GET", "/api/v1/workers", "WorkerService/ListWorkers", &Api::list_workers),
  };
}

HttpResponse Routes::answer(const HttpRequest& request) const {
  std::string allowed;
  for (const Route& candidate : routes_) {
    Variables variables;
    if (!match(candidate.pattern, request.path, &variables)) continue;
    if (candidate.method != request.method && !(candidate.method == "GET" && request.method == "HEAD")) {
      allowed += (allowed.empty() ? "" : ", ") + candidate.method;
      continue;
    }
    const auto json = candidate.answer(request, variables);
    if (!json.ok()) return error_response(json.status());
    HttpResponse out;
    out.body = *json;
    return out;
  }
  if (allowed.empty()) {
    return error_response(make_error(
        absl::StatusCode::kNotFound, ErrorReason::kRouteNotFound,
        "there is nothing at \"" + request.path.substr(0, 200) + "\"; docs/formats/http.md lists what is", "",
        {{"path", request.path.substr(0, 200)}}));
  }
  HttpResponse out = error_response(make_error(absl::StatusCode::kUnimplemented, ErrorReason::kRouteNotFound,
                                               "this address takes " + allowed + ", not " + request.method),
                                    405);
  out.allow = allowed;
  return out;
}

}  // namespace locus::server
