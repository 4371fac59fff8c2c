// The passes with integer weights. Both run over lanes: rows of the image in the vertical pass; in the horizontal one as
// many rows as fill the lanes, transposed so that the neighbors of a pixel lie one step apart. The inner loops then have a
// constant length, and compilers turn them into vector instructions.
#include "engine/images/resize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include "engine/images/by_processor.h"

namespace locus::engine {
namespace {

constexpr int kBits = 22;  // of the weights' fraction: 32 less 8 of the pixels less 2 for sums above 255
constexpr int kHalf = 1 << (kBits - 1);
constexpr int kLanes = 48;  // 16 pixels of 3 channels
constexpr double kPi = 3.14159265358979323846;

double sinc(double x) { return x == 0 ? 1 : std::sin(x * kPi) / (x * kPi); }

double box_kernel(double x) { return x > -0.5 && x <= 0.5 ? 1 : 0; }

double bilinear_kernel(double x) { return std::max(0.0, 1 - std::abs(x)); }

// The window's constants are Pillow's, which are floats.
double hamming_kernel(double x) {
  if (std::abs(x) >= 1) return 0;
  return x == 0 ? 1 : sinc(x) * (double{0.54f} + double{0.46f} * std::cos(x * kPi));
}

double bicubic_kernel(double x) {
  constexpr double kA = -0.5;
  x = std::abs(x);
  if (x < 1) return ((kA + 2) * x - (kA + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * kA;
  return 0;
}

double lanczos_kernel(double x) { return x >= -3 && x < 3 ? sinc(x) * sinc(x / 3) : 0; }

struct Kernel {
  const char* name;
  double support;  // at scale 1
  double (*value)(double x);
};
// In the order of Filter.
constexpr std::array<Kernel, 6> kKernels = {{{"nearest", 0, nullptr},
                                             {"box", 0.5, box_kernel},
                                             {"bilinear", 1, bilinear_kernel},
                                             {"hamming", 1, hamming_kernel},
                                             {"bicubic", 2, bicubic_kernel},
                                             {"lanczos", 3, lanczos_kernel}}};

const Kernel& kernel_of(Filter filter) { return kKernels[static_cast<std::size_t>(filter)]; }

ResizeTaps taps_at(int from, int to, int index, const Kernel& kernel) {
  const double scale = static_cast<double>(from) / to, widened = std::max(scale, 1.0);
  const double support = kernel.support * widened, narrowed = 1 / widened;
  const double center = (index + 0.5) * scale;
  const int first = std::max(static_cast<int>(center - support + 0.5), 0);
  const int end = std::min(static_cast<int>(center + support + 0.5), from);
  ResizeTaps out{first, {}};
  double sum = 0;
  for (int j = first; j < end; ++j) {
    out.weights.push_back(kernel.value((j - center + 0.5) * narrowed));
    sum += out.weights.back();
  }
  if (sum != 0) {
    for (double& weight : out.weights) weight /= sum;
  }
  return out;
}

// Integer weights of all outputs of a pass.
struct Weights {
  struct Output {
    int first, taps;
    std::size_t at;  // in values
  };
  std::vector<Output> outputs;
  std::vector<std::int32_t> values;
};

// Outputs first .. first + count - 1 of a pass.
struct Outputs {
  int first = 0, count = 0;
};

Weights weights_of(int from, int to, const Outputs& outputs, const Kernel& kernel) {
  Weights out;
  out.outputs.reserve(static_cast<std::size_t>(outputs.count));
  for (int i = outputs.first; i < outputs.first + outputs.count; ++i) {
    const ResizeTaps taps = taps_at(from, to, i, kernel);
    out.outputs.push_back({taps.first, static_cast<int>(taps.weights.size()), out.values.size()});
    for (double weight : taps.weights) {
      const double scaled = weight * (1 << kBits);
      out.values.push_back(static_cast<std::int32_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5));
    }
  }
  return out;
}

std::uint8_t pixel_of(std::int32_t sum) { return static_cast<std::uint8_t>(std::clamp(sum >> kBits, 0, 255)); }

// out[i] = sum over j of weights[j] in[j stride + i], rounded, for i < count. The sums fit: weights of one output sum to 1
// and their absolute values to less than 2.
LOCUS_BY_PROCESSOR
void weigh(const std::uint8_t* in, std::ptrdiff_t stride, const std::int32_t* weights, int taps, int count,
           std::uint8_t* out) {
  int i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    std::int32_t sums[kLanes];
    for (std::int32_t& sum : sums) sum = kHalf;
    for (int j = 0; j < taps; ++j) {
      const std::uint8_t* row = in + j * stride + i;
      const std::int32_t weight = weights[j];
      for (int lane = 0; lane < kLanes; ++lane) sums[lane] += weight * row[lane];
    }
    for (int lane = 0; lane < kLanes; ++lane) out[i + lane] = pixel_of(sums[lane]);
  }
  for (; i < count; ++i) {
    std::int32_t sum = kHalf;
    for (int j = 0; j < taps; ++j) sum += weights[j] * in[j * stride + i];
    out[i] = pixel_of(sum);
  }
}

// `rows` rows of `width` pixels, `stride` bytes apart, to lanes: [width][channels][rows of a full block]; and back.
template <int kChannels>
void to_lanes(const std::uint8_t* rows_at, std::ptrdiff_t stride, int rows, int width, std::uint8_t* lanes) {
  constexpr int kRows = kLanes / kChannels;
  for (int row = 0; row < rows; ++row) {
    const std::uint8_t* from = rows_at + row * stride;
    std::uint8_t* to = lanes + row;
    for (int i = 0; i < width * kChannels; ++i) to[i * kRows] = from[i];
  }
}

template <int kChannels>
void from_lanes(const std::uint8_t* lanes, int rows, int width, std::uint8_t* rows_at, std::ptrdiff_t stride) {
  constexpr int kRows = kLanes / kChannels;
  for (int row = 0; row < rows; ++row) {
    std::uint8_t* to = rows_at + row * stride;
    for (int i = 0; i < width * kChannels; ++i) to[i] = lanes[i * kRows + row];
  }
}

// `outputs` of the columns that the box has at that width.
template <int kChannels>
Image horizontal(const Image& from, const Box& box, int at_width, const Outputs& outputs, const Kernel& kernel) {
  constexpr int kRows = kLanes / kChannels;
  const Weights weights = weights_of(box.width, at_width, outputs, kernel);
  const int width = outputs.count;
  Image out = Image::blank(box.height, width, kChannels);
  std::vector<std::uint8_t> source(std::size_t{kLanes} * static_cast<std::size_t>(box.width));
  std::vector<std::uint8_t> result(std::size_t{kLanes} * static_cast<std::size_t>(width));
  const std::ptrdiff_t from_stride = std::ptrdiff_t{1} * from.width * kChannels,
                       to_stride = std::ptrdiff_t{1} * width * kChannels;
  for (int y = 0; y < box.height; y += kRows) {
    const int rows = std::min(kRows, box.height - y);
    const std::uint8_t* block = from.row(box.top + y) + std::ptrdiff_t{1} * box.left * kChannels;
    to_lanes<kChannels>(block, from_stride, rows, box.width, source.data());
    for (int x = 0; x < width; ++x) {
      const Weights::Output& output = weights.outputs[static_cast<std::size_t>(x)];
      weigh(source.data() + std::ptrdiff_t{output.first} * kLanes, kLanes, weights.values.data() + output.at,
            output.taps, kLanes, result.data() + std::ptrdiff_t{x} * kLanes);
    }
    from_lanes<kChannels>(result.data(), rows, width, out.row(y), to_stride);
  }
  return out;
}

// By `weights` of rows of which the first is row `box.top` of the image.
Image vertical(const Image& from, const Box& box, const Weights& weights) {
  const int height = static_cast<int>(weights.outputs.size());
  Image out = Image::blank(height, box.width, from.channels);
  const std::ptrdiff_t stride = std::ptrdiff_t{1} * from.width * from.channels;
  for (int y = 0; y < height; ++y) {
    const Weights::Output& output = weights.outputs[static_cast<std::size_t>(y)];
    weigh(from.row(box.top + output.first) + std::ptrdiff_t{1} * box.left * from.channels, stride,
          weights.values.data() + output.at, output.taps, box.width * from.channels, out.row(y));
  }
  return out;
}

// The source index of each of `to` pixels. The position is summed up, as Pillow does, which multiplication would not give
// in the last bits.
std::vector<int> nearest_of(int from, int to) {
  const double scale = static_cast<double>(from) / to;
  std::vector<int> out;
  double position = 0.5 * scale;
  for (int i = 0; i < to; ++i, position += scale) out.push_back(std::min(static_cast<int>(position), from - 1));
  return out;
}

// The window of the box at that size.
Image nearest(const Image& from, const Box& box, const ImageSize& size, const Box& window) {
  const std::vector<int> rows = nearest_of(box.height, size.height), columns = nearest_of(box.width, size.width);
  Image out = Image::blank(window.height, window.width, from.channels);
  for (int y = 0; y < window.height; ++y) {
    const std::uint8_t* row = from.row(box.top + rows[static_cast<std::size_t>(window.top + y)]);
    std::uint8_t* to = out.row(y);
    for (int x = window.left; x < window.left + window.width; ++x) {
      const std::uint8_t* pixel =
          row + std::ptrdiff_t{1} * (box.left + columns[static_cast<std::size_t>(x)]) * from.channels;
      for (int c = 0; c < from.channels; ++c) *to++ = pixel[c];
    }
  }
  return out;
}

Image widened(const Image& from, const Box& box, int at_width, const Outputs& outputs, const Kernel& kernel) {
  return from.channels == 1 ? horizontal<1>(from, box, at_width, outputs, kernel)
                            : horizontal<3>(from, box, at_width, outputs, kernel);
}

void check_sizes(int height, int width) {
  if (height >= 1 && width >= 1) return;
  throw std::invalid_argument("an image cannot be resized to " + std::to_string(height) + " x " +
                              std::to_string(width) + " pixels: both are at least 1");
}

}  // namespace

std::optional<Filter> filter_named(std::string_view name) {
  for (std::size_t i = 0; i < kKernels.size(); ++i) {
    if (kKernels[i].name == name) return static_cast<Filter>(i);
  }
  return std::nullopt;
}

Image resize(const Image& from, int height, int width, Filter filter) {
  return resize(from, {0, 0, from.height, from.width}, height, width, filter);
}

Image resize(const Image& from, const Box& box, int height, int width, Filter filter) {
  check_sizes(height, width);
  check_box(from, box);
  if (box.height == height && box.width == width) return crop(from, box);
  if (filter == Filter::kNearest) return nearest(from, box, {height, width}, {0, 0, height, width});
  const Kernel& kernel = kernel_of(filter);
  const auto rows = [&] { return weights_of(box.height, height, {0, height}, kernel); };
  if (box.width == width) return vertical(from, box, rows());
  Image wide = widened(from, box, width, {0, width}, kernel);
  if (box.height == height) return wide;
  return vertical(wide, {0, 0, wide.height, wide.width}, rows());
}

Image resize_window(const Image& from, const ImageSize& to, const Box& window, Filter filter) {
  check_sizes(to.height, to.width);
  check_box(to, window);
  const Box whole{0, 0, from.height, from.width};
  check_box(from, whole);
  if (filter == Filter::kNearest) return nearest(from, whole, to, window);
  const Kernel& kernel = kernel_of(filter);
  Weights weights;
  Box rows{window.top, 0, window.height, from.width};  // of the image, that the window's come from
  if (from.height != to.height) {
    weights = weights_of(from.height, to.height, {window.top, window.height}, kernel);
    rows = {weights.outputs.front().first, 0, 0, from.width};
    for (Weights::Output& output : weights.outputs) {
      rows.height = std::max(rows.height, output.first + output.taps - rows.top);
      output.first -= rows.top;
    }
  }
  Image wide = from.width == to.width ? crop(from, {rows.top, window.left, rows.height, window.width})
                                      : widened(from, rows, to.width, {window.left, window.width}, kernel);
  if (from.height == to.height) return wide;
  return vertical(wide, {0, 0, wide.height, wide.width}, weights);
}

ResizeTaps resize_taps(int from, int to, int index, Filter filter) {
  if (filter == Filter::kNearest) throw std::invalid_argument("nearest has no kernel");
  check_sizes(from, to);
  if (index < 0 || index >= to)
    throw std::invalid_argument("there is no output " + std::to_string(index) + " of " + std::to_string(to));
  return taps_at(from, to, index, kernel_of(filter));
}

}  // namespace locus::engine
