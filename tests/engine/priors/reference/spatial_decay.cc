// Content-gated decay by the sums of its equations, written out.
#include <limits>

#include "tests/engine/priors/reference/reference_prior.h"

namespace locus::test {
namespace {

class SpatialDecay final : public ReferencePrior {
 public:
  bool axial(const ReferenceContext& c) override { return c.text("mode") == "decomposed"; }

  Array bias(const ReferenceContext& c) override {
    const std::string mode = c.text("mode");
    Array out({c.batch, c.heads, c.tokens(), c.tokens()});
    if (mode == "none") return {};
    for (std::int64_t b = 0; b < c.batch; ++b) {
      for (std::int64_t n = 0; n < c.heads; ++n) {
        std::vector<Real> g;  // ln sigmoid(x W_g) of every patch
        for (std::int64_t t = c.prefix; mode != "static" && t < c.tokens(); ++t)
          g.push_back(gate(c, b, n, t));
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

  static Real entry(const ReferenceContext& c, const std::string& mode, const std::vector<Real>& g,
                    std::int64_t n, std::int64_t i, std::int64_t j) {
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
      return c.number("alpha") * 0.5 * (g[static_cast<std::size_t>(p)] + g[static_cast<std::size_t>(q)]) *
             distance;
    if (mode == "bidirectional")
      return -c.number("beta") * 0.5 * (between(g, p, q, true) + between(g, p, q, false));
    if (c.flag("causal") && q > p) return -std::numeric_limits<double>::infinity();
    return -c.number("beta") * between(g, p, q, true);
  }
};

}  // namespace

std::unique_ptr<ReferencePrior> reference_spatial_decay() { return std::make_unique<SpatialDecay>(); }

}  // namespace locus::test
