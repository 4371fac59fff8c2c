// Error details travel in one payload of the status, as JSON: no protobuf in the core.
#include "core/base/error.h"

#include <array>
#include <utility>

#include "absl/strings/cord.h"
#include "core/base/json.h"

namespace locus {
namespace {

constexpr char kDetailUrl[] = "locus.v1/error-detail";
constexpr std::size_t kMessageMost = 1000, kFieldMost = 300;  // bytes

struct ReasonName {
  std::string_view name;  // "UnknownPrior"
};

constexpr ReasonName kReasons[] = {
#define LOCUS_REASON(name, text) {#name},
#include "core/base/reasons.def"
#undef LOCUS_REASON
};
constexpr std::size_t kReasonCount = std::size(kReasons);

std::string upper_snake(std::string_view pascal) {
  std::string out;
  for (std::size_t i = 0; i < pascal.size(); ++i) {
    const char c = pascal[i];
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper && i > 0) out += '_';
    out += upper ? c : static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

const std::array<std::string, kReasonCount>& reason_names() {
  static const auto names = [] {
    std::array<std::string, kReasonCount> out;
    for (std::size_t i = 0; i < kReasonCount; ++i) out[i] = upper_snake(kReasons[i].name);
    return out;
  }();
  return names;
}

// What a caller sent may be quoted, but an error travels in headers of a few KiB: the middle of a long text
// is left out, never half a character.
std::string shortened(std::string text, std::size_t most) {
  if (text.size() <= most) return text;
  const auto inside = [&text](std::size_t at) { return (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80; };
  std::size_t head = most * 2 / 3, tail = text.size() - most / 4;
  while (head > 0 && inside(head)) --head;
  while (tail < text.size() && inside(tail)) ++tail;
  return text.substr(0, head) + " [" + std::to_string(tail - head) + " bytes] " + text.substr(tail);
}

// Text of any origin may reach a message; a payload must stay readable whatever it holds.
std::string dump(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace

std::string_view to_string(ErrorReason reason) {
  const auto index = static_cast<std::size_t>(reason);
  return index < kReasonCount ? std::string_view(reason_names()[index]) : std::string_view("INVARIANT_BROKEN");
}

std::optional<ErrorReason> parse_error_reason(std::string_view text) {
  for (std::size_t i = 0; i < kReasonCount; ++i) {
    if (reason_names()[i] == text) return static_cast<ErrorReason>(i);
  }
  return std::nullopt;
}

absl::Status make_error(absl::StatusCode code, ErrorReason reason, std::string message, std::string field,
                        std::map<std::string, std::string> metadata) {
  message = shortened(std::move(message), kMessageMost);
  field = shortened(std::move(field), kFieldMost);
  for (auto& [name, value] : metadata) value = shortened(std::move(value), kFieldMost);
  absl::Status status(code, message);
  const Json detail = {
      {"reason", std::string(to_string(reason))}, {"field", std::move(field)}, {"metadata", std::move(metadata)}};
  status.SetPayload(kDetailUrl, absl::Cord(dump(detail)));
  return status;
}

std::optional<ErrorDetail> error_detail(const absl::Status& status) {
  const auto payload = status.GetPayload(kDetailUrl);
  if (!payload) return std::nullopt;
  const Json json = Json::parse(std::string(*payload), nullptr, false);
  if (!json.is_object()) return std::nullopt;
  const auto reason = parse_error_reason(json.value("reason", ""));
  if (!reason) return std::nullopt;
  ErrorDetail detail;
  detail.reason = *reason;
  detail.field = json.value("field", "");
  detail.metadata = json.value("metadata", std::map<std::string, std::string>());
  return detail;
}

}  // namespace locus
