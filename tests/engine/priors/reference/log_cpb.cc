// Log-spaced continuous position bias: an MLP of every offset.
#include "tests/engine/priors/reference/reference_prior.h"

namespace locus::engine::test {
namespace {

class LogCpb final : public ReferencePrior {
 public:
  void transform(const ReferenceContext& c, Array& q, Array& k) override {
    if (c.text("attention") != "cosine") return;
    for (Array* side : {&q, &k}) {
      for (std::int64_t b = 0; b < side->size(0); ++b)
        for (std::int64_t n = 0; n < side->size(1); ++n)
          for (std::int64_t t = 0; t < side->size(2); ++t) {
            Real square = 0.0;
            for (std::int64_t e = 0; e < side->size(3); ++e) square += (*side)(b, n, t, e) * (*side)(b, n, t, e);
            Real factor = 1.0 / sqrt(square);
            if (side == &q) factor *= exp(minimum(c.own("logit_scale")(n), std::log(100.0))) / c.scale;
            for (std::int64_t e = 0; e < side->size(3); ++e) (*side)(b, n, t, e) *= factor;
          }
    }
  }

  Array bias(const ReferenceContext& c) override {
    const bool timm = c.text("mode") == "timm-cr";
    Array out({c.batch, c.heads, c.tokens(), c.tokens()});
    for (std::int64_t dy = 1 - c.extent[0]; dy < c.extent[0]; ++dy) {
      for (std::int64_t dx = 1 - c.extent[1]; dx < c.extent[1]; ++dx) {
        const std::vector<Real> values = timm ? shared(c, dy, dx) : own(c, dy, dx);
        fill(c, out, dy, dx, values);
      }
    }
    return out;
  }

 private:
  static void fill(const ReferenceContext& c, Array& out, std::int64_t dy, std::int64_t dx,
                   const std::vector<Real>& values) {
    for (std::int64_t i = c.prefix; i < c.tokens(); ++i)
      for (std::int64_t j = c.prefix; j < c.tokens(); ++j) {
        if (c.row(i) - c.row(j) != dy || c.column(i) - c.column(j) != dx) continue;
        for (std::int64_t b = 0; b < c.batch; ++b)
          for (std::int64_t n = 0; n < c.heads; ++n) out(b, n, i, j) = values[static_cast<std::size_t>(n)];
      }
  }

  // Swin V2: offsets in eighths of the reference grid, or of the window of pretraining, logarithm to the base of 8, 16
  // sigmoid.
  static std::vector<Real> own(const ReferenceContext& c, std::int64_t dy, std::int64_t dx) {
    const std::int64_t window = c.integer("pretraining_window");
    const auto spaced = [&](std::int64_t offset, std::size_t axis) {
      const std::int64_t last = std::max<std::int64_t>((window > 0 ? window : c.reference_extent[axis]) - 1, 1);
      const double v = 8 * static_cast<double>(offset) / static_cast<double>(last);
      return (v < 0 ? -1.0 : 1.0) * std::log2(1 + std::abs(v)) / 3;
    };
    std::vector<Real> out;
    const Array& weight = c.own("mlp.out_weight");
    const std::vector<Real> hidden = units(spaced(dy, 0), spaced(dx, 1), c.own("mlp.in_weight"), c.own("mlp.in_bias"));
    for (std::int64_t n = 0; n < c.heads; ++n) {
      Real sum = 0.0;
      for (std::size_t u = 0; u < hidden.size(); ++u) sum += weight(n, u) * hidden[u];
      out.push_back(sigmoid(sum) * 16.0);
    }
    return out;
  }

  // timm: ln(1 + |offset|), one MLP of all layers, hidden units dropped while training.
  static std::vector<Real> shared(const ReferenceContext& c, std::int64_t dy, std::int64_t dx) {
    const auto spaced = [](std::int64_t offset) {
      return (offset < 0 ? -1.0 : 1.0) * std::log(1 + std::abs(static_cast<double>(offset)));
    };
    std::vector<Real> hidden = units(spaced(dy), spaced(dx), c.parameter("mlp.in_weight"), c.parameter("mlp.in_bias"));
    const double dropout = c.number("dropout");
    if (c.training && dropout > 0) {
      const std::int64_t columns = 2 * c.extent[1] - 1, count = (2 * c.extent[0] - 1) * columns;
      const auto width = static_cast<std::int64_t>(hidden.size());
      const auto draws = c.random.uniform("prior-dropout", "priors.log-cpb.hidden", static_cast<std::uint64_t>(c.step),
                                          {count, width});
      const std::int64_t row = (dy + c.extent[0] - 1) * columns + dx + c.extent[1] - 1;
      for (std::int64_t u = 0; u < width; ++u) {
        const bool kept = static_cast<double>(draws.const_data_ptr<float>()[row * width + u]) >= dropout;
        hidden[static_cast<std::size_t>(u)] *= kept ? 1 / (1 - dropout) : 0;
      }
    }
    std::vector<Real> out;
    for (std::int64_t n = 0; n < c.heads; ++n) {
      Real sum = c.parameter("mlp.out_bias")(n);
      for (std::size_t u = 0; u < hidden.size(); ++u) sum += c.parameter("mlp.out_weight")(n, u) * hidden[u];
      out.push_back(sum);
    }
    return out;
  }

  static std::vector<Real> units(double y, double x, const Array& weight, const Array& bias) {
    std::vector<Real> hidden;
    for (std::int64_t u = 0; u < weight.size(0); ++u)
      hidden.push_back(maximum(weight(u, 0) * y + weight(u, 1) * x + bias(u), 0.0));
    return hidden;
  }
};

}  // namespace

std::unique_ptr<ReferencePrior> reference_log_cpb() { return std::make_unique<LogCpb>(); }

}  // namespace locus::engine::test
