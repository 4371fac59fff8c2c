// Images of which a part is asked for, and samples whose image is not decoded yet.
#pragma once

#include "engine/data/sample.h"
#include "engine/images/crop.h"

namespace locus::engine {

// An image, decoded or not. Immutable; thread-safe.
class ImageParts {
 public:
  virtual ~ImageParts() = default;
  virtual ImageSize size() const = 0;  // of the whole
  // Those pixels, as crop() would give them of the whole. Throws DataError where a file cannot be decoded, and
  // std::invalid_argument where the part leaves the image.
  virtual Image part(const Box& box) const = 0;
  Image whole() const { return part({0, 0, size().height, size().width}); }
};

// Of a tensor uint8 [1 or 3, H, W] on the CPU, which it shares; throws std::invalid_argument on another.
class TensorParts final : public ImageParts {
 public:
  explicit TensorParts(Tensor pixels);
  ImageSize size() const override;
  Image part(const Box& box) const override;

 private:
  Tensor pixels_;
};

// A sample whose "image" is still the bytes of a file. Must not outlive its source.
class UndecodedSample : public ImageParts {
 public:
  virtual Sample rest() const = 0;     // everything but "image"
  virtual Sample decoded() const = 0;  // what Source::read gives
};

}  // namespace locus::engine
