// LocalViT: a depth-wise convolution inside the MLP, so that hidden units see their neighbors.
//
//   gated     y = fc2(h + g DWConv3x3(h)), h = GELU(fc1 LN x): keeps a pretrained MLP. g is a scalar a layer
//   and
//             starts at 0, the kernel at the identity and its bias, where it has one, at 0, so that the first forward
//             is that of the plain model.
//   original  replaces norm and MLP: Conv1x1(D, h) - BN - act - DWConv3x3 - BN - act - [channel gate] -
//             Conv1x1(h, D) - BN, no biases in the convolutions, residual around it
//
// Papers: Li et al. 2021, arXiv:2104.05707, section 3.2 (original); "Spatial Priors via Space Filling Curves
// for Small and Limited Data Vision Transformers", appendix F.6 (gated).
//
// Prefix tokens bypass the convolution, and in the original the whole feed-forward. `act` of the original:
//   relu6           ReLU6, no channel gate
//   hs              h-swish, x ReLU6(x + 3) / 6
//   hs-se           and squeeze-and-excitation: y h-sigmoid(W2 ReLU(W1 mean y)), both linear maps biased
//   hs-eca, hs-ecah and a 1-D convolution over the channel means instead, its gate sigmoid or h-sigmoid;
//                   length t = int((log2 h + 1) / 2), or t + 1 where t is even
// Convolutions start as PyTorch's do, linear maps truncated normal 0.02 with zero biases. Batch norms: eps
// 1e-5, momentum 0.1.
#include <ATen/ops/conv1d.h>

#include <cmath>

#include "engine/layers/grid_convolution.h"
#include "engine/layers/norm.h"
#include "engine/priors/items.h"

namespace locus::engine::priors {
namespace {

constexpr std::int64_t kKernelSide = 3;
constexpr double kLinearDeviation = 0.02;

struct LocalFfnSettings {
  bool original;
  std::int64_t kernel;
  std::string act;
  std::int64_t reduction;
  bool depthwise;
  bool bias;
};

// ReLU6(x + 3) / 6. Not the library's own, whose gradient is only good to float32.
Tensor hard_sigmoid(const Tensor& x) { return at::hardtanh(x + 3, 0, 6) / 6; }

class GatedLayer final : public PriorLayer {
 public:
  GatedLayer(std::int64_t hidden, std::int64_t side, bool bias) {
    convolution_ = register_module("convolution", std::make_shared<GridConvolution>(hidden, side, bias));
    gate_ = register_parameter("gate", at::empty({1}));
  }

  Tensor feed_forward(const Tensor& residual, const FeedForward& mlp, const Layout& layout,
                      const ForwardContext&) override {
    const Tensor hidden = mlp.in(mlp.norm(residual));
    return mlp.out(convolution_->add_to(hidden, layout, gate_));
  }

  void initialize() {
    const std::int64_t middle = convolution_->weight.size(2) / 2;
    convolution_->weight.detach().zero_().select(2, middle).select(2, middle).fill_(1);
    if (convolution_->bias.defined()) convolution_->bias.detach().zero_();
    gate_.detach().zero_();
  }

 private:
  std::shared_ptr<GridConvolution> convolution_;
  Tensor gate_;  // [1]
};

// What multiplies the channels of an image by what their means say.
class ChannelGate final : public Module {
 public:
  // `kind`: "se", "eca" or "ecah".
  ChannelGate(std::string kind, std::int64_t channels, std::int64_t reduction) : kind_(std::move(kind)) {
    if (kind_ != "se") {
      const auto t = static_cast<std::int64_t>((std::log2(static_cast<double>(channels)) + 1) / 2);
      kernel_ = register_parameter("kernel", at::empty({1, 1, t % 2 == 1 ? t : t + 1}));
      return;
    }
    const std::int64_t squeezed = channels / reduction;
    if (squeezed == 0) {
      throw std::invalid_argument("prior local-ffn: " + std::to_string(channels) +
                                  " hidden units cannot be reduced by " + std::to_string(reduction));
    }
    in_weight_ = register_parameter("in_weight", at::empty({squeezed, channels}));
    in_bias_ = register_parameter("in_bias", at::empty({squeezed}));
    out_weight_ = register_parameter("out_weight", at::empty({channels, squeezed}));
    out_bias_ = register_parameter("out_bias", at::empty({channels}));
  }

  Tensor forward(const Tensor& image) const {
    const Tensor mean = image.mean({2, 3});  // [B, C]
    if (kind_ == "se") {
      const Tensor hidden = at::relu(at::linear(mean, in_weight_, in_bias_));
      return image * spread(hard_sigmoid(at::linear(hidden, out_weight_, out_bias_)));
    }
    const std::int64_t border = kernel_.size(2) / 2;
    const Tensor found = at::conv1d(mean.unsqueeze(1), kernel_, {}, 1, border).squeeze(1);
    return image * spread(kind_ == "ecah" ? hard_sigmoid(found) : at::sigmoid(found));
  }

  void initialize(const Initializer& initializer) {
    if (kernel_.defined()) {
      const double bound = 1 / std::sqrt(static_cast<double>(kernel_.size(2)));
      return initializer.uniform(kernel_.detach(), "kernel", -bound, bound);
    }
    initializer.truncated_normal(in_weight_.detach(), "in_weight", kLinearDeviation);
    initializer.truncated_normal(out_weight_.detach(), "out_weight", kLinearDeviation);
    in_bias_.detach().zero_();
    out_bias_.detach().zero_();
  }

 private:
  static Tensor spread(const Tensor& factors) { return factors.unsqueeze(-1).unsqueeze(-1); }

  std::string kind_;
  Tensor kernel_, in_weight_, in_bias_, out_weight_, out_bias_;
};

class OriginalLayer final : public PriorLayer {
 public:
  OriginalLayer(const LayerInfo& info, const LocalFfnSettings& settings) : relu6_(settings.act == "relu6") {
    in_ = register_parameter("in_weight", at::empty({info.hidden, info.width}));
    norm_in_ = register_module("norm_in", std::make_shared<BatchNorm>(info.hidden));
    if (settings.depthwise) {
      convolution_ = register_module("convolution", std::make_shared<GridConvolution>(info.hidden, kKernelSide, false));
      norm_convolution_ = register_module("norm_convolution", std::make_shared<BatchNorm>(info.hidden));
    }
    if (settings.act.starts_with("hs-")) {
      gate_ = register_module("gate",
                              std::make_shared<ChannelGate>(settings.act.substr(3), info.hidden, settings.reduction));
    }
    out_ = register_parameter("out_weight", at::empty({info.width, info.hidden}));
    norm_out_ = register_module("norm_out", std::make_shared<BatchNorm>(info.width));
  }

  bool replaces_mlp() const override { return true; }

  Tensor feed_forward(const Tensor& residual, const FeedForward&, const Layout& layout,
                      const ForwardContext& context) override {
    // A 1 x 1 convolution is a linear map of every patch.
    const auto mapped = [&](const Tensor& image, const Tensor& weight) {
      return at::linear(image.movedim(1, -1), weight).movedim(-1, 1);
    };
    Tensor image = mapped(patches_as_image(residual, layout), in_);
    image = activated(norm_in_->forward(image, context.training));
    if (convolution_)
      image = activated(norm_convolution_->forward(convolution_->image_forward(image), context.training));
    if (gate_) image = gate_->forward(image);
    return image_as_tokens(norm_out_->forward(mapped(image, out_), context.training), layout);
  }

  void initialize(const Initializer& initializer) {
    const auto map = [&](const Tensor& weight, const char* name) {
      const double bound = 1 / std::sqrt(static_cast<double>(weight.size(1)));
      initializer.uniform(weight.detach(), name, -bound, bound);
    };
    map(in_, "in_weight");
    map(out_, "out_weight");
    if (convolution_) convolution_->start(initializer.within("convolution"));
    if (gate_) gate_->initialize(initializer.within("gate"));
    for (const auto& norm : {norm_in_, norm_convolution_, norm_out_}) {
      if (norm) norm->start(initializer);
    }
  }

 private:
  Tensor activated(const Tensor& x) const { return relu6_ ? at::hardtanh(x, 0, 6) : x * hard_sigmoid(x); }

  bool relu6_;
  Tensor in_, out_;  // [hidden, D], [D, hidden]
  std::shared_ptr<GridConvolution> convolution_;
  std::shared_ptr<ChannelGate> gate_;
  std::shared_ptr<BatchNorm> norm_in_, norm_convolution_, norm_out_;
};

class LocalFfn final : public Prior {
 public:
  explicit LocalFfn(LocalFfnSettings settings) : settings_(std::move(settings)) {}

  std::shared_ptr<PriorLayer> layer(const LayerInfo& info) override {
    if (settings_.original) return std::make_shared<OriginalLayer>(info, settings_);
    return std::make_shared<GatedLayer>(info.hidden, settings_.kernel, settings_.bias);
  }

  void initialize(const Initializer& initializer) override {
    for (std::size_t l = 0; l < layers().size(); ++l) {
      if (settings_.original) {
        static_cast<OriginalLayer&>(*layers()[l]).initialize(initializer.within("layers." + std::to_string(l)));
      } else {
        static_cast<GatedLayer&>(*layers()[l]).initialize();
      }
    }
  }

 private:
  LocalFfnSettings settings_;
};

}  // namespace

PriorItem local_ffn() {
  Item item = prior_entry("local-ffn", 1, "A depth-wise convolution inside the MLP", "Li et al. 2021, arXiv:2104.05707",
                          "y = fc2(h + g DWConv3x3(h)), h = GELU(fc1 x)", {"feed-forward"}, {2});
  weigh(item, {.parameters = "9 hidden + 1 a layer; the original replaces the MLP",
               .counts = {{"squeezed", "floor(hidden / reduction)"},
                          {"length", "2 * floor(floor((log2(hidden) + 1) / 2) / 2) + 1"},
                          {"gate",
                           "act.hs-se * (2 * hidden * squeezed + squeezed + hidden) + "
                           "(act.hs-eca + act.hs-ecah) * length"},
                          {"original", "2 * hidden * dim + 2 * hidden + depthwise * 11 * hidden + gate + 2 * dim"},
                          {"parameters",
                           "depth * (mode.gated * ((kernel ^ 2 + bias) * hidden + 1) + mode.original * original)"},
                          {"replaced", "mode.original * depth * mlp"}},
               .base = 331788,
               .paths = {"flash", "sdpa", "explicit"},
               .cost = "9 N hidden multiplications a layer"});
  alone(item, kFeedForward);
  Json rules = item.json().at("requires");
  rules.push_back({{"rule", "none"},
                   {"value", "condition"},
                   {"when", {{"option", "mode"}, {"values", Json::array({"original"})}}},
                   {"help", "the original replaces the MLP, and what a condition does to it would be lost"}});
  item.set("requires", std::move(rules));
  item.refuse("mode.original * act.hs-se * zero(squeezed)", "{hidden} hidden units cannot be reduced by {reduction}",
              "reduction");
  item.option(Option::text("mode", "gated", "beside the model's MLP, its gate starting at 0, or LocalViT's own")
                  .choices({"gated", "original"}));
  item.option(Option::integer("kernel", kKernelSide, "side of the gated kernel, odd")
                  .minimum(1)
                  .maximum(31)
                  .neutral(kKernelSide)
                  .when("mode", {"gated"}));
  item.option(Option::boolean("bias", false, "the gated convolution has a bias, one number a hidden unit")
                  .neutral(false)
                  .when("mode", {"gated"}));
  item.option(Option::text("act", "hs-se", "activation of the original, and its channel gate")
                  .choices({"relu6", "hs", "hs-se", "hs-eca", "hs-ecah"})
                  .neutral("hs-se")
                  .when("mode", {"original"}));
  item.option(Option::integer("reduction", 4, "hidden units over those of squeeze-and-excitation")
                  .minimum(1)
                  .maximum(65536)
                  .neutral(4)
                  .when("mode", {"original"}));
  item.option(Option::boolean("depthwise", true, "keep the original's depth-wise convolution")
                  .neutral(true)
                  .when("mode", {"original"}));
  return {item, [](const PriorContext&, const Options& o) -> std::shared_ptr<Prior> {
            return std::make_shared<LocalFfn>(LocalFfnSettings{o.text("mode") == "original", o.integer("kernel"),
                                                               o.text("act"), o.integer("reduction"),
                                                               o.boolean("depthwise"), o.boolean("bias")});
          }};
}

}  // namespace locus::engine::priors
