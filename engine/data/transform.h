// What happens to a sample between its file and its batch, and the draws it may use.
#pragma once

#include <array>

#include "engine/base/draws.h"
#include "engine/data/undecoded.h"

namespace locus::engine {

inline constexpr std::string_view kAugmentation = "augmentation";  // purpose of the draws below

// The random numbers of one visit to a sample. Immutable; thread-safe.
class SampleDraws {
 public:
  virtual ~SampleDraws() = default;
  // In [0, 1). `attempt` numbers the tries of a draw that may be refused, 0..255.
  virtual double unit(std::string_view name, std::uint32_t attempt = 0) const = 0;
  // `count` of them, at most 2^24, as keys of a random order.
  virtual std::vector<double> units(std::string_view name, std::size_t count) const = 0;
  // Standard normal.
  virtual double normal(std::string_view name, std::uint32_t attempt = 0) const = 0;
  // float32 standard normals for the numbers of a tensor, at most 2^24 of them. They are no numbers of normal(). A part of a
  // larger tensor is drawn alone by the place of its `first` number.
  virtual Tensor normals(std::string_view name, at::IntArrayRef shape, std::int64_t first = 0) const = 0;
};

// Functions of (seed, name, epoch, visit) and nothing else, so neither threads nor order, batch size, subset or the
// point of resumption change them. `visit` is the sample's row in its split where an epoch shows it once, and
// row R + r for repetition r of R. `random` must outlive it.
class StreamDraws final : public SampleDraws {
 public:
  StreamDraws(const RandomStreams& random, std::int64_t epoch, std::int64_t visit)
      : random_(random), epoch_(static_cast<std::uint64_t>(epoch)), visit_(static_cast<std::uint64_t>(visit)) {}

  double unit(std::string_view name, std::uint32_t attempt = 0) const override {
    return draw_unit(random_, kAugmentation, name, {epoch_, visit_, attempt});
  }
  double normal(std::string_view name, std::uint32_t attempt = 0) const override {
    return draw_normal(random_, kAugmentation, name, {epoch_, visit_, attempt});
  }
  std::vector<double> units(std::string_view name, std::size_t count) const override {
    std::vector<double> out(count);
    for (std::size_t i = 0; i < count; ++i)
      out[i] = draw_unit(random_, kAugmentation, name, {epoch_, elements() + i, 0});
    return out;
  }
  Tensor normals(std::string_view name, at::IntArrayRef shape, std::int64_t first = 0) const override {
    return draw_normals(random_, kAugmentation, name, epoch_, elements() + static_cast<std::uint64_t>(first), shape);
  }

 private:
  std::uint64_t elements() const { return visit_ << 24; }  // where this visit's begin
  const RandomStreams& random_;
  std::uint64_t epoch_, visit_;
};

// A step of preparation, done sample by sample in the threads that decode. Immutable; thread-safe.
class Transform {
 public:
  virtual ~Transform() = default;
  // May throw DataError or std::invalid_argument; the message need not name the sample.
  virtual Sample apply(Sample sample, const SampleDraws& draws) const = 0;
  // The same of a sample that is not decoded, for the first step of several: apply(undecoded.decoded(), draws), to the bit,
  // with less work where a part of the image is enough.
  virtual Sample begin(const UndecodedSample& undecoded, const SampleDraws& draws) const {
    return apply(undecoded.decoded(), draws);
  }
  // Bytes that a sample of at most `bytes` takes at most while this works and after it.
  virtual std::int64_t bytes(std::int64_t bytes) const = 0;
};
using Transforms = std::vector<std::shared_ptr<const Transform>>;

// Normalized pixels are (pixel / 255 - mean) / deviation, by channel. Without channels: images stay as they are.
struct Normalization {
  std::vector<double> mean, deviation;
};

// Images [..., C, H, W] of any type as new float32 tensors on `device`, normalized.
Tensor normalized(const Tensor& images, const Normalization& normalization, at::Device device);

// What each value of a byte becomes there, float32 [channels of the normalization, 1 without, 256]: the same bits.
Tensor byte_values(const Normalization& normalization);

using Extent = std::array<std::int64_t, 2>;  // rows, columns

// `own` enlarged or shrunk so that its shorter side is `shorter`, the longer one cut to whole pixels.
Extent extent_at(const Extent& own, std::int64_t shorter);

// Float images [B, C, H, W] at `extent` by `interpolation` (bilinear or bicubic, half-pixel centers, no antialiasing).
// Throws std::invalid_argument on another interpolation.
Tensor resized(const Tensor& images, const Extent& extent, std::string_view interpolation);

// The two above as steps, with the bits that the functions give for whole batches on the CPU: one for every image of a
// sample, the other for its "image", which must be float and have `channels` channels.
std::shared_ptr<const Transform> normalizing(Normalization normalization);
std::shared_ptr<const Transform> resizing(const Extent& extent, std::int64_t channels, std::string interpolation);

}  // namespace locus::engine
