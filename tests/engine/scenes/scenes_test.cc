// The files of fashion-scenes: every layout's, complete, decodable and the same each time.
#include "engine/scenes/scenes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "core/base/json.h"
#include "core/base/sha256.h"
#include "engine/base/failure.h"
#include "engine/images/decode.h"
#include "engine/scenes/layout.h"
#include "tests/engine/data/idx_fixture.h"
#include "tests/engine/scenes/wardrobe.h"

namespace locus::engine::scenes {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr ScenesSettings kSmall = {.seed = 5,
                                   .train = 3,
                                   .validation = 2,
                                   .vtab_train = 20,
                                   .vtab_validation = 4,
                                   .vtab_test = 16,
                                   .cifar = 10,
                                   .shards = 2,
                                   .dense_train = 24,
                                   .dense_validation = 3,
                                   .shorter_least = 24,
                                   .shorter_most = 40};

// Made once; all tests but those of making look at it.
const fs::path& made() {
  static const TemporaryFolder folder;
  static const fs::path path = [] {
    make_scenes(simple_wardrobe(), folder.path() / "scenes", kSmall);
    return folder.path() / "scenes";
  }();
  return path;
}

std::map<std::string, std::string> digests(const fs::path& folder) {
  std::map<std::string, std::string> out;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file())
      out[fs::relative(entry.path(), folder).string()] = sha256_hex(read_bytes(entry.path()));
  }
  return out;
}

std::vector<std::string> lines_of(const fs::path& file) {
  std::istringstream in(read_bytes(file));
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

ImageHeader header_of(const fs::path& file) {
  const std::string bytes = read_bytes(file);
  return read_header(std::as_bytes(std::span(bytes)));
}

TEST(FashionScenes, AreTheSameBytesEachTime) {
  const TemporaryFolder again;
  make_scenes(simple_wardrobe(), again.path() / "scenes", kSmall);
  EXPECT_EQ(digests(again.path() / "scenes"), digests(made()));
}

TEST(FashionScenes, AnotherSeedMakesOtherImages) {
  const TemporaryFolder other;
  ScenesSettings settings = kSmall;
  settings.seed = 6;
  make_scenes(simple_wardrobe(), other.path() / "scenes", settings);
  const auto one = digests(made()), two = digests(other.path() / "scenes");
  const std::string file = "imagenet-1k/train/n01440764/n01440764_0.JPEG";
  EXPECT_NE(one.at(file), two.at(file));
}

TEST(FashionScenes, EveryImageFileDecodes) {
  std::size_t count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(made())) {
    const std::string kind = entry.path().extension();
    if (kind != ".JPEG" && kind != ".jpg") continue;
    const std::string bytes = read_bytes(entry.path());
    EXPECT_NO_THROW(decode(std::as_bytes(std::span(bytes)))) << entry.path();
    ++count;
  }
  EXPECT_EQ(count, 50u + 50u + 52u + 3 * (48u + 16u) + 27u + 30u);
}

TEST(FashionScenes, ProgressCountsEveryFileThatIsThere) {
  const TemporaryFolder folder;
  std::int64_t last = 0, total = 0;
  make_scenes(simple_wardrobe(), folder.path() / "scenes", kSmall, [&](std::int64_t files, std::int64_t of) {
    EXPECT_EQ(files, last + 1);
    last = files;
    total = of;
  });
  EXPECT_EQ(last, total);
  EXPECT_EQ(last, static_cast<std::int64_t>(digests(folder.path() / "scenes").size()));
  EXPECT_FALSE(fs::exists(folder.path() / "scenes.partial"));
}

TEST(FashionScenes, EachLayoutIsAFolderWithItsFiles) {
  const Json summary = Json::parse(read_bytes(made() / "scenes.json"));
  ASSERT_EQ(summary.at("layouts").size(), scenes_layouts().size());
  for (const Json& layout : summary.at("layouts")) {
    const std::string folder = layout.at("folder");
    EXPECT_EQ(layout.at("files"), digests(made() / folder).size()) << folder;
  }
  EXPECT_EQ(summary.at("settings").at("seed"), 5);
}

TEST(FashionScenes, ImagenetVariesInSizeAndHasAPngUnderAnotherName) {
  std::set<std::pair<int, int>> sizes;
  int png = 0, all = 0;
  for (const auto& entry : fs::recursive_directory_iterator(made() / "imagenet-1k" / "train")) {
    if (!entry.is_regular_file()) continue;
    const ImageHeader header = header_of(entry.path());
    sizes.insert({header.height, header.width});
    png += header.kind == ImageKind::kPng;
    ++all;
  }
  EXPECT_EQ(all, 30);
  EXPECT_EQ(png, 1);
  EXPECT_GT(sizes.size(), 20u);
  EXPECT_EQ(files_in(made() / "imagenet-1k" / "train"), 10u);
  EXPECT_EQ(files_in(made() / "imagenet-1k" / "val" / "n01440764"), 2u);
}

TEST(FashionScenes, OfEnoughImagenetFilesSomeAreGray) {
  const TemporaryFolder folder;
  ScenesSettings settings = kSmall;
  settings.train = 24;
  make_scenes(simple_wardrobe(), folder.path() / "scenes", settings);
  int gray = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder.path() / "scenes" / "imagenet-1k" / "train"))
    gray += entry.is_regular_file() && header_of(entry.path()).channels == 1;
  EXPECT_GT(gray, 5);
  EXPECT_LT(gray, 24);
}

TEST(FashionScenes, VtabListsNameFilesAndLabels) {
  const std::map<std::string, int> classes = {{"caltech101", 10}, {"eurosat", 5}, {"dsprites_loc", 16}};
  for (const auto& [task, count] : classes) {
    const fs::path folder = made() / "vtab-1k" / task;
    for (const auto& [part, size] :
         {std::pair{"train800", 20u}, {"val200", 4u}, {"train800val200", 24u}, {"test", 16u}}) {
      const std::vector<std::string> lines = lines_of(folder / (std::string(part) + ".txt"));
      ASSERT_EQ(lines.size(), size) << task << ", " << part;
      EXPECT_THAT(lines[0], HasSubstr(std::string("images/") + part + "/000000.jpg "));
      for (const std::string& line : lines) {
        const std::size_t space = line.find(' ');
        EXPECT_TRUE(fs::exists(folder / line.substr(0, space))) << line;
        EXPECT_LT(std::stoi(line.substr(space + 1)), count) << line;
      }
    }
  }
}

TEST(FashionScenes, TheThousandOfVtabAreTheOthersAgainTrainingFirst) {
  const fs::path folder = made() / "vtab-1k" / "eurosat" / "images";
  EXPECT_EQ(read_bytes(folder / "train800val200" / "000003.jpg"), read_bytes(folder / "train800" / "000003.jpg"));
  EXPECT_EQ(read_bytes(folder / "train800val200" / "000021.jpg"), read_bytes(folder / "val200" / "000001.jpg"));
}

TEST(FashionScenes, PlacesAreAsOftenAsOneAnother) {
  std::map<int, int> counts;
  for (const std::string& line : lines_of(made() / "vtab-1k" / "dsprites_loc" / "test.txt"))
    ++counts[std::stoi(line.substr(line.find(' ')))];
  EXPECT_EQ(counts.size(), 16u);
}

TEST(FashionScenes, TinyImagenetListsItsValidationFiles) {
  const fs::path folder = made() / "tiny-imagenet";
  const std::vector<std::string> lines = lines_of(folder / "val" / "val_annotations.txt");
  ASSERT_EQ(lines.size(), 20u);
  for (const std::string& line : lines) {
    std::istringstream in(line);
    std::string file, wnid;
    int left = -1, top = -1, right = -1, bottom = -1;
    in >> file >> wnid >> left >> top >> right >> bottom;
    const ImageHeader header = header_of(folder / "val" / "images" / file);
    EXPECT_EQ(header.height, 64);
    EXPECT_EQ(header.width, 64);
    EXPECT_TRUE(fs::exists(folder / "train" / wnid / "images" / (wnid + "_0.JPEG")));
    EXPECT_LT(left, right);
    EXPECT_LT(top, bottom);
  }
  std::vector<std::string> wnids = lines_of(folder / "wnids.txt");
  EXPECT_FALSE(std::is_sorted(wnids.begin(), wnids.end()));
  EXPECT_EQ(std::set<std::string>(wnids.begin(), wnids.end()).size(), 10u);
}

TEST(FashionScenes, ImagenetHundredLiesInFourTrainingFolders) {
  std::set<std::string> classes;
  for (const char* part : {"train.X1", "train.X2", "train.X3", "train.X4"}) {
    for (const auto& entry : fs::directory_iterator(made() / "imagenet-100" / part))
      EXPECT_TRUE(classes.insert(entry.path().filename()).second) << entry.path();
  }
  EXPECT_EQ(classes.size(), 10u);
  EXPECT_EQ(files_in(made() / "imagenet-100" / "val.X"), 10u);
  EXPECT_EQ(Json::parse(read_bytes(made() / "imagenet-100" / "Labels.json")).at("n01443537"), "Trouser");
}

TEST(FashionScenes, CifarRecordsHaveEachClassAsOften) {
  const fs::path folder = made() / "cifar-10" / "cifar-10-batches-bin";
  for (const char* name : {"data_batch_1.bin", "data_batch_5.bin", "test_batch.bin"}) {
    const std::string bytes = read_bytes(folder / name);
    ASSERT_EQ(bytes.size(), 10u * 3073);
    std::set<char> labels;
    for (std::size_t i = 0; i < 10; ++i) labels.insert(bytes[i * 3073]);
    EXPECT_EQ(labels.size(), 10u) << name;
  }
}

// Members of a plain tar file, in order.
std::vector<std::pair<std::string, std::string>> members(const fs::path& tar) {
  constexpr std::size_t kBlock = 512;
  const std::string bytes = read_bytes(tar);
  std::vector<std::pair<std::string, std::string>> out;
  for (std::size_t at = 0; at + kBlock <= bytes.size() && bytes[at] != '\0';) {
    const std::size_t size = std::stoul(bytes.substr(at + 124, 11), nullptr, 8);
    out.emplace_back(bytes.c_str() + at, bytes.substr(at + kBlock, size));
    at += kBlock + (size + kBlock - 1) / kBlock * kBlock;
  }
  return out;
}

TEST(FashionScenes, ShardsHoldTheImagenetFilesInAnOrderOfTheirOwn) {
  const fs::path folder = made() / "image-shards";
  const Json splits = Json::parse(read_bytes(folder / "_info.json")).at("splits");
  EXPECT_EQ(splits.at("train").at("num_samples"), 30);
  EXPECT_EQ(splits.at("train").at("filenames"), Json::array({"train-0.tar", "train-1.tar"}));
  std::vector<std::string> labels;
  std::multiset<std::string> contents;
  for (const char* name : {"train-0.tar", "train-1.tar"}) {
    const auto all = members(folder / name);
    ASSERT_EQ(all.size(), 30u) << "two members a sample";
    for (std::size_t i = 0; i < all.size(); i += 2) {
      EXPECT_EQ(all[i].first.substr(0, 8), all[i + 1].first.substr(0, 8));
      EXPECT_TRUE(all[i].first.ends_with(".jpg"));
      EXPECT_TRUE(all[i + 1].first.ends_with(".cls"));
      contents.insert(sha256_hex(all[i].second));
      labels.push_back(all[i + 1].second);
    }
  }
  std::multiset<std::string> expected;
  for (const auto& [file, digest] : digests(made() / "imagenet-1k" / "train")) expected.insert(digest);
  EXPECT_EQ(contents, expected);
  EXPECT_FALSE(std::is_sorted(labels.begin(), labels.end()));
}

TEST(FashionScenes, AFolderWithFilesIsLeftAlone) {
  const TemporaryFolder folder;
  write_bytes(folder.path() / "mine" / "notes.txt", "keep");
  try {
    make_scenes(simple_wardrobe(), folder.path() / "mine", kSmall);
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), HasSubstr("is there already"));
  }
  EXPECT_EQ(read_bytes(folder.path() / "mine" / "notes.txt"), "keep");
}

TEST(FashionScenes, SettingsWithoutScenesAreRefused) {
  const TemporaryFolder folder;
  for (ScenesSettings settings : {ScenesSettings{.train = 0},
                                  {.vtab_test = 0},
                                  {.cifar = 15},
                                  {.shards = 0},
                                  {.shorter_least = 50, .shorter_most = 40}}) {
    EXPECT_THROW(make_scenes(simple_wardrobe(), folder.path() / "scenes", settings), std::invalid_argument);
  }
}

TEST(FashionScenes, WithoutFashionMnistTheErrorNamesItsFile) {
  const TemporaryFolder folder;
  try {
    make_fashion_scenes(folder.path() / "nothing", folder.path() / "scenes");
    FAIL();
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), HasSubstr("nothing/train-"));
  }
  EXPECT_FALSE(fs::exists(folder.path() / "scenes"));
}

}  // namespace
}  // namespace locus::engine::scenes
