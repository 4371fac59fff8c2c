// Draws on a canvas and writes it as a PNG file.
#include "engine/probe/png.h"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

namespace locus {
namespace {

void put_big_endian(std::string& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(value >> shift & 0xff));
}

// CRC-32 as in RFC 2083, section 15, and Adler-32 as in RFC 1950.
std::uint32_t crc32(std::string_view bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const char c : bytes) {
    crc ^= static_cast<std::uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc;
}
std::uint32_t adler32(std::string_view bytes) {
  std::uint32_t low = 1, high = 0;
  for (const char c : bytes) {
    low = (low + static_cast<std::uint8_t>(c)) % 65521;
    high = (high + low) % 65521;
  }
  return high << 16 | low;
}

// Length, type, data, check.
void put_chunk(std::string& out, std::string_view type, std::string_view data) {
  put_big_endian(out, static_cast<std::uint32_t>(data.size()));
  const std::string body = std::string(type) + std::string(data);
  out += body;
  put_big_endian(out, crc32(body));
}

// A zlib stream of stored blocks (RFC 1950 and 1951).
std::string stored(std::string_view bytes) {
  constexpr std::size_t kMost = 65535;
  std::string out("\x78\x01", 2);
  for (std::size_t begin = 0; begin == 0 || begin < bytes.size(); begin += kMost) {
    const std::string_view block = bytes.substr(begin, kMost);
    out.push_back(begin + kMost >= bytes.size() ? 1 : 0);
    for (const std::size_t length : {block.size(), ~block.size()}) {
      out.push_back(static_cast<char>(length & 0xff));
      out.push_back(static_cast<char>(length >> 8 & 0xff));
    }
    out += block;
  }
  put_big_endian(out, adler32(bytes));
  return out;
}

}  // namespace

Canvas::Canvas(int width, int height, Color background) : width_(width), height_(height) {
  if (width < 1 || height < 1) throw std::invalid_argument("a picture has at least one pixel");
  rgb_.resize(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3);
  fill(0, 0, width, height, background);
}

Color Canvas::at(int x, int y) const {
  if (x < 0 || y < 0 || x >= width_ || y >= height_) throw std::out_of_range("a pixel outside the picture");
  const auto first =
      (static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) + static_cast<std::size_t>(x)) * 3;
  return {rgb_[first], rgb_[first + 1], rgb_[first + 2]};
}

void Canvas::fill(int left, int top, int width, int height, Color color) {
  for (int y = std::max(top, 0); y < std::min(top + height, height_); ++y) {
    for (int x = std::max(left, 0); x < std::min(left + width, width_); ++x) {
      const auto first =
          (static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) + static_cast<std::size_t>(x)) * 3;
      std::copy(color.begin(), color.end(), rgb_.begin() + static_cast<std::ptrdiff_t>(first));
    }
  }
}

void Canvas::line(int x0, int y0, int x1, int y1, Color color) {
  const int steps = std::max({std::abs(x1 - x0), std::abs(y1 - y0), 1});
  for (int i = 0; i <= steps; ++i) {
    const auto between = [&](int from, int to) {
      return from + (2 * (to - from) * i + (to >= from ? steps : -steps)) / (2 * steps);
    };
    fill(between(x0, x1), between(y0, y1), 1, 1, color);
  }
}

std::string Canvas::png() const {
  std::string out("\x89PNG\r\n\x1a\n", 8);
  std::string header;
  put_big_endian(header, static_cast<std::uint32_t>(width_));
  put_big_endian(header, static_cast<std::uint32_t>(height_));
  header += std::string("\x08\x02\x00\x00\x00", 5);  // 8 bits, RGB
  put_chunk(out, "IHDR", header);
  std::string rows;
  const auto stride = static_cast<std::size_t>(width_) * 3;
  for (std::size_t y = 0; y < static_cast<std::size_t>(height_); ++y) {
    rows.push_back(0);  // no filter
    rows.append(reinterpret_cast<const char*>(rgb_.data() + y * stride), stride);
  }
  put_chunk(out, "IDAT", stored(rows));
  put_chunk(out, "IEND", "");
  return out;
}

}  // namespace locus
