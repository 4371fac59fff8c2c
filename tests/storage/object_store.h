// An object store in this process, for tests: as much of S3 over HTTP/1.1 as a client of blobs meets, and the ways it may fail.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace locus::testing {

struct StoreRequest {
  std::string method, path, body;
  std::map<std::string, std::string> query, headers;  // decoded; names in small letters
};

struct StoreReply {
  int status = 200;
  std::string body = {};
  std::map<std::string, std::string> headers = {};
  std::int64_t cut_after = -1;  // bytes of the body after which the connection is broken off; -1: never
};

// Listens on a free port of loopback until its end; one request a connection. Thread-safe.
class ObjectStore {
 public:
  ObjectStore();
  ~ObjectStore();
  ObjectStore(const ObjectStore&) = delete;
  ObjectStore& operator=(const ObjectStore&) = delete;

  std::string endpoint() const;
  // Asked before each request: an answer is given instead of the store's own. Called by the thread that serves.
  void interrupt(std::function<bool(const StoreRequest&, StoreReply&)> with);
  // What the store would answer. The bucket is "blobs", the keys' owner "ada" with the secret "lovelace".
  StoreReply answer(const StoreRequest& request);

  std::map<std::string, std::string> objects() const;
  void put(const std::string& key, std::string bytes);
  std::vector<std::string> calls() const;  // "PUT sha256/ab/..", in their order
  std::size_t unfinished_uploads() const;

 private:
  void serve();
  void serve_one(int connection);
  StoreReply list(const StoreRequest& request) const;
  StoreReply in_parts(const std::string& key, const StoreRequest& request);
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> ended_ = false;
  mutable std::mutex mutex_;
  std::function<bool(const StoreRequest&, StoreReply&)> interrupt_;
  std::map<std::string, std::string> objects_;
  std::map<std::string, std::map<int, std::string>> uploads_;  // by id and part
  std::vector<std::string> calls_;
  int next_upload_ = 1;
  std::thread thread_;
};

}  // namespace locus::testing
