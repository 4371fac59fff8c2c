// Where the tokens of a sequence lie: a grid of patches, or points, behind some prefix tokens.
#pragma once

#include <c10/core/InferenceMode.h>

#include <deque>

#include "engine/base/torch.h"

namespace locus::engine {

// Where the points of one batch lie. Made anew for every batch and never written to: who holds it holds these numbers.
struct Points {
  Tensor position;  // [B, N, axes] float32 or better, in the units and the order of axes of the data
};

// Token order everywhere: the prefix (class token, then registers), then the patches of the grid, last axis
// fastest, or the points. Nothing may assume a square grid, one prefix token or the extent seen at construction.
struct Layout {
  std::vector<std::int64_t>
      extent;               // patches along each axis, slowest first: rank 1, (rows, columns) or (frames, rows,
                            // columns); of points one number, how many each sample is filled up to
  std::int64_t prefix = 0;  // tokens before the patches
  std::shared_ptr<const Points> points = nullptr;  // null: a grid
  // Bool [B, N]: the patches that hold something. Others fill up a batch of samples of several lengths, and no token
  // attends to them but themselves. Undefined: all.
  Tensor valid = {};

  std::int64_t patches() const;
  std::int64_t tokens() const { return prefix + patches(); }
  std::int64_t rank() const;  // axes of a coordinate
  // Whether tables of one serve the other. Two grids are equal by their extents: no table of a grid depends on which
  // patches are valid. Points are equal only to themselves, with the same `valid`: how many there are says nothing.
  bool operator==(const Layout& other) const;
};

// What a network of points is built for: no point yet, coordinates of that many axes.
Layout points_layout(std::int64_t axes, std::int64_t prefix);
// The points of one batch, position [B, N, axes], of which `valid` [B, N] (undefined: all) hold something. Throws
// std::invalid_argument where the shapes or types do not fit.
Layout points_layout(const Tensor& position, const Tensor& valid, std::int64_t prefix);

// Integer coordinates of the patches from 0, [N, rank], axes in the order of `extent`. Throws std::invalid_argument on
// points, which have other ones in every sample.
Tensor grid_positions(const Layout& layout, at::TensorOptions options);

// Coordinates of the patches: of a grid integers from `first` on, [N, rank]; of points those given, [B, N, rank], on
// the points' device. Axes in the order of `extent` or of the points.
Tensor patch_positions(const Layout& layout, at::TensorOptions options, std::int64_t first = 0);
// The same behind the prefix tokens, which lie at the origin: [.., T, rank].
Tensor behind_origin(const Tensor& positions, std::int64_t prefix);

// Tensors that depend on nothing but the layout, kept for the last few grids met on each device and type, and for the
// last points: they come with their batch and go with it. Thread-compatible.
template <typename Value>
class PerLayout {
 public:
  // The kept value, or what `make()` returns. The reference holds until the next call.
  template <typename Make>
  const Value& get(const Layout& layout, at::Device device, at::ScalarType type, Make make) {
    for (const Entry& entry : entries_) {
      if (entry.layout == layout && entry.device == device && entry.type == type) return entry.value;
    }
    const c10::InferenceMode normal_tensors(false);  // what is kept may meet a training forward later
    const at::NoGradGuard no_grad;
    if (layout.points) {
      std::erase_if(entries_, [&](const Entry& entry) {
        return entry.layout.points != nullptr && entry.layout.points != layout.points;
      });
    }
    if (entries_.size() == kMost) entries_.pop_front();
    entries_.push_back(Entry{layout, device, type, make()});
    if (!layout.points) entries_.back().layout.valid = Tensor();
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
