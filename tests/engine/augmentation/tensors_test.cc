// torchvision's operations beside the tensor expressions they stand for, in ATen's own arithmetic.
#include <gtest/gtest.h>

#include <numbers>

#include "engine/augmentation/operations.h"
#include "engine/data/pixels.h"
#include "tests/engine/images/pattern.h"

namespace locus::engine {
namespace {

Tensor bytes_of_values(const Tensor& values) { return values.clamp(0, 255).to(at::kByte); }

// image x factor + other x (1 - factor)
Tensor blend(const Tensor& image, const Tensor& other, double factor) {
  return bytes_of_values(image.to(at::kFloat).mul(factor).add(other, 1 - factor));
}

Tensor gray(const Tensor& image) {
  const Tensor values = image.to(at::kFloat);
  return values[0].mul(0.2989).add(values[1], 0.587).add(values[2], 0.114).floor().unsqueeze(0);
}

Tensor sharpness(const Tensor& image, double factor) {
  const Tensor values = image.to(at::kFloat);
  Tensor kernel = at::ones({3, 3}) / 13;
  kernel[1][1] = 5.0 / 13;
  const Tensor smooth =
      at::conv2d(values.unsqueeze(0), kernel.expand({3, 1, 3, 3}), {}, 1, at::IntArrayRef{0}, 1, 3).squeeze(0).round();
  Tensor out = values.clone();
  Tensor inner = out.slice(1, 1, -1).slice(2, 1, -1);
  inner.add_(smooth.sub(inner), 1 - factor);
  return bytes_of_values(out);
}

Tensor autocontrast(const Tensor& image) {
  const Tensor values = image.to(at::kFloat);
  const Tensor low = values.amin({1, 2}, true), high = values.amax({1, 2}, true);
  return bytes_of_values(values.sub(low).div((high - low).mul(1.0 / 255)));
}

// Nearest pixels under {a, b, c, d, e, f}, which maps coordinates from the center.
Tensor sampled(const Tensor& image, std::vector<double> map) {
  const std::int64_t height = image.size(1), width = image.size(2);
  const auto axis = [](std::int64_t extent) {
    const double half = static_cast<double>(extent) / 2;
    return at::linspace(0.5 - half, half - 0.5, extent, at::kFloat);
  };
  const Tensor x = axis(width).view({1, width}).expand({height, width});
  const Tensor y = axis(height).view({height, 1}).expand({height, width});
  const Tensor points = at::stack({x, y, at::ones({height, width})}, -1).view({-1, 3});
  const Tensor theta = at::tensor(map, at::kDouble).view({2, 3}).to(at::kFloat);
  const Tensor halves = at::tensor({static_cast<double>(width) / 2, static_cast<double>(height) / 2}).to(at::kFloat);
  const Tensor grid = points.mm(theta.t().div(halves)).view({1, height, width, 2});
  return at::grid_sampler(image.to(at::kFloat).unsqueeze(0), grid, /*nearest*/ 1, /*zeros*/ 0, false)
      .squeeze(0)
      .to(at::kByte);
}

Tensor expected(std::string_view name, const Tensor& image, double argument) {
  const auto height = static_cast<double>(image.size(1)), width = static_cast<double>(image.size(2));
  if (name == "identity" || name == "equalize" || name == "invert") return Tensor();  // whole numbers
  if (name == "autocontrast") return autocontrast(image);
  if (name == "brightness") return bytes_of_values(image.to(at::kFloat).mul(argument));
  if (name == "contrast") return blend(image, gray(image).mean(), argument);
  if (name == "saturation") return blend(image, gray(image), argument);
  if (name == "sharpness") return sharpness(image, argument);
  if (name == "posterize") {
    const auto bits = static_cast<std::int64_t>(argument);
    return image.bitwise_and(((1 << bits) - 1) << (8 - bits));
  }
  if (name == "solarize") return at::where(image.ge(argument), at::bitwise_not(image), image);
  if (name == "shear-x") return sampled(image, {1, argument, argument * height / 2, 0, 1, 0});
  if (name == "shear-y") return sampled(image, {1, 0, 0, argument, 1, argument * width / 2});
  if (name == "translate-x") return sampled(image, {1, 0, -std::trunc(argument), 0, 1, 0});
  if (name == "translate-y") return sampled(image, {1, 0, 0, 0, 1, -std::trunc(argument)});
  const double turn = argument * std::numbers::pi / 180;  // rotate
  return sampled(image, {std::cos(turn), -std::sin(turn), 0, std::sin(turn), std::cos(turn), 0});
}

TEST(Operations, OfTorchvisionAreWithinOneOfTheTensorExpressions) {
  const Image image = pattern(47, 61, 3);
  for (const Operation& operation : torchvision_operations()) {
    const bool factor = operation.argument.starts_with("factor");
    for (const double argument :
         factor ? std::vector<double>{0.1, 0.73, 1.27, 1.9} : std::vector<double>{0.09, 2, 7.3}) {
      const Tensor found = tensor_of(operation.apply(image, argument, {}));
      const Tensor tensors = expected(operation.name, tensor_of(image), argument);
      if (!tensors.defined()) continue;
      const Tensor off = (found.to(at::kShort) - tensors.to(at::kShort)).abs();
      EXPECT_LE((off > (factor ? 1 : 0)).to(at::kDouble).mean().item<double>(), operation.name == "rotate" ? 0.001 : 0)
          << operation.name << " " << argument << ", largest " << off.max().item<int>();
      EXPECT_LE((off > 0).to(at::kDouble).mean().item<double>(), 0.05) << operation.name << " " << argument;
    }
  }
}

}  // namespace
}  // namespace locus::engine
