// What the machine does, as a heartbeat carries it.
#pragma once

#include <map>
#include <optional>

#include "locus/v1/worker_service.pb.h"
#include "worker/link/lease_book.h"

namespace locus {

struct SystemSamples {
  std::optional<v1::SystemSample> machine;
  std::map<LeaseBook::Key, v1::SystemSample> attempts;
};

}  // namespace locus
