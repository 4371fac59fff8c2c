// The JSON side: every route is a method of Api, its request filled from path, query and body
// (docs/formats/http.md).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "google/protobuf/message.h"
#include "server/http/exchange.h"
#include "server/rpc/api.h"

namespace locus::server {

struct Route {
  std::string method, pattern;  // "/api/v1/experiments/{name}:cancel"
  std::string rpc;              // the call it equals: "ExperimentService/CancelExperiment"
  std::function<absl::StatusOr<std::string>(const HttpRequest&,
                                            const std::map<std::string, std::string>& variables)>
      answer;
};

// Immutable; thread-safe. Handlers block. `api` must outlive it.
class Routes {
 public:
  explicit Routes(Api& api);
  const std::vector<Route>& all() const { return routes_; }
  HttpResponse answer(const HttpRequest& request) const;

 private:
  std::vector<Route> routes_;
};

// JSON of docs/formats/http.md: proto names, defaults printed.
std::string to_json(const google::protobuf::Message& message);
absl::Status from_json(const std::string& json, google::protobuf::Message* message);

// Sets a field by its dotted path from text. INVALID_ARGUMENT naming the field when it is unknown or the text
// is no such value.
absl::Status set_field(google::protobuf::Message* message, const std::string& path, const std::string& text);

}  // namespace locus::server
