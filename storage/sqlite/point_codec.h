// Points as bytes: packed columns behind a version and a CRC, so that NaN survives and a flipped bit is
// found.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace locus::sqlite {

// Columns of equal length. `series` holds series ids, and is empty in a chunk, whose row names its one
// series.
struct PointColumns {
  std::vector<std::int64_t> series, step, images, time_us;
  std::vector<double> epoch, value;
  std::size_t size() const { return value.size(); }
};

// Version 1: byte version, CRC-32C of what follows (little-endian), byte has_series, varint count, then whole
// columns: integers as zigzag varints of differences, doubles as their 8 little-endian bytes.
std::string encode_points(const PointColumns& columns);

// Nothing when the bytes are not such a blob: another version, a wrong checksum, a length that does not fit.
std::optional<PointColumns> decode_points(std::string_view bytes);

}  // namespace locus::sqlite
