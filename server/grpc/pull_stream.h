// A stream of answers that are made one at a time, on the work pool, as fast as the reader takes them.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <functional>
#include <utility>

#include "absl/status/statusor.h"
#include "server/application/api.h"
#include "server/grpc/unary.h"
#include "server/runtime/pull_source.h"
#include "server/runtime/work_pool.h"
#include "server/wire/status.h"

namespace locus::server {

// Deletes itself when the stream has ended.
template <class Message>
class PullStream final : public grpc::ServerWriteReactor<Message> {
 public:
  // `open` makes the source; both run on the pool, which must outlive the stream.
  using Open = std::function<absl::StatusOr<PullSource<Message>>()>;
  PullStream(WorkPool& pool, Open open) : pool_(pool) {
    const bool taken = pool_.try_post([this, open = std::move(open)] {
      auto source = open();
      if (!source.ok()) return this->Finish(to_grpc_status(source.status()));
      source_ = *std::move(source);
      next();
    });
    if (!taken) this->Finish(to_grpc_status(busy_error()));
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return this->Finish(grpc::Status::CANCELLED);
    pool_.post([this] { next(); });
  }
  void OnDone() override { delete this; }

 private:
  void next() {
    auto message = source_();
    if (!message.ok()) return this->Finish(to_grpc_status(message.status()));
    if (!message->has_value()) return this->Finish(grpc::Status::OK);
    message_ = **std::move(message);
    this->StartWrite(&message_);
  }

  WorkPool& pool_;
  PullSource<Message> source_;
  Message message_;
};

// A call of a stream of answers that `function` of Api gives; asks the gate first. The rule lives as long as the process.
template <class Message, class Request, class Function>
PullStream<Message>* serve_stream(Api& api, const RpcRule& rule, WorkPool& pool, grpc::CallbackServerContext* context,
                                  const Request* request, Function function) {
  auto open = [&api, &rule, function, request = *request, who = principal_of(api.gate(), *context)] {
    return answer_pieces(api.gate(), rule, who, request,
                         [&](const Caller& caller) { return ask(api, function, request, caller); });
  };
  return new PullStream<Message>(pool, std::move(open));  // deletes itself in OnDone
}

}  // namespace locus::server
