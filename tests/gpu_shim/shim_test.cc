// What the CPU's stand-in for a GPU finds: each defect planted in a kernel of a few lines, and none in the kernel
// without it.
#include <gmock/gmock.h>

#include <functional>

#include "tests/gpu_shim/device.h"

namespace locus::gpu_shim {
namespace {

using testing::HasSubstr;

constexpr int kThreads = 64;

// The error of a kernel, in every order of threads; empty: none.
std::string error_of(const std::function<void()>& kernel) {
  std::string error;
  for (const Order order : {Order::kAscending, Order::kDescending, Order::kRandom}) {
    try {
      launch({.threads = kThreads, .shared_bytes = 1024, .order = order, .seed = 5}, kernel);
    } catch (const KernelError& found) {
      error = found.what();
    }
  }
  return error;
}

void exchange_neighbors(bool with_barrier) {
  const auto memory = gpu::shared<float>(0, kThreads);
  memory[gpu::thread()] = static_cast<float>(gpu::thread());
  if (with_barrier) gpu::sync_block();
  const float found = memory[(gpu::thread() + 1) % kThreads];
  if (with_barrier && found != static_cast<float>((gpu::thread() + 1) % kThreads)) gpu::block().fail("wrong number");
}

TEST(GpuShim, FindsAMissingBarrier) {
  EXPECT_EQ(error_of([] { exchange_neighbors(true); }), "");
  EXPECT_NE(error_of([] { exchange_neighbors(false); }), "");
}

TEST(GpuShim, FindsTwoWritersOfOneNumber) {
  EXPECT_THAT(error_of([] { gpu::shared<float>(0, 4)[0] = 1; }), HasSubstr("race"));
}

TEST(GpuShim, FindsAWriteOverWhatOthersStillRead) {
  const auto kernel = [](bool with_barrier) {
    const auto memory = gpu::shared<float>(0, kThreads);
    memory[gpu::thread()] = 1;
    gpu::sync_block();
    const float read = memory[kThreads - 1 - gpu::thread()];
    if (with_barrier) gpu::sync_block();
    memory[gpu::thread()] = read;
  };
  EXPECT_EQ(error_of([&] { kernel(true); }), "");
  EXPECT_THAT(error_of([&] { kernel(false); }), HasSubstr("race"));
}

TEST(GpuShim, TakesAWarpsOwnBarrierForItsOwnLanesAlone) {
  const auto kernel = [](int distance) {
    const auto memory = gpu::shared<float>(0, kThreads);
    memory[gpu::thread()] = 1;
    gpu::sync_warp();
    const float read = memory[gpu::thread() ^ distance];
    (void)read;
  };
  EXPECT_EQ(error_of([&] { kernel(1); }), "");
  EXPECT_NE(error_of([&] { kernel(32); }), "");
}

TEST(GpuShim, FindsADivergentCollective) {
  EXPECT_THAT(error_of([] {
                if (gpu::lane() < 16) gpu::shuffle_xor(1, 1);
              }),
              HasSubstr("divergent"));
  const auto two_places = [] {  // not within the macro, which is one line
    if (gpu::lane() == 3) {
      gpu::shuffle_xor(1, 1);
    } else {
      gpu::shuffle_xor(1, 2);
    }
  };
  EXPECT_THAT(error_of(two_places), HasSubstr("divergent"));
}

TEST(GpuShim, FindsWarpsThatWaitAtDifferentBarriers) {
  const auto two_places = [] {
    if (gpu::warp() == 0) {
      gpu::sync_block();
    } else {
      gpu::sync_block();
    }
  };
  EXPECT_THAT(error_of(two_places), HasSubstr("deadlock"));
  EXPECT_THAT(error_of([] {
                if (gpu::warp() == 0) gpu::sync_block();
              }),
              HasSubstr("deadlock"));
}

TEST(GpuShim, FindsAReadOfWhatNobodyWrote) {
  EXPECT_THAT(error_of([] {
                const float read = gpu::shared<float>(0, kThreads)[gpu::thread()];
                (void)read;
              }),
              HasSubstr("nobody wrote"));
}

TEST(GpuShim, FindsAnAccessOutsideOfAPart) {
  EXPECT_THAT(error_of([] { gpu::shared<float>(0, kThreads)[gpu::thread() + 1] = 1; }), HasSubstr("out of bounds"));
  EXPECT_THAT(error_of([] { gpu::shared<float>(0, 4 * kThreads)[gpu::thread() - 1] = 1; }), HasSubstr("out of bounds"));
  EXPECT_THAT(error_of([] { gpu::shared<float>(1020, 2); }), HasSubstr("out of bounds"));
}

// Copies 16 bytes a thread; reads them after what `wait` does.
std::string copied(const std::function<void()>& wait) {
  alignas(16) static const float from[4 * kThreads] = {};
  return error_of([&] {
    const auto memory = gpu::shared<float>(0, 4 * kThreads);
    gpu::cp_async(memory + 4 * gpu::thread(), from + 4 * gpu::thread(), true);
    gpu::cp_async_commit();
    wait();
    const float read = memory[4 * ((gpu::thread() + 1) % kThreads)];
    (void)read;
    gpu::cp_async_wait<0>();
  });
}

TEST(GpuShim, ShowsCopiesAfterTheyHaveBeenWaitedFor) {
  EXPECT_EQ(copied([] {
              gpu::cp_async_wait<0>();
              gpu::sync_block();
            }),
            "");
  EXPECT_THAT(copied([] { gpu::sync_block(); }), HasSubstr("waited for"));
  EXPECT_THAT(copied([] {
                gpu::cp_async_wait<1>();
                gpu::sync_block();
              }),
              HasSubstr("waited for"));
  EXPECT_NE(copied([] { gpu::cp_async_wait<0>(); }), "") << "no barrier";
}

TEST(GpuShim, MultipliesFragmentsByTheirDefinition) {
  // a[m][k] = m + k / 16, b[k][n] = k - n, in bfloat16 without rounding.
  launch({.threads = 32, .shared_bytes = 16 * 24 * 4}, [] {
    const auto a = gpu::shared<gpu::Bf16>(0, 16 * 24), b = gpu::shared<gpu::Bf16>(16 * 24 * 2, 16 * 24);
    for (int at = gpu::lane(); at < 256; at += 32) {
      a[at / 16 * 24 + at % 16] = gpu::Bf16{gpu::to_bf16(static_cast<float>(at / 16) / 4)};
      b[at / 16 * 24 + at % 16] = gpu::Bf16{gpu::to_bf16(static_cast<float>(at / 16 - at % 16))};
    }
    gpu::sync_warp();
    std::uint32_t left[4], right[4];
    gpu::ldmatrix(left, a + (gpu::lane() % 16 * 24 + gpu::lane() / 16 * 8));
    gpu::ldmatrix_transposed(right, b + (gpu::lane() % 16 * 24 + gpu::lane() / 16 * 8));
    float c[4] = {1, 1, 1, 1};
    gpu::mma_16816<gpu::Bf16>(c, left, right[0], right[1]);
    for (int e = 0; e < 4; ++e) {
      const int row = gpu::lane() / 4 + e / 2 * 8, column = gpu::lane() % 4 * 2 + e % 2;
      float expected = 1;
      for (int k = 0; k < 16; ++k) expected += static_cast<float>(row) / 4 * static_cast<float>(k - column);
      if (c[e] != expected) gpu::block().fail("a wrong product");
    }
  });
}

TEST(GpuShim, RoundsAsTheTypesDo) {
  for (const float x : {0.f, -0.f, 1.f, -2.5f, 65504.f, 6e-8f, 6.1e-5f, 0.333251953125f})
    EXPECT_NEAR(gpu::from_fp16(gpu::to_fp16(x)), x, std::abs(x) / 2048 + 3e-8) << x;
  EXPECT_EQ(gpu::from_fp16(gpu::to_fp16(1e6f)), gpu::kInfinity);
  EXPECT_EQ(gpu::to_float(gpu::Bf16{gpu::to_bf16(1 + 1.f / 256)}), 1) << "ties to even";
  EXPECT_EQ(gpu::to_float(gpu::Bf16{gpu::to_bf16(1 + 3.f / 256)}), 1 + 4.f / 256);
}

}  // namespace
}  // namespace locus::gpu_shim
