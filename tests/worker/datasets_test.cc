// Which datasets a folder holds, and how that changes.
#include "worker/app/datasets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "core/base/data_copies.h"
#include "core/base/sha256.h"
#include "tests/client/temporary_folder.h"

namespace locus {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class DatasetsTest : public testing::Test {
 protected:
  DatasetsTest() { std::filesystem::create_directories(folder_ / "clothes"); }

  static Catalog catalog() {
    Json with_files = item("clothes");
    with_files["facts"]["manifest"] = {{"images", {{"bytes", 5}, {"sha256", sha256_hex("hello")}}},
                                       {"labels", {{"bytes", 2}, {"sha256", sha256_hex("hi")}}}};
    Json unpacked = item("photos");
    unpacked["facts"]["manifest"] = {{"folder/all.bin", {{"bytes", 3}}}};
    unpacked["facts"]["archive"] = {
        {"name", "photos.tar.gz"}, {"url", "https://example.org/photos.tar.gz"}, {"md5", "0"}};
    Json stored = item("scenes");
    stored["facts"]["stored"] = {
        {"folder", "all/scenes"}, {"places", {"train", "val"}}, {"get", "get it from its author"}};
    return *Catalog::parse({{"version", 1}, {"items", {with_files, item("noise"), unpacked, stored}}});
  }
  static Json item(const std::string& id) {
    return {{"kind", "dataset"}, {"id", id}, {"revision", 1}, {"summary", "of a test"}, {"facts", Json::object()}};
  }
  void write(const std::string& name, const std::string& text) { std::ofstream(folder_ / "clothes" / name) << text; }
  std::vector<std::string> held() {
    const v1::HeldData data = datasets_.look();
    return {data.datasets().begin(), data.datasets().end()};
  }
  std::string missing() {
    const v1::HeldData data = datasets_.look();
    return data.missing().contains("clothes") ? data.missing().at("clothes") : "";
  }

  TemporaryFolder folder_;
  Datasets datasets_{catalog(), folder_ / "", folder_ / "cache"};
};

TEST_F(DatasetsTest, HoldsWhatHasEveryFileOfTheManifest) {
  EXPECT_THAT(held(), ElementsAre("noise")) << "one without a manifest needs no files";
  EXPECT_THAT(missing(), HasSubstr("clothes/images is missing"));
  write("images", "hello");
  EXPECT_THAT(missing(), HasSubstr("clothes/labels is missing"));
  write("labels", "hi");
  EXPECT_THAT(held(), ElementsAre("clothes", "noise"));
}

TEST_F(DatasetsTest, KnowsAFileWithoutADigestByItsSizeAndSaysWhereToGetIt) {
  const std::string folder = folder_ / "photos";
  EXPECT_EQ(datasets_.look().missing().at("photos"),
            folder +
                "/folder/all.bin is missing (get photos.tar.gz from https://example.org/photos.tar.gz and unpack "
                "it into " +
                folder + ")");
  std::filesystem::create_directories(folder_ / "photos" / "folder");
  std::ofstream(folder_ / "photos" / "folder" / "all.bin") << "abcd";
  EXPECT_THAT(datasets_.look().missing().at("photos"), HasSubstr("has 4 bytes, not 3"));
  std::ofstream(folder_ / "photos" / "folder" / "all.bin") << "abc";
  EXPECT_THAT(held(), ElementsAre("noise", "photos"));
  datasets_.check("photos");
  EXPECT_THAT(held(), ElementsAre("noise", "photos")) << "a check compares nothing that is not known";
}

TEST_F(DatasetsTest, HoldsImageFilesWhereTheirFoldersAreAndNamesTheCopyThatWasReadThrough) {
  const std::filesystem::path scenes = folder_ / "all/scenes";
  EXPECT_EQ(datasets_.look().missing().at("scenes"),
            (scenes / "train").string() + " is missing; get it from its author");
  std::filesystem::create_directories(scenes / "train");
  std::filesystem::create_directories(scenes / "val");
  EXPECT_THAT(held(), ElementsAre("noise", "scenes"));
  DataCopy copy{"scenes", scenes, "f00d", {"train", "val"}, stamp_of(scenes, {"train", "val"}), 2, {{"train", 5}}};
  remember_copy(folder_ / "cache", copy);
  EXPECT_THAT(held(), ElementsAre("noise", "scenes", "scenes@f00d"));
  std::filesystem::create_directories(scenes / "train" / "another class");
  std::filesystem::last_write_time(scenes / "train", std::filesystem::file_time_type(std::chrono::hours(1)));
  EXPECT_THAT(held(), ElementsAre("noise", "scenes")) << "nobody has read what is there now";
  copy.folder = "/elsewhere";
  remember_copy(folder_ / "cache", copy);
  copy.dataset = "unknown";
  remember_copy(folder_ / "cache", copy);
  EXPECT_THAT(held(), ElementsAre("noise", "scenes"));
}

TEST_F(DatasetsTest, DoesNotHoldWhatHasAnotherSize) {
  write("images", "hell");
  write("labels", "hi");
  EXPECT_THAT(missing(), HasSubstr("images has 4 bytes, not 5"));
}

TEST_F(DatasetsTest, LosesADatasetThatACheckFindsDamagedUntilItsFileChanges) {
  write("images", "jelly");
  write("labels", "hi");
  EXPECT_THAT(held(), ElementsAre("clothes", "noise")) << "a look does not read";
  datasets_.check("clothes");
  EXPECT_THAT(missing(), HasSubstr("images hashes to " + sha256_hex("jelly")));
  std::filesystem::remove(folder_ / "clothes" / "images");
  std::filesystem::create_directories(folder_ / "new");
  std::ofstream(folder_ / "new" / "images") << "hello";
  std::filesystem::rename(folder_ / "new" / "images", folder_ / "clothes" / "images");
  std::filesystem::last_write_time(folder_ / "clothes" / "images",
                                   std::filesystem::file_time_type(std::chrono::hours(1)));
  EXPECT_THAT(held(), ElementsAre("clothes", "noise"));
}

TEST_F(DatasetsTest, KeepsADatasetThatACheckFindsSound) {
  write("images", "hello");
  write("labels", "hi");
  datasets_.check("clothes");
  datasets_.check("nothing of this name");
  EXPECT_THAT(held(), ElementsAre("clothes", "noise"));
}

}  // namespace
}  // namespace locus
