// ExperimentService on gRPC.
#include "server/grpc/experiment_service.h"

#include "server/grpc/pull_stream.h"
#include "server/grpc/unary.h"
#include "server/wire/status.h"

namespace locus::server {
namespace {

// One watcher's stream. Writes and the end are ordered by its mutex: gRPC takes one write at a time and
// nothing after Finish. Threads that are not gRPC's reach it through its link only, which OnDone cuts before
// the stream goes.
class EventStream final : public grpc::ServerWriteReactor<v1::WatchEventsResponse> {
 public:
  // Outlives the stream while the feed or a task still holds it.
  class Link final : public Watcher {
   public:
    explicit Link(EventStream* stream) : stream_(stream) {}
    void fail(const absl::Status& status) { failed(status); }
    void keep(HeldPlace place) {
      absl::MutexLock lock(&mutex_);
      if (stream_ != nullptr) place_ = std::move(place);
    }
    void unlink() {
      close();
      absl::MutexLock lock(&mutex_);
      stream_ = nullptr;
      place_.reset();
    }

   protected:
    void send(v1::WatchEventsResponse response) override {
      absl::MutexLock lock(&mutex_);
      if (stream_ != nullptr) stream_->write(std::move(response));
    }
    void failed(absl::Status status) override {
      absl::MutexLock lock(&mutex_);
      if (stream_ != nullptr) stream_->finish(to_grpc_status(status));
    }

   private:
    absl::Mutex mutex_;
    EventStream* stream_ ABSL_GUARDED_BY(mutex_);
    HeldPlace place_ ABSL_GUARDED_BY(mutex_);  // among what its caller has under way
  };

  std::shared_ptr<Link> link() const { return link_; }
  void finish(grpc::Status status) {
    absl::MutexLock lock(&mutex_);
    if (finished_) return;
    if (writing_) {
      ending_ = std::move(status);
      return;
    }
    finished_ = true;
    Finish(std::move(status));
  }
  void OnWriteDone(bool ok) override {
    {
      absl::MutexLock lock(&mutex_);
      writing_ = false;
      if (!ok || ending_) {
        if (!std::exchange(finished_, true)) Finish(ending_.value_or(grpc::Status::CANCELLED));
        return;
      }
    }
    link_->sent();
  }
  void OnCancel() override { finish(grpc::Status::CANCELLED); }
  void OnDone() override {
    link_->unlink();
    delete this;
  }

 private:
  void write(v1::WatchEventsResponse response) {
    absl::MutexLock lock(&mutex_);
    if (finished_ || ending_) return;
    message_ = std::move(response);
    writing_ = true;
    StartWrite(&message_);
  }

  const std::shared_ptr<Link> link_ = std::make_shared<Link>(this);
  absl::Mutex mutex_;
  v1::WatchEventsResponse message_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false, finished_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<grpc::Status> ending_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

LOCUS_CALLS_OF_ExperimentService(LOCUS_SERVE_CALL)

    grpc::ServerWriteReactor<v1::ExportExperimentResponse>* ExperimentService::ExportExperiment(
        grpc::CallbackServerContext* context, const v1::ExportExperimentRequest* request) {
  return serve_stream<v1::ExportExperimentResponse>(api_, LOCUS_RULE_OF(ExperimentService, ExportExperiment), pool_,
                                                    context, request, &Api::export_experiment);
}

grpc::ServerWriteReactor<v1::WatchEventsResponse>* ExperimentService::WatchEvents(
    grpc::CallbackServerContext* context, const v1::WatchEventsRequest* request) {
  auto* stream = new EventStream;  // deletes itself in OnDone
  const bool taken =
      pool_.try_post([this, link = stream->link(), request = *request, who = principal_of(api_.gate(), *context)] {
        const Caller caller(who, LOCUS_RULE_OF(ExperimentService, WatchEvents), request);
        absl::Status status = api_.gate().admit(caller, request);
        absl::StatusOr<HeldPlace> place;
        if (status.ok()) status = (place = api_.gate().hold(who, caller.rule)).status();
        if (status.ok()) status = api_.check_watch(request.cursor(), request.experiment());
        if (!status.ok()) return link->fail(status);
        link->keep(*std::move(place));
        link->start(feed_, request.cursor(), request.experiment());
      });
  if (!taken) stream->finish(to_grpc_status(busy_error()));
  return stream;
}

}  // namespace locus::server
