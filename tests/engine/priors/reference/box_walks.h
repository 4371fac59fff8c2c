// Curves over boxes, once more: the rules as orders and one recursion.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace locus::engine::test {

using Spot = std::array<std::int64_t, 3>;  // column, row, frame; also a vector

inline Spot plus(Spot a, const Spot& b, std::int64_t times = 1) {
  for (std::size_t i = 0; i < 3; ++i) a[i] += times * b[i];
  return a;
}
inline std::int64_t long_is(const Spot& v) { return std::abs(v[0]) + std::abs(v[1]) + std::abs(v[2]); }
inline Spot one_of(Spot v) {
  for (std::int64_t& c : v) c = std::int64_t{c > 0} - std::int64_t{c < 0};
  return v;
}
inline Spot half_of(const Spot& v) {
  Spot out;
  for (std::size_t i = 0; i < 3; ++i) out[i] = v[i] >= 0 ? v[i] / 2 : -((1 - v[i]) / 2);
  return long_is(out) % 2 != 0 && long_is(v) > 2 ? plus(out, one_of(v)) : out;
}

// The generalized Hilbert curve in three dimensions from p, along a first.
inline void box_hilbert(const Spot& p, const Spot& a, const Spot& b, const Spot& c, std::vector<Spot>& path) {
  const std::int64_t w = long_is(a), h = long_is(b), d = long_is(c);
  if (w * h * d == 0) return;
  if (w * h * d == std::max({w, h, d})) {
    const Spot step = one_of(w * h == 1 ? c : w * d == 1 ? b : a);
    for (std::int64_t i = 0; i < w * h * d; ++i) path.push_back(plus(p, step, i));
    return;
  }
  const Spot none = {0, 0, 0}, a2 = half_of(a), b2 = half_of(b), c2 = half_of(c);
  const Spot rest_a = plus(a, a2, -1), rest_b = plus(b, b2, -1), rest_c = plus(c, c2, -1);
  const Spot far_a = plus(plus(p, a), one_of(a), -1);  // the last cell along a
  const auto back = [&](const Spot& v) { return plus(none, v, -1); };
  const auto to_last = [&](const Spot& from, const Spot& v) { return plus(plus(from, v), one_of(v), -1); };
  if (2 * w > 3 * std::max(h, d)) {
    box_hilbert(p, a2, b, c, path);
    box_hilbert(plus(p, a2), rest_a, b, c, path);
  } else if (3 * h > 4 * d) {
    box_hilbert(p, b2, c, a2, path);
    box_hilbert(plus(p, b2), a, rest_b, c, path);
    box_hilbert(to_last(far_a, b2), back(b2), c, back(rest_a), path);
  } else if (3 * d > 4 * h) {
    box_hilbert(p, c2, a2, b, path);
    box_hilbert(plus(p, c2), a, b, rest_c, path);
    box_hilbert(to_last(far_a, c2), back(c2), back(rest_a), b, path);
  } else {
    box_hilbert(p, b2, c2, a2, path);
    box_hilbert(plus(p, b2), c, a2, rest_b, path);
    box_hilbert(to_last(to_last(p, b2), c), a, back(b2), back(rest_c), path);
    box_hilbert(to_last(plus(far_a, b2), c), back(c), back(rest_a), rest_b, path);
    box_hilbert(to_last(far_a, b2), back(b2), c2, back(rest_a), path);
  }
}

inline std::vector<Spot> box_walk(const std::string& curve, const Spot& side) {
  std::vector<Spot> path;
  if (curve == "hilbert") {
    box_hilbert({0, 0, 0}, {side[0], 0, 0}, {0, side[1], 0}, {0, 0, side[2]}, path);
    return path;
  }
  for (std::int64_t t = 0; t < side[2]; ++t) {
    for (std::int64_t y = 0; y < side[1]; ++y) {
      for (std::int64_t x = 0; x < side[0]; ++x) path.push_back({x, y, t});
    }
  }
  const auto snake = [&](const Spot& s) {
    const std::int64_t within = s[1] * side[0] + (s[1] % 2 != 0 ? side[0] - 1 - s[0] : s[0]);
    return std::array<std::int64_t, 3>{s[2], s[2] % 2 != 0 ? -within : within, 0};
  };
  const auto zigzag = [&](const Spot& s) {
    const std::int64_t e = s[0] + s[1] + s[2], d = s[0] + s[1];
    return std::array<std::int64_t, 3>{e, e % 2 == 0 ? s[2] : -s[2], d % 2 == 0 ? -s[1] : s[1]};
  };
  const auto morton = [&](const Spot& s) {
    std::int64_t key = 0;
    for (std::int64_t bit = 0, weight = 1; bit < 16; ++bit) {
      for (const std::int64_t c : s) {
        key += (c >> bit & 1) * weight;
        weight *= 2;
      }
    }
    return std::array<std::int64_t, 3>{key, 0, 0};
  };
  const auto key = [&](const Spot& s) {
    return curve == "snake" ? snake(s) : curve == "zigzag" ? zigzag(s) : morton(s);
  };
  std::sort(path.begin(), path.end(), [&](const Spot& l, const Spot& r) { return key(l) < key(r); });
  return path;
}

// Rank of every cell of a box (frames, rows, columns), last axis fastest.
inline std::vector<std::int64_t> box_ranks(const std::string& name, const std::vector<std::int64_t>& extent) {
  const std::size_t cut = name.find("-transposed");
  const bool transposed = cut != std::string::npos;
  Spot side = {extent[2], extent[1], extent[0]};
  if (transposed) std::swap(side[0], side[1]);
  const std::vector<Spot> path = box_walk(name.substr(0, cut), side);
  std::vector<std::int64_t> out(path.size());
  for (std::size_t r = 0; r < path.size(); ++r) {
    const std::int64_t row = path[r][transposed ? 0 : 1], column = path[r][transposed ? 1 : 0];
    out[static_cast<std::size_t>((path[r][2] * extent[1] + row) * extent[2] + column)] = static_cast<std::int64_t>(r);
  }
  return out;
}

}  // namespace locus::engine::test
