// Looks every two seconds.
#include "server/app/alert_thread.h"

#include "core/log/log.h"
#include "server/app/alert_command.h"
#include "server/http/post.h"

namespace locus::server {
namespace {

constexpr auto kLookEvery = std::chrono::seconds(2);
constexpr auto kCommandMost = std::chrono::seconds(60), kAddressMost = std::chrono::seconds(10);

bool wanted(const AlertOptions& options) { return !options.command.empty() || !options.url.empty(); }

}  // namespace

absl::Status check_alert_options(const AlertOptions& options) {
  if (options.url.empty()) return absl::OkStatus();
  return parse_plain_url(options.url, "--alert-url").status();
}

AlertThread::AlertThread(Store& store, Clock& clock, AlertOptions options,
                         std::function<absl::StatusOr<v1::Experiment>(const std::string& name)> view)
    : options_(std::move(options)),
      alerts_(store, clock,
              {std::move(view), [this](const Json& alert) { return tell(alert); },
               std::chrono::microseconds(options_.stalled_after).count()}) {
  if (wanted(options_)) {
    thread_ = std::thread([this] { run(); });
    return;
  }
  const auto rows = store.alerts();
  if (!rows.ok() || rows->empty()) return;
  const Mutation forget = ForgetAlerts{};
  if (const absl::Status status = store.apply({&forget, 1}, clock.wall()); !status.ok())
    log_warning("alerts: {}", std::string(status.message()));
}

void AlertThread::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void AlertThread::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    const absl::Status status = alerts_.look();
    if (!status.ok() && !stopping_) log_warning("alerts: {}", std::string(status.message()));
    lock.lock();
    changed_.wait_for(lock, kLookEvery, [this] { return stopping_.load(); });
  }
}

absl::Status AlertThread::tell(const Json& alert) {
  const std::string text = alert.dump();
  absl::Status out;
  if (!options_.command.empty()) {
    out = run_alert_command(options_.command,
                            {{"LOCUS_ALERT_KIND", alert.at("kind").get<std::string>()},
                             {"LOCUS_ALERT_EXPERIMENT", alert.at("experiment").get<std::string>()},
                             {"LOCUS_ALERT_SENTENCE", alert.at("sentence").get<std::string>()}},
                            text, kCommandMost, stopping_);
  }
  if (options_.url.empty()) return out;
  const auto url = parse_plain_url(options_.url, "--alert-url");
  const absl::Status posted = url.ok() ? post_json(*url, text, kAddressMost) : url.status();
  return out.ok() ? posted : out;
}

}  // namespace locus::server
