// Descriptors that close themselves and files that are whole.
#include "core/base/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "core/base/error.h"

namespace locus {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

bool open_in_this_process(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

std::string content(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class Files : public ::testing::Test {
 protected:
  Files() {
    std::string name = (fs::temp_directory_path() / "files-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~Files() override { fs::remove_all(folder_); }
  fs::path folder_;
};

TEST_F(Files, AreClosedByTheirOwnerAndByItAlone) {
  Fd first = open_file(folder_, O_RDONLY | O_DIRECTORY);
  const int number = first.get();
  EXPECT_EQ(::fcntl(number, F_GETFD), FD_CLOEXEC);
  Fd second = std::move(first);
  EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): that is the question
  EXPECT_TRUE(open_in_this_process(number));
  Fd& itself = second;
  second = std::move(itself);
  EXPECT_TRUE(open_in_this_process(number));
  second = Fd();
  EXPECT_FALSE(open_in_this_process(number));
  Fd third = open_file(folder_, O_RDONLY | O_DIRECTORY);
  const int released = third.release();
  third = Fd();
  EXPECT_TRUE(open_in_this_process(released));
  EXPECT_EQ(::close(released), 0);
}

TEST_F(Files, AreReplacedAsAWholeAndLeaveNothingBeside) {
  const fs::path path = folder_ / "state";
  ASSERT_TRUE(write_file_durably(path, "first and longer").ok());
  ASSERT_TRUE(write_file_durably(path, "second", 0600).ok());
  EXPECT_EQ(content(path), "second");
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

TEST_F(Files, ThatCannotBeWrittenLeaveTheFormerOne) {
  const fs::path path = folder_ / "state";
  ASSERT_TRUE(write_file_durably(path, "first").ok());
  fs::create_directory(folder_ / "state.new");  // in the way
  const absl::Status refused = write_file_durably(path, "second");
  EXPECT_TRUE(has_reason(refused, ErrorReason::kStorageFailed));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("cannot create " + path.string() + ".new: Is a directory"));
  EXPECT_EQ(error_detail(refused)->metadata.at("path"), path.string() + ".new");
  EXPECT_EQ(content(path), "first");
}

}  // namespace
}  // namespace locus
