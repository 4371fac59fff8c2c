// Under what name connections and calls of strangers are counted.
#include "core/base/counted_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace locus {
namespace {

constexpr std::size_t kPrefix = 8;  // bytes of an IPv6 address that one household has

std::string counted_four(const char* bytes) { return bytes[0] == 127 ? std::string() : std::string(bytes, 4); }

std::string counted_six(const in6_addr& six) {
  const char* bytes = reinterpret_cast<const char*>(&six);
  if (IN6_IS_ADDR_LOOPBACK(&six)) return "";
  if (IN6_IS_ADDR_V4MAPPED(&six)) return counted_four(bytes + 12);
  return {bytes, kPrefix};
}

}  // namespace

std::string counted_address(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET)
    return counted_four(reinterpret_cast<const char*>(&reinterpret_cast<const sockaddr_in&>(address).sin_addr));
  return counted_six(reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
}

std::string counted_address(const std::string& text) {
  in_addr four{};
  if (::inet_pton(AF_INET, text.c_str(), &four) == 1) return counted_four(reinterpret_cast<const char*>(&four));
  in6_addr six{};
  const std::string scopeless = text.substr(0, text.find('%'));
  return ::inet_pton(AF_INET6, scopeless.c_str(), &six) == 1 ? counted_six(six) : text;
}

}  // namespace locus
