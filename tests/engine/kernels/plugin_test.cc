// The kernel plugin: found beside the executable where a toolkit built it, and a reason where not.
#include "engine/kernels/plugin.h"

#include <gtest/gtest.h>

namespace locus::engine {
namespace {

TEST(KernelPlugin, IsCompleteOrSaysWhyItIsMissing) {
  const CudaKernels* kernels = cuda_kernels();
  EXPECT_EQ(kernels == nullptr, !cuda_kernels_missing().empty());
  if (kernels == nullptr) GTEST_SKIP() << cuda_kernels_missing();
  EXPECT_NE(kernels->curve_decay_forward, nullptr);
  EXPECT_NE(kernels->curve_decay_backward, nullptr);
  EXPECT_NE(kernels->curve_decay_workspace, nullptr);
  EXPECT_NE(kernels->error_text, nullptr);
  EXPECT_EQ(kernels, cuda_kernels()) << "loaded once";
}

TEST(KernelPlugin, AsksForWorkspaceThatGrowsWithTheProblem) {
  const CudaKernels* kernels = cuda_kernels();
  if (kernels == nullptr) GTEST_SKIP() << cuda_kernels_missing();
  locus_curve_decay problem{};
  problem.dtype = LOCUS_FLOAT32;
  problem.curves = 8;
  problem.batch = 2;
  problem.heads = 3;
  problem.tokens = 17;
  problem.prefix = 1;
  const auto small = kernels->curve_decay_workspace(&problem);
  problem.tokens = 197;
  EXPECT_GE(small, 0);
  EXPECT_GE(kernels->curve_decay_workspace(&problem), small);
}

}  // namespace
}  // namespace locus::engine
