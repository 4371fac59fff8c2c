// Contract of artifact stores, run against each; what the folder promises beyond it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <cstdlib>
#include <fstream>

#include "core/base/error.h"
#include "core/base/sha256.h"
#include "storage/artifacts/folder.h"
#include "storage/artifacts/memory.h"
#include "storage/s3/store.h"
#include "tests/storage/object_store.h"
#include "tests/storage/world.h"

namespace locus::testing {
namespace {

using absl::StatusCode;

enum class Where { kMemory, kFolder, kObjectStore };

class ArtifactContract : public ::testing::TestWithParam<Where> {
 protected:
  void SetUp() override {
    if (GetParam() == Where::kMemory) {
      artifacts_ = make_memory_artifacts();
    } else {
      auto opened = GetParam() == Where::kFolder ? open_folder_artifacts(folder_.path()) : open_object_store();
      ASSERT_TRUE(opened.ok()) << opened.status();
      artifacts_ = std::move(*opened);
    }
  }

  // Our own, or the server that LOCUS_S3_ENDPOINT names, in a bucket "blobs" (make artifacts); with few copies, so that blobs come back.
  absl::StatusOr<std::unique_ptr<ArtifactStore>> open_object_store() {
    const char* given = std::getenv("LOCUS_S3_ENDPOINT");
    if (given == nullptr) store_ = std::make_unique<ObjectStore>();
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    S3Options options;
    LOCUS_ASSIGN_OR_RETURN(options.place, parse_s3_place("s3://blobs/" + std::string(test->name()),
                                                         given == nullptr ? store_->endpoint() : given, ""));
    options.keys = {"ada", "lovelace", ""};
    options.folder = folder_.path();
    options.copies_bytes = 100;
    options.part_bytes = std::int64_t{5} << 20;
    options.whole_bytes = std::int64_t{5} << 20;
    return open_s3_artifacts(std::move(options), system_clock());
  }

  absl::Status put(const std::string& bytes, const std::string& sha256) {
    auto writer = artifacts_->create().value();
    for (std::size_t at = 0; at < bytes.size(); at += 1000) {
      if (absl::Status status = writer->write(std::string_view(bytes).substr(at, 1000)); !status.ok()) return status;
    }
    return writer->commit(sha256);
  }

  TempFolder folder_;
  std::unique_ptr<ObjectStore> store_;
  std::unique_ptr<ArtifactStore> artifacts_;
};

INSTANTIATE_TEST_SUITE_P(EveryStore, ArtifactContract,
                         ::testing::Values(Where::kMemory, Where::kFolder, Where::kObjectStore), [](const auto& where) {
                           return where.param == Where::kMemory   ? "Memory"
                                  : where.param == Where::kFolder ? "Folder"
                                                                  : "ObjectStore";
                         });

std::string some_bytes(std::size_t n) {
  std::string out(n, '\0');
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<char>(i * 131 + i / 256);
  return out;
}

TEST_P(ArtifactContract, ReadsBackWhatWasWritten) {
  const std::string bytes = some_bytes(10'000);
  const std::string sha = sha256_hex(bytes);
  ASSERT_TRUE(put(bytes, sha).ok());
  EXPECT_EQ(artifacts_->size(sha).value(), 10'000);
  EXPECT_EQ(artifacts_->read(sha, 0, 100'000).value(), bytes);
  EXPECT_EQ(artifacts_->read(sha, 5000, 10).value(), bytes.substr(5000, 10));
  EXPECT_EQ(artifacts_->read(sha, 9995, 10).value(), bytes.substr(9995));
  EXPECT_EQ(artifacts_->read(sha, 10'000, 10).value(), "");
  EXPECT_EQ(artifacts_->read(sha, 1 << 30, 10).value(), "");
}

TEST_P(ArtifactContract, KeepsAnEmptyBlob) {
  const std::string sha = sha256_hex("");
  ASSERT_TRUE(put("", sha).ok());
  EXPECT_EQ(artifacts_->size(sha).value(), 0);
}

TEST_P(ArtifactContract, AcceptsTheSameBlobTwice) {
  const std::string bytes = some_bytes(100);
  ASSERT_TRUE(put(bytes, sha256_hex(bytes)).ok());
  EXPECT_TRUE(put(bytes, sha256_hex(bytes)).ok());
  EXPECT_EQ(artifacts_->read(sha256_hex(bytes), 0, 1000).value(), bytes);
}

TEST_P(ArtifactContract, ReadsBackALargeBlob) {
  const std::string bytes = some_bytes(11 << 20);
  ASSERT_TRUE(put(bytes, sha256_hex(bytes)).ok());
  ASSERT_TRUE(put("another", sha256_hex("another")).ok());
  EXPECT_EQ(artifacts_->read(sha256_hex(bytes), 0, 12 << 20).value(), bytes);
}

TEST_P(ArtifactContract, RemovesWhatItIsToldToAndNothingElse) {
  ASSERT_TRUE(put("a", sha256_hex("a")).ok());
  ASSERT_TRUE(put("b", sha256_hex("b")).ok());
  EXPECT_TRUE(artifacts_->remove(sha256_hex("a")).ok());
  EXPECT_TRUE(artifacts_->remove(sha256_hex("a")).ok());
  EXPECT_EQ(reason_of(artifacts_->size(sha256_hex("a")).status()), "ARTIFACT_NOT_FOUND");
  EXPECT_EQ(reason_of(artifacts_->read(sha256_hex("a"), 0, 1).status()), "ARTIFACT_NOT_FOUND");
  EXPECT_EQ(artifacts_->read(sha256_hex("b"), 0, 1).value(), "b");
}

TEST_P(ArtifactContract, ListsByDigestInPages) {
  std::vector<std::string> names;
  for (int i = 0; i < 5; ++i) {
    names.push_back(sha256_hex(std::to_string(i)));
    ASSERT_TRUE(put(std::to_string(i), names.back()).ok());
  }
  std::sort(names.begin(), names.end());
  const auto first = artifacts_->list("", 2).value();
  EXPECT_EQ(first, std::vector<std::string>(names.begin(), names.begin() + 2));
  EXPECT_EQ(artifacts_->list(first.back(), 100).value(), std::vector<std::string>(names.begin() + 2, names.end()));
}

TEST_P(ArtifactContract, RefusesBytesThatDoNotHashToTheirName) {
  const std::string sha = sha256_hex("right");
  const absl::Status status = put("wrong", sha);
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_EQ(reason_of(status), "DIGEST_MISMATCH");
  EXPECT_EQ(reason_of(artifacts_->size(sha).status()), "ARTIFACT_NOT_FOUND");
  EXPECT_EQ(reason_of(artifacts_->size(sha256_hex("wrong")).status()), "ARTIFACT_NOT_FOUND");
}

TEST_P(ArtifactContract, RefusesNamesThatAreNoDigest) {
  const std::string upper(64, 'A'), shorter(63, 'a'), path = "../" + std::string(61, 'a');
  for (const std::string& name : {upper, shorter, path, std::string(65, 'a'), std::string(), std::string(64, '/')}) {
    EXPECT_EQ(reason_of(artifacts_->size(name).status()), "INVALID_ARGUMENT") << name;
    EXPECT_EQ(reason_of(artifacts_->read(name, 0, 1).status()), "INVALID_ARGUMENT") << name;
    EXPECT_EQ(reason_of(put("bytes", name)), "INVALID_ARGUMENT") << name;
  }
}

TEST_P(ArtifactContract, RefusesARangeBelowZero) {
  ASSERT_TRUE(put("bytes", sha256_hex("bytes")).ok());
  EXPECT_EQ(reason_of(artifacts_->read(sha256_hex("bytes"), -1, 1).status()), "INVALID_ARGUMENT");
  EXPECT_EQ(reason_of(artifacts_->read(sha256_hex("bytes"), 0, -1).status()), "INVALID_ARGUMENT");
}

TEST_P(ArtifactContract, NamesTheAbsent) {
  EXPECT_EQ(reason_of(artifacts_->size(kShaA).status()), "ARTIFACT_NOT_FOUND");
  EXPECT_EQ(reason_of(artifacts_->read(kShaA, 0, 1).status()), "ARTIFACT_NOT_FOUND");
}

TEST_P(ArtifactContract, KeepsConcurrentUploadsApart) {
  auto a = artifacts_->create().value();
  auto b = artifacts_->create().value();
  ASSERT_TRUE(a->write("a").ok());
  ASSERT_TRUE(b->write("b").ok());
  EXPECT_TRUE(a->commit(sha256_hex("a")).ok());
  EXPECT_TRUE(b->commit(sha256_hex("b")).ok());
  EXPECT_EQ(artifacts_->read(sha256_hex("b"), 0, 10).value(), "b");
}

std::size_t files_under(const std::filesystem::path& folder) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) count += entry.is_regular_file();
  return count;
}

TEST(FolderArtifacts, LeavesNothingOfAnUploadThatWasNotCommitted) {
  TempFolder folder;
  auto artifacts = open_folder_artifacts(folder.path()).value();
  {
    auto dropped = artifacts->create().value();
    ASSERT_TRUE(dropped->write("bytes").ok());
    auto refused = artifacts->create().value();
    ASSERT_TRUE(refused->write("wrong").ok());
    EXPECT_FALSE(refused->commit(sha256_hex("right")).ok());
    EXPECT_EQ(files_under(folder.path()), 2u);
  }
  EXPECT_EQ(files_under(folder.path()), 0u);
}

TEST(FolderArtifacts, RemovesTheLitterOfAnEarlierProcessAndKeepsTheBlobs) {
  TempFolder folder;
  const std::string sha = sha256_hex("bytes");
  {
    auto artifacts = open_folder_artifacts(folder.path()).value();
    auto writer = artifacts->create().value();
    ASSERT_TRUE(writer->write("bytes").ok());
    ASSERT_TRUE(writer->commit(sha).ok());
  }
  std::ofstream(folder.path() / "incoming" / "1234-5") << "half an upl";
  auto artifacts = open_folder_artifacts(folder.path()).value();
  EXPECT_EQ(files_under(folder.path()), 1u);
  EXPECT_EQ(artifacts->read(sha, 0, 100).value(), "bytes");
}

TEST(FolderArtifacts, RefusesAFolderItCannotMake) {
  TempFolder folder;
  std::ofstream(folder.path() / "file") << "not a folder";
  EXPECT_EQ(reason_of(open_folder_artifacts(folder.path() / "file").status()), "DATA_FOLDER_UNUSABLE");
}

TEST(FolderArtifacts, RefusesAnUploadWhileTheDiskIsFullAndKeepsNothingOfIt) {
  TempFolder folder;
  auto artifacts = open_folder_artifacts(folder.path()).value();
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, SIG_IGN);
  const rlimit small{4096, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  auto writer = artifacts->create().value();
  const absl::Status status = writer->write(some_bytes(10'000));
  EXPECT_EQ(writer->commit(sha256_hex(some_bytes(10'000))).code(), StatusCode::kResourceExhausted);
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << status;
  EXPECT_EQ(reason_of(status), "STORAGE_FAILED");
  writer.reset();
  EXPECT_EQ(files_under(folder.path()), 0u);
}

}  // namespace
}  // namespace locus::testing
