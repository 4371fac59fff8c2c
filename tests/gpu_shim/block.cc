// The schedule of a block's threads.
#include "tests/gpu_shim/block.h"

#include <algorithm>
#include <numeric>

namespace locus::gpu_shim {
namespace {

thread_local Block* running_block = nullptr;

// Stacks are kept from block to block.
Fiber& fiber(int thread) {
  thread_local std::vector<std::unique_ptr<Fiber>> fibers;
  while (static_cast<int>(fibers.size()) <= thread) fibers.push_back(std::make_unique<Fiber>());
  return *fibers[static_cast<std::size_t>(thread)];
}

std::uint64_t mixed(std::uint64_t x) {  // splitmix64
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

std::string text(const std::source_location& where) {
  const std::string file = where.file_name();
  return file.substr(file.rfind('/') + 1) + ":" + std::to_string(where.line());
}

bool same(const std::source_location& a, const std::source_location& b) {
  return a.line() == b.line() && a.column() == b.column() && std::string_view(a.file_name()) == b.file_name();
}

}  // namespace

Block::Block(const Shape& shape, int x, int y, int z)
    : shape_(shape),
      x_(x),
      y_(y),
      z_(z),
      waits_(static_cast<std::size_t>(shape.threads)),
      shadow_(shape.shared_bytes, shape.threads) {
  if (shape.threads % kWarp != 0) throw std::invalid_argument("a block is of whole warps");
}

Block::~Block() { running_block = nullptr; }

Block* Block::current() { return running_block; }

std::vector<int> Block::ordered(int count, std::uint64_t salt) const {
  std::vector<int> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  if (shape_.order == Order::kDescending) std::reverse(order.begin(), order.end());
  if (shape_.order != Order::kRandom) return order;
  std::uint64_t state = mixed(shape_.seed * 1000003 + salt);
  for (int last = count - 1; last > 0; --last) {
    state = mixed(state);
    std::swap(order[static_cast<std::size_t>(last)], order[state % static_cast<std::uint64_t>(last + 1)]);
  }
  return order;
}

void Block::check_failure() const {
  if (!failure_.empty()) {
    throw KernelError("block (" + std::to_string(x_) + ", " + std::to_string(y_) + ", " + std::to_string(z_) +
                      "): " + failure_);
  }
}

void Block::fail(const std::string& what) {
  failure_ = what;
  for (;;) fiber(running_).give_way();
}

void Block::sync_block(const std::source_location& where) {
  Wait& wait = waits_[static_cast<std::size_t>(running_)];
  if (wait.barriers++ == shape_.without_barrier) return;
  wait.at = Wait::At::kBarrier;
  wait.where = where;
  fiber(running_).give_way();
}

void Block::collective(Collective operation, const Operands& operands, const std::source_location& where) {
  Wait& wait = waits_[static_cast<std::size_t>(running_)];
  wait.at = Wait::At::kCollective;
  wait.operation = operation;
  wait.operands = operands;
  wait.where = where;
  fiber(running_).give_way();
}

void Block::run_lanes(int warp) {
  for (const int lane : ordered(kWarp, static_cast<std::uint64_t>(warp) + 1)) {
    const int thread = warp * kWarp + lane;
    Wait& wait = waits_[static_cast<std::size_t>(thread)];
    if (wait.at != Wait::At::kNothing) continue;
    running_ = thread;
    fiber(thread).run();
    check_failure();
    if (!fiber(thread).done()) continue;
    wait.at = Wait::At::kDone;
    failure_ = shadow_.finish(thread);
    check_failure();
  }
}

bool Block::meet(int warp) {
  const auto first = static_cast<std::size_t>(warp * kWarp);
  const Wait& leader = waits_[first];
  for (std::size_t lane = 1; lane < kWarp; ++lane) {
    const Wait& wait = waits_[first + lane];
    const bool together = wait.at == leader.at && (wait.at == Wait::At::kDone || same(wait.where, leader.where));
    if (together) continue;
    const auto name = [](const Wait& w) {
      return w.at == Wait::At::kDone ? std::string("ended") : "waits at " + text(w.where);
    };
    throw KernelError("divergent: of warp " + std::to_string(warp) + " lane 0 " + name(leader) + ", lane " +
                      std::to_string(lane) + " " + name(wait));
  }
  if (leader.at != Wait::At::kCollective) return false;
  std::array<Operands, kWarp> lanes;
  for (std::size_t lane = 0; lane < kWarp; ++lane) lanes[lane] = waits_[first + lane].operands;
  leader.operation(*this, warp, lanes);
  check_failure();
  for (std::size_t lane = 0; lane < kWarp; ++lane) waits_[first + lane].at = Wait::At::kNothing;
  return true;
}

bool Block::advance(int warp) {
  if (waits_[static_cast<std::size_t>(warp * kWarp)].at != Wait::At::kNothing) return false;
  do {
    run_lanes(warp);
  } while (meet(warp));
  return true;
}

void Block::release_barrier() {
  const Wait& leader = waits_.front();
  for (std::size_t thread = 0; thread < waits_.size(); ++thread) {
    const Wait& wait = waits_[thread];
    if (wait.at == leader.at && same(wait.where, leader.where)) continue;
    const auto name = [](const Wait& w) {
      return w.at == Wait::At::kDone ? std::string("ended") : "waits at " + text(w.where);
    };
    throw KernelError("deadlock: threads wait at different barriers: thread 0 " + name(leader) + ", thread " +
                      std::to_string(thread) + " " + name(wait));
  }
  shadow_.order_block();
  for (Wait& wait : waits_) wait.at = Wait::At::kNothing;
}

void Block::run(const std::function<void()>& body) {
  running_block = this;
  for (int thread = 0; thread < shape_.threads; ++thread) fiber(thread).start(&body);
  const std::vector<int> warps = ordered(shape_.threads / kWarp, 0);
  for (;;) {
    for (const int warp : warps) advance(warp);
    const bool done = std::all_of(waits_.begin(), waits_.end(), [](const Wait& w) { return w.at == Wait::At::kDone; });
    if (done) break;
    release_barrier();
  }
  running_block = nullptr;
}

void launch(const Shape& shape, const std::function<void()>& body) {
  for (int z = 0; z < shape.z; ++z) {
    for (int y = 0; y < shape.y; ++y) {
      for (int x = 0; x < shape.x; ++x) Block(shape, x, y, z).run(body);
    }
  }
}

}  // namespace locus::gpu_shim
