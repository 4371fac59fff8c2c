// What a process sees of others that are gone, as one kind of error.
#pragma once

#include <algorithm>
#include <exception>
#include <string>

#include "engine/base/stage_aborted.h"
#include "engine/base/torch.h"
#include "engine/distributed/place.h"

namespace locus::engine {

// Runs what may fail by the fault of others. Throws PeerLostError for whatever it throws, but StageAborted as it is.
template <typename Call>
auto among_peers(const GangPlace& place, Call call) {
  constexpr std::size_t kMostReason = 300;
  try {
    return call();
  } catch (const StageAborted&) {  // the daemon said so while others were waited for
    throw;
  } catch (const std::exception& error) {
    const auto* torch = dynamic_cast<const c10::Error*>(&error);
    std::string why = torch != nullptr ? torch->what_without_backtrace() : error.what();
    why = why.substr(0, std::min(why.find('\n'), kMostReason));
    throw PeerLostError("rank " + std::to_string(place.rank) + " of " + std::to_string(place.world) +
                        " lost another one, or waited for longer than " +
                        std::to_string(static_cast<std::int64_t>(place.timeout_seconds)) + " s: " + why);
  }
}

}  // namespace locus::engine
