// The calls of a fleet's workers.
#include "bench/fleet_worker.h"

#include <grpcpp/client_context.h>

#include <algorithm>
#include <utility>

#include "core/limits.h"

namespace locus::bench {
namespace {

constexpr double kAgain = 0.2;  // seconds, after a server that does not answer
constexpr auto kAnswered = std::chrono::seconds(60);

double heartbeat_seconds() { return std::chrono::duration<double>(kHeartbeat).count(); }

// True: ask again later. Anything else that is wrong ends the program.
bool away(const grpc::Status& status) {
  const auto code = status.error_code();
  if (status.ok() || code == grpc::NOT_FOUND || code == grpc::ABORTED) return false;
  if (code == grpc::UNAVAILABLE || code == grpc::CANCELLED || code == grpc::DEADLINE_EXCEEDED) return true;
  if (code == grpc::RESOURCE_EXHAUSTED) return true;  // too many requests wait
  must(absl::InternalError(status.error_message()));
  return false;
}

}  // namespace

void Agenda::after(double seconds, std::function<void()> what) {
  const auto when = Timer::now() + std::chrono::duration_cast<Timer::duration>(std::chrono::duration<double>(seconds));
  const std::scoped_lock lock(mutex_);
  entries_.emplace(when, std::move(what));
  changed_.notify_one();
}

void Agenda::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (entries_.empty()) {
      changed_.wait(lock, stop, [this] { return !entries_.empty(); });
      continue;
    }
    const auto first = entries_.begin()->first;
    if (Timer::now() < first) {
      changed_.wait_until(lock, stop, first, [&] { return entries_.begin()->first < first; });
      continue;
    }
    const auto entry = entries_.extract(entries_.begin());
    lock.unlock();
    entry.mapped()();
    lock.lock();
  }
}

FleetShared::Figures FleetShared::take() {
  const std::scoped_lock lock(mutex);
  return std::exchange(figures, {});
}

FleetWorker::FleetWorker(FleetShared& shared, int number, int slots)
    : shared_(shared),
      client_(must(Client::connect(shared.address))),
      stub_(v1::WorkerService::NewStub(client_->channel())),
      name_("fleet-" + std::to_string(number)),
      random_(static_cast<std::mt19937::result_type>(number)) {
  for (int slot = 0; slot < slots; ++slot) free_.push_back(slot);
}

template <class Answered, class Made, class Begin>
void FleetWorker::send(std::shared_ptr<Made> call, std::chrono::seconds deadline, Begin begin, Answered answered) {
  if (shared_.over) return;
  ++shared_.under_way;
  call->context.set_deadline(std::chrono::system_clock::now() + deadline);
  call->sent = Timer::now();
  begin(stub_->async(), &call->context, &call->request, &call->response,
        [this, call, answered](const grpc::Status& status) {
          if (status.error_code() == grpc::RESOURCE_EXHAUSTED) ++shared_.refused;
          answered(status, *call);
          --shared_.under_way;
        });
}

void FleetWorker::later(double seconds, void (FleetWorker::*what)()) {
  shared_.agenda.after(seconds, [this, what] { (this->*what)(); });
}

double FleetWorker::between(double least, double most) {
  const std::scoped_lock lock(mutex_);
  return std::uniform_real_distribution<double>(least, most)(random_);
}

std::vector<v1::HeldAttempt> FleetWorker::held() {
  const std::scoped_lock lock(mutex_);
  std::vector<v1::HeldAttempt> out;
  for (const auto& [key, slots] : held_) {
    v1::HeldAttempt& one = out.emplace_back();
    one.set_stage(key.first);
    one.set_attempt(key.second);
    one.set_phase("train");
  }
  return out;
}

void FleetWorker::enroll() {
  using Made = Call<v1::RegisterWorkerRequest, v1::RegisterWorkerResponse>;
  const auto call = std::make_shared<Made>();
  call->request = shared_.announcement;
  call->request.set_name(name_);
  call->request.set_session("session-of-" + name_);
  for (const v1::HeldAttempt& one : held()) *call->request.add_held() = one;
  const auto begin = [](auto* stub, auto... all) { stub->RegisterWorker(all...); };
  send(call, kAnswered, begin, [this](const grpc::Status& status, const Made&) {
    if (away(status)) return later(kAgain, &FleetWorker::enroll);
    ++shared_.enrolled;
    if (!std::exchange(beating_, true)) later(between(0, heartbeat_seconds()), &FleetWorker::beat);
    ask();
  });
}

void FleetWorker::beat() {
  using Made = Call<v1::SyncLeasesRequest, v1::SyncLeasesResponse>;
  const auto call = std::make_shared<Made>();
  call->request.set_session("session-of-" + name_);
  for (const v1::HeldAttempt& one : held()) *call->request.add_held() = one;
  const auto begin = [](auto* stub, auto... all) { stub->SyncLeases(all...); };
  send(call, kAnswered, begin, [this](const grpc::Status& status, const Made& made) {
    if (away(status)) return later(kAgain, &FleetWorker::beat);
    const double took = milliseconds_since(made.sent);
    if (status.error_code() == grpc::NOT_FOUND) enroll();
    if (status.ok()) {
      const std::scoped_lock lock(shared_.mutex);
      shared_.figures.heartbeat_ms.push_back(took);
    }
    later(std::max(0.0, heartbeat_seconds() - took / 1000), &FleetWorker::beat);
  });
}

void FleetWorker::ask() {
  using Made = Call<v1::AcquireStageRequest, v1::AcquireStageResponse>;
  const auto call = std::make_shared<Made>();
  {
    const std::scoped_lock lock(mutex_);
    if (asking_ || free_.empty() || shared_.over) return;
    asking_ = true;
    call->request.set_request_id("request-" + std::to_string(++asked_));
    call->request.mutable_free_slots()->Add(free_.begin(), free_.end());
  }
  call->request.set_session("session-of-" + name_);
  call->request.mutable_wait_duration()->set_seconds(kLongPoll.count());
  const auto begin = [](auto* stub, auto... all) { stub->AcquireStage(all...); };
  send(call, kLongPoll + kAnswered, begin, [this](const grpc::Status& status, const Made& made) {
    const double took = milliseconds_since(made.sent);
    const bool again = away(status);
    const Key key{made.response.grant().stage(), made.response.grant().attempt()};
    const bool granted = status.ok() && made.response.has_grant();
    {
      const std::scoped_lock lock(mutex_);
      asking_ = false;
      if (granted) {
        const auto& slots = made.response.grant().slots();
        for (const int slot : slots) std::erase(free_, slot);
        held_[key] = {slots.begin(), slots.end()};
        ++shared_.running;
      }
    }
    if (again || !status.ok()) return later(kAgain, &FleetWorker::ask);  // a heartbeat will make the session known
    if (granted) {
      {
        const std::scoped_lock lock(shared_.mutex);
        shared_.figures.grant_ms.push_back(took);
      }
      const double least = shared_.least_seconds;
      if (least >= 0) finish_after(key, least, 3 * least);
    }
    ask();
  });
}

void FleetWorker::go_on() {
  const double most = 3 * std::max(0.0, shared_.least_seconds.load());
  for (const v1::HeldAttempt& one : held()) finish_after({one.stage(), one.attempt()}, 0, most);
}

void FleetWorker::finish_after(Key key, double least, double most) {
  if (most <= 0) return finish(key);
  shared_.agenda.after(between(least, most), [this, key] { finish(key); });
}

void FleetWorker::finish(Key key) {
  using Made = Call<v1::CompleteAttemptRequest, v1::CompleteAttemptResponse>;
  {
    const std::scoped_lock lock(mutex_);
    if (!held_.contains(key)) return;  // it was hurried
  }
  const auto call = std::make_shared<Made>();
  call->request.set_session("session-of-" + name_);
  call->request.set_stage(key.first);
  call->request.set_attempt(key.second);
  call->request.set_outcome("succeeded");
  const auto begin = [](auto* stub, auto... all) { stub->CompleteAttempt(all...); };
  send(call, kAnswered, begin, [this, key](const grpc::Status& status, const Made&) {
    if (away(status) || status.error_code() == grpc::NOT_FOUND)
      return shared_.agenda.after(kAgain, [this, key] { finish(key); });
    let_go(key, status.ok());
  });
}

void FleetWorker::let_go(Key key, bool completed) {
  {
    const std::scoped_lock lock(mutex_);
    const auto slots = held_.extract(key);
    if (slots.empty()) return;
    free_.insert(free_.end(), slots.mapped().begin(), slots.mapped().end());
    --shared_.running;
  }
  {
    const std::scoped_lock lock(shared_.mutex);
    ++(completed ? shared_.figures.completed : shared_.figures.dropped);
  }
  ask();
}

}  // namespace locus::bench
