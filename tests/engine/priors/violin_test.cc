// Violin: the mask, identities, counts, initial values.
#include <gtest/gtest.h>

#include "engine/attention/path.h"
#include "engine/priors/curves.h"
#include "tests/engine/support/models.h"
#include "tests/engine/support/reference.h"

namespace locus::engine {
namespace {

using test::largest_difference;

std::shared_ptr<Prior> make(const Json& options, std::int64_t heads, std::int64_t layers) {
  const PriorItem& item = prior_item("violin");
  const Layout layout{{3, 5}, 0};
  PriorContext context{{}, heads * 4, layout};
  for (std::int64_t l = 0; l < layers; ++l) {
    context.layers.push_back(
        {.layer = l, .layers = layers, .width = heads * 4, .heads = heads, .scale = 0.5, .reference = layout});
  }
  const auto prior = item.make(context, Options(item.item.json(), options));
  prior->build_layers(context.layers);
  prior->initialize(Initializer(RandomStreams(0), ""));
  return prior;
}

BiasTerm scale_of(Prior& prior, const Layout& layout, std::int64_t heads) {
  const Tensor q = at::zeros({1, heads, layout.tokens(), 4}), x = at::zeros({1, layout.tokens(), heads * 4});
  return prior.layers()[0]->scale({x, q, q, q, layout}, test::test_context(false));
}

std::int64_t count(const Prior& prior) {
  std::int64_t sum = 0;
  for (const Tensor& p : prior.parameters()) sum += p.numel();
  return sum;
}

// Table 15 without proper initialization: a around 0 instead of in [5, 9].
TEST(Violin, StartsNearLambdaOneOrImproperlyAroundOneHalf) {
  const Tensor proper = make({}, 12, 12)->named_parameters()["layers.3.a"],
               improper = make({{"a_init", "normal"}}, 12, 12)->named_parameters()["layers.3.a"];
  EXPECT_GE(proper.min().item<double>(), 5);
  EXPECT_LE(proper.max().item<double>(), 9);
  EXPECT_NEAR(improper.mean().item<double>(), 0, 0.2);
  EXPECT_NEAR(improper.std().item<double>(), 0.5, 0.15);
}

// lambda = sigmoid(a): the ends of the initial range, and the paper's fixed lambda.
TEST(Violin, LambdaIsTheSigmoidOfA) {
  const std::map<double, double> published = {{5, .993307}, {9, .999877}, {7.8236, .9996}};
  for (const auto& [a, lambda] : published) {
    const auto learned = make({{"alpha", false}, {"curves", {"snake"}}}, 2, 1);
    {
      const at::NoGradGuard no_grad;
      learned->to(at::kDouble);
      learned->named_parameters()["layers.0.a"].fill_(a);
    }
    EXPECT_NEAR(scale_of(*learned, {{1, 4}, 0}, 2).dense()[0][0][0][1].item<double>(), lambda, 5e-7) << a;
  }
  const auto fixed = make({{"lambda", "fixed"}, {"alpha", false}, {"curves", {"snake"}}}, 2, 1);
  const double lambda = scale_of(*fixed, {{1, 4}, 0}, 2).dense()[0][0][0][1].item<double>();
  EXPECT_NEAR(std::log(lambda / (1 - lambda)), 7.8236, 5e-3) << "float32";
  EXPECT_NEAR(lambda, .9996, 1e-7);
}

// Where the numbers of a learned order are far apart, it is the order they say: the raster's, say.
TEST(Violin, ALearnedOrderThatIsSpreadOutIsThatOrder) {
  const Layout layout{{3, 5}, 1};
  const auto learned = make({{"distance", "learned-order"}}, 2, 1), raster = make({{"distance", "z-curve"}}, 2, 1);
  const at::NoGradGuard no_grad;
  for (const auto& prior : {learned, raster}) {
    prior->to(at::kDouble);
    prior->named_parameters()["layers.0.a"].fill_(3);
    prior->named_parameters()["layers.0.alpha"].fill_(0.7);
  }
  Tensor place = learned->named_parameters()["place"];
  EXPECT_EQ(place.numel(), 15);
  EXPECT_GT((place.slice(0, 1) - place.slice(0, 0, 14)).min().item<double>(), 0) << "starts in raster order";
  const auto apart = [&] {
    return largest_difference(scale_of(*learned, layout, 2).dense(), scale_of(*raster, layout, 2).dense());
  };
  const double at_first = apart();
  EXPECT_GT(at_first, 1e-4) << "smooth at the start";
  EXPECT_LT(at_first, 0.1);
  place.mul_(100);
  EXPECT_LT(apart(), 1e-9);
}

TEST(Violin, ALearnedOrderIsOneForAllLayersAndHeads) {
  EXPECT_EQ(count(*make({{"distance", "learned-order"}}, 12, 12)), 15 + 2 * 12 * 12);
}

// Beside a bias: alpha M A + B, or alpha M (A + B).
TEST(Violin, MasksTheBiasesOfOtherPriorsWhenTold) {
  const auto tokens = [](const Json& options, double alpha, const char* bias) {
    const auto model = test::small_model({{bias}, {"violin", options}});
    const at::NoGradGuard no_grad;
    for (auto& entry : model->named_parameters()) {
      if (entry.key().ends_with(".alpha")) entry.value().fill_(alpha);
    }
    return model->forward(test::test_images(2, {8, 10}), test::test_context(false)).tokens;
  };
  const Json before = {{"bias_order", "before"}}, after = Json::object();
  EXPECT_GT(largest_difference(tokens(before, 1, "alibi-2d"), tokens(after, 1, "alibi-2d")), 1e-5);
  EXPECT_TRUE(at::equal(tokens(before, 1, "lepe"), tokens(after, 1, "lepe"))) << "no bias, no difference";
  // Alpha 0 leaves nothing of the sum: whatever the bias, every token attends to all equally.
  EXPECT_LT(largest_difference(tokens(before, 0, "alibi-2d"), tokens(before, 0, "manhattan-decay")), 1e-6);
  EXPECT_GT(largest_difference(tokens(after, 0, "alibi-2d"), tokens(after, 0, "manhattan-decay")), 1e-5);
}

// Twice the patches, half the distance a step: opposite ends of a raster decay alike on every grid.
TEST(Violin, ScaledRanksDecayByTheShareOfTheGrid) {
  const Json options = {{"distance", "z-curve"}, {"ranks", "scaled"}, {"lambda", "fixed"}, {"alpha", false}};
  const auto prior = make(options, 2, 1);  // 3 x 5
  const auto entry = [&](const Layout& layout, std::int64_t j) {
    return scale_of(*prior, layout, 2).dense()[0][0][0][j].item<double>();
  };
  EXPECT_NEAR(entry({{3, 5}, 0}, 5), entry({{6, 5}, 0}, 10), 1e-7);
  EXPECT_NEAR(std::log(entry({{3, 5}, 0}, 1)), 2 * std::log(entry({{6, 5}, 0}, 1)), 1e-6);
}

TEST(Violin, PerFrameRepeatsTheMaskOfAFrame) {
  const Json per_frame = {{"video", "per-frame"}}, one = {{"video", "per-frame"}, {"cross_frame", "one"}};
  const Layout frame{{3, 5}, 1}, video{{2, 3, 5}, 1};
  const auto patches = [](const Json& options, const Layout& layout) {
    const auto prior = make(options, 2, 1);
    prior->to(at::kDouble);
    return scale_of(*prior, layout, 2).dense().detach().slice(2, 1).slice(3, 1);
  };
  const Tensor image = patches({}, frame), same_rank = patches(per_frame, video), apart = patches(one, video);
  const Tensor alpha = make({}, 2, 1)->named_parameters()["layers.0.alpha"].detach().to(at::kDouble).view({1, 2, 1, 1});
  for (std::int64_t t = 0; t < 2; ++t) {
    for (std::int64_t u = 0; u < 2; ++u) {
      const auto block = [&](const Tensor& mask) { return mask.narrow(2, 15 * t, 15).narrow(3, 15 * u, 15); };
      EXPECT_LT(largest_difference(block(same_rank), image), 1e-12) << t << " and " << u;
      EXPECT_LT(largest_difference(block(apart), t == u ? image : alpha.expand_as(image)), 1e-12) << t << " and " << u;
    }
  }
  EXPECT_GT(largest_difference(patches({}, video), same_rank), 1e-4) << "a curve over the box is another";
  EXPECT_THROW(make({{"cross_frame", "one"}}, 2, 1), std::invalid_argument) << "means nothing on a curve over the box";
}

// The form of curves says what it can, so that no mask of all pairs is made.
TEST(Violin, PerFrameIsTheFormOfCurvesButWhereFramesAreApart) {
  const Json per_frame = {{"video", "per-frame"}}, one = {{"video", "per-frame"}, {"cross_frame", "one"}};
  const Layout image{{3, 5}, 1}, video{{2, 3, 5}, 1};
  const auto form = [](const Json& options, const Layout& layout) {
    return form_name(scale_of(*make(options, 2, 1), layout, 2).form());
  };
  EXPECT_EQ(form(per_frame, video), "curve-decay");
  EXPECT_EQ(form(one, video), "dense");
  EXPECT_EQ(form(one, image), "curve-decay") << "an image is one frame";
}

// Built for 3 x 5 patches: frames of as many are not scaled, however many there are.
TEST(Violin, ScaledRanksOfFramesCountThePatchesOfOne) {
  const Layout video{{4, 3, 5}, 0};
  const auto mask = [&](const Json& options) { return scale_of(*make(options, 2, 1), video, 2).dense().detach(); };
  const Json scaled = {{"ranks", "scaled"}};
  EXPECT_TRUE(at::equal(mask({{"video", "per-frame"}, {"ranks", "scaled"}}), mask({{"video", "per-frame"}})));
  EXPECT_FALSE(at::equal(mask(scaled), mask(Json::object())));
}

TEST(Violin, HasNineScalarsPerHeadAndLayer) {
  EXPECT_EQ(count(*make({}, 3, 12)), 324);    // DeiT-T
  EXPECT_EQ(count(*make({}, 6, 12)), 648);    // DeiT-S
  EXPECT_EQ(count(*make({}, 12, 12)), 1296);  // DeiT-B
  EXPECT_EQ(count(*make({{"curves", {"peano", "peano-transposed"}}}, 12, 12)), 432);
  EXPECT_EQ(count(*make({{"lambda", "fixed"}}, 12, 12)), 144);
  EXPECT_EQ(count(*make({{"lambda", "fixed"}, {"alpha", false}}, 12, 12)), 0);
}

TEST(Violin, ScaleIsTheFormulaOnAnyGridAndPrefix) {
  const auto prior = make({}, 2, 1);
  prior->to(at::kDouble);
  const auto p = prior->named_parameters();
  for (const Layout& layout : {Layout{{3, 5}, 0}, Layout{{4, 4}, 1}, Layout{{2, 3}, 5}}) {
    std::vector<Tensor> rows;
    for (const std::string& curve : curve_names())
      rows.push_back(at::tensor(curve_ranks(curve, layout.extent[0], layout.extent[1]), at::kInt));
    const Tensor lambda = at::sigmoid(p["layers.0.a"].detach());
    const Tensor expected =
        test::reference_curve_decay(at::stack(rows), lambda.log().neg(), p["layers.0.alpha"].detach(), layout.prefix);
    EXPECT_LT(largest_difference(scale_of(*prior, layout, 2).dense(), expected), 1e-12);
  }
}

TEST(Violin, MaskIsSymmetricWithUnitDiagonalAndEntriesUpToOne) {
  const Tensor mask = scale_of(*make({{"alpha", false}}, 2, 1), {{3, 5}, 1}, 2).dense().detach();
  EXPECT_TRUE(at::equal(mask, mask.mT()));
  EXPECT_LT(largest_difference(mask.diagonal(0, -2, -1), at::ones({1, 2, 16})), 1e-6);
  EXPECT_GT(mask.min().item<double>(), 0);
  EXPECT_LE(mask.max().item<double>(), 1 + 1e-6);
  EXPECT_EQ(mask.select(2, 0).min().item<double>(), 1) << "prefix rows are 1";
}

TEST(Violin, FixedLambdaIsThatNumberForEveryCurveAndHead) {
  const auto prior = make({{"lambda", "fixed"}, {"lambda_value", 0.5}, {"alpha", false}, {"curves", {"snake"}}}, 2, 1);
  const Tensor mask = scale_of(*prior, {{1, 4}, 0}, 2).dense();
  EXPECT_NEAR(mask[0][1][0][3].item<double>(), 0.125, 1e-6);
  EXPECT_EQ(scale_of(*prior, {{1, 4}, 0}, 2).on(), Depends::kLayout) << "nothing is left to learn";
}

// Sets every a and alpha of a model.
void set_all(Backbone& model, double a, double alpha) {
  const at::NoGradGuard no_grad;
  for (auto& entry : model.named_parameters()) {
    if (entry.key().ends_with(".a")) entry.value().fill_(a);
    if (entry.key().ends_with(".alpha")) entry.value().fill_(alpha);
  }
}

TEST(Violin, WithoutDecayAndWithUnitAlphaIsPlainAttention) {
  const auto violin = test::small_model({{"violin"}}), plain = test::small_model({{"none"}});
  violin->to(at::kDouble);
  plain->to(at::kDouble);
  set_all(*violin, 745, 1);  // softplus(-745) is the smallest double above zero
  const Tensor images = test::test_images(2, {8, 10}).to(at::kDouble);
  EXPECT_LT(largest_difference(violin->forward(images, test::test_context(false)).tokens,
                               plain->forward(images, test::test_context(false)).tokens),
            1e-12);
}

TEST(Violin, WithZeroAlphaAttendsToAllTokensEqually) {
  const auto prior = make({}, 2, 1);
  prior->to(at::kDouble);
  {
    const at::NoGradGuard no_grad;
    prior->named_parameters()["layers.0.alpha"].zero_();
  }
  const Tensor q = at::randn({1, 2, 15, 4}, at::kDouble), v = at::randn({1, 2, 15, 4}, at::kDouble);
  const BiasTerm term = scale_of(*prior, {{3, 5}, 0}, 2);
  Scores scores{.q = q,
                .k = q,
                .v = v,
                .scale = 1,
                .scales = {&term},
                .biases = {},
                .probabilities = {},
                .from_probabilities = {}};
  EXPECT_LT(largest_difference(choose_path("auto", scores).run(scores), v.mean(2, true).expand_as(v)), 1e-12);
}

TEST(Violin, StartsInItsRangesAndFarFromOverflow) {
  const auto prior = make({}, 12, 12);
  const Tensor a = prior->named_parameters()["layers.3.a"];
  EXPECT_GE(a.min().item<double>(), 5);
  EXPECT_LT(a.max().item<double>(), 9);
  EXPECT_NEAR(at::sigmoid(at::tensor(5.0, at::kDouble)).item<double>(), .993307, 1e-6);
  double sum = 0, square = 0;
  for (int l = 0; l < 12; ++l) {
    const Tensor alpha = prior->named_parameters()["layers." + std::to_string(l) + ".alpha"];
    sum += alpha.sum().item<double>();
    square += alpha.square().sum().item<double>();
  }
  EXPECT_NEAR(sum / 144, 0, 0.15);
  EXPECT_NEAR(std::sqrt(square / 144), 0.5, 0.1);
}

TEST(Violin, ModelsWithOtherCurvesStartEqualOnTheOnesTheyShare) {
  const auto all = make({}, 3, 2), one = make({{"curves", {"hilbert"}}}, 3, 2);
  EXPECT_TRUE(at::equal(all->named_parameters()["layers.1.a"][2], one->named_parameters()["layers.1.a"][0]));
}

TEST(Violin, IsExemptFromWeightDecay) {
  const auto prior = make({}, 3, 1);
  for (const auto& entry : prior->named_parameters())
    EXPECT_EQ(prior->decay(entry.key(), entry.value()), Decay::kExempt);
}

}  // namespace
}  // namespace locus::engine
