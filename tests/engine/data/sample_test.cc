// Samples, how they become batches, and where they come from.
#include "engine/data/sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/data/source.h"
#include "tests/engine/data/sources.h"

namespace locus::engine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

template <typename Call>
std::string argument_refusal(Call call) {
  try {
    call();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "not refused";
}

Sample boxes(std::int64_t count) {
  return {{kLabel, at::scalar_tensor(count, at::kLong)}, {"boxes", at::full({count, 4}, count, at::kFloat)}};
}

TEST(StackSamples, StacksEveryTensorInTheOrderOfTheSamples) {
  const std::vector<Sample> samples{{{"depth", at::full({2, 3}, 1.5)}, {kLabel, at::scalar_tensor(4, at::kLong)}},
                                    {{"depth", at::full({2, 3}, 2.5)}, {kLabel, at::scalar_tensor(1, at::kLong)}}};
  const Batch batch = stack_samples(samples);
  EXPECT_EQ(batch.size(), 2u);
  EXPECT_TRUE(at::equal(batch.at(kLabel), at::tensor({4, 1}, at::kLong)));
  EXPECT_EQ(batch.at("depth").sizes(), (std::vector<std::int64_t>{2, 2, 3}));
  EXPECT_EQ(batch.at("depth")[1][0][2].item<float>(), 2.5f);
}

TEST(StackSamples, NamesTheTensorBothShapesAndTheRemedyWhereShapesDiffer) {
  const std::vector<Sample> samples{{{kImage, at::zeros({3, 4, 5})}}, {{kImage, at::zeros({3, 5, 4})}}};
  EXPECT_THAT(argument_refusal([&] { stack_samples(samples); }),
              AllOf(HasSubstr("'image'"), HasSubstr("[3, 4, 5] and [3, 5, 4]"), HasSubstr("resize or crop")));
}

TEST(StackSamples, RefusesSamplesOfOtherNamesOrTypes) {
  const Sample one{{kLabel, at::zeros({}, at::kLong)}},
      more{{kLabel, at::zeros({}, at::kLong)}, {"mask", at::zeros({})}};
  EXPECT_THAT(argument_refusal([&] {
                stack_samples(std::vector<Sample>{one, more});
              }),
              HasSubstr("lacks the tensor 'mask'"));
  EXPECT_THAT(argument_refusal([&] {
                stack_samples(std::vector<Sample>{more, one});
              }),
              HasSubstr("lacks the tensor 'mask'"));
  const Sample other{{kLabel, at::zeros({}, at::kInt)}};
  EXPECT_THAT(argument_refusal([&] {
                stack_samples(std::vector<Sample>{one, other});
              }),
              HasSubstr("Long in one sample"));
}

TEST(Joining, KeepsHowManyRowsEachSampleHas) {
  const std::vector<Sample> samples{boxes(2), boxes(0), boxes(3)};
  const Batch batch = joining({"boxes"})(samples);
  EXPECT_EQ(batch.at("boxes").sizes(), (std::vector<std::int64_t>{5, 4}));
  EXPECT_TRUE(at::equal(batch.at("boxes.count"), at::tensor({2, 0, 3}, at::kLong)));
  EXPECT_TRUE(at::equal(batch.at("boxes").select(1, 0), at::tensor({2.f, 2.f, 3.f, 3.f, 3.f})));
  EXPECT_TRUE(at::equal(batch.at(kLabel), at::tensor({2, 0, 3}, at::kLong))) << "the others are stacked";
}

TEST(Joining, RefusesRowsOfOtherShapes) {
  const std::vector<Sample> samples{{{"boxes", at::zeros({2, 4})}}, {{"boxes", at::zeros({2, 5})}}};
  EXPECT_THAT(argument_refusal([&] { joining({"boxes"})(samples); }), HasSubstr("[2, 4] and [2, 5]"));
}

TEST(Names, OfImagesAreTheImageAndItsViews) {
  EXPECT_TRUE(is_image("image"));
  EXPECT_TRUE(is_image("image.crop-1"));
  EXPECT_FALSE(is_image("images"));
  EXPECT_FALSE(is_image("mask"));
}

TEST(ResidentSource, GivesRowsOfItsTensors) {
  const auto source = resident_source(drawn_samples(5, 3, 2, 4));
  const Sample sample = source->read(3);
  EXPECT_TRUE(at::equal(sample.at(kImage), source->resident()->at(kImage)[3]));
  EXPECT_EQ(sample.at(kLabel).item<std::int64_t>(), 3);
  EXPECT_EQ(source->bytes(3), bytes_of(sample));
  EXPECT_EQ(bytes_of(sample), 3 * 2 * 4 + 8);
}

TEST(ResidentSource, RefusesTensorsOfDifferentCounts) {
  EXPECT_THAT(argument_refusal([] {
                resident_source({{"a", at::zeros({3})}, {"b", at::zeros({4})}});
              }),
              HasSubstr("'a' and 'b' do not hold equally many samples"));
  EXPECT_NE(argument_refusal([] { resident_source({}); }), "not refused");
}

TEST(PartOf, IsTheChosenRowsWhereverTheSamplesLie) {
  const auto whole = resident_source(drawn_samples(6, 1, 2, 2));
  const Tensor rows = at::tensor({4, 0, 4}, at::kLong);
  const auto resident = part_of(whole, rows), streamed = part_of(std::make_shared<Streamed>(whole), rows);
  EXPECT_NE(resident->resident(), nullptr);
  EXPECT_EQ(streamed->resident(), nullptr);
  for (const auto& part : {resident, streamed}) {
    ASSERT_EQ(part->size(), 3);
    EXPECT_EQ(part->read(0).at(kLabel).item<std::int64_t>(), 4);
    EXPECT_EQ(part->read(1).at(kLabel).item<std::int64_t>(), 0);
    EXPECT_TRUE(at::equal(part->read(2).at(kImage), whole->read(4).at(kImage)));
  }
}

}  // namespace
}  // namespace locus::engine
