// What a monitoring system wants to know, in Prometheus' text format.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "server/application/api.h"

namespace locus::server {

// How many decisions of searches were stored, by kind.
using DecisionCounts = std::function<std::map<std::string, std::int64_t>()>;

// Thread-safe. `api` and what `decisions` asks must outlive it.
class Metrics {
 public:
  Metrics(Api& api, DecisionCounts decisions);
  ~Metrics();
  // A gauge that `value` is asked for at each exposition; call before the first one.
  void add_gauge(const std::string& name, const std::string& help, std::function<double()> value);
  void count_request(const std::string& method, int status, double seconds);
  // Asks the api for what moves by itself, then writes everything down. Blocks.
  absl::StatusOr<std::string> expose();

 private:
  class Families;
  Api& api_;
  const DecisionCounts decisions_;
  const std::unique_ptr<Families> families_;
};

}  // namespace locus::server
