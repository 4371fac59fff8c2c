// torchvision's policies: ranges in bins, on its tensor operations.
#include <cmath>
#include <string>

#include "engine/augmentation/draw.h"
#include "engine/augmentation/policy.h"

namespace locus::engine {
namespace {

// The largest changes of one policy's operations.
struct Ranges {
  double shear, rotate, factor, posterize;
  double translate;  // pixels, or with `relative` a share of the side
  bool relative;
};
constexpr Ranges kPlainRanges{0.3, 30, 0.9, 4, 150.0 / 331.0, true};
constexpr Ranges kWide{0.99, 135, 0.99, 6, 32, false};

// What the operation at `share` of its range does to an image of that height and width.
struct Ranged {
  std::string_view name;       // torchvision's
  std::string_view operation;  // of torchvision_operations()
  bool has_sign;
  double (*argument)(double share, const Ranges& ranges, const Image& image);
};

double none(double, const Ranges&, const Image&) { return 0; }
double shear(double t, const Ranges& r, const Image&) { return r.shear * t; }
double columns(double t, const Ranges& r, const Image& i) { return r.translate * (r.relative ? i.width : 1) * t; }
double rows(double t, const Ranges& r, const Image& i) { return r.translate * (r.relative ? i.height : 1) * t; }
double rotate(double t, const Ranges& r, const Image&) { return r.rotate * t; }
double change(double t, const Ranges& r, const Image&) { return r.factor * t; }  // of a factor of 1
double bits(double t, const Ranges& r, const Image&) { return std::nearbyint(8 - r.posterize * t); }
double threshold(double t, const Ranges&, const Image&) { return 255 * (1 - t); }

constexpr Ranged kRangedOperations[] = {
    {"Identity", "identity", false, none},
    {"ShearX", "shear-x", true, shear},
    {"ShearY", "shear-y", true, shear},
    {"TranslateX", "translate-x", true, columns},
    {"TranslateY", "translate-y", true, rows},
    {"Rotate", "rotate", true, rotate},
    {"Brightness", "brightness", true, change},
    {"Color", "saturation", true, change},
    {"Contrast", "contrast", true, change},
    {"Sharpness", "sharpness", true, change},
    {"Posterize", "posterize", false, bits},
    {"Solarize", "solarize", false, threshold},
    {"AutoContrast", "autocontrast", false, none},
    {"Equalize", "equalize", false, none},
};
constexpr Ranged kInvert{"Invert", "invert", false, none};
constexpr auto kLast = static_cast<std::int64_t>(std::size(kRangedOperations)) - 1;

const Ranged& ranged(std::string_view name) {
  for (const Ranged& one : kRangedOperations) {
    if (one.name == name) return one;
  }
  return kInvert;
}

double share(std::int64_t bin, std::int64_t bins) {
  return bins > 1 ? static_cast<double>(bin) / static_cast<double>(bins - 1) : 0;
}

// `name` is what its draws begin with.
Image applied(const Image& image, const Ranged& one, double share, const Ranges& ranges, const std::string& name,
              const SampleDraws& draws, const Canvas& canvas) {
  double argument = one.argument(share, ranges, image);
  if (one.has_sign && draws.unit(name + ".sign") <= 0.5) argument = -argument;
  if (one.argument == change) argument += 1;
  return operation_named(torchvision_operations(), one.operation).apply(image, argument, canvas);
}

class RandAugment final : public Policy {
 public:
  RandAugment(std::int64_t operations, const Bins& bins)
      : operations_(operations), share_(share(bins.bin, bins.bins)) {}

  Image apply(Image image, const SampleDraws& draws, const Canvas& canvas) const override {
    for (std::int64_t k = 0; k < operations_; ++k) {
      const std::string name = "randaugment." + std::to_string(k);
      const Ranged& one = kRangedOperations[integer_of(draws.unit(name + ".op"), 0, kLast)];
      image = applied(image, one, share_, kPlainRanges, name, draws, canvas);
    }
    return image;
  }

 private:
  std::int64_t operations_;
  double share_;
};

class TrivialAugment final : public Policy {
 public:
  explicit TrivialAugment(std::int64_t bins) : bins_(bins) {}

  Image apply(Image image, const SampleDraws& draws, const Canvas& canvas) const override {
    const Ranged& one = kRangedOperations[integer_of(draws.unit("trivialaugment.op"), 0, kLast)];
    const std::int64_t bin = integer_of(draws.unit("trivialaugment.magnitude"), 0, bins_ - 1);
    return applied(image, one, share(bin, bins_), kWide, "trivialaugment", draws, canvas);
  }

 private:
  std::int64_t bins_;
};

class AutoAugment final : public Policy {
 public:
  Image apply(Image image, const SampleDraws& draws, const Canvas& canvas) const override {
    const auto policies = autoaugment_original();
    const auto last = static_cast<std::int64_t>(policies.size()) - 1;
    const SubPolicy& policy = policies[static_cast<std::size_t>(integer_of(draws.unit("autoaugment.policy"), 0, last))];
    for (std::size_t k = 0; k < policy.size(); ++k) {
      const std::string name = "autoaugment." + std::to_string(k);
      if (draws.unit(name + ".apply") > policy[k].probability) continue;
      image =
          applied(image, ranged(policy[k].operation), share(policy[k].level, 10), kPlainRanges, name, draws, canvas);
    }
    return image;
  }
};

}  // namespace

std::shared_ptr<const Policy> torchvision_randaugment(std::int64_t operations, const Bins& bins) {
  return std::make_shared<RandAugment>(operations, bins);
}
std::shared_ptr<const Policy> torchvision_trivialaugment(std::int64_t bins) {
  return std::make_shared<TrivialAugment>(bins);
}
std::shared_ptr<const Policy> torchvision_autoaugment() { return std::make_shared<AutoAugment>(); }

}  // namespace locus::engine
