// One GET by libcurl.
#include "client/direct.h"

#include <curl/curl.h>

#include <array>
#include <memory>

#include "core/base/error.h"

namespace locus {
namespace {

constexpr long kConnectSeconds = 5, kSilentSeconds = 30;

struct Reading {
  CURL* curl = nullptr;
  long wanted = 200;  // status
  const std::function<absl::Status(std::string_view)>* sink = nullptr;
  Cancellation* cancellation = nullptr;
  absl::Status refusal;
};

std::size_t take_piece(char* bytes, std::size_t size, std::size_t count, void* user) {
  auto& reading = *static_cast<Reading*>(user);
  long status = 0;
  curl_easy_getinfo(reading.curl, CURLINFO_RESPONSE_CODE, &status);
  if (status != reading.wanted) return 0;
  reading.refusal = (*reading.sink)(std::string_view(bytes, size * count));
  return reading.refusal.ok() ? size * count : 0;
}

int look_up(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  const auto* cancellation = static_cast<Reading*>(user)->cancellation;
  return cancellation != nullptr && cancellation->cancelled() ? 1 : 0;
}

struct CurlEnd {
  void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
};

}  // namespace

absl::Status read_url(const std::string& url, std::int64_t offset,
                      const std::function<absl::Status(std::string_view)>& sink, Cancellation* cancellation) {
  static const CURLcode once = curl_global_init(CURL_GLOBAL_DEFAULT);
  (void)once;
  const std::unique_ptr<CURL, CurlEnd> curl(curl_easy_init());
  Reading reading{curl.get(), offset > 0 ? 206L : 200L, &sink, cancellation, {}};
  std::array<char, CURL_ERROR_SIZE> words{};
  curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_ERRORBUFFER, words.data());
  curl_easy_setopt(curl.get(), CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl_easy_setopt(curl.get(), CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_LOW_SPEED_TIME, kSilentSeconds);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, take_piece);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &reading);
  curl_easy_setopt(curl.get(), CURLOPT_XFERINFOFUNCTION, look_up);
  curl_easy_setopt(curl.get(), CURLOPT_XFERINFODATA, &reading);
  curl_easy_setopt(curl.get(), CURLOPT_NOPROGRESS, 0L);
  const std::string range = std::to_string(offset) + "-";
  if (offset > 0) curl_easy_setopt(curl.get(), CURLOPT_RANGE, range.c_str());
  const CURLcode code = curl_easy_perform(curl.get());
  if (!reading.refusal.ok()) return reading.refusal;
  if (cancellation != nullptr && cancellation->cancelled()) return absl::CancelledError("cancelled");
  long status = 0;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
  if (code == CURLE_OK && status == reading.wanted) return absl::OkStatus();
  const std::string found = status != 0 && status != reading.wanted ? "it answered " + std::to_string(status)
                            : words[0] != '\0'                      ? std::string(words.data())
                                                                    : std::string(curl_easy_strerror(code));
  return make_error(absl::StatusCode::kUnavailable, ErrorReason::kStorageFailed,
                    "the object store that the server named cannot be read: " + found);
}

}  // namespace locus
