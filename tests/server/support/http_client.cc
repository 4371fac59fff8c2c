// A plain HTTP client for tests.
#include "tests/server/support/http_client.h"

#include <sys/socket.h>
#include <sys/time.h>

#include <boost/asio/write.hpp>
#include <cctype>
#include <stdexcept>

namespace locus::test {
namespace {

using boost::asio::ip::tcp;

tcp::endpoint endpoint_of(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  return {boost::asio::ip::make_address(address.substr(0, colon)),
          static_cast<unsigned short>(std::stoi(address.substr(colon + 1)))};
}

void connect(tcp::socket& socket, const std::string& address) {
  socket.connect(endpoint_of(address));
  const timeval wait{.tv_sec = 10, .tv_usec = 0};
  setsockopt(socket.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
}

// Blocking read on the descriptor itself, so that the receive time-out holds. Empty at the end.
std::string receive(tcp::socket& socket) {
  char bytes[16384];
  const ssize_t got = ::recv(socket.native_handle(), bytes, sizeof bytes, 0);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
    throw std::runtime_error("the server said nothing for ten seconds");
  return got <= 0 ? std::string() : std::string(bytes, static_cast<std::size_t>(got));
}

HttpAnswer parse(const std::string& text) {
  HttpAnswer out;
  const std::size_t end = text.find("\r\n\r\n");
  if (end == std::string::npos) return out;
  out.status = std::stoi(text.substr(text.find(' ') + 1));
  out.body = text.substr(end + 4);
  for (std::size_t at = text.find("\r\n") + 2; at < end;) {
    const std::size_t line_end = text.find("\r\n", at), colon = text.find(':', at);
    std::string name = text.substr(at, colon - at);
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    out.headers[name] = text.substr(colon + 2, line_end - colon - 2);
    at = line_end + 2;
  }
  return out;
}

}  // namespace

HttpAnswer HttpClient::raw(const std::string& bytes) const {
  boost::asio::io_context io;
  tcp::socket socket(io);
  connect(socket, address_);
  boost::system::error_code ignored;  // the server may close before it has read everything
  boost::asio::write(socket, boost::asio::buffer(bytes), ignored);
  std::string text;
  for (std::string part = receive(socket); !part.empty(); part = receive(socket)) text += part;
  return parse(text);
}

HttpAnswer HttpClient::send(const std::string& method, const std::string& target, const std::string& body,
                            std::map<std::string, std::string> headers) const {
  headers.try_emplace("Host", address_);
  headers.try_emplace("Connection", "close");
  if (!body.empty() || method == "POST") headers.try_emplace("Content-Length", std::to_string(body.size()));
  std::string text = method + " " + target + " HTTP/1.1\r\n";
  for (const auto& [name, value] : headers) text += name + ": " + value + "\r\n";
  return raw(text + "\r\n" + body);
}

HttpAnswer HttpClient::get(const std::string& target, const std::map<std::string, std::string>& headers) const {
  return send("GET", target, "", headers);
}

HttpAnswer HttpClient::post(const std::string& target, const std::string& body,
                            std::map<std::string, std::string> headers) const {
  headers.try_emplace("Content-Type", "application/json");
  return send("POST", target, body, std::move(headers));
}

EventReader::EventReader(const std::string& address, const std::string& target,
                         const std::map<std::string, std::string>& headers) {
  connect(socket_, address);
  std::string text = "GET " + target + " HTTP/1.1\r\nHost: " + address + "\r\n";
  for (const auto& [name, value] : headers) text += name + ": " + value + "\r\n";
  boost::asio::write(socket_, boost::asio::buffer(text + "\r\n"));
  head_ = read_until("\r\n\r\n");
}

std::string EventReader::read_until(const std::string& mark) {
  std::size_t end = 0;
  while ((end = buffer_.find(mark)) == std::string::npos) {
    const std::string part = receive(socket_);
    if (part.empty()) throw std::runtime_error("the stream ended");
    buffer_ += part;
  }
  const std::string out = buffer_.substr(0, end);
  buffer_.erase(0, end + mark.size());
  return out;
}

EventReader::Event EventReader::next() {
  while (true) {
    const std::string block = read_until("\n\n");
    Event out;
    for (std::size_t at = 0; at < block.size();) {
      const std::size_t end = std::min(block.find('\n', at), block.size());
      const std::string line = block.substr(at, end - at);
      if (line.rfind("id: ", 0) == 0) out.id = line.substr(4);
      if (line.rfind("event: ", 0) == 0) out.name = line.substr(7);
      if (line.rfind("data: ", 0) == 0) out.data = line.substr(6);
      at = end + 1;
    }
    if (!out.name.empty()) return out;
  }
}

}  // namespace locus::test
