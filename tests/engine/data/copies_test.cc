// Which copy of a dataset is in use: its digest, its numbers, what is wrong with it, and what is remembered.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/data_copies.h"
#include "engine/data/copies.h"
#include "tests/engine/data/stored_fixture.h"

namespace locus::engine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Copies : public ::testing::Test {
 protected:
  Copies() { data_.write_imagenet(); }

  std::string refused(const Json& options) { return data_.refused("imagenet-1k", options); }
  std::string digest(const Json& options = kTwoClasses) { return data_.digest("imagenet-1k", options); }
  std::filesystem::path file(const std::string& name) { return data_.root() / "imagenet-1k" / name; }

  StoredData data_;
};

TEST_F(Copies, OfOtherNumbersAreRefusedWithTheLineThatNamesThem) {
  const std::string why = refused(Json::object());
  const std::string digest = this->digest();
  EXPECT_THAT(why, AllOf(HasSubstr("has 2 classes, 5 training, 0 validation and 2 test images"),
                         HasSubstr("says 1000 classes, 1281167 training"),
                         HasSubstr("`dataset: {imagenet-1k: {classes: 2, manifest: " + digest +
                                   ", test: 2, train: 5, validation: 0}}`")));
  Json written = kTwoClasses;
  written["manifest"] = digest;
  EXPECT_EQ(data_.open("imagenet-1k", written)->split("train")->size(), 5);
  written["manifest"] = std::string(64, '0');
  EXPECT_THAT(refused(written), AllOf(HasSubstr("the manifest " + digest), HasSubstr(std::string(64, '0'))));
}

TEST_F(Copies, HaveOneDigestWhateverTheOrderOfWritingThreadsAndPlace) {
  StoredData other;
  for (const char* name : {"val/a/v.jpg", "train/a/1.jpg", "train/a/below/0.png", "val/b/v.jpg", "train/b/2.jpg",
                           "train/a/2.JPEG", "train/b/1.jpeg"})
    other.write(std::string("imagenet-1k/") + name, read_bytes(file(name)));
  EXPECT_EQ(other.digest("imagenet-1k", kTwoClasses), digest());
  Listing listing;
  listing.parts["train"] = {{"train/a/1.jpg", 0}, {"train/a/2.JPEG", 0}, {"train/b/1.jpeg", 1}};
  const std::string once =
      read_through(data_.root() / "imagenet-1k", listing, {.cache = {}, .threads = 1}, {}).digest();
  EXPECT_EQ(read_through(data_.root() / "imagenet-1k", listing, {.cache = {}, .threads = 3}, {}).digest(), once);
  listing.parts["train"][2].label = 0;
  EXPECT_NE(read_through(data_.root() / "imagenet-1k", listing, {.cache = {}, .threads = 3}, {}).digest(), once);
}

TEST_F(Copies, ManifestIsHashedAsALineForEachClassPartAndImage) {
  Listing listing;
  listing.classes = {"a"};
  listing.parts["train"] = {{"train/a/1.jpg", 0}};
  const std::string bytes = read_bytes(file("train/a/1.jpg"));
  EXPECT_EQ(read_through(data_.root() / "imagenet-1k", listing, {}, {}).digest(),
            sha256_hex("locus image manifest 1\nclass a\npart train 1\ntrain/a/1.jpg\t" + std::to_string(bytes.size()) +
                       "\t" + sha256_hex(bytes) + "\t0\t4\t6\n"));
}

TEST_F(Copies, WithDamagedFilesAreRefusedByNameAndCountOrLeaveThemOut) {
  const std::string whole = read_bytes(file("train/b/2.jpg"));
  data_.write("imagenet-1k/train/b/2.jpg", whole.substr(0, whole.size() / 2));
  data_.write("imagenet-1k/train/b/3.jpg", "no image at all, whatever its name says");
  data_.write("imagenet-1k/train/b/4.webp", "RIFF");
  data_.write("imagenet-1k/train/b/5.jpg", "");
  data_.write("imagenet-1k/train/b/notes.txt", "of nobody's concern");
  EXPECT_THAT(refused(kTwoClasses),
              AllOf(HasSubstr("4 of its files are no sound images"), HasSubstr(file("train/b/2.jpg").string()),
                    HasSubstr(file("train/b/3.jpg").string()), HasSubstr("4.webp is of a kind that is not read"),
                    HasSubstr("corrupt: skip")));
  Json options = kTwoClasses;
  options["corrupt"] = "skip";
  EXPECT_THAT(refused(options), HasSubstr("has 2 classes, 4 training"));
  options["train"] = 4;
  const auto dataset = data_.open("imagenet-1k", options);
  EXPECT_EQ(rows_of(*dataset->split("train")), "10/0 20/0 30/0 110/1");
  EXPECT_EQ(dataset->used().at("left_out"), 4);
  const Json report = examine_copy("imagenet-1k", options, data_.place(), {});
  EXPECT_EQ(report.at("problem_count"), 4);
  EXPECT_EQ(report.at("passed_over_count"), 1);
  EXPECT_THAT(report.at("passed_over")[0].get<std::string>(), HasSubstr("notes.txt"));
}

TEST_F(Copies, WithManyDamagedFilesNameTheFirstTenAndTheirCount) {
  for (int i = 0; i < 25; ++i) data_.write("imagenet-1k/train/b/bad" + std::to_string(i + 10) + ".jpg", "bad");
  const std::string why = refused(kTwoClasses);
  EXPECT_THAT(why, AllOf(HasSubstr("25 of its files"), HasSubstr("bad19.jpg"), HasSubstr("and 15 more")));
  EXPECT_EQ(why.find("bad20.jpg"), std::string::npos);
}

TEST_F(Copies, WithOtherClassesInTheirPartsAreRefusedEvenWhereDamageIsLeftOut) {
  Json options = kTwoClasses;
  options["corrupt"] = "skip";
  std::filesystem::remove_all(file("val/b"));
  EXPECT_THAT(refused(options), HasSubstr("the folder of class b is missing in " + file("val").string()));
  data_.write("imagenet-1k/val/b/v.jpg", jpeg(1));
  data_.write("imagenet-1k/val/c/v.jpg", jpeg(1));
  EXPECT_THAT(refused(options),
              HasSubstr(file("val/c").string() + " is the folder of a class that the training part lacks"));
}

TEST_F(Copies, ChangedAfterTheyWereReadThroughAreFoundOutWhereTheyAreRead) {
  const auto train = data_.open("imagenet-1k", kTwoClasses)->split("train");
  data_.write("imagenet-1k/train/a/1.jpg", jpeg(10, 9, 9));
  EXPECT_THROW(train->read(0), DataError);
  std::filesystem::remove(file("train/a/2.JPEG"));
  try {
    train->read(1);
    ADD_FAILURE() << "not refused";
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), HasSubstr(file("train/a/2.JPEG").string()));
  }
  EXPECT_NO_THROW(train->read(2));
}

TEST_F(Copies, AreReadOnceAndAgainWhatHasChanged) {
  const std::string before = digest();
  const auto path = file("train/a/1.jpg");
  const auto time = std::filesystem::last_write_time(path);
  std::string bytes = read_bytes(path);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  // Same inode, size and time: the proof holds.
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary) << bytes;
  std::filesystem::last_write_time(path, time);
  EXPECT_EQ(digest(), before);
  data_.write("imagenet-1k/train/a/1.jpg", jpeg(11));
  std::filesystem::last_write_time(path, time + std::chrono::seconds(2));
  EXPECT_NE(digest(), before);
}

TEST_F(Copies, AnInterruptedReadingGoesOnWhereItWas) {
  struct Enough {};
  const auto dataset = data_.open("imagenet-1k", kTwoClasses);
  bool interrupted = false;
  try {
    dataset->prepare([](std::int64_t, std::int64_t) { throw Enough(); });
  } catch (const Enough&) {
    interrupted = true;
  }
  // A reading that is over before anybody asks is not interrupted.
  if (interrupted) {
    EXPECT_NO_THROW(dataset->prepare({}));
  }
  EXPECT_EQ(dataset->split("train")->size(), 5);
}

TEST_F(Copies, ThatWereReadThroughAreKnownUntilTheirFoldersChange) {
  const auto known = [&] {
    for (const Json& one : copies_under(data_.place())) {
      if (one.at("id") == "imagenet-1k") return one;
    }
    return Json();
  };
  EXPECT_EQ(known().at("held"), true) << "its folders are there";
  EXPECT_TRUE(known().at("copies").empty()) << "nobody has read it";
  const std::string digest = this->digest();
  ASSERT_EQ(known().at("copies").size(), 1u);
  EXPECT_EQ(known().at("copies")[0].at("digest"), digest);
  EXPECT_EQ(known().at("copies")[0].at("images"), (Json{{"train", 5}, {"val", 2}}));
  ASSERT_EQ(known_copies(data_.place().cache).size(), 1u);
  EXPECT_TRUE(unchanged(known_copies(data_.place().cache)[0]));
  std::filesystem::last_write_time(file("train"), std::filesystem::file_time_type(std::chrono::hours(1)));
  EXPECT_TRUE(known().at("copies").empty());
  std::filesystem::remove_all(file("val"));
  EXPECT_EQ(known().at("held"), false);
  EXPECT_THAT(known().at("lacks").get<std::string>(), AllOf(HasSubstr("val is missing"), HasSubstr("image-net.org")));
}

TEST_F(Copies, OfAnyFolderAreExaminedBeforeASpecificationKnowsTheirNumbers) {
  data_.write_imagenet("birds");
  const Json report = examine_copy("image-folder", {{"folder", "birds"}}, data_.place(), {});
  EXPECT_EQ(report.at("classes"), 2);
  EXPECT_EQ(report.at("images"), (Json{{"train", 5}, {"val", 2}}));
  EXPECT_THAT(report.at("differs").get<std::string>(),
              HasSubstr("{classes: 2, folder: \"birds\", manifest: " + report.at("digest").get<std::string>()));
  EXPECT_THROW(examine_copy("image-folder", {{"folder", "../birds"}}, data_.place(), {}), std::invalid_argument);
  EXPECT_THROW(examine_copy("image-folder", {{"fodler", "birds"}}, data_.place(), {}), std::invalid_argument);
}

}  // namespace
}  // namespace locus::engine
