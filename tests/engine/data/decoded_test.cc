// Decoded images that processes share: the same pixels, whoever dies, comes second or finds something else there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "engine/data/stored/decoded_images.h"
#include "tests/engine/data/stored_fixture.h"
#include "tests/engine/images/pattern.h"

namespace locus::engine {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kDecodedBudget = 1 << 20;

class Decoded : public ::testing::Test {
 protected:
  std::shared_ptr<DecodedImages> open(const std::string& name = "a", std::int64_t budget = kDecodedBudget) const {
    return DecodedImages::open(folder(), name, sizes_, budget);
  }
  fs::path folder() const { return folder_.path() / "decoded"; }
  fs::path only_file() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder())) files.push_back(entry.path());
    EXPECT_EQ(files.size(), 1u);
    return files.at(0);
  }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder()), fs::directory_iterator()));
  }
  Image image(std::int64_t index) const {
    const ImageSize& size = sizes_.at(static_cast<std::size_t>(index));
    return pattern(size.height, size.width, 3);
  }
  void fill(DecodedImages& images) const {
    for (std::int64_t i = 0; i < 3; ++i) images.fill(i, [&] { return image(i); });
  }
  void expect_all(const DecodedImages& images) const {
    for (std::int64_t i = 0; i < 3; ++i) {
      ASSERT_TRUE(images.has(i)) << i;
      const ImageSize& size = sizes_[static_cast<std::size_t>(i)];
      EXPECT_EQ(images.part(i, {0, 0, size.height, size.width}), image(i)) << i;
    }
  }

  TemporaryFolder folder_;
  std::vector<ImageSize> sizes_ = {{5, 7}, {1, 1}, {20, 3}};
};

TEST_F(Decoded, ImagesAreThereOnceTheyAreFilledForWhoeverOpensTheSameName) {
  const auto first = open(), second = open();
  EXPECT_FALSE(first->has(0));
  fill(*first);
  expect_all(*first);
  expect_all(*second);
  expect_all(*open());
  EXPECT_EQ(first->part(0, {1, 2, 3, 4}), crop(image(0), 1, 2, 3, 4));
  EXPECT_THROW(first->part(0, {1, 2, 5, 4}), std::invalid_argument);
  EXPECT_THROW(first->has(3), std::out_of_range);
  first->fill(0, []() -> Image { throw std::logic_error("decoded twice"); });
}

TEST_F(Decoded, ImagesOfAnotherNameOrOfOtherSizesAreNotTaken) {
  fill(*open());
  EXPECT_FALSE(open("b")->has(0)) << "another manifest";
  sizes_ = {{7, 5}, {1, 1}, {3, 20}};  // as many bytes
  EXPECT_FALSE(open()->has(0));
}

TEST_F(Decoded, AFailureToDecodeLeavesTheImageOut) {
  const auto images = open();
  EXPECT_THROW(images->fill(0, []() -> Image { throw std::runtime_error("is damaged"); }), std::runtime_error);
  EXPECT_THROW(images->fill(0, [] { return pattern(7, 5, 3); }), std::logic_error);
  EXPECT_FALSE(images->has(0));
  fill(*images);
  expect_all(*images);
}

TEST_F(Decoded, AProcessThatDiesWhileItWritesLeavesNoHalfImage) {
  const auto images = open();
  EXPECT_EXIT(images->fill(0, []() -> Image { ::_exit(7); }), ::testing::ExitedWithCode(7), "");
  fill(*images);
  EXPECT_FALSE(images->has(0)) << "nobody knows what it had written";
  EXPECT_TRUE(images->has(1));
  EXPECT_TRUE(images->has(2));
}

TEST_F(Decoded, WritersBesideEachOtherLeaveEveryImageOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> decoded{0};
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] {
      const auto images = open();  // makes it, or finds it made
      ASSERT_TRUE(images);
      for (std::int64_t index = 0; index < 3; ++index) {
        images->fill(index, [&] {
          ++decoded;
          return image(index);
        });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  expect_all(*open());
  EXPECT_GE(decoded, 3);
  EXPECT_EQ(files(), 1u) << "no temporary file is left";
}

TEST_F(Decoded, AFileOfAnotherRunOfTheMachineOrADamagedOneIsMadeAnew) {
  fill(*open());
  const fs::path file = only_file();
  {
    std::fstream header(file, std::ios::in | std::ios::out | std::ios::binary);
    header.seekp(23 + 65 + 65);  // where the run begins
    header.put('!');
  }
  EXPECT_FALSE(open()->has(0));
  fill(*open());
  fs::resize_file(file, 5000);
  EXPECT_FALSE(open()->has(0));
  fill(*open());
  expect_all(*open());
}

TEST_F(Decoded, WhatDoesNotFitTheBudgetIsNotKept) {
  EXPECT_EQ(open("a", 8192 + 3 * (35 + 1 + 60) - 1), nullptr);
  EXPECT_FALSE(fs::exists(folder()));
  EXPECT_NE(open("a", 8192 + 3 * (35 + 1 + 60)), nullptr);
  EXPECT_EQ(DecodedImages::open("/proc/nowhere", "a", sizes_, kDecodedBudget), nullptr) << "no folder can be made";
}

TEST_F(Decoded, TheFileUsedLongestAgoMakesRoom) {
  const auto old = open("old");
  fill(*old);
  fs::last_write_time(only_file(), fs::file_time_type::min() + std::chrono::hours(24));
  fill(*open("new"));
  EXPECT_EQ(files(), 2u);
  const auto third = open("third", 2 * (8192 + 3 * (35 + 1 + 60)));
  EXPECT_EQ(files(), 2u);
  EXPECT_TRUE(open("new")->has(0)) << "it was used since";
  expect_all(*old);
  EXPECT_FALSE(open("old")->has(0)) << "made anew";
}

TEST(DecodedSources, GiveTheSamplesOfTheFiles) {
  const StoredData data;
  for (int i = 0; i < 5; ++i)
    data.write("imagenet-1k/train/" + std::string(i < 3 ? "a/" : "b/") + std::to_string(i) + ".jpg",
               text_of(encode_jpeg(pattern(30 + i, 20 + 3 * i, 3))));
  data.write("imagenet-1k/val/a/v.jpg", jpeg(50));
  data.write("imagenet-1k/val/b/v.jpg", jpeg(60));
  const DatasetItem& item = dataset_item("imagenet-1k");
  const Options options(item.item.json(), kTwoClasses);
  const auto plain = item.open(data.place(), options)->split("train");
  const DataPlace place{data.place().root, data.place().cache, kDecodedBudget};
  const auto keeping = item.open(place, options)->split("train"), again = item.open(place, options)->split("train");
  for (const auto& source : {keeping, keeping, again}) {
    for (std::int64_t row = 0; row < 5; ++row) {
      const Sample expected = plain->read(row), sample = source->read(row);
      EXPECT_TRUE(at::equal(sample.at(kImage), expected.at(kImage))) << row;
      EXPECT_TRUE(at::equal(sample.at(kLabel), expected.at(kLabel))) << row;
      const Box box{3, 5, 11, 13};
      EXPECT_EQ(source->open(row)->part(box), plain->open(row)->part(box)) << row;
    }
  }
  EXPECT_TRUE(fs::exists(data.place().cache / "decoded"));
  fs::remove(data.root() / "imagenet-1k/train/a/0.jpg");
  EXPECT_THROW(plain->read(0), DataError);
  EXPECT_EQ(again->read(0).at(kImage).size(1), 30) << "it is read no more";
}

}  // namespace
}  // namespace locus::engine
