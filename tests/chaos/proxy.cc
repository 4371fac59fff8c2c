// Each call is one reactor toward the client and one toward the server; a message is read on one side only
// after the one before it was written on the other, so nothing queues up here.
#include "tests/chaos/proxy.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <set>
#include <vector>

#include "tests/chaos/network.h"

namespace locus::chaos {
namespace {

using Stub = Network::Stub;

// The calls of a worker that are streams; every other one is a request and its answer.
bool is_stream(const std::string& method) {
  for (const char* one : {"/ReportPoints", "/UploadArtifact", "/DownloadArtifact", "/WatchEvents"}) {
    if (method.ends_with(one)) return true;
  }
  return false;
}

// Owns itself: gone when both sides and every message under way are done.
class Call final : public grpc::ServerGenericBidiReactor {
 public:
  Call(grpc::GenericCallbackServerContext& context, Stub& stub, Tap& tap, Network& network)
      : method_(context.method()),
        deadline_(context.deadline()),
        stub_(stub),
        tap_(tap),
        network_(network),
        upstream_(*this) {
    context_.set_deadline(deadline_);
    if (!network_.begin(this, [this] { cut(); })) cut();
    stub.PrepareBidiStreamingCall(&context_, method_, {}, &upstream_);
    upstream_.AddHold();  // for the writes, which our own side starts; let go when the server has said its last
    upstream_.StartRead(&response_);
    upstream_.StartCall();
    StartRead(&request_);
  }

  void OnReadDone(bool ok) override {
    if (ok) tap_.request(this, method_, request_);
    ++sides_;
    network_.pass([this, ok] {
      forward(ok);
      release();
    });
  }
  void OnWriteDone(bool ok) override {
    if (!ok) context_.TryCancel();
    upstream_.StartRead(&response_);
  }
  void OnCancel() override { context_.TryCancel(); }
  void OnDone() override { release(); }

 private:
  class Upstream final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
   public:
    explicit Upstream(Call& call) : call_(call) {}
    void OnReadDone(bool ok) override {
      if (ok) {
        call_.tap_.response(&call_, call_.method_, call_.response_);
        // What holds the answer holds the call: the server's end is not passed on before it.
        call_.network_.pass([this] { call_.StartWrite(&call_.response_); });
        return;
      }
      {
        std::lock_guard lock(call_.mutex_);
        call_.over_ = true;
      }
      RemoveHold();
    }
    void OnWriteDone(bool ok) override {
      if (!ok) return;
      if (std::exchange(call_.repeats_, false)) return StartWrite(&call_.request_);
      call_.StartRead(&call_.request_);
    }
    void OnDone(const grpc::Status& status) override {
      call_.network_.end(&call_);
      call_.tap_.ended(&call_, call_.method_, status);
      call_.Finish(call_.cut_ ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "the network is cut") : status);
      call_.release();
    }

   private:
    Call& call_;
  };

  void cut() {
    cut_ = true;
    context_.TryCancel();
  }
  void forward(bool ok) {
    std::lock_guard lock(mutex_);
    if (over_) return;
    if (!ok) return upstream_.StartWritesDone();
    if (network_.weather() == Weather::kDoubled) {
      repeats_ = method_.ends_with("/ReportPoints");
      if (!is_stream(method_)) Network::send_again(stub_, method_, request_, deadline_);
    }
    upstream_.StartWrite(&request_);
  }
  void release() {
    if (--sides_ == 0) delete this;
  }

  const std::string method_;
  const std::chrono::system_clock::time_point deadline_;
  Stub& stub_;
  Tap& tap_;
  Network& network_;
  grpc::ClientContext context_;
  Upstream upstream_;
  grpc::ByteBuffer request_, response_;
  std::mutex mutex_;
  bool over_ = false;     // the server will say no more: nothing may be written to it
  bool repeats_ = false;  // the message under way is to be written once more
  std::atomic<bool> cut_{false};
  std::atomic<int> sides_{2};
};

}  // namespace

class Proxy::Service final : public grpc::CallbackGenericService {
 public:
  Service(const std::string& target, Tap& tap) : tap_(tap) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 50);
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 200);
    arguments.SetMaxReceiveMessageSize(-1);
    stub_ = std::make_unique<Stub>(grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments));
  }
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override {
    return new Call(*context, *stub_, tap_, network_);
  }

  Network& network() { return network_; }

 private:
  Tap& tap_;
  std::unique_ptr<Stub> stub_;
  Network network_;
};

Proxy::Proxy(const std::string& target, Tap& tap) : service_(std::make_unique<Service>(target, tap)) {
  grpc::ServerBuilder builder;
  int port = 0;
  builder.SetMaxReceiveMessageSize(-1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 1000);
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterCallbackGenericService(service_.get());
  server_ = builder.BuildAndStart();
  address_ = "127.0.0.1:" + std::to_string(port);
}

void Proxy::set_weather(Weather weather) { service_->network().set_weather(weather); }

Proxy::~Proxy() {
  set_weather(Weather::kClear);
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
}

}  // namespace locus::chaos
