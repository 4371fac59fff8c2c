// LocalViT's feed-forward: a convolution of the hidden units, gated or in place of the MLP.
#include "tests/engine/priors/reference/convolution.h"

namespace locus::engine::test {
namespace {

Real clipped(const Real& x, double low, double high) { return minimum(maximum(x, low), high); }
Real hard_sigmoid(const Real& x) { return clipped(x + 3.0, 0, 6) / 6.0; }

class LocalFfn final : public ReferencePrior {
 public:
  bool replaces_mlp(const ReferenceContext& c) override { return c.text("mode") == "original"; }

  Array feed_forward(const ReferenceContext& c, const Array& stream, const ReferenceMlp& mlp) override {
    if (c.text("mode") == "gated") {
      Array hidden = mlp.in(mlp.norm(stream));
      const Array spread =
          convolved(c, hidden, c.own("convolution.weight"), c.flag("bias") ? c.own("convolution.bias") : Array{});
      for (std::size_t i = 0; i < hidden.data().size(); ++i) hidden.data()[i] += c.own("gate")(0) * spread.data()[i];
      return mlp.out(hidden);
    }
    Array x = normed(c, linear(stream, c.own("in_weight"), {}), "norm_in");
    activate(c, x);
    if (c.flag("depthwise")) {
      x = normed(c, convolved(c, x, c.own("convolution.weight"), {}), "norm_convolution");
      activate(c, x);
    }
    if (c.text("act").starts_with("hs-")) gate(c, x);
    x = normed(c, linear(x, c.own("out_weight"), {}), "norm_out");
    for (std::int64_t b = 0; b < c.batch; ++b)
      for (std::int64_t t = 0; t < c.prefix; ++t)
        for (std::int64_t i = 0; i < c.width; ++i) x(b, t, i) = 0.0;
    return x;
  }

 private:
  static void activate(const ReferenceContext& c, Array& x) {
    for (Real& value : x.data()) value = c.text("act") == "relu6" ? clipped(value, 0, 6) : value * hard_sigmoid(value);
  }

  // Batch norm over the patches of the batch; while training by their own mean and variance.
  static Array normed(const ReferenceContext& c, Array x, const std::string& name) {
    const auto count = static_cast<double>(c.batch * c.patches());
    for (std::int64_t channel = 0; channel < x.size(2); ++channel) {
      Real mean = 0.0, variance = 0.0;
      const auto each = [&](auto&& visit) {
        for (std::int64_t b = 0; b < c.batch; ++b)
          for (std::int64_t t = c.prefix; t < c.tokens(); ++t) visit(x(b, t, channel));
      };
      if (c.training) {
        each([&](Real& value) { mean += value; });
        mean = mean / count;
        each([&](Real& value) { variance += (value - mean) * (value - mean); });
        variance = variance / count;
      } else {
        mean = c.own(name + ".running_mean")(channel), variance = c.own(name + ".running_var")(channel);
      }
      const Real factor = c.own(name + ".weight")(channel) / sqrt(variance + 1e-5);
      each([&](Real& value) { value = (value - mean) * factor + c.own(name + ".bias")(channel); });
    }
    return x;
  }

  static void gate(const ReferenceContext& c, Array& x) {
    const std::int64_t channels = x.size(2);
    for (std::int64_t b = 0; b < c.batch; ++b) {
      Array mean({channels});
      for (std::int64_t channel = 0; channel < channels; ++channel) {
        for (std::int64_t t = c.prefix; t < c.tokens(); ++t) mean(channel) += x(b, t, channel);
        mean(channel) = mean(channel) / static_cast<double>(c.patches());
      }
      const Array factors = c.text("act") == "hs-se" ? squeezed(c, mean) : neighboring(c, mean);
      for (std::int64_t t = c.prefix; t < c.tokens(); ++t)
        for (std::int64_t channel = 0; channel < channels; ++channel) x(b, t, channel) *= factors(channel);
    }
  }

  // Squeeze and excitation.
  static Array squeezed(const ReferenceContext& c, const Array& mean) {
    Array hidden = linear(mean, c.own("gate.in_weight"), c.own("gate.in_bias"));
    for (Real& unit : hidden.data()) unit = maximum(unit, 0.0);
    Array out = linear(hidden, c.own("gate.out_weight"), c.own("gate.out_bias"));
    for (Real& factor : out.data()) factor = hard_sigmoid(factor);
    return out;
  }

  // A convolution along the channels.
  static Array neighboring(const ReferenceContext& c, const Array& mean) {
    const Array& kernel = c.own("gate.kernel");
    const std::int64_t reach = kernel.size(2) / 2;
    Array out(mean.shape());
    for (std::int64_t channel = 0; channel < mean.size(0); ++channel) {
      Real sum = 0.0;
      for (std::int64_t d = -reach; d <= reach; ++d) {
        if (channel + d < 0 || channel + d >= mean.size(0)) continue;
        sum += kernel(0, 0, d + reach) * mean(channel + d);
      }
      out(channel) = c.text("act") == "hs-ecah" ? hard_sigmoid(sum) : sigmoid(sum);
    }
    return out;
  }
};

}  // namespace

std::unique_ptr<ReferencePrior> reference_local_ffn() { return std::make_unique<LocalFfn>(); }

}  // namespace locus::engine::test
