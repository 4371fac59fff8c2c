// The worker's blobs by digest: adopted, found again, checked, and trimmed only when nobody holds them.
#include "worker/link/artifact_cache.h"

#include <gtest/gtest.h>

#include <fstream>

#include "core/base/sha256.h"
#include "tests/client/temporary_folder.h"

namespace locus {
namespace {

class ArtifactCacheTest : public testing::Test {
 protected:
  std::unique_ptr<ArtifactCache> open(std::int64_t max_bytes = 1000) {
    return *ArtifactCache::open(folder_ / "cache", max_bytes);
  }
  std::filesystem::path file(const std::string& bytes) {
    std::ofstream(folder_ / "file") << bytes;
    return folder_ / "file";
  }
  bool has(const std::string& bytes) const { return std::filesystem::exists(folder_ / "cache" / sha256_hex(bytes)); }
  // A client whose server does not exist: whatever asks it fails.
  static std::unique_ptr<Client> nobody() {
    return *Client::connect("127.0.0.1:1", {.patience = std::chrono::seconds(0)});
  }

  TemporaryFolder folder_;
};

TEST_F(ArtifactCacheTest, TakesAFileOverUnderItsDigest) {
  const auto blob = open()->adopt(file("weights"));
  ASSERT_TRUE(blob.ok()) << blob.status();
  EXPECT_EQ((*blob)->sha256, sha256_hex("weights"));
  EXPECT_TRUE(has("weights"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "file"));
}

TEST_F(ArtifactCacheTest, FindsItsBlobsAfterARestartWithoutAsking) {
  open()->adopt(file("weights")).IgnoreError();
  const auto client = nobody();
  EXPECT_TRUE(open()->fetch(sha256_hex("weights"), *client, {}).ok());
}

TEST_F(ArtifactCacheTest, DoesNotTrustABlobThatChangedOnDisk) {
  open()->adopt(file("weights")).IgnoreError();
  std::ofstream(folder_ / "cache" / sha256_hex("weights")) << "weighty";
  const auto client = nobody();
  EXPECT_EQ(open()->fetch(sha256_hex("weights"), *client, {}).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_FALSE(has("weights"));
}

TEST_F(ArtifactCacheTest, RefusesWhatIsNotADigest) {
  const auto client = nobody();
  for (const std::string name : {"", "../../etc/passwd", "ABCDEF"}) {
    EXPECT_EQ(open()->fetch(name, *client, {}).status().code(), absl::StatusCode::kInvalidArgument) << name;
  }
}

TEST_F(ArtifactCacheTest, TrimsWhatNobodyHolds) {
  auto cache = open(/*max_bytes=*/10);
  auto held = *cache->adopt(file("held by someone"));
  cache->adopt(file("free to leave")).IgnoreError();
  cache->adopt(file("newest")).IgnoreError();
  EXPECT_TRUE(has("held by someone"));
  EXPECT_FALSE(has("free to leave"));
  held.reset();
  cache->adopt(file("another")).IgnoreError();
  EXPECT_FALSE(has("held by someone"));
}

TEST_F(ArtifactCacheTest, KeepsNoMoreThanTheDiskHasFreeBesides) {
  std::int64_t left = 100;
  auto cache = *ArtifactCache::open(folder_ / "cache", /*max_bytes=*/1000, [&] { return left; });
  cache->adopt(file(std::string(40, 'a'))).IgnoreError();
  auto held = *cache->adopt(file(std::string(40, 'b')));
  EXPECT_TRUE(has(std::string(40, 'a')));
  left = 20;  // others took the rest
  cache->make_room();
  EXPECT_FALSE(has(std::string(40, 'a')));
  EXPECT_TRUE(has(std::string(40, 'b'))) << "somebody holds it";
  cache->adopt(file(std::string(30, 'c'))).IgnoreError();
  cache->adopt(file("small")).IgnoreError();
  EXPECT_FALSE(has(std::string(30, 'c'))) << "35 bytes beside 20";
  EXPECT_TRUE(has("small"));
}

TEST_F(ArtifactCacheTest, TakesNothingOverThroughALink) {
  std::filesystem::create_directories(folder_ / "theirs");
  std::ofstream(folder_ / "theirs" / "secret") << "secret";
  std::filesystem::create_directory_symlink(folder_ / "theirs", folder_ / "folder");
  std::filesystem::create_symlink(folder_ / "theirs" / "secret", folder_ / "link");
  EXPECT_FALSE(open()->adopt(folder_ / "folder" / "secret").ok());
  EXPECT_FALSE(open()->adopt(folder_ / "link").ok());
  EXPECT_TRUE(std::filesystem::exists(folder_ / "theirs" / "secret"));
  EXPECT_FALSE(has("secret"));
}

TEST_F(ArtifactCacheTest, NamesAFileThatIsNotThere) {
  const absl::Status status = open()->adopt(folder_ / "absent").status();
  EXPECT_NE(status.message().find("absent"), std::string::npos);
}

}  // namespace
}  // namespace locus
