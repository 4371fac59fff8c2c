// Loops.
#include "tests/engine/decoders/plain_maps.h"

#include <algorithm>
#include <cmath>

namespace locus::engine::test {
namespace {

template <typename Visit>
void each_place(const Array& x, Visit visit) {
  for (std::int64_t b = 0; b < x.size(0); ++b) {
    for (std::int64_t c = 0; c < x.size(1); ++c) {
      for (std::int64_t y = 0; y < x.size(2); ++y) {
        for (std::int64_t z = 0; z < x.size(3); ++z) visit(b, c, y, z);
      }
    }
  }
}

// Of samples [b0, b1) and channels [c0, c1): less the mean, over the deviation.
void normalize(const Array& x, Array& out, std::int64_t b0, std::int64_t b1, std::int64_t c0, std::int64_t c1) {
  Real sum = 0.0, squares = 0.0;
  double count = 0;
  const auto each = [&](auto visit) {
    for (std::int64_t b = b0; b < b1; ++b)
      for (std::int64_t c = c0; c < c1; ++c)
        for (std::int64_t y = 0; y < x.size(2); ++y)
          for (std::int64_t z = 0; z < x.size(3); ++z) visit(b, c, y, z);
  };
  each([&](auto b, auto c, auto y, auto z) { sum += x(b, c, y, z), ++count; });
  const Real mean = sum / count;
  each([&](auto b, auto c, auto y, auto z) { squares += (x(b, c, y, z) - mean) * (x(b, c, y, z) - mean); });
  const Real deviation = sqrt(squares / count + 1e-5);
  each([&](auto b, auto c, auto y, auto z) { out(b, c, y, z) = (x(b, c, y, z) - mean) / deviation; });
}

Array scaled_channels(Array x, const Array& weight, const Array& bias) {
  each_place(x, [&](auto b, auto c, auto y, auto z) { x(b, c, y, z) = x(b, c, y, z) * weight(c) + bias(c); });
  return x;
}

// Where place i of n lies among m.
double place_of(std::int64_t i, std::int64_t m, std::int64_t n, bool corners) {
  const double at = corners ? (n == 1 ? 0.0 : static_cast<double>(i * (m - 1)) / static_cast<double>(n - 1))
                            : (static_cast<double>(i) + 0.5) * static_cast<double>(m) / static_cast<double>(n) - 0.5;
  return std::min(std::max(at, 0.0), static_cast<double>(m - 1));
}

}  // namespace

Array plain_conv(const Array& x, const Array& weight, const Array& bias, std::int64_t stride, std::int64_t padding) {
  const std::int64_t side = weight.size(2);
  const auto length = [&](std::int64_t n) { return (n + 2 * padding - side) / stride + 1; };
  Array out({x.size(0), weight.size(0), length(x.size(2)), length(x.size(3))});
  each_place(out, [&](auto b, auto o, auto y, auto z) {
    Real sum = bias.empty() ? Real(0.0) : bias(o);
    for (std::int64_t c = 0; c < x.size(1); ++c) {
      for (std::int64_t i = 0; i < side; ++i) {
        for (std::int64_t j = 0; j < side; ++j) {
          const std::int64_t row = stride * y + i - padding, column = stride * z + j - padding;
          if (row < 0 || column < 0 || row >= x.size(2) || column >= x.size(3)) continue;
          sum += weight(o, c, i, j) * x(b, c, row, column);
        }
      }
    }
    out(b, o, y, z) = sum;
  });
  return out;
}

Array plain_enlargement(const Array& x, const Array& weight, const Array& bias) {
  const std::int64_t f = weight.size(2);
  Array out({x.size(0), weight.size(1), f * x.size(2), f * x.size(3)});
  each_place(out, [&](auto b, auto o, auto y, auto z) {
    Real sum = bias(o);
    for (std::int64_t c = 0; c < x.size(1); ++c) sum += weight(c, o, y % f, z % f) * x(b, c, y / f, z / f);
    out(b, o, y, z) = sum;
  });
  return out;
}

Array plain_relu(const Array& x) {
  Array out = x;
  for (Real& value : out.data()) {
    if (value.value() <= 0) value = 0.0;
  }
  return out;
}

Array plain_sum(const Array& a, const Array& b) {
  Array out = a;
  for (std::size_t i = 0; i < out.data().size(); ++i) out.data()[i] += b.data()[i];
  return out;
}

Array plain_joined(const std::vector<Array>& parts) {
  std::int64_t channels = 0;
  for (const Array& part : parts) channels += part.size(1);
  Array out({parts[0].size(0), channels, parts[0].size(2), parts[0].size(3)});
  std::int64_t first = 0;
  for (const Array& part : parts) {
    each_place(part, [&](auto b, auto c, auto y, auto z) { out(b, first + c, y, z) = part(b, c, y, z); });
    first += part.size(1);
  }
  return out;
}

Array plain_interpolated(const Array& x, std::int64_t rows, std::int64_t columns, bool corners) {
  Array out({x.size(0), x.size(1), rows, columns});
  each_place(out, [&](auto b, auto c, auto y, auto z) {
    const double at_row = place_of(y, x.size(2), rows, corners), at_column = place_of(z, x.size(3), columns, corners);
    Real sum = 0.0;
    for (std::int64_t i = 0; i < x.size(2); ++i) {
      for (std::int64_t j = 0; j < x.size(3); ++j) {
        const double weight = std::max(0.0, 1 - std::abs(at_row - static_cast<double>(i))) *
                              std::max(0.0, 1 - std::abs(at_column - static_cast<double>(j)));
        if (weight > 0) sum += weight * x(b, c, i, j);
      }
    }
    out(b, c, y, z) = sum;
  });
  return out;
}

Array plain_pooled(const Array& x, std::int64_t cells) {
  Array out({x.size(0), x.size(1), cells, cells});
  each_place(out, [&](auto b, auto c, auto y, auto z) {
    Real sum = 0.0;
    double count = 0;
    for (std::int64_t i = 0; i < x.size(2); ++i) {
      for (std::int64_t j = 0; j < x.size(3); ++j) {
        const bool row = i >= y * x.size(2) / cells && i * cells < (y + 1) * x.size(2);
        const bool column = j >= z * x.size(3) / cells && j * cells < (z + 1) * x.size(3);
        if (row && column) sum += x(b, c, i, j), ++count;
      }
    }
    out(b, c, y, z) = sum / count;
  });
  return out;
}

Array plain_group_norm(const Array& x, const Array& weight, const Array& bias, std::int64_t groups) {
  Array out = x;
  const std::int64_t each = x.size(1) / groups;
  for (std::int64_t b = 0; b < x.size(0); ++b) {
    for (std::int64_t g = 0; g < groups; ++g) normalize(x, out, b, b + 1, g * each, (g + 1) * each);
  }
  return scaled_channels(std::move(out), weight, bias);
}

Array plain_batch_norm(const Array& x, const Array& weight, const Array& bias) {
  Array out = x;
  for (std::int64_t c = 0; c < x.size(1); ++c) normalize(x, out, 0, x.size(0), c, c + 1);
  return scaled_channels(std::move(out), weight, bias);
}

}  // namespace locus::engine::test
