// Geometry of samples.
#include "engine/data/joint.h"

#include <algorithm>
#include <cmath>

#include "engine/base/failure.h"
#include "engine/data/pixels.h"
#include "engine/images/plain_resize.h"

namespace locus::engine {
namespace {

constexpr double kDepthFloor = 1e-6;  // added to the share of known pixels

std::string extents(std::int64_t height, std::int64_t width) {
  return std::to_string(height) + " x " + std::to_string(width);
}

void check_plane(const Sample& sample, const char* name, at::ScalarType type, std::int64_t rank,
                 const ImageSize& size) {
  const auto found = sample.find(name);
  if (found == sample.end()) return;
  const Tensor& plane = found->second;
  if (plane.scalar_type() != type || plane.dim() != rank) {
    throw DataError("the tensor '" + std::string(name) + "' is " + c10::toString(plane.scalar_type()) + " " +
                    c10::str(plane.sizes()) + ", not " + c10::toString(type) + " of rank " + std::to_string(rank));
  }
  if (plane.size(-2) == size.height && plane.size(-1) == size.width) return;
  throw DataError("the " + std::string(name) + " has " + extents(plane.size(-2), plane.size(-1)) +
                  " pixels and its image " + extents(size.height, size.width));
}

void check_objects(const Sample& sample) {
  const auto boxes = sample.find(kBoxes);
  std::int64_t objects = -1;
  if (boxes != sample.end()) {
    if (boxes->second.dim() != 2 || boxes->second.size(1) != 4 || boxes->second.scalar_type() != at::kDouble)
      throw DataError("the tensor 'boxes' is float64 [n, 4], not " + c10::str(boxes->second.sizes()));
    objects = boxes->second.size(0);
  }
  for (const char* name : {kBoxClasses, kInstances}) {
    const auto found = sample.find(name);
    if (found == sample.end()) continue;
    if (found->second.dim() == 0 || found->second.size(0) != objects) {
      throw DataError("the tensor '" + std::string(name) + "' has not a row for each of the " +
                      std::to_string(std::max<std::int64_t>(objects, 0)) + " boxes");
    }
  }
}

// Applies `change` to the tensor of that name, where there is one.
template <typename Change>
void replace(Sample& sample, const char* name, const Change& change) {
  const auto found = sample.find(name);
  if (found != sample.end()) found->second = change(found->second);
}

Tensor zoomed_plane(const Tensor& plane, const Zoom& zoom, const ZoomHow& how) {  // uint8 [H, W]
  const Image image = image_of(plane.unsqueeze(0));
  return tensor_of(how.filter ? resize_window(image, zoom.size, zoom.window, Filter::kNearest)
                              : nearest_window(image, zoom.size, zoom.window))
      .squeeze(0);
}

Tensor zoomed_instances(const Tensor& instances, const Zoom& zoom, const ZoomHow& how) {
  Tensor out = at::empty({instances.size(0), zoom.window.height, zoom.window.width}, at::kByte);
  for (std::int64_t i = 0; i < instances.size(0); ++i) out[i].copy_(zoomed_plane(instances[i], zoom, how));
  return out;
}

// Scales, shifts and cuts boxes; the rows of those with an area.
Tensor zoom_boxes(Sample& sample, const ImageSize& own, const Zoom& zoom) {
  const double across = static_cast<double>(zoom.size.width) / own.width,
               down = static_cast<double>(zoom.size.height) / own.height;
  const Tensor scale = at::tensor({across, down, across, down}, at::kDouble);
  const auto left = static_cast<double>(zoom.window.left), top = static_cast<double>(zoom.window.top);
  const Tensor shift = at::tensor({left, top, left, top}, at::kDouble);
  const auto width = static_cast<double>(zoom.window.width), height = static_cast<double>(zoom.window.height);
  const Tensor most = at::tensor({width, height, width, height}, at::kDouble);
  const Tensor boxes = at::minimum((sample.at(kBoxes) * scale - shift).clamp_min(0), most);
  const Tensor kept =
      ((boxes.select(1, 2) > boxes.select(1, 0)) & (boxes.select(1, 3) > boxes.select(1, 1))).nonzero().squeeze(1);
  sample[kBoxes] = boxes.index_select(0, kept);
  return kept;
}

// What the depth of one axis's outputs is summed over: pixels first .. first + weights.size() - 1.
struct AxisTaps {
  std::int64_t first = 0;
  std::vector<double> weights;
};

// Outputs begin .. begin + count - 1 of `from` -> `to` pixels.
std::vector<AxisTaps> axis_taps(std::int64_t from, std::int64_t to, std::int64_t begin, std::int64_t count,
                                bool average) {
  std::vector<AxisTaps> out;
  for (std::int64_t i = begin; i < begin + count; ++i) {
    if (average) {
      const std::int64_t first = i * from / to, end = ((i + 1) * from + to - 1) / to;
      out.push_back(
          {first, std::vector<double>(static_cast<std::size_t>(end - first), 1.0 / static_cast<double>(end - first))});
      continue;
    }
    const double at =
        std::max(0.0, (static_cast<double>(i) + 0.5) * static_cast<double>(from) / static_cast<double>(to) - 0.5);
    const std::int64_t first = std::min(static_cast<std::int64_t>(at), from - 1);
    const double after = first + 1 < from ? at - static_cast<double>(first) : 0;
    out.push_back({first, after > 0 ? std::vector<double>{1 - after, after} : std::vector<double>{1}});
  }
  return out;
}

Tensor padded_plane(const Tensor& plane, const ImageSize& size, double fill) {  // [..., H, W]
  std::vector<std::int64_t> shape = plane.sizes().vec();
  shape[shape.size() - 2] = size.height;
  shape.back() = size.width;
  Tensor out = at::full(shape, fill, plane.options());
  out.slice(-2, 0, plane.size(-2)).slice(-1, 0, plane.size(-1)).copy_(plane);
  return out;
}

}  // namespace

ImageSize joint_size(const Sample& sample) {
  const Tensor& image = sample.at(kImage);
  if (image.dim() != 3) throw DataError("an image is [C, H, W], not " + c10::str(image.sizes()));
  const ImageSize size{static_cast<int>(image.size(1)), static_cast<int>(image.size(2))};
  check_plane(sample, kMask, at::kByte, 2, size);
  check_plane(sample, kDepth, at::kFloat, 2, size);
  check_plane(sample, kInstances, at::kByte, 3, size);
  check_objects(sample);
  return size;
}

bool has_targets(const Sample& sample) {
  return sample.contains(kMask) || sample.contains(kDepth) || sample.contains(kBoxes) || sample.contains(kInstances);
}

void refuse_targets(const Sample& sample, std::string_view who, std::string_view instead) {
  if (!has_targets(sample)) return;
  throw std::invalid_argument(std::string(who) +
                              " changes images alone, and these have masks, depth or boxes that would not follow; " +
                              std::string(instead));
}

Sample zoomed(Sample sample, const Zoom& zoom, const ZoomHow& how) {
  const ImageSize own = joint_size(sample);
  if (own == zoom.size) return cropped(std::move(sample), zoom.window);
  replace(sample, kImage, [&](const Tensor& image) {
    const Image pixels = image_of(image);
    return tensor_of(how.filter ? resize_window(pixels, zoom.size, zoom.window, *how.filter)
                                : bilinear_window(pixels, zoom.size, zoom.window));
  });
  replace(sample, kMask, [&](const Tensor& mask) { return zoomed_plane(mask, zoom, how); });
  replace(sample, kDepth,
          [&](const Tensor& depth) { return depth_window(depth, zoom.size, zoom.window, how.least_share); });
  if (!sample.contains(kBoxes)) return sample;
  const Tensor kept = zoom_boxes(sample, own, zoom);
  replace(sample, kBoxClasses, [&](const Tensor& classes) { return classes.index_select(0, kept); });
  replace(sample, kInstances,
          [&](const Tensor& instances) { return zoomed_instances(instances.index_select(0, kept), zoom, how); });
  return sample;
}

Sample cropped(Sample sample, const Box& window) {
  const ImageSize own = joint_size(sample);
  check_box(own, window);
  const auto part = [&](const Tensor& plane) {
    return plane.slice(-2, window.top, window.top + window.height)
        .slice(-1, window.left, window.left + window.width)
        .contiguous();
  };
  for (const char* name : {kImage, kMask, kDepth}) replace(sample, name, part);
  if (!sample.contains(kBoxes)) return sample;
  const Tensor kept = zoom_boxes(sample, own, {own, window});
  replace(sample, kBoxClasses, [&](const Tensor& classes) { return classes.index_select(0, kept); });
  replace(sample, kInstances, [&](const Tensor& instances) { return part(instances.index_select(0, kept)); });
  return sample;
}

Sample mirrored(Sample sample) {
  const auto width = static_cast<double>(joint_size(sample).width);
  for (const char* name : {kImage, kMask, kDepth, kInstances})
    replace(sample, name, [](const Tensor& plane) { return plane.flip({-1}); });
  replace(sample, kBoxes, [&](const Tensor& boxes) {
    return at::stack({width - boxes.select(1, 2), boxes.select(1, 1), width - boxes.select(1, 0), boxes.select(1, 3)},
                     1);
  });
  return sample;
}

Sample padded(Sample sample, const ImageSize& size, std::span<const double> fill) {
  const ImageSize own = joint_size(sample);
  const ImageSize to{std::max(size.height, own.height), std::max(size.width, own.width)};
  if (to == own) return sample;
  replace(sample, kImage, [&](const Tensor& image) {
    if (image.size(0) != static_cast<std::int64_t>(fill.size()))
      throw std::invalid_argument("padding needs a number for each of the image's " + std::to_string(image.size(0)) +
                                  " channels, not " + std::to_string(fill.size()));
    std::vector<Tensor> planes;
    for (std::int64_t c = 0; c < image.size(0); ++c)
      planes.push_back(padded_plane(image[c], to, fill[static_cast<std::size_t>(c)]));
    return at::stack(planes);
  });
  replace(sample, kMask, [&](const Tensor& mask) { return padded_plane(mask, to, kIgnored); });
  for (const char* name : {kDepth, kInstances})
    replace(sample, name, [&](const Tensor& plane) { return padded_plane(plane, to, 0); });
  return sample;
}

Tensor depth_window(const Tensor& depth, const ImageSize& size, const Box& window, double least_share) {
  check_box(size, window);
  const Tensor from = depth.contiguous();
  const auto* pixels = from.const_data_ptr<float>();
  const std::int64_t height = from.size(0), width = from.size(1);
  const bool average = size.height <= height && size.width <= width;
  const std::vector<AxisTaps> rows = axis_taps(height, size.height, window.top, window.height, average);
  const std::vector<AxisTaps> columns = axis_taps(width, size.width, window.left, window.width, average);
  Tensor out = at::empty({window.height, window.width}, at::kFloat);
  auto* to = out.mutable_data_ptr<float>();
  for (const AxisTaps& row : rows) {
    for (const AxisTaps& column : columns) {
      double sum = 0, known = 0;
      for (std::size_t i = 0; i < row.weights.size(); ++i) {
        const float* line = pixels + (row.first + static_cast<std::int64_t>(i)) * width + column.first;
        for (std::size_t j = 0; j < column.weights.size(); ++j) {
          if (!std::isfinite(line[j]) || line[j] <= 0) continue;
          const double weight = row.weights[i] * column.weights[j];
          sum += weight * static_cast<double>(line[j]);
          known += weight;
        }
      }
      *to++ = known > least_share ? static_cast<float>(sum / (known + kDepthFloor)) : 0.0f;
    }
  }
  return out;
}

}  // namespace locus::engine
