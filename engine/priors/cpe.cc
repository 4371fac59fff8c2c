// Conditional position encoding: a depth-wise 3 x 3 convolution over the grid of patches, added to them. Its
// zero padding tells them where the border is.
//
//   z = z + DWConv3x3(z)
//
// Paper: Chu et al. 2023 (CPVT), arXiv:2102.10882, section 4.2.
//
// Placed once, behind the first block (CPVT's position 0), or at the start of every block (RMT). Prefix
// tokens pass unchanged. Starts as PyTorch's convolution does, or normal over the fan-out with a zero bias
// (timm's Twins).
#include <cmath>

#include "engine/layers/grid_convolution.h"
#include "engine/priors/items.h"

namespace locus::engine::priors {
namespace {

constexpr std::int64_t kConvolutionSide = 3;

class CpeLayer final : public PriorLayer {
 public:
  CpeLayer(std::int64_t width, Site site) : site_(site) {
    convolution_ = register_module("convolution", std::make_shared<GridConvolution>(width, kConvolutionSide));
  }

  Tensor embed(Site site, const Tensor& tokens, const Layout& layout, const ForwardContext&) override {
    if (site != site_) return tokens;
    return convolution_->add_to(tokens, layout);
  }

  GridConvolution& convolution() { return *convolution_; }

 private:
  Site site_;
  std::shared_ptr<GridConvolution> convolution_;
};

class Cpe final : public Prior {
 public:
  Cpe(bool every_block, bool fan_out, bool decay) : every_block_(every_block), fan_out_(fan_out), decay_(decay) {}

  std::shared_ptr<PriorLayer> layer(const LayerInfo& info) override {
    if (every_block_) return std::make_shared<CpeLayer>(info.width, Site::kBlockStart);
    return info.layer == 0 ? std::make_shared<CpeLayer>(info.width, Site::kBlockEnd) : nullptr;
  }

  void initialize(const Initializer& initializer) override {
    for (std::size_t l = 0; l < layers().size(); ++l) {
      if (!layers()[l]) continue;
      GridConvolution& convolution = static_cast<CpeLayer&>(*layers()[l]).convolution();
      const Initializer own = initializer.within("layers." + std::to_string(l) + ".convolution");
      if (fan_out_) {
        own.normal(convolution.weight.detach(), "weight", 0, std::sqrt(2.0 / (kConvolutionSide * kConvolutionSide)));
        convolution.bias.detach().zero_();
      } else {
        convolution.start(own);
      }
    }
  }

  Decay decay(std::string_view name, const Tensor& parameter) const override {
    return decay_ ? default_decay(name, parameter) : Decay::kExempt;
  }

 private:
  bool every_block_, fan_out_, decay_;
};

}  // namespace

PriorItem cpe() {
  Item item = prior_entry("cpe", 1, "Depth-wise convolution over the patches, added to them",
                          "Chu et al. 2023, arXiv:2102.10882", "z = z + DWConv3x3(z)", {"block-embed"}, {2});
  weigh(item, {.parameters = "10 D once a model; every-block 10 D a layer",
               .counts = {{"parameters", "10 * dim * (place.after-first * zero(stage) + place.every-block * depth)"}},
               .base = 7680,
               .paths = {"flash", "sdpa", "explicit"},
               .cost = "9 N D multiplications, once or a layer"});
  item.set("weight_decay", "option");
  item.option(Option::text("place", "after-first", "once behind the first block, or before every block")
                  .choices({"after-first", "every-block"}));
  item.option(Option::text("init", "torch",
                           "uniform in one over the root of the fan-in (torch), or normal over "
                           "the fan-out with a zero bias (fan-out)")
                  .choices({"torch", "fan-out"})
                  .neutral("torch"));
  item.option(Option::boolean("decay", true, "weight decay pulls on the kernels").neutral(true));
  return {item, [](const PriorContext&, const Options& o) -> std::shared_ptr<Prior> {
            return std::make_shared<Cpe>(o.text("place") == "every-block", o.text("init") == "fan-out",
                                         o.boolean("decay"));
          }};
}

}  // namespace locus::engine::priors
