// The filter that keeps a child from system calls it has no use for.
#pragma once

#include <linux/filter.h>

#include <vector>

namespace locus {

enum class ChildSockets {
  kNone,     // those it is given, and pairs
  kLocal,    // and those of this machine, which drivers speak over
  kNetwork,  // and TCP, UDP and the list of interfaces: trainers that speak to one another
};

using SystemCallRule = sock_filter;

// A seccomp program: what is refused answers EPERM, so that a library can do without. Refused are other processes'
// memory and threads, mounts, namespaces, kernel modules, keys, clocks, rings that would go around this filter, and
// sockets beyond `sockets`. Empty on a processor for which there is none.
std::vector<SystemCallRule> system_call_filter(ChildSockets sockets);

}  // namespace locus
