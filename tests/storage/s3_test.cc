// What an object store promises beyond the contract of artifacts, and what its faults come to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <cstdlib>
#include <fstream>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/sha256.h"
#include "storage/s3/store.h"
#include "tests/storage/object_store.h"
#include "tests/storage/world.h"

namespace locus::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

const S3Place kPlace{"https://s3.example.org", "eu-central-1", "blobs", "runs of ada"};
// Of no account.
const S3Keys kKeys{"AKIAEXAMPLE0123456789", "c2VjcmV0L3dpdGgrc2xhc2hlcy9hbmQrcGx1cw==", ""};

// Files grow no further than that while this lives: a disk without room, to whoever writes.
class NoLargeFiles {
 public:
  explicit NoLargeFiles(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  ~NoLargeFiles() { ::setrlimit(RLIMIT_FSIZE, &before_); }
  NoLargeFiles(const NoLargeFiles&) = delete;
  NoLargeFiles& operator=(const NoLargeFiles&) = delete;

 private:
  rlimit before_{};
};

class S3Faults : public ::testing::Test {
 protected:
  S3Faults() { open(); }
  void open() {
    S3Options options;
    options.place = parse_s3_place("s3://blobs/a/b", store_.endpoint(), "").value();
    options.keys = {"ada", "lovelace", ""};
    options.folder = folder_.path();
    options.part_bytes = 1000;
    options.whole_bytes = 4000;
    options.copies_bytes = 20'000;
    options.patience.first_wait = std::chrono::milliseconds(0);
    auto opened = open_s3_artifacts(options, system_clock());
    ASSERT_TRUE(opened.ok()) << opened.status();
    artifacts_ = *std::move(opened);
  }
  absl::Status put(const std::string& bytes) {
    auto writer = artifacts_->create().value();
    if (absl::Status status = writer->write(bytes); !status.ok()) return status;
    return writer->commit(sha256_hex(bytes));
  }
  std::string key_of(const std::string& bytes) const {
    const std::string sha = sha256_hex(bytes);
    return "a/b/sha256/" + sha.substr(0, 2) + "/" + sha;
  }
  void forget_copies() {
    std::filesystem::remove_all(folder_.path());
    open();
  }
  // The first `times` requests of that method get this answer.
  void fail(const std::string& method, int times, StoreReply reply) {
    auto left = std::make_shared<std::atomic<int>>(times);
    store_.interrupt([=](const StoreRequest& request, StoreReply& out) {
      if (request.method != method || (*left)-- <= 0) return false;
      out = reply;
      return true;
    });
  }

  ObjectStore store_;
  TempFolder folder_;
  std::unique_ptr<ArtifactStore> artifacts_;
};

std::string many_bytes(std::size_t n) {
  std::string out(n, '\0');
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<char>(i * 31 + i / 251);
  return out;
}

TEST_F(S3Faults, ALargeBlobGoesUpInPartsAndIsOneObject) {
  const std::string bytes = many_bytes(10'500);
  ASSERT_TRUE(put(bytes).ok());
  EXPECT_EQ(store_.objects().at(key_of(bytes)), bytes);
  EXPECT_EQ(store_.unfinished_uploads(), 0u);
}

TEST_F(S3Faults, APartThatIsRefusedLeavesNothingUnfinished) {
  int parts = 0;
  store_.interrupt([&](const StoreRequest& request, StoreReply& out) {
    if (request.method != "PUT" || ++parts < 3) return false;
    out = {400, "<Error><Code>EntityTooSmall</Code></Error>"};
    return true;
  });
  const absl::Status status = put(many_bytes(10'500));
  EXPECT_THAT(std::string(status.message()), HasSubstr("EntityTooSmall"));
  EXPECT_EQ(store_.unfinished_uploads(), 0u);
  EXPECT_TRUE(store_.objects().empty());
  store_.interrupt({});
  EXPECT_EQ(reason_of(artifacts_->read(sha256_hex(many_bytes(10'500)), 0, 1).status()), "ARTIFACT_NOT_FOUND");
}

TEST_F(S3Faults, AnUploadThatEndsWithAnErrorUnderStatus200IsRefused) {
  store_.interrupt([&](const StoreRequest& request, StoreReply& out) {
    if (request.method != "POST" || !request.query.contains("uploadId")) return false;
    out = {200, "<Error><Code>InternalError</Code></Error>"};
    return true;
  });
  EXPECT_FALSE(put(many_bytes(10'500)).ok());
  EXPECT_EQ(store_.unfinished_uploads(), 0u);
}

TEST_F(S3Faults, BurstsOf503And429AreWaitedOut) {
  for (const int status : {503, 429, 500}) {
    fail("PUT", 4, {status, "<Error><Code>SlowDown</Code></Error>"});
    EXPECT_TRUE(put("bytes of " + std::to_string(status)).ok()) << status;
  }
}

TEST_F(S3Faults, FiveFailuresAreTheEndAndNameTheStore) {
  fail("PUT", 5, {503, "<Error><Code>SlowDown</Code></Error>"});
  const absl::Status status = put("bytes");
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(reason_of(status), "STORAGE_FAILED");
  EXPECT_THAT(std::string(status.message()), HasSubstr(store_.endpoint()));
  EXPECT_THAT(std::string(status.message()), HasSubstr("503 SlowDown"));
}

TEST_F(S3Faults, AnEqualBlobThatIsThereAlreadyIsSuccess) {
  store_.put(key_of("bytes"), "bytes");
  EXPECT_TRUE(put("bytes").ok());
}

TEST_F(S3Faults, ADownloadThatBreaksOffGoesOnWhereItWas) {
  const std::string bytes = many_bytes(3000);
  ASSERT_TRUE(put(bytes).ok());
  forget_copies();
  int reads = 0;
  store_.interrupt([&](const StoreRequest& request, StoreReply& out) {
    if (request.method != "GET" || request.path.size() < 60 || ++reads > 2) return false;
    out = store_.answer(request);
    out.cut_after = 900;
    return true;
  });
  EXPECT_EQ(artifacts_->read(sha256_hex(bytes), 0, 5000).value(), bytes);
  EXPECT_EQ(reads, 3);
}

TEST_F(S3Faults, WrongBytesOfTheRightLengthAreCaughtByTheirHashAndKeptFromEverybody) {
  ASSERT_TRUE(put("bytes").ok());
  forget_copies();
  store_.put(key_of("bytes"), "bytez");
  const auto read = artifacts_->read(sha256_hex("bytes"), 0, 10);
  EXPECT_EQ(reason_of(read.status()), "DIGEST_MISMATCH");
  EXPECT_EQ(read.status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(S3Faults, AClockThatIsWrongIsSaidInPlainWords) {
  fail("PUT", 1, {403, "<Error><Code>RequestTimeTooSkewed</Code></Error>"});
  EXPECT_THAT(std::string(put("bytes").message()), HasSubstr("clock"));
}

TEST_F(S3Faults, WhatIsReadOnceIsReadFromTheCopyAfterwards) {
  ASSERT_TRUE(put("bytes").ok());
  const std::size_t before = store_.calls().size();
  EXPECT_EQ(artifacts_->read(sha256_hex("bytes"), 1, 3).value(), "yte");
  EXPECT_EQ(artifacts_->size(sha256_hex("bytes")).value(), 5);
  EXPECT_EQ(store_.calls().size(), before);
}

TEST_F(S3Faults, CopiesLeaveWhenTheyAreTooManyAndComeBackWhenAsked) {
  std::vector<std::string> blobs;
  for (int i = 0; i < 10; ++i) blobs.push_back(std::to_string(i) + many_bytes(3500));
  for (const std::string& blob : blobs) ASSERT_TRUE(put(blob).ok());
  std::int64_t kept = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path()))
    kept += entry.is_regular_file() ? static_cast<std::int64_t>(entry.file_size()) : 0;
  EXPECT_LE(kept, 20'000);
  for (const std::string& blob : blobs) EXPECT_EQ(artifacts_->read(sha256_hex(blob), 0, 5000).value(), blob);
}

TEST_F(S3Faults, ObjectsOfOthersUnderThePrefixAreNotListed) {
  ASSERT_TRUE(put("bytes").ok());
  store_.put("a/b/sha256/readme", "not a blob");
  store_.put("a/b/sha256/zz/" + sha256_hex("moved"), "moved");
  store_.put("a/c/sha256/" + sha256_hex("x").substr(0, 2) + "/" + sha256_hex("x"), "x");
  EXPECT_THAT(artifacts_->list("", 100).value(), ::testing::ElementsAre(sha256_hex("bytes")));
}

TEST_F(S3Faults, AListingThatDoesNotGoOnIsRefused) {
  fail("GET", 100, {200, "<R><IsTruncated>true</IsTruncated><Contents><Key>a/b/readme</Key></Contents></R>"});
  const auto listed = artifacts_->list("", 10);
  EXPECT_EQ(listed.status().code(), absl::StatusCode::kUnavailable) << listed.status();
  EXPECT_THAT(std::string(listed.status().message()), HasSubstr("does it speak S3?"));
}

TEST_F(S3Faults, AFullDiskUnderTheCopiesRefusesUploadsAndDownloadsUntilThereIsRoom) {
  const std::string bytes = many_bytes(3000);
  ASSERT_TRUE(put(bytes).ok());
  forget_copies();
  {
    const NoLargeFiles full(1000);
    const auto read = artifacts_->read(sha256_hex(bytes), 0, 5000);
    EXPECT_EQ(read.status().code(), absl::StatusCode::kResourceExhausted) << read.status();
    EXPECT_EQ(reason_of(read.status()), "STORAGE_FAILED");
    EXPECT_EQ(put(many_bytes(2000)).code(), absl::StatusCode::kResourceExhausted);
  }
  EXPECT_THAT(store_.objects(), ::testing::SizeIs(1)) << "nothing of the upload that was refused";
  EXPECT_EQ(artifacts_->read(sha256_hex(bytes), 0, 5000).value(), bytes);
}

absl::Status open_with(const std::string& address, const std::string& endpoint, S3Keys keys, const TempFolder& folder) {
  S3Options options;
  const auto place = parse_s3_place(address, endpoint, "");
  if (!place.ok()) return place.status();
  options.place = *place;
  options.keys = std::move(keys);
  options.folder = folder.path();
  options.patience.first_wait = std::chrono::milliseconds(0);
  return open_s3_artifacts(options, system_clock()).status();
}

TEST(S3Opening, NamesABucketThatIsNotThereAndKeysThatAreRefused) {
  ObjectStore store;
  TempFolder folder;
  const absl::Status bucket = open_with("s3://other", store.endpoint(), {"ada", "lovelace", ""}, folder);
  EXPECT_THAT(std::string(bucket.message()), HasSubstr("NoSuchBucket; make the bucket"));
  const absl::Status keys = open_with("s3://blobs", store.endpoint(), {"eve", "hunter2", ""}, folder);
  EXPECT_EQ(keys.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(keys.message()), Not(HasSubstr("hunter2")));
}

TEST(S3Opening, NamesAnEndpointThatDoesNotAnswer) {
  std::string gone;
  {
    ObjectStore store;
    gone = store.endpoint();
  }
  TempFolder folder;
  const absl::Status status = open_with("s3://blobs", gone, {"ada", "lovelace", ""}, folder);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr(gone));
}

TEST(S3Places, AreReadFromAnAddressAndRefusedWithThePartThatIsWrong) {
  const S3Place place = parse_s3_place("s3://blobs/a/b/", "", "eu-north-1").value();
  EXPECT_EQ(place.bucket, "blobs");
  EXPECT_EQ(place.prefix, "a/b");
  EXPECT_EQ(place.endpoint, "https://s3.eu-north-1.amazonaws.com");
  EXPECT_EQ(parse_s3_place("s3://blobs", "http://minio/", "").value().endpoint, "http://minio");
  for (const char* wrong : {"blobs", "s3://", "s3://Blobs", "s3://ab", "s3://blobs//a", "s3://blobs/a//b"})
    EXPECT_EQ(reason_of(parse_s3_place(wrong, "", "").status()), "INVALID_ARGUMENT") << wrong;
  for (const char* wrong : {"localhost", "ftp://host", "https://", "https://host/path", "https://user@host"})
    EXPECT_EQ(reason_of(parse_s3_place("s3://blobs", wrong, "").status()), "INVALID_ARGUMENT") << wrong;
}

TEST(S3Keys, AreReadFromAProfileAndNeverPrinted) {
  TempFolder folder;
  const auto file = folder.path() / "credentials";
  std::ofstream(file) << "[other]\naws_access_key_id = x\naws_secret_access_key = y\n"
                         "[default]\naws_access_key_id=AKIA1\n aws_secret_access_key = s3cret \naws_session_token=t\n";
  const locus::S3Keys keys = find_s3_keys(file).value();
  EXPECT_EQ(keys.access, "AKIA1");
  EXPECT_EQ(keys.secret, "s3cret");
  EXPECT_EQ(keys.session, "t");
  std::ofstream(file) << "[default]\naws_secret_access_key = s3cret\n";
  const absl::Status status = find_s3_keys(file).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr(file.string()));
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("s3cret")));
}

// Made by botocore 1.44 (S3SigV4QueryAuth) for the same place, keys, key and moment; parameters in the order of their names.
TEST(S3Urls, AreSignedAsAmazonsOwnLibrarySignsThem) {
  const std::string key = s3_key(kPlace, std::string(64, 'a'));
  EXPECT_EQ(
      s3_presigned_url(kPlace, kKeys, key, std::chrono::seconds(900), 1'780'000'000'000'000),
      R"(https://s3.example.org/blobs/runs%20of%20ada/sha256/aa/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAEXAMPLE0123456789%2F20260528%2Feu-central-1%2Fs3%2Faws4_request&X-Amz-Date=20260528T202640Z&X-Amz-Expires=900&X-Amz-SignedHeaders=host&X-Amz-Signature=df78e5b99bf649b4f2c8cd499a2934b71baea0bd883110f353885fb4ee592e61)");
  locus::S3Keys session = kKeys;
  session.session = "to/ken+==";
  EXPECT_EQ(
      s3_presigned_url(kPlace, session, key, std::chrono::seconds(900), 1'780'000'000'000'000),
      R"(https://s3.example.org/blobs/runs%20of%20ada/sha256/aa/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAEXAMPLE0123456789%2F20260528%2Feu-central-1%2Fs3%2Faws4_request&X-Amz-Date=20260528T202640Z&X-Amz-Expires=900&X-Amz-Security-Token=to%2Fken%2B%3D%3D&X-Amz-SignedHeaders=host&X-Amz-Signature=8ce6d96af29861cfa1cdb12e038eef156162fcdd323cdec3c03ce4d42cc09806)");
}

}  // namespace
}  // namespace locus::testing
