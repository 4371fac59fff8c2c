// On a GPU: every path and our own kernels against the float64 reference. Skipped, with the reason, where
// there is none.
#include <gtest/gtest.h>

#include "engine/attention/flash_cuda.h"
#include "engine/base/device.h"
#include "tests/engine/kernels/form_cases.h"
#include "tests/engine/support/models.h"
#include "tests/engine/support/reference.h"
#include "tests/engine/train/small_training.h"

namespace locus::engine {
namespace {

using test::largest_difference;

class Gpu : public testing::Test {
 protected:
  void SetUp() override {
    try {
      device_ = open_device("cuda", 0);
    } catch (const std::runtime_error& error) {
      GTEST_SKIP() << error.what();
    }
  }
  at::Device device_{at::kCPU};
};

// Largest relative difference: absolute over the largest reference entry.
double relative(const Tensor& found, const Tensor& expected) {
  return largest_difference(found, expected) / std::max(1e-12, expected.detach().abs().max().item<double>());
}

TEST_F(Gpu, OurKernelsAgreeWithTheExplicitFormulaInValueAndEveryGradient) {
  if (cuda_kernels() == nullptr) GTEST_SKIP() << cuda_kernels_missing();
  const auto attend = [](const Scores& scores) {
    EXPECT_TRUE(flash_cuda_supports(scores));
    return flash_cuda(scores);
  };
  for (test::AttentionCase c : test::attention_cases()) {
    for (const std::int64_t width : {16, 64, 128}) {
      c.width = width;
      for (const auto& [type, tolerance] :
           {std::pair{at::kFloat, 1e-5}, std::pair{at::kHalf, 4e-3}, std::pair{at::kBFloat16, 3e-2}}) {
        EXPECT_EQ(
            test::difference(test::result_of(c, device_, type, attend), test::expected_result(c, type), tolerance), "")
            << c.name << ", width " << width << ", " << type;
      }
    }
  }
}

TEST_F(Gpu, GradientsOfPriorsHaveTheSameBitsEachTime) {
  const auto gradients = [&] {
    const auto model = test::small_model({{"violin"}}, {.extent = {28, 28}});
    model->to(device_);
    return test::gradients(*model, test::test_images(8, {28, 28}).to(device_));
  };
  const auto first = gradients();
  for (const auto& [name, gradient] : gradients()) {
    EXPECT_TRUE(!name.starts_with("priors.") || at::equal(gradient, first.at(name))) << name;
  }
}

TEST_F(Gpu, EveryPriorAgreesWithTheCpuOnEveryPath) {
  for (const test::PriorSetting& setting : test::all_settings()) {
    const test::ModelShape shape = test::fitting(setting, {.pool = "cls"});
    const auto reference = test::small_model({setting}, shape, 0, "explicit");
    reference->to(at::kDouble);
    const Tensor images = test::test_images(4, shape.extent);
    const auto expected = test::gradients(*reference, images.to(at::kDouble));
    for (const ExecutionPath& path : execution_paths()) {
      const auto model = test::small_model({setting}, shape, 0, std::string(path.name));
      model->to(device_);
      for (const auto& [name, gradient] : test::gradients(*model, images.to(device_))) {
        EXPECT_LT(relative(gradient, expected.at(name)), 2e-3) << setting.name() << " " << name << " on " << path.name;
      }
    }
  }
}

TEST_F(Gpu, ReplayedStepsOfEveryPriorAreThoseMadeOneByOne) {
  std::string why;
  const MakeDeviceGraph graphs = cuda_graphs(why);
  if (!graphs) GTEST_SKIP() << why;
  const OwnStream stream(device_);
  for (const test::PriorSetting& setting : test::all_settings()) {
    for (const ExecutionPath& path : execution_paths()) {
      test::Subject subject = test::subject_of(setting);
      subject.device = device_;
      subject.type = at::kFloat;
      subject.path = path.name;
      SCOPED_TRACE(setting.name() + " on " + subject.path);
      test::Twins twins(subject);
      twins.played.replay(graphs);
      twins.make(test::kLate, 8, test::kSamples, 1e-3);
      EXPECT_TRUE(twins.replays()) << testing::PrintToString(twins.played.said);
    }
  }
}

}  // namespace
}  // namespace locus::engine
