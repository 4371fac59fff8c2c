// Whole networks have the parameters their papers and published code state, priors and a head of 1000 classes
// included.
#include <gtest/gtest.h>

#include "tests/engine/priors/built_prior.h"

namespace locus::engine {
namespace {

using test::PriorSetting;

struct Network {
  std::int64_t dim = 192, heads = 3;
  std::string pool = "cls";
  bool qkv_bias = true;
  std::int64_t patch = 16, side = 224, classes = 1000;
};

// Twelve blocks, built once; priors are counted apart, since most rows differ in them alone.
class Built {
 public:
  explicit Built(const Network& network)
      : host_{.layout = {{network.side / network.patch, network.side / network.patch}, network.pool == "cls" ? 1 : 0},
              .heads = network.heads,
              .head_width = network.dim / network.heads,
              .depth = 12,
              .hidden = 4 * network.dim},
        head_((network.dim + 1) * network.classes) {
    const Json options = {{"dim", network.dim},     {"depth", 12},          {"heads", network.heads},
                          {"patch", network.patch}, {"pool", network.pool}, {"qkv_bias", network.qkv_bias}};
    const auto model = make_backbone({{"model", {{"id", "vit"}, {"options", options}}}, {"priors", Json::array()}},
                                     {3, {network.side, network.side}}, RandomStreams(0));
    for (const Tensor& p : model->parameters()) backbone_ += p.numel();
  }

  std::int64_t without_head(const std::vector<PriorSetting>& priors) const {
    std::int64_t sum = backbone_;
    for (const PriorSetting& prior : priors)
      sum += test::parameter_count(*test::built_prior(prior.id, prior.options, host_));
    return sum;
  }
  std::int64_t with(const std::vector<PriorSetting>& priors) const { return without_head(priors) + head_; }

 private:
  test::Host host_;
  std::int64_t head_, backbone_ = 0;
};

const PriorSetting kTable{"learned-absolute"}, kRows{"learned-absolute", {{"rows", "with-prefix"}}}, kViolin{"violin"};

TEST(Counts, DeitDinoViolinAndIrpeWithAClassTokenHaveThePublishedParameters) {
  const Built tiny({}), small({.dim = 384, .heads = 6}), base({.dim = 768, .heads = 12});
  EXPECT_EQ(tiny.with({kRows}), 5717416);
  EXPECT_EQ(small.with({kRows}), 22050664);
  EXPECT_EQ(base.with({kRows}), 86567656) << "DeiT-B, 86.57 M";
  EXPECT_EQ(small.without_head({kRows}), 21665664) << "DINO";
  EXPECT_EQ(base.without_head({kRows}), 85798656) << "DINO";
  EXPECT_EQ(tiny.with({kRows, kViolin}), 5717740);
  EXPECT_EQ(small.with({kRows, kViolin}), 22051312);
  EXPECT_EQ(base.with({kRows, kViolin}), 86568952);
  EXPECT_EQ(base.with({kRows, {"irpe"}}), 86606056);
  EXPECT_EQ(base.with({kRows, {"irpe", {{"on", "qkv"}}}}), 86682856);
}

TEST(Counts, ViolinWithMeanPoolingHasThePublishedParameters) {
  const Built tiny({.pool = "mean"}), small({.dim = 384, .heads = 6, .pool = "mean"}),
      base({.dim = 768, .heads = 12, .pool = "mean"});
  EXPECT_EQ(tiny.with({kTable}), 5717032);
  EXPECT_EQ(small.with({kTable}), 22049896);
  EXPECT_EQ(base.with({kTable}), 86566120);
  EXPECT_EQ(tiny.with({kTable, kViolin}), 5717356);
  EXPECT_EQ(small.with({kTable, kViolin}), 22050544);
  EXPECT_EQ(base.with({kTable, kViolin}), 86567416);
  EXPECT_EQ(tiny.with({kViolin}), 5679724) << "without positions";
  EXPECT_EQ(small.with({kViolin}), 21975280);
  EXPECT_EQ(base.with({kViolin}), 86416888);
}

TEST(Counts, PixelLevelCifarHasThePublishedParameters) {
  const Built mean({.pool = "mean", .patch = 1, .side = 32, .classes = 100}),
      token({.patch = 1, .side = 32, .classes = 100});
  EXPECT_EQ(mean.with({kTable}), 5555428);
  EXPECT_EQ(token.with({kRows}), 5555812);
}

// ConViT-Ti, -S and -B: heads of 48 channels, positions for patches, no q, k, v biases.
TEST(Counts, ConvitHasThePublishedParameters) {
  const PriorSetting gpsa{"gpsa", {{"prefix", "late"}, {"values", "identity"}}};
  for (const auto& [heads, expected] :
       std::map<std::int64_t, std::int64_t>{{4, 5710512}, {9, 27777322}, {16, 86540040}}) {
    const Built network({.dim = 48 * heads, .heads = heads, .qkv_bias = false});
    EXPECT_EQ(network.with({kTable, gpsa}), expected);
  }
}

}  // namespace
}  // namespace locus::engine
