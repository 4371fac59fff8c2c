// Restores error details; the only place that reads google.rpc payloads.
#include "client/errors.h"

#include <grpcpp/support/status.h>

#include <cstdlib>
#include <map>

#include "core/base/error.h"
#include "core/base/mistakes.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace locus {
namespace {

constexpr char kDomain[] = "locus.v1";
constexpr char kRemoved[] = "Stream removed";  // by gRPC, which calls the cause unknown

absl::Status unreachable(absl::StatusCode code, const std::string& address, const std::string& found,
                         const ClientTls& tls) {
  if (const std::string meaning = explain_connection(tls, address, found); !meaning.empty())
    return make_error(code, ErrorReason::kServerUnavailable, meaning, "", {{"address", address}, {"found", found}});
  return make_error(code, ErrorReason::kServerUnavailable,
                    "no server answers at " + address + " (" + found +
                        "): start one with `locus serve`, or name another with --server HOST:PORT",
                    "", {{"address", address}, {"found", found}});
}

// What was refused, with every field the answer lists.
absl::Status several(absl::StatusCode code, ErrorReason reason, const std::string& message,
                     const google::rpc::BadRequest& bad, std::map<std::string, std::string> metadata) {
  const std::string first = bad.field_violations_size() > 0 ? bad.field_violations(0).field() : "";
  const auto more = metadata.find(kMoreMistakes);
  Violations out;
  if (more != metadata.end()) out.more = std::atoll(more->second.c_str());
  if (bad.field_violations_size() < 2 && out.more == 0)
    return make_error(code, reason, message, first, std::move(metadata));
  for (const auto& one : bad.field_violations()) {
    const bool leads = out.list.empty();
    out.list.push_back(make_error(code, parse_error_reason(one.reason()).value_or(reason), one.description(),
                                  one.field(), leads ? metadata : std::map<std::string, std::string>()));
  }
  return join(out);
}

}  // namespace

absl::Status from_wire(const grpc::Status& status, const std::string& address, const ClientTls& tls) {
  if (status.ok()) return absl::OkStatus();
  const auto code = static_cast<absl::StatusCode>(status.error_code());
  google::rpc::Status wire;
  std::optional<ErrorReason> reason;
  std::map<std::string, std::string> metadata;
  google::rpc::BadRequest bad;
  if (!status.error_details().empty() && wire.ParseFromString(status.error_details())) {
    for (const auto& any : wire.details()) {
      google::rpc::ErrorInfo info;
      if (any.Is<google::rpc::ErrorInfo>() && any.UnpackTo(&info) && info.domain() == kDomain) {
        reason = parse_error_reason(info.reason());
        metadata.insert(info.metadata().begin(), info.metadata().end());
      } else if (any.Is<google::rpc::BadRequest>()) {
        any.UnpackTo(&bad);
      }
    }
  }
  if (reason) return several(code, *reason, status.error_message(), bad, std::move(metadata));
  if (worth_retrying(status)) return unreachable(absl::StatusCode::kUnavailable, address, status.error_message(), tls);
  if (code == absl::StatusCode::kDeadlineExceeded)
    return unreachable(code, address, "no answer within the deadline", tls);
  // gRPC hands over no details of a call that was refused before it reached its service.
  if (code == absl::StatusCode::kUnauthenticated)
    return make_error(code, ErrorReason::kNotAuthenticated, status.error_message());
  if (code == absl::StatusCode::kPermissionDenied)
    return make_error(code, ErrorReason::kNotPermitted, status.error_message());
  return {code, status.error_message()};
}

bool worth_retrying(const grpc::Status& status) {
  const bool removed =
      status.error_code() == grpc::StatusCode::UNKNOWN && status.error_message().find(kRemoved) != std::string::npos;
  return status.error_code() == grpc::StatusCode::UNAVAILABLE || removed;
}

std::optional<std::chrono::microseconds> retry_delay(const grpc::Status& status) {
  google::rpc::Status wire;
  if (status.error_details().empty() || !wire.ParseFromString(status.error_details())) return std::nullopt;
  for (const auto& any : wire.details()) {
    google::rpc::RetryInfo info;
    if (any.Is<google::rpc::RetryInfo>() && any.UnpackTo(&info)) {
      return std::chrono::seconds(info.retry_delay().seconds()) +
             std::chrono::microseconds(info.retry_delay().nanos() / 1000);
    }
  }
  return std::nullopt;
}

}  // namespace locus
