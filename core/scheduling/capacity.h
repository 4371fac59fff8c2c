// Whether anybody connected could run what is planned: who has the items, the data and the memory.
#pragma once

#include <string>
#include <vector>

#include "core/scheduling/scheduler.h"

namespace locus {

// What is left to run of a cell.
struct CellNeed {
  std::string label;
  std::vector<RequirementsPtr> stages;  // of those that differ in more than the seed
  int devices = 1;                      // of one worker, that its training takes together
  std::int64_t memory_bytes = 0;        // that its training is to be taken to need; 0: what is estimated
};

// Sentences for people, each reason once, with the cells it concerns. Where no slot has the memory, the most that one
// of a worker that can run the cell has is named; a slot that does not say how much it has is taken to have enough.
// Pure.
std::vector<std::string> capacity_warnings(const std::vector<CellNeed>& cells, const Fleet& fleet);

// How many slots of each device kind are free, and are there at all; by kind, those with most slots first.
struct DeviceSlots {
  std::string device;
  int slots = 0, free = 0;
};
std::vector<DeviceSlots> device_slots(const Fleet& fleet);

}  // namespace locus
