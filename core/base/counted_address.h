// Under what name connections and calls of strangers are counted.
#pragma once

#include <string>

struct sockaddr_storage;

namespace locus {

// The bytes under which an address is counted, without its port: of IPv6 the first 64 bits, which one household has; an
// IPv4 address that IPv6 carries is that IPv4 address. Empty for loopback, which is not counted.
std::string counted_address(const sockaddr_storage& address);

// The same of an address as text, "192.0.2.1" or "2001:db8::1%eth0"; what is no address is counted as the text it is.
std::string counted_address(const std::string& text);

}  // namespace locus
