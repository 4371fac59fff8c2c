// Holding, delaying and repeating messages.
#include "tests/chaos/network.h"

#include <memory>
#include <utility>

namespace locus::chaos {
namespace {

constexpr std::chrono::milliseconds kLateBy{100};

}  // namespace

void Network::set_weather(Weather weather) {
  std::vector<std::function<void()>> arrived;
  {
    std::lock_guard lock(mutex_);
    weather_ = weather;
    if (weather != Weather::kStill) arrived = std::exchange(held_, {});
    if (weather == Weather::kCut) {
      for (const auto& [call, cut] : calls_) cut();
    }
  }
  for (const auto& deliver : arrived) deliver();
}

Weather Network::weather() const {
  std::lock_guard lock(mutex_);
  return weather_;
}

void Network::pass(std::function<void()> deliver) {
  Weather weather;
  {
    std::lock_guard lock(mutex_);
    weather = weather_;
    if (weather == Weather::kStill) {
      held_.push_back(std::move(deliver));
      return;
    }
  }
  if (weather != Weather::kLate) return deliver();
  auto* alarm = new grpc::Alarm;  // owned by what it runs
  alarm->Set(std::chrono::system_clock::now() + kLateBy, [alarm, deliver = std::move(deliver)](bool) {
    const std::unique_ptr<grpc::Alarm> owned(alarm);
    deliver();
  });
}

bool Network::begin(const void* call, std::function<void()> cut) {
  std::lock_guard lock(mutex_);
  if (weather_ == Weather::kCut) return false;
  calls_[call] = std::move(cut);
  return true;
}

void Network::end(const void* call) {
  std::lock_guard lock(mutex_);
  calls_.erase(call);
}

void Network::send_again(Stub& stub, const std::string& method, const grpc::ByteBuffer& request,
                         std::chrono::system_clock::time_point deadline) {
  struct Repeated {
    grpc::ClientContext context;
    grpc::ByteBuffer request, answer;
  };
  auto repeated = std::make_shared<Repeated>();
  repeated->context.set_deadline(deadline);
  repeated->request = request;
  stub.UnaryCall(&repeated->context, method, {}, &repeated->request, &repeated->answer,
                 [repeated](const grpc::Status&) {});
}

}  // namespace locus::chaos
