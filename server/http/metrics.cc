// What a monitoring system wants to know.
#include "server/http/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <map>
#include <mutex>
#include <vector>

namespace locus::server {
namespace {

const prometheus::Histogram::BucketBoundaries kSeconds = {0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10};

}  // namespace

class Metrics::Families {
 public:
  prometheus::Registry registry;
  prometheus::Family<prometheus::Counter>& requests =
      prometheus::BuildCounter().Name("locus_http_requests_total").Help("HTTP requests answered").Register(registry);
  prometheus::Histogram& seconds = prometheus::BuildHistogram()
                                       .Name("locus_http_request_seconds")
                                       .Help("Time from a whole request to its answer")
                                       .Register(registry)
                                       .Add({}, kSeconds);
  prometheus::Family<prometheus::Counter>& decisions = prometheus::BuildCounter()
                                                           .Name("locus_search_decisions_total")
                                                           .Help("Decisions of searches stored since the start")
                                                           .Register(registry);
  prometheus::Family<prometheus::Gauge>& workers = family("locus_workers", "Workers by state");

  void set(const std::string& name, const std::string& help, double value, const prometheus::Labels& labels = {}) {
    family(name, help).Add(labels).Set(value);
  }
  prometheus::Family<prometheus::Gauge>& family(const std::string& name, const std::string& help) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
  }
  struct Asked {
    std::string name, help;
    std::function<double()> value;
  };
  std::vector<Asked> asked;
  std::mutex scraping;
};

Metrics::Metrics(Api& api, DecisionCounts decisions)
    : api_(api), decisions_(std::move(decisions)), families_(std::make_unique<Families>()) {}
Metrics::~Metrics() = default;

void Metrics::add_gauge(const std::string& name, const std::string& help, std::function<double()> value) {
  families_->asked.push_back({name, help, std::move(value)});
}

void Metrics::count_request(const std::string& method, int status, double seconds) {
  // Only these methods ever reach an answer; anything else would let a client make up label values.
  const bool known = method == "GET" || method == "POST" || method == "HEAD";
  families_->requests.Add({{"method", known ? method : "other"}, {"code", std::to_string(status)}}).Increment();
  families_->seconds.Observe(seconds);
}

absl::StatusOr<std::string> Metrics::expose() {
  const std::lock_guard lock(families_->scraping);
  LOCUS_ASSIGN_OR_RETURN(const v1::Server server, api_.get_server({}));
  LOCUS_ASSIGN_OR_RETURN(const v1::ListWorkersResponse workers, api_.list_workers({}));
  families_->set("locus_info", "Version of the server", 1, {{"version", server.version()}});
  families_->set("locus_uptime_seconds", "Time since the server started", server.uptime_seconds());
  families_->set("locus_attempts_started", "Attempts granted over the data's whole life",
                 static_cast<double>(server.attempts_started()));
  families_->set("locus_disk_free_bytes", "Free space on the disk of the data folder",
                 static_cast<double>(server.disk_free_bytes()));
  for (const char* state : {"ok", "disk-low", "disk-full"}) {
    families_->set("locus_disk_state", "1 for the present state of the data folder's disk",
                   server.state() == state ? 1 : 0, {{"state", state}});
  }
  // Every kind there is, so that a rate has a beginning.
  std::map<std::string, std::int64_t> decided = {{"begin", 0}, {"observe", 0}, {"propose", 0},  {"advance", 0},
                                                 {"stop", 0},  {"choose", 0},  {"override", 0}, {"end", 0}};
  for (const auto& [kind, count] : decisions_()) decided[kind] = count;
  for (const auto& [kind, count] : decided) {
    prometheus::Counter& counter = families_->decisions.Add({{"kind", kind}});
    counter.Increment(static_cast<double>(count) - counter.Value());
  }
  std::map<std::string, int> by_state = {{"active", 0}, {"silent", 0}, {"draining", 0}, {"offline", 0}};
  double slots = 0, busy = 0, running = 0;
  for (const auto& worker : workers.workers()) {
    ++by_state[worker.state()];
    if (worker.state() == "offline") continue;
    slots += worker.slots_size();
    busy += worker.slots_busy();
    running += worker.running_size();
  }
  for (const auto& [state, number] : by_state) families_->workers.Add({{"state", state}}).Set(number);
  families_->set("locus_slots", "Device slots of workers that are not offline", slots);
  families_->set("locus_slots_busy", "Of these, in use", busy);
  families_->set("locus_attempts_running", "Attempts that run now", running);
  LOCUS_ASSIGN_OR_RETURN(const v1::Demand demand, api_.get_demand({}));
  families_->set("locus_queued_stages", "Stages that only wait for a place to run",
                 static_cast<double>(demand.queued()));
  families_->set("locus_queued_oldest_seconds", "How long the oldest of them has waited since the server started",
                 demand.oldest_wait_seconds());
  families_->set("locus_queued_device_seconds", "How long devices would be busy with those of which runs tell",
                 demand.device_seconds());
  families_->set("locus_queued_without_estimate", "Those of which no run tells",
                 static_cast<double>(demand.without_estimate()));
  for (const auto& one : families_->asked) families_->set(one.name, one.help, one.value());
  return prometheus::TextSerializer().Serialize(families_->registry.Collect());
}

}  // namespace locus::server
