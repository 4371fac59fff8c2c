// Points as bytes.
#include "storage/sqlite/point_codec.h"

#include <bit>
#include <cstring>

#include "core/base/crc32c.h"

namespace locus::sqlite {
namespace {

static_assert(std::endian::native == std::endian::little, "columns are copied as they lie in memory");

constexpr char kVersion = 1;
constexpr std::size_t kHeader = 5;  // version and checksum

constexpr std::size_t kVarint = 10;  // bytes at most

char* put_varint(char* out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) *out++ = static_cast<char>(value | 0x80);
  *out++ = static_cast<char>(value);
  return out;
}

void put_varint(std::string& out, std::uint64_t value) {
  char bytes[kVarint];
  out.append(bytes, put_varint(bytes, value));
}

void put_integers(std::string& out, const std::vector<std::int64_t>& column) {
  char bytes[256 * kVarint];
  std::uint64_t before = 0;  // unsigned: differences may wrap
  for (auto value = column.begin(); value != column.end();) {
    char* end = bytes;
    for (const char* const last = bytes + sizeof bytes - kVarint; end <= last && value != column.end(); ++value) {
      const auto difference = static_cast<std::int64_t>(static_cast<std::uint64_t>(*value) - before);
      end =
          put_varint(end, (static_cast<std::uint64_t>(difference) << 1) ^ static_cast<std::uint64_t>(difference >> 63));
      before = static_cast<std::uint64_t>(*value);
    }
    out.append(bytes, end);
  }
}

void put_doubles(std::string& out, const std::vector<double>& column) {
  out.append(reinterpret_cast<const char*>(column.data()), column.size() * sizeof(double));
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  bool varint(std::uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (bytes_.empty()) return false;
      const auto byte = static_cast<unsigned char>(bytes_.front());
      bytes_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }

  bool integers(std::size_t count, std::vector<std::int64_t>& column) {
    column.resize(count);
    std::uint64_t before = 0;
    for (std::int64_t& value : column) {
      std::uint64_t code = 0;
      if (!varint(code)) return false;
      before += (code >> 1) ^ (~(code & 1) + 1);
      value = static_cast<std::int64_t>(before);
    }
    return true;
  }

  bool doubles(std::size_t count, std::vector<double>& column) {
    if (bytes_.size() / sizeof(double) < count) return false;
    column.resize(count);
    if (count > 0) std::memcpy(column.data(), bytes_.data(), count * sizeof(double));
    bytes_.remove_prefix(count * sizeof(double));
    return true;
  }

  std::size_t left() const { return bytes_.size(); }

 private:
  std::string_view bytes_;
};

}  // namespace

std::string encode_points(const PointColumns& columns) {
  std::string out(kHeader, '\0');
  out.reserve(kHeader + 16 + columns.size() * 32);
  out[0] = kVersion;
  out += static_cast<char>(!columns.series.empty());
  put_varint(out, columns.size());
  put_integers(out, columns.series);
  put_integers(out, columns.step);
  put_integers(out, columns.images);
  put_integers(out, columns.time_us);
  put_doubles(out, columns.epoch);
  put_doubles(out, columns.value);
  const std::uint32_t crc = crc32c(std::string_view(out).substr(kHeader));
  std::memcpy(out.data() + 1, &crc, sizeof crc);
  return out;
}

std::optional<PointColumns> decode_points(std::string_view bytes) {
  if (bytes.size() < kHeader + 2 || bytes[0] != kVersion) return std::nullopt;
  std::uint32_t crc = 0;
  std::memcpy(&crc, bytes.data() + 1, sizeof crc);
  if (crc != crc32c(bytes.substr(kHeader))) return std::nullopt;
  const bool has_series = bytes[kHeader] != 0;
  Reader reader(bytes.substr(kHeader + 1));
  std::uint64_t count = 0;
  if (!reader.varint(count) || count > reader.left()) return std::nullopt;
  PointColumns out;
  if ((has_series && !reader.integers(count, out.series)) || !reader.integers(count, out.step) ||
      !reader.integers(count, out.images) || !reader.integers(count, out.time_us) ||
      !reader.doubles(count, out.epoch) || !reader.doubles(count, out.value) || reader.left() != 0) {
    return std::nullopt;
  }
  return out;
}

}  // namespace locus::sqlite
