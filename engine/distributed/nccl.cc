// Sums by NCCL. Of streams and events the engine asks torch's device guard, which needs no header of CUDA's.
#include "engine/distributed/nccl.h"

#include <c10/core/DeviceGuard.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>

#include <cstdlib>
#include <future>
#include <optional>
#include <thread>

#include "engine/distributed/among_peers.h"
#include "engine/distributed/store.h"

namespace locus::engine {
namespace {

using SteadyClock = std::chrono::steady_clock;

// Of nccl.h.
constexpr int kSuccess = 0, kInProgress = 7, kSum = 0;
constexpr int kUint8 = 1, kInt32 = 2, kInt64 = 4, kFloat16 = 6, kFloat32 = 7, kFloat64 = 8, kBfloat16 = 9;
constexpr int kLeastVersion = 21000;  // 2.10: it adds up bfloat16
constexpr auto kLookEvery = std::chrono::microseconds(50);

int type_of(const Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kByte:
      return kUint8;
    case at::kInt:
      return kInt32;
    case at::kLong:
      return kInt64;
    case at::kHalf:
      return kFloat16;
    case at::kFloat:
      return kFloat32;
    case at::kDouble:
      return kFloat64;
    case at::kBFloat16:
      return kBfloat16;
    default:
      throw std::invalid_argument(std::string("tensors of type ") + c10::toString(tensor.scalar_type()) +
                                  " are not added up over GPUs");
  }
}

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(1000 * seconds));
}

// A group of NCCL's, in the hands of whoever waits for it longest.
class Group {
 public:
  explicit Group(const Nccl& nccl) : nccl_(nccl) {}
  ~Group() {
    if (group_ != nullptr) nccl_.leave(group_);  // without waiting for others, who may be gone
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  void join(const GangPlace& place, const Nccl::Id& id) { check(nccl_.join(&group_, place.world, id, place.rank)); }
  void add_up(const Tensor& tensor, void* stream) const {
    check(nccl_.add_up(tensor.const_data_ptr(), tensor.mutable_data_ptr(), static_cast<std::size_t>(tensor.numel()),
                       type_of(tensor), kSum, group_, stream));
  }
  // Throws when it has failed since.
  void look() const {
    int error = kSuccess;
    check(nccl_.look(group_, &error));
    check(error);
  }

 private:
  void check(int result) const {
    if (result != kSuccess && result != kInProgress)
      throw std::runtime_error(std::string("NCCL: ") + nccl_.text(result));
  }

  const Nccl& nccl_;
  void* group_ = nullptr;
};

Nccl::Id agreed_id(const GangPlace& place, const Nccl& nccl) {
  const auto timeout = milliseconds(place.timeout_seconds);
  LocusStore store(*place.rendezvous, "nccl/", timeout);
  Nccl::Id id{};
  if (place.rank == 0) {
    if (const int result = nccl.make_id(&id); result != kSuccess)
      throw std::runtime_error(std::string("NCCL: ") + nccl.text(result));
    store.set("id", std::vector<std::uint8_t>(id.bytes.begin(), id.bytes.end()));
    return id;
  }
  const std::vector<std::uint8_t> bytes = store.get("id");
  if (bytes.size() != id.bytes.size()) throw std::runtime_error("an id of NCCL's of another length");
  std::copy(bytes.begin(), bytes.end(), id.bytes.begin());
  return id;
}

// Forming a group waits for the others inside of NCCL, without end: in a thread that is left behind when the time is over.
std::shared_ptr<Group> joined(const GangPlace& place, at::Device device, const Nccl& nccl) {
  const auto group = std::make_shared<Group>(nccl);
  std::packaged_task<void()> task([group, place, device, id = agreed_id(place, nccl)] {
    const c10::DeviceGuard here(device);  // of each thread
    group->join(place, id);
  });
  std::future<void> done = task.get_future();
  std::thread(std::move(task)).detach();
  if (done.wait_for(milliseconds(place.timeout_seconds)) != std::future_status::ready)
    throw std::runtime_error("NCCL formed no group in time");
  done.get();
  return group;
}

class NcclGang final : public Gang {
 public:
  NcclGang(const GangPlace& place, at::Device device, const Nccl& nccl, std::unique_ptr<Gang> of_hosts)
      : Gang(place.rank, place.world), place_(place), device_(device), of_hosts_(std::move(of_hosts)) {
    among_peers(place_, [&] { group_ = joined(place, device, nccl); });
    if (!device.is_cpu()) {
      guard_.emplace(device.type());
      stream_ = guard_->getStreamFromGlobalPool(device, /*isHighPriority=*/true);
    }
  }

  void wait_at_most(std::chrono::milliseconds time) override {
    place_.timeout_seconds = std::chrono::duration<double>(time).count();
    if (of_hosts_) of_hosts_->wait_at_most(time);
  }

  std::unique_ptr<Pending> begin_sum(const Tensor& tensor) override {
    if (tensor.device() != device_) return of_hosts_->begin_sum(tensor);
    type_of(tensor);  // a type that cannot be added up is nobody's absence
    return among_peers(place_, [&] {
      void* native = nullptr;
      if (stream_) {  // behind what makes the tensor
        c10::Event made(device_.type());
        made.record(guard_->getStream(device_));
        made.block(*stream_);
        native = guard_->getStreamNativeHandle(*stream_);
      }
      group_->add_up(tensor, native);
      return std::make_unique<Exchange>(*this, tensor);
    });
  }

 private:
  class Exchange final : public Pending {
   public:
    Exchange(const NcclGang& gang, Tensor tensor) : gang_(gang), tensor_(std::move(tensor)) {
      if (!gang.stream_) return;
      done_.emplace(gang.device_.type());
      done_->record(*gang.stream_);
    }
    // By looking, since a group that has lost a process may never reach the event. The sum is there then for every stream.
    void wait() override {
      among_peers(gang_.place_, [&] {
        const auto end = SteadyClock::now() + milliseconds(gang_.place_.timeout_seconds);
        gang_.group_->look();
        while (done_ && !done_->query()) {
          if (SteadyClock::now() > end) throw std::runtime_error("NCCL has not added up in time");
          std::this_thread::sleep_for(kLookEvery);
          gang_.group_->look();
        }
      });
    }

   private:
    const NcclGang& gang_;
    Tensor tensor_;  // kept: the stream uses it
    std::optional<c10::Event> done_;
  };

  GangPlace place_;
  const at::Device device_;
  std::unique_ptr<Gang> of_hosts_;
  std::shared_ptr<Group> group_;
  std::optional<c10::impl::VirtualGuardImpl> guard_;  // nothing: the device has no streams
  std::optional<c10::Stream> stream_;
};

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

}  // namespace

Nccl load_nccl(const std::string& library) {
  Nccl out;
  void* const handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = ::dlerror();
    out.missing = reason != nullptr ? reason : library + " cannot be loaded";
    return out;
  }
  const bool whole = find(handle, "ncclGetVersion", out.version) && find(handle, "ncclGetUniqueId", out.make_id) &&
                     find(handle, "ncclCommInitRank", out.join) && find(handle, "ncclAllReduce", out.add_up) &&
                     find(handle, "ncclCommGetAsyncError", out.look) && find(handle, "ncclCommAbort", out.leave) &&
                     find(handle, "ncclGetErrorString", out.text);
  if (!whole) {
    out.missing = library + " lacks a call of NCCL's";
    return out;
  }
  int version = 0;
  if (out.version(&version) != kSuccess || version < kLeastVersion)
    out.missing = library + " is of version " + std::to_string(version) + ", older than 2.10";
  return out;
}

const Nccl& nccl() {
  static const Nccl instance = [] {
    const char* given = std::getenv("LOCUS_NCCL");
    return load_nccl(given != nullptr ? given : "libnccl.so.2");
  }();
  return instance;
}

std::unique_ptr<Gang> join_nccl(const GangPlace& place, at::Device device, const Nccl& nccl,
                                std::unique_ptr<Gang> of_hosts) {
  return std::make_unique<NcclGang>(place, device, nccl, std::move(of_hosts));
}

}  // namespace locus::engine
