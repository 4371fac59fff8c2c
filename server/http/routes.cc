// The JSON side.
#include "server/http/routes.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/base/error.h"
#include "core/base/invalid.h"

namespace locus::server {
namespace {

using google::protobuf::FieldDescriptor;
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

template <class Request>
absl::StatusOr<Request> fill(const Binding& binding, const HttpRequest& http, const Variables& variables) {
  Request request;
  if (binding.body) LOCUS_RETURN_IF_ERROR(from_json(http.body, &request));
  for (const auto& [key, value] : http.query) {
    const auto renamed = binding.query_names.find(key);
    const std::string& field = renamed == binding.query_names.end() ? key : renamed->second;
    if (binding.from_path.count(field) > 0) return invalid(key, "\"" + key + "\" is given by the path");
    if (binding.without.count(field) > 0) return invalid(key, "\"" + key + "\" is not a parameter of this address");
    LOCUS_RETURN_IF_ERROR(set_field(&request, field, value));
  }
  for (const auto& [field, text] : binding.from_path)
    LOCUS_RETURN_IF_ERROR(set_field(&request, field, expand(text, variables)));
  return request;
}

template <class Request, class Response>
Route route(Api* api, std::string method, std::string pattern, std::string rpc,
            absl::StatusOr<Response> (Api::*call)(const Request&), Binding binding = {}) {
  Route out{std::move(method),  std::move(pattern),    std::move(rpc),
            std::move(binding), Request::descriptor(), Response::descriptor()};
  out.answer = [api, call, binding = out.binding](const HttpRequest& http,
                                                  const Variables& variables) -> absl::StatusOr<HttpResponse> {
    LOCUS_ASSIGN_OR_RETURN(const Request request, fill<Request>(binding, http, variables));
    LOCUS_ASSIGN_OR_RETURN(const Response response, (api->*call)(request));
    HttpResponse answer;
    answer.body = to_json(response);
    return answer;
  };
  return out;
}

// An answer whose messages carry a `chunk` each.
template <class Request, class Message>
Route stream(Api* api, std::string pattern, std::string rpc,
             absl::StatusOr<PullSource<Message>> (Api::*call)(const Request&), Binding binding,
             std::string content_type) {
  Route out{"GET",   std::move(pattern),     std::move(rpc), std::move(binding), Request::descriptor(),
            nullptr, std::move(content_type)};
  out.answer = [api, call, binding = out.binding, type = out.content_type](
                   const HttpRequest& http, const Variables& variables) -> absl::StatusOr<HttpResponse> {
    LOCUS_ASSIGN_OR_RETURN(const Request request, fill<Request>(binding, http, variables));
    LOCUS_ASSIGN_OR_RETURN(PullSource<Message> source, (api->*call)(request));
    HttpResponse answer;
    answer.content_type = type;
    answer.more = [source = std::move(source)]() -> absl::StatusOr<std::string> {
      LOCUS_ASSIGN_OR_RETURN(const auto message, source());
      return message ? message->chunk() : std::string();
    };
    LOCUS_ASSIGN_OR_RETURN(answer.body, answer.more());
    return answer;
  };
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

Routes::Routes(Api* api) {
  add_experiments(api);
  add_trials(api);
  add_others(api);
}

void Routes::add_experiments(Api* api) {
  const std::string all = "/api/v1/experiments", one = all + "/{name}";
  const Binding name{{{"name", "{name}"}}}, of_experiment{{{"experiment", "{name}"}}};
  const Binding body{{}, {}, true};
  const auto add = [&](auto... arguments) { routes_.push_back(route(api, arguments...)); };
  add("GET", all, "ExperimentService/ListExperiments", &Api::list_experiments);
  add("POST", all, "ExperimentService/CreateExperiment", &Api::create_experiment, body);
  add("POST", all + ":plan", "ExperimentService/PlanExperiment", &Api::plan_experiment, body);
  add("GET", one, "ExperimentService/GetExperiment", &Api::get_experiment, name);
  add("POST", one + ":cancel", "ExperimentService/CancelExperiment", &Api::cancel_experiment, name);
  add("POST", one + ":pause", "ExperimentService/PauseExperiment", &Api::pause_experiment, name);
  add("POST", one + ":resume", "ExperimentService/ResumeExperiment", &Api::resume_experiment, name);
  add("POST", one + ":rerun", "ExperimentService/RerunExperiment", &Api::rerun_experiment, name);
  add("POST", one + ":annotate", "ExperimentService/Annotate", &Api::annotate, Binding{name.from_path, {}, true});
  add("POST", one + ":delete", "ExperimentService/DeleteExperiment", &Api::delete_experiment, name);
  add("GET", one + "/table", "ExperimentService/GetTable", &Api::get_table, of_experiment);
  add("GET", one + "/curves", "ExperimentService/GetCurves", &Api::get_curves, of_experiment);
  add("GET", one + "/artifacts", "ArtifactService/ListArtifacts", &Api::list_artifacts, name);
  routes_.push_back(stream(api, one + "/export", "ExperimentService/ExportExperiment", &Api::export_experiment, name,
                           "application/x-ndjson"));
}

void Routes::add_trials(Api* api) {
  const std::string all = "/api/v1/experiments/{name}/trials", one = all + "/{ordinal}";
  const std::string trial = "{name}/{ordinal}";
  const Binding name{{{"name", trial}}}, of_trial{{{"trial", trial}}, {}, false, {"stage"}};
  const auto add = [&](auto... arguments) { routes_.push_back(route(api, arguments...)); };
  add("GET", all, "ExperimentService/ListTrials", &Api::list_trials, Binding{{{"experiment", "{name}"}}});
  add("GET", one, "ExperimentService/GetTrial", &Api::get_trial, name);
  add("POST", one + ":rerun", "ExperimentService/RerunExperiment", &Api::rerun_experiment, name);
  add("POST", one + ":annotate", "ExperimentService/Annotate", &Api::annotate, Binding{name.from_path, {}, true});
  add("GET", one + "/explanation", "ExperimentService/Explain", &Api::explain, of_trial);
  add("GET", one + "/log", "ExperimentService/ReadLog", &Api::read_log, of_trial);
  add("GET", one + "/artifacts", "ArtifactService/ListArtifacts", &Api::list_artifacts, name);
  add("GET", one + "/picture", "PictureService/DrawTrial", &Api::draw_trial, of_trial);
  add("POST", "/api/v1/paper-table", "AnalysisService/GetPaperTable", &Api::get_paper_table, Binding{{}, {}, true});
  add("GET", "/api/v1/compare", "ExperimentService/Compare", &Api::compare);
}

void Routes::add_others(Api* api) {
  const std::string stage = "/api/v1/stages/{stage}", worker = "/api/v1/workers/{name}";
  const std::string artifact = "/api/v1/artifacts/{sha256}";
  const Binding of_stage{{{"stage", "{stage}"}}}, name{{{"name", "{name}"}}}, sha256{{{"sha256", "{sha256}"}}};
  const Binding only_stage{{{"stage", "{stage}"}}, {}, false, {"trial", "role"}};
  const Binding series{{{"stage", "{stage}"}},
                       {{"metric", "key.metric"}, {"split", "key.split"}, {"labels", "key.labels"}}};
  const auto add = [&](auto... arguments) { routes_.push_back(route(api, arguments...)); };
  add("GET", stage + "/explanation", "ExperimentService/Explain", &Api::explain, only_stage);
  add("GET", stage + "/log", "ExperimentService/ReadLog", &Api::read_log, only_stage);
  add("GET", stage + "/series", "MetricService/ListSeries", &Api::list_series, of_stage);
  add("GET", stage + "/points", "MetricService/QuerySeries", &Api::query_series, series);
  add("GET", "/api/v1/workers", "WorkerService/ListWorkers", &Api::list_workers);
  add("GET", worker, "WorkerService/GetWorker", &Api::get_worker, name);
  add("POST", worker + ":drain", "WorkerService/DrainWorker", &Api::drain_worker, name);
  add("POST", worker + ":forget", "WorkerService/ForgetWorker", &Api::forget_worker, name);
  add("POST", worker + ":undrain", "WorkerService/UndrainWorker", &Api::undrain_worker, name);
  routes_.push_back(stream(api, artifact, "ArtifactService/DownloadArtifact", &Api::download_artifact, sha256,
                           "application/octet-stream"));
  add("POST", artifact + ":pin", "ArtifactService/PinArtifact", &Api::pin_artifact, sha256);
  add("GET", "/api/v1/claims", "AnalysisService/ListClaims", &Api::list_claims);
  add("GET", "/api/v1/server", "CatalogService/GetServer", &Api::get_server);
  add("GET", "/api/v1/catalog", "CatalogService/GetCatalog", &Api::get_catalog);
  add("GET", "/api/v1/catalog/pictures/{prior}", "CatalogService/GetPicture", &Api::get_picture,
      Binding{{{"prior", "{prior}"}}});
  add("GET", "/api/v1/catalog/pictures/{prior}/drawing", "PictureService/DrawPrior", &Api::draw_prior,
      Binding{{{"prior", "{prior}"}}});
  add("GET", "/api/v1/check", "AdminService/Check", &Api::check);
  add("POST", "/api/v1/garbage:collect", "AdminService/CollectGarbage", &Api::collect_garbage);
}

bool Routes::takes(const HttpRequest& request) const {
  return std::any_of(routes_.begin(), routes_.end(), [&](const Route& route) {
    Variables variables;
    return route.method == request.method && match(route.pattern, request.path, &variables);
  });
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
    auto answered = candidate.answer(request, variables);
    return answered.ok() ? *std::move(answered) : error_response(answered.status());
  }
  if (allowed.empty()) {
    return error_response(
        make_error(absl::StatusCode::kNotFound, ErrorReason::kRouteNotFound,
                   "there is nothing at \"" + request.path.substr(0, 200) + "\"; docs/formats/http.md lists what is",
                   "", {{"path", request.path.substr(0, 200)}}));
  }
  HttpResponse out = error_response(make_error(absl::StatusCode::kUnimplemented, ErrorReason::kRouteNotFound,
                                               "this address takes " + allowed + ", not " + request.method),
                                    405);
  out.allow = allowed;
  return out;
}

}  // namespace locus::server
