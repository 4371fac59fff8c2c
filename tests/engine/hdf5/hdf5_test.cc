// Arrays written to HDF5 files and read back, and files that are none.
#include "engine/hdf5/hdf5.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <thread>

namespace locus::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t kMost = 1 << 20;

Hdf5Floats ramp(std::int64_t rows, std::int64_t columns) {
  Hdf5Floats out{{rows, columns}, {}};
  for (std::int64_t i = 0; i < rows * columns; ++i) out.numbers.push_back(static_cast<float>(i % 97) / 4);
  return out;
}

std::string refusal(const std::vector<std::byte>& file, const std::string& name, std::size_t rank,
                    std::int64_t most = kMost) {
  try {
    read_hdf5_floats(file, name, rank, most);
  } catch (const Hdf5Error& error) {
    return error.what();
  }
  return "";
}

TEST(Hdf5, GivesBackWhatSixteenBitsHold) {
  const Hdf5Floats array = ramp(100, 150);
  const Hdf5Floats back = read_hdf5_floats(write_hdf5_halves("dataset", array), "dataset", 2, kMost);
  EXPECT_EQ(back.shape, array.shape);
  EXPECT_EQ(back.numbers, array.numbers);
}

TEST(Hdf5, KeepsWhatIsNoNumber) {
  Hdf5Floats array{{1, 3}, {std::nanf(""), std::numeric_limits<float>::infinity(), 1e9f}};
  const auto back = read_hdf5_floats(write_hdf5_halves("dataset", array), "dataset", 2, kMost).numbers;
  EXPECT_TRUE(std::isnan(back[0]));
  EXPECT_TRUE(std::isinf(back[1]));
  EXPECT_TRUE(std::isinf(back[2])) << "beyond 16 bits";
}

TEST(Hdf5, ReadsWholeNumbersAndTheirShape) {
  const Hdf5Integers array{{2, 3}, {-1, 2, 3, 4, 5, 70000}};
  const std::vector<std::byte> file = write_hdf5_integers("entity", array);
  EXPECT_EQ(read_hdf5_integers(file, "entity", 2, kMost).numbers, array.numbers);
  EXPECT_THAT(read_hdf5_shape(file, "entity", 2, kMost), ElementsAre(2, 3));
  EXPECT_EQ(read_hdf5_floats(file, "entity", 2, kMost).numbers[5], 70000.0f);
}

TEST(Hdf5, WritesTheSameBytesEachTime) {
  EXPECT_EQ(write_hdf5_halves("dataset", ramp(30, 40)), write_hdf5_halves("dataset", ramp(30, 40)));
}

TEST(Hdf5, SaysWhatIsWrongWithAFile) {
  const std::vector<std::byte> file = write_hdf5_halves("dataset", ramp(100, 150));
  EXPECT_THAT(refusal(file, "depth", 2), HasSubstr("has no array 'depth'"));
  EXPECT_THAT(refusal(file, "dataset", 3), HasSubstr("2 axes (100 x 150) where 3"));
  EXPECT_THAT(refusal(file, "dataset", 2, 1000), HasSubstr("at most 1000"));
  EXPECT_THAT(refusal({}, "dataset", 2), HasSubstr("no HDF5 file"));
  EXPECT_THAT(refusal(std::vector<std::byte>(500, std::byte{7}), "dataset", 2), HasSubstr("no HDF5 file"));
  std::vector<std::byte> half = file;
  half.resize(half.size() / 2);
  EXPECT_NE(refusal(half, "dataset", 2), "");
  std::vector<std::byte> spoilt = file;
  std::fill(spoilt.begin() + static_cast<std::ptrdiff_t>(spoilt.size() / 2), spoilt.end(), std::byte{7});
  EXPECT_NE(refusal(spoilt, "dataset", 2), "");
  EXPECT_THROW(write_hdf5_halves("dataset", {{2, 2}, {1}}), std::invalid_argument);
}

// Every address of the file, sent to the end of all addresses and about the end of the file.
TEST(Hdf5, RefusesOrReadsAFileWhoseAddressesLeadElsewhere) {
  const std::vector<std::byte> file = write_hdf5_halves("dataset", ramp(8, 8));
  int refused = 0;
  for (std::size_t at = 0; at + 8 <= file.size(); ++at) {
    for (const std::uint64_t address : {~std::uint64_t{0}, ~std::uint64_t{0} - 7, std::uint64_t{1} << 63,
                                        static_cast<std::uint64_t>(file.size()), std::uint64_t{0}}) {
      std::vector<std::byte> changed = file;
      std::memcpy(changed.data() + at, &address, sizeof address);
      refused += refusal(changed, "dataset", 2).empty() ? 0 : 1;
    }
  }
  EXPECT_GT(refused, 100);
}

TEST(Hdf5, IsReadBySomeThreadsAtOnce) {
  const Hdf5Floats array = ramp(64, 64);
  const std::vector<std::byte> file = write_hdf5_halves("dataset", array);
  std::vector<std::thread> threads;
  std::vector<int> same(4);
  for (std::size_t i = 0; i < same.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int k = 0; k < 20; ++k) same[i] += read_hdf5_floats(file, "dataset", 2, kMost).numbers == array.numbers;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(same, ElementsAre(20, 20, 20, 20));
}

}  // namespace
}  // namespace locus::engine
