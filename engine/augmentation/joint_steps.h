// Random steps of samples with masks, depth and objects: the scale and the window of a crop, by what the mask shows.
#pragma once

#include "engine/augmentation/augmentation.h"
#include "engine/data/joint.h"
#include "engine/data/pixels.h"

namespace locus::engine {

// Changes images and their targets together, into samples of one extent.
class JointAugmentation : public Transform {
 public:
  // `image_bytes`: of a pixel of an image that comes out, all channels.
  JointAugmentation(const Extent& extent, std::int64_t image_bytes);
  Sample apply(Sample sample, const SampleDraws& draws) const final;
  // What comes in, its image and mask as rows of pixels, what resizing has between its passes, and the new sample twice over.
  // Objects are not counted.
  std::int64_t bytes(std::int64_t bytes) const final;

 protected:
  const Extent& extent() const { return extent_; }

 private:
  // `size`: of the sample, whose tensors fit one another.
  virtual Sample changed(Sample sample, const ImageSize& size, const SampleDraws& draws) const = 0;
  Extent extent_;
  std::int64_t image_bytes_;
};

// Which windows are taken. The labeled pixels of a window are those that are not kIgnored.
struct CategoryRule {
  double most = 1;  // of the labeled pixels, those of one class must be less; 1: any window is taken
  bool several =
      false;  // and there must be more than one class (mmsegmentation); else a window without labels is taken (ASG)
  int tests = 10;       // windows that are tested at most
  bool beyond = false;  // after the last test that fails, another window is drawn and taken untested (mmsegmentation)
};

// A window of `extent` (cut to the size) of the sample resized to `size`: by the draws "crop.top" and "crop.left", the try
// being the attempt, the first one that the rule takes. `mask` uint8 [H, W] of the sample as it is; undefined: no test.
Box category_window(const Tensor& mask, const ImageSize& size, const Extent& extent, const CategoryRule& rule,
                    const ZoomHow& how, const SampleDraws& draws);

// ASG's scale: the sample covers `extent` when both sides are multiplied by max(rows / height, columns / width) times a number
// of 1..most by the draw "scale", rounded half to even; by that maximum alone where rounding leaves a side too short.
// With Pillow's kernel: box where it shrinks, else bicubic.
struct AsgScale {
  ImageSize size;
  Filter filter = Filter::kBicubic;
};
AsgScale asg_scale(const ImageSize& own, const Extent& extent, double most, const SampleDraws& draws);

// Turns the sample around where the draw "flip" is below `probability`.
Sample maybe_mirrored(Sample sample, double probability, const SampleDraws& draws);

// Changes the image of the sample by a function of 8-bit images.
template <typename Change>
Sample with_image(Sample sample, const Change& change) {
  Tensor& image = sample.at(kImage);
  image = tensor_of(change(image_of(image)));
  return sample;
}

}  // namespace locus::engine
