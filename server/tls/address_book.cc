// Counting connections.
#include "server/tls/address_book.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>

namespace locus::server {
namespace {

constexpr std::size_t kPrefix = 8;  // bytes of an IPv6 address that one household has

ino_t inode_of(int fd) {
  struct stat about {};
  return ::fstat(fd, &about) == 0 && S_ISSOCK(about.st_mode) ? about.st_ino : 0;
}

}  // namespace

std::string counted_address(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    const auto& four = reinterpret_cast<const sockaddr_in&>(address).sin_addr;
    const char* bytes = reinterpret_cast<const char*>(&four);
    return bytes[0] == 127 ? std::string() : std::string(bytes, sizeof four);
  }
  const auto& six = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  const char* bytes = reinterpret_cast<const char*>(&six);
  if (IN6_IS_ADDR_LOOPBACK(&six)) return "";
  if (IN6_IS_ADDR_V4MAPPED(&six)) return bytes[12] == 127 ? std::string() : std::string(bytes + 12, 4);
  return {bytes, kPrefix};
}

void AddressBook::forget_closed(Entry& entry) {
  std::erase_if(entry.open, [](const Connection& one) { return inode_of(one.fd) != one.inode; });
}

void AddressBook::make_room(Microseconds now) {
  for (auto one = entries_.begin(); one != entries_.end();) {
    forget_closed(one->second);
    one = one->second.open.empty() && now - one->second.filled > 1'000'000 ? entries_.erase(one) : std::next(one);
  }
}

bool AddressBook::admit(const std::string& address, int fd, Microseconds now) {
  if (address.empty() && !limits_.loopback) return true;
  if (entries_.size() >= kAddresses && !entries_.contains(address)) make_room(now);
  if (entries_.size() >= kAddresses && !entries_.contains(address)) return false;
  const auto [found, fresh] = entries_.try_emplace(address);
  Entry& entry = found->second;
  const double most = limits_.new_each_second;
  entry.tokens =
      fresh ? most : std::min(most, entry.tokens + most * static_cast<double>(now - entry.filled) / 1'000'000.0);
  entry.filled = now;
  if (entry.tokens < 1) return false;
  if (entry.open.size() >= static_cast<std::size_t>(limits_.open)) forget_closed(entry);
  if (entry.open.size() >= static_cast<std::size_t>(limits_.open)) return false;
  entry.tokens -= 1;
  entry.open.push_back({fd, inode_of(fd)});
  return true;
}

}  // namespace locus::server
