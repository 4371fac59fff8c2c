// A worker's wait for work.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>

#include "locus/v1/worker_service.pb.h"
#include "server/application/memory.h"
#include "server/runtime/coordinator.h"

namespace locus::server {

// One long poll. Answered once on the strand: by a grant, with what is known of its memory, the end of the wait, or the
// caller's going. Deletes itself when it is done; what it is given must outlive it.
class AcquireCall final : public grpc::ServerUnaryReactor {
 public:
  AcquireCall(Coordinator& coordinator, const MemoryDesk& memory, v1::AcquireStageResponse* response)
      : coordinator_(coordinator), memory_(memory), response_(response) {}

  void begin(const v1::AcquireStageRequest& request);
  void OnCancel() override { coordinator_.drop(token_); }
  void OnDone() override { delete this; }

 private:
  void answer(const Command& command);

  Coordinator& coordinator_;
  const MemoryDesk& memory_;
  v1::AcquireStageResponse* const response_;
  std::atomic<ReplyToken> token_{0};
};

}  // namespace locus::server
