// Counting connections.
#include "server/tls/address_book.h"

#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>

namespace locus::server {
namespace {

ino_t inode_of(int fd) {
  struct stat about {};
  return ::fstat(fd, &about) == 0 && S_ISSOCK(about.st_mode) ? about.st_ino : 0;
}

}  // namespace

ConnectionLimits limits_of(int open) {
  constexpr ConnectionLimits kUsual;
  const std::int64_t rate = std::int64_t{open} * kUsual.new_each_second / kUsual.open;
  return {.new_each_second = std::max(kUsual.new_each_second, static_cast<int>(rate)), .open = open};
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
