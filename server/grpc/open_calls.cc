// The register of calls under way.
#include "server/grpc/open_calls.h"

#include <grpcpp/server_context.h>

namespace locus::server {

// One call. gRPC runs it at each step of the call and destroys it with the call.
class OpenCalls::Watch final : public grpc::experimental::Interceptor {
 public:
  Watch(OpenCalls& calls, Context* context) : calls_(calls), context_(context) {}
  ~Watch() override { leave(); }

  void Intercept(grpc::experimental::InterceptorBatchMethods* step) override {
    using grpc::experimental::InterceptionHookPoints;
    if (step->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_INITIAL_METADATA)) enter();
    // From here on gRPC may let go of the call, which then must not be cancelled any more.
    if (step->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_CLOSE)) leave();
    step->Proceed();
  }

 private:
  void enter() {
    const auto auth = context_->auth_context();
    const auto serials = auth->FindPropertyValues(kSerialProperty);
    if (serials.empty()) return;
    serial_ = std::string(serials.front().data(), serials.front().size());
    const std::lock_guard lock(calls_.mutex_);
    calls_.open_[serial_].insert(context_);
  }

  void leave() {
    if (serial_.empty()) return;
    const std::lock_guard lock(calls_.mutex_);
    const auto found = calls_.open_.find(serial_);
    if (found == calls_.open_.end()) return;
    found->second.erase(context_);
    if (found->second.empty()) calls_.open_.erase(found);
  }

  OpenCalls& calls_;
  Context* const context_;
  std::string serial_;  // empty: not registered
};

class OpenCalls::Factory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit Factory(OpenCalls& calls) : calls_(calls) {}
  grpc::experimental::Interceptor* CreateServerInterceptor(grpc::experimental::ServerRpcInfo* call) override {
    return new Watch(calls_, call->server_context());
  }

 private:
  OpenCalls& calls_;
};

void OpenCalls::end(const std::string& serial) {
  // Held while they are cancelled, so that none of them is let go of meanwhile; a call may end within its cancellation.
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(serial);
  if (found == open_.end()) return;
  const std::set<Context*> running = found->second;
  for (Context* context : running) {
    const auto still = open_.find(serial);
    if (still != open_.end() && still->second.contains(context)) context->TryCancel();
  }
}

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> OpenCalls::watcher() {
  return std::make_unique<Factory>(*this);
}

}  // namespace locus::server
