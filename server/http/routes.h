// The JSON side: every route is a call with an address (proto/locus/v1), its request filled from path, query and body
// (docs/formats/http.md).
#pragma once

#include <string>
#include <vector>

#include "google/protobuf/message.h"
#include "server/application/api.h"
#include "server/http/address.h"
#include "server/http/calls.h"
#include "server/http/exchange.h"

namespace locus::server {

struct Route : CallAddress {
  std::string rpc;             // the call it equals: "ExperimentService/CancelExperiment"
  const Call* call = nullptr;  // likewise
  const google::protobuf::Descriptor* request = nullptr;
  const google::protobuf::Descriptor* response = nullptr;  // null: not JSON, see content_type
  std::string content_type = "application/json";
};

// Immutable; thread-safe. Handlers block. `api` must outlive it.
class Routes {
 public:
  explicit Routes(Api* api);  // null: only to be described
  const std::vector<Route>& all() const { return routes_; }
  HttpResponse answer(const HttpRequest& request, const Principal& who) const;
  bool takes(const HttpRequest& request) const;  // a route has its address and its method

 private:
  Api* const api_;
  std::vector<Route> routes_;
};

// JSON of docs/formats/http.md: proto names, defaults printed.
std::string to_json(const google::protobuf::Message& message);
absl::Status from_json(const std::string& json, google::protobuf::Message* message);

// Sets a field by its dotted path from text. INVALID_ARGUMENT naming the field when it is unknown or the text
// is no such value.
absl::Status set_field(google::protobuf::Message* message, const std::string& path, const std::string& text);

}  // namespace locus::server
