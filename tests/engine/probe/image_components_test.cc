// The components of images: they are the functions of engine/images on tensors.
#include <gtest/gtest.h>

#include "engine/data/pixels.h"
#include "engine/data/resize.h"
#include "engine/images/encode.h"
#include "engine/images/resize.h"
#include "engine/probe/component.h"
#include "tests/engine/images/pattern.h"

namespace locus::engine {
namespace {

NamedTensors run(std::string_view name, const Json& options, const NamedTensors& given) {
  return run_component(component(name), {{"options", options}}, given);
}

TEST(ImageComponents, PillowsResizeOfABox) {
  const Image image = pattern(40, 50, 3);
  const NamedTensors out =
      run("resize:pillow", {{"height", 16}, {"width", 20}, {"filter", "lanczos"}, {"box", {1, 2, 30, 40}}},
          {{kImage, tensor_of(image)}});
  EXPECT_EQ(image_of(out.at(kImage)), resize(image, Box{1, 2, 30, 40}, 16, 20, Filter::kLanczos));
  EXPECT_THROW(run("resize:pillow", {{"box", {1, 2}}}, {{kImage, tensor_of(image)}}), std::invalid_argument);
}

TEST(ImageComponents, TheResizeOfTensors) {
  const Tensor image = tensor_of(pattern(40, 50, 3));
  const NamedTensors out = run("resize:tensor", {{"height", 16}, {"width", 20}}, {{kImage, image}});
  EXPECT_TRUE(out.at(kImage).equal(resized_antialias(image, {16, 20}, "bilinear")));
}

TEST(ImageComponents, FilesAreDecodedWithTheirHeaders) {
  const Image image = pattern(7, 9, 3);
  const std::vector<std::byte> file = encode_png(image);
  Tensor bytes = at::empty({static_cast<std::int64_t>(file.size())}, at::kByte);
  std::copy(file.begin(), file.end(), reinterpret_cast<std::byte*>(bytes.mutable_data_ptr<std::uint8_t>()));
  const NamedTensors out = run("decode:image", Json::object(), {{"file", bytes}});
  EXPECT_EQ(image_of(out.at(kImage)), image);
  EXPECT_TRUE(out.at("header").equal(at::tensor({7, 9, 3, 8, 1}, at::kLong)));
  EXPECT_THROW(run("decode:image", {{"pixels", 62}}, {{"file", bytes}}), std::invalid_argument);
  EXPECT_THROW(run("decode:image", Json::object(), {{"file", bytes.slice(0, 0, 40)}}), std::invalid_argument);
}

TEST(ImageComponents, TheMiddleOfAnImage) {
  const Image image = pattern(40, 51, 3);
  const NamedTensors out = run("crop:center", {{"height", 32}, {"width", 32}}, {{kImage, tensor_of(image)}});
  EXPECT_EQ(image_of(out.at(kImage)), crop(image, 4, 10, 32, 32));
}

}  // namespace
}  // namespace locus::engine
