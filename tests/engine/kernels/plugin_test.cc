// The kernel plugin: found beside the executable where a toolkit built it, and a reason where not.
#include "engine/kernels/plugin.h"

#include <gtest/gtest.h>

namespace locus::engine {
namespace {

TEST(KernelPlugin, IsCompleteOrSaysWhyItIsMissing) {
  const CudaKernels* kernels = cuda_kernels();
  EXPECT_EQ(kernels == nullptr, !cuda_kernels_missing().empty());
  if (kernels == nullptr) GTEST_SKIP() << cuda_kernels_missing();
  EXPECT_NE(kernels->attention.supports, nullptr);
  EXPECT_NE(kernels->attention.workspace, nullptr);
  EXPECT_NE(kernels->attention.forward, nullptr);
  EXPECT_NE(kernels->attention.backward, nullptr);
  EXPECT_NE(kernels->attention.error_text, nullptr);
  EXPECT_EQ(kernels, cuda_kernels()) << "loaded once";
}

TEST(KernelPlugin, RefusesAndAsksForWorkspaceAsItsSourceSays) {
  const CudaKernels* kernels = cuda_kernels();
  if (kernels == nullptr) GTEST_SKIP() << cuda_kernels_missing();
  float mark = 0;
  locus_attention problem{};
  problem.batch = 2, problem.heads = 3, problem.tokens = 197, problem.width = 64, problem.terms = 1;
  problem.term[0].role = LOCUS_SCALE, problem.term[0].form = LOCUS_CURVE_DECAY, problem.term[0].count = 8;
  EXPECT_EQ(kernels->attention.supports(&problem, 1), nullptr);
  EXPECT_EQ(kernels->attention.workspace(&problem), 0) << "nobody wants a gradient of the curves";
  problem.term[0].gradient = &mark;
  EXPECT_GT(kernels->attention.workspace(&problem), 0);
  problem.width = 65;
  EXPECT_NE(kernels->attention.supports(&problem, 1), nullptr);
}

}  // namespace
}  // namespace locus::engine
