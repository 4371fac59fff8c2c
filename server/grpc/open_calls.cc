// The register of calls under way.
#include "server/grpc/open_calls.h"

#include <grpcpp/server_context.h>

#include <algorithm>
#include <charconv>

#include "server/grpc/principal_of.h"

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
    if (!auth) return;
    Shown shown;
    for (const grpc::string_ref& one : auth->FindPropertyValues(property::kShown))
      shown.credentials.emplace_back(one.data(), one.size());
    if (shown.credentials.empty()) return;
    for (const grpc::string_ref& time : auth->FindPropertyValues(property::kExpires))
      std::from_chars(time.data(), time.data() + time.size(), shown.expires_us);
    const std::lock_guard lock(calls_.mutex_);
    const bool ended = std::any_of(shown.credentials.begin(), shown.credentials.end(),
                                   [&](const std::string& one) { return calls_.ended_.find(one) != nullptr; });
    calls_.open_[context_] = std::move(shown);
    entered_ = true;
    if (ended) context_->TryCancel();
  }

  void leave() {
    if (!entered_) return;
    const std::lock_guard lock(calls_.mutex_);
    calls_.open_.erase(context_);
    entered_ = false;
  }

  OpenCalls& calls_;
  Context* const context_;
  bool entered_ = false;
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

// The lock is held while they are cancelled, so that none of them is let go of meanwhile; a call may end within its
// cancellation.
void OpenCalls::cancel_where(const std::function<bool(const Shown&)>& ends) {
  std::vector<Context*> all;
  for (const auto& [context, shown] : open_) {
    if (ends(shown)) all.push_back(context);
  }
  for (Context* context : all) {
    if (open_.contains(context)) context->TryCancel();
  }
}

void OpenCalls::end(const std::string& credential) {
  const std::lock_guard lock(mutex_);
  ended_.at(credential) = true;
  cancel_where([&](const Shown& shown) {
    return std::find(shown.credentials.begin(), shown.credentials.end(), credential) != shown.credentials.end();
  });
}

void OpenCalls::end_expired(Microseconds now) {
  const std::lock_guard lock(mutex_);
  cancel_where([&](const Shown& shown) { return shown.expires_us != 0 && shown.expires_us <= now; });
}

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> OpenCalls::watcher() {
  return std::make_unique<Factory>(*this);
}

}  // namespace locus::server
