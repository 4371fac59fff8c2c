// Points as bytes: every value returns, every damage is found.
#include "storage/sqlite/point_codec.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "core/base/crc32c.h"

namespace locus::sqlite {
namespace {

PointColumns some_columns(std::size_t n) {
  PointColumns columns;
  std::mt19937_64 random(7);
  for (std::size_t i = 0; i < n; ++i) {
    columns.series.push_back(static_cast<std::int64_t>(random() % 5));
    columns.step.push_back(static_cast<std::int64_t>(i));
    columns.images.push_back(static_cast<std::int64_t>(random()));  // any 64 bits
    columns.time_us.push_back(1'700'000'000'000'000 + static_cast<std::int64_t>(random() % 1000));
    columns.epoch.push_back(std::bit_cast<double>(random()));
    columns.value.push_back(std::bit_cast<double>(random()));
  }
  return columns;
}

template <class T>
void expect_same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(a[i]), std::bit_cast<std::uint64_t>(b[i])) << i;
  }
}

TEST(PointCodec, ChecksumIsTheStandardCrc32c) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);  // the check value of CRC-32C (RFC 3720)
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(""), 0u);
}

TEST(PointCodec, ChecksumIsTheSameWithAndWithoutTheProcessorsInstruction) {
  std::string bytes;
  for (std::uint32_t i = 0; i < 100; ++i) {
    EXPECT_EQ(crc32c(bytes), crc32c_by_tables(bytes)) << i;
    bytes += static_cast<char>(i * 2654435761u >> 24);
  }
}

TEST(PointCodec, ReturnsEveryBit) {
  PointColumns columns = some_columns(1000);
  columns.step = std::vector<std::int64_t>(1000, std::numeric_limits<std::int64_t>::min());
  columns.step[3] = std::numeric_limits<std::int64_t>::max();
  columns.value[0] = std::nan("");
  columns.value[1] = -std::numeric_limits<double>::infinity();
  columns.value[2] = -0.0;
  const auto back = decode_points(encode_points(columns));
  ASSERT_TRUE(back);
  expect_same_bits(back->series, columns.series);
  expect_same_bits(back->step, columns.step);
  expect_same_bits(back->images, columns.images);
  expect_same_bits(back->time_us, columns.time_us);
  expect_same_bits(back->epoch, columns.epoch);
  expect_same_bits(back->value, columns.value);
}

TEST(PointCodec, KeepsChunksWithoutSeriesAndEmptyOnes) {
  PointColumns chunk = some_columns(3);
  chunk.series.clear();
  const auto back = decode_points(encode_points(chunk));
  ASSERT_TRUE(back);
  EXPECT_TRUE(back->series.empty());
  EXPECT_EQ(back->size(), 3u);
  ASSERT_TRUE(decode_points(encode_points({})));
  EXPECT_EQ(decode_points(encode_points({}))->size(), 0u);
}

TEST(PointCodec, SpendsFewBytesOnRegularColumns) {
  PointColumns columns;
  for (int i = 0; i < 1000; ++i) {
    columns.step.push_back(i * 10);
    columns.images.push_back(i * 320);
    columns.time_us.push_back(1'700'000'000'000'000 + i * 1500);
    columns.epoch.push_back(i / 10.0);
    columns.value.push_back(std::sin(i));
  }
  EXPECT_LT(encode_points(columns).size(), 1000u * 24);
}

TEST(PointCodec, FindsEveryFlippedBitAndEveryTruncation) {
  const std::string good = encode_points(some_columns(20));
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(decode_points(bad)) << bit;
  }
  for (std::size_t size = 0; size < good.size(); ++size) EXPECT_FALSE(decode_points(good.substr(0, size))) << size;
}

}  // namespace
}  // namespace locus::sqlite
