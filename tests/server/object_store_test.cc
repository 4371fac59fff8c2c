// A server whose blobs lie in an object store, and clients that read them there.
#include <gmock/gmock.h>

#include <fstream>

#include "client/client.h"
#include "core/base/error.h"
#include "core/base/sha256.h"
#include "tests/server/support/server_fixture.h"
#include "tests/storage/object_store.h"

namespace locus::test {
namespace {

using ::testing::HasSubstr;

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class ObjectStoreServer : public ServerTest {
 protected:
  ObjectStoreServer() {
    std::ofstream(folder_.path() / "keys") << "[default]\naws_access_key_id=ada\naws_secret_access_key=lovelace\n";
    std::ofstream(blob_) << bytes_;
  }
  void start_at(const std::string& address) {
    ServerOptions options;
    options.data = folder_.path() / "data";
    if (!address.empty()) options.artifacts = {address, store_.endpoint(), "", folder_.path() / "keys"};
    start(options);
    client_ = Client::connect(grpc_address()).value();
  }
  // How many reads came by a signed URL; each is answered with `status`, 0: as the store does.
  void watch_direct_reads(int status) {
    store_.interrupt([this, status](const locus::testing::StoreRequest& request, locus::testing::StoreReply& out) {
      if (!request.query.contains("X-Amz-Signature")) return false;
      ++direct_;
      out.status = status;
      return status != 0;
    });
  }

  TemporaryFolder folder_;
  locus::testing::ObjectStore store_;
  std::atomic<int> direct_ = 0;
  const std::string bytes_ = std::string(3'000'000, 'w');
  const std::string digest_ = sha256_hex(bytes_);
  const std::filesystem::path blob_ = folder_.path() / "blob", copy_ = folder_.path() / "copy";
  std::unique_ptr<Client> client_;
};

TEST_F(ObjectStoreServer, KeepsUploadsInTheBucketAndClientsReadThemThereWithoutKeys) {
  start_at("s3://blobs/lab");
  ASSERT_EQ(client_->upload_artifact(blob_, "checkpoint").value(), digest_);
  EXPECT_EQ(store_.objects().at("lab/sha256/" + digest_.substr(0, 2) + "/" + digest_), bytes_);
  watch_direct_reads(0);
  ASSERT_TRUE(client_->download_artifact(digest_, copy_).ok());
  EXPECT_EQ(read_file(copy_), bytes_);
  EXPECT_EQ(direct_, 1);
}

TEST_F(ObjectStoreServer, GivesTheBytesItselfToAClientThatCannotReadThemThere) {
  start_at("s3://blobs/lab");
  ASSERT_TRUE(client_->upload_artifact(blob_, "checkpoint").ok());
  watch_direct_reads(503);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(client_->download_artifact(digest_, copy_).ok());
    EXPECT_EQ(read_file(copy_), bytes_);
  }
  EXPECT_EQ(direct_, 1) << "a client that failed once asks the server from then on";
}

TEST_F(ObjectStoreServer, TakesWhatItsFolderHeldAlong) {
  start_at("");
  ASSERT_TRUE(client_->upload_artifact(blob_, "checkpoint").ok());
  EXPECT_EQ(client_
                ->locate_artifact([&] {
                  v1::LocateArtifactRequest request;
                  request.set_sha256(digest_);
                  return request;
                }())
                .value()
                .url(),
            "");
  stop();
  start_at("s3://blobs/lab");
  EXPECT_EQ(store_.objects().size(), 1u);
  ASSERT_TRUE(client_->download_artifact(digest_, copy_).ok());
  EXPECT_EQ(read_file(copy_), bytes_);
}

TEST_F(ObjectStoreServer, NamesTheUrlOverHttpAndNeverTheSecret) {
  start_at("s3://blobs/lab");
  ASSERT_TRUE(client_->upload_artifact(blob_, "checkpoint").ok());
  const auto answer = http().get("/api/v1/artifacts/" + digest_ + ":locate");
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.body, HasSubstr("X-Amz-Signature="));
  EXPECT_THAT(answer.body, ::testing::Not(HasSubstr("lovelace")));
  EXPECT_EQ(http().get("/api/v1/artifacts/" + std::string(64, '0') + ":locate").status, 404);
}

TEST_F(ObjectStoreServer, RefusesOptionsOfAStoreWithoutOne) {
  ServerOptions options;
  options.data = folder_.path() / "data";
  options.artifacts.region = "eu-north-1";
  EXPECT_THAT(std::string(make_parts(options).status().message()), HasSubstr("--artifacts s3://BUCKET/PREFIX"));
}

}  // namespace
}  // namespace locus::test
