// What the products of attention read: rows and tiles as they are, or (kPairs) as words of two bfloat16 numbers, rounded to
// them where they are not.
#pragma once

#include "engine/cpu/pairs.h"

namespace locus::cpu::LOCUS_CPU_TARGET {

template <typename Real, bool kPairs>
struct Operands {
  std::int64_t tokens, width;

  // Rooms, in numbers: of rows, of rows as the right of a product, of a tile of rows of keys.
  std::int64_t row_words() const { return padded<Real>(kPairs ? words_of(width) : width); }
  std::int64_t right_room(std::int64_t count) const {
    return kPairs ? words_of(count) * round_up(width, kPanel<Real>) : count * round_up(width, kPanel<Real>);
  }
  std::int64_t tile_room(std::int64_t rows) const { return kPairs ? rows * row_size<Real>(tokens) : 0; }
  // What a sum over channels, or over `count` tokens, runs over.
  std::int64_t channels() const { return kPairs ? words_of(width) : padded<Real>(width); }
  static constexpr std::int64_t over(std::int64_t count) { return kPairs ? words_of(count) : count; }

  // Rows, to be summed over channels: in place where they lie so, else in `room` [count, row_words()].
  View<Real> rows(const Rows& from, const Place& at, std::int64_t first, std::int64_t count, Real* room) const {
    if constexpr (!kPairs) {
      return view_rows<Real>(from, at.b, at.h, first, count, width, room);
    } else {
      const std::int64_t wide = row_words(), skip = first * from.token;
      if (from.type == Element::kBFloat16) {
        const std::uint16_t* data = matrix<const std::uint16_t>(from, at.b, at.h) + skip;
        const bool whole = width % 32 == 0 && from.token % 2 == 0 && reinterpret_cast<std::uintptr_t>(data) % 4 == 0;
        if (whole) return {reinterpret_cast<const Real*>(data), from.token / 2};
        pair_along(data, from.token, count, width, room, wide, wide);
      } else {
        pair_along(matrix<const float>(from, at.b, at.h) + skip, from.token, count, width, room, wide, wide);
      }
      return {room, wide};
    }
  }

  // The same as the right of a product that sums over tokens. `view`: what rows() made of them.
  Right<Real> right(const Rows& from, const Place& at, std::int64_t first, std::int64_t count, View<Real> view,
                    Real* room) const {
    if constexpr (!kPairs) {
      if (count < 128) return {view.data, view.row, kPanel<Real>};
      pack_rows<Real>(view, count, padded<Real>(width), room);
    } else {
      const std::int64_t skip = first * from.token;
      if (from.type == Element::kBFloat16)
        pair_panels(matrix<const std::uint16_t>(from, at.b, at.h) + skip, from.token, count, width, room);
      else
        pair_panels(matrix<const float>(from, at.b, at.h) + skip, from.token, count, width, room);
    }
    return {room, kPanel<Real>, kPanel<Real> * over(count)};
  }

  // Rows of a tile over keys as the left of a product that sums over keys, or over the rows.
  Left<Real> by_keys(const Real* tile, std::int64_t row, std::int64_t rows, Real* room) const {
    if constexpr (kPairs) {
      pair_along(tile, row, rows, tokens, room, row, padded<Real>(words_of(tokens)));
      return {room, row};
    } else {
      return {tile, row};
    }
  }
  Left<Real> by_rows(const Real* tile, std::int64_t row, std::int64_t rows, Real* room) const {
    if constexpr (kPairs) {
      pair_across(tile, row, rows, padded<Real>(tokens), room, row);
      return {room, row, true};
    } else {
      return {tile, row, true};
    }
  }
};

}  // namespace locus::cpu::LOCUS_CPU_TARGET
