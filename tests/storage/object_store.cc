// Sockets and threads of the object store for tests, and its answers.
#include "tests/storage/object_store.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <sstream>

#include "core/base/sha256.h"

namespace locus::testing {
namespace {

std::string decoded(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
    } else {
      out += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
      i += 2;
    }
  }
  return out;
}

std::string small_letters(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

StoreReply error_reply(int status, const std::string& code) {
  return {status, "<?xml version=\"1.0\"?><Error><Code>" + code + "</Code></Error>"};
}

// False when the connection ended before a whole request.
bool read_request(int connection, StoreRequest& request) {
  std::string text;
  std::size_t end = std::string::npos;
  char buffer[65536];
  while ((end = text.find("\r\n\r\n")) == std::string::npos) {
    const ssize_t got = recv(connection, buffer, sizeof buffer, 0);
    if (got <= 0) return false;
    text.append(buffer, static_cast<std::size_t>(got));
  }
  std::istringstream head(text.substr(0, end));
  std::string target, line;
  head >> request.method >> target;
  std::getline(head, line);
  while (std::getline(head, line)) {
    const auto colon = line.find(':');
    if (line.ends_with('\r')) line.pop_back();
    if (colon != std::string::npos) request.headers[small_letters(line.substr(0, colon))] = line.substr(colon + 2);
  }
  request.path = decoded(target.substr(0, target.find('?')));
  if (const auto mark = target.find('?'); mark != std::string::npos) {
    std::istringstream pairs(target.substr(mark + 1));
    for (std::string pair; std::getline(pairs, pair, '&');) {
      const auto equals = pair.find('=');
      request.query[decoded(pair.substr(0, equals))] =
          equals == std::string::npos ? "" : decoded(pair.substr(equals + 1));
    }
  }
  request.body = text.substr(end + 4);
  const std::string length = request.headers["content-length"];
  const std::size_t wanted = length.empty() ? 0 : std::stoul(length);
  while (request.body.size() < wanted) {
    const ssize_t got = recv(connection, buffer, sizeof buffer, 0);
    if (got <= 0) return false;
    request.body.append(buffer, static_cast<std::size_t>(got));
  }
  return true;
}

void write_reply(int connection, const StoreRequest& request, const StoreReply& reply) {
  std::string text = "HTTP/1.1 " + std::to_string(reply.status) + " -\r\nConnection: close\r\n";
  if (!reply.headers.contains("Content-Length"))
    text += "Content-Length: " + std::to_string(reply.body.size()) + "\r\n";
  for (const auto& [name, value] : reply.headers) text += name + ": " + value + "\r\n";
  text += "\r\n";
  if (request.method != "HEAD") text += reply.cut_after < 0 ? reply.body : reply.body.substr(0, reply.cut_after);
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t sent = send(connection, text.data() + at, text.size() - at, MSG_NOSIGNAL);
    if (sent <= 0) return;
    at += static_cast<std::size_t>(sent);
  }
}

}  // namespace

ObjectStore::ObjectStore() {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(listener_, 64) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    std::abort();
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

ObjectStore::~ObjectStore() {
  ended_ = true;
  shutdown(listener_, SHUT_RDWR);
  thread_.join();
  close(listener_);
}

std::string ObjectStore::endpoint() const { return "http://127.0.0.1:" + std::to_string(port_); }

void ObjectStore::interrupt(std::function<bool(const StoreRequest&, StoreReply&)> with) {
  std::lock_guard lock(mutex_);
  interrupt_ = std::move(with);
}

void ObjectStore::serve() {
  while (!ended_) {
    const int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) continue;
    serve_one(connection);
    close(connection);
  }
}

void ObjectStore::serve_one(int connection) {
  StoreRequest request;
  if (!read_request(connection, request)) return;
  std::function<bool(const StoreRequest&, StoreReply&)> interrupt;
  {
    std::lock_guard lock(mutex_);
    interrupt = interrupt_;
    calls_.push_back(request.method + " " +
                     request.path.substr(std::min(request.path.size(), request.path.find('/', 1) + 1)));
  }
  StoreReply reply;
  if (!interrupt || !interrupt(request, reply)) reply = answer(request);
  write_reply(connection, request, reply);
}

StoreReply ObjectStore::answer(const StoreRequest& request) {
  std::lock_guard lock(mutex_);
  const std::string bucket = request.path.substr(1, request.path.find('/', 1) - 1);
  const auto authorization = request.headers.find("authorization");
  const bool by_url = request.query.contains("X-Amz-Signature");
  if (!by_url &&
      (authorization == request.headers.end() || authorization->second.find("Credential=ada/") == std::string::npos))
    return error_reply(403, "InvalidAccessKeyId");
  if (bucket != "blobs") return error_reply(404, "NoSuchBucket");
  if (!request.body.empty() && request.headers.at("x-amz-content-sha256") != sha256_hex(request.body))
    return error_reply(400, "XAmzContentSHA256Mismatch");
  const std::string key = request.path.size() > 7 ? request.path.substr(7) : "";
  if (key.empty()) return list(request);
  if (request.query.contains("uploads") || request.query.contains("uploadId")) return in_parts(key, request);
  const auto found = objects_.find(key);
  if (request.method == "PUT") {
    if (found != objects_.end() && request.headers.contains("if-none-match"))
      return error_reply(412, "PreconditionFailed");
    objects_[key] = request.body;
    return {200, "", {{"ETag", "\"" + sha256_hex(request.body).substr(0, 32) + "\""}}};
  }
  if (request.method == "DELETE") {
    objects_.erase(key);
    return {204};
  }
  if (found == objects_.end()) return error_reply(404, "NoSuchKey");
  const auto range = request.headers.find("range");
  if (range == request.headers.end()) return {200, found->second};
  return {206, found->second.substr(std::stoul(range->second.substr(6)))};
}

StoreReply ObjectStore::list(const StoreRequest& request) const {
  const auto value = [&](const std::string& name) {
    const auto found = request.query.find(name);
    return found == request.query.end() ? std::string() : found->second;
  };
  const std::size_t most = std::stoul(value("max-keys"));
  std::string out = "<?xml version=\"1.0\"?><ListBucketResult>";
  std::size_t count = 0;
  bool more = false;
  for (auto at = objects_.upper_bound(value("start-after")); at != objects_.end(); ++at) {
    if (!at->first.starts_with(value("prefix"))) continue;
    if (count == most) {
      more = true;
      break;
    }
    out += "<Contents><Key>" + at->first + "</Key></Contents>";
    ++count;
  }
  return {200, out + "<IsTruncated>" + (more ? "true" : "false") + "</IsTruncated></ListBucketResult>"};
}

StoreReply ObjectStore::in_parts(const std::string& key, const StoreRequest& request) {
  if (request.method == "POST" && request.query.contains("uploads")) {
    const std::string id = "upload " + std::to_string(next_upload_++) + " &?";  // must be quoted in a URL
    uploads_[id];
    return {200, "<R><UploadId>upload " + std::to_string(next_upload_ - 1) + " &amp;?</UploadId></R>"};
  }
  const auto upload = uploads_.find(request.query.at("uploadId"));
  if (upload == uploads_.end()) return error_reply(404, "NoSuchUpload");
  if (request.method == "PUT") {
    upload->second[std::stoi(request.query.at("partNumber"))] = request.body;
    return {200, "", {{"ETag", "\"" + sha256_hex(request.body).substr(0, 32) + "\""}}};
  }
  if (request.method == "POST") {
    std::string whole;
    for (const auto& [number, bytes] : upload->second) {
      if (request.body.find("<ETag>\"" + sha256_hex(bytes).substr(0, 32) + "\"</ETag>") == std::string::npos)
        return error_reply(400, "InvalidPart");
      whole += bytes;
    }
    objects_[key] = whole;
  }
  uploads_.erase(upload);
  return {request.method == "POST" ? 200 : 204};
}

std::map<std::string, std::string> ObjectStore::objects() const {
  std::lock_guard lock(mutex_);
  return objects_;
}
void ObjectStore::put(const std::string& key, std::string bytes) {
  std::lock_guard lock(mutex_);
  objects_[key] = std::move(bytes);
}
std::vector<std::string> ObjectStore::calls() const {
  std::lock_guard lock(mutex_);
  return calls_;
}
std::size_t ObjectStore::unfinished_uploads() const {
  std::lock_guard lock(mutex_);
  return uploads_.size();
}

}  // namespace locus::testing
