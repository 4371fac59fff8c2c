// What exchanges between processes are made of, and which backend serves which devices.
#include "engine/distributed/gang.h"

#include "engine/distributed/gloo.h"
#include "engine/distributed/nccl.h"

namespace locus::engine {

std::int64_t Gang::of_leader(std::int64_t value) {
  const Tensor shared = at::full({1}, leads() ? value : 0, at::kLong);
  sum(shared);
  return shared.item<std::int64_t>();
}

std::string no_gang_on(const std::string& device) {
  if (device == "cpu") return "";
  if (device != "cuda") return "cannot train on several devices of kind " + device + " together";
  return nccl().missing.empty() ? "" : "cannot train on several GPUs together: no NCCL here: " + nccl().missing;
}

std::unique_ptr<Gang> join_gang(const GangPlace& place, at::Device device) {
  if (place.world < 2 || place.rank < 0 || place.rank >= place.world) {
    throw std::invalid_argument("rank " + std::to_string(place.rank) + " of " + std::to_string(place.world) +
                                " processes is no place in a group of several");
  }
  if (place.rendezvous == nullptr) throw std::invalid_argument("processes that cannot find one another form no group");
  if (device.is_cpu()) return join_gloo(place);
  if (const std::string why = no_gang_on(device.is_cuda() ? "cuda" : device.str()); !why.empty())
    throw std::invalid_argument("this machine " + why + "; set placement.devices to 1");
  return join_nccl(place, device, nccl(), join_gloo(place));
}

}  // namespace locus::engine
