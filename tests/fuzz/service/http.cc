// Bytes on a connection to the HTTP side of a whole server.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>

#include "core/base/fd.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/service/live_server.h"

namespace locus::fuzz {
namespace {

constexpr std::string_view kTooLong = "GET /api/v1/events";  // a stream that ends when its reader goes

Fd connection() {
  static const std::string& kAddress = live_server().http;
  Fd out(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(static_cast<std::uint16_t>(std::stoi(kAddress.substr(kAddress.rfind(':') + 1))));
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  // Gone at once when closed: thousands of connections a second would use up the ports that wait.
  const linger at_once{1, 0};
  ::setsockopt(out.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  if (!out || ::connect(out.get(), reinterpret_cast<const sockaddr*>(&place), sizeof place) != 0)
    throw std::runtime_error("the server takes no connection");
  return out;
}

}  // namespace

void http(std::string_view bytes) {
  const Fd socket = connection();
  const bool stream = bytes.find(kTooLong) != std::string_view::npos;
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) break;  // refused in the middle
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  ::shutdown(socket.get(), SHUT_WR);
  std::string answer;
  char piece[4096];
  for (ssize_t got = 1; got > 0 && !stream;) {
    got = ::recv(socket.get(), piece, sizeof piece, 0);
    if (got > 0 && answer.size() < 16) answer.append(piece, static_cast<std::size_t>(got));
  }
  require(answer.empty() || answer.starts_with("HTTP/1.1 "), "an answer is HTTP");
}

}  // namespace locus::fuzz
