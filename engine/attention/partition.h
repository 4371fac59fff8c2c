// How the tokens of a layer are divided before the softmax. The backbone's choice; no prior knows of it.
#pragma once

#include "engine/layers/layout.h"

namespace locus::engine {

// Windows that tile the grid from its first corner, filled up with places that hold no token where it is no multiple
// of them. A shift moves the grid under the windows toward that corner; what leaves it comes in at the far end, where
// pairs from opposite borders do not see each other. ("Swin Transformer", Liu et al. 2021, arXiv:2103.14030)
struct Partition {
  std::vector<std::int64_t> window;  // along each axis of the grid; none: undivided
  std::vector<std::int64_t> shift;   // along each axis, at least 0 and below the window
  bool pad_first = true;             // the grid is filled up before it is shifted; false (timm): after

  bool divides() const { return !window.empty(); }
  bool masks() const;  // whether pairs of a window may be hidden
  // Windows of a grid of that layout, and places in one. Throws std::invalid_argument where there are prefix tokens,
  // which have no place in a window, or another number of axes.
  std::int64_t count(const Layout& layout) const;
  std::int64_t places() const;
};

// The windows of one layout, each a sample of its own; those of one image lie side by side.
struct Parts {
  Layout part;               // what every sample is
  std::int64_t count = 1;    // of a grid
  std::int64_t padding = 0;  // places that hold no token
  // Which token is at each place [count * places], int64: those of the grid by number, then N, N + 1, ... for the
  // places that hold none. A permutation, so that no two gradients meet in one token.
  Tensor take = {};
  Tensor back = {};    // the place of each token, [N] int64
  Tensor region = {};  // int8 [count, places]: of a window, pairs of different numbers are hidden; undefined: none is

  // [B, N, c] to [B * count, places, c]. `fill` [1, 1, c] stands at the places that hold no token.
  Tensor apart(const Tensor& tokens, const Tensor& fill) const;
  Tensor together(const Tensor& placed) const;  // the way back
};

// On the CPU; throws as Partition::count.
Parts parts_of(const Partition& partition, const Layout& layout);
Parts to_device(Parts parts, at::Device device);

}  // namespace locus::engine
