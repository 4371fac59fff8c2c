// A libnccl.so.2 that adds up in the memory of the host, among the threads of one process: each call returns when the sum is
// there. What is asked of it can be read back, and it can be told to fail.
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/distributed/nccl_calls.h"

namespace {

constexpr int kSuccess = 0, kSystemError = 2, kInvalidArgument = 4;

using Id = locus::engine::Nccl::Id;

// Processes of one id.
struct Group {
  int world = 0, joined = 0;
  int came = 0;  // to the sum that is under way
  std::int64_t sums = 0;
  std::vector<char> sum, done;  // that one, and the one before: nobody comes again before all have read it
};
struct Member {
  std::shared_ptr<Group> group;
  int rank = 0;
};

std::mutex mutex;
std::condition_variable changed;
std::map<std::string, std::shared_ptr<Group>> groups;
std::string log;
std::map<std::string, int> failing;  // by call
int ids = 0, left = 0, lives = 0;

template <typename Number>
void add(std::vector<char>& sum, const void* from, std::size_t count) {
  const std::size_t bytes = count * sizeof(Number);
  if (sum.empty()) {
    sum.assign(static_cast<const char*>(from), static_cast<const char*>(from) + bytes);
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    Number a, b;
    std::memcpy(&a, sum.data() + i * sizeof(Number), sizeof(Number));
    std::memcpy(&b, static_cast<const char*>(from) + i * sizeof(Number), sizeof(Number));
    a = static_cast<Number>(a + b);
    std::memcpy(sum.data() + i * sizeof(Number), &a, sizeof(Number));
  }
}

// The upper half of a float32, cut off: enough for small whole numbers.
struct Bfloat16 {
  std::uint16_t bits;
  operator float() const {
    const std::uint32_t wide = std::uint32_t{bits} << 16;
    float out;
    std::memcpy(&out, &wide, sizeof out);
    return out;
  }
  explicit Bfloat16(float value = 0) {
    std::uint32_t wide;
    std::memcpy(&wide, &value, sizeof wide);
    bits = static_cast<std::uint16_t>(wide >> 16);
  }
};

std::size_t size_of(int type) {
  switch (type) {
    case 4:
    case 8:
      return 8;
    case 7:
      return 4;
    case 9:
      return 2;
  }
  return 0;
}

void add(std::vector<char>& sum, const void* from, std::size_t count, int type) {
  if (type == 4) add<std::int64_t>(sum, from, count);
  if (type == 7) add<float>(sum, from, count);
  if (type == 8) add<double>(sum, from, count);
  if (type == 9) add<Bfloat16>(sum, from, count);
}

int told_to(const std::string& call) {
  const auto found = failing.find(call);
  return found == failing.end() ? kSuccess : found->second;
}

}  // namespace

extern "C" {

// ---- for tests ----
void fake_nccl_reset() {
  const std::lock_guard lock(mutex);
  groups.clear(), failing.clear(), log.clear(), ids = left = 0;
  ++lives;
  changed.notify_all();
}
void fake_nccl_fail(const char* call, int result) {
  const std::lock_guard lock(mutex);
  failing[call] = result;
}
const char* fake_nccl_log() {
  const std::lock_guard lock(mutex);
  return log.c_str();
}
int fake_nccl_left() {
  const std::lock_guard lock(mutex);
  return left;
}

// ---- NCCL's ----
int ncclGetVersion(int* version) {
  *version = 22809;
  return kSuccess;
}

int ncclGetUniqueId(Id* id) {
  const std::lock_guard lock(mutex);
  id->bytes.fill(static_cast<char>(0x80 + ++ids));
  return told_to("ncclGetUniqueId");
}

int ncclCommInitRank(void** comm, int world, Id id, int rank) {
  std::unique_lock lock(mutex);
  if (const int result = told_to("ncclCommInitRank"); result != kSuccess) return result;
  auto& group = groups[std::string(id.bytes.data(), id.bytes.size())];
  if (!group) group = std::make_shared<Group>();
  group->world = world;
  ++group->joined;
  changed.notify_all();
  const auto own = group;
  changed.wait(lock, [&, life = lives] { return own->joined == own->world || lives > life; });
  if (own->joined < own->world) return kSystemError;
  *comm = new Member{own, rank};
  return kSuccess;
}

int ncclAllReduce(const void* from, void* to, std::size_t count, int type, int operation, void* comm, void* stream) {
  std::unique_lock lock(mutex);
  const auto* member = static_cast<const Member*>(comm);
  if (member->rank == 0) {
    log += std::to_string(count) + " of type " + std::to_string(type) + (operation == 0 ? " added up" : " otherwise") +
           (from == to ? "" : ", elsewhere") + (stream == nullptr ? "" : ", on a stream") + "; ";
  }
  if (const int result = told_to("ncclAllReduce"); result != kSuccess) return result;
  if (size_of(type) == 0) return kInvalidArgument;
  Group& group = *member->group;
  const std::int64_t before = group.sums;
  if (group.came == 0) group.sum.clear();
  add(group.sum, from, count, type);
  if (++group.came == group.world) {
    group.came = 0;
    group.done.swap(group.sum);
    ++group.sums;
    changed.notify_all();
  } else {
    changed.wait(lock, [&] { return group.sums > before; });
  }
  std::memcpy(to, group.done.data(), count * size_of(type));
  return kSuccess;
}

int ncclCommGetAsyncError(void*, int* error) {
  const std::lock_guard lock(mutex);
  *error = told_to("ncclCommGetAsyncError");
  return kSuccess;
}

int ncclCommAbort(void* comm) {
  const std::lock_guard lock(mutex);
  delete static_cast<Member*>(comm);
  ++left;
  return kSuccess;
}

const char* ncclGetErrorString(int error) { return error == kSystemError ? "unhandled system error" : "another error"; }

}  // extern "C"
