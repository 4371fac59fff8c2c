// The rules of shared memory.
#include "tests/gpu_shim/shadow.h"

namespace locus::gpu_shim {
namespace {

std::string who(int thread) {
  return thread < 0 ? "warp " + std::to_string(-1 - thread) : "thread " + std::to_string(thread);
}
std::string place(int at) { return "byte " + std::to_string(at) + " of shared memory"; }

}  // namespace

Shadow::Shadow(int bytes, int threads)
    : memory_(static_cast<std::size_t>(bytes), 0xFF),  // no number in any type
      units_(static_cast<std::size_t>(bytes / kUnit)),
      copies_(static_cast<std::size_t>(threads), {{}}),
      warp_epochs_(static_cast<std::size_t>((threads + 31) / 32), 0) {}

void Shadow::order_block() { ++epoch_; }

std::string Shadow::outside(int at, int bytes) const {
  if (at >= 0 && at + bytes <= static_cast<int>(memory_.size())) return {};
  return "out of bounds: " + place(at) + ", which has " + std::to_string(memory_.size());
}

bool Shadow::in_order(int before, std::uint32_t epoch, std::uint32_t warp_epoch, int now) const {
  if (before == kNobody || epoch != epoch_ || before == now) return true;
  if (before == kSeveral || warp_of(before) != warp_of(now)) return false;
  return warp_epoch != warp_epochs_[static_cast<std::size_t>(warp_of(now))];
}

std::string Shadow::read(int thread, int at, int bytes) {
  if (std::string wrong = outside(at, bytes); !wrong.empty()) return wrong;
  for (int b = at; b < at + bytes; b += kUnit) {
    Unit& u = units_[static_cast<std::size_t>(b / kUnit)];
    if (u.on_its_way) return who(thread) + " reads " + place(b) + " before the copy to it has been waited for";
    if (!u.known) return who(thread) + " reads " + place(b) + ", which nobody wrote";
    if (!in_order(u.writer, u.written, u.warp_written, thread))
      return "race: " + who(thread) + " reads " + place(b) + ", which " + who(u.writer) +
             " wrote since the last barrier";
    const bool stale = u.reader == kNobody || u.read != epoch_ || u.reader == thread ||
                       (u.reader != kSeveral && warp_of(u.reader) == warp_of(thread) &&
                        u.warp_read != warp_epochs_[static_cast<std::size_t>(warp_of(thread))]);
    if (stale) {
      u.reader = thread;
    } else if (u.reader != kSeveral) {  // of one warp: all of its lanes, to be on the safe side
      u.reader = warp_of(u.reader) == warp_of(thread) ? -1 - warp_of(thread) : kSeveral;
    }
    u.read = epoch_;
    u.warp_read = warp_epochs_[static_cast<std::size_t>(warp_of(thread))];
  }
  return {};
}

std::string Shadow::write(int thread, int at, int bytes) {
  if (std::string wrong = outside(at, bytes); !wrong.empty()) return wrong;
  for (int b = at; b < at + bytes; b += kUnit) {
    Unit& u = units_[static_cast<std::size_t>(b / kUnit)];
    if (u.on_its_way) return who(thread) + " writes " + place(b) + " while a copy to it is on its way";
    if (!in_order(u.writer, u.written, u.warp_written, thread))
      return "race: " + who(thread) + " writes " + place(b) + ", which " + who(u.writer) +
             " wrote since the last barrier";
    if (!in_order(u.reader, u.read, u.warp_read, thread)) {
      return "race: " + who(thread) + " writes " + place(b) + ", which " +
             (u.reader == kSeveral ? "several threads" : who(u.reader)) + " read since the last barrier";
    }
    u.writer = thread;
    u.written = epoch_;
    u.warp_written = warp_epochs_[static_cast<std::size_t>(warp_of(thread))];
    u.known = true;
  }
  return {};
}

std::string Shadow::copy_later(int thread, int at, const void* from) {
  if (at % 16 != 0) return "a copy to " + place(at) + ", which no 16 bytes start at";
  if (from != nullptr && reinterpret_cast<std::uintptr_t>(from) % 16 != 0)
    return "a copy from global memory where no 16 bytes start";
  if (std::string wrong = write(thread, at, 16); !wrong.empty()) return wrong;
  std::memset(memory_.data() + at, 0xFF, 16);
  for (int b = at; b < at + 16; b += kUnit) units_[static_cast<std::size_t>(b / kUnit)].on_its_way = true;
  copies_[static_cast<std::size_t>(thread)].back().push_back({at, from});
  return {};
}

void Shadow::commit(int thread) { copies_[static_cast<std::size_t>(thread)].emplace_back(); }

std::string Shadow::wait(int thread, int groups_left) {
  auto& groups = copies_[static_cast<std::size_t>(thread)];
  while (static_cast<int>(groups.size()) - 1 > groups_left) {
    for (const Copy& copy : groups.front()) {
      if (copy.from != nullptr) {
        std::memcpy(memory_.data() + copy.at, copy.from, 16);
      } else {
        std::memset(memory_.data() + copy.at, 0, 16);
      }
      for (int b = copy.at; b < copy.at + 16; b += kUnit)
        units_[static_cast<std::size_t>(b / kUnit)].on_its_way = false;
      if (std::string wrong = write(thread, copy.at, 16); !wrong.empty()) return wrong;
    }
    groups.erase(groups.begin());
  }
  return {};
}

std::string Shadow::finish(int thread) {
  for (const auto& group : copies_[static_cast<std::size_t>(thread)]) {
    if (!group.empty()) return who(thread) + " ends while a copy of its own is on its way";
  }
  return {};
}

}  // namespace locus::gpu_shim
