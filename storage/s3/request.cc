// Requests by libcurl, which signs them.
#include "storage/s3/request.h"

#include <curl/curl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <random>

#include "core/base/error.h"
#include "core/base/sha256.h"

namespace locus {
namespace {

constexpr std::size_t kKept = 16;           // idle connections
constexpr std::size_t kMostBody = 8 << 20;  // of an answer that is not given to a sink

struct ListEnd {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using HeaderList = std::unique_ptr<curl_slist, ListEnd>;

// What one transfer reads and writes.
struct Transfer {
  CURL* curl = nullptr;
  const S3Call* call = nullptr;
  S3Answer answer;
  std::int64_t sent = 0, taken = 0;  // bytes
  absl::Status refusal;
};

std::size_t give_bytes(char* out, std::size_t size, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const S3Body& body = transfer.call->body;
  const auto room = std::min<std::int64_t>(static_cast<std::int64_t>(size * count), body.size - transfer.sent);
  if (room <= 0) return 0;
  ssize_t got = room;
  if (body.file < 0) {
    std::memcpy(out, body.bytes.data() + transfer.sent, static_cast<std::size_t>(room));
  } else {
    got = ::pread(body.file, out, static_cast<std::size_t>(room), body.offset + transfer.sent);
    if (got <= 0) return CURL_READFUNC_ABORT;
  }
  transfer.sent += got;
  return static_cast<std::size_t>(got);
}

int seek_bytes(void* user, curl_off_t offset, int origin) {
  if (origin != SEEK_SET) return CURL_SEEKFUNC_CANTSEEK;
  static_cast<Transfer*>(user)->sent = offset;
  return CURL_SEEKFUNC_OK;
}

std::size_t take_bytes(char* bytes, std::size_t size, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const std::string_view piece(bytes, size * count);
  long status = 0;
  curl_easy_getinfo(transfer.curl, CURLINFO_RESPONSE_CODE, &status);
  if (transfer.call->sink && (status == 200 || status == 206)) {
    transfer.taken += static_cast<std::int64_t>(piece.size());
    transfer.refusal = transfer.call->sink(piece);
    return transfer.refusal.ok() ? piece.size() : 0;
  }
  if (transfer.answer.body.size() + piece.size() > kMostBody) return 0;
  transfer.answer.body.append(piece);
  return piece.size();
}

std::size_t take_header(char* bytes, std::size_t size, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  std::string line(bytes, size * count);
  while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) line.pop_back();
  const auto colon = line.find(':');
  if (colon == std::string::npos) return size * count;
  std::string name = line.substr(0, colon);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  if (name == "etag") transfer.answer.etag = line.substr(std::min(line.size(), line.find_first_not_of(' ', colon + 1)));
  return size * count;
}

bool worth_another_try(long status) { return status == 429 || status == 500 || (status >= 502 && status <= 504); }

// Not those that would fail the same way again: a wrong name, a certificate that does not fit.
bool worth_another_try(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
    case CURLE_COULDNT_RESOLVE_HOST:
      return true;
    default:
      return false;
  }
}

HeaderList headers_of(const S3Call& call, const S3Keys& keys) {
  curl_slist* list = nullptr;
  const std::string hash = call.body.sha256.empty() ? sha256_hex("") : call.body.sha256;
  list = curl_slist_append(list, ("x-amz-content-sha256: " + hash).c_str());
  if (!keys.session.empty()) list = curl_slist_append(list, ("x-amz-security-token: " + keys.session).c_str());
  for (const std::string& header : call.headers) list = curl_slist_append(list, header.c_str());
  list = curl_slist_append(list, "Expect:");  // or libcurl waits a second for leave to send
  return HeaderList(list);
}

std::string address_of(const S3Place& place, const S3Call& call) {
  std::string url = s3_url(place, call.key);
  char mark = '?';
  for (const auto& [name, value] : call.query) {  // libcurl signs them in the order they have here
    url += mark + percent_encoded(name, false) + "=" + percent_encoded(value, false);
    mark = '&';
  }
  return url;
}

}  // namespace

struct S3Connection::Handle {
  CURL* curl = curl_easy_init();
  ~Handle() { curl_easy_cleanup(curl); }
};

S3Connection::S3Connection(S3Place place, S3Keys keys, S3Patience patience)
    : place_(std::move(place)), keys_(std::move(keys)), patience_(patience) {
  static const CURLcode once = curl_global_init(CURL_GLOBAL_DEFAULT);
  (void)once;
}
S3Connection::~S3Connection() = default;

std::unique_ptr<S3Connection::Handle> S3Connection::take() {
  std::lock_guard lock(mutex_);
  if (idle_.empty()) return std::make_unique<Handle>();
  auto handle = std::move(idle_.back());
  idle_.pop_back();
  curl_easy_reset(handle->curl);
  return handle;
}

void S3Connection::give_back(std::unique_ptr<Handle> handle) {
  std::lock_guard lock(mutex_);
  if (idle_.size() < kKept) idle_.push_back(std::move(handle));
}

absl::StatusOr<S3Answer> S3Connection::send_once(const S3Call& call, bool& again) {
  auto handle = take();
  CURL* curl = handle->curl;
  Transfer transfer;
  transfer.curl = curl;
  transfer.call = &call;
  const HeaderList headers = headers_of(call, keys_);
  const std::string url = address_of(place_, call), user = keys_.access + ":" + keys_.secret;
  const std::string signature = "aws:amz:" + place_.region + ":s3";
  std::array<char, CURL_ERROR_SIZE> words{};
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, words.data());
  curl_easy_setopt(curl, CURLOPT_AWS_SIGV4, signature.c_str());
  curl_easy_setopt(curl, CURLOPT_USERPWD, user.c_str());
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(patience_.connect.count() * 1000));
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, static_cast<long>(patience_.silence.count()));
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_bytes);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &transfer);
  if (call.method == "PUT" || call.method == "POST") {
    curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(curl, CURLOPT_READFUNCTION, give_bytes);
    curl_easy_setopt(curl, CURLOPT_READDATA, &transfer);
    curl_easy_setopt(curl, CURLOPT_SEEKFUNCTION, seek_bytes);
    curl_easy_setopt(curl, CURLOPT_SEEKDATA, &transfer);
    curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(call.body.size));
  }
  if (call.method == "HEAD") curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
  curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, call.method.c_str());
  const CURLcode code = curl_easy_perform(curl);
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &transfer.answer.status);
  curl_off_t length = -1;
  curl_easy_getinfo(curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
  transfer.answer.length = length;
  if (code == CURLE_OK) give_back(std::move(handle));
  if (!transfer.refusal.ok()) return transfer.refusal;
  again =
      transfer.taken == 0 && (code == CURLE_OK ? worth_another_try(transfer.answer.status) : worth_another_try(code));
  if (code == CURLE_OK && !worth_another_try(transfer.answer.status)) return std::move(transfer.answer);
  if (code == CURLE_OK) return refused(call.method, transfer.answer);
  return make_error(absl::StatusCode::kUnavailable, ErrorReason::kStorageFailed,
                    "the object store at " + place_.endpoint + " cannot be reached or broke off: " +
                        (words[0] != '\0' ? words.data() : curl_easy_strerror(code)),
                    "", {{"endpoint", place_.endpoint}});
}

absl::StatusOr<S3Answer> S3Connection::send(const S3Call& call) {
  for (int tried = 1;; ++tried) {
    bool again = false;
    auto answer = send_once(call, again);
    if (answer.ok() || !again || !wait_to_retry(tried)) return answer;
  }
}

bool S3Connection::wait_to_retry(int tried) const {
  if (tried >= patience_.tries) return false;
  thread_local std::mt19937_64 random(std::random_device{}());
  const auto most = patience_.first_wait * (1 << std::min(tried - 1, 10));
  const std::chrono::milliseconds pause(
      std::uniform_int_distribution<std::int64_t>(0, std::max<std::int64_t>(0, most.count()))(random));
  std::unique_lock lock(mutex_);
  paused_.wait_for(lock, pause, [] { return false; });  // a pause, not a wait for anything
  return true;
}

absl::Status S3Connection::refused(const std::string& doing, const S3Answer& answer) const {
  const std::string code = xml_text(answer.body, "Code");
  std::string said = std::to_string(answer.status) + (code.empty() ? "" : " " + code), advice;
  absl::StatusCode kind = absl::StatusCode::kUnavailable;
  if (code == "RequestTimeTooSkewed") {
    advice = "; the clock of this machine or of the store is wrong: set it by NTP";
  } else if (answer.status == 403) {
    kind = absl::StatusCode::kPermissionDenied;
    advice = "; give the server keys that may read, write, list and delete there";
  } else if (code == "NoSuchBucket") {
    kind = absl::StatusCode::kFailedPrecondition;
    advice = "; make the bucket or name another one";
  } else if (answer.status == 301 || answer.status == 400) {
    kind = absl::StatusCode::kFailedPrecondition;
    advice = "; is the region " + place_.region + " right?";
  }
  return make_error(
      kind, ErrorReason::kStorageFailed,
      doing + " in bucket " + place_.bucket + " at " + place_.endpoint + ": the object store answered " + said + advice,
      "", {{"endpoint", place_.endpoint}, {"bucket", place_.bucket}, {"found", said}});
}

namespace {

// In one pass: an answer may be all entities.
std::string xml_decoded(std::string_view text) {
  static constexpr std::pair<std::string_view, char> kEntities[] = {
      {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}, {"&#34;", '"'}, {"&#39;", '\''}, {"&amp;", '&'}};
  std::string out;
  while (!text.empty()) {
    const auto* const entity = std::find_if(std::begin(kEntities), std::end(kEntities),
                                            [&](const auto& one) { return text.starts_with(one.first); });
    const bool found = entity != std::end(kEntities);
    out += found ? entity->second : text.front();
    text.remove_prefix(found ? entity->first.size() : 1);
  }
  return out;
}

}  // namespace

std::vector<std::string> xml_texts(std::string_view xml, const std::string& name) {
  std::vector<std::string> out;
  const std::string open = "<" + name + ">", close = "</" + name + ">";
  for (std::size_t at = xml.find(open); at != std::string_view::npos; at = xml.find(open, at)) {
    at += open.size();
    const std::size_t end = xml.find(close, at);
    if (end == std::string_view::npos) break;
    out.push_back(xml_decoded(xml.substr(at, end - at)));
    at = end;
  }
  return out;
}

std::string xml_text(std::string_view xml, const std::string& name) {
  const auto all = xml_texts(xml, name);
  return all.empty() ? "" : all.front();
}

}  // namespace locus
