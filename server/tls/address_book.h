// Who has how many connections open, and how fast they come.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/clock.h"

namespace locus::server {

// What one address may do before anybody knows who it is.
struct ConnectionLimits {
  int new_each_second = 20, open = 64;
  bool loopback = false;                       // counts connections from this machine, too
  std::chrono::milliseconds handshake{5'000};  // how long one of TLS may take
};
// So many open ones, and new ones as fast as in the defaults for their number, or faster.
ConnectionLimits limits_of(int open);

// Thread-compatible. Nobody tells it when a connection ends: it remembers the inode of each socket, and looks whether the
// descriptor still is that socket when an address seems to have too many.
class AddressBook {
 public:
  explicit AddressBook(ConnectionLimits limits) : limits_(limits) {}
  // Whether `address`, as counted_address() has it, may have the connection `fd`, which is then counted.
  bool admit(const std::string& address, int fd, Microseconds now);

 private:
  struct Connection {
    int fd;
    ino_t inode;
  };
  struct Entry {
    std::vector<Connection> open;
    double tokens = 0;
    Microseconds filled = 0;
  };
  static void forget_closed(Entry& entry);
  void make_room(Microseconds now);

  static constexpr std::size_t kAddresses = 10'000;
  const ConnectionLimits limits_;
  std::unordered_map<std::string, Entry> entries_;
};

}  // namespace locus::server
