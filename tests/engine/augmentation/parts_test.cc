// Augmentations decode the part of an image that they crop, and give what the whole image would.
#include <gtest/gtest.h>

#include "engine/augmentation/augmentation.h"
#include "engine/augmentation/crops.h"
#include "engine/data/batch_stream.h"
#include "engine/data/pixels.h"
#include "tests/engine/data/sources.h"
#include "tests/engine/data/stored_fixture.h"
#include "tests/engine/images/pattern.h"

namespace locus::engine {
namespace {

constexpr Extent kExtent{24, 24};

Augmentation made(const std::string& id) {
  const AugmentationContext context{.extent = kExtent, .normalization = {{0.4, 0.5, 0.6}, {0.2, 0.25, 0.3}}};
  return *make_augmentation({{"augmentation", {{"id", id}, {"options", Json::object()}}}}, context);
}

// Twelve images of odd sizes in ImageNet's layout, JPEG and PNG, and one to score.
class StoredParts : public ::testing::Test {
 protected:
  void SetUp() override {
    for (int i = 0; i < 12; ++i) {
      const Image image = pattern(26 + 5 * i, 71 - 3 * i, i % 5 == 4 ? 1 : 3);
      const std::string bytes = text_of(i % 3 == 2 ? encode_png(image) : encode_jpeg(image, 70 + i));
      data_.write("imagenet-1k/train/" + std::string(i % 2 == 0 ? "a/" : "b/") + std::to_string(i) + ".jpg", bytes);
    }
    data_.write("imagenet-1k/val/a/v.jpg", jpeg(50));
    data_.write("imagenet-1k/val/b/v.jpg", jpeg(60));
    source_ = data_.open("imagenet-1k", {{"classes", 2}, {"train", 12}, {"test", 2}})->split("train");
  }

  std::vector<Batch> batches(std::shared_ptr<const Source> source, const Transforms& transforms, int threads) const {
    const auto plan = [row = std::int64_t{0}]() mutable -> std::optional<PlannedBatch> {
      if (row == 24) return std::nullopt;  // two epochs
      PlannedBatch out{row / 12, {}};
      for (int i = 0; i < 4; ++i, ++row) out.rows.push_back(row % 12);
      return out;
    };
    BatchStream stream(std::move(source), transforms, {}, RandomStreams(3), plan, {threads, 8 << 20});
    std::vector<Batch> out;
    while (std::optional<Batch> batch = stream.next()) out.push_back(*std::move(batch));
    return out;
  }

  StoredData data_;
  std::shared_ptr<const Source> source_;
};

TEST_F(StoredParts, GiveTheBitsOfWholeImagesForEveryAugmentationAndNumberOfThreads) {
  for (const AugmentationItem& item : augmentation_items()) {
    const Transforms transforms = made(item.id()).transforms;
    if (transforms.empty()) continue;  // images of any size make no batch
    const std::vector<Batch> whole = batches(std::make_shared<Streamed>(source_), transforms, 1);  // hides open()
    ASSERT_EQ(whole.size(), 6u);
    for (const int threads : {1, 2, 7}) {
      const std::vector<Batch> parts = batches(source_, transforms, threads);
      ASSERT_EQ(parts.size(), whole.size()) << item.id();
      for (std::size_t i = 0; i < whole.size(); ++i) {
        EXPECT_TRUE(at::equal(parts[i].at(kImage), whole[i].at(kImage))) << item.id() << " " << threads << " " << i;
        EXPECT_TRUE(at::equal(parts[i].at(kLabel), whole[i].at(kLabel))) << item.id() << " " << threads << " " << i;
      }
    }
  }
}

TEST_F(StoredParts, AreThoseOfTheImageThatIsRead) {
  for (std::int64_t row = 0; row < source_->size(); ++row) {
    const auto undecoded = source_->open(row);
    ASSERT_TRUE(undecoded);
    const Sample read = source_->read(row), decoded = undecoded->decoded();
    const TensorParts pixels(read.at(kImage));
    const ImageSize size = undecoded->size();
    EXPECT_EQ(size, pixels.size());
    EXPECT_TRUE(at::equal(decoded.at(kImage), read.at(kImage)));
    EXPECT_EQ(undecoded->rest().size(), 1u);
    EXPECT_TRUE(at::equal(undecoded->rest().at(kLabel), read.at(kLabel)));
    const Box box{size.height / 3, size.width / 4, size.height / 2, size.width / 2};
    EXPECT_EQ(undecoded->part(box), pixels.part(box));
    EXPECT_EQ(pixels.part(box), crop(image_of(read.at(kImage)), box));
    EXPECT_EQ(undecoded->whole(), image_of(read.at(kImage)));
    EXPECT_THROW(undecoded->part({0, 0, size.height + 1, 1}), std::invalid_argument);
    EXPECT_THROW(pixels.part({0, 0, size.height + 1, 1}), std::invalid_argument);
  }
}

TEST_F(StoredParts, ArePassedOnByAPartOfTheRows) {
  const auto part = part_of(source_, at::tensor({5, 2}, at::kLong));
  ASSERT_TRUE(part->open(0));
  EXPECT_EQ(part->open(0)->size(), source_->open(5)->size());
  EXPECT_TRUE(at::equal(part->open(1)->decoded().at(kImage), source_->read(2).at(kImage)));
}

TEST_F(StoredParts, OfAFileThatWasChangedNameIt) {
  const std::string name = "imagenet-1k/train/a/0.jpg";
  const Image other = pattern(30, 40, 3);
  const auto size = std::filesystem::file_size(data_.root() / name);
  std::string bytes = text_of(encode_jpeg(other, 40));
  ASSERT_LE(bytes.size(), size);
  bytes.resize(size, '\0');  // as long as it was
  data_.write(name, bytes);
  try {
    source_->open(0);
    FAIL() << "an image of another size was taken";
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find(name + " was changed"), std::string::npos) << error.what();
  }
}

TEST(TensorParts, RefuseWhatIsNoImage) {
  EXPECT_THROW(TensorParts(at::zeros({3, 4, 4})), std::invalid_argument);
  EXPECT_THROW(TensorParts(at::zeros({2, 4, 4}, at::kByte)), std::invalid_argument);
  EXPECT_THROW(TensorParts(at::zeros({4, 4}, at::kByte)), std::invalid_argument);
}

// An image of which nothing but the crop may be asked for.
class OnlyTheCrop final : public UndecodedSample {
 public:
  OnlyTheCrop(Image image, const Box& crop) : image_(std::move(image)), crop_(crop) {}
  ImageSize size() const override { return size_of(image_); }
  Image part(const Box& box) const override {
    EXPECT_EQ(box, crop_);
    return crop(image_, box);
  }
  Sample rest() const override { return {}; }
  Sample decoded() const override { throw std::logic_error("the whole image was decoded"); }

 private:
  Image image_;
  Box crop_;
};

TEST(Parts, OfARandomCropAreTheCropAlone) {
  const RandomStreams random(2);
  const Image image = pattern(60, 80, 3);
  for (const char* id : {"crop-flip", "deit", "three-augment", "torchvision"}) {
    const Augmentation augmentation = made(id);
    for (std::int64_t row = 0; row < 5; ++row) {
      const StreamDraws draws(random, 0, row);
      const OnlyTheCrop sample(image, random_resized_crop({60, 80}, {}, draws));
      const Sample begun = augmentation.transforms.front()->begin(sample, draws);
      const Sample whole = augmentation.transforms.front()->apply({{kImage, tensor_of(image)}}, draws);
      EXPECT_TRUE(at::equal(begun.at(kImage), whole.at(kImage))) << id << " " << row;
    }
  }
}

}  // namespace
}  // namespace locus::engine
