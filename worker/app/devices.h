// What this machine offers: slots by device, and the catalog of the trainer that would use them.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/catalog/catalog.h"
#include "locus/v1/worker_service.pb.h"
#include "worker/app/packing.h"
#include "worker/app/slot.h"
#include "worker/app/worker.h"

namespace locus {

struct DeviceSlot {
  std::string device = "cpu", name;
  int index = 0, threads = 1;
  std::int64_t memory_bytes = 0;
  int share = 1;                  // of how many slots of its GPU it is one
  std::int64_t device_bytes = 0;  // of all of its GPU; 0: not known
  bool crowded = false;           // all slots together have more threads than the machine has cores
};

// From the answer of `locus-trainer devices`; `cores` of the CPU, and `memory` bytes that its slots have together, each
// an equal share; 0: unknown. FAILED_PRECONDITION with the remedy when there is nothing to offer.
absl::StatusOr<std::vector<DeviceSlot>> offered_slots(const Json& devices, const WorkerOptions& options, int cores,
                                                      std::int64_t memory = 0);

// What the worker says of its machine (core/experiment/labels.h): "node/cores", "node/device", "node/gpu-name".
std::map<std::string, std::string> labels_of_node(const std::vector<DeviceSlot>& slots);

// Which kinds of its slots' devices a stage can be given several of, from the answer of `locus-trainer devices`.
v1::Together together_on(const Json& devices, const std::vector<DeviceSlot>& slots);

// The number of the device that a slot shares with others as far as packing goes; -1: none.
int shared_device(const DeviceSlot& slot, const WorkerOptions& options);
// What the stages on each of these devices may take together.
PackingPolicy packing_policy(const std::vector<DeviceSlot>& slots, const WorkerOptions& options);

// The environment of a slot's trainer: thread counts of the numeric libraries; where slots are crowded, threads that wait
// for others sleep instead of spinning, unless `base` says OMP_WAIT_POLICY itself; the one GPU it may see, and where it has
// that one with others the way to the MPS that is there (mps_directory()).
// `visible` is our own CUDA_VISIBLE_DEVICES (empty: not set), of which device indexes are positions.
std::vector<std::string> slot_environment(std::vector<std::string> base, const DeviceSlot& slot,
                                          const std::string& visible);

// What people should know who have several slots on a GPU: that no MPS answers, so that stages take turns. Empty: nothing.
std::string packing_warning(const std::vector<DeviceSlot>& slots);

// The slot's GPU as nvidia-smi counts it: its place in `visible` where that holds numbers. -1: none, or unknown.
// Where GPUs differ, CUDA counts otherwise than nvidia-smi unless CUDA_DEVICE_ORDER=PCI_BUS_ID is set.
int gpu_index(const DeviceSlot& slot, const std::string& visible);

// A name for a worker from a host's: lower case, dashes for what a name may not hold.
std::string worker_name(const std::string& host);

}  // namespace locus
