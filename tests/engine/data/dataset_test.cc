// Dataset files: what is read, what is refused, and the sentence each refusal says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/failure.h"
#include "engine/data/idx.h"
#include "tests/engine/data/idx_fixture.h"

namespace locus::engine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

template <typename Call>
std::string refusal(Call call) {
  try {
    call();
  } catch (const DataError& error) {
    return error.what();
  }
  return "not refused";
}

class IdxDataset : public ::testing::Test {
 protected:
  std::string refused(std::string_view split) {
    return refusal([&] { open_idx_dataset(layout_, {folder_.path(), folder_.path() / "cache"})->split(split); });
  }
  std::filesystem::path file(const std::string& name) { return folder_.path() / "tiny" / name; }

  TemporaryFolder folder_;
  IdxLayout layout_ = write_tiny_dataset(folder_.path());
};

TEST_F(IdxDataset, CarvesValidationFromTheEndOfTheTrainingFile) {
  const auto dataset = open_idx_dataset(layout_, {folder_.path(), {}});
  const Batch& train = *dataset->split("train")->resident();
  EXPECT_EQ(train.at(kImage).sizes(), (std::vector<std::int64_t>{8, 1, 2, 3}));
  EXPECT_EQ(train.at(kImage)[7].max().item<int>(), 7);
  EXPECT_EQ(dataset->split("validation")->read(0).at(kImage).min().item<int>(), 8);
  EXPECT_EQ(dataset->split("validation")->size(), 4);
  EXPECT_TRUE(at::equal(dataset->split("test")->resident()->at(kLabel), at::tensor({0, 1, 2, 0}, at::kLong)));
  EXPECT_EQ(dataset->split("test"), dataset->split("test")) << "read once";
  EXPECT_THROW(dataset->split("all"), std::invalid_argument);
}

TEST_F(IdxDataset, NamesAMissingFileAndHowToInstallIt) {
  std::filesystem::remove(file("test-images.gz"));
  EXPECT_THAT(refused("test"), AllOf(HasSubstr(file("test-images.gz").string() + " is missing"),
                                     HasSubstr("apt install dataset-tiny"), HasSubstr("--data-root")));
}

TEST_F(IdxDataset, NamesATruncatedFileWithBothSizes) {
  const std::string bytes = read_bytes(file("train-images.gz"));
  write_bytes(file("train-images.gz"), bytes.substr(0, bytes.size() - 5));
  EXPECT_THAT(refused("train"),
              AllOf(HasSubstr("train-images.gz has " + std::to_string(bytes.size() - 5) + " bytes"),
                    HasSubstr(std::to_string(bytes.size()) + " are expected"), HasSubstr("truncated")));
}

TEST_F(IdxDataset, NamesACorruptFileWithBothDigests) {
  std::string bytes = read_bytes(file("train-labels.gz"));
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  write_bytes(file("train-labels.gz"), bytes);
  EXPECT_THAT(refused("validation"), AllOf(HasSubstr(sha256_hex(bytes)), HasSubstr("corrupt"),
                                           HasSubstr(layout_.manifest.files["train-labels.gz"].sha256)));
}

TEST_F(IdxDataset, VerifiesOnceAndAgainWhenTheFileChanges) {
  const auto cache = folder_.path() / "cache";
  verify_file(layout_.manifest, "test-labels.gz", folder_.path() / "tiny", cache);
  const auto path = file("test-labels.gz");
  const auto time = std::filesystem::last_write_time(path);
  // Same inode, size and time: the proof holds, and a changed byte goes unseen.
  std::string bytes = read_bytes(path);
  bytes[12] = static_cast<char>(bytes[12] ^ 1);
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary) << bytes;
  std::filesystem::last_write_time(path, time);
  EXPECT_NO_THROW(verify_file(layout_.manifest, "test-labels.gz", folder_.path() / "tiny", cache));
  // Without the cache, or with another time of change, it is hashed.
  EXPECT_THROW(verify_file(layout_.manifest, "test-labels.gz", folder_.path() / "tiny", {}), DataError);
  std::filesystem::last_write_time(path, time + std::chrono::seconds(1));
  EXPECT_THROW(verify_file(layout_.manifest, "test-labels.gz", folder_.path() / "tiny", cache), DataError);
}

TEST_F(IdxDataset, RefusesLabelsBeyondTheClasses) {
  layout_.classes = 2;
  EXPECT_THAT(refused("test"), HasSubstr("a label beyond the 2 classes"));
}

TEST(Manifest, DigestIsThatOfTheCanonicalDocument) {
  const Manifest manifest{"d", "p", {{"b.gz", {"00", 7}}, {"a.gz", {"11", 5}}}};
  EXPECT_EQ(manifest.digest(), sha256_hex(R"({"a.gz":{"bytes":5,"sha256":"11"},"b.gz":{"bytes":7,"sha256":"00"}})"));
}

TEST(Manifest, KnowsOnlyTheSizeOfAFileWithoutADigest) {
  const TemporaryFolder folder;
  const Manifest manifest{"d", "", {{"sub/a.bin", {"", 3}}}, {"a.tar.gz", "https://example.org/a.tar.gz", "00ff"}};
  EXPECT_EQ(manifest.digest(), sha256_hex(R"({"sub/a.bin":{"bytes":3}})"));
  const auto verify = [&] { verify_file(manifest, "sub/a.bin", folder.path(), {}); };
  EXPECT_THAT(refusal(verify),
              AllOf(HasSubstr("sub/a.bin is missing; download a.tar.gz (md5 00ff) from https://example.org"),
                    HasSubstr("'tar -xzf a.tar.gz -C " + folder.path().string() + "'"), HasSubstr("--data-root")));
  write_bytes(folder.path() / "sub" / "a.bin", "abcd");
  EXPECT_THAT(refusal(verify),
              AllOf(HasSubstr("has 4 bytes where 3 are expected"), HasSubstr("download a.tar.gz again")));
  write_bytes(folder.path() / "sub" / "a.bin", "abc");
  EXPECT_NO_THROW(verify());
}

class Idx : public ::testing::Test {
 protected:
  std::string refused(const std::string& file) {
    write_bytes(path_, file);
    return refusal([&] { read_idx(path_, {2, 3}); });
  }
  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "x.gz";
};

TEST_F(Idx, ReadsWhatWasWritten) {
  write_bytes(path_, gzip(idx_bytes({2, 3}, "abcdef")));
  EXPECT_TRUE(at::equal(read_idx(path_, {2, 3}), at::tensor({97, 98, 99, 100, 101, 102}, at::kByte).view({2, 3})));
}

TEST_F(Idx, RefusesWhatIsNotThatFile) {
  const std::string good = gzip(idx_bytes({2, 3}, "abcdef"));
  EXPECT_THAT(refused("plain text, long enough to be a header"), HasSubstr("not a sound gzip file"));
  EXPECT_THAT(refused(""), HasSubstr("truncated"));
  EXPECT_THAT(refused(gzip("\0\0\x08")), HasSubstr("too short"));
  EXPECT_THAT(refused(gzip(idx_bytes({6}, "abcdefgh"))), HasSubstr("2 dimensions"));
  EXPECT_THAT(refused(gzip(idx_bytes({3, 2}, "abcdef"))), HasSubstr("holds 3 x 2 values where 2 x 3 are expected"));
  EXPECT_THAT(refused(gzip(idx_bytes({0xffffffff, 3}, "abcdef"))), HasSubstr("4294967295 x 3"));
  EXPECT_THAT(refused(gzip(idx_bytes({2, 3}, "abcde"))), HasSubstr("holds 5 bytes of data where 6 are expected"));
  EXPECT_THAT(refused(gzip(idx_bytes({2, 3}, "abcdefg"))), HasSubstr("more data than its header says"));
  for (std::size_t cut = 1; cut < good.size(); ++cut) {
    EXPECT_NE(refused(good.substr(0, cut)), "not refused") << "cut at " << cut;
  }
  std::string checksum = good;
  checksum[good.size() - 8] = static_cast<char>(checksum[good.size() - 8] ^ 1);
  EXPECT_THAT(refused(checksum), HasSubstr("not a sound gzip file"));
}

TEST(FashionMnist, IsListedWithItsDigestAndOpensWhereInstalled) {
  const DatasetItem& item = dataset_item("fashion-mnist");
  const Json& facts = item.item.json().at("facts");
  EXPECT_EQ(facts.at("digest"), sha256_hex(canonical_json(facts.at("manifest"))));
  EXPECT_EQ(facts.at("splits").at("validation"), 5000);
  EXPECT_THROW(dataset_item("fashion"), std::invalid_argument);
  const std::filesystem::path root = "/usr/share/datasets";
  if (!std::filesystem::exists(root / "fashion-mnist")) GTEST_SKIP() << "needs the package dataset-fashion-mnist";
  const auto dataset = open_dataset("fashion-mnist", Json::object(), {root, {}});
  EXPECT_EQ(open_dataset("fashion-mnist", Json::object(), {root, {}}), dataset);
  EXPECT_EQ(dataset->split("train")->size(), 55000);
  EXPECT_EQ(dataset->split("test")->size(), 10000);
  // A thousand test images of each class, and the pixel statistics everybody normalizes by.
  EXPECT_TRUE(at::equal(dataset->split("test")->resident()->at(kLabel).bincount(), at::full({10}, 1000, at::kLong)));
  EXPECT_NEAR(dataset->split("train")->resident()->at(kImage).to(at::kFloat).mean().item<double>() / 255, 0.2860,
              0.001);
}

}  // namespace
}  // namespace locus::engine
