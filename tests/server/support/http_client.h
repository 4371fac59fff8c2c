// A plain HTTP client for tests: says exactly what it is told to, and reads what comes back.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <map>
#include <string>

#include "core/base/json.h"

namespace locus::test {

struct HttpAnswer {
  int status = 0;
  std::map<std::string, std::string> headers;  // by lower-case name
  std::string body;
  Json json() const { return Json::parse(body); }
};

// Thread-compatible. Every call opens a connection of its own; none waits longer than ten seconds.
class HttpClient {
 public:
  explicit HttpClient(std::string address) : address_(std::move(address)) {}

  HttpAnswer get(const std::string& target, const std::map<std::string, std::string>& headers = {}) const;
  HttpAnswer post(const std::string& target, const std::string& body,
                  std::map<std::string, std::string> headers = {}) const;
  HttpAnswer send(const std::string& method, const std::string& target, const std::string& body,
                  std::map<std::string, std::string> headers) const;
  // Sends these bytes and reads until the server closes; the answer's status is 0 when nothing came.
  HttpAnswer raw(const std::string& bytes) const;
  const std::string& address() const { return address_; }

 private:
  const std::string address_;
};

// Reads server-sent events until told to stop.
class EventReader {
 public:
  EventReader(const std::string& address, const std::string& target,
              const std::map<std::string, std::string>& headers = {});
  struct Event {
    std::string id, name, data;
  };
  Event next();  // the next event; comments are skipped. Throws when none comes within ten seconds
  const std::string& head() const { return head_; }

 private:
  std::string read_until(const std::string& mark);
  boost::asio::io_context io_;
  boost::asio::ip::tcp::socket socket_{io_};
  std::string buffer_, head_;
};

}  // namespace locus::test
