// Safetensors: what is written is read back, and no hostile file gets through.
#include "engine/train/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/failure.h"
#include "tests/engine/train/recording.h"

namespace locus {
namespace {

using ::testing::HasSubstr;

class Safetensors : public ::testing::Test {
 protected:
  static std::string file_of(const std::string& header, const std::string& data) {
    std::string out;
    for (int i = 0; i < 8; ++i) out += static_cast<char>(header.size() >> (8 * i) & 255);
    return out + header + data;
  }
  std::string refused(const std::string& bytes) {
    write_bytes(path_, bytes);
    try {
      read_safetensors(path_);
    } catch (const DataError& error) {
      return error.what();
    }
    return "not refused";
  }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "x.safetensors";
};

TEST_F(Safetensors, ReadsBackEveryTypeShapeAndString) {
  TensorFile file;
  int i = 0;
  for (at::ScalarType type : {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16, at::kLong, at::kInt,
                              at::kShort, at::kChar, at::kByte, at::kBool}) {
    file.tensors["t" + std::to_string(i++)] = at::arange(6).view({2, 3}).to(type);
  }
  file.tensors["scalar"] = at::full({}, 3.5);
  file.tensors["empty"] = at::empty({0, 4});
  file.tensors["transposed"] = at::arange(6, at::kFloat).view({2, 3}).t();
  file.tensors["nan"] = at::full({2}, std::numeric_limits<float>::quiet_NaN());
  file.metadata = {{"a", "1"}, {"b", "\"quoted\" \xC3\xA9"}};
  write_safetensors(path_, file);
  const TensorFile back = read_safetensors(path_);
  EXPECT_EQ(back.metadata, file.metadata);
  ASSERT_EQ(back.tensors.size(), file.tensors.size());
  for (const auto& [name, tensor] : file.tensors)
    EXPECT_TRUE(same_bits(back.tensors.at(name), tensor.contiguous())) << name;
}

TEST_F(Safetensors, WritesTheSameBytesForTheSameContent) {
  const TensorFile file{{{"b", at::ones({3})}, {"a", at::zeros({2}, at::kByte)}}, {{"k", "v"}}};
  write_safetensors(path_, file);
  const std::string first = read_bytes(path_);
  write_safetensors(path_, file);
  EXPECT_EQ(read_bytes(path_), first);
  EXPECT_FALSE(std::filesystem::exists(path_.string() + ".partial"));
}

TEST_F(Safetensors, ReadsTheFormatAsPublished) {
  write_bytes(path_, file_of(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
                             std::string("\0\0\x80\x3f\0\0\0\x40", 8)));
  EXPECT_TRUE(at::equal(read_safetensors(path_).tensors.at("x"), at::tensor({1.0f, 2.0f})));
}

TEST_F(Safetensors, RefusesFilesThatLieAboutThemselves) {
  const std::string good = R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  const std::string eight(8, '\0');
  EXPECT_THAT(refused(file_of(good, eight).substr(0, 5)), HasSubstr("too short"));
  EXPECT_THAT(refused(std::string(7, '\xff') + std::string(1, '\x7f') + good), HasSubstr("header is longer"));
  EXPECT_THAT(refused(file_of(good, eight.substr(1))), HasSubstr("holds 7 bytes of data"));
  EXPECT_THAT(refused(file_of(good, eight + "x")), HasSubstr("holds 9 bytes of data"));
  EXPECT_THAT(refused(file_of("[]", "")), HasSubstr("not an object"));
  EXPECT_THAT(refused(file_of("{nonsense", "")), HasSubstr("not JSON"));
  EXPECT_THAT(refused(file_of(std::string(50000, '['), "")), HasSubstr("not JSON"));
  EXPECT_THAT(refused(file_of(R"({"x":{"dtype":"F31","shape":[2],"data_offsets":[0,8]}})", eight)),
              HasSubstr("unknown type 'F31'"));
  EXPECT_THAT(refused(file_of(R"({"x":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", eight)),
              HasSubstr("other bytes"));
  EXPECT_THAT(refused(file_of(R"({"x":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", eight)),
              HasSubstr("no natural number"));
  EXPECT_THAT(refused(file_of(R"({"x":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}})", eight)),
              HasSubstr("no natural number"));
  EXPECT_THAT(refused(file_of(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", eight)),
              HasSubstr("other bytes"));
  EXPECT_THAT(refused(file_of(R"({"x":{"dtype":"F32","shape":[2]}})", eight)), HasSubstr("lacks dtype"));
  EXPECT_THAT(refused(file_of(R"({"x":{"dtype":"BOOL","shape":[8],"data_offsets":[0,8]}})",
                              std::string("\1\1\2\0\0\0\0\0", 8))),
              HasSubstr("no booleans"));
  EXPECT_THAT(refused(file_of(R"({"__metadata__":{"a":1}})", "")), HasSubstr("not a string"));
}

TEST_F(Safetensors, RefusesExtentsThatOverflow) {
  EXPECT_THAT(
      refused(file_of(R"({"x":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})", "")),
      HasSubstr("too large"));
  EXPECT_THAT(
      refused(file_of(R"({"x":{"dtype":"F32","shape":[0,4611686018427387904,4],"data_offsets":[0,0]}})", "")),
      HasSubstr("too large"));
}

TEST_F(Safetensors, RefusesHolesOverlapsAndNamesTwice) {
  const auto two = [](const std::string& a, const std::string& b) {
    return R"({"x":{"dtype":"U8","shape":[4],"data_offsets":)" + a +
           R"(},"y":{"dtype":"U8","shape":[4],"data_offsets":)" + b + "}}";
  };
  const std::string eight(8, '\0');
  EXPECT_EQ(refused(file_of(two("[0,4]", "[4,8]"), eight)), "not refused");
  EXPECT_THAT(refused(file_of(two("[0,4]", "[2,6]"), eight)), HasSubstr("hole or overlaps"));
  EXPECT_THAT(refused(file_of(two("[0,4]", "[0,4]"), eight)), HasSubstr("hole or overlaps"));
  EXPECT_THAT(refused(file_of(two("[0,4]", "[5,9]"), eight + "x")), HasSubstr("hole or overlaps"));
  EXPECT_THAT(
      refused(file_of(
          R"({"x":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"x":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
          eight.substr(4))),
      HasSubstr("'x' appears twice"));
}

TEST_F(Safetensors, EveryTruncationIsRefused) {
  write_safetensors(path_,
                    {{{"a", at::arange(5, at::kFloat)}, {"b", at::ones({2}, at::kByte)}}, {{"k", "v"}}});
  const std::string whole = read_bytes(path_);
  for (std::size_t cut = 0; cut < whole.size(); ++cut)
    EXPECT_NE(refused(whole.substr(0, cut)), "not refused") << cut;
}

TEST_F(Safetensors, LeavesTheOldFileWhenTheNewOneCannotBeWritten) {
  write_safetensors(path_, {{{"a", at::ones({1})}}, {}});
  const std::string before = read_bytes(path_);
  EXPECT_THROW(write_safetensors(path_, {{{"a", at::ones({1}, at::kComplexFloat)}}, {}}),
               std::invalid_argument);
  EXPECT_EQ(read_bytes(path_), before);
  EXPECT_THROW(write_safetensors(folder_.path() / "absent" / "x", {}), std::runtime_error);
}

}  // namespace
}  // namespace locus
