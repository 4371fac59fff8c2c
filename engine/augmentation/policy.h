// Policies: what may happen to the values and the geometry of a training image, drawn image by image.
#pragma once

#include <memory>

#include "engine/augmentation/operations.h"
#include "engine/data/transform.h"

namespace locus::engine {

// Immutable; thread-safe.
class Policy {
 public:
  virtual ~Policy() = default;
  // An image of the same extent. `canvas` fits the image's channels.
  virtual Image apply(Image image, const SampleDraws& draws, const Canvas& canvas) const = 0;
};

// timm's, from its configuration string; `shorter` is the side of training images. "rand-m9-mstd0.5-inc1" is RandAugment
// (Cubuk and others, CVPR Workshops 2020) with m: level (10), n: operations (2), p: probability of each (0.5), mstd: standard
// deviation of the level (0; above 100 the level is uniform in 0..m), mmax: its upper bound (10), inc: with any number, the
// operations that change more at a higher level. "original" and "v0" are policies of AutoAugment (Cubuk and others, CVPR 2019);
// mstd may follow. Throws std::invalid_argument on anything else, naming the part. Draws: "randaugment.<k>.op", ".apply",
// ".magnitude", ".sign" of operation k; of AutoAugment "autoaugment.policy", and "autoaugment.<k>..." without ".op".
std::shared_ptr<const Policy> timm_policy(std::string_view configuration, std::int64_t shorter);

// torchvision's, on its tensor operations; an operation's size is a bin of `bins` evenly over its range.
struct Bins {
  std::int64_t bin = 9, bins = 31;
};
// `operations` drawn of 14, each applied. Draws "randaugment.<k>.op" and ".sign".
std::shared_ptr<const Policy> torchvision_randaugment(std::int64_t operations, const Bins& bins);
// One of the 14 at a random bin of wider ranges (Mueller and Hutter, ICCV 2021). Draws "trivialaugment.op", ".magnitude",
// ".sign".
std::shared_ptr<const Policy> torchvision_trivialaugment(std::int64_t bins);
// AutoAugment's policy for ImageNet, of 10 bins. Draws "autoaugment.policy", "autoaugment.<k>.apply" and ".sign".
std::shared_ptr<const Policy> torchvision_autoaugment();

// A sub-policy of AutoAugment: two operations, each with its probability and level. The names are timm's.
struct PolicyStep {
  std::string_view operation;
  double probability;
  std::int64_t level;
};
using SubPolicy = std::array<PolicyStep, 2>;
std::span<const SubPolicy> autoaugment_original();  // with "Posterize" for the posterization of either library
std::span<const SubPolicy> autoaugment_v0();

}  // namespace locus::engine
