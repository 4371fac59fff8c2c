// Errors as values: an absl::Status that also carries a machine-readable reason, a field path and metadata.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace locus {

// Why something was refused. Shown as UPPER_SNAKE on the wire; callers switch on it, never on text.
// One line each in reasons.def; names are for ever.
enum class ErrorReason {
#define LOCUS_REASON(name, text) k##name,
#include "core/base/reasons.def"
#undef LOCUS_REASON
};

std::string_view to_string(ErrorReason reason);  // kUnknownPrior -> "UNKNOWN_PRIOR"
std::optional<ErrorReason> parse_error_reason(std::string_view text);

// What travels beside the message.
struct ErrorDetail {
  ErrorReason reason{};
  std::string field;                            // of the offender, "matrix.prior[2].violin.curves"; may be empty
  std::map<std::string, std::string> metadata;  // every value the message names
};

// Builds a status. `message` is a sentence without a full stop: what was asked, what was found, what to do.
absl::Status make_error(absl::StatusCode code, ErrorReason reason, std::string message, std::string field = {},
                        std::map<std::string, std::string> metadata = {});

// The detail a status carries, if make_error made it (or rpc translation restored it).
std::optional<ErrorDetail> error_detail(const absl::Status& status);
inline bool has_reason(const absl::Status& s, ErrorReason r) {
  auto detail = error_detail(s);
  return detail && detail->reason == r;
}

}  // namespace locus

#define LOCUS_CONCAT_INNER(a, b) a##b
#define LOCUS_CONCAT(a, b) LOCUS_CONCAT_INNER(a, b)
#define LOCUS_RETURN_IF_ERROR(expr)                                                    \
  do {                                                                                 \
    if (::absl::Status locus_status = (expr); !locus_status.ok()) return locus_status; \
  } while (false)
#define LOCUS_ASSIGN_OR_RETURN(lhs, expr) LOCUS_ASSIGN_OR_RETURN_INNER(LOCUS_CONCAT(locus_or_, __LINE__), lhs, expr)
#define LOCUS_ASSIGN_OR_RETURN_INNER(tmp, lhs, expr) \
  auto tmp = (expr);                                 \
  if (!tmp.ok()) return std::move(tmp).status();     \
  lhs = std::move(tmp).value()
