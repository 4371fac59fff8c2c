// Losses and updates in one pass are those of single operations, and patches those of reshaped images.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/fused/cross_entropy.h"
#include "engine/fused/patches.h"
#include "engine/fused/updates.h"

namespace locus::engine::fused {
namespace {

Tensor drawn(at::IntArrayRef sizes, at::ScalarType type, std::uint64_t seed, double deviation = 1) {
  at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(seed);
  return (at::randn(sizes, generator, at::kDouble) * deviation).to(type);
}

constexpr std::pair<std::int64_t, std::int64_t> kLogits[] = {{1, 1}, {5, 7}, {64, 10}, {300, 100}, {3, 1000}};
constexpr double kSmoothings[] = {0.0, 0.1, 1.0};

// The formula in float64, by softmax and logarithm apart.
Tensor plain_loss(const Tensor& logits, const Tensor& wanted, double smoothing) {
  const std::int64_t classes = logits.size(1);
  const Tensor certain = at::zeros_like(logits);
  const Tensor target = wanted.scalar_type() == at::kLong ? certain.scatter(1, wanted.unsqueeze(1), 1.0) : wanted;
  const Tensor t = target * (1 - smoothing) + smoothing / static_cast<double>(classes);
  const Tensor top = std::get<0>(logits.detach().max(1, true)), x = logits - top;
  return -(t * (x - x.exp().sum(1, true).log())).sum(1).mean();
}

struct LossAndSlope {
  double value;
  Tensor slope;
};

template <typename Loss>
LossAndSlope differentiated(const Tensor& logits, const Loss& loss) {
  const Tensor x = logits.detach().clone().requires_grad_();
  const Tensor value = loss(x);
  (value * 3).backward();
  return {value.template item<double>(), x.grad()};
}

// Labels and distributions for logits of such sizes, in float64.
std::vector<Tensor> wanted_for(std::int64_t rows, std::int64_t classes) {
  return {at::arange(rows).remainder(classes), drawn({rows, classes}, at::kDouble, 2).softmax(1),
          drawn({rows, classes}, at::kDouble, 3).abs()};  // what does not sum to 1 counts as it is
}

void expect_cross_entropy(std::int64_t rows, std::int64_t classes, at::ScalarType type, double tolerance) {
  const Tensor logits = drawn({rows, classes}, type, 1, 4);
  for (const Tensor& wanted : wanted_for(rows, classes)) {
    const Tensor given = wanted.scalar_type() == at::kLong ? wanted : wanted.to(type);
    for (const double smoothing : kSmoothings) {
      const auto found =
          differentiated(logits, [&](const Tensor& x) { return cross_entropy(x, given, smoothing).value(); });
      const auto expected = differentiated(logits.to(at::kDouble), [&](const Tensor& x) {
        return plain_loss(x, given.scalar_type() == at::kLong ? given : given.to(at::kDouble), smoothing);
      });
      const std::string what = std::to_string(rows) + "x" + std::to_string(classes) + " " + c10::toString(type) + " " +
                               std::to_string(smoothing);
      EXPECT_NEAR(found.value, expected.value, tolerance * std::max(1.0, std::abs(expected.value))) << what;
      const Tensor apart = (found.slope.to(at::kDouble) - expected.slope).abs().max();
      EXPECT_LE(apart.item<double>(), tolerance * std::max(1e-3, expected.slope.abs().max().item<double>())) << what;
      const at::NoGradGuard no_gradient;
      EXPECT_EQ(cross_entropy(logits, given, smoothing)->item<double>(), found.value) << what << ", value alone";
    }
  }
}

TEST(FusedCrossEntropy, IsItsFormulaInValueAndGradient) {
  for (const auto& [rows, classes] : kLogits) {
    expect_cross_entropy(rows, classes, at::kDouble, 1e-12);
    expect_cross_entropy(rows, classes, at::kFloat, 3e-6);
  }
}

TEST(FusedCrossEntropy, IsTheSameForEveryNumberOfThreads) {
  const Tensor logits = drawn({1000, 10}, at::kFloat, 1, 4), labels = at::arange(1000).remainder(10);
  const auto with_threads = [&](int threads) {
    at::set_num_threads(threads);
    return differentiated(logits, [&](const Tensor& x) { return cross_entropy(x, labels, 0.1).value(); });
  };
  const auto one = with_threads(1), two = with_threads(2);
  at::set_num_threads(1);
  EXPECT_EQ(one.value, two.value);
  EXPECT_TRUE(at::equal(one.slope, two.slope));
}

TEST(FusedCrossEntropy, TellsWhereLogitsAreNoNumbers) {
  Tensor logits = drawn({4, 5}, at::kFloat, 1);
  logits[2][3] = std::nan("");
  EXPECT_TRUE(std::isnan(cross_entropy(logits, at::zeros({4}, at::kLong), 0)->item<double>()));
}

TEST(FusedCrossEntropy, StaysFiniteForLargeLogits) {
  const Tensor logits = at::tensor({1e4, -1e4, 0.0}).view({1, 3});
  EXPECT_DOUBLE_EQ(cross_entropy(logits, at::tensor({1}, at::kLong), 0)->item<double>(), 2e4);
}

TEST(FusedCrossEntropy, LeavesOutWhatItIsNotFor) {
  const Tensor logits = drawn({4, 5}, at::kFloat, 1);
  EXPECT_FALSE(cross_entropy(logits, at::full({4}, 5, at::kLong), 0)) << "a label beyond the classes";
  EXPECT_FALSE(cross_entropy(logits, at::full({4}, -1, at::kLong), 0));
  EXPECT_FALSE(cross_entropy(logits, drawn({4, 5}, at::kDouble, 2), 0)) << "another type";
  EXPECT_FALSE(cross_entropy(logits, drawn({4, 5}, at::kFloat, 2).requires_grad_(), 0)) << "targets that learn";
  EXPECT_FALSE(cross_entropy(logits.to(at::kBFloat16), at::zeros({4}, at::kLong), 0));
}

constexpr std::int64_t kSizes[] = {1, 7, 16, 1000, 40'000};

std::vector<Tensor> list_of(at::ScalarType type, std::uint64_t seed, bool positive = false) {
  std::vector<Tensor> out;
  for (const std::int64_t size : kSizes) {
    const Tensor one = drawn({size}, type, seed++);
    out.push_back(positive ? one.abs() : one);
  }
  return out;
}
std::vector<Tensor> copies_of(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> out;
  for (const Tensor& tensor : tensors) out.push_back(tensor.clone());
  return out;
}
void expect_close(const std::vector<Tensor>& found, const std::vector<Tensor>& expected, const std::string& what) {
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double tolerance = found[i].scalar_type() == at::kDouble ? 1e-14 : 1e-6;
    EXPECT_TRUE(at::allclose(found[i], expected[i], tolerance, tolerance)) << what << " " << i;
  }
}

class FusedUpdates : public testing::TestWithParam<at::ScalarType> {};

TEST_P(FusedUpdates, OfAdamWAreThoseOfPyTorch) {
  const auto gradients = list_of(GetParam(), 50);
  for (const std::int64_t step : {std::int64_t{1}, std::int64_t{7}}) {
    auto p = list_of(GetParam(), 1), m = list_of(GetParam(), 20), v = list_of(GetParam(), 40, /*positive=*/true);
    auto q = copies_of(p), n = copies_of(m), w = copies_of(v);
    const UpdateList list{p, gradients, m, v, 0.01, 0.1};
    adamw(std::span(&list, 1), {.step = step});
    const std::vector<Tensor> counts(q.size(), at::full({}, static_cast<double>(step), at::kFloat));
    at::_fused_adamw_(q, gradients, n, w, {}, counts, 0.01, 0.9, 0.999, 0.1, 1e-8, false, false);
    expect_close(p, q, "parameters");
    expect_close(m, n, "first moments");
    expect_close(v, w, "second moments");
  }
}

TEST_P(FusedUpdates, OfSgdAreThoseOfPyTorch) {
  const auto gradients = list_of(GetParam(), 50);
  for (const bool nesterov : {false, true}) {
    auto p = list_of(GetParam(), 1), b = list_of(GetParam(), 20), q = copies_of(p), c = copies_of(b);
    const UpdateList list{p, gradients, b, {}, 0.01, 0.1};
    sgd(std::span(&list, 1), 0.9, nesterov);
    at::_fused_sgd_(q, gradients, c, 0.1, 0.9, 0.01, 0.0, nesterov, false, false);
    expect_close(p, q, "parameters");
    expect_close(b, c, "buffers");
  }
  auto p = list_of(GetParam(), 1), q = copies_of(p);
  const UpdateList plain{p, gradients, {}, {}, 0.01, 0};
  sgd(std::span(&plain, 1), 0, false);
  for (std::size_t i = 0; i < q.size(); ++i) q[i].sub_(gradients[i], 0.01);
  expect_close(p, q, "without momentum");
}

TEST_P(FusedUpdates, OfAveragesAreTheirFormulas) {
  const auto weights = list_of(GetParam(), 50);
  for (const double keep : {0.9, 0.2}) {
    auto a = list_of(GetParam(), 1), b = copies_of(a), first = copies_of(a);
    follow(a, weights, keep, /*lerp=*/false);
    follow(b, weights, keep, /*lerp=*/true);
    for (std::size_t i = 0; i < first.size(); ++i) first[i].mul_(keep).add_(weights[i], 1 - keep);
    expect_close(a, first, "averages");
    expect_close(b, first, "interpolated");
  }
}

TEST_P(FusedUpdates, TakeTheNormOfAllNumbersTogether) {
  auto tensors = list_of(GetParam(), 1);
  const double expected = at::cat(tensors).to(at::kDouble).norm().item<double>();
  EXPECT_NEAR(joint_norm(tensors), expected, 1e-6 * expected);
  const auto before = copies_of(tensors);
  scale(tensors, 0.25);
  for (std::size_t i = 0; i < tensors.size(); ++i) EXPECT_TRUE(at::equal(tensors[i], before[i] * 0.25));
}

TEST_P(FusedUpdates, AreTheSameForEveryNumberOfThreads) {
  const auto updated = [&](int threads) {
    at::set_num_threads(threads);
    auto p = list_of(GetParam(), 1), m = list_of(GetParam(), 20), v = list_of(GetParam(), 40, true);
    const auto gradients = list_of(GetParam(), 50);
    const UpdateList list{p, gradients, m, v, 0.01, 0.1};
    adamw(std::span(&list, 1), {});
    p.push_back(at::scalar_tensor(joint_norm(gradients), at::kDouble));
    return p;
  };
  const auto one = updated(1), two = updated(2);
  at::set_num_threads(1);
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(at::equal(one[i], two[i])) << i;
}

INSTANTIATE_TEST_SUITE_P(Types, FusedUpdates, testing::Values(at::kFloat, at::kDouble),
                         [](const auto& type) { return std::string(c10::toString(type.param)); });

TEST(FusedUpdatesOfLists, AreForContiguousTensorsOfOneType) {
  const Tensor one = at::zeros({4, 4});
  EXPECT_TRUE(updates(std::vector{one, one}));
  EXPECT_FALSE(updates(std::vector{one, one.t()}));
  EXPECT_FALSE(updates(std::vector{one, one.to(at::kDouble)}));
  EXPECT_FALSE(updates(std::vector{one.to(at::kBFloat16)}));
}

Tensor reshaped_patches(const Tensor& images, std::int64_t p) {
  const std::int64_t rows = images.size(2) / p, columns = images.size(3) / p;
  return images.reshape({images.size(0), images.size(1), rows, p, columns, p})
      .permute({0, 2, 4, 1, 3, 5})
      .reshape({images.size(0), rows * columns, images.size(1) * p * p});
}

TEST(FusedPatches, AreThoseOfReshapedImages) {
  for (const auto& [channels, height, width, patch] :
       {std::array<std::int64_t, 4>{1, 28, 28, 7}, {3, 8, 12, 4}, {3, 6, 6, 1}, {2, 5, 10, 5}}) {
    const Tensor images = drawn({3, channels, height, width}, at::kFloat, 1);
    ASSERT_TRUE(takes_patches(images));
    EXPECT_TRUE(at::equal(patch_rows(images, patch, {}), reshaped_patches(images, patch)));
    const Tensor bytes = (images.abs() * 60).clamp(0, 255).to(at::kByte);
    for (const std::int64_t tables : {std::int64_t{1}, channels}) {
      const Tensor values = drawn({tables, 256}, at::kFloat, 2);
      const Tensor index = bytes.to(at::kLong), channel = at::arange(channels).remainder(tables).view({1, -1, 1, 1});
      const Tensor looked_up = values.flatten().take(index + channel * 256);
      EXPECT_TRUE(at::equal(patch_rows(bytes, patch, values), reshaped_patches(looked_up, patch)));
    }
  }
}

TEST(FusedPatches, AreNotForImagesThatLearn) {
  const Tensor images = at::zeros({1, 1, 4, 4}).requires_grad_();
  EXPECT_FALSE(takes_patches(images));
  EXPECT_FALSE(takes_patches(at::zeros({1, 1, 4, 4}).transpose(2, 3)));
  EXPECT_THROW(patch_rows(at::zeros({1, 1, 4, 4}, at::kByte), 2, {}), std::invalid_argument);
}

}  // namespace
}  // namespace locus::engine::fused
