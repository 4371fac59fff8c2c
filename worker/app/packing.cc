// Withdrawals and shared faults.
#include "worker/app/packing.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "core/experiment/model.h"
#include "core/log/log.h"
#include "worker/app/load_memory.h"

namespace locus {
namespace {

constexpr int kMostDoublings = 8;

void take_for_no_fault(v1::CompleteAttemptRequest& outcome, const std::string& why) {
  outcome.set_failure_class(to_string(FailureClass::kPreempted));
  outcome.set_reason(why + ": " + outcome.reason());
}

std::string gib_text(std::int64_t bytes) {
  char text[32];
  const double size = static_cast<double>(bytes) / (1 << 30);
  std::snprintf(text, sizeof text, size < 100 ? "%.3g GiB" : "%.0f GiB", size);
  return text;
}

std::string count_text(int count) { return count == 1 ? "another stage" : std::to_string(count) + " other stages"; }

}  // namespace

Packing::Packing(const std::vector<int>& gpus, PackingPolicy policy) : policy_(std::move(policy)) {
  for (const int gpu : gpus) lanes_.push_back({.gpu = gpu});
}

void Packing::begun(int slot, std::int64_t bytes) {
  std::lock_guard lock(mutex_);
  Lane& lane = lanes_.at(static_cast<std::size_t>(slot));
  lane.busy = true;
  lane.bytes = bytes;
}

void Packing::ended(int slot) {
  std::lock_guard lock(mutex_);
  lanes_.at(static_cast<std::size_t>(slot)).busy = false;
  changed_.notify_all();
}

bool Packing::begin_when_there_is_room(int slot, std::int64_t bytes, const std::function<bool()>& gives_up,
                                       const std::function<void(const MemoryRoom&)>& waits) {
  std::unique_lock lock(mutex_);
  Lane& lane = lanes_.at(static_cast<std::size_t>(slot));
  lane.waiting = ++places_;
  bool given_up = gives_up();
  while (!given_up && !has_room(lane, bytes)) {
    if (waits) waits(room_for(lane, bytes));
    changed_.wait(lock);
    given_up = gives_up();
  }
  lane.waiting = 0;
  if (!given_up) {
    lane.busy = true;
    lane.bytes = bytes;
  }
  changed_.notify_all();  // who came later
  return !given_up;
}

bool Packing::room(int slot, std::int64_t bytes) const {
  std::lock_guard lock(mutex_);
  return has_room(lanes_.at(static_cast<std::size_t>(slot)), bytes);
}

void Packing::look_again() {
  std::lock_guard lock(mutex_);
  changed_.notify_all();
}

// With its process; of what is not known as much as is taken for that.
std::int64_t Packing::taken(std::int64_t bytes) const {
  return (bytes > 0 ? bytes : policy_.unknown) + policy_.context;
}

MemoryRoom Packing::room_for(const Lane& lane, std::int64_t bytes) const {
  MemoryRoom out{.asked = bytes == kWholeDevice ? bytes : taken(bytes)};
  const auto budget = policy_.memory.find(lane.gpu);
  if (budget != policy_.memory.end()) out.whole = budget->second;
  for (const Lane& other : lanes_) {
    if (&other == &lane || other.gpu != lane.gpu) continue;
    out.before += other.waiting > 0 && other.waiting < lane.waiting ? 1 : 0;
    if (!other.busy) continue;
    const std::int64_t takes = other.bytes == kWholeDevice ? out.whole : taken(other.bytes);
    out.used = out.whole > 0 ? std::min(out.whole, out.used + takes) : out.used + takes;
  }
  return out;
}

bool Packing::has_room(const Lane& lane, std::int64_t bytes) const {
  if (lane.gpu < 0) return true;
  const auto budget = policy_.memory.find(lane.gpu);
  bool whole = bytes == kWholeDevice, alone = true;
  std::int64_t sum = whole ? 0 : taken(bytes);
  for (const Lane& other : lanes_) {
    if (&other == &lane || other.gpu != lane.gpu) continue;
    if (other.waiting > 0 && other.waiting < lane.waiting) return false;
    if (!other.busy) continue;
    alone = false;
    whole = whole || other.bytes == kWholeDevice;
    if (!whole) sum += taken(other.bytes);
  }
  return alone || (!whole && (budget == policy_.memory.end() || sum <= budget->second));
}

std::string Packing::name_of(int gpu) const {
  return policy_.device.ends_with(' ') ? policy_.device + std::to_string(gpu) : policy_.device;
}

int Packing::working(int gpu, int besides) const {
  int count = 0;
  for (std::size_t i = 0; i < lanes_.size(); ++i)
    count += lanes_[i].gpu == gpu && lanes_[i].busy && static_cast<int>(i) != besides;
  return count;
}

bool Packing::judge(int slot, v1::CompleteAttemptRequest& outcome, Microseconds now) {
  std::lock_guard lock(mutex_);
  Lane& lane = lanes_.at(static_cast<std::size_t>(slot));
  if (lane.gpu < 0 || outcome.outcome() != "failed") return false;
  Gpu& gpu = gpus_[lane.gpu];
  const std::string name = name_of(lane.gpu);
  const int neighbors = working(lane.gpu, slot);
  if (outcome.failure_class() == to_string(FailureClass::kOutOfMemory)) {
    const bool same_event = gpu.memory_at > 0 && now - gpu.memory_at <= policy_.together;
    if (neighbors == 0 && !same_event) return false;  // it had the GPU to itself: too large for it
    if (!same_event) withdraw(lane, gpu, now);
    gpu.memory_at = same_event ? gpu.memory_at : now;
    take_for_no_fault(outcome, neighbors == 0 ? "memory of " + name + " was short beside a stage that ended with it"
                                              : "memory of " + name + " was short beside " + count_text(neighbors));
    return true;
  }
  if (!tells_device_fault(outcome.reason())) return false;
  const bool same_event = gpu.fault_at > 0 && now - gpu.fault_at <= policy_.together;
  if (!same_event) {
    gpu.fault_at = now;
    return false;  // the first is taken for the cause
  }
  take_for_no_fault(outcome, "a fault of another stage on " + name + " ended this one, too");
  return true;
}

void Packing::withdraw(Lane& lane, Gpu& gpu, Microseconds now) {
  const Microseconds rest =
      std::min(policy_.rest_most, policy_.rest_first << std::min(gpu.withdrawals, kMostDoublings));
  ++gpu.withdrawals;
  lane.back_at = now + rest;
  log_warning("{} had too little memory for all that ran on it: one of its slots takes no work for {} s",
              name_of(lane.gpu), rest / 1'000'000);
}

bool Packing::withdrawn(int slot) const {
  std::lock_guard lock(mutex_);
  return lanes_.at(static_cast<std::size_t>(slot)).back_at > 0;
}

std::vector<int> Packing::come_back(Microseconds now) {
  std::lock_guard lock(mutex_);
  std::vector<int> back;
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    if (lanes_[i].back_at == 0 || now < lanes_[i].back_at || lanes_[i].busy) continue;
    lanes_[i].back_at = 0;
    log_info("slot {} of {} takes work again", i, name_of(lanes_[i].gpu));
    back.push_back(static_cast<int>(i));
  }
  return back;
}

std::string room_text(const MemoryRoom& room) {
  const std::string before = room.before == 0 ? "" : "; " + std::to_string(room.before) + " came before it";
  const std::string asked = room.asked == kWholeDevice ? "the whole device" : gib_text(room.asked);
  if (room.whole == 0) return asked + " asked, and others run there" + before;
  return asked + " asked, " + gib_text(room.whole - room.used) + " of " + gib_text(room.whole) + " free, " +
         gib_text(room.used) + " used" + before;
}

bool tells_device_fault(const std::string& text) {
  constexpr std::array<std::string_view, 6> kWords = {
      "CUDA error",        "device-side assert", "illegal memory access", "unspecified launch failure",
      "uncorrectable ECC", "MPS client"};
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view words) { return text.find(words) != std::string::npos; });
}

std::string mps_directory(const std::string& directory, const std::string& standard) {
  const std::filesystem::path place = directory.empty() ? standard : directory;
  std::error_code ignored;
  if (!std::filesystem::exists(place / "control", ignored)) return "";
  // A daemon that was killed leaves its files behind.
  std::string process;
  std::ifstream(place / "nvidia-cuda-mps-control.pid") >> process;
  return process.empty() || std::filesystem::exists("/proc/" + process, ignored) ? place.string() : "";
}

}  // namespace locus
