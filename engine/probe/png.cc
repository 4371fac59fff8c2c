// Draws on a canvas and writes it as a PNG file.
#include "engine/probe/png.h"

#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <stdexcept>

namespace locus::engine {
namespace {

void put_big_endian(std::string& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(value >> shift & 0xff));
}

const Bytef* as_bytes(const std::string& text) { return reinterpret_cast<const Bytef*>(text.data()); }

// Length, type, data, check (RFC 2083, section 3.2).
void put_chunk(std::string& out, const std::string& type, const std::string& data) {
  put_big_endian(out, static_cast<std::uint32_t>(data.size()));
  const std::string body = type + data;
  out += body;
  put_big_endian(out, static_cast<std::uint32_t>(crc32_z(0, as_bytes(body), body.size())));
}

// A zlib stream (RFC 1950).
std::string compressed(const std::string& bytes) {
  uLongf length = compressBound(bytes.size());
  std::string out(length, '\0');
  if (compress(reinterpret_cast<Bytef*>(out.data()), &length, as_bytes(bytes), bytes.size()) != Z_OK)
    throw std::bad_alloc();  // the buffer is large enough
  out.resize(length);
  return out;
}

}  // namespace

Drawing::Drawing(int width, int height, Color background) : width_(width), height_(height) {
  if (width < 1 || height < 1) throw std::invalid_argument("a picture has at least one pixel");
  rgb_.resize(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3);
  fill(0, 0, width, height, background);
}

Color Drawing::at(int x, int y) const {
  if (x < 0 || y < 0 || x >= width_ || y >= height_) throw std::out_of_range("a pixel outside the picture");
  const auto first = (static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) + static_cast<std::size_t>(x)) * 3;
  return {rgb_[first], rgb_[first + 1], rgb_[first + 2]};
}

void Drawing::fill(int left, int top, int width, int height, Color color) {
  for (int y = std::max(top, 0); y < std::min(top + height, height_); ++y) {
    for (int x = std::max(left, 0); x < std::min(left + width, width_); ++x) {
      const auto first =
          (static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) + static_cast<std::size_t>(x)) * 3;
      std::copy(color.begin(), color.end(), rgb_.begin() + static_cast<std::ptrdiff_t>(first));
    }
  }
}

void Drawing::line(int x0, int y0, int x1, int y1, Color color) {
  const int steps = std::max({std::abs(x1 - x0), std::abs(y1 - y0), 1});
  for (int i = 0; i <= steps; ++i) {
    const auto between = [&](int from, int to) {
      return from + (2 * (to - from) * i + (to >= from ? steps : -steps)) / (2 * steps);
    };
    fill(between(x0, x1), between(y0, y1), 1, 1, color);
  }
}

std::string Drawing::png() const {
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
  put_chunk(out, "IDAT", compressed(rows));
  put_chunk(out, "IEND", "");
  return out;
}

}  // namespace locus::engine
