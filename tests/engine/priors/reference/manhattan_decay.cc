// L + ln(gamma_n) |p_i - p_j|_1 over the grid, or within rows and then columns.
#include "tests/engine/priors/reference/reference_prior.h"

namespace locus::engine::test {
namespace {

class ManhattanDecay final : public ReferencePrior {
 public:
  bool axial(const ReferenceContext& c) override { return c.text("form") == "decomposed"; }

  Array bias(const ReferenceContext& c) override {
    Array out({c.batch, c.heads, c.tokens(), c.tokens()});
    for (std::int64_t b = 0; b < c.batch; ++b) {
      for (std::int64_t n = 0; n < c.heads; ++n) {
        const double exponent =
            c.number("initial") + c.number("range") * static_cast<double>(n) / static_cast<double>(c.heads);
        const double gamma = 1 - std::pow(2.0, -exponent);
        for (std::int64_t i = c.prefix; i < c.tokens(); ++i) {
          for (std::int64_t j = c.prefix; j < c.tokens(); ++j) {
            double distance = 0;
            for (std::size_t axis = 0; axis < c.extent.size(); ++axis)
              distance += std::abs(static_cast<double>(c.at(i, axis) - c.at(j, axis)));
            out(b, n, i, j) = std::log(gamma) * distance;
          }
        }
      }
    }
    return out;
  }
};

}  // namespace

std::unique_ptr<ReferencePrior> reference_manhattan_decay() { return std::make_unique<ManhattanDecay>(); }

}  // namespace locus::engine::test
