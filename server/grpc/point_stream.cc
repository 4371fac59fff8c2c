// One ReportPoints stream.
#include "server/grpc/point_stream.h"

#include <charconv>

#include "core/base/error.h"
#include "server/wire/convert.h"
#include "server/wire/status.h"

namespace locus::server {

bool PointStreams::add(grpc::CallbackServerContext* context) {
  absl::MutexLock lock(&mutex_);
  if (!closed_) open_.insert(context);
  return !closed_;
}

void PointStreams::remove(grpc::CallbackServerContext* context) {
  absl::MutexLock lock(&mutex_);
  open_.erase(context);
}

void PointStreams::close() {
  absl::MutexLock lock(&mutex_);
  closed_ = true;
  for (auto* context : open_) context->TryCancel();
}

PointStream::PointStream(Gate& gate, Store& store, Coordinator& coordinator, const DiskGuard& disk, WorkPool& pool,
                         Clock& clock, PointStreams& streams, grpc::CallbackServerContext* context)
    : gate_(gate),
      who_(principal_of(gate, *context)),
      store_(store),
      coordinator_(coordinator),
      disk_(disk),
      pool_(pool),
      clock_(clock),
      streams_(streams),
      context_(context) {
  auto place = gate_.hold(who_, LOCUS_RULE_OF(WorkerService, ReportPoints));
  if (!place.ok()) {
    Finish(to_grpc_status(place.status()));
    return;
  }
  place_ = *std::move(place);
  if (streams_.add(context_)) {
    StartRead(&request_);
    return;
  }
  Finish(to_grpc_status(make_error(absl::StatusCode::kUnavailable, ErrorReason::kServerDraining,
                                   "the server is stopping; send the points again shortly")));
}

void PointStream::OnDone() {
  streams_.remove(context_);
  delete this;
}

// No operation is out between a read and its answer, so the stream cannot end while the pool works for it.
void PointStream::OnReadDone(bool ok) {
  if (!ok) return Finish(grpc::Status::OK);
  pool_.post([this] { store_batch(); });
}

void PointStream::OnWriteDone(bool ok) {
  if (!ok) return Finish(grpc::Status::CANCELLED);
  StartRead(&request_);
}

void PointStream::store_batch() {
  constexpr const RpcRule* kRule = find_rule("WorkerService/ReportPoints");
  if (const absl::Status status = gate_.admit_message(Caller(who_, *kRule, request_), request_); !status.ok())
    return Finish(to_grpc_status(status));
  if (const absl::Status status = disk_.admit_data(); !status.ok()) return Finish(to_grpc_status(status));
  auto points = from_proto(request_.points());
  if (!points.ok()) return Finish(to_grpc_status(points.status()));
  if (request_.first_seq() < 1) {
    return Finish(to_grpc_status(
        make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
                   "first_seq is " + std::to_string(request_.first_seq()) + "; sequences start at 1", "first_seq")));
  }
  const PointAppend append{request_.stage(), request_.attempt(), request_.first_seq(), *std::move(points)};
  const auto acked = store_.append(append, clock_.wall());
  response_.Clear();
  response_.set_stage(request_.stage());
  response_.set_attempt(request_.attempt());
  if (const absl::Status status = fill(acked); !status.ok()) return Finish(to_grpc_status(status));
  if (acked.ok()) coordinator_.note_points(append.stage_id);
  StartWrite(&response_);
}

absl::Status PointStream::fill(const absl::StatusOr<std::int64_t>& acked) {
  if (acked.ok()) {
    response_.set_acked_seq(*acked);
    return absl::OkStatus();
  }
  const auto detail = error_detail(acked.status());
  if (!detail) return acked.status();
  if (detail->reason == ErrorReason::kSequenceGap) {
    std::int64_t expected = 1;
    const auto found = detail->metadata.find("expected_sequence");
    if (found != detail->metadata.end()) {
      std::from_chars(found->second.data(), found->second.data() + found->second.size(), expected);
    }
    response_.set_acked_seq(expected - 1);
  } else if (detail->reason != ErrorReason::kStaleAttempt && detail->reason != ErrorReason::kStageNotFound) {
    return acked.status();
  }
  const bool gap = detail->reason == ErrorReason::kSequenceGap;
  response_.set_reason(std::string(to_string(gap ? ErrorReason::kSequenceGap : ErrorReason::kStaleAttempt)));
  return absl::OkStatus();
}

}  // namespace locus::server
