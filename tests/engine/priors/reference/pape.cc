// z[i, j] = sum_m -a_i (s_j - s_i)^2 + b_i (s_j - s_i), squares and all, from coordinates that start at 1.
#include "tests/engine/priors/reference/points.h"

namespace locus::engine::test {
namespace {

class Pape final : public ReferencePrior {
 public:
  Array bias(const ReferenceContext& c) override {
    Array out({c.batch, c.heads, c.tokens(), c.tokens()});
    const auto axes = static_cast<std::int64_t>(c.extent.size());
    const std::int64_t m = c.flag("projection") ? c.integer("m") : axes;
    Array s({c.heads, c.tokens(), m});
    for (std::int64_t n = 0; n < c.heads; ++n) {
      for (std::int64_t t = 0; t < c.tokens(); ++t) {
        for (std::int64_t e = 0; e < m; ++e) s(n, t, e) = projected(c, n, t, e, m);
      }
    }
    for (std::int64_t b = 0; b < c.batch; ++b) {
      for (std::int64_t n = 0; n < c.heads; ++n) {
        for (std::int64_t i = 0; i < c.tokens(); ++i) {
          for (std::int64_t e = 0; e < m; ++e) {
            const Real a = number(c, "a", b, n, i, e, m), d = number(c, "b", b, n, i, e, m);
            for (std::int64_t j = 0; j < c.tokens(); ++j) {
              if (c.text("prefix") == "zero-term" && (!c.patch(i) || !c.patch(j))) continue;
              const Real apart = s(n, j, e) - s(n, i, e);
              Real z = 0.0;
              if (c.text("terms") != "direction") z -= (c.flag("softplus") ? softplus(a) : a) * apart * apart;
              if (c.text("terms") != "distance") z += (c.text("sign") == "paper" ? 1.0 : -1.0) * d * apart;
              out(b, n, i, j) += z * c.scale;
            }
          }
        }
      }
    }
    return out;
  }

 private:
  static Real number(const ReferenceContext& c, const std::string& name, std::int64_t b, std::int64_t n, std::int64_t i,
                     std::int64_t e, std::int64_t m) {
    if (!c.has_own(name)) return 0.0;
    const Array& weight = c.own(name);
    if (!c.flag("content")) return weight(n, e);
    Real sum = 0.0;
    for (std::int64_t k = 0; k < c.width; ++k) sum += (*c.x)(b, i, k) * weight(n * m + e, k);
    return sum;
  }

  static Real projected(const ReferenceContext& c, std::int64_t n, std::int64_t t, std::int64_t e, std::int64_t m) {
    const std::vector<double> r = reference_point(c, t);
    if (!c.flag("projection")) return r[static_cast<std::size_t>(e)];
    Real sum = 0.0;
    for (std::size_t axis = 0; axis < r.size(); ++axis)
      sum += r[axis] * c.own("position")(n * m + e, static_cast<std::int64_t>(axis));
    return sum;
  }
};

}  // namespace

std::unique_ptr<ReferencePrior> reference_pape() { return std::make_unique<Pape>(); }

}  // namespace locus::engine::test
