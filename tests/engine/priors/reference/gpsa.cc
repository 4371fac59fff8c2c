// A blend of two softmaxes, by content and by position.
#include "tests/engine/priors/reference/reference_prior.h"

namespace locus::engine::test {
namespace {

class Gpsa final : public ReferencePrior {
 public:
  std::int64_t prefix_from(const Json& options) override {
    return options.at("prefix") == "late" ? options.at("layers").get<std::int64_t>() : 0;
  }

  void probabilities(const ReferenceContext& c, Array& p) override {
    if (c.layer >= c.integer("layers")) return;
    const std::int64_t patches = c.patches();
    Array score({c.heads, patches, patches});
    for (std::int64_t n = 0; n < c.heads; ++n) {
      const Array &w = c.own("weight"), &bias = c.own("bias");
      for (std::int64_t i = 0; i < patches; ++i) {
        for (std::int64_t j = 0; j < patches; ++j) {
          const auto dx = static_cast<double>(c.column(c.prefix + j) - c.column(c.prefix + i)),
                     dy = static_cast<double>(c.row(c.prefix + j) - c.row(c.prefix + i));
          score(n, i, j) = w(n, 0) * dx + w(n, 1) * dy + w(n, 2) * (dx * dx + dy * dy) + bias(n);
        }
      }
    }
    const Array place = softmax(score);
    for (std::int64_t b = 0; b < c.batch; ++b) {
      for (std::int64_t n = 0; n < c.heads; ++n) {
        const Real share = sigmoid(c.own("gate")(n));
        for (std::int64_t i = c.prefix; i < c.tokens(); ++i) {
          for (std::int64_t j = 0; j < c.tokens(); ++j) {
            const Real there = c.patch(j) ? place(n, i - c.prefix, j - c.prefix) : Real(0.0);
            p(b, n, i, j) = (1.0 - share) * p(b, n, i, j) + share * there;
          }
        }
      }
    }
  }
};

}  // namespace

std::unique_ptr<ReferencePrior> reference_gpsa() { return std::make_unique<Gpsa>(); }

}  // namespace locus::engine::test
