// Operations and augmentations run alone.
#include <gtest/gtest.h>

#include "engine/augmentation/augmentation.h"
#include "engine/augmentation/operations.h"
#include "engine/data/pixels.h"
#include "engine/images/colors.h"
#include "engine/probe/component.h"
#include "tests/engine/images/pattern.h"

namespace locus::engine {
namespace {

TEST(OperationComponents, RunEveryOperation) {
  const Image image = pattern(20, 26, 3);
  const auto run = [&](const std::string& library, const Operation& operation) {
    Json options = Json::object();
    if (!operation.argument.empty()) options["argument"] = 0.4;
    if (operation.geometric) options["fill"] = {7, 8, 9};
    const NamedTensors out = run_component(component("operation:" + library + "-" + std::string(operation.name)),
                                           {{"options", options}}, {{"image", tensor_of(image)}});
    EXPECT_EQ(image_of(out.at("image")), operation.apply(image, 0.4, {Sampling::kBicubic, {7, 8, 9}}))
        << operation.name;
  };
  for (const Operation& operation : pillow_operations()) run("pillow", operation);
  for (const Operation& operation : torchvision_operations()) run("torchvision", operation);
}

TEST(OperationComponents, RefuseAFillThatIsNoByte) {
  const Json options = {{"argument", 0.1}, {"fill", {256}}};
  EXPECT_THROW(run_component(component("operation:pillow-shear-x"), {{"options", options}},
                             {{"image", tensor_of(pattern(4, 4, 3))}}),
               std::invalid_argument);
}

TEST(AugmentationComponents, AreAllAugmentationsWithTheDrawsOfSeedEpochAndRow) {
  const Tensor image = tensor_of(pattern(40, 40, 3));
  const RandomStreams random(7);
  AugmentationContext context;
  context.extent = {40, 40};
  for (const AugmentationItem& item : augmentation_items()) {
    const NamedTensors out =
        run_component(component("augmentation:" + item.id()),
                      {{"seed", 7}, {"epoch", 3}, {"row", 12345}, {"extent", {40, 40}}}, {{"image", image}});
    Sample sample{{kImage, image}};
    for (const auto& transform : item.make(context, Options(item.item.json(), Json::object())).transforms)
      sample = transform->apply(std::move(sample), StreamDraws(random, 3, 12345));
    EXPECT_TRUE(at::equal(out.at("image"), sample.at(kImage))) << item.id();
  }
}

TEST(AugmentationComponents, TakeGivenDraws) {
  const auto number = [](std::vector<double> values) { return at::tensor(values, at::kDouble); };
  const NamedTensors given = {{"image", tensor_of(pattern(40, 40, 3))},
                              {"draws.crop.area", number({1})},
                              {"draws.crop.ratio", number({0.5})},
                              {"draws.crop.top", number({0})},
                              {"draws.crop.left", number({0})},
                              {"draws.flip", number({0.9})},
                              {"draws.randaugment.0.op", number({0.1})},
                              {"draws.randaugment.0.apply", number({0.1})},
                              {"draws.randaugment.0.magnitude", number({0})},
                              {"draws.randaugment.0.sign", number({0})},
                              {"draws.randaugment.1.op", number({0.1})},
                              {"draws.randaugment.1.apply", number({0.9})},
                              {"draws.erase.apply", number({0.1})},
                              {"draws.erase.0.area", number({0.1})},
                              {"draws.erase.0.ratio", number({0.5})},
                              {"draws.erase.0.top", number({0})},
                              {"draws.erase.0.left", number({0})},
                              {"draws.erase.noise", at::arange(4800, at::kFloat).view({3, 40, 40})}};
  const NamedTensors out = run_component(component("augmentation:deit"), Json::object(), given);
  const Tensor expected = tensor_of(pillow::equalize(pattern(40, 40, 3))).to(at::kFloat);
  const Tensor image = out.at("image");
  EXPECT_TRUE(at::equal(image.slice(1, 20), expected.slice(1, 20))) << "without a mean, values stay as they are";
  EXPECT_EQ(image[1][2][3].item<double>(), 1600 + 2 * 40 + 3) << "noise lies by its position in the image";
}

TEST(GivenDraws, SayWhatIsMissing) {
  const NamedTensors few = {{"draws.jitter.order", at::zeros({3}, at::kDouble)},
                            {"draws.erase.noise", at::zeros({1, 2, 2})}};
  const GivenDraws draws(Json::object(), few);
  EXPECT_THROW(draws.units("jitter.order", 4), std::invalid_argument);
  EXPECT_EQ(draws.normals("erase.noise", {2}, 2).numel(), 2);
  EXPECT_THROW(draws.normals("erase.noise", {2}, 3), std::invalid_argument);
  EXPECT_EQ(draws.normals("other", {2}, 2).numel(), 2) << "what is not given is of the stream";
}

}  // namespace
}  // namespace locus::engine
