// What a monitoring system wants to know, in Prometheus' text format.
#pragma once

#include <memory>
#include <string>

#include "server/application/api.h"

namespace locus::server {

// Thread-safe. `api` must outlive it.
class Metrics {
 public:
  explicit Metrics(Api& api);
  ~Metrics();
  void count_request(const std::string& method, int status, double seconds);
  // Asks the api for what moves by itself, then writes everything down. Blocks.
  absl::StatusOr<std::string> expose();

 private:
  class Families;
  Api& api_;
  const std::unique_ptr<Families> families_;
};

}  // namespace locus::server
