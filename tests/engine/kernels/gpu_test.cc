// On a GPU: every path and our own kernels against the float64 reference. Skipped, with the reason, where
// there is none.
#include <gtest/gtest.h>

#include "engine/attention/curve_decay.h"
#include "engine/attention/path.h"
#include "engine/base/device.h"
#include "engine/kernels/plugin.h"
#include "engine/priors/curves.h"
#include "tests/engine/support/models.h"
#include "tests/engine/support/reference.h"

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

struct CurveCase {
  Layout layout;
  std::int64_t batch, heads;
};

// Largest relative difference: absolute over the largest reference entry.
double relative(const Tensor& found, const Tensor& expected) {
  return largest_difference(found, expected) / std::max(1e-12, expected.detach().abs().max().item<double>());
}

void check_curve_decay(const CurveCase& c, at::Device device, at::ScalarType type, double tolerance) {
  const RandomStreams random(3);
  const std::int64_t tokens = c.layout.tokens(), curves = static_cast<std::int64_t>(curve_names().size());
  std::vector<Tensor> rows;
  for (const std::string& name : curve_names())
    rows.push_back(at::tensor(curve_ranks(name, c.layout.extent[0], c.layout.extent[1]), at::kInt));
  const Tensor rank = at::stack(rows);
  const Tensor content =
      random.normal("test", "content", 0, {c.batch, c.heads, tokens, tokens}).to(type).to(at::kDouble);
  const Tensor grad = random.normal("test", "grad", 0, content.sizes()).to(type).to(at::kDouble);
  const Tensor rate = random.uniform("test", "rate", 0, {curves, c.heads}, 0.001, 0.5),
               alpha = random.normal("test", "alpha", 0, {c.heads});

  const Tensor mask = test::reference_curve_decay(rank, rate.to(at::kDouble), alpha.to(at::kDouble), c.layout.prefix);
  const auto expected = test::reference_curve_decay_gradients(rank, rate.to(at::kDouble), alpha.to(at::kDouble),
                                                              c.layout.prefix, (content * grad).sum(0).contiguous());
  const Tensor a = content.to(device, type).requires_grad_(), r = rate.to(device).requires_grad_(),
               s = alpha.to(device).requires_grad_();
  ASSERT_NE(curve_decay_kernel(a, curves), nullptr) << engine::cuda_kernels_missing();
  const auto ranks = std::make_shared<const CurveRanks>(rank.to(device), c.layout.prefix);
  const Tensor out = apply_curve_decay(a, {ranks, r, s});
  EXPECT_LT(relative(out, content * mask), tolerance);
  out.backward(grad.to(device, type));
  EXPECT_LT(relative(a.grad(), grad * mask), tolerance);
  EXPECT_LT(relative(r.grad(), expected.rate), 10 * tolerance);
  EXPECT_LT(relative(s.grad(), expected.alpha), 10 * tolerance);
}

TEST_F(Gpu, OurCurveDecayKernelAgreesWithTheReferenceInValueAndEveryGradient) {
  if (engine::cuda_kernels() == nullptr) GTEST_SKIP() << engine::cuda_kernels_missing();
  for (const CurveCase& c : {CurveCase{{{4, 4}, 0}, 32, 4}, CurveCase{{{3, 5}, 1}, 2, 3}, CurveCase{{{9, 7}, 5}, 3, 2},
                             CurveCase{{{1, 7}, 1}, 1, 1}}) {
    check_curve_decay(c, device_, at::kFloat, 1e-5);
    check_curve_decay(c, device_, at::kBFloat16, 1e-2);
    check_curve_decay(c, device_, at::kHalf, 2e-3);
  }
}

TEST_F(Gpu, OurCurveDecayKernelGivesTheSameBitsEachTime) {
  if (engine::cuda_kernels() == nullptr) GTEST_SKIP() << engine::cuda_kernels_missing();
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

}  // namespace
}  // namespace locus::engine
