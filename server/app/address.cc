// Where to listen.
#include "server/app/address.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <charconv>

#include "core/base/error.h"

namespace locus::server {

std::string Address::text() const {
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

absl::StatusOr<Address> parse_address(const std::string& text, const std::string& option) {
  Address out;
  const std::size_t colon = text.rfind(':');
  const std::string port = colon == std::string::npos ? "" : text.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), out.port);
  const bool number = !port.empty() && error == std::errc() && end == port.data() + port.size();
  if (!number || out.port < 0 || out.port > 65535) {
    return make_error(
        absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
        "\"" + text + "\" is not an address to listen on; give HOST:PORT with " + option + ", such as 127.0.0.1:7171",
        "", {{"option", option}, {"address", text}});
  }
  out.host = text.substr(0, colon);
  if (out.host.size() > 2 && out.host.front() == '[' && out.host.back() == ']')
    out.host = out.host.substr(1, out.host.size() - 2);
  return out;
}

bool is_loopback(const Address& address) {
  boost::system::error_code error;
  const auto ip = boost::asio::ip::make_address(address.host, error);
  return address.host == "localhost" || (!error && ip.is_loopback());
}

absl::Status require_loopback(const Address& address, const std::string& option) {
  if (is_loopback(address)) return absl::OkStatus();
  return make_error(absl::StatusCode::kFailedPrecondition, ErrorReason::kAddressRefused,
                    "\"" + address.text() +
                        "\" can be reached by others, and the server was told nothing of TLS: give --tls-name with the "
                        "name they reach it under, or give " +
                        option + " a loopback address such as 127.0.0.1 and come through an SSH tunnel",
                    "", {{"option", option}, {"address", address.text()}});
}

absl::Status require_free(const Address& address, const std::string& option) {
  using boost::asio::ip::tcp;
  boost::asio::io_context io;
  boost::system::error_code error;
  const auto ip = boost::asio::ip::make_address(address.host == "localhost" ? "127.0.0.1" : address.host, error);
  tcp::acceptor probe(io);
  const tcp::endpoint endpoint(ip, static_cast<unsigned short>(address.port));
  if (!error) probe.open(endpoint.protocol(), error);
  if (!error) probe.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) probe.bind(endpoint, error);
  if (!error) probe.listen(1, error);
  if (!error) return absl::OkStatus();
  if (error == boost::asio::error::address_in_use) {
    return make_error(absl::StatusCode::kUnavailable, ErrorReason::kPortInUse,
                      "port " + std::to_string(address.port) + " is in use on " + address.host +
                          "; stop the other program or choose another with " + option,
                      "", {{"option", option}, {"address", address.text()}, {"port", std::to_string(address.port)}});
  }
  return make_error(
      absl::StatusCode::kUnavailable, ErrorReason::kInvalidArgument,
      "cannot listen on " + address.text() + ": " + error.message() + "; choose another address with " + option, "",
      {{"option", option}, {"address", address.text()}});
}

}  // namespace locus::server
