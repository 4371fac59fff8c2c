// Free lists by size before the system's memory.
#include "engine/base/memory.h"

#include <c10/core/CPUAllocator.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/util/Exception.h>
#include <malloc.h>
#include <sys/mman.h>

#include <array>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

namespace locus::engine {
namespace {

constexpr std::uint8_t kPriority = 100;              // above torch's own
constexpr std::size_t kAlignment = 64;               // of what tensors are given: a cache line, and the widest vector
constexpr std::size_t kPage = std::size_t{1} << 21;  // a huge page
constexpr std::size_t kLeastMapped = kPage;          // blocks from here on are mapped by themselves
constexpr std::size_t kColors = 16, kColorStep = 256;
constexpr std::size_t kSteps = 8;  // sizes between a power of two and the next
constexpr std::size_t kLists = 64 * kSteps;

// Before the bytes of every block.
struct alignas(kAlignment) BlockHead {
  std::size_t whole;  // bytes of the block, head included
  std::size_t list;
  void* start;  // what the system gave
};
static_assert(sizeof(BlockHead) == kAlignment);

std::size_t up_to(std::size_t bytes, std::size_t step) { return (bytes + step - 1) / step * step; }

std::size_t rounded(std::size_t bytes) { return up_to(bytes, std::max(kAlignment, std::bit_floor(bytes) / kSteps)); }

// Every size has a list of its own.
std::size_t list_of(std::size_t whole) {
  const auto power = static_cast<std::size_t>(std::bit_width(whole) - 1);
  const std::size_t part = power < 3 ? 0 : (whole >> (power - 3)) & (kSteps - 1);
  return power * kSteps + part;
}

// At a multiple of a huge page, which the kernel may then use.
void* map_pages(std::size_t bytes) {
  void* const wide = ::mmap(nullptr, bytes + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (wide == MAP_FAILED) return nullptr;
  const auto from = reinterpret_cast<std::uintptr_t>(wide), start = up_to(from, kPage);
  if (start > from) ::munmap(wide, start - from);
  ::munmap(reinterpret_cast<void*>(start + bytes), from + kPage - start);
  void* const out = reinterpret_cast<void*>(start);
  ::madvise(out, bytes, MADV_HUGEPAGE);
  return out;
}

// Lives as long as the process: tensors it gave out may outlive everything else.
class KeepingAllocator final : public c10::Allocator {
 public:
  static KeepingAllocator& instance() {
    static auto* const only = new KeepingAllocator;
    return *only;
  }

  c10::DataPtr allocate(std::size_t bytes) override {
    if (bytes == 0) return {nullptr, at::Device(c10::DeviceType::CPU)};
    void* const data = take(bytes);
    return {data, data, &KeepingAllocator::give_back, at::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &KeepingAllocator::give_back; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { default_copy_data(to, from, bytes); }

  TensorMemory counts() const {
    const std::lock_guard lock(mutex_);
    TensorMemory out = counts_;
    out.most_bytes = most_;
    return out;
  }
  void release(std::int64_t bytes) {
    const std::lock_guard lock(mutex_);
    if (counts_.unused_bytes > bytes) release_all();
    most_ = counts_.live_bytes;
  }

 private:
  static void give_back(void* data) {
    if (data != nullptr) instance().keep(static_cast<BlockHead*>(data) - 1);
  }

  void* take(std::size_t bytes) {
    std::size_t whole = rounded(bytes + kAlignment);
    // Mapped blocks would all begin at the same lines of the cache.
    if (whole >= kLeastMapped) whole = rounded(bytes + kAlignment + kColors * kColorStep);
    const std::size_t list = list_of(whole);
    const std::lock_guard lock(mutex_);
    ++counts_.requests;
    std::vector<BlockHead*>& free = lists_[list];
    BlockHead* head = nullptr;
    if (!free.empty()) {
      head = free.back();
      free.pop_back();
      counts_.unused_bytes -= static_cast<std::int64_t>(head->whole);
    } else {
      head = fetch(whole, list);
    }
    counts_.live_bytes += static_cast<std::int64_t>(head->whole);
    most_ = std::max(most_, counts_.live_bytes);
    return head + 1;
  }

  void keep(BlockHead* head) {
    const std::lock_guard lock(mutex_);
    counts_.live_bytes -= static_cast<std::int64_t>(head->whole);
    counts_.unused_bytes += static_cast<std::int64_t>(head->whole);
    lists_[head->list].push_back(head);
  }

  BlockHead* fetch(std::size_t whole, std::size_t list) {
    if (counts_.unused_bytes + static_cast<std::int64_t>(whole) > std::max(most_, kLeastKept)) release_all();
    ++counts_.fetched;
    void* start = from_system(whole);
    if (start == nullptr) {
      release_all();
      start = from_system(whole);
    }
    if (start == nullptr) {
      C10_THROW_ERROR(OutOfMemoryError, "can't allocate memory: " + std::to_string(whole) + " bytes beside " +
                                            std::to_string(counts_.live_bytes) +
                                            " that tensors hold; lower the batch, or give the worker fewer slots");
    }
    const std::size_t color = whole >= kLeastMapped ? counts_.fetched % kColors * kColorStep : 0;
    auto* const head = reinterpret_cast<BlockHead*>(static_cast<char*>(start) + color);
    *head = {whole, list, start};
    return head;
  }

  static void* from_system(std::size_t whole) {
    if (whole >= kLeastMapped) return map_pages(whole);
    void* out = nullptr;
    return ::posix_memalign(&out, kAlignment, whole) == 0 ? out : nullptr;
  }

  void release_all() {
    for (std::vector<BlockHead*>& free : lists_) {
      for (const BlockHead* head : free) {
        if (head->whole >= kLeastMapped) {
          ::munmap(head->start, head->whole);
        } else {
          std::free(head->start);
        }
      }
      free.clear();
    }
    counts_.unused_bytes = 0;
  }

  static constexpr std::int64_t kLeastKept = 64 << 20;  // so much may be kept however little was in use

  mutable std::mutex mutex_;
  std::array<std::vector<BlockHead*>, kLists> lists_;
  TensorMemory counts_;
  std::int64_t most_ = 0;  // bytes that were in use at one time
};

bool keeping = false;

}  // namespace

void keep_tensor_memory() {
  static std::once_flag once;
  std::call_once(once, [] {
    c10::SetCPUAllocator(&KeepingAllocator::instance(), kPriority);
    ::mallopt(M_MMAP_THRESHOLD, 1 << 30);
    ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
    keeping = true;
  });
}

TensorMemory tensor_memory() { return keeping ? KeepingAllocator::instance().counts() : TensorMemory{}; }

void watch_peak_memory(at::Device device) {
  if (!device.is_cpu()) c10::getDeviceAllocator(device.type())->resetPeakStats(device.index());
}

std::int64_t peak_memory(at::Device device) {
  if (device.is_cpu()) return tensor_memory().most_bytes;
  constexpr auto kWhole = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  return c10::getDeviceAllocator(device.type())->getDeviceStats(device.index()).allocated_bytes[kWhole].peak;
}

void release_device_memory(at::Device device) {
  if (!device.is_cpu()) c10::getDeviceAllocator(device.type())->emptyCache();
}

void release_tensor_memory(std::int64_t bytes) {
  if (keeping) KeepingAllocator::instance().release(bytes);
}

}  // namespace locus::engine
