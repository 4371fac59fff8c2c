// The counter before the CPU's allocator, and CUDA's statistics.
#include "engine/measure/peak_memory.h"

#include <c10/core/CPUAllocator.h>
#include <c10/core/CachingDeviceAllocator.h>

#include <mutex>
#include <unordered_map>

namespace locus::engine {
namespace {

constexpr std::uint8_t kPriority = 100;

// Lives as long as the process: tensors it gave out may outlive every watch. Thread-safe.
class CountingAllocator final : public c10::Allocator {
 public:
  static CountingAllocator& instance() {
    static auto* const only = new CountingAllocator;
    return *only;
  }

  c10::DataPtr allocate(std::size_t bytes) override {
    c10::DataPtr given = base().allocate(bytes);
    void* const data = given.release_context();
    if (data != nullptr) count(data, static_cast<std::int64_t>(bytes));
    return {data, data, &CountingAllocator::free, at::Device(at::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &CountingAllocator::free; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { default_copy_data(to, from, bytes); }

  void reset() {
    const std::lock_guard lock(mutex_);
    peak_ = occupied_;
  }
  std::int64_t occupied() const {
    const std::lock_guard lock(mutex_);
    return occupied_;
  }
  std::int64_t peak() const {
    const std::lock_guard lock(mutex_);
    return peak_;
  }

 private:
  static c10::Allocator& base() { return *c10::GetDefaultCPUAllocator(); }

  static void free(void* data) {
    if (data == nullptr) return;
    instance().forget(data);
    base().raw_deleter()(data);
  }

  void count(void* data, std::int64_t bytes) {
    const std::lock_guard lock(mutex_);
    sizes_[data] = bytes;
    occupied_ += bytes;
    peak_ = std::max(peak_, occupied_);
  }
  void forget(void* data) {
    const std::lock_guard lock(mutex_);
    const auto found = sizes_.find(data);
    if (found == sizes_.end()) return;
    occupied_ -= found->second;
    sizes_.erase(found);
  }

  mutable std::mutex mutex_;
  std::unordered_map<void*, std::int64_t> sizes_;
  std::int64_t occupied_ = 0, peak_ = 0;
};

c10::CachingDeviceAllocator::DeviceStats stats(at::Device device) {
  return c10::getDeviceAllocator(device.type())->getDeviceStats(device.index());
}

constexpr auto kWhole = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);

bool watching = false;

}  // namespace

MemoryWatch::MemoryWatch(at::Device device) : device_(device) {
  if (std::exchange(watching, true)) throw std::logic_error("memory is being watched already");
  if (device.is_cpu()) {
    allocator_ = c10::GetCPUAllocator();
    c10::SetCPUAllocator(&CountingAllocator::instance(), kPriority);
    before_ = CountingAllocator::instance().occupied();
  } else {
    before_ = stats(device).allocated_bytes[kWhole].current;
  }
  reset();
}

MemoryWatch::~MemoryWatch() {
  if (device_.is_cpu()) c10::SetCPUAllocator(allocator_, kPriority);
  watching = false;
}

std::int64_t MemoryWatch::peak() const {
  const std::int64_t most =
      device_.is_cpu() ? CountingAllocator::instance().peak() : stats(device_).allocated_bytes[kWhole].peak;
  return most - before_;
}

void MemoryWatch::reset() {
  if (device_.is_cpu()) return CountingAllocator::instance().reset();
  c10::getDeviceAllocator(device_.type())->resetPeakStats(device_.index());
}

std::string_view MemoryWatch::source(at::Device device) {
  return device.is_cpu() ? "torch CPU allocator, tensors alive" : "torch CUDA allocator, tensors alive";
}

}  // namespace locus::engine
