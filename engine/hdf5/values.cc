// Chunks: found in their index, unpacked, converted, and put where they belong.
#include "engine/hdf5/values.h"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "engine/hdf5/hdf5.h"

namespace locus::engine {
namespace {

using Bytes = std::span<const std::byte>;

[[noreturn]] void broken(const std::string& how) { throw Hdf5Error("is damaged: " + how); }

// ---- numbers ----

float of_half(std::uint16_t half) {
  const auto sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
  const std::uint32_t exponent = (half >> 10) & 31u, fraction = half & 1023u;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (fraction << 13));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
  const float small = std::ldexp(static_cast<float>(fraction), -24);
  return sign != 0 ? -small : small;
}

template <typename Number, typename Stored>
Number converted(Stored value) {
  if constexpr (std::is_same_v<Number, float>) {
    return static_cast<float>(value);
  } else if constexpr (std::is_floating_point_v<Stored>) {
    if (std::isnan(value)) return 0;
    const double bounded =
        std::clamp<double>(value, std::numeric_limits<Number>::min(), std::numeric_limits<Number>::max());
    return static_cast<Number>(bounded);
  } else {
    if (std::cmp_less(value, std::numeric_limits<Number>::min())) return std::numeric_limits<Number>::min();
    if (std::cmp_greater(value, std::numeric_limits<Number>::max())) return std::numeric_limits<Number>::max();
    return static_cast<Number>(value);
  }
}

// `read` makes a number of the bits of one stored number, least significant byte first.
template <typename Bits, typename Number, typename Read>
void convert(Bytes from, bool big_endian, Number* to, Read read) {
  for (std::size_t i = 0; i + sizeof(Bits) <= from.size(); i += sizeof(Bits)) {
    Bits bits = 0;
    for (std::size_t b = 0; b < sizeof(Bits); ++b) {
      const std::size_t place = big_endian ? sizeof(Bits) - 1 - b : b;
      bits = static_cast<Bits>(bits | static_cast<Bits>(std::to_integer<Bits>(from[i + b]) << (8 * place)));
    }
    *to++ = read(bits);
  }
}

template <typename Bits, typename Number>
void convert_whole(Bytes from, const Hdf5Type& type, Number* to) {
  if (type.kind == Hdf5Type::kSigned)
    convert<Bits>(from, type.big_endian, to,
                  [](Bits bits) { return converted<Number>(static_cast<std::make_signed_t<Bits>>(bits)); });
  else
    convert<Bits>(from, type.big_endian, to, [](Bits bits) { return converted<Number>(bits); });
}

// Whole numbers of `type` from `from` into `to`, which has room for all of them.
template <typename Number>
void convert_all(Bytes from, const Hdf5Type& type, Number* to) {
  const bool turned = type.big_endian;
  if (type.kind == Hdf5Type::kFloat) {
    if (type.bytes == 2)
      convert<std::uint16_t>(from, turned, to, [](std::uint16_t bits) { return converted<Number>(of_half(bits)); });
    else if (type.bytes == 4)
      convert<std::uint32_t>(from, turned, to,
                             [](std::uint32_t bits) { return converted<Number>(std::bit_cast<float>(bits)); });
    else
      convert<std::uint64_t>(from, turned, to,
                             [](std::uint64_t bits) { return converted<Number>(std::bit_cast<double>(bits)); });
    return;
  }
  switch (type.bytes) {
    case 1:
      return convert_whole<std::uint8_t>(from, type, to);
    case 2:
      return convert_whole<std::uint16_t>(from, type, to);
    case 4:
      return convert_whole<std::uint32_t>(from, type, to);
    default:
      return convert_whole<std::uint64_t>(from, type, to);
  }
}

// ---- chunks ----

std::vector<std::byte> inflated(Bytes packed, std::size_t bytes) {
  std::vector<std::byte> out(bytes);
  auto size = static_cast<uLongf>(bytes);
  auto taken = static_cast<uLong>(packed.size());
  const int state =
      ::uncompress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(packed.data()), &taken);
  if (state != Z_OK || size != bytes) broken("a chunk cannot be unpacked");
  return out;
}

// Undoes the shuffle: first bytes of all numbers, then their second ones, ...
std::vector<std::byte> unshuffled(Bytes from, std::size_t width) {
  std::vector<std::byte> out(from.size());
  const std::size_t count = from.size() / width;
  for (std::size_t b = 0; b < width; ++b)
    for (std::size_t i = 0; i < count; ++i) out[i * width + b] = from[b * count + i];
  return out;
}

// One chunk's numbers as they were stored; bit k of `left_out`: filter k was not applied.
std::vector<std::byte> unpacked(Bytes stored, const Hdf5Location& array, std::uint64_t left_out, std::size_t bytes) {
  std::vector<std::byte> out(stored.begin(), stored.end());
  for (std::size_t k = array.filters.size(); k-- > 0;) {
    if ((left_out >> k & 1) != 0) continue;
    if (array.filters[k] == Hdf5Filter::kDeflate)
      out = inflated(out, bytes);
    else
      out = unshuffled(out, array.type.bytes);
  }
  if (out.size() != bytes) broken("a chunk has not all of its numbers");
  return out;
}

// `numbers` of the chunk at `first` into `to`, without what lies outside of the array.
template <typename Number>
void put_chunk(const Hdf5Location& array, const std::vector<std::int64_t>& first, const Number* numbers, Number* to) {
  const std::size_t rank = array.shape.size(), last = rank - 1;
  std::vector<std::int64_t> at(rank, 0);  // of a row within the chunk
  const auto wide = static_cast<std::size_t>(std::min(array.chunk[last], array.shape[last] - first[last]));
  for (;;) {
    std::int64_t from = 0, into = 0;
    bool inside = true;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      from = from * array.chunk[axis] + at[axis];
      into = into * array.shape[axis] + first[axis] + at[axis];
      inside = inside && first[axis] + at[axis] < array.shape[axis];
    }
    if (inside) std::copy_n(numbers + from, wide, to + into);
    std::size_t axis = last;  // the next row: the last axis but one counts fastest
    while (axis-- > 0) {
      if (++at[axis] < array.chunk[axis]) break;
      at[axis] = 0;
    }
    if (axis == std::numeric_limits<std::size_t>::max()) return;
  }
}

struct Chunk {
  std::vector<std::int64_t> first;
  std::uint64_t address = 0, bytes = 0, left_out = 0;
};

// All chunks that were written: the leaves of a tree, whose nodes are looked at once at most.
std::vector<Chunk> chunks_of(Bytes file, const Hdf5Location& array, std::int64_t most) {
  std::vector<Chunk> out;
  if (array.index == kHdf5Nowhere) return out;
  std::vector<std::uint64_t> nodes = {array.index};
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    Hdf5Cursor at(hdf5_rest(file, nodes[i]));
    at.expect("TREE");
    if (at.number(1) != 1) broken("the index of its chunks is another's");
    const bool leaf = at.number(1) == 0;
    std::uint64_t left = at.number(2);
    for (at.take(16); left > 0; --left) {
      Chunk chunk;
      chunk.bytes = at.number(4);
      chunk.left_out = at.number(4);
      for (std::size_t axis = 0; axis < array.shape.size(); ++axis) {
        const std::uint64_t first = at.number(8);
        const auto extent = static_cast<std::uint64_t>(array.shape[axis]),
                   step = static_cast<std::uint64_t>(array.chunk[axis]);
        if (leaf && (first >= extent || first % step != 0)) broken("a chunk lies outside of its array");
        chunk.first.push_back(static_cast<std::int64_t>(first));
      }
      at.take(8);  // the place within a number
      chunk.address = at.number(8);
      if (leaf)
        out.push_back(std::move(chunk));
      else
        nodes.push_back(chunk.address);
      if (nodes.size() > file.size() / 24 || static_cast<std::int64_t>(out.size()) > most)
        broken("the index of its chunks goes in circles");
    }
  }
  return out;
}

template <typename Number>
std::vector<Number> filled(const Hdf5Location& array, std::size_t count) {
  Number fill{};
  if (!array.fill.empty()) convert_all(array.fill, array.type, &fill);
  return std::vector<Number>(count, fill);
}

template <typename Number>
std::vector<Number> values_of(Bytes file, const Hdf5Location& array) {
  std::size_t count = 1;
  for (const std::int64_t extent : array.shape) count *= static_cast<std::size_t>(extent);
  if (array.values) {
    if (array.values->size() / array.type.bytes < count) broken("it has fewer numbers than its shape says");
    std::vector<Number> out(count);
    convert_all(array.values->first(count * array.type.bytes), array.type, out.data());
    return out;
  }
  if (array.chunk.empty()) return filled<Number>(array, count);
  double numbers = 1;
  std::int64_t chunks = 1;
  for (std::size_t axis = 0; axis < array.shape.size(); ++axis) {
    if (array.chunk[axis] < 1) broken("its chunks are empty");
    numbers *= static_cast<double>(array.chunk[axis]);
    chunks *= (array.shape[axis] - 1) / array.chunk[axis] + 1;
  }
  constexpr double kLeast = 1 << 16;
  if (numbers > std::max(kLeast, 4 * static_cast<double>(count))) broken("its chunks are larger than itself");
  const std::vector<Chunk> written = chunks_of(file, array, chunks);
  std::vector<Number> out = filled<Number>(array, count), part(static_cast<std::size_t>(numbers));
  for (const Chunk& chunk : written) {
    const Bytes stored = hdf5_part(file, chunk.address, chunk.bytes);
    convert_all(unpacked(stored, array, chunk.left_out, part.size() * array.type.bytes), array.type, part.data());
    put_chunk(array, chunk.first, part.data(), out.data());
  }
  return out;
}

}  // namespace

std::vector<float> read_hdf5_values_as_float(std::span<const std::byte> file, const Hdf5Location& array) {
  return values_of<float>(file, array);
}

std::vector<std::int32_t> read_hdf5_values_as_int32(std::span<const std::byte> file, const Hdf5Location& array) {
  return values_of<std::int32_t>(file, array);
}

}  // namespace locus::engine
