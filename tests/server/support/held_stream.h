// Streams that are held open, and how they end.
#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <memory>
#include <string>

#include "core/limits.h"
#include "locus/v1/experiment_service.grpc.pb.h"
#include "tests/server/support/server_fixture.h"

namespace locus::test {

// What `finish` returns; DEADLINE_EXCEEDED, and the call is cancelled, where that takes longer than a heartbeat.
template <class Finish>
grpc::Status within_a_heartbeat(grpc::ClientContext& context, Finish finish) {
  auto ended = std::async(std::launch::async, finish);
  if (ended.wait_for(kHeartbeat) == std::future_status::ready) return ended.get();
  context.TryCancel();
  ended.wait();
  return {grpc::StatusCode::DEADLINE_EXCEEDED, "it goes on after a heartbeat"};
}

// A stream of events from the first on. The server needs one to begin with: submit something before.
class HeldWatch {
 public:
  explicit HeldWatch(const std::shared_ptr<grpc::Channel>& channel, const std::string& token = "")
      : context_(deadline(60)), stub_(v1::ExperimentService::NewStub(channel)) {
    if (!token.empty()) context_->AddMetadata("authorization", "Bearer " + token);
    reader_ = stub_->WatchEvents(context_.get(), {});
    EXPECT_TRUE(reader_->Read(&response_)) << "the stream has begun";
  }
  // Whether it goes on until it tells of that experiment.
  bool hears_of(const std::string& experiment) {
    const auto told = [&] {
      return std::any_of(response_.events().begin(), response_.events().end(),
                         [&](const v1::Event& event) { return event.subject() == "experiments/" + experiment; });
    };
    while (!told()) {
      if (!reader_->Read(&response_)) return false;
    }
    return true;
  }
  grpc::Status end() {
    return within_a_heartbeat(*context_, [this] {
      while (reader_->Read(&response_)) continue;
      return reader_->Finish();
    });
  }

 private:
  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<v1::ExperimentService::Stub> stub_;
  std::unique_ptr<grpc::ClientReader<v1::WatchEventsResponse>> reader_;
  v1::WatchEventsResponse response_;  // the last
};

}  // namespace locus::test
