// Content-gated decay by the sums of its equations, written out; rotation and convolution as parts of it.
#include <limits>

#include "tests/engine/priors/reference/convolution.h"

namespace locus::engine::test {
namespace {

class SpatialDecay final : public ReferencePrior {
 public:
  bool axial(const ReferenceContext& c) override { return c.text("mode") == "decomposed"; }

  // Neighboring channels turn by the raster index, or the first half of the pairs by the column and the
  // second by the row.
  void transform(const ReferenceContext& c, Array& q, Array& k) override {
    if (c.text("rope") == "none") return;
    for (Array* side : {&q, &k}) {
      for (std::int64_t b = 0; b < side->size(0); ++b) {
        for (std::int64_t n = 0; n < c.heads; ++n) {
          for (std::int64_t t = c.prefix; t < c.tokens(); ++t) {
            for (std::int64_t pair = 0; pair < c.head_width() / 2; ++pair) {
              const double turn = angle(c, t, pair);
              const Real one = (*side)(b, n, t, 2 * pair), other = (*side)(b, n, t, 2 * pair + 1);
              (*side)(b, n, t, 2 * pair) = one * std::cos(turn) - other * std::sin(turn);
              (*side)(b, n, t, 2 * pair + 1) = one * std::sin(turn) + other * std::cos(turn);
            }
          }
        }
      }
    }
  }

  Array add_output(const ReferenceContext& c) override {
    if (c.text("lepe") == "none") return {};
    Array values({c.batch, c.tokens(), c.width});
    for (std::int64_t b = 0; b < c.batch; ++b) {
      for (std::int64_t t = 0; t < c.tokens(); ++t) {
        for (std::int64_t i = 0; i < c.width; ++i)
          values(b, t, i) = (*c.v)(b, i / c.head_width(), t, i % c.head_width());
      }
    }
    const std::string name = "lepe.layers." + std::to_string(c.layer) + ".convolution.";
    return convolved(c, values, c.parameter(name + "weight"), c.parameter(name + "bias"));
  }

  Array bias(const ReferenceContext& c) override {
    const std::string mode = c.text("mode");
    Array out({c.batch, c.heads, c.tokens(), c.tokens()});
    if (mode == "none") return {};
    for (std::int64_t b = 0; b < c.batch; ++b) {
      for (std::int64_t n = 0; n < c.heads; ++n) {
        std::vector<Real> g;  // ln sigmoid(x W_g) of every patch
        for (std::int64_t t = c.prefix; mode != "static" && t < c.tokens(); ++t) g.push_back(gate(c, b, n, t));
        for (std::int64_t i = c.prefix; i < c.tokens(); ++i) {
          for (std::int64_t j = c.prefix; j < c.tokens(); ++j) out(b, n, i, j) = entry(c, mode, g, n, i, j);
        }
      }
    }
    return out;
  }

  Array gate_output(const ReferenceContext& c) override {
    if (!c.flag("gate")) return {};
    Array low = linear(*c.x, c.own("down"), {});
    const bool outside = c.text("gate_sigmoid") == "outside";
    if (!outside) squash(low);
    Array out = linear(low, c.own("up"), {});
    if (outside) squash(out);
    return out;
  }

 private:
  static double angle(const ReferenceContext& c, std::int64_t t, std::int64_t pair) {
    const auto d = static_cast<double>(c.head_width());
    if (c.text("rope") == "raster") {
      const double share = c.head_width() == 2 ? 0 : static_cast<double>(pair) / (d / 2 - 1);
      return static_cast<double>(t - c.prefix) * std::pow(10000.0, -share);
    }
    const std::int64_t quarter = c.head_width() / 4;
    const auto place = static_cast<double>(pair < quarter ? c.column(t) : c.row(t));
    return place * std::pow(100.0, -4.0 * static_cast<double>(pair % quarter) / d);
  }

  static void squash(Array& a) {
    for (Real& entry : a.data()) entry = sigmoid(entry);
  }

  static Real gate(const ReferenceContext& c, std::int64_t b, std::int64_t n, std::int64_t t) {
    const std::int64_t row = (c.axis < 0 ? 0 : c.axis * c.heads) + n;
    Real sum = 0.0;
    for (std::int64_t i = 0; i < c.width; ++i) sum += (*c.x)(b, t, i) * c.own("decay")(row, i);
    return log_sigmoid(sum);
  }

  // Sum of |g_k| for k from the smaller of i and j up to the larger, the larger excluded (or the smaller).
  static Real between(const std::vector<Real>& g, std::int64_t i, std::int64_t j, bool exclude_larger) {
    Real sum = 0.0;
    const std::int64_t first = std::min(i, j) + (exclude_larger ? 0 : 1),
                       last = std::max(i, j) + (exclude_larger ? 0 : 1);
    for (std::int64_t k = first; k < last; ++k) sum += abs(g[static_cast<std::size_t>(k)]);
    return sum;
  }

  static Real entry(const ReferenceContext& c, const std::string& mode, const std::vector<Real>& g, std::int64_t n,
                    std::int64_t i, std::int64_t j) {
    const std::int64_t p = i - c.prefix, q = j - c.prefix;
    double distance = 0;
    for (std::size_t axis = 0; axis < c.extent.size(); ++axis)
      distance += std::abs(static_cast<double>(c.at(i, axis) - c.at(j, axis)));
    if (mode == "static") {
      const double exponent =
          c.number("initial") + c.number("range") * static_cast<double>(n) / static_cast<double>(c.heads);
      return std::log(1 - std::pow(2.0, -exponent)) * distance;
    }
    if (mode == "full")
      return c.number("alpha") * 0.5 * (g[static_cast<std::size_t>(p)] + g[static_cast<std::size_t>(q)]) * distance;
    if (mode == "bidirectional") return -c.number("beta") * 0.5 * (between(g, p, q, true) + between(g, p, q, false));
    if (c.flag("causal") && q > p) return -std::numeric_limits<double>::infinity();
    return -c.number("beta") * between(g, p, q, true);
  }
};

}  // namespace

std::unique_ptr<ReferencePrior> reference_spatial_decay() { return std::make_unique<SpatialDecay>(); }

}  // namespace locus::engine::test
