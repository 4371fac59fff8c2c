// Small pictures: pixels, lines, and PNG files of them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace locus::engine {

using Color = std::array<std::uint8_t, 3>;  // red, green, blue

// Not thread-safe.
class Drawing {
 public:
  Drawing(int width, int height, Color background);

  int width() const { return width_; }
  int height() const { return height_; }
  Color at(int x, int y) const;                                      // throws std::out_of_range outside
  void fill(int left, int top, int width, int height, Color color);  // cut at the border
  void line(int x0, int y0, int x1, int y1, Color color);            // one pixel wide, ends included

  // The bytes of a PNG file: 8 bits a channel. (RFC 2083)
  std::string png() const;

 private:
  int width_, height_;
  std::vector<std::uint8_t> rgb_;
};

}  // namespace locus::engine
