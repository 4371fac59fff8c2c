// Lists in pages.
#include "server/application/paging.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "core/base/error.h"
#include "core/limits.h"

namespace locus::server {
namespace {

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

}  // namespace

std::string make_page_token(const std::string& kind, std::int64_t key) { return kind + ":" + std::to_string(key); }

absl::StatusOr<std::int64_t> parse_page_token(const std::string& kind, const std::string& token, std::int64_t first) {
  if (token.empty()) return first;
  const std::size_t colon = token.find(':');
  const auto key = colon == std::string::npos ? std::nullopt : parse_integer(std::string_view(token).substr(colon + 1));
  if (!key || token.substr(0, colon) != kind || *key < 0) {
    return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kPageTokenInvalid,
                      "page_token \"" + token + "\" does not belong to this list; start again without one",
                      "page_token", {{"page_token", token}});
  }
  return *key;
}

absl::StatusOr<int> page_size(int asked) {
  if (asked < 0) {
    return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
                      "page_size is " + std::to_string(asked) + "; give 1 to " + std::to_string(kPageSizeMost) +
                          ", or 0 for the default",
                      "page_size", {{"page_size", std::to_string(asked)}});
  }
  return asked == 0 ? kPageSizeDefault : std::min(asked, kPageSizeMost);
}

}  // namespace locus::server
