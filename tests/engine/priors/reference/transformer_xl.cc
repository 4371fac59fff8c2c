// c [(q_i + u) . k_j + (q_i + v) . W_R s(i - j)], the sines made anew for every pair.
#include "tests/engine/priors/reference/reference_prior.h"

namespace locus::engine::test {
namespace {

class TransformerXl final : public ReferencePrior {
 public:
  void transform(const ReferenceContext& c, Array& q, Array&) override {
    for (std::int64_t b = 0; b < c.batch; ++b) {
      for (std::int64_t n = 0; n < c.heads; ++n) {
        for (std::int64_t t = 0; t < c.tokens(); ++t) {
          for (std::int64_t e = 0; e < c.head_width(); ++e) q(b, n, t, e) += c.parameter("u")(n, e);
        }
      }
    }
  }

  Array bias(const ReferenceContext& c) override {
    Array out({c.batch, c.heads, c.tokens(), c.tokens()});
    for (std::int64_t i = 0; i < c.tokens(); ++i) {
      for (std::int64_t j = 0; j < c.tokens(); ++j) {
        const std::vector<Real> mapped = linear_map(c, sines(c, i, j));
        for (std::int64_t b = 0; b < c.batch; ++b) {
          for (std::int64_t n = 0; n < c.heads; ++n) {
            Real sum = 0.0;
            for (std::int64_t e = 0; e < c.head_width(); ++e) {
              sum += ((*c.q)(b, n, i, e) + c.parameter("v")(n, e)) *
                     mapped[static_cast<std::size_t>(n * c.head_width() + e)];
            }
            out(b, n, i, j) = sum * c.scale;
          }
        }
      }
    }
    return out;
  }

 private:
  static std::vector<Real> sines(const ReferenceContext& c, std::int64_t i, std::int64_t j) {
    std::vector<Real> s;
    if (!c.patch(i) || !c.patch(j)) {
      for (std::int64_t e = 0; e < c.width; ++e) s.push_back(c.own("prefix")(e));
      return s;
    }
    const std::int64_t bands = c.width / 4;
    for (const std::int64_t apart : {c.row(i) - c.row(j), c.column(i) - c.column(j)}) {
      for (const bool cosine : {false, true}) {
        for (std::int64_t k = 0; k < bands; ++k) {
          const double angle =
              static_cast<double>(apart) * std::pow(10000.0, -static_cast<double>(k) / static_cast<double>(bands));
          s.emplace_back(cosine ? std::cos(angle) : std::sin(angle));
        }
      }
    }
    return s;
  }

  static std::vector<Real> linear_map(const ReferenceContext& c, const std::vector<Real>& s) {
    std::vector<Real> out;
    for (std::int64_t o = 0; o < c.width; ++o) {
      Real sum = 0.0;
      for (std::int64_t e = 0; e < c.width; ++e) sum += c.own("relative")(o, e) * s[static_cast<std::size_t>(e)];
      out.push_back(sum);
    }
    return out;
  }
};

}  // namespace

std::unique_ptr<ReferencePrior> reference_transformer_xl() { return std::make_unique<TransformerXl>(); }

}  // namespace locus::engine::test
