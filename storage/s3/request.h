// One request to an object store: signed, sent over HTTP, tried again where that may help.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "storage/s3/place.h"

namespace locus {

// What is sent with a request: bytes, or a part of a file.
struct S3Body {
  std::string_view bytes = {};
  int file = -1;  // read from `offset` on; -1: `bytes` are sent
  std::int64_t offset = 0, size = 0;
  std::string sha256 = {};  // of what is sent, in hexadecimal; empty: nothing is sent
};

struct S3Call {
  std::string method;                             // GET, PUT, ...
  std::string key;                                // empty: the bucket itself
  std::map<std::string, std::string> query = {};  // not encoded yet
  std::vector<std::string> headers = {};          // "If-None-Match: *"
  S3Body body = {};
  // Takes the body of an answer of 200 or 206, in pieces; without it, it is in S3Answer. Its refusal ends the request and is its status.
  std::function<absl::Status(std::string_view)> sink = {};
};

struct S3Answer {
  long status = 0;
  std::string body;
  std::string etag;
  std::int64_t length = -1;  // Content-Length; -1: unknown
};

// How long to go on. Tests wait for nothing.
struct S3Patience {
  int tries = 5;
  std::chrono::milliseconds first_wait =
      std::chrono::milliseconds(200);  // doubled each time, of which a random part is waited
  std::chrono::seconds connect = std::chrono::seconds(10);
  std::chrono::seconds silence = std::chrono::seconds(30);  // without a byte: broken off
};

// Thread-safe; connections are kept for the next request.
class S3Connection {
 public:
  S3Connection(S3Place place, S3Keys keys, S3Patience patience);
  ~S3Connection();
  S3Connection(const S3Connection&) = delete;
  S3Connection& operator=(const S3Connection&) = delete;

  // Blocks. Tries again after a broken connection and after 429 and 5xx, unless the sink has taken bytes already; returns the
  // answer of every other status. UNAVAILABLE (STORAGE_FAILED) when none comes, or still one of those. No message holds keys.
  absl::StatusOr<S3Answer> send(const S3Call& call);
  // Waits before try number `tried` + 1; false when there is none left.
  bool wait_to_retry(int tried) const;

  // The failure that an answer means, in words for people: what the store said, and what to do.
  absl::Status refused(const std::string& doing, const S3Answer& answer) const;
  const S3Place& place() const { return place_; }
  const S3Keys& keys() const { return keys_; }

 private:
  struct Handle;
  absl::StatusOr<S3Answer> send_once(const S3Call& call, bool& again);
  std::unique_ptr<Handle> take();
  void give_back(std::unique_ptr<Handle> handle);

  const S3Place place_;
  const S3Keys keys_;
  const S3Patience patience_;
  mutable std::mutex mutex_;
  mutable std::condition_variable paused_;
  std::vector<std::unique_ptr<Handle>> idle_;
};

// The text of the first element of that name; empty without one. Enough for the answers of an object store.
std::string xml_text(std::string_view xml, const std::string& name);
// Of every such element, in order.
std::vector<std::string> xml_texts(std::string_view xml, const std::string& name);

}  // namespace locus
