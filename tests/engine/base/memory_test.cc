// Memory that tensors leave behind is given to the next ones, and growth is bounded.
#include "engine/base/memory.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <thread>

namespace locus::engine {
namespace {

constexpr std::int64_t kMegabyte = 1 << 20;

at::Tensor bytes(std::int64_t count) { return at::empty({count}, at::kByte); }

class TensorMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    keep_tensor_memory();
    release_tensor_memory();
  }
};

TEST_F(TensorMemoryTest, GivesAFreedBlockToTheNextTensorOfItsSize) {
  for (const std::int64_t size : {std::int64_t{1}, std::int64_t{1000}, kMegabyte, 3 * kMegabyte, 40 * kMegabyte}) {
    const void* const before = bytes(size).data_ptr();
    const std::int64_t fetched = tensor_memory().fetched;
    EXPECT_EQ(bytes(size).data_ptr(), before) << size;
    EXPECT_EQ(tensor_memory().fetched, fetched) << size;
  }
}

TEST_F(TensorMemoryTest, RoundsSizesUpByAnEighthAtMost) {
  for (std::int64_t size = 4096; size < 60 * kMegabyte; size = size * 17 / 16 + 3) {
    const std::int64_t before = tensor_memory().live_bytes;
    const at::Tensor held = bytes(size);
    const std::int64_t taken = tensor_memory().live_bytes - before;
    EXPECT_GE(taken, size);
    EXPECT_LE(static_cast<double>(taken), 1.125 * static_cast<double>(size + 64 + 4096)) << size;
  }
}

TEST_F(TensorMemoryTest, LaysTensorsAtTheWidestVectors) {
  for (std::int64_t size = 1; size < 10 * kMegabyte; size *= 3)
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes(size).data_ptr()) % 64, 0) << size;
}

TEST_F(TensorMemoryTest, KeepsNoMoreUnusedThanWasInUseAtOnce) {
  std::int64_t most = 0;
  for (std::int64_t size = 50 * kMegabyte; size < 150 * kMegabyte; size += 9 * kMegabyte) {
    const at::Tensor held = bytes(size);
    most = std::max(most, tensor_memory().live_bytes);
    EXPECT_LE(tensor_memory().unused_bytes, most) << size;
  }
}

TEST_F(TensorMemoryTest, ReleasesWhatItKeepsWhenAsked) {
  bytes(30 * kMegabyte);
  EXPECT_GE(tensor_memory().unused_bytes, 30 * kMegabyte);
  release_tensor_memory(100 * kMegabyte);
  EXPECT_GE(tensor_memory().unused_bytes, 30 * kMegabyte);
  release_tensor_memory(kMegabyte);
  EXPECT_EQ(tensor_memory().unused_bytes, 0);
}

TEST_F(TensorMemoryTest, SaysWhatAskedForTooMuch) {
  try {
    bytes(std::int64_t{1} << 50);
    FAIL() << "a petabyte was given";
  } catch (const c10::OutOfMemoryError& error) {
    EXPECT_NE(std::string(error.what()).find("can't allocate memory"), std::string::npos);
  }
}

TEST_F(TensorMemoryTest, ServesThreadsAtOnce) {
  const std::int64_t live = tensor_memory().live_bytes;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      std::vector<at::Tensor> held;
      for (int i = 0; i < 400; ++i) {
        held.push_back(at::full({1 + (i * 37 + t * 11) % 5000}, t, at::kInt));
        if (held.size() > 9) held.erase(held.begin());
        for (const at::Tensor& each : held) ASSERT_TRUE(each.eq(t).all().item<bool>());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(tensor_memory().live_bytes, live);
}

}  // namespace
}  // namespace locus::engine
