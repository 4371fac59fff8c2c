// Pushes what changed to watchers.
#include "server/runtime/event_feed.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "core/base/error.h"
#include "core/base/json.h"
#include "server/wire/convert.h"

namespace locus::server {
namespace {

constexpr int kEventsPerMessage = 256;
constexpr std::int64_t kMostBehind = 20'000;  // events; beyond, reading afresh is cheaper than catching up
constexpr auto kNoticeEvery = std::chrono::seconds(1);
constexpr auto kLifeEvery = std::chrono::seconds(15);
constexpr std::size_t kNoticesKept = 4096;

bool concerns(const EventRow& event, const std::string& experiment) {
  if (experiment.empty() || event.subject == "experiments/" + experiment) return true;
  const Json json = Json::parse(event.json, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("experiments")) return false;
  const Json& names = json["experiments"];
  return std::find(names.begin(), names.end(), Json(experiment)) != names.end();
}

absl::Status stopping() {
  return make_error(absl::StatusCode::kUnavailable, ErrorReason::kServerDraining,
                    "the server is stopping; watch again shortly");
}

}  // namespace

void Watcher::start(EventFeed& feed, std::int64_t cursor, const std::string& experiment) {
  feed_ = &feed;
  cursor_ = cursor;
  experiment_ = experiment;
  {
    absl::MutexLock lock(&mutex_);
    if (phase_ != Phase::kNew) return;  // closed before it began
    phase_ = Phase::kIdle;
  }
  if (feed.add(shared_from_this())) return wake();
  close();
  failed(stopping());
}

void Watcher::wake() {
  {
    absl::MutexLock lock(&mutex_);
    if (phase_ == Phase::kReading || phase_ == Phase::kSending) again_ = true;
    if (phase_ != Phase::kIdle) return;
    phase_ = Phase::kReading;
  }
  feed_->pool_.post([self = shared_from_this()] { self->read(); });
}

void Watcher::beat() {
  {
    absl::MutexLock lock(&mutex_);
    life_due_ = true;
  }
  wake();
}

void Watcher::read() {
  auto response = gather();
  bool life = false;
  {
    absl::MutexLock lock(&mutex_);
    if (phase_ == Phase::kClosed) return;
    life = std::exchange(life_due_, false);
    const bool empty = response.ok() && response->events().empty() && !response->truncated();
    if (empty && !life) {
      phase_ = again_ ? Phase::kReading : Phase::kIdle;
      if (!std::exchange(again_, false)) return;
      feed_->pool_.post([self = shared_from_this()] { self->read(); });
      return;
    }
    phase_ = Phase::kSending;
    if (response.ok() && response->events_size() >= kEventsPerMessage) again_ = true;
  }
  if (!response.ok()) {
    close();
    return failed(response.status());
  }
  send(*std::move(response));
}

void Watcher::sent() {
  {
    absl::MutexLock lock(&mutex_);
    if (phase_ != Phase::kSending) return;
    phase_ = again_ ? Phase::kReading : Phase::kIdle;
    if (!std::exchange(again_, false)) return;
  }
  feed_->pool_.post([self = shared_from_this()] { self->read(); });
}

void Watcher::close() {
  {
    absl::MutexLock lock(&mutex_);
    if (phase_ == Phase::kClosed) return;
    phase_ = Phase::kClosed;
  }
  if (feed_ != nullptr) feed_->remove(this);
}

absl::StatusOr<v1::WatchEventsResponse> Watcher::gather() {
  v1::WatchEventsResponse response;
  LOCUS_ASSIGN_OR_RETURN(const std::int64_t last, feed_->store_.last_event());
  if (cursor_ == -1) cursor_ = last;
  // A cursor of other data, or one too far behind: reading afresh is the answer to both.
  if (cursor_ > last || last - cursor_ > kMostBehind) {
    cursor_ = last;
    response.set_truncated(true);
  }
  while (cursor_ < last && response.events_size() < kEventsPerMessage) {
    LOCUS_ASSIGN_OR_RETURN(auto events, feed_->store_.events(cursor_, kEventsPerMessage - response.events_size()));
    if (events.empty()) break;
    for (const EventRow& event : events) {
      cursor_ = event.id;
      if (concerns(event, experiment_)) to_proto(event, response.add_events());
    }
  }
  for (const auto& [experiment, kind] : feed_->notices_after(&notices_seen_, experiment_)) {
    auto* event = response.add_events();
    event->set_subject("experiments/" + experiment);
    event->set_kind(kind);
    event->set_json("{}");
  }
  response.set_cursor(cursor_);
  return response;
}

struct EventFeed::Timers {
  explicit Timers(boost::asio::io_context& io_in) : io(io_in), publish(io_in), life(io_in) {}

  boost::asio::io_context& io;
  boost::asio::steady_timer publish, life;
};

EventFeed::EventFeed(Store& store, WorkPool& pool, boost::asio::io_context& io)
    : store_(store), pool_(pool), timers_(std::make_unique<Timers>(io)) {
  arm_life();
}

EventFeed::~EventFeed() { close(); }

void EventFeed::changed() {
  boost::asio::post(timers_->io, [this] { wake_all(); });
}

void EventFeed::notice(const std::string& experiment, const std::string& kind) {
  absl::MutexLock lock(&mutex_);
  if (closed_ || experiment.empty()) return;
  pending_.emplace(experiment, kind);
  if (std::exchange(publish_armed_, true)) return;
  boost::asio::post(timers_->io, [this] {
    timers_->publish.expires_after(kNoticeEvery);
    timers_->publish.async_wait([this](const boost::system::error_code& error) {
      if (!error) publish();
    });
  });
}

void EventFeed::publish() {
  {
    absl::MutexLock lock(&mutex_);
    publish_armed_ = false;
    ++publications_;
    for (const auto& key : pending_) published_[key] = publications_;
    pending_.clear();
    if (published_.size() > kNoticesKept) published_.clear();
  }
  wake_all();
}

std::vector<EventFeed::NoticeKey> EventFeed::notices_after(std::uint64_t* seen, const std::string& experiment) {
  std::vector<NoticeKey> out;
  absl::MutexLock lock(&mutex_);
  for (const auto& [key, when] : published_) {
    if (when > *seen && (experiment.empty() || key.first == experiment)) out.push_back(key);
  }
  *seen = publications_;
  return out;
}

bool EventFeed::add(const std::shared_ptr<Watcher>& watcher) {
  absl::MutexLock lock(&mutex_);
  watcher->notices_seen_ = publications_;
  if (!closed_) watchers_[watcher.get()] = watcher;
  return !closed_;
}

void EventFeed::remove(Watcher* watcher) {
  absl::MutexLock lock(&mutex_);
  watchers_.erase(watcher);
}

std::vector<std::shared_ptr<Watcher>> EventFeed::watchers() {
  std::vector<std::shared_ptr<Watcher>> out;
  absl::MutexLock lock(&mutex_);
  for (const auto& [raw, weak] : watchers_) {
    if (auto watcher = weak.lock()) out.push_back(std::move(watcher));
  }
  return out;
}

void EventFeed::wake_all() {
  for (const auto& watcher : watchers()) watcher->wake();
}

void EventFeed::arm_life() {
  {
    absl::MutexLock lock(&mutex_);
    if (closed_) return;
  }
  timers_->life.expires_after(kLifeEvery);
  timers_->life.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    for (const auto& watcher : watchers()) watcher->beat();
    arm_life();
  });
}

void EventFeed::close() {
  {
    absl::MutexLock lock(&mutex_);
    if (std::exchange(closed_, true)) return;
  }
  boost::asio::post(timers_->io, [this] {
    timers_->publish.cancel();
    timers_->life.cancel();
  });
  for (const auto& watcher : watchers()) {
    watcher->close();
    watcher->failed(stopping());
  }
}

}  // namespace locus::server
