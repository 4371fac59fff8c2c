// Errors on the wire: reasons and field paths beside the sentence.
#include "server/wire/status.h"

#include <grpcpp/support/status.h>

#include <cstdlib>

#include "core/base/error.h"
#include "core/base/ids.h"
#include "core/base/json.h"
#include "core/base/mistakes.h"
#include "core/base/utf8.h"
#include "core/log/log.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace locus::server {
namespace {

constexpr char kDomain[] = "locus.v1";

ErrorReason reason_of_code(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
      return ErrorReason::kInvalidArgument;
    case absl::StatusCode::kResourceExhausted:
      return ErrorReason::kLimitExceeded;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kCancelled:
      return ErrorReason::kServerUnavailable;
    case absl::StatusCode::kFailedPrecondition:
      return ErrorReason::kWrongState;
    default:
      return ErrorReason::kInvariantBroken;
  }
}

// What of several mistakes fits into an answer: an error travels in headers of 8 KiB.
Violations listed(const absl::Status& status) {
  constexpr std::size_t kMostListed = 20, kMostBytes = 2400;
  Violations out = violations_of(status);
  std::size_t bytes = 0, kept = 0;
  for (; kept < out.list.size() && kept < kMostListed; ++kept) {
    const auto detail = error_detail(out.list[kept]);
    bytes += out.list[kept].message().size() + (detail ? detail->field.size() : 0);
    if (kept > 0 && bytes > kMostBytes) break;
  }
  out.more += static_cast<std::int64_t>(out.list.size() - kept);
  out.list.resize(kept);
  return out;
}

// The detail a status carries, or the best one its code allows; a defect of ours gets an id that ties answer
// and log together.
ErrorDetail complete_detail(const absl::Status& status) {
  ErrorDetail detail;
  if (auto carried = error_detail(status)) {
    detail = *std::move(carried);
  } else {
    detail.reason = reason_of_code(status.code());
  }
  if (const std::int64_t more = listed(status).more; more > 0) detail.metadata[kMoreMistakes] = std::to_string(more);
  if (status.code() == absl::StatusCode::kInternal || status.code() == absl::StatusCode::kUnknown) {
    detail.metadata["log_id"] = random_uuid();
    log_error("internal error {}: {}", detail.metadata["log_id"], std::string(status.message()));
  }
  return detail;
}

// The fields that are wrong, each with its sentence: more than one where a status lists several.
google::rpc::BadRequest bad_request(const absl::Status& status) {
  google::rpc::BadRequest out;
  const Violations found = listed(status);
  for (const absl::Status& one : found.list) {
    const auto detail = error_detail(one);
    if (!detail || (detail->field.empty() && found.list.size() == 1)) continue;
    auto* violation = out.add_field_violations();
    violation->set_field(valid_utf8(detail->field));
    violation->set_description(valid_utf8(std::string(one.message())));
    violation->set_reason(std::string(to_string(detail->reason)));
  }
  return out;
}

int http_code(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kOk:
      return 200;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kOutOfRange:
      return 400;
    case absl::StatusCode::kUnauthenticated:
      return 401;
    case absl::StatusCode::kPermissionDenied:
      return 403;
    case absl::StatusCode::kNotFound:
      return 404;
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kAborted:
      return 409;
    case absl::StatusCode::kResourceExhausted:
      return 429;
    case absl::StatusCode::kCancelled:
      return 499;
    case absl::StatusCode::kUnimplemented:
      return 501;
    case absl::StatusCode::kUnavailable:
      return 503;
    case absl::StatusCode::kDeadlineExceeded:
      return 504;
    default:
      return 500;
  }
}

}  // namespace

grpc::Status to_grpc_status(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const ErrorDetail detail = complete_detail(status);
  const std::string message = valid_utf8(std::string(status.message()));
  google::rpc::ErrorInfo info;
  info.set_reason(std::string(to_string(detail.reason)));
  info.set_domain(kDomain);
  for (const auto& [key, value] : detail.metadata) (*info.mutable_metadata())[valid_utf8(key)] = valid_utf8(value);
  google::rpc::Status wire;
  wire.set_code(static_cast<int>(status.code()));
  wire.set_message(message);
  wire.add_details()->PackFrom(info);
  if (const google::rpc::BadRequest bad = bad_request(status); bad.field_violations_size() > 0)
    wire.add_details()->PackFrom(bad);
  if (const auto retry = detail.metadata.find("retry_seconds"); retry != detail.metadata.end()) {
    google::rpc::RetryInfo info_of_retry;
    info_of_retry.mutable_retry_delay()->set_seconds(std::atoll(retry->second.c_str()));
    wire.add_details()->PackFrom(info_of_retry);
  }
  return {static_cast<grpc::StatusCode>(status.code()), message, wire.SerializeAsString()};
}

HttpError to_http_error(const absl::Status& status) {
  const ErrorDetail detail = complete_detail(status);
  Json details = Json::array();
  details.push_back({{"@type", "type.googleapis.com/google.rpc.ErrorInfo"},
                     {"reason", to_string(detail.reason)},
                     {"domain", kDomain},
                     {"metadata", detail.metadata.empty() ? Json::object() : Json(detail.metadata)}});
  Json violations = Json::array();
  const google::rpc::BadRequest bad = bad_request(status);
  for (const auto& one : bad.field_violations())
    violations.push_back({{"field", one.field()}, {"description", one.description()}, {"reason", one.reason()}});
  if (!violations.empty()) {
    details.push_back(
        {{"@type", "type.googleapis.com/google.rpc.BadRequest"}, {"field_violations", std::move(violations)}});
  }
  const int code = http_code(status.code());
  Json error = {{"code", code},
                {"status", absl::StatusCodeToString(status.code())},
                {"message", status.message()},
                {"details", std::move(details)}};
  return {code, Json{{"error", std::move(error)}}.dump(-1, ' ', false, Json::error_handler_t::replace)};
}

}  // namespace locus::server
