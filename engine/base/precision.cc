// Names of precisions, and the switch of ATen's autocast.
#include "engine/base/precision.h"

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>

#include <mutex>
#include <utility>

namespace locus::engine {
namespace {

struct Entry {
  Precision precision;
  std::string_view name;
  at::ScalarType type;
};
constexpr Entry kEntries[] = {{Precision::kFloat32, "float32", at::kFloat},
                              {Precision::kTf32, "tf32", at::kFloat},
                              {Precision::kBfloat16, "bfloat16", at::kBFloat16},
                              {Precision::kFloat16, "float16", at::kHalf}};

const Entry& entry_of(Precision precision) { return kEntries[static_cast<std::size_t>(precision)]; }

void set_rounding(bool rounds) {
  at::globalContext().setAllowTF32CuBLAS(rounds);
  at::globalContext().setAllowTF32CuDNN(rounds);
}

// Gives what it was. PyTorch keeps it in several flags and lets no convolution, on the CPU either, begin while they
// contradict each other: so they are written only where they change, never where threads ask for what is so already.
bool switch_rounding(bool rounds) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  static bool now = (set_rounding(false), false);  // PyTorch's own default lets convolutions be rounded
  if (now != rounds) set_rounding(rounds);
  return std::exchange(now, rounds);
}

}  // namespace

Precision precision_of(std::string_view name) {
  for (const Entry& entry : kEntries) {
    if (entry.name == name) return entry.precision;
  }
  throw std::invalid_argument("there is no precision '" + std::string(name) +
                              "'; choose float32, tf32, bfloat16 or float16");
}

std::string_view name_of(Precision precision) { return entry_of(precision).name; }

RoundsProducts::RoundsProducts(bool rounds) : before_(switch_rounding(rounds)) {}

RoundsProducts::~RoundsProducts() { switch_rounding(before_); }

Autocast::Autocast(Precision precision, at::Device device)
    : rounds_(precision == Precision::kTf32),
      device_(device.type()),
      before_(at::autocast::is_autocast_enabled(device_)),
      type_before_(at::autocast::get_autocast_dtype(device_)) {
  const bool on = entry_of(precision).type != at::kFloat;
  at::autocast::set_autocast_enabled(device_, on);
  if (on) at::autocast::set_autocast_dtype(device_, entry_of(precision).type);
  at::autocast::increment_nesting();
}

Autocast::~Autocast() {
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(device_, before_);
  at::autocast::set_autocast_dtype(device_, type_before_);
}

}  // namespace locus::engine
