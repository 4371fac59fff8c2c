// What this machine offers: slots by device, and the catalog of the trainer that would use them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/catalog/catalog.h"
#include "worker/app/slot.h"
#include "worker/app/worker.h"

namespace locus {

struct DeviceSlot {
  std::string device = "cpu", name;
  int index = 0, threads = 1;
  std::int64_t memory_bytes = 0;
  int share = 1;  // of how many slots of its GPU it is one
};

// From the answer of `locus-trainer devices`; `cores` of the CPU, and `memory` bytes that its slots have together, each
// an equal share; 0: unknown. FAILED_PRECONDITION with the remedy when there is nothing to offer.
absl::StatusOr<std::vector<DeviceSlot>> offered_slots(const Json& devices, const WorkerOptions& options, int cores,
                                                      std::int64_t memory = 0);

// The environment of a slot's trainer: thread counts of the numeric libraries, the one GPU it may see, and where it has
// that one with others the way to the MPS that is there (mps_directory()).
// `visible` is our own CUDA_VISIBLE_DEVICES (empty: not set), of which device indexes are positions.
std::vector<std::string> slot_environment(std::vector<std::string> base, const DeviceSlot& slot,
                                          const std::string& visible);

// The slot's GPU as nvidia-smi counts it: its place in `visible` where that holds numbers. -1: none, or unknown.
// Where GPUs differ, CUDA counts otherwise than nvidia-smi unless CUDA_DEVICE_ORDER=PCI_BUS_ID is set.
int gpu_index(const DeviceSlot& slot, const std::string& visible);

// A name for a worker from a host's: lower case, dashes for what a name may not hold.
std::string worker_name(const std::string& host);

absl::StatusOr<Json> ask_trainer(const std::filesystem::path& trainer, const std::string& question);

}  // namespace locus
