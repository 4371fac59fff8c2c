// Safetensors: what is written is read back, and no hostile file gets through.
#include "engine/files/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

#include "engine/base/failure.h"
#include "tests/engine/train/recording.h"

namespace locus::engine {
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
  for (at::ScalarType type : {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16, at::kLong, at::kInt, at::kShort,
                              at::kChar, at::kByte, at::kBool}) {
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
  EXPECT_THAT(refused(file_of(std::string(50000, '['), "")), HasSubstr("nests deeper"));
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
  EXPECT_THAT(refused(file_of(R"({"x":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})", "")),
              HasSubstr("too large"));
  EXPECT_THAT(refused(file_of(R"({"x":{"dtype":"F32","shape":[0,4611686018427387904,4],"data_offsets":[0,0]}})", "")),
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
  write_safetensors(path_, {{{"a", at::arange(5, at::kFloat)}, {"b", at::ones({2}, at::kByte)}}, {{"k", "v"}}});
  const std::string whole = read_bytes(path_);
  for (std::size_t cut = 0; cut < whole.size(); ++cut) EXPECT_NE(refused(whole.substr(0, cut)), "not refused") << cut;
}

// ---- what an attacker or a broken disk may leave: every row is refused, and says why ----
struct Hostile {
  const char* what;
  std::uint64_t length;  // of the header, as the file claims; kTrue: as it is
  std::string header, data, says;
};
constexpr std::uint64_t kTrue = ~std::uint64_t{0} - 1;

std::vector<Hostile> hostile_files() {
  const std::string eight(8, '\0'), good = R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  const std::string long_name(10'000, 'n');
  std::string nested = "{\"x\":";
  for (int i = 0; i < 200'000; ++i) nested += "{\"x\":";
  const auto named = [](const std::string& name) {
    return "{\"" + name + R"(":{"dtype":"F99","shape":[2],"data_offsets":[0,8]}})";
  };
  return {
      {"an empty file", kTrue, "", "", "not JSON"},
      {"a header of no length", 0, good, eight, "not JSON"},
      {"a length one short", good.size() - 1, good, eight, "not JSON"},
      {"a length one long", good.size() + 1, good, eight, "not JSON"},
      {"a length up to the end", good.size() + 8, good, eight, "not JSON"},
      {"a length beyond the end", good.size() + 9, good, eight, "header is longer"},
      {"a length of 2^31", 1ull << 31, good, eight, "header is longer"},
      {"a length of 2^32", 1ull << 32, good, eight, "header is longer"},
      {"a length of 2^63", 1ull << 63, good, eight, "header is longer"},
      {"a length of 2^64 - 1", ~0ull, good, eight, "header is longer"},
      {"a length that wraps around", ~0ull - 7, good, eight, "header is longer"},
      {"no JSON", kTrue, "safetensors", eight, "not JSON"},
      {"a null byte in the JSON", kTrue, std::string("{\0}", 3), "", "not JSON"},
      {"text that is no UTF-8", kTrue, "{\"\xff\":{}}", "", "not JSON"},
      {"two documents", kTrue, good + good, eight, "not JSON"},
      {"a number", kTrue, "7", "", "not an object"},
      {"a list", kTrue, "[]", "", "not an object"},
      {"null", kTrue, "null", "", "not an object"},
      {"deep objects", kTrue, nested, "", "nests deeper"},
      {"deep lists", kTrue, "{\"x\":" + std::string(200'000, '['), "", "nests deeper"},
      {"a name twice", kTrue, R"({"x":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"x":{}})", "",
       "'x' appears twice"},
      {"a key of a tensor twice", kTrue, R"({"x":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}})", "",
       "'dtype' appears twice"},
      {"a name of 10,000 letters twice", kTrue, "{\"" + long_name + "\":{},\"" + long_name + "\":{}}", "",
       "appears twice"},
      {"a name of 10,000 letters", kTrue, named(long_name), eight, "nnn...' has the unknown type"},
      {"control characters in a name", kTrue, named("a\\u001b[31mb"), eight, "'a?[31mb'"},
      {"a tensor that is a list", kTrue, R"({"x":[]})", "", "lacks dtype"},
      {"a tensor that is null", kTrue, R"({"x":null})", "", "lacks dtype"},
      {"a type that is a number", kTrue, R"({"x":{"dtype":4,"shape":[2],"data_offsets":[0,8]}})", eight, "lacks dtype"},
      {"a type in lower case", kTrue, R"({"x":{"dtype":"f32","shape":[2],"data_offsets":[0,8]}})", eight,
       "unknown type 'f32'"},
      {"a type of 10,000 letters", kTrue, R"({"x":{"dtype":")" + long_name + R"(","shape":[2],"data_offsets":[0,8]}})",
       eight, "nnn...'"},
      {"one offset", kTrue, R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0]}})", eight, "lacks dtype"},
      {"a negative offset", kTrue, R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[-8,0]}})", eight,
       "no natural number"},
      {"an offset with a fraction", kTrue, R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8.0]}})", eight,
       "no natural number"},
      {"an offset beyond 64 bits", kTrue,
       R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,99999999999999999999]}})", eight, "no natural number"},
      {"offsets beyond the end", kTrue, R"({"x":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})", eight,
       "holds 8 bytes"},
      {"offsets of a terabyte", kTrue,
       R"({"x":{"dtype":"F32","shape":[274877906944],"data_offsets":[0,1099511627776]}})", eight, "holds 8 bytes"},
      {"offsets backwards", kTrue, R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", eight, "other bytes"},
      {"a hole before the first", kTrue, R"({"x":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})", eight,
       "hole or overlaps"},
      {"one within another", kTrue,
       R"({"x":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},"y":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
       eight, "hole or overlaps"},
      {"a wider type than its bytes", kTrue, R"({"x":{"dtype":"F64","shape":[2],"data_offsets":[0,8]}})", eight,
       "other bytes"},
      {"a shape that is text", kTrue, R"({"x":{"dtype":"F32","shape":"2","data_offsets":[0,8]}})", eight,
       "lacks dtype"},
      {"a shape of lists", kTrue, R"({"x":{"dtype":"F32","shape":[[2]],"data_offsets":[0,8]}})", eight,
       "no natural number"},
      {"17 dimensions", kTrue,
       R"({"x":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,8],"data_offsets":[0,8]}})", eight,
       "more than 16"},
      {"metadata that is a list", kTrue, R"({"__metadata__":[]})", "", "__metadata__ is not an object"},
      {"metadata that is nested", kTrue, R"({"__metadata__":{"a":{}}})", "", "which is not a string"},
  };
}

TEST_F(Safetensors, EveryHostileFileIsRefusedByNameWithTheReason) {
  for (const Hostile& row : hostile_files()) {
    const std::uint64_t length = row.length == kTrue ? row.header.size() : row.length;
    std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
    const std::string said = refused(bytes + row.header + row.data);
    EXPECT_THAT(said, HasSubstr(row.says)) << row.what;
    EXPECT_THAT(said, HasSubstr(path_.string())) << row.what;
    EXPECT_LT(said.size(), 400u) << row.what;
  }
  EXPECT_THAT(refused(""), HasSubstr("too short"));
}

// A limit on the address space a little above what is in use: an allocation of a lying size would throw
// bad_alloc.
TEST_F(Safetensors, NothingIsAllocatedForASizeThatLies) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  std::ifstream statm("/proc/self/statm");
  std::uint64_t pages = 0;
  statm >> pages;
  const rlimit tight{pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) + (96u << 20), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &tight), 0);
  for (const Hostile& row : hostile_files()) {
    const std::uint64_t length = row.length == kTrue ? row.header.size() : row.length;
    std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
    EXPECT_NE(refused(bytes + row.header + row.data), "not refused") << row.what;
  }
  ::setrlimit(RLIMIT_AS, &before);
}

TEST_F(Safetensors, LeavesTheOldFileWhenTheNewOneCannotBeWritten) {
  write_safetensors(path_, {{{"a", at::ones({1})}}, {}});
  const std::string before = read_bytes(path_);
  EXPECT_THROW(write_safetensors(path_, {{{"a", at::ones({1}, at::kComplexFloat)}}, {}}), std::invalid_argument);
  EXPECT_EQ(read_bytes(path_), before);
  EXPECT_THROW(write_safetensors(folder_.path() / "absent" / "x", {}), std::runtime_error);
}

}  // namespace
}  // namespace locus::engine
