// Where the tokens of a sequence lie: a grid of patches behind some prefix tokens.
#pragma once

#include <c10/core/InferenceMode.h>

#include <deque>

#include "engine/base/torch.h"

namespace locus::engine {

// Token order everywhere: the prefix (class token, then registers), then the patches of the grid, last axis
// fastest. Nothing may assume a square grid, one prefix token or the extent seen at construction. (Point sets
// join by adding coordinates and validity here.)
struct Layout {
  std::vector<std::int64_t> extent;  // patches along each axis, rows first; rank 1 to 3
  std::int64_t prefix = 0;           // tokens before the patches

  std::int64_t patches() const;
  std::int64_t tokens() const { return prefix + patches(); }
  bool operator==(const Layout&) const = default;
};

// Integer coordinates of the patches from 0, [N, rank], axes in the order of `extent`.
Tensor grid_positions(const Layout& layout, at::TensorOptions options);

// Tensors that depend on nothing but the layout, kept for the last few layouts met on each device and type.
// Thread-compatible.
template <typename Value>
class PerLayout {
 public:
  // The kept value, or what `make()` returns.
  template <typename Make>
  const Value& get(const Layout& layout, at::Device device, at::ScalarType type, Make make) {
    for (const Entry& entry : entries_) {
      if (entry.layout == layout && entry.device == device && entry.type == type) return entry.value;
    }
    const c10::InferenceMode normal_tensors(false);  // what is kept may meet a training forward later
    const at::NoGradGuard no_grad;
    if (entries_.size() == kMost) entries_.pop_front();
    entries_.push_back(Entry{layout, device, type, make()});
    return entries_.back().value;
  }

 private:
  static constexpr std::size_t kMost = 8;
  struct Entry {
    Layout layout;
    at::Device device;
    at::ScalarType type;
    Value value;
  };
  std::deque<Entry> entries_;
};

}  // namespace locus::engine
