// The JSON side: every route is a method of Api, its request filled from path, query and body
// (docs/formats/http.md).
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "google/protobuf/message.h"
#include "server/application/api.h"
#include "server/http/exchange.h"

namespace locus::server {

// How a request is filled: fields from path variables ("{name}/{ordinal}"), query keys that name another field
// than their own, whether a POST's body is the request, and fields that make no sense at the address.
struct Binding {
  std::map<std::string, std::string> from_path = {};
  std::map<std::string, std::string> query_names = {};
  bool body = false;
  std::set<std::string> without = {};
};

struct Route {
  std::string method, pattern;  // "/api/v1/experiments/{name}:cancel"
  std::string rpc;              // the call it equals: "ExperimentService/CancelExperiment"
  Binding binding;
  const google::protobuf::Descriptor* request = nullptr;
  const google::protobuf::Descriptor* response = nullptr;  // null: not JSON, see content_type
  std::string content_type = "application/json";
  std::function<absl::StatusOr<HttpResponse>(const HttpRequest&, const std::map<std::string, std::string>& variables)>
      answer = {};
};

// Immutable; thread-safe. Handlers block. `api` must outlive it.
class Routes {
 public:
  explicit Routes(Api* api);  // null: only to be described
  const std::vector<Route>& all() const { return routes_; }
  HttpResponse answer(const HttpRequest& request) const;
  bool takes(const HttpRequest& request) const;  // a route has its address and its method

 private:
  void add_experiments(Api* api);
  void add_trials(Api* api);
  void add_others(Api* api);
  std::vector<Route> routes_;
};

// JSON of docs/formats/http.md: proto names, defaults printed.
std::string to_json(const google::protobuf::Message& message);
absl::Status from_json(const std::string& json, google::protobuf::Message* message);

// Sets a field by its dotted path from text. INVALID_ARGUMENT naming the field when it is unknown or the text
// is no such value.
absl::Status set_field(google::protobuf::Message* message, const std::string& path, const std::string& text);

}  // namespace locus::server
